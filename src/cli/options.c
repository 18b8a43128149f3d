#include "cli/options.h"

#include "plan/plan.h"

#define EVERY (1u << COMMAND_NONE | 1u << COMMAND_RUN)
#define RUN (1u << COMMAND_RUN)
#define VALIDATE (1u << COMMAND_VALIDATE)
#define ALL (EVERY | VALIDATE | 1u << COMMAND_HELP)

#define IN(which, heading) .commands = which, .group = heading
#define CHOICE(list) .type = TYPE_CHOICE, .choices = list

#define WHOLE_MAX 9007199254740992.0 /* 2^53: exact in a double */

#define PLAN "The plan"
#define LOAD "The load"
#define REQUESTS "Requests"
#define WIRE "The wire"
#define OUTPUT "Output"
#define OTHER "Other"

static const char *const stats_formats[] = {"text", "json", NULL};
static const char *const http_versions[] = {"1.1", "2", "2-prior-knowledge", NULL};
static const char *const tls_versions[] = {"1.2", "1.3", NULL};
static const char *const arrivals[] = {"constant", "poisson", NULL};
static const char *const when_late[] = {"queue", "drop", NULL};
static const char *const timers[] = {"sleep", "spin", NULL};
static const char *const timestamps[] = {"clock", "kernel", NULL};
static const char *const colors[] = {"auto", "always", "never", NULL};

const struct option option_table[OPT_COUNT] = {
    [OPT_BENCHMARK] =
        {
            .name = "--benchmark",
            .letter = 'b',
            .type = TYPE_TEXT,
            IN(EVERY, PLAN),
            .metavar = "FILE",
            .summary = "the plan; - reads it from standard input",
        },
    [OPT_BASE_URL] =
        {
            .name = "--base-url",
            .letter = 'u',
            .type = TYPE_TEXT,
            IN(RUN | VALIDATE, PLAN),
            .metavar = "URL",
            .summary = "use URL in place of the plan's base",
            .detail = "It also beats the base that an ad-hoc URL brings.",
        },
    [OPT_TAGS] =
        {
            .name = "--tags",
            .type = TYPE_LIST,
            IN(EVERY, PLAN),
            .metavar = "A,B,...",
            .wants = "a list of tags",
            .summary = "run only the steps that have one of these tags",
            .detail =
                "Steps tagged 'always' run too; those tagged 'never' only if 'never' is named.",
        },
    [OPT_SKIP_TAGS] =
        {
            .name = "--skip-tags",
            .type = TYPE_LIST,
            IN(EVERY, PLAN),
            .metavar = "A,B,...",
            .wants = "a list of tags",
            .summary = "leave out the steps that have one of these tags",
            .detail = "Leaving out wins over --tags.",
        },
    [OPT_LIST_TAGS] =
        {
            .name = "--list-tags",
            .type = TYPE_FLAG,
            IN(EVERY, PLAN),
            .summary = "print the plan's tags and exit",
        },
    [OPT_LIST_TASKS] =
        {
            .name = "--list-tasks",
            .type = TYPE_FLAG,
            IN(EVERY, PLAN),
            .summary = "print the steps that would run and exit",
        },
    [OPT_RELAXED] =
        {
            .name = "--relaxed-interpolations",
            .type = TYPE_FLAG,
            IN(EVERY | VALIDATE, PLAN),
            .summary = "an unknown variable is an empty text",
            .detail = "With a warning, instead of an error or the end of its iteration.",
        },
    [OPT_SEED] =
        {
            .name = "--seed",
            .type = TYPE_WHOLE,
            IN(EVERY, PLAN),
            .metavar = "N",
            .wants = "a whole number",
            .max = WHOLE_MAX,
            .summary = "repeat shuffles and all that is random",
            .detail = "Also the arrivals of --arrival poisson and delays between two times.",
        },
    [OPT_CONCURRENCY] =
        {
            .name = "--concurrency",
            .letter = 'p',
            .type = TYPE_WHOLE,
            IN(RUN, LOAD),
            .metavar = "N",
            .wants = "a whole number from 1 to 1000000",
            .min = 1,
            .max = (double)PLAN_MAX_CONCURRENCY,
            .summary = "virtual users: iterations in flight at once",
            .detail =
                "Default: the plan's concurrency, or the iterations of the plan's file, or 1.",
        },
    [OPT_ITERATIONS] =
        {
            .name = "--iterations",
            .letter = 'i',
            .type = TYPE_WHOLE,
            IN(RUN, LOAD),
            .metavar = "N",
            .wants = "a whole number from 1 to 10^12",
            .min = 1,
            .max = (double)PLAN_MAX_ITERATIONS,
            .summary = "iterations in all (default: 1)",
            .detail = "Excludes --duration.",
        },
    [OPT_DURATION] =
        {
            .name = "--duration",
            .letter = 'd',
            .type = TYPE_TEXT,
            IN(RUN, LOAD),
            .metavar = "TIME",
            .summary = "run for this long, e.g. 30s, 500ms, 1m30s",
            .detail = "Instead of a number of iterations. Units: ms, s, m, h; a number alone is "
                      "seconds.",
        },
    [OPT_RAMPUP] =
        {
            .name = "--rampup",
            .letter = 'e',
            .type = TYPE_NUMBER,
            IN(RUN, LOAD),
            .metavar = "SECONDS",
            .wants = "a number of seconds",
            .max = PLAN_MAX_SECONDS,
            .summary = "time over which the users start (default: 0)",
        },
    [OPT_RATE] =
        {
            .name = "--rate",
            .type = TYPE_TEXT,
            IN(RUN, LOAD),
            .metavar = "R",
            .summary = "start so many iterations a second, e.g. 100, 6000/m",
            .detail = "However slow the server is; users are then the most that may be in flight "
                      "(default: 1000). 100r/s counts requests. Needs --duration or --iterations.",
        },
    [OPT_ARRIVAL] =
        {
            .name = "--arrival",
            CHOICE(arrivals),
            IN(RUN, LOAD),
            .metavar = "HOW",
            .summary = "a rate's starts: constant (default) or poisson",
            .detail = "constant: at equal distances. poisson: at random, as from many strangers.",
        },
    [OPT_WHEN_LATE] =
        {
            .name = "--when-late",
            CHOICE(when_late),
            IN(RUN, LOAD),
            .metavar = "HOW",
            .summary = "a start that finds no free user: queue (default) or drop",
            .detail = "Either way it is counted.",
        },
    [OPT_STAGES] =
        {
            .name = "--stages",
            .type = TYPE_TEXT,
            IN(RUN, LOAD),
            .metavar = "TIME:N,...",
            .summary = "users (30s:100,1m:100,10s:0) or rates (30s:100/s)",
            .detail = "In straight lines from target to target, from 0 on; 0s:50 jumps. The run "
                      "ends with the last stage.",
        },
    [OPT_WARMUP] =
        {
            .name = "--warmup",
            .type = TYPE_TEXT,
            IN(RUN, LOAD),
            .metavar = "TIME",
            .summary = "run the load for this long before it counts",
        },
    [OPT_GRACE] =
        {
            .name = "--grace",
            .type = TYPE_TEXT,
            IN(RUN, LOAD),
            .metavar = "TIME",
            .summary = "for requests in flight at the end (default: 0)",
            .detail = "At the end of the time, and after SIGINT and SIGTERM.",
        },
    [OPT_CONNECTIONS_FIRST] =
        {
            .name = "--connections-first",
            .type = TYPE_FLAG,
            IN(RUN, LOAD),
            .summary = "all users connect before the clock starts",
        },
    [OPT_TIMER] =
        {
            .name = "--timer",
            CHOICE(timers),
            IN(RUN, LOAD),
            .metavar = "HOW",
            .summary = "wait for a rate's starts by sleep (default) or spin",
            .detail = "spin stays awake for the last microseconds: more exact, for a processor "
                      "to spare.",
        },
    [OPT_TIMESTAMPS] =
        {
            .name = "--timestamps",
            CHOICE(timestamps),
            IN(RUN, LOAD),
            .metavar = "WHOSE",
            .summary = "measure by the clock (default) or kernel",
            .detail = "kernel: an answer came when the kernel received its packets.",
        },
    [OPT_WORKER_THREADS] =
        {
            .name = "--worker-threads",
            .letter = 'w',
            .type = TYPE_WHOLE,
            IN(RUN, LOAD),
            .metavar = "N",
            .wants = "a whole number from 1 to 1024",
            .min = 1,
            .max = 1024,
            .summary = "event-loop threads (default: 1)",
            .detail =
                "The users are dealt out among them; there are never more threads than users.",
        },
    [OPT_TIMEOUT] =
        {
            .name = "--timeout",
            .letter = 'o',
            .type = TYPE_NUMBER,
            IN(EVERY, REQUESTS),
            .metavar = "SECONDS",
            .wants = "a number of seconds, at least 0.001",
            .min = 0.001,
            .max = PLAN_MAX_SECONDS,
            .summary = "time for one request (default: 10)",
            .detail = "Connecting, redirects and reading the whole body included.",
        },
    [OPT_MAX_REDIRECTS] =
        {
            .name = "--max-redirects",
            .type = TYPE_WHOLE,
            IN(EVERY, REQUESTS),
            .metavar = "N",
            .wants = "a whole number from 0 to 1000",
            .max = 1000,
            .summary = "redirects to follow (default: 10)",
            .detail = "0 takes the redirect itself for the response.",
        },
    [OPT_MAX_BODY] =
        {
            .name = "--max-body",
            .type = TYPE_SIZE,
            IN(EVERY, REQUESTS),
            .metavar = "SIZE",
            .wants = "a size: 1000000, 10k, 64MiB, 1G",
            .summary = "largest body a step may keep (default: 64MiB)",
            .detail =
                "A larger one fails the request. Bodies that no step assigns are not kept and "
                "not limited.",
        },
    [OPT_CONNECT_TIMEOUT] =
        {
            .name = "--connect-timeout",
            .type = TYPE_NUMBER,
            IN(EVERY, WIRE),
            .metavar = "SECONDS",
            .wants = "a number of seconds, at least 0.001",
            .min = 0.001,
            .max = PLAN_MAX_SECONDS,
            .summary = "time to make a connection (default: --timeout)",
            .detail = "Name look-up, TCP, proxy and TLS together.",
        },
    [OPT_HTTP] =
        {
            .name = "--http",
            CHOICE(http_versions),
            IN(EVERY, WIRE),
            .metavar = "VERSION",
            .summary = "the version of HTTP: 1.1, 2, 2-prior-knowledge",
            .detail = "Default: for https 2 where the server offers it, else 1.1; for http 1.1. "
                      "With 2, an https server without it is a failure; with 2-prior-knowledge "
                      "http is HTTP/2 too, from the first byte.",
        },
    [OPT_CONNECTIONS] =
        {
            .name = "--connections",
            .type = TYPE_WHOLE,
            IN(EVERY, WIRE),
            .metavar = "N",
            .wants = "a whole number from 1 to 10000",
            .min = 1,
            .max = 10000,
            .summary = "HTTP/2: connections per thread and server",
            .detail = "The users of a thread share them. Default: 1. Past the server's limit of "
                      "streams more are opened. HTTP/1.1 has one for each user.",
        },
    [OPT_NO_CHECK_CERTIFICATE] =
        {
            .name = "--no-check-certificate",
            .type = TYPE_FLAG,
            IN(EVERY, WIRE),
            .summary = "accept any certificate",
            .detail = "Neither it nor the host's name is verified; the statistics say so.",
        },
    [OPT_CACERT] =
        {
            .name = "--cacert",
            .type = TYPE_TEXT,
            IN(EVERY, WIRE),
            .metavar = "FILE",
            .summary = "trust these authorities (PEM), not the system's",
        },
    [OPT_CERT] =
        {
            .name = "--cert",
            .type = TYPE_TEXT,
            IN(EVERY, WIRE),
            .metavar = "FILE",
            .summary = "the client's own certificate and chain (PEM)",
        },
    [OPT_KEY] =
        {
            .name = "--key",
            .type = TYPE_TEXT,
            IN(EVERY, WIRE),
            .metavar = "FILE",
            .summary = "the key of --cert (PEM), if in a file of its own",
        },
    [OPT_KEY_PASS_FILE] =
        {
            .name = "--key-pass-file",
            .type = TYPE_TEXT,
            IN(EVERY, WIRE),
            .metavar = "FILE",
            .summary = "the passphrase of an encrypted --key",
            .detail = "The first line of FILE; without this option, the variable "
                      "DRILLER_KEY_PASS.",
        },
    [OPT_TLS_MIN] =
        {
            .name = "--tls-min",
            CHOICE(tls_versions),
            IN(EVERY, WIRE),
            .metavar = "VERSION",
            .summary = "the oldest version of TLS: 1.2 (default) or 1.3",
        },
    [OPT_CIPHERS] =
        {
            .name = "--ciphers",
            .type = TYPE_TEXT,
            IN(EVERY, WIRE),
            .metavar = "LIST",
            .summary = "ciphers, as OpenSSL names them, with ':' between",
            .detail = "Names that begin with TLS_ are for TLS 1.3, others for 1.2; the version "
                      "of which none is named keeps its own.",
        },
    [OPT_PROXY] =
        {
            .name = "--proxy",
            .type = TYPE_TEXT,
            IN(EVERY, WIRE),
            .metavar = "URL",
            .summary = "send everything through this proxy",
            .detail = "http://, https://, socks5:// or socks5h://. Beats HTTP_PROXY, HTTPS_PROXY "
                      "and ALL_PROXY; an empty URL is no proxy.",
        },
    [OPT_NO_PROXY] =
        {
            .name = "--no-proxy",
            .type = TYPE_TEXT,
            IN(EVERY, WIRE),
            .metavar = "LIST",
            .summary = "hosts that are reached without a proxy",
            .detail = "Names (and what is below them), addresses, networks (10.0.0.0/8) or *, with "
                      "commas. Beats NO_PROXY.",
        },
    [OPT_RESOLVE] =
        {
            .name = "--resolve",
            .type = TYPE_REPEAT,
            IN(EVERY, WIRE),
            .metavar = "HOST:PORT:ADDR",
            .summary = "the address of a host, in place of a look-up",
            .detail = "ADDR may be several, with commas; HOST may be *. May be given several "
                      "times.",
        },
    [OPT_CONNECT_TO] =
        {
            .name = "--connect-to",
            .type = TYPE_REPEAT,
            IN(EVERY, WIRE),
            .metavar = "H1:P1:H2:P2",
            .summary = "connect to H2:P2 in place of H1:P1",
            .detail = "An empty H1 or P1 is any, an empty H2 or P2 the same. May be given several "
                      "times; the first that fits counts.",
        },
    [OPT_IPV4] =
        {
            .name = "--ipv4",
            .letter = '4',
            .type = TYPE_FLAG,
            IN(EVERY, WIRE),
            .summary = "use IPv4 addresses only",
        },
    [OPT_IPV6] =
        {
            .name = "--ipv6",
            .letter = '6',
            .type = TYPE_FLAG,
            IN(EVERY, WIRE),
            .summary = "use IPv6 addresses only",
        },
    [OPT_UNIX_SOCKET] =
        {
            .name = "--unix-socket",
            .type = TYPE_TEXT,
            IN(EVERY, WIRE),
            .metavar = "PATH",
            .summary = "connect to this socket, whatever the URL's host",
        },
    [OPT_LOCAL_ADDRESS] =
        {
            .name = "--local-address",
            .type = TYPE_LIST,
            IN(EVERY, WIRE),
            .metavar = "ADDR,...",
            .wants = "a list of addresses",
            .summary = "connect from these addresses, in turn",
            .detail = "They must be addresses of this machine. Each brings some 28,000 more ports.",
        },
    [OPT_STATS] =
        {
            .name = "--stats",
            .letter = 's',
            .type = TYPE_FLAG,
            IN(EVERY, OUTPUT),
            .summary = "print statistics at the end",
        },
    [OPT_STATS_FORMAT] =
        {
            .name = "--stats-format",
            CHOICE(stats_formats),
            IN(EVERY, OUTPUT),
            .metavar = "FORMAT",
            .summary = "statistics as text (default) or json",
            .detail =
                "json implies --stats, keeps standard output for one JSON document, sends the "
                "banner to standard error and prints no per-request lines.",
        },
    [OPT_REPORT] =
        {
            .name = "--report",
            .letter = 'r',
            .type = TYPE_TEXT,
            IN(EVERY, OUTPUT),
            .metavar = "FILE",
            .summary = "record every request, for --compare",
        },
    [OPT_COMPARE] =
        {
            .name = "--compare",
            .letter = 'c',
            .type = TYPE_TEXT,
            IN(EVERY, OUTPUT),
            .metavar = "FILE",
            .summary = "compare with a recorded report",
            .detail = "Needs --threshold. A step that has become slower makes the exit status 1.",
        },
    [OPT_THRESHOLD] =
        {
            .name = "--threshold",
            .letter = 't',
            .type = TYPE_NUMBER,
            IN(EVERY, OUTPUT),
            .metavar = "MS",
            .wants = "a number of milliseconds",
            .max = 1e12,
            .summary = "how much slower a step's mean may be",
        },
    [OPT_TIMELINE] =
        {
            .name = "--timeline",
            .type = TYPE_TEXT,
            IN(EVERY, OUTPUT),
            .metavar = "FILE",
            .summary = "write a line for each second, as CSV",
        },
    [OPT_INTERVAL] =
        {
            .name = "--interval",
            .type = TYPE_TEXT,
            IN(EVERY, OUTPUT),
            .metavar = "TIME",
            .summary = "of the time line (default: 1s; from 10ms to 1h)",
        },
    [OPT_PROGRESS] =
        {
            .name = "--progress",
            .type = TYPE_FLAG,
            IN(EVERY, OUTPUT),
            .summary = "show how the run goes, without a terminal too",
        },
    [OPT_NO_PROGRESS] =
        {
            .name = "--no-progress",
            .type = TYPE_FLAG,
            IN(EVERY, OUTPUT),
            .summary = "do not show it",
        },
    [OPT_QUIET] =
        {
            .name = "--quiet",
            .letter = 'q',
            .type = TYPE_FLAG,
            IN(EVERY, OUTPUT),
            .summary = "print no line for each request",
        },
    [OPT_VERBOSE] =
        {
            .name = "--verbose",
            .letter = 'v',
            .type = TYPE_FLAG,
            IN(EVERY, OUTPUT),
            .summary = "print every request and response",
            .detail =
                "Values of authorization, proxy-authorization, cookie and set-cookie are shown "
                "only if it is given twice.",
        },
    [OPT_NANOSEC] =
        {
            .name = "--nanosec",
            .letter = 'n',
            .type = TYPE_FLAG,
            IN(EVERY, OUTPUT),
            .summary = "print times in nanoseconds",
        },
    [OPT_COLOR] =
        {
            .name = "--color",
            CHOICE(colors),
            IN(EVERY, OUTPUT),
            .metavar = "WHEN",
            .summary = "colour: auto (default), always or never",
            .detail = "auto: on a terminal, unless NO_COLOR says otherwise.",
        },
    [OPT_HELP] =
        {
            .name = "--help",
            .letter = 'h',
            .type = TYPE_FLAG,
            IN(ALL, OTHER),
            .summary = "print help (-h: short)",
        },
    [OPT_VERSION] =
        {
            .name = "--version",
            .letter = 'V',
            .type = TYPE_FLAG,
            IN(ALL, OTHER),
            .summary = "print the version",
        },
};
