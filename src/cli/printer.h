/*
 * What a run says, printed: turns events into text (on workers' threads) and writes it (on the main
 * thread).
 */
#ifndef CLI_PRINTER_H
#define CLI_PRINTER_H

#include <stdbool.h>

#include "cli/live.h"
#include "out/outfile.h"
#include "out/report.h"
#include "out/style.h"
#include "run/events.h"

struct printer {
    struct style style;     /* of the lines' output */
    enum output lines;      /* OUTPUT_OUT or OUTPUT_ERR */
    bool quiet;             /* no line a request or step; failures all the same */
    bool verbose;           /* requests and responses, and causes */
    struct live *live;      /* what must be off the terminal before anything is written there */
    struct outfile *report; /* NULL: none */
    const char *report_path;
    /* what became of it; read when the run is over */
    int status;          /* of standard output: as console_print */
    bool report_written; /* it holds at least one record */
    bool report_failed;  /* an error line has been printed */
};

/* An event_formatter; ctx is the printer, which it only reads. */
void printer_format(void *ctx, const struct event *event, struct outputs *out);
/* An output_writer; ctx is the printer. */
bool printer_write(void *ctx, enum output output, struct str bytes);

#endif
