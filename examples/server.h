/*
 * What the pages of the example server share: a request, and the ways to answer it.
 */
#ifndef EXAMPLES_SERVER_H
#define EXAMPLES_SERVER_H

#include <microhttpd.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

struct request {
    struct MHD_Connection *connection;
    const char *rest; /* of the path, behind the route's */
    struct str body;
    bool slept; /* this is the second time that the page is asked */
};

/* A page answers with one of the send_ functions or MHD_queue_response and returns its result. */

/* A JSON response that may be queued any number of times; never NULL. */
struct MHD_Response *response_of(struct str body);

/* Sends a response made for this request only, with one more header unless name is NULL. */
enum MHD_Result send_once(const struct request *request, unsigned status, struct str body,
                          const char *name, const char *value);

/* Sends {"error":text}; text needs no escaping and has at most 100 bytes. */
enum MHD_Result send_error(const struct request *request, unsigned status, const char *text);

/* A number from the query; `missing` without one, UINT64_MAX where it is no number up to max. */
uint64_t query_number(const struct request *request, const char *key, uint64_t missing,
                      uint64_t max);

/* shop.c: users, log-in and orders. Made before the first request, freed after the last. */
void shop_init(void);
void shop_fini(void);

enum MHD_Result get_users(const struct request *request);
enum MHD_Result get_user(const struct request *request);
enum MHD_Result get_account(const struct request *request);
enum MHD_Result get_me(const struct request *request);
enum MHD_Result post_login(const struct request *request);
enum MHD_Result get_orders(const struct request *request);
enum MHD_Result get_order(const struct request *request);
enum MHD_Result post_order(const struct request *request);

#endif
