#include "http/exchange.h"

#include <stdlib.h>

#include "base/mem.h"

#define LOCATION_MAX 65536
#define HEAD_MAX (1u << 20)

void response_init(struct response *response)
{
    *response = (struct response){0};
    buf_init(&response->fields, BUF_NO_MAX);
    buf_init(&response->body, BUF_NO_MAX);
    buf_init(&response->url, BUF_NO_MAX);
}

void response_fini(struct response *response)
{
    buf_fini(&response->fields);
    buf_fini(&response->body);
    buf_fini(&response->url);
}

void exchange_init(struct exchange *exchange)
{
    *exchange = (struct exchange){0};
    buf_init(&exchange->wire, BUF_NO_MAX);
}

void exchange_fini(struct exchange *exchange)
{
    struct exchange_again *again = exchange->again;
    if (again) {
        buf_fini(&again->location);
        buf_fini(&again->heads[0]);
        buf_fini(&again->heads[1]);
        free(again);
    }
    buf_fini(&exchange->wire);
}

struct exchange_again *exchange_again(struct exchange *exchange)
{
    struct exchange_again *again = exchange->again;
    if (!again) {
        exchange->again = again = xmalloc(sizeof *again);
        buf_init(&again->location, LOCATION_MAX);
        buf_init(&again->heads[0], HEAD_MAX);
        buf_init(&again->heads[1], HEAD_MAX);
    }
    return again;
}
