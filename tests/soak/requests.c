#include "requests.h"

#include <stdio.h>
#include <string.h>

static struct str head_of(const struct request *request)
{
    return (struct str){request->head, request->head_n};
}

/* The line that begins at s, without its CR LF; s is what follows. */
static struct str next_line(struct str *s)
{
    size_t n = str_find(*s, '\n');
    struct str line = {s->p, n && s->p[n - 1] == '\r' ? n - 1 : n};
    *s = str_skip(*s, n + 1);
    return line;
}

/* The number behind `key` in a query; false if it is not there. */
static bool query_number(struct str target, const char *key, uint64_t *value)
{
    for (struct str rest = str_skip(target, str_find(target, '?')); rest.n > 1;) {
        rest = str_skip(rest, 1);
        size_t end = str_find(rest, '&');
        struct str part = {rest.p, end};
        rest = str_skip(rest, end);
        if (str_starts(part, str_of(key)))
            return str_to_u64(str_skip(part, strlen(key)), value);
    }
    return false;
}

static struct str token_of(const struct request *request, char text[32])
{
    snprintf(text, 32, "T%llu", (unsigned long long)request->wish.iteration);
    return str_of(text);
}

/* Every cookie `sid` has to be this iteration's. */
static bool cookies_fit(struct str cookies, struct str token)
{
    while (cookies.n) {
        size_t n = str_find(cookies, ';');
        struct str cookie = str_trim((struct str){cookies.p, n});
        cookies = str_skip(cookies, n + 1);
        if (str_starts(cookie, STR("sid=")) && !str_eq(str_skip(cookie, 4), token))
            return false;
    }
    return true;
}

/* METHOD SP TARGET SP HTTP/1.1, with i=N in the query, and perhaps hop=N and big=1. */
static bool read_first_line(struct request *request, struct str line)
{
    struct str method = {line.p, str_find(line, ' ')};
    struct str rest = str_skip(line, method.n + 1);
    struct str target = {rest.p, str_find(rest, ' ')};
    uint64_t hop = 0, big = 0;
    bool good = method.n && target.n && target.p[0] == '/' &&
                str_eq(str_skip(rest, target.n), STR(" HTTP/1.1")) &&
                query_number(target, "i=", &request->wish.iteration);
    query_number(target, "hop=", &hop);
    query_number(target, "big=", &big);
    request->wish.hop = hop < CIRCLE ? (unsigned)hop : CIRCLE;
    request->wish.big = big == 1;
    request->wish.head = str_eq(method, STR("HEAD"));
    return good;
}

/* False if it is no good HTTP; *fits says whether all in it is its own iteration's. */
static bool read_head(struct request *request, bool *fits)
{
    struct str rest = head_of(request);
    unsigned hosts = 0, lengths = 0;
    char text[32];
    if (!read_first_line(request, next_line(&rest)))
        return false;
    struct str token = token_of(request, text);
    request->body_bytes = 0;
    for (struct str line = next_line(&rest); line.n; line = next_line(&rest)) {
        struct str name = {line.p, str_find(line, ':')};
        struct str value = str_trim(str_skip(line, name.n + 1));
        if (name.n == line.n || name.n == 0)
            return false;
        if (str_eq_nocase(name, STR("host")))
            hosts++;
        else if (str_eq_nocase(name, STR("content-length")) && lengths++ == 0 &&
                 !str_to_u64(value, &request->body_bytes))
            return false;
        else if (str_eq_nocase(name, STR("x-token")))
            *fits &= str_eq(value, token);
        else if (str_eq_nocase(name, STR("cookie")))
            *fits &= cookies_fit(value, token);
    }
    request->body_left = request->body_bytes;
    return hosts == 1 && lengths <= 1;
}

/* A body that is a JSON mapping has the token in it. */
static bool body_fits(const struct request *request)
{
    char text[32], wanted[64];
    struct str token = token_of(request, text);
    int n = snprintf(wanted, sizeof wanted, "\"token\":\"%s\"", token.p);
    return request->body_n == 0 || request->body[0] != '{' ||
           memmem(request->body, request->body_n, wanted, (size_t)n);
}

static void note(const char *what, const struct request *request, uint64_t *count)
{
    if ((*count)++ < 5)
        fprintf(stderr, "chaos: %s: %.*s%.*s\n", what, (int)request->head_n, request->head,
                (int)request->body_n, request->body);
}

static size_t min(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Takes bytes up to the head's end; false if it is too large. */
static bool take_head(struct request *request, const char *bytes, size_t n, size_t *used)
{
    size_t before = request->head_n, from = before < 3 ? 0 : before - 3;
    n = min(n, HEAD_MAX - before);
    memcpy(request->head + before, bytes, n);
    request->head_n += n;
    char *end = memmem(request->head + from, request->head_n - from, "\r\n\r\n", 4);
    if (end) {
        request->head_n = (size_t)(end + 4 - request->head);
        request->has_head = true;
    }
    *used = request->head_n - before;
    return end || request->head_n < HEAD_MAX;
}

static enum request_event take_body(struct request *request, const char *bytes, size_t n,
                                    size_t *used, struct request_counts *counts)
{
    *used = min(n, request->body_left);
    size_t kept = min(*used, BODY_START - request->body_n);
    memcpy(request->body + request->body_n, bytes, kept);
    request->body_n += kept;
    request->body_left -= *used;
    if (request->body_left)
        return REQUEST_MORE;
    if (!body_fits(request))
        note("another's token in a body", request, &counts->mismatched);
    counts->whole++;
    request->begun = false;
    return REQUEST_WHOLE;
}

enum request_event request_feed(struct request *request, const char *bytes, size_t n, size_t *used,
                                struct request_counts *counts)
{
    bool fits = true;
    if (!request->begun) {
        request->begun = true;
        request->has_head = false;
        request->head_n = request->body_n = 0;
        counts->begun++;
    }
    if (request->has_head)
        return take_body(request, bytes, n, used, counts);
    bool small = take_head(request, bytes, n, used);
    if (small && !request->has_head)
        return REQUEST_MORE;
    if (!small || !read_head(request, &fits)) {
        note("no good request", request, &counts->malformed);
        return REQUEST_BAD;
    }
    if (!fits)
        note("another's token or cookie", request, &counts->mismatched);
    if (request->body_bytes == 0) {
        size_t none;
        return take_body(request, bytes, 0, &none, counts);
    }
    return REQUEST_HEAD;
}
