#include "cli/source.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/url.h"
#include "cli/console.h"
#include "plan/yaml.h"

#define URL_INPUT_MAX (4u * URL_MAX) /* blank lines included */
#define READ_AT_ONCE 4096

bool source_plan(const char *path, struct str *text, struct faults *faults)
{
    const char *why;

    if (strcmp(path, "-") == 0) {
        if (file_read_fd(STDIN_FILENO, YAML_MAX_BYTES, text, &why))
            return true;
        faults_error(faults, PLACE_NONE, NULL, "couldn't read standard input: %s", why);
        return false;
    }
    if (file_read(path, YAML_MAX_BYTES, text, &why))
        return true;
    faults_error(faults, PLACE_NONE, NULL, "couldn't open %s: %s", path, why);
    return false;
}

/* The first line that is not blank, if its end has been read or nothing can follow. */
static bool find_line(struct str input, bool at_end, struct str *line)
{
    const struct str mark = STR("\xEF\xBB\xBF");

    if (str_starts(input, mark))
        input = str_skip(input, mark.n);
    while (input.n) {
        size_t n = str_find(input, '\n');

        if (n == input.n && !at_end)
            return false;
        *line = str_trim((struct str){input.p, n});
        if (line->n)
            return true;
        input = str_skip(input, n + 1);
    }
    *line = STR("");
    return at_end;
}

bool source_url(struct str *url, struct faults *faults)
{
    struct str line = STR("");
    const char *why = NULL;
    bool found = false;
    struct buf input;

    buf_init(&input, URL_INPUT_MAX);
    while (!found && !why) {
        ssize_t n;

        if (!buf_reserve(&input, READ_AT_ONCE)) {
            why = "the line is too long";
            break;
        }
        n = console_read(input.p + input.n, READ_AT_ONCE);
        if (n < 0) {
            why = strerror(errno);
            break;
        }
        input.n += (size_t)n;
        found = find_line(buf_str(&input), n == 0, &line);
    }
    if (!why && !utf8_valid(line))
        why = "it is not valid UTF-8";
    if (!why)
        *url = xstr_copy(line);
    else
        faults_error(faults, PLACE_NONE, NULL, "couldn't read a URL from standard input: %s", why);
    buf_fini(&input);
    return !why;
}
