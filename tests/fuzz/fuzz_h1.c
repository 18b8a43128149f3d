/* links: http base */
/*
 * Responses on one connection, read whole and in pieces whose sizes come from the input: the events
 * must be the same. Then one body decoded with h1_body_skip wherever bytes are certain.
 *
 * Input: 1 byte (bit 0: the requests are HEAD), 8 bytes of sizes, the connection's bytes.
 */
#include "../unit/h1_reader.h"
#include "fuzz.h"

/* Reads on in pieces of sizes[0], sizes[1], … sizes[7], sizes[0] … bytes (0 counts as 256). */
static void read_in_pieces(struct h1_reader *reader, struct str bytes, struct str sizes,
                           bool head_request)
{
    h1_reader_init(reader, head_request);
    for (size_t i = 0; bytes.n > 0 && !reader->over; i++) {
        size_t n = sizes.n ? (uint8_t)sizes.p[i % sizes.n] : 1;

        n = n ? n : 256;
        n = n < bytes.n ? n : bytes.n;
        h1_reader_feed(reader, (struct str){bytes.p, n});
        bytes = str_skip(bytes, n);
    }
    h1_reader_end(reader);
}

/* How much of the bytes behind a head its body takes, and how it ends; with skips, or without. */
struct outcome_of_body {
    enum h1_body_event event;
    uint64_t taken, body;
};

static struct outcome_of_body decode(const struct h1_head *head, struct str bytes, bool skip)
{
    struct outcome_of_body outcome = {.event = H1_BODY_MORE};
    struct h1_body decoder;
    size_t all = bytes.n;

    h1_body_init(&decoder, head);
    do {
        uint64_t certain = h1_body_certain(&decoder);
        size_t used = 0;
        struct str piece = {NULL, 0};
        const char *why = NULL;

        if (skip && certain > 0 && bytes.n > 0) {
            used = certain < bytes.n ? (size_t)certain : bytes.n;
            outcome.event = h1_body_skip(&decoder, used) ? H1_BODY_DONE : H1_BODY_DATA;
            outcome.body += used;
        } else {
            outcome.event = h1_body_feed(&decoder, bytes.p, bytes.n, &used, &piece, &why);
            CHECK(piece.n <= used && used <= bytes.n);
            CHECK(certain == 0 || piece.n == (certain < bytes.n ? certain : bytes.n));
            CHECK((outcome.event < H1_BODY_BAD) == (why == NULL));
            outcome.body += piece.n;
        }
        bytes = str_skip(bytes, used);
    } while (outcome.event == H1_BODY_DATA);
    outcome.taken = all - bytes.n;
    return outcome;
}

static void check_fields(const struct h1_head *head)
{
    struct str fields = head->fields, name, value, found;
    char *unfolded = xmalloc(head->fields.n);

    while (h1_field_next(&fields, &name, &value)) {
        CHECK(name.n > 0 && h1_field_find(head->fields, name, &found));
        CHECK(h1_unfold(value, unfolded) <= value.n);
        CHECK(h1_is_folded(value) || (h1_unfold(value, unfolded) == value.n));
        CHECK(!h1_is_folded(value) || head->lenient);
    }
    free(unfolded);
}

static void skip_and_feed(struct str bytes, bool head_request)
{
    struct h1_head head;
    const char *why = NULL;

    if (h1_head_parse(bytes.p, bytes.n, 0, head_request, &head, &why) != H1_OK)
        return;
    CHECK(head.size <= bytes.n && head.status >= 100 && head.status <= 999);
    check_fields(&head);
    bytes = str_skip(bytes, head.size);
    struct outcome_of_body fed = decode(&head, bytes, false);
    struct outcome_of_body skipped = decode(&head, bytes, true);
    CHECK(fed.event == skipped.event);
    CHECK(fed.taken == skipped.taken);
    CHECK(fed.body == skipped.body);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str bytes = fuzz_input(data, size), sizes;
    bool head_request = fuzz_byte(&bytes) & 1;
    struct h1_reader whole, pieces, single;

    sizes = (struct str){bytes.p, bytes.n < 8 ? bytes.n : 8};
    bytes = str_skip(bytes, 8);
    h1_reader_run(&whole, bytes, 0, NULL, head_request);
    h1_reader_run(&single, bytes, 1, NULL, head_request);
    read_in_pieces(&pieces, bytes, sizes, head_request);
    CHECK(!str_ends(buf_str(&whole.log), STR("\nwrong: input left over\n")));
    CHECK(!str_ends(buf_str(&whole.log), STR("\nwrong: more body bytes than were certain\n")));
    CHECK(str_eq(buf_str(&whole.log), buf_str(&single.log)));
    CHECK(str_eq(buf_str(&whole.log), buf_str(&pieces.log)));
    h1_reader_fini(&whole);
    h1_reader_fini(&pieces);
    h1_reader_fini(&single);
    skip_and_feed(bytes, head_request);
    return 0;
}
