/* Whole files into memory, with a limit, and never stuck on what is no file. */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

/*
 * Reads a regular file whole. *out is on the heap with a NUL behind its end: xstr_free(*out).
 * False with *why (static or thread-local text: "No such file or directory", "is a directory",
 * "is not a regular file", "is larger than 16 MiB") if it cannot be. A FIFO, device or directory
 * is refused without blocking.
 */
bool file_read(const char *path, size_t max_bytes, struct str *out, const char **why);

/* As file_read, from a descriptor until its end, whatever it is (standard input). */
bool file_read_fd(int fd, size_t max_bytes, struct str *out, const char **why);

/* `name` relative to the folder that `from` (a file's path) is in; absolute names stay. Heap. */
char *file_beside(const char *from, struct str name);

#endif
