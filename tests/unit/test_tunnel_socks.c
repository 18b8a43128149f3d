/* links: net base */
#include "tunnel_fixture.h"

#define REQUEST_NAME "\5\1\0\3\11h.example\1\xbb"
#define GRANTED "\5\0\0\1\1\2\3\4\5\6"

static void start_socks(struct tunnel *tunnel, struct memory *memory, bool with_login)
{
    tunnel_init_socks(tunnel, &memory->stream, STR("h.example"), 443, NULL,
                      with_login ? STR("user") : STR(""), with_login ? STR("secret") : STR(""));
}

/* Turn by turn, the rest behind the last answer, with every split. */
static void check_socks(bool with_login, const struct str *turns, unsigned n, struct str written)
{
    for (size_t step = 1; step < 300; step++) {
        struct memory memory;
        struct tunnel tunnel;
        memory_init(&memory, STR(""), step);
        memory.turns = turns;
        memory.n_turns = n;
        start_socks(&tunnel, &memory, with_login);
        assert_int_equal(run(&tunnel, &memory), IO_OK);
        assert_false(memory.wants_write);
        expect_bytes(buf_str(&memory.out), written);
        expect_rest(&tunnel, STR("first words"));
        finish(&tunnel, &memory);
    }
}

static void test_socks_dialogues(void **state)
{
#define WORDS "first words"
    const struct str plain[] = {BYTES("\5\0"), BYTES(GRANTED WORDS)};
    const struct str v6[] = {BYTES("\5\0"), BYTES("\5\0\0\4qqqqwwwweeeerrrr\5\6" WORDS)};
    const struct str name[] = {BYTES("\5\0"), BYTES("\5\0\0\3\4name\5\6" WORDS)};
    const struct str no_name[] = {BYTES("\5\0"), BYTES("\5\0\0\3\0\5\6" WORDS)};
    const struct str login[] = {BYTES("\5\2"), BYTES("\1\0"), BYTES(GRANTED WORDS)};
    const struct str login5[] = {BYTES("\5\2"), BYTES("\5\0"), BYTES(GRANTED WORDS)};
    const struct str written = BYTES("\5\1\0" REQUEST_NAME);
    const struct str written_login = BYTES("\5\2\0\2\1\4user\6secret" REQUEST_NAME);
    const struct str written_both = BYTES("\5\2\0\2" REQUEST_NAME);
    (void)state;
    check_socks(false, plain, 2, written);
    check_socks(false, v6, 2, written);
    check_socks(false, name, 2, written);
    check_socks(false, no_name, 2, written);
    check_socks(true, plain, 2, written_both);
    check_socks(true, login, 3, written_login);
    check_socks(true, login5, 3, written_login);
}

/* The longest answer there is: a name of 255 bytes. */
static void test_socks_long_reply(void **state)
{
    char reply[5 + 255 + 2 + 11] = "\5\0\0\3\xff";
    memcpy(reply + 262, "first words", 11);
    const struct str turns[] = {BYTES("\5\0"), {reply, sizeof(reply)}};
    (void)state;
    check_socks(false, turns, 2, BYTES("\5\1\0" REQUEST_NAME));
}

static void test_socks_addresses(void **state)
{
    struct sockaddr_in v4 = {.sin_family = AF_INET};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    v4.sin_addr.s_addr = htonl(0x0a000102);
#define LOOPBACK "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1"
    const struct {
        const char *host;
        const struct sockaddr *address;
        struct str want;
    } cases[] = {
        {"h", (const struct sockaddr *)&v4, BYTES("\5\1\0\1\12\0\1\2\x1f\x90")},
        {"h", (const struct sockaddr *)&v6, BYTES("\5\1\0\4" LOOPBACK "\x1f\x90")},
        {"10.0.1.2", NULL, BYTES("\5\1\0\1\12\0\1\2\x1f\x90")},
        {"[::1]", NULL, BYTES("\5\1\0\4" LOOPBACK "\x1f\x90")},
        {"h", NULL, BYTES("\5\1\0\3\1h\x1f\x90")},
    };
    const struct str turns[] = {BYTES("\5\0"), BYTES(GRANTED)};
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct memory memory;
        struct tunnel tunnel;
        memory_init(&memory, STR(""), 3);
        memory.turns = turns;
        memory.n_turns = 2;
        tunnel_init_socks(&tunnel, &memory.stream, str_of(cases[i].host), 8080, cases[i].address,
                          STR(""), STR(""));
        assert_int_equal(run(&tunnel, &memory), IO_OK);
        expect_bytes(str_skip(buf_str(&memory.out), 3), cases[i].want);
        finish(&tunnel, &memory);
    }
}

static void test_socks_refusals(void **state)
{
#define NO_SOCKS "the proxy answered with something that is not SOCKS 5"
#define ANSWERED "the proxy answered: "
    static const struct {
        bool with_login;
        struct str turns[3];
        const char *text;
    } CASES[] = {
        {false, {BYTES("\5\xff")}, "the proxy wants a user name and a password"},
        {true, {BYTES("\5\xff")}, "the proxy takes no user name and password"},
        {false, {BYTES("\5\2")}, NO_SOCKS},
        {true, {BYTES("\5\1")}, NO_SOCKS},
        {false, {BYTES("\4\0")}, NO_SOCKS},
        {false, {BYTES("H")}, NO_SOCKS},
        {false, {BYTES("HTTP/1.1 400 Bad Request\r\n")}, NO_SOCKS},
        {true, {BYTES("\5\2"), BYTES("\1\1")}, "the proxy refused the user name and the password"},
        {true, {BYTES("\5\2"), BYTES("\1")}, CLOSED},
        {false, {BYTES("\5\0"), BYTES("\5\1\0\1\0\0\0\0\0\0")}, ANSWERED "general failure"},
        {false, {BYTES("\5\0"), BYTES("\5\2")}, ANSWERED "not allowed"},
        {false, {BYTES("\5\0"), BYTES("\5\3\0")}, ANSWERED "network unreachable"},
        {false, {BYTES("\5\0"), BYTES("\5\4\0\1")}, ANSWERED "host unreachable"},
        {false, {BYTES("\5\0"), BYTES("\5\5\0\1\0")}, ANSWERED "connection refused"},
        {false, {BYTES("\5\0"), BYTES("\5\6")}, ANSWERED "timed out"},
        {false, {BYTES("\5\0"), BYTES("\5\7")}, ANSWERED "command not supported"},
        {false, {BYTES("\5\0"), BYTES("\5\10")}, ANSWERED "kind of address not supported"},
        {false, {BYTES("\5\0"), BYTES("\5\11")}, ANSWERED "an unknown failure"},
        {false, {BYTES("\5\0"), BYTES("\5\xff")}, ANSWERED "an unknown failure"},
        {false, {BYTES("\5\0"), BYTES("\4\0")}, NO_SOCKS},
        {false, {BYTES("\5\0"), BYTES("\5\0\0\2\1\1\1\1\1\1")}, NO_SOCKS},
        {false, {BYTES("\5\0"), BYTES("\5\0\0\1\1\2\3\4\5")}, CLOSED},
        {false, {BYTES("\5\0"), BYTES("\5\0\0\3\377abc")}, CLOSED},
        {false, {BYTES("\5\0"), BYTES("\5")}, CLOSED},
        {false, {BYTES("\5\0"), BYTES("")}, CLOSED},
        {false, {BYTES("\5")}, CLOSED},
        {false, {BYTES("")}, CLOSED},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(CASES); i++) {
        for (size_t step = 1; step < 20; step++) {
            struct memory memory;
            struct tunnel tunnel;
            memory_init(&memory, STR(""), step);
            memory.turns = CASES[i].turns;
            memory.n_turns = COUNT(CASES[i].turns);
            start_socks(&tunnel, &memory, CASES[i].with_login);
            assert_int_equal(run(&tunnel, &memory), IO_FAILED);
            expect_failure(&tunnel, OUTCOME_CONNECT_PROXY, CASES[i].text);
            finish(&tunnel, &memory);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_socks_dialogues),
        cmocka_unit_test(test_socks_long_reply),
        cmocka_unit_test(test_socks_addresses),
        cmocka_unit_test(test_socks_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
