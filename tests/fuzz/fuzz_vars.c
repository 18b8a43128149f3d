/* links: run */
/*
 * What templates find in a response: each path must give what it gives in the JSON document of the
 * whole response.
 *
 * Input: a line with a path behind the variable ("body.a[0]"), a response as it comes.
 */
#include "base/json.h"
#include "base/mem.h"
#include "base/text.h"
#include "fuzz.h"
#include "http/h1_parse.h"
#include "run/vars.h"

static bool find(struct vars *vars, struct str text, struct arena *arena, struct path *path,
                 struct buf *out)
{
    struct str root;
    char *whole = arena_alloc(arena, text.n + 2);

    buf_reset(out);
    whole[0] = 'r';
    memcpy(whole + 1, text.p, text.n);
    if (!path_parse((struct str){whole, text.n + 1}, arena, &root, path) || root.n != 1)
        return false;
    path->slot = SLOT_FIRST_OWN;
    return vars_text(vars, path, out);
}

static void check_path(struct vars *vars, struct str text, struct str whole)
{
    struct buf found, expected, repaired;
    struct arena arena;
    struct path path;
    struct str value;
    bool ok;

    arena_init(&arena);
    buf_init(&found, BUF_NO_MAX);
    buf_init(&expected, BUF_NO_MAX);
    buf_init(&repaired, BUF_NO_MAX);
    ok = find(vars, text, &arena, &path, &found);
    utf8_repair(&repaired, buf_str(&found));
    if (path.slot != SLOT_FIRST_OWN || path.n_keys == 0) {
        /* No path of this variable, or the whole response. */
    } else if (str_eq(path.keys[0].text, STR("text"))) {
        CHECK(ok == (path.n_keys == 1) && str_eq(buf_str(&found), buf_str(&repaired)));
    } else {
        bool there = json_find(whole, path.keys, path.n_keys, &value);
        bool header = str_eq(path.keys[0].text, STR("headers"));

        /* Headers are found in any case; in the document they are in lower case. */
        CHECK(ok == there || (header && ok));
        CHECK(!there || json_text(value, &expected));
        CHECK(!there || str_eq(buf_str(&repaired), buf_str(&expected)));
    }
    buf_fini(&found);
    buf_fini(&expected);
    buf_fini(&repaired);
    arena_fini(&arena);
}

static size_t brackets(struct str s)
{
    size_t n = 0;

    for (size_t i = 0; i < s.n; i++)
        n += s.p[i] == '[' || s.p[i] == '{';
    return n;
}

static void check_response(struct vars *vars, struct str text)
{
    static const struct str paths[] = {{".status", 7}, {".headers", 8}, {".body", 5},
                                       {".url", 4},    {".text", 5},    {".headers.a", 10}};
    struct arena arena;
    struct path path;
    struct buf whole;
    struct str checked;

    arena_init(&arena);
    buf_init(&whole, BUF_NO_MAX);
    CHECK(find(vars, STR(""), &arena, &path, &whole));
    if (json_check(buf_str(&whole), &checked)) {
        for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++)
            check_path(vars, paths[i], checked);
        check_path(vars, text, checked);
    } else {
        /* A body as deep as JSON may be is too deep inside something else. */
        CHECK(brackets(buf_str(&whole)) >= JSON_MAX_DEPTH);
    }
    buf_fini(&whole);
    arena_fini(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str bytes = fuzz_input(data, size), text = fuzz_until(&bytes, '\n');
    const struct plan plan = {.base = STR("http://h"), .n_slots = SLOT_FIRST_OWN + 1};
    struct h1_head head;
    const char *why = NULL;
    struct response *response;
    struct jar jar;
    struct vars vars;

    if (h1_head_parse(bytes.p, bytes.n, 0, false, &head, &why) != H1_OK)
        return 0;
    response = xmalloc(sizeof(*response));
    response_init(response);
    response->status = head.status;
    buf_add_str(&response->fields, head.fields);
    buf_add_str(&response->body, str_skip(bytes, head.size));
    buf_add_str(&response->url, STR("http://h/"));
    jar_init(&jar, NULL);
    vars_init(&vars, &plan, &jar);
    vars_set_response(&vars, SLOT_FIRST_OWN, &response);
    CHECK(!response);
    check_response(&vars, text);
    vars_fini(&vars);
    return 0;
}
