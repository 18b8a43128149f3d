"""Results as tables and as JSON."""
import dataclasses
import statistics

SETUPS = {"one": "server and client on one CPU", "two": "server and client on a CPU each",
          "all": "server and client on all CPUs"}


@dataclasses.dataclass
class Column:
    """A figure of a tool's runs. `ratio` is the title of a column with driller's share of it."""
    key: str
    title: str
    form: str = "{:.2f}"
    ratio: str = ""


COST = [Column("rate", "requests/s", "{:,.0f}", "rate, driller ÷ it"), Column("user", "user µs"),
        Column("system", "system µs"), Column("cpu", "CPU µs", "{:.2f}", "CPU, driller ÷ it"),
        Column("server", "server µs"), Column("rss_mib", "MiB", "{:.1f}")]
START = [Column("start_ms", "start ms", "{:.2f}", "start, driller ÷ it"),
         Column("rss_mib", "MiB", "{:.1f}")]
IDLE = [Column("idle_kib", "KiB a connection", "{:.2f}", "memory, driller ÷ it"),
        Column("rss_mib", "MiB with the most", "{:.1f}")]
CSV = START + [Column("file_share", "memory ÷ file")]
COLUMNS = {"": COST, "start": START, "idle": IDLE, "csv": CSV}


def ratios(mine, theirs, key):
    """Driller's figure by the tool's, round by round, of the rounds that both have."""
    return [mine[r][key] / theirs[r][key] for r in mine if r in theirs and theirs[r][key]]


def rows(columns, results, base):
    """Titles, then a row of texts for each tool. results: {tool: {round: {key: figure}}}."""
    yield ["tool"] + [c.title for c in columns] + [c.ratio for c in columns if c.ratio]
    for tool, runs in results.items():
        row = [tool]
        for column in columns:
            row.append(column.form.format(statistics.median(r[column.key] for r in runs.values())))
        for column in columns:
            if column.ratio:
                shares = ratios(results.get(base, {}), runs, column.key)
                row.append("" if tool == base or not shares else
                           f"{statistics.median(shares):.2f} ({min(shares):.2f}–{max(shares):.2f})")
        yield row


def markdown(columns, results, base):
    """A table in Markdown that can be read as it is."""
    lines = list(rows(columns, results, base))
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]

    def join(cells):
        first, *rest = [c.ljust(w) if i == 0 else c.rjust(w)
                        for i, (c, w) in enumerate(zip(cells, widths))]
        return "| " + " | ".join([first, *rest]) + " |"

    rule = "|" + "|".join("-" * (w + 1) + (":" if i else "-") for i, w in enumerate(widths)) + "|"
    return "\n".join([join(lines[0]), rule, *map(join, lines[1:])])
