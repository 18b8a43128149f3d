/*
 * Stands in for libFuzzer where a target is built without it: runs it once with each file named on
 * the command line, or in a folder named there, and with nothing at all.
 */
#include <dirent.h>
#include <limits.h>

#include "fuzz.h"

#define INPUT_MAX (1u << 20)

static size_t replayed;

/* Not by base/file.h, which targets may have put something else in the place of. */
static int replay_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    uint8_t *bytes = malloc(INPUT_MAX), *exact;
    size_t n;

    if (!file || !bytes) {
        perror(path);
        return 1;
    }
    n = fread(bytes, 1, INPUT_MAX, file);
    fclose(file);
    /* A copy without a byte behind its end, so that a sanitizer sees who reads it. */
    exact = malloc(n + !n);
    if (!exact)
        abort();
    memcpy(exact, bytes, n);
    free(bytes);
    LLVMFuzzerTestOneInput(exact, n);
    free(exact);
    replayed++;
    return 0;
}

static int replay_folder(const char *path, DIR *folder)
{
    const struct dirent *entry;
    int failed = 0;

    while ((entry = readdir(folder))) {
        char name[PATH_MAX];

        if (entry->d_name[0] == '.')
            continue;
        snprintf(name, sizeof(name), "%s/%s", path, entry->d_name);
        failed |= replay_file(name);
    }
    closedir(folder);
    return failed;
}

int main(int argc, char **argv)
{
    int failed = 0;

    LLVMFuzzerTestOneInput((const uint8_t *)"", 0);
    for (int i = 1; i < argc; i++) {
        DIR *folder = opendir(argv[i]);

        failed |= folder ? replay_folder(argv[i], folder) : replay_file(argv[i]);
    }
    printf("%zu inputs\n", replayed);
    return failed || replayed == 0;
}
