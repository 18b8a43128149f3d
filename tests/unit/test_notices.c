/* links: run */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "run/notices.h"

static char told[1000];

static void tell(void *ctx, struct str text, uint64_t count)
{
    size_t n = strlen(told);

    assert_ptr_equal(ctx, told);
    snprintf(told + n, sizeof(told) - n, "%.*s=%u;", (int)text.n, text.p, (unsigned)count);
}

static const char *all(struct notices *notices)
{
    told[0] = '\0';
    notices_each(notices, tell, told);
    return told;
}

static void test_a_place_is_told_of_once(void **state)
{
    struct notices *notices = notices_new();
    int a, b, c;
    char text[] = "at a";

    (void)state;
    assert_true(notices_count(notices, &a));
    assert_true(notices_say(notices, &a, str_of(text)));
    text[0] = 'X'; /* it was copied */
    assert_false(notices_count(notices, &a));
    assert_true(notices_count(notices, &b));
    assert_true(notices_say(notices, &b, STR("at b")));
    assert_false(notices_count(notices, &a));
    assert_true(notices_count(notices, &c));
    assert_true(notices_say(notices, &c, STR("at c")));
    assert_false(notices_count(notices, &c));
    assert_string_equal(all(notices), "at a=3;at c=2;"); /* b's was said when it happened */
    notices_free(notices);
}

static void test_places_that_say_the_same_share_a_count(void **state)
{
    struct notices *notices = notices_new();
    int a, b;

    (void)state;
    assert_true(notices_count(notices, &a));
    assert_true(notices_say(notices, &a, STR("same")));
    assert_true(notices_count(notices, &b));
    assert_false(notices_count(notices, &b)); /* before its text is known */
    assert_false(notices_say(notices, &b, STR("same")));
    assert_false(notices_count(notices, &b));
    assert_string_equal(all(notices), "same=4;");
    notices_free(notices);
}

static void test_places_have_a_limit(void **state)
{
    struct notices *notices = notices_new();
    static char places[NOTICES_MAX + 1];
    char text[20];

    (void)state;
    for (size_t i = 0; i < NOTICES_MAX; i++) {
        assert_true(notices_count(notices, &places[i]));
        snprintf(text, sizeof(text), "%zu", i);
        assert_true(notices_say(notices, &places[i], str_of(text)));
    }
    assert_false(notices_count(notices, &places[NOTICES_MAX]));
    assert_false(notices_count(notices, &places[7]));
    assert_string_equal(all(notices), "7=2;");
    notices_free(notices);
    notices_free(NULL);
}

#define THREADS 4
#define TIMES 1000

static struct notices *shared;
static unsigned said[THREADS];

static void *count_often(void *ctx)
{
    static const char places[2];
    unsigned *mine = ctx;

    for (int i = 0; i < TIMES; i++) {
        const char *place = &places[i % 2];
        if (notices_count(shared, place))
            *mine += notices_say(shared, place, STR("the same"));
    }
    return NULL;
}

static void test_threads_share_them(void **state)
{
    pthread_t threads[THREADS];
    unsigned sum = 0;

    (void)state;
    shared = notices_new();
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, count_often, &said[i]), 0);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        sum += said[i];
    }
    assert_int_equal(sum, 1);
    assert_string_equal(all(shared), "the same=4000;");
    notices_free(shared);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_place_is_told_of_once),
        cmocka_unit_test(test_places_that_say_the_same_share_a_count),
        cmocka_unit_test(test_places_have_a_limit),
        cmocka_unit_test(test_threads_share_them),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
