#include "out/timeline_csv.h"

#include "base/clock.h"
#include "out/style.h"

void timeline_csv_head(struct buf *out)
{
    buf_add_str(out, STR("t_s,seconds,started,requests,ok,failed,aborted,rps,p50_ms,p90_ms,p99_ms,"
                         "max_ms,users,in_flight,iterations,late_starts,dropped_starts,bytes_sent,"
                         "bytes_received"));
    for (unsigned i = 0; i < FAILED_COUNT; i++)
        buf_addf(out, ",%s", failed_name((enum failed)i));
    buf_add_char(out, '\n');
}

static void add_count(struct buf *out, uint64_t value)
{
    buf_add_char(out, ',');
    buf_add_u64(out, value);
}

static void add_time(struct buf *out, uint64_t ns, const struct timeline_entry *entry)
{
    buf_add_char(out, ',');
    if (entry->ended)
        style_decimal(out, ns, 6, 1);
}

static void add_entry(struct buf *out, const struct timeline_entry *entry)
{
    double seconds = (double)entry->length_ns / (double)NS_PER_S;

    style_decimal(out, entry->start_ns / NS_PER_US, 6, 1);
    buf_add_char(out, ',');
    style_decimal(out, entry->length_ns / NS_PER_US, 6, 1);
    add_count(out, entry->started);
    add_count(out, entry->ended);
    add_count(out, entry->successful);
    add_count(out, entry->ended - entry->successful);
    add_count(out, entry->aborted);
    buf_addf(out, ",%.2f", seconds > 0 ? (double)entry->ended / seconds : 0.0);
    add_time(out, entry->p50_ns, entry);
    add_time(out, entry->p90_ns, entry);
    add_time(out, entry->p99_ns, entry);
    add_time(out, entry->max_ns, entry);
    add_count(out, entry->users);
    add_count(out, entry->in_flight);
    add_count(out, entry->iterations);
    add_count(out, entry->late_starts);
    add_count(out, entry->dropped_starts);
    add_count(out, entry->bytes_sent);
    add_count(out, entry->bytes_received);
    for (unsigned i = 0; i < FAILED_COUNT; i++)
        add_count(out, entry->failures[i]);
    buf_add_char(out, '\n');
}

void timeline_csv(struct buf *out, const struct timeline_entry *entries, size_t n)
{
    for (size_t i = 0; i < n; i++)
        add_entry(out, &entries[i]);
}
