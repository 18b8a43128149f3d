#include "http/psl.h"

#include <libpsl.h>

/* The longest name that DNS knows, as text without the dot at its end. */
#define DOMAIN_MAX 253

bool psl_is_suffix(struct str domain)
{
    char name[DOMAIN_MAX + 1];

    if (domain.n > 0 && domain.p[domain.n - 1] == '.')
        domain.n--;
    if (domain.n == 0 || domain.n > DOMAIN_MAX)
        return true;
    memcpy(name, domain.p, domain.n);
    name[domain.n] = '\0';
    return psl_is_public_suffix(psl_builtin(), name) != 0;
}
