#include "cli/https.h"

static bool is_https(struct str url)
{
    const struct str scheme = STR("https:");

    url = str_trim(url);
    return url.n > scheme.n && str_eq_nocase((struct str){url.p, scheme.n}, scheme);
}

static bool refuse(struct place at, struct faults *faults)
{
    faults_error(faults, at, NULL, "https is out of reach: there is no TLS in this version");
    return true;
}

bool https_found(const struct plan *plan, struct faults *faults)
{
    if (is_https(plan->base))
        return refuse(PLACE_NONE, faults);
    for (size_t i = 0; i < plan->n_steps; i++) {
        const struct step *step = &plan->steps[i];
        const struct template *url = &step->request.url;

        if (step->kind == STEP_REQUEST && url->n && !url->parts[0].is_path &&
            is_https(url->parts[0].text))
            return refuse(step->at, faults);
    }
    return false;
}
