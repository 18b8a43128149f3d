/*
 * The shop of the example server: users, log-in and orders. Users never change; of the orders the
 * newest are kept in a ring.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/rng.h"
#include "server.h"

enum {
    USERS = 100,
    USERS_A_PAGE = 20,
    PAGES = USERS / USERS_A_PAGE,
    FIELD_MAX = 64,
    ORDERS_KEPT = 1024,
    ORDERS_LISTED = 20,
    QUANTITY_MAX = 1000,
};

static const char *const first_names[USERS_A_PAGE] = {
    "ada",   "grace",   "alan",     "edsger", "barbara", "donald", "dennis",
    "ken",   "frances", "john",     "radia",  "niels",   "jean",   "tony",
    "adele", "leslie",  "margaret", "linus",  "sophie",  "vint"};

struct user {
    char name[16];
    struct MHD_Response *response;
};

struct order {
    uint64_t id;
    uint64_t quantity;
    size_t item_n;
    char item[FIELD_MAX];
};

static struct user users[USERS];
static struct MHD_Response *user_pages[PAGES];
static struct MHD_Response *account;
static uint64_t secret;
static atomic_uint_fast64_t logins;

static pthread_mutex_t orders_lock = PTHREAD_MUTEX_INITIALIZER;
static struct order orders[ORDERS_KEPT]; /* order ID is at ID % ORDERS_KEPT; the first ID is 1 */
static uint64_t orders_total;

/* ---- users and log-in ---- */

static void add_user(struct buf *out, unsigned id)
{
    buf_addf(out, "{\"id\":%u,\"name\":\"%s\",\"email\":\"%s@example.com\",\"manager_id\":%u}", id,
             users[id - 1].name, users[id - 1].name, (id * 7) % USERS + 1);
}

static void make_users(void)
{
    struct buf one, page;
    buf_init(&one, BUF_NO_MAX);
    buf_init(&page, BUF_NO_MAX);
    for (unsigned id = 1; id <= USERS; id++) {
        struct user *user = &users[id - 1];
        const char *first = first_names[(id - 1) % USERS_A_PAGE];
        if (id <= USERS_A_PAGE)
            snprintf(user->name, sizeof user->name, "%s", first);
        else
            snprintf(user->name, sizeof user->name, "%s%u", first, id);
        buf_reset(&one);
        add_user(&one, id);
        user->response = response_of(buf_str(&one));
        buf_add_char(&page, page.n ? ',' : '[');
        buf_add_str(&page, buf_str(&one));
        if (id % USERS_A_PAGE == 0) {
            buf_add_char(&page, ']');
            user_pages[id / USERS_A_PAGE - 1] = response_of(buf_str(&page));
            buf_reset(&page);
        }
    }
    buf_fini(&one);
    buf_fini(&page);
}

void shop_init(void)
{
    secret = rng_random_seed();
    make_users();
    account = response_of(
        STR("{\"id\":2,\"name\":\"grace\",\"manager_id\":15,\"balance\":12.50,\"active\":true,"
            "\"phones\":[\"+44 20 7946 0001\",\"+44 20 7946 0002\"],"
            "\"address\":{\"street\":\"Main St\",\"floor\":1}}"));
}

void shop_fini(void)
{
    MHD_destroy_response(account);
    for (size_t i = 0; i < PAGES; i++)
        MHD_destroy_response(user_pages[i]);
    for (size_t i = 0; i < USERS; i++)
        MHD_destroy_response(users[i].response);
}

enum MHD_Result get_users(const struct request *request)
{
    uint64_t page = query_number(request, "page", 1, PAGES);
    if (page == 0 || page == UINT64_MAX)
        return send_error(request, MHD_HTTP_NOT_FOUND, "no such page");
    return MHD_queue_response(request->connection, MHD_HTTP_OK, user_pages[page - 1]);
}

enum MHD_Result get_user(const struct request *request)
{
    uint64_t id;
    if (!str_to_u64(str_of(request->rest), &id) || id == 0 || id > USERS)
        return send_error(request, MHD_HTTP_NOT_FOUND, "no such user");
    return MHD_queue_response(request->connection, MHD_HTTP_OK, users[id - 1].response);
}

enum MHD_Result get_account(const struct request *request)
{
    return MHD_queue_response(request->connection, MHD_HTTP_OK, account);
}

/* What proves that a token is ours: enough for an example, not for the world. */
static uint64_t token_proof(uint64_t user_id, uint64_t login)
{
    struct rng rng;
    rng_seed(&rng, secret ^ (user_id << 48) ^ login);
    return rng_next(&rng);
}

/* The user whom a token "ID.LOGIN.PROOF" stands for; 0 if it was not given out here. */
static uint64_t token_user(const char *token)
{
    struct str text = str_of(token), id = {text.p, str_find(text, '.')};
    struct str rest = str_skip(text, id.n + 1), login = {rest.p, str_find(rest, '.')};
    struct str proof = str_skip(rest, login.n + 1);
    uint64_t user_id, number;
    char expected[17];
    if (!str_to_u64(id, &user_id) || user_id > USERS || !str_to_u64(login, &number))
        return 0;
    snprintf(expected, sizeof expected, "%016llx",
             (unsigned long long)token_proof(user_id, number));
    return str_eq(proof, str_of(expected)) ? user_id : 0;
}

enum MHD_Result get_me(const struct request *request)
{
    const char *header =
        MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND, "Authorization");
    const char *token =
        MHD_lookup_connection_value(request->connection, MHD_COOKIE_KIND, "session");
    if (header && str_starts(str_of(header), STR("Bearer ")))
        token = header + strlen("Bearer ");
    uint64_t id = token ? token_user(token) : 0;
    if (id == 0)
        return send_error(request, MHD_HTTP_UNAUTHORIZED, "log in first");
    return MHD_queue_response(request->connection, MHD_HTTP_OK, users[id - 1].response);
}

/* The text of a field of a JSON object; false if it is not there or of another type. */
static bool json_field(struct str object, struct str key, enum json_type type, struct buf *out)
{
    struct json_key path = {.text = key};
    struct str value;
    return json_find(object, &path, 1, &value) && json_type(value) == type &&
           json_text(value, out) && !out->full;
}

struct credentials {
    struct buf user, password;
};

static enum MHD_Result take_form_field(void *cls, enum MHD_ValueKind kind, const char *key,
                                       const char *file, const char *type, const char *encoding,
                                       const char *data, uint64_t at, size_t n)
{
    (void)kind, (void)file, (void)type, (void)encoding, (void)at;
    struct credentials *credentials = cls;
    if (strcmp(key, "user") == 0)
        buf_add(&credentials->user, data, n);
    else if (strcmp(key, "password") == 0)
        buf_add(&credentials->password, data, n);
    return MHD_YES;
}

static bool read_credentials(const struct request *request, struct credentials *credentials)
{
    struct str object;
    if (json_check(request->body, &object))
        return json_field(object, STR("user"), JSON_STRING, &credentials->user) &&
               json_field(object, STR("password"), JSON_STRING, &credentials->password);
    struct MHD_PostProcessor *form =
        MHD_create_post_processor(request->connection, 1024, take_form_field, credentials);
    if (!form) /* neither of the content types of a form */
        return false;
    MHD_post_process(form, request->body.p, request->body.n);
    MHD_destroy_post_processor(form);
    return credentials->user.n > 0 && credentials->password.n > 0;
}

/* The user's ID; 0 if the name or the password is wrong. */
static unsigned check_credentials(const struct credentials *credentials)
{
    struct str password = buf_str(&credentials->password), prefix = STR("secret-");
    if (!str_starts(password, prefix) ||
        !str_eq(str_skip(password, prefix.n), buf_str(&credentials->user)))
        return 0;
    for (unsigned i = 0; i < USERS; i++)
        if (str_eq(buf_str(&credentials->user), str_of(users[i].name)))
            return i + 1;
    return 0;
}

enum MHD_Result post_login(const struct request *request)
{
    struct credentials credentials;
    buf_init(&credentials.user, FIELD_MAX);
    buf_init(&credentials.password, FIELD_MAX);
    bool complete = read_credentials(request, &credentials);
    unsigned id = complete ? check_credentials(&credentials) : 0;
    buf_fini(&credentials.user);
    buf_fini(&credentials.password);
    if (!complete)
        return send_error(request, MHD_HTTP_BAD_REQUEST, "user and password are needed");
    if (id == 0)
        return send_error(request, MHD_HTTP_UNAUTHORIZED, "wrong user or password");

    uint64_t login = atomic_fetch_add(&logins, 1);
    char token[64], cookie[128], body[192];
    snprintf(token, sizeof token, "%u.%llu.%016llx", id, (unsigned long long)login,
             (unsigned long long)token_proof(id, login));
    snprintf(cookie, sizeof cookie, "session=%s; Path=/; HttpOnly", token);
    int n = snprintf(body, sizeof body, "{\"token\":\"%s\",\"user_id\":%u,\"name\":\"%s\"}", token,
                     id, users[id - 1].name);
    return send_once(request, MHD_HTTP_OK, (struct str){body, (size_t)n}, "Set-Cookie", cookie);
}

/* ---- orders ---- */

static void add_order(struct buf *out, const struct order *order)
{
    buf_addf(out, "{\"id\":%llu,\"item\":", (unsigned long long)order->id);
    json_quote(out, (struct str){order->item, order->item_n});
    buf_addf(out, ",\"quantity\":%llu}", (unsigned long long)order->quantity);
}

/* What is wrong with an order, or NULL. */
static const char *read_order(struct str object, struct order *order)
{
    struct buf text;
    const char *fault = NULL;
    buf_init(&text, FIELD_MAX);
    if (!json_field(object, STR("item"), JSON_STRING, &text) || text.n == 0)
        fault = "item must be a text of 1 to 64 bytes";
    else
        memcpy(order->item, text.p, order->item_n = text.n);
    buf_reset(&text);
    if (!fault && (!json_field(object, STR("quantity"), JSON_NUMBER, &text) ||
                   !str_to_u64(buf_str(&text), &order->quantity) || order->quantity == 0 ||
                   order->quantity > QUANTITY_MAX))
        fault = "quantity must be a whole number from 1 to 1000";
    buf_fini(&text);
    return fault;
}

enum MHD_Result post_order(const struct request *request)
{
    struct order order;
    struct str object;
    if (!json_check(request->body, &object))
        return send_error(request, MHD_HTTP_BAD_REQUEST, "the body must be JSON");
    const char *fault = read_order(object, &order);
    if (fault)
        return send_error(request, MHD_HTTP_UNPROCESSABLE_CONTENT, fault);

    pthread_mutex_lock(&orders_lock);
    order.id = ++orders_total;
    orders[order.id % ORDERS_KEPT] = order;
    pthread_mutex_unlock(&orders_lock);

    struct buf body;
    char location[64];
    buf_init(&body, BUF_NO_MAX);
    add_order(&body, &order);
    snprintf(location, sizeof location, "/api/orders/%llu", (unsigned long long)order.id);
    enum MHD_Result result =
        send_once(request, MHD_HTTP_CREATED, buf_str(&body), "Location", location);
    buf_fini(&body);
    return result;
}

enum MHD_Result get_orders(const struct request *request)
{
    struct order newest[ORDERS_LISTED];
    size_t n = 0;
    pthread_mutex_lock(&orders_lock);
    uint64_t total = orders_total;
    for (uint64_t id = total; id > 0 && n < ORDERS_LISTED; id--)
        newest[n++] = orders[id % ORDERS_KEPT];
    pthread_mutex_unlock(&orders_lock);

    struct buf body;
    buf_init(&body, BUF_NO_MAX);
    buf_addf(&body, "{\"total\":%llu,\"orders\":[", (unsigned long long)total);
    for (size_t i = 0; i < n; i++) {
        if (i > 0)
            buf_add_char(&body, ',');
        add_order(&body, &newest[i]);
    }
    buf_add_str(&body, STR("]}"));
    enum MHD_Result result = send_once(request, MHD_HTTP_OK, buf_str(&body), NULL, NULL);
    buf_fini(&body);
    return result;
}

enum MHD_Result get_order(const struct request *request)
{
    uint64_t id;
    struct order order = {.id = 0};
    if (str_to_u64(str_of(request->rest), &id)) {
        pthread_mutex_lock(&orders_lock);
        order = orders[id % ORDERS_KEPT];
        pthread_mutex_unlock(&orders_lock);
    }
    if (order.id == 0 || order.id != id)
        return send_error(request, MHD_HTTP_NOT_FOUND, "no such order");
    struct buf body;
    buf_init(&body, BUF_NO_MAX);
    add_order(&body, &order);
    enum MHD_Result result = send_once(request, MHD_HTTP_OK, buf_str(&body), NULL, NULL);
    buf_fini(&body);
    return result;
}
