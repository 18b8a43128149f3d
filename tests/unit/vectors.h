/* The public test vectors (shared/vectors/NAME.json: a list of objects), which are not part of the
 * project: a test that wants them is skipped where they are missing. */
#ifndef TESTS_VECTORS_H
#define TESTS_VECTORS_H

#include "base/buf.h"
#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"

struct vectors {
    struct str file, all;
    size_t count; /* how many have been handed out */
};

static inline void vectors_open(struct vectors *vectors, const char *name)
{
    struct buf path;
    const char *why;

    *vectors = (struct vectors){0};
    buf_init(&path, BUF_NO_MAX);
    buf_addf(&path, "%s/../shared/vectors/%s.json", SOURCE_DIR, name);
    buf_add_char(&path, '\0');
    if (!file_read(path.p, 1 << 24, &vectors->file, &why)) {
        print_message("skipped: shared/vectors/%s.json: %s\n", name, why);
        buf_fini(&path);
        skip();
    }
    buf_fini(&path);
    assert_true(json_check(vectors->file, &vectors->all));
}

static inline void vectors_close(struct vectors *vectors)
{
    xstr_free(vectors->file);
}

/* The next case, or false. */
static inline bool vectors_next(struct vectors *vectors, struct str *one)
{
    struct json_key key = {.index = vectors->count, .is_index = true};

    if (!json_find(vectors->all, &key, 1, one))
        return false;
    vectors->count++;
    return true;
}

/* Makes out the text of a key of a case. */
static inline void vectors_text(struct str one, const char *name, struct buf *out)
{
    struct json_key key = {.text = str_of(name)};
    struct str value;

    buf_reset(out);
    assert_true(json_find(one, &key, 1, &value));
    assert_true(json_text(value, out));
}

/* Makes out the bytes that the case's key "b64" holds. */
static inline void vectors_bytes(struct str one, struct buf *out)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    struct buf text;
    uint32_t bits = 0;
    unsigned n = 0;

    buf_init(&text, BUF_NO_MAX);
    vectors_text(one, "b64", &text);
    buf_reset(out);
    for (size_t i = 0; i < text.n && text.p[i] != '='; i++) {
        const char *digit = memchr(digits, text.p[i], 64);

        assert_non_null(digit);
        bits = bits << 6 | (uint32_t)(digit - digits);
        n += 6;
        if (n >= 8) {
            n -= 8;
            buf_add_char(out, (char)(bits >> n));
        }
    }
    buf_fini(&text);
}

#endif
