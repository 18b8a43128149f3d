/* links: out */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/text.h"
#include "out/progress.h"
#include "out/timeline_csv.h"

#define MS 1000000ULL
#define S (1000 * MS)

static const struct style plain = {0};
static const struct style color = {.color = true};

static struct timeline_entry entries[30];

static struct progress running(void)
{
    struct progress progress = {.elapsed_ns = 12 * S, .entries = entries, .n = 30};

    for (size_t i = 0; i < 30; i++)
        entries[i] = (struct timeline_entry){.length_ns = S, .ended = i};
    progress.now.seconds_ns = S;
    progress.now.ended = 1234;
    progress.now.p50_ns = 1500000;
    progress.now.p99_ns = 12 * MS;
    progress.now.users = 50;
    progress.now.in_flight = 48;
    return progress;
}

static void assert_line(const struct progress *progress, const char *expected)
{
    struct buf out;

    buf_init(&out, BUF_NO_MAX);
    progress_line(&out, &plain, progress, strlen(expected), false);
    buf_add_char(&out, '\0');
    assert_string_equal(out.p, expected);
    buf_fini(&out);
}

static void a_line_says_how_it_goes(void **state)
{
    struct progress progress = running();

    (void)state;
    progress.goal.duration_ns = 30 * S;
    assert_line(&progress, "0:18 left  1234/s  p50 1.50 ms  p99 12.00 ms  50 users  48 in flight");
    progress.goal = (struct progress_goal){.iterations = 1000};
    progress.now.total.iterations = 77;
    assert_line(&progress, "77 of 1000  1234/s  p50 1.50 ms");
    progress.goal.iterations = 0;
    progress.elapsed_ns = 3725 * S;
    assert_line(&progress, "1:02:05  1234/s");
    progress.goal.duration_ns = S; /* the grace */
    assert_line(&progress, "0:00 left  1234/s");
    progress.elapsed_ns = 0;
    progress.now.seconds_ns = 0;
    assert_line(&progress, "warming up  0/s");
}

static void failures_are_told_by_their_kind(void **state)
{
    struct progress progress = running();

    (void)state;
    progress.now.total.causes[OUTCOME_RESPONSE] = 10;
    progress.now.total.classes[2] = 7;
    progress.now.total.classes[5] = 3;
    progress.now.total.causes[OUTCOME_TIMEOUT_TOTAL] = 2;
    assert_line(&progress, "0:12  1234/s  p50 1.50 ms  p99 12.00 ms  50 users  48 in flight"
                           "  5 failed (timeout 2, 5xx 3)");
}

static size_t shown_width(struct str s)
{
    size_t n = 0;

    while (s.n) {
        size_t len = 1;

        if (s.p[0] == '\033')
            len = str_find(s, 'm') + 1;
        else
            n += text_code_width(utf8_decode(s, &len));
        s = str_skip(s, len);
    }
    return n;
}

static void no_line_is_wider_than_the_terminal(void **state)
{
    struct progress progress = running();

    (void)state;
    progress.now.total.causes[OUTCOME_RESET] = 12345;
    for (size_t columns = 0; columns < 200; columns++) {
        for (int i = 0; i < 4; i++) {
            struct buf out;

            buf_init(&out, BUF_NO_MAX);
            progress_line(&out, i & 1 ? &color : &plain, &progress, columns, i & 2);
            assert_true(utf8_valid(buf_str(&out)));
            assert_true(shown_width(buf_str(&out)) <= columns);
            assert_true(str_find(buf_str(&out), '\n') == out.n);
            buf_fini(&out);
        }
    }
}

static void the_rate_is_drawn(void **state)
{
    struct progress progress = running();
    struct buf out;

    (void)state;
    progress.n = 8;
    buf_init(&out, BUF_NO_MAX);
    progress_line(&out, &plain, &progress, 120, true);
    assert_true(str_ends(buf_str(&out), STR("in flight  ▁▂▃▄▅▆▇█")));
    buf_reset(&out);
    progress_line(&out, &plain, &progress, 120, false);
    assert_true(str_ends(buf_str(&out), STR("in flight  _.:-=+*#")));
    buf_fini(&out);
}

static size_t commas(struct str line)
{
    size_t n = 0;

    for (size_t i = 0; i < line.n; i++)
        n += line.p[i] == ',';
    return n;
}

static void rows_have_the_columns_of_the_head(void **state)
{
    struct timeline_entry entry = {.start_ns = 1500 * MS,
                                   .length_ns = 500 * MS,
                                   .started = 5,
                                   .ended = 4,
                                   .successful = 3,
                                   .p50_ns = 1500000,
                                   .failures[FAILED_5XX] = 1};
    struct timeline_entry empty = {.length_ns = S};
    struct buf head, row;

    (void)state;
    buf_init(&head, BUF_NO_MAX);
    buf_init(&row, BUF_NO_MAX);
    timeline_csv_head(&head);
    timeline_csv(&row, &entry, 1);
    assert_int_equal(commas(buf_str(&head)), commas(buf_str(&row)));
    assert_true(str_starts(buf_str(&row), STR("1.5,0.5,5,4,3,1,0,8.00,1.5,")));
    assert_true(str_ends(buf_str(&row), STR(",1,0\n")));
    buf_reset(&row);
    timeline_csv(&row, &empty, 1);
    assert_true(str_starts(buf_str(&row), STR("0.0,1.0,0,0,0,0,0,0.00,,,,,0,")));
    buf_fini(&head);
    buf_fini(&row);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_says_how_it_goes),
        cmocka_unit_test(failures_are_told_by_their_kind),
        cmocka_unit_test(no_line_is_wider_than_the_terminal),
        cmocka_unit_test(the_rate_is_drawn),
        cmocka_unit_test(rows_have_the_columns_of_the_head),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
