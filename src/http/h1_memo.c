#include "http/h1_memo.h"

void h1_memo_keep(struct h1_memo *memo, const char *data, bool head_request,
                  const struct h1_head *head)
{
    if (head->size > sizeof memo->bytes)
        return;
    memcpy(memo->bytes, data, head->size);
    memo->head = *head;
    memo->head.fields.p = memo->bytes + (head->fields.p - data);
    memo->head_request = head_request;
}
