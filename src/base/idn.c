#include "base/idn.h"

#include <idn2.h>

#include "base/mem.h"

/* ß, ẞ, ς and the joiners: the only characters that transitional processing treats otherwise. */
static bool has_deviation(const char *name)
{
    static const char *const deviations[] = {"\u00df", "\u1e9e", "\u03c2", "\u200c", "\u200d"};

    for (size_t i = 0; i < sizeof(deviations) / sizeof(*deviations); i++)
        if (strstr(name, deviations[i]))
            return true;
    return false;
}

bool idn_to_ascii(struct str host, struct buf *out)
{
    char name[IDN_MAX + 1];
    char *ascii = NULL;
    /* Without the round trip a label that is Punycode already is left in peace. */
    int flags = IDN2_NFC_INPUT | IDN2_NO_ALABEL_ROUNDTRIP;

    if (host.n == 0 || host.n > IDN_MAX || memchr(host.p, '\0', host.n))
        return false;
    memcpy(name, host.p, host.n);
    name[host.n] = '\0';
    int result = idn2_to_ascii_8z(name, &ascii, flags | IDN2_NONTRANSITIONAL);
    /* On top of UTS #46, libidn2 refuses what IDNA 2008 has no place for (symbols, emoji), but only
     * in names that are not processed as transitional. */
    if (result == IDN2_DISALLOWED && !has_deviation(name))
        result = idn2_to_ascii_8z(name, &ascii, flags | IDN2_TRANSITIONAL);
    if (result == IDN2_MALLOC)
        mem_out();
    if (result != IDN2_OK)
        return false;
    struct str text = str_of(ascii);
    bool ok = text.n > 0 && buf_add_str(out, text);
    idn2_free(ascii);
    return ok;
}
