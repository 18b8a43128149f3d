#define ZLIB_CONST /* what zlib reads is const */
#include "http/body.h"

#include <brotli/decode.h>
#include <stdlib.h>
#include <zlib.h>
#include <zstd.h>

#include "base/mem.h"

#define PIECE_BYTES 16384
#define INPUT_MAX ((size_t)1 << 30) /* of one call: zlib counts in 32 bits */
#define ZSTD_WINDOW_LOG 23          /* RFC 9659: what a response may ask for, 8 MiB */
/* By so much may a body be larger in a coding than without it. */
#define OVERHEAD_MAX ((size_t)64 * 1024)

/* One call of a decoder: it takes from `in` and fills `piece`. */
struct step {
    struct str in;
    char piece[PIECE_BYTES];
    size_t got;
};

enum progress { MORE, END, BROKEN };

struct coding {
    struct str name;
    /* A decoder for a body that begins with those bytes; never NULL. */
    void *(*open)(struct str body);
    /* END: the coded body is whole. */
    enum progress (*run)(void *decoder, struct step *step);
    void (*close)(void *decoder);
};

/* --- gzip and deflate --- */

#define WINDOW_BITS 15
#define AS_GZIP 16 /* zlib's flag beside the bits */

static void *zlib_open(int window_bits)
{
    z_stream *zlib = xcalloc(1, sizeof *zlib);
    if (inflateInit2(zlib, window_bits) != Z_OK) {
        mem_out();
    }
    return zlib;
}

static void zlib_close(void *decoder)
{
    inflateEnd(decoder);
    free(decoder);
}

static enum progress zlib_run(void *decoder, struct step *step)
{
    z_stream *zlib = decoder;
    size_t n = step->in.n < INPUT_MAX ? step->in.n : INPUT_MAX;
    zlib->next_in = (const Bytef *)step->in.p;
    zlib->avail_in = (uInt)n;
    zlib->next_out = (Bytef *)step->piece;
    zlib->avail_out = PIECE_BYTES;
    int result = inflate(zlib, Z_NO_FLUSH);
    step->in = str_skip(step->in, n - zlib->avail_in);
    step->got = PIECE_BYTES - zlib->avail_out;
    switch (result) {
    case Z_STREAM_END:
        return END;
    case Z_OK:
    case Z_BUF_ERROR:
        return MORE;
    case Z_MEM_ERROR:
        mem_out();
    default:
        return BROKEN;
    }
}

static void *gzip_open(struct str body)
{
    (void)body;
    return zlib_open(WINDOW_BITS + AS_GZIP);
}

/* RFC 1952 section 2.2: a body may have several members. */
static enum progress gzip_run(void *decoder, struct step *step)
{
    enum progress progress = zlib_run(decoder, step);
    if (progress == END && str_starts(step->in, STR("\x1f\x8b"))) {
        inflateReset(decoder);
        return MORE;
    }
    return progress;
}

/* Meant is the zlib format (RFC 1950), but some send bare deflate (RFC 1951). No encoder begins
 * that with what passes for zlib's head: a stored block, with a bit that is not used set. */
static void *deflate_open(struct str body)
{
    unsigned first = body.n >= 2 ? (unsigned char)body.p[0] : 0;
    unsigned second = body.n >= 2 ? (unsigned char)body.p[1] : 0;
    bool has_head = (first & 0x0f) == Z_DEFLATED && (first * 256 + second) % 31 == 0;
    return zlib_open(has_head ? WINDOW_BITS : -WINDOW_BITS);
}

/* --- br --- */

static void *brotli_open(struct str body)
{
    BrotliDecoderState *decoder = BrotliDecoderCreateInstance(NULL, NULL, NULL);
    (void)body;
    if (!decoder) {
        mem_out();
    }
    return decoder;
}

static void brotli_close(void *decoder)
{
    BrotliDecoderDestroyInstance(decoder);
}

static enum progress brotli_run(void *decoder, struct step *step)
{
    size_t left = step->in.n, room = PIECE_BYTES;
    const uint8_t *in = (const uint8_t *)step->in.p;
    uint8_t *out = (uint8_t *)step->piece;
    BrotliDecoderResult result =
        BrotliDecoderDecompressStream(decoder, &left, &in, &room, &out, NULL);
    step->in = str_skip(step->in, step->in.n - left);
    step->got = PIECE_BYTES - room;
    if (result == BROTLI_DECODER_RESULT_ERROR) {
        return BROKEN;
    }
    return result == BROTLI_DECODER_RESULT_SUCCESS ? END : MORE;
}

/* --- zstd --- */

static void *zstd_open(struct str body)
{
    ZSTD_DCtx *decoder = ZSTD_createDCtx();
    (void)body;
    if (!decoder ||
        ZSTD_isError(ZSTD_DCtx_setParameter(decoder, ZSTD_d_windowLogMax, ZSTD_WINDOW_LOG))) {
        mem_out();
    }
    return decoder;
}

static void zstd_close(void *decoder)
{
    ZSTD_freeDCtx(decoder);
}

/* RFC 8878 section 3.1: how a frame begins, one that is to be skipped too. */
static bool is_zstd_frame(struct str s)
{
    static const struct str MAGIC = {"\x28\xb5\x2f\xfd", 4}, SKIPPED = {"\x2a\x4d\x18", 3};
    return str_starts(s, MAGIC) || (s.n >= 4 && ((unsigned char)s.p[0] & 0xf0) == 0x50 &&
                                    str_starts(str_skip(s, 1), SKIPPED));
}

/* A body may have several frames. */
static enum progress zstd_run(void *decoder, struct step *step)
{
    ZSTD_inBuffer in = {step->in.p, step->in.n, 0};
    ZSTD_outBuffer out = {step->piece, PIECE_BYTES, 0};
    size_t result = ZSTD_decompressStream(decoder, &out, &in);
    step->in = str_skip(step->in, in.pos);
    step->got = out.pos;
    if (ZSTD_isError(result)) {
        return BROKEN;
    }
    return result == 0 && !is_zstd_frame(step->in) ? END : MORE;
}

/* --- the list --- */

static const struct coding CODINGS[] = {
    {{"gzip", 4}, gzip_open, gzip_run, zlib_close},
    {{"x-gzip", 6}, gzip_open, gzip_run, zlib_close},
    {{"deflate", 7}, deflate_open, zlib_run, zlib_close},
    {{"br", 2}, brotli_open, brotli_run, brotli_close},
    {{"zstd", 4}, zstd_open, zstd_run, zstd_close},
};

struct list {
    const struct coding *codings[BODY_MAX_CODINGS]; /* as they were applied */
    unsigned n;
};

/* Adds a coding to the list, unless it is one that changes nothing. */
static enum body_result list_add(struct list *list, struct str name)
{
    if (name.n == 0 || str_eq_nocase(name, STR("identity"))) {
        return BODY_OK;
    }
    for (size_t i = 0; i < sizeof CODINGS / sizeof CODINGS[0]; i++) {
        if (str_eq_nocase(name, CODINGS[i].name)) {
            if (list->n == BODY_MAX_CODINGS) {
                return BODY_BAD;
            }
            list->codings[list->n++] = &CODINGS[i];
            return BODY_OK;
        }
    }
    return BODY_UNKNOWN;
}

static enum body_result list_parse(struct list *list, struct str text)
{
    enum body_result result = BODY_OK;
    list->n = 0;
    while (text.n > 0 && result == BODY_OK) {
        size_t n = str_find(text, ',');
        result = list_add(list, str_trim((struct str){text.p, n}));
        text = str_skip(text, n + 1);
    }
    return result;
}

bool body_is_plain(struct str codings)
{
    struct list list;
    return list_parse(&list, codings) == BODY_OK && list.n == 0;
}

/* --- decoding --- */

/* Takes one coding off. The limit holds piece by piece, so that a bomb goes off small. */
static enum body_result take_off(const struct coding *coding, struct str body, struct buf *out)
{
    struct step step;
    enum progress progress = body.n > 0 ? MORE : END;
    if (progress == END) {
        return BODY_OK;
    }
    step.in = body;
    void *decoder = coding->open(body);
    while (progress == MORE) {
        size_t left = step.in.n;
        progress = coding->run(decoder, &step);
        if (!buf_add(out, step.piece, step.got)) {
            coding->close(decoder);
            return BODY_TOO_LARGE;
        }
        if (progress == MORE && step.got == 0 && step.in.n == left) {
            progress = BROKEN; /* it waits for bytes that do not come */
        }
    }
    coding->close(decoder);
    return progress == END ? BODY_OK : BODY_BAD;
}

/* The last coding applied is the first to be taken off; what is between goes through two buffers in
 * turn. */
static enum body_result take_all_off(const struct list *list, struct str body, struct buf *out)
{
    struct buf between[2];
    size_t max = out->max < BUF_NO_MAX - OVERHEAD_MAX ? out->max + OVERHEAD_MAX : BUF_NO_MAX;
    enum body_result result = BODY_OK;
    buf_init(&between[0], max);
    buf_init(&between[1], max);
    for (unsigned i = list->n; i-- > 0 && result == BODY_OK;) {
        struct buf *to = i == 0 ? out : &between[i % 2];
        if (i > 0) {
            buf_reset(to);
        }
        result = take_off(list->codings[i], body, to);
        body = buf_str(to);
    }
    buf_fini(&between[0]);
    buf_fini(&between[1]);
    return result;
}

enum body_result body_decode(struct str body, struct str codings, struct buf *out)
{
    struct list list;
    size_t start = out->n;
    enum body_result result = list_parse(&list, codings);
    if (result != BODY_OK) {
        return result;
    }
    if (list.n == 0) {
        return buf_add_str(out, body) ? BODY_OK : BODY_TOO_LARGE;
    }
    result = take_all_off(&list, body, out);
    if (result != BODY_OK) {
        out->n = start;
    }
    return result;
}
