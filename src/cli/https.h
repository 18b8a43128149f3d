/*
 * Refuses https, which this version cannot speak, before anything is sent. To be removed with its
 * one caller when there is TLS.
 */
#ifndef CLI_HTTPS_H
#define CLI_HTTPS_H

#include <stdbool.h>

#include "base/faults.h"
#include "plan/plan.h"

/* True with one fault if the plan's base is an https URL or a step's url begins like one. */
bool https_found(const struct plan *plan, struct faults *faults);

#endif
