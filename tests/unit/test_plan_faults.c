/* links: plan base */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "plan/plan.h"

#define SETTING(lines) lines "plan:\n  - request:\n      url: http://h/\n"
#define STEP(lines) "base: http://h\nplan:\n" lines
/* Lines 3 and 4 are there; what is added begins on line 5. */
#define REQUEST(lines) STEP("  - request:\n      url: /\n" lines)

#define A16 "AAAAAAAAAAAAAAAA"
#define A64 A16 A16 A16 A16
#define A256 A64 A64 A64 A64

#define E SEVERITY_ERROR
#define W SEVERITY_WARNING

/* One fault each, and no other that follows from it. */
static const struct row {
    const char *plan;
    enum severity severity;
    unsigned line, column;
    const char *text, *help; /* parts of them; help NULL: none */
} rows[] = {
    /* the document */
    {"", E, 0, 0, "empty", ""},
    {"# only a comment\n", E, 0, 0, "empty", ""},
    {"- request:\n    url: http://h/\n", E, 1, 1, "must be a mapping", "plan:"},
    {"just text", E, 1, 1, "must be a mapping", "plan:"},
    {"base: http://h\n", E, 1, 1, "no key 'plan'", "plan:"},
    {"base: http://h\nplan:\n", E, 2, 6, "plan must be a list", "'- '"},
    {"base: http://h\nplan: 5\n", E, 2, 7, "plan must be a list", "'- '"},
    {"base: http://h\nplan: {a: b}\n", E, 2, 7, "plan must be a list", "'- '"},
    {"plan: [\n", E, 0, 0, "", ""},
    {"plan: []\nplan: []\n", E, 2, 1, "plan", ""},
    {"a: &x [*x]\nplan: []\n", E, 1, 0, "", ""},
    {"plan:\n\t- a\n", E, 2, 0, "tab", "blanks"},
    {"base: \xff\nplan: []\n", E, 1, 7, "UTF-8", "UTF-8"},
    {SETTING("base: http://h\n") "---\nplan: []\n", W, 5, 1, "only the first document", ""},

    /* settings */
    {SETTING("iterations: 0\n"), E, 1, 13, "iterations must be a whole number of at least 1", NULL},
    {SETTING("iterations: -3\n"), E, 1, 13, "not '-3'", NULL},
    {SETTING("iterations: 2.5\n"), E, 1, 13, "not '2.5'", NULL},
    {SETTING("iterations: 1e3\n"), E, 1, 13, "not '1e3'", NULL},
    {SETTING("iterations: 1_000\n"), E, 1, 13, "not '1_000'", NULL},
    {SETTING("iterations: many\n"), E, 1, 13, "not 'many'", NULL},
    {SETTING("iterations: ''\n"), E, 1, 13, "not ''", NULL},
    {SETTING("iterations:\n"), E, 1, 12, "iterations must be", NULL},
    {SETTING("iterations: true\n"), E, 1, 13, "not 'true'", NULL},
    {SETTING("iterations: .inf\n"), E, 1, 13, "not '.inf'", NULL},
    {SETTING("iterations: [1]\n"), E, 1, 13, "iterations must be a whole number", NULL},
    {SETTING("iterations: 1000000000000000000\n"), E, 1, 13, "iterations is at most", NULL},
    {SETTING("iterations: 99999999999999999999\n"), E, 1, 13, "iterations is at most", NULL},
    {SETTING("iterations: '{{ NO_SUCH_ROUNDS }}'\n"), E, 1, 13, "no variable 'NO_SUCH_ROUNDS'",
     "only environment"},
    {SETTING("iterations: '{{ iteration }}'\n"), E, 1, 13, "no variable 'iteration'",
     "only environment"},
    {SETTING("iterations: '{{ DRILLER_TEST_WORD }}'\n"), E, 1, 13, "not 'word'", NULL},
    {SETTING("concurrency: 0\n"), E, 1, 14, "concurrency must be a whole number", NULL},
    {SETTING("concurrency: -1\n"), E, 1, 14, "not '-1'", NULL},
    {SETTING("concurrency: 1000000000\n"), E, 1, 14, "concurrency is at most 1000000", NULL},
    {SETTING("threads: 0\nconcurrency: 1\n"), W, 1, 10, "passed over", "concurrency"},
    {SETTING("threads: 2\n"), W, 1, 10, "read as 'concurrency'", "concurrency"},
    {SETTING("rampup: -1\n"), E, 1, 9, "rampup must be from 0", NULL},
    {SETTING("rampup: soon\n"), E, 1, 9, "not 'soon'", NULL},
    {SETTING("rampup: .nan\n"), E, 1, 9, "not '.nan'", NULL},
    {SETTING("rampup: 1e300\n"), E, 1, 9, "rampup must be from 0", NULL},
    {SETTING("rampup: {}\n"), E, 1, 9, "rampup must be a number", NULL},
    {SETTING("rate: 0\n"), E, 1, 7, "rate: '0': a rate must be above 0", NULL},
    {SETTING("rate: 1e8\n"), E, 1, 7, "at most 10,000,000 a second", NULL},
    {SETTING("rate: fast\n"), E, 1, 7, "rate: 'fast': a rate looks like", NULL},
    {SETTING("rate: [1]\n"), E, 1, 7, "rate must be a text or a number", NULL},
    {SETTING("rate:\n"), E, 1, 6, "rate must be a text or a number", NULL},
    {SETTING("rate: '{{ NO_SUCH_RATE }}'\n"), E, 1, 7, "no variable 'NO_SUCH_RATE'", ""},
    {SETTING("rates: 5\n"), W, 1, 1, "'rates' is not known in the settings", "'rate'"},
    {SETTING("arrival: poison\n"), E, 1, 10, "'constant' or 'poisson', not 'poison'", "'poisson'"},
    {SETTING("when_late: never\n"), E, 1, 12, "'queue' or 'drop', not 'never'", NULL},
    {SETTING("duration: 0\n"), E, 1, 11, "duration: '0' is not a duration", "30s"},
    {SETTING("warmup: 5q\n"), E, 1, 9, "warmup: '5q' is not a duration", "30s"},
    {SETTING("grace: -1\n"), E, 1, 8, "grace: '-1' is not a duration", "30s"},
    {SETTING("pacing: soon\n"), E, 1, 9, "pacing: 'soon' is not a duration", "30s"},
    {SETTING("stages: 30s:100\n"), E, 1, 9, "stages must be a list", "users: 100"},
    {SETTING("stages: []\n"), E, 1, 9, "stages must be a list", "users: 100"},
    {SETTING("stages: [5]\n"), E, 1, 10, "a stage must be a mapping", "users: 100"},
    {SETTING("stages: [{users: 5}]\n"), E, 1, 10, "a stage needs 'duration'", "users: 100"},
    {SETTING("stages: [{duration: 5}]\n"), E, 1, 10, "either 'users' or 'rate'", "users: 100"},
    {SETTING("stages: [{duration: 5, users: 1, rate: 1}]\n"), E, 1, 10, "either", "users: 100"},
    {SETTING("stages: [{duration: 5, users: 1, rates: 1}]\n"), W, 1, 34, "in a stage", "'rate'"},
    {SETTING("stages: [{duration: 5, users: 1/s}]\n"), E, 1, 10, "users must be a number", ""},
    {SETTING("stages: [{duration: 5, users: [1]}]\n"), E, 1, 31, "users must be a text or", NULL},
    {SETTING("stages:\n- {duration: 5, users: 1}\n- {duration: 5, rate: 1}\n"), E, 3, 3,
     "all stages must be users, or all rates", ""},
    {SETTING("stages: [{duration: 0s, users: 1}]\n"), E, 1, 9, "longer than nothing", NULL},
    {SETTING("stages: [{duration: 1s, users: 0}]\n"), E, 1, 9, "above 0", NULL},
    {SETTING("iterations: 5\nduration: 5\n"), E, 2, 11, "iterations and duration exclude", NULL},
    {SETTING("rate: 5\nstages: [{duration: 1, rate: 5}]\n"), E, 2, 9, "rate and stages exclude",
     "rate: 100"},
    {SETTING("rate: 5\nrampup: 5\n"), E, 2, 9, "rate and rampup exclude", "stages:"},
    {SETTING("stages: [{duration: 1, rate: 5}]\nrampup: 5\n"), E, 2, 9, "stages and rampup",
     "ramp"},
    {SETTING("stages: [{duration: 1, rate: 5}]\nduration: 5\n"), E, 2, 11, "stages and duration",
     "last stage"},
    {SETTING("stages: [{duration: 1, users: 5}]\nconcurrency: 5\n"), E, 2, 14,
     "stages and concurrency exclude", "how many users"},
    {SETTING("base: [http://h]\n"), E, 1, 7, "base must be a URL", NULL},
    {SETTING("base: localhost\n"), E, 1, 7, "base 'localhost'", "http://"},
    {SETTING("base: localhost:9000\n"), E, 1, 7, "base 'localhost:9000'", "http://"},
    {SETTING("base: ftp://h\n"), E, 1, 7, "base 'ftp://h'", "http://"},
    {SETTING("base: http://h:99999\n"), E, 1, 7, "port", NULL},
    {SETTING("base: 'http://'\n"), E, 1, 7, "base 'http://'", NULL},
    {SETTING("base: '{{ NO_SUCH_BASE }}'\n"), E, 1, 7, "no variable 'NO_SUCH_BASE'", ""},
    {SETTING("ramp_up: 3\n"), W, 1, 1, "'ramp_up' is not known in the settings", "'rampup'"},
    {SETTING("iteration: 3\n"), W, 1, 1, "'iteration'", "'iterations'"},
    {SETTING("timeout: 3\n"), W, 1, 1, "'timeout'", "known here: base, iterations"},

    /* steps */
    {STEP("  - text\n"), E, 3, 5, "a step must be a mapping", "name"},
    {STEP("  - [a]\n"), E, 3, 5, "a step must be a mapping", "name"},
    {STEP("  -\n"), E, 3, 0, "a step must be a mapping", "name"},
    {STEP("  - name: a\n"), E, 3, 5, "does nothing", "request, assign"},
    {STEP("  - {}\n"), E, 3, 5, "does nothing", "request, assign"},
    {STEP("  - name: a\n    frobnicate: 1\n"), E, 4, 5, "no step is called 'frobnicate'",
     "request, assign"},
    {STEP("  - reqest:\n      url: /\n    assign: r\n  - request:\n      url: /{{ r.body }}\n"), E,
     3, 5, "'reqest'", "did you mean 'request'?"},
    {STEP("  - name: [a]\n    request:\n      url: /\n"), E, 3, 11, "name must be", NULL},
    {STEP("  - name: a {{ nope }}\n    request:\n      url: /\n"), E, 3, 11, "name: nothing sets",
     NULL},
    {REQUEST("    asign: x\n"), W, 5, 5, "'asign' is not known in a request step", "'assign'"},
    {REQUEST("    timeout: 3\n"), W, 5, 5, "'timeout' has no effect in a request step", NULL},
    {STEP("  - delay:\n      seconds: 1\n    with_items: [1]\n"), W, 5, 5, "no effect in a delay",
     NULL},
    {STEP("  - delay:\n      seconds: 1\n    request:\n      url: /\n"), W, 5, 5,
     "'request' has no effect", NULL},
    {REQUEST("    tags: {a: b}\n"), E, 5, 11, "tag must be", "tags: ["},
    {REQUEST("    tags: 'a,,b'\n"), E, 5, 11, "tag must be", "tags: ["},
    {REQUEST("    tags: [a, [b]]\n"), E, 5, 15, "tag must be", "tags: ["},
    {REQUEST("    tags: ['']\n"), E, 5, 12, "tag must be", "tags: ["},

    /* requests */
    {STEP("  - request:\n"), E, 3, 0, "request must be a mapping", "url"},
    {STEP("  - request: /users\n"), E, 3, 14, "request must be a mapping", "url"},
    {STEP("  - request: {}\n"), E, 3, 14, "needs a 'url'", "url"},
    {STEP("  - request:\n      url:\n"), E, 4, 0, "needs a 'url'", "url"},
    {STEP("  - request:\n      url: ''\n"), E, 4, 12, "needs a 'url'", "url"},
    {STEP("  - request:\n      url: [/]\n"), E, 4, 12, "url must be a text", "url"},
    {STEP("  - request:\n      url: users\n"), E, 4, 12, "url 'users'", "'/'"},
    {STEP("  - request:\n      url: localhost:80/x\n"), E, 4, 12, "url 'localhost:80/x'",
     "http://"},
    {STEP("  - request:\n      url: ftp://h/\n"), E, 4, 12, "url 'ftp://h/'", "http://"},
    {STEP("  - request:\n      url: http://h:99999/\n"), E, 4, 12, "port", NULL},
    {STEP("  - request:\n      url: http:///\n"), E, 4, 12, "url 'http:///'", NULL},
    {STEP("  - request:\n      url: 'http://[::1/'\n"), E, 4, 12, "url 'http://[::1/'", NULL},
    {STEP("  - request:\n      url: users/{{ index }}\n"), E, 4, 12, "no beginning of a URL",
     "http://"},
    {STEP("  - request:\n      url: http://h:x/{{ index }}\n"), E, 4, 12, "port", NULL},
    {STEP("  - request:\n      url: \"/a\\nb\"\n"), E, 4, 12, "control character", "%0A"},
    {STEP("  - request:\n      url: \"/a\\0b{{ index }}\"\n"), E, 4, 12, "0x00", "%0A"},
    {STEP("  - request:\n      url: /{{ nope }}\n"), E, 4, 12, "nothing sets 'nope'", NULL},
    {STEP("  - request:\n      url: /{{ item }}\n"), E, 4, 12, "nothing sets 'item'", "items"},
    {STEP("  - request:\n      url: /{{ iteratoin }}\n"), E, 4, 12, "'iteratoin'", "'iteration'"},
    {STEP("  - request:\n      url: /{{ 5x }}\n"), W, 4, 12, "'{{ 5x }}' is no template", "letter"},
    {STEP("  - request:\n      url: /{{ index\n"), W, 4, 12, "'{{ index' is no template", "letter"},
    {"plan:\n  - request:\n      url: /a\n  - request:\n      url: /b\n", E, 3, 12, "no base",
     "base:"},
    {"plan:\n  - request:\n      url: '{{ base }}/a'\n", E, 3, 12, "no base", "base:"},
    {REQUEST("      methd: GET\n"), W, 5, 7, "'methd' is not known in a request", "'method'"},
    {REQUEST("      method: FE TCH\n"), E, 5, 15, "method 'FE TCH'", "word"},
    {REQUEST("      method: ''\n"), E, 5, 15, "method ''", "word"},
    {REQUEST("      method:\n"), E, 5, 0, "method must be a text", NULL},
    {REQUEST("      method: [GET]\n"), E, 5, 15, "method must be a text", NULL},
    {REQUEST("      method: '{{ index }}'\n"), E, 5, 15, "method '{{ index }}'", "word"},
    {REQUEST("      method: \"GET\\r\\nX: y\"\n"), E, 5, 15, "is no method", "word"},
    {REQUEST("      method: " A256 "A\n"), E, 5, 15, "is no method", "word"},
    {REQUEST("      method: " A256 "\n"), W, 5, 15, "not a registered", NULL},
    {REQUEST("      method: connect\n"), E, 5, 15, "CONNECT", "proxy"},
    {REQUEST("      method: GTE\n"), W, 5, 15, "'GTE' is not a registered", "'GET'"},
    {REQUEST("      method: FROBNICATE\n"), W, 5, 15, "not a registered", NULL},
    {REQUEST("      headers: [a]\n"), E, 5, 16, "headers must be a mapping", "headers"},
    {REQUEST("      headers: a\n"), E, 5, 16, "headers must be a mapping", "headers"},
    {REQUEST("      headers:\n        'X A': b\n"), E, 6, 9, "'X A' is no name", "blanks"},
    {REQUEST("      headers:\n        \"X\\nA\": b\n"), E, 6, 9, "is no name of a header",
     "blanks"},
    {REQUEST("      headers:\n        '': b\n"), E, 6, 9, "'' is no name", "blanks"},
    {REQUEST("      headers:\n        X-\xc3\xa9: b\n"), E, 6, 9, "is no name", "blanks"},
    {REQUEST("      headers:\n        X-A: b\n        x-a: c\n"), E, 7, 9, "x-a stands twice",
     NULL},
    {REQUEST("      headers:\n        X-A:\n"), E, 6, 0, "X-A must be a text", "''"},
    {REQUEST("      headers:\n        X-A: [b]\n"), E, 6, 14, "X-A must be a text", NULL},
    {REQUEST("      headers:\n        X-A: |\n          b\n"), E, 6, 14, "X-A: a line break", "|-"},
    {REQUEST("      headers:\n        X-A: \"{{ index }}\\0\"\n"), E, 6, 14, "a control character",
     NULL},
    {REQUEST("      headers:\n        X-A: '{{ nope }}'\n"), E, 6, 14, "header X-A: nothing sets",
     NULL},
    {REQUEST("      headers:\n        Transfer-Encoding: chunked\n"), E, 6, 28, "Transfer-Encoding",
     "leave it out"},
    {REQUEST("      body: abc\n      headers:\n        content-length: 4\n"), E, 7, 25, "3 bytes",
     "leave it out"},
    {REQUEST("      headers:\n        Content-Length: 4\n"), E, 6, 25, "0 bytes", "leave it out"},
    {REQUEST("      headers:\n        Content-Length: -1\n"), E, 6, 25, "0 bytes", "leave it out"},
    {REQUEST("      body: '{{ index }}'\n      headers:\n        Content-Length: 1\n"), E, 7, 25,
     "not known yet", "leave it out"},
    {REQUEST("      headers:\n        Content-Length: '{{ index }}'\n"), E, 6, 25, "not known yet",
     "leave it out"},
    {REQUEST("      headers:\n        Connection: upgrade\n"), E, 6, 21, "manages connections",
     "close"},
    {REQUEST("      headers:\n        Connection: close, X-A\n"), E, 6, 21, "manages connections",
     "close"},
    {REQUEST("      body: [a]\n"), E, 5, 13, "body must be a text", "hex"},
    {REQUEST("      body: {}\n"), E, 5, 13, "either 'hex' or 'file'", "hex"},
    {REQUEST("      body: {hex: 00, file: x}\n"), E, 5, 13, "either 'hex' or 'file'", "hex"},
    {REQUEST("      body: {hex: zz}\n"), E, 5, 19, "hex: 'z'", "digits"},
    {REQUEST("      body: {hex: 123}\n"), E, 5, 19, "hex: an odd number", "digits"},
    {REQUEST("      body: {hex: [12]}\n"), E, 5, 19, "hex must be a text", "digits"},
    {REQUEST("      body: {hex: '{{ index }}'}\n"), E, 5, 19, "hex: '{'", "digits"},
    {REQUEST("      body: {hex: 00, fiel: x}\n"), W, 5, 23, "'fiel' is not known in a body",
     "'file'"},
    {REQUEST("      body: {file: no-such-file.bin}\n"), E, 5, 20, "no-such-file.bin': No such file",
     "beside the plan"},
    {REQUEST("      body: {file: /}\n"), E, 5, 20, "is a directory", "beside the plan"},
    {REQUEST("      body: {file: /dev/zero}\n"), E, 5, 20, "not a regular file", "beside the plan"},
    {REQUEST("      body: {file: '{{ index }}.bin'}\n"), E, 5, 20, "no templates", "read once"},
    {REQUEST("      body: {file: ''}\n"), E, 5, 20, "file must name a file", NULL},
    {REQUEST("      body: {file: \"a\\0b\"}\n"), E, 5, 20, "file must name a file", NULL},
    {REQUEST("      body: '{{ nope }}'\n"), E, 5, 13, "body: nothing sets 'nope'", NULL},
    {REQUEST("    assign:\n"), E, 5, 0, "a variable needs a name", NULL},
    {REQUEST("    assign: [a]\n"), E, 5, 13, "a variable needs a name", NULL},
    {REQUEST("    assign: item\n"), E, 5, 13, "driller itself sets", "another name"},
    {REQUEST("    assign: base\n"), E, 5, 13, "driller itself sets", "another name"},
    {REQUEST("    assign: 5x\n"), E, 5, 13, "cannot be called '5x'", "letter"},
    {REQUEST("    assign: a b\n"), E, 5, 13, "cannot be called 'a b'", "letter"},
    {REQUEST("    assign: a.b\n  - request:\n      url: /{{ a.b }}\n"), E, 5, 13,
     "cannot be called 'a.b'", "letter"},
    /* what a request assigns is not there in the request itself */
    {STEP("  - request:\n      url: /{{ me }}\n    assign: me\n"), E, 4, 12, "nothing sets 'me'",
     NULL},

    /* items */
    {REQUEST("    with_items: 5\n"), E, 5, 17, "with_items must be a list", ""},
    {REQUEST("    with_items: ['{{ index }}']\n"), E, 5, 18, "templates", ""},
    {REQUEST("    with_items_range: {start: 1, stop: foo}\n"), E, 5, 40, "stop", ""},
    {REQUEST("    with_items: [1]\n    with_items_range: {start: 1, stop: 2}\n"), E, 0, 0, "both",
     ""},
    {REQUEST("    pick: 2\n"), E, 5, 0, "pick", ""},
    {REQUEST("    pick: 9\n    with_items: [1]\n"), E, 5, 11, "pick", ""},
    {REQUEST("    with_items_from_csv: no-such.csv\n"), E, 5, 26, "no-such.csv", ""},
    {REQUEST("    with_items: []\n"), W, 5, 0, "no items", ""},

    /* assign, assert */
    {STEP("  - assign: x\n"), E, 3, 13, "assign must be a mapping", "key"},
    {STEP("  - assign:\n"), E, 3, 0, "assign must be a mapping", "key"},
    {STEP("  - assign: {key: a}\n"), E, 3, 13, "needs a 'value'", "value"},
    {STEP("  - assign: {value: a}\n"), E, 3, 13, "needs a 'key'", "key"},
    {STEP("  - assign: {key: index, value: a}\n"), E, 3, 19,
     "driller itself sets the variable 'index'", ""},
    {STEP("  - assign: {key: [a], value: a}\n"), E, 3, 19, "needs a name", NULL},
    {STEP("  - assign: {key: a, value: [a]}\n  - assign: {key: b, value: '{{ a }}'}\n"), E, 3, 29,
     "value must be a text", NULL},
    {STEP("  - assign: {key: a, value: '{{ a }}'}\n"), E, 3, 29, "nothing sets 'a'", NULL},
    {STEP("  - assign: {key: a, value: b, vlaue: c}\n"), W, 3, 32, "'vlaue'", "'value'"},
    {STEP("  - assert: x\n"), E, 3, 13, "assert must be a mapping", "key"},
    {STEP("  - assert: {key: iteration}\n"), E, 3, 13, "needs a 'value'", "value"},
    {STEP("  - assert: {key: nothing, value: 1}\n"), E, 3, 19, "nothing sets 'nothing'", NULL},
    {STEP("  - assert: {key: '{{ index }}', value: 1}\n"), E, 3, 19, "no path", "without braces"},
    {STEP("  - assert: {key: '', value: 1}\n"), E, 3, 19, "key must be the path", NULL},
    {STEP("  - assert: {key: [a], value: 1}\n"), E, 3, 19, "key must be the path", NULL},
    {STEP("  - assert: {key: index, value: {}}\n"), E, 3, 33, "value must be a text", NULL},

    /* delay, exec */
    {STEP("  - delay: 3\n"), E, 3, 12, "delay must be a mapping", "seconds"},
    {STEP("  - delay: {}\n"), E, 3, 12, "needs 'seconds' or 'milliseconds'", "seconds"},
    {STEP("  - delay: {seconds: 3, second: 3}\n"), W, 3, 25, "'second'", "'seconds'"},
    {STEP("  - delay: {seconds: 1, milliseconds: 1}\n"), E, 3, 12, "not both", "seconds"},
    {STEP("  - delay: {seconds: -1}\n"), E, 3, 22, "seconds must be from 0", NULL},
    {STEP("  - delay: {seconds: soon}\n"), E, 3, 22, "seconds must be a number", NULL},
    {STEP("  - delay: {seconds: '3'}\n"), E, 3, 22, "seconds must be a number", NULL},
    {STEP("  - delay: {seconds: .inf}\n"), E, 3, 22, "seconds must be a number", NULL},
    {STEP("  - delay: {seconds: 1e300}\n"), E, 3, 22, "seconds must be from 0", NULL},
    {STEP("  - delay: {min: 3, max: 1}\n"), E, 3, 18, "min must not be above max", "max: 3"},
    {STEP("  - delay: {min: 3}\n"), E, 3, 12, "has a 'min', and needs a 'max'", "max: 3"},
    {STEP("  - delay: {max: 3}\n"), E, 3, 12, "has a 'max', and needs a 'min'", "max: 3"},
    {STEP("  - delay: {min: 1, max: 3, seconds: 2}\n"), E, 3, 12, "or one time, not both",
     "max: 3"},
    {STEP("  - delay: {min: soon, max: 3}\n"), E, 3, 18, "min must be a time", NULL},
    {STEP("  - delay: {min: 1, max: [3]}\n"), E, 3, 26, "max must be a time", NULL},
    {STEP("  - delay: {min: -1, max: 3}\n"), E, 3, 18, "min must be a time", NULL},
    {STEP("  - delay: {milliseconds: -0.5}\n"), E, 3, 27, "milliseconds must be from 0", NULL},
    {STEP("  - exec: echo\n"), E, 3, 11, "exec must be a mapping", "command"},
    {STEP("  - exec: {}\n"), E, 3, 11, "needs a 'command'", "command"},
    {STEP("  - exec: {command: }\n"), E, 3, 0, "needs a 'command'", "command"},
    {STEP("  - exec: {command: ' '}\n"), E, 3, 21, "needs a 'command'", "command"},
    {STEP("  - exec: {command: [echo]}\n"), E, 3, 21, "command must be a text", NULL},
    {STEP("  - exec: {command: \"a\\0b\"}\n"), E, 3, 21, "NUL", NULL},
    {STEP("  - exec: {command: 'echo {{ nope }}'}\n"), E, 3, 21, "nothing sets 'nope'", NULL},
    {STEP("  - exec: {command: a}\n    timeout: 0\n"), E, 4, 14, "timeout must be more than 0",
     NULL},
    {STEP("  - exec: {command: a}\n    timeout: -1\n"), E, 4, 14, "timeout must be from 0", NULL},
    {STEP("  - exec: {command: a}\n    timeout: ever\n"), E, 4, 14, "timeout must be a number",
     NULL},
    {STEP("  - exec: {command: a, timeout: 3}\n"), W, 3, 24, "'timeout' is not known in exec",
     "command"},
    {STEP("  - exec: {command: 'rm {{ cookies.x }}'}\n"), W, 3, 21, "'cookies.x' comes from a resp",
     "can run commands"},
    {STEP("  - exec: {command: 'echo {{ DRILLER_TEST_WORD }}'}\n"), W, 3, 21, "the environment",
     "can run commands"},
    {STEP(
         "  - request:\n      url: /\n    assign: r\n  - assign: {key: v, value: 'x{{ r.body }}'}\n"
         "  - exec: {command: 'echo {{ v }}'}\n"),
     W, 7, 21, "'v' comes from a response", "can run commands"},

    /* include */
    {STEP("  - include:\n"), E, 3, 0, "include must name a file", NULL},
    {STEP("  - include: [a.yml]\n"), E, 3, 14, "include must name a file", NULL},
    {STEP("  - include: '{{ x }}.yml'\n"), E, 3, 14, "include: no templates", "read once"},
    {STEP("  - include: no-such.yml\n  - request:\n      url: /{{ set_there }}\n"), E, 3, 14,
     "include 'no-such.yml': No such file", "relative"},
    {STEP("  - include: /\n"), E, 3, 14, "is a directory", "relative"},
    {STEP("  - include: /dev/zero\n"), E, 3, 14, "not a regular file", "relative"},
};

#define N_ROWS (sizeof(rows) / sizeof(*rows))

static bool has_part(const char *whole, const char *part)
{
    return whole && strstr(whole, part);
}

static bool fits(const struct row *row, const struct faults *faults)
{
    const struct fault *fault = faults->items;

    return faults->n == 1 && fault->severity == row->severity &&
           (!row->line || fault->line == row->line) &&
           (!row->column || fault->column == row->column) && has_part(fault->text, row->text) &&
           fault->file && strcmp(fault->file, "plan.yml") == 0 &&
           (row->help ? !*row->help || has_part(fault->help, row->help) : !fault->help);
}

static void show(size_t i, const struct faults *faults)
{
    print_error("row %zu, %zu faults:\n%s\n", i, faults->n, rows[i].plan);
    for (size_t k = 0; k < faults->n; k++) {
        const struct fault *fault = &faults->items[k];

        print_error("  %s:%u:%u: %s %s (%s)\n", fault->file ? fault->file : "-", fault->line,
                    fault->column, fault->severity == E ? "error" : "warning", fault->text,
                    fault->help ? fault->help : "-");
    }
}

static void each_fault_is_told_where_it_is(void **state)
{
    struct plan_options options = {.seed = 1};
    size_t wrong = 0;

    (void)state;
    setenv("DRILLER_TEST_WORD", "word", 1);
    for (size_t i = 0; i < N_ROWS; i++) {
        struct faults faults;
        struct plan *plan;

        faults_init(&faults);
        plan = plan_load("plan.yml", str_of(rows[i].plan), &options, &faults);
        if (!fits(&rows[i], &faults) || !plan == !faults.errors) {
            show(i, &faults);
            wrong++;
        }
        plan_free(plan);
        faults_fini(&faults);
    }
    assert_int_equal(wrong, 0);
    assert_true(N_ROWS >= 100);
}

/* No beginning of a plan, and none with a byte changed, does more than give faults. */
static void nothing_crashes(void **state)
{
    struct plan_options options = {.seed = 1, .listings = true};

    (void)state;
    for (size_t i = 0; i < N_ROWS; i++) {
        size_t n = strlen(rows[i].plan);
        char *text = xstrdup(rows[i].plan);

        for (size_t k = 0; k < 2 * n; k++) {
            struct faults faults;
            char old = text[k / 2];

            faults_init(&faults);
            text[k / 2] = "[{:-'\"&*\n \xff"[(i + k) % 11];
            plan_free(
                plan_load("plan.yml", (struct str){text, k % 2 ? n : k / 2}, &options, &faults));
            text[k / 2] = old;
            faults_fini(&faults);
        }
        free(text);
    }
}

static void unknown_keys_are_errors_if_strict(void **state)
{
    struct plan_options options = {.strict_keys = true};
    struct faults faults;

    (void)state;
    faults_init(&faults);
    assert_null(plan_load("plan.yml", str_of(SETTING("ramp_up: 3\n")), &options, &faults));
    assert_int_equal(faults.errors, 1);
    assert_string_equal(faults.items[0].help, "did you mean 'rampup'?");
    faults_fini(&faults);
}

static void all_faults_in_one_go(void **state)
{
    static const char text[] = "base: nowhere\n"
                               "iterations: 0\n"
                               "concurrency: x\n"
                               "ramp_up: 1\n"
                               "plan:\n"
                               "  - request:\n"
                               "      url: /ok/{{ nope }}\n"
                               "      method: A B\n"
                               "      headers:\n"
                               "        A A: b\n"
                               "        B: |\n"
                               "          c\n"
                               "      body: {hex: 1}\n"
                               "    pick: 1\n"
                               "    assign: kept\n"
                               "  - assign: {key: other}\n"
                               "  - frobnicate: 1\n"
                               "  - request:\n"
                               "      url: /{{ kept.body }}/{{ other }}\n"
                               "  - delay: {seconds: -1}\n";
    static const unsigned lines[] = {1, 2, 3, 4, 7, 8, 10, 11, 13, 14, 16, 17, 20};
    struct plan_options options = {0};
    struct faults faults;
    bool seen[32] = {0};

    (void)state;
    faults_init(&faults);
    assert_null(plan_load("plan.yml", str_of(text), &options, &faults));
    for (size_t i = 0; i < faults.n; i++)
        seen[faults.items[i].line] = true;
    for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
        if (!seen[lines[i]])
            fail_msg("line %u", lines[i]);
    }
    assert_int_equal(faults.n, sizeof(lines) / sizeof(*lines));
    faults_fini(&faults);
}

static void relaxed_names_are_no_faults(void **state)
{
    struct plan_options options = {.relaxed = true};
    struct faults faults;
    struct plan *plan;

    (void)state;
    faults_init(&faults);
    plan = plan_load("plan.yml",
                     str_of(STEP("  - request:\n      url: /{{ nope }}/{{ item }}\n"
                                 "  - assert: {key: nothing.x, value: '{{ no }}'}\n")),
                     &options, &faults);
    assert_non_null(plan);
    assert_int_equal(faults.n, 0);
    assert_int_equal(plan->steps[1].assertion.key.slot, SLOT_NONE);
    plan_free(plan);
    faults_fini(&faults);
}

static void adhoc(const char *url, const char *text)
{
    struct plan_options options = {0};
    struct faults faults;

    faults_init(&faults);
    assert_null(plan_adhoc(str_of(url), &options, &faults));
    if (faults.n != 1 || !has_part(faults.items[0].text, text))
        fail_msg("%s: %zu, %s", url, faults.n, faults.n ? faults.items[0].text : "");
    assert_null(faults.items[0].file);
    faults_fini(&faults);
}

static void adhoc_urls_must_be_urls(void **state)
{
    (void)state;
    adhoc("127.0.0.1/health", "URL must include a scheme, e.g. http://127.0.0.1/health");
    adhoc("localhost:9000/x", "URL must include a scheme, e.g. http://localhost:9000/x");
    adhoc("", "URL must include a scheme");
    adhoc("ftp://h/x", "http:// or https://");
    adhoc("http://", "base 'http://'");
    adhoc("http://h:70000/", "port");
    adhoc("http://h/{{ nope }}", "nothing sets 'nope'");
    adhoc("http://{{ iteration }}/", "no variable 'iteration'");
    adhoc("http", "URL must include a scheme");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_fault_is_told_where_it_is),
        cmocka_unit_test(nothing_crashes),
        cmocka_unit_test(unknown_keys_are_errors_if_strict),
        cmocka_unit_test(all_faults_in_one_go),
        cmocka_unit_test(relaxed_names_are_no_faults),
        cmocka_unit_test(adhoc_urls_must_be_urls),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
