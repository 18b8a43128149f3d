/* What the two halves of the HTTP/1 parser share: the kinds of bytes a head is made of. */
#ifndef HTTP_H1_CHARS_H
#define HTTP_H1_CHARS_H

#include <stdbool.h>
#include <stdint.h>

enum {
    H1_CHAR_TOKEN = 1, /* of a field name (RFC 9110 §5.6.2) */
    H1_CHAR_TEXT = 2   /* of a field value or a reason phrase: no control character but TAB */
};

extern const uint8_t h1_char_kinds[256];

static inline bool h1_is_token(char c)
{
    return h1_char_kinds[(unsigned char)c] & H1_CHAR_TOKEN;
}

static inline bool h1_is_text(char c)
{
    return h1_char_kinds[(unsigned char)c] & H1_CHAR_TEXT;
}

static inline bool h1_is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* What is wrong with a byte that is no text. */
static inline const char *h1_why_no_text(char c)
{
    return c == '\0'   ? "NUL byte in the head"
           : c == '\r' ? "CR without LF in the head"
                       : "control character in the head";
}

#endif
