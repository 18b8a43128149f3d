#include "http/exchange.h"

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
    buf_init(&exchange->location, LOCATION_MAX);
    buf_init(&exchange->hop[0], HEAD_MAX);
    buf_init(&exchange->hop[1], HEAD_MAX);
    buf_init(&exchange->wire, BUF_NO_MAX);
}

void exchange_fini(struct exchange *exchange)
{
    buf_fini(&exchange->location);
    buf_fini(&exchange->hop[0]);
    buf_fini(&exchange->hop[1]);
    buf_fini(&exchange->wire);
}
