"""Results as tables and as JSON."""
import dataclasses
import statistics

SETUPS = {"one": "server and client on one CPU", "two": "server and client on a CPU each",
          "all": "server and client on all CPUs"}


@dataclasses.dataclass
class Column:
    """A figure of a tool's runs. `ratio` is the title of a column with driller's share of it, `more`
    of one that says how much more it is than driller's."""
    key: str
    title: str
    form: str = "{:.2f}"
    ratio: str = ""
    more: str = ""


COST = [Column("rate", "requests/s", "{:,.0f}", "rate, driller ÷ it"), Column("user", "user µs"),
        Column("system", "system µs"), Column("cpu", "CPU µs", "{:.2f}", "CPU, driller ÷ it"),
        Column("both", "with server µs", "{:.2f}", "with server, driller ÷ it"),
        Column("rss_mib", "MiB", "{:.1f}")]
START = [Column("start_ms", "start ms", "{:.2f}", "start, driller ÷ it"),
         Column("rss_mib", "MiB", "{:.1f}")]
IDLE = [Column("idle_kib", "KiB a connection", "{:.2f}", "memory, driller ÷ it"),
        Column("rss_mib", "MiB with the most", "{:.1f}")]
CSV = START + [Column("file_share", "memory ÷ file")]
OUTPUT = [dataclasses.replace(c, more="CPU µs more") if c.key == "cpu" else c for c in COST]
COLUMNS = {"": COST, "output": OUTPUT, "start": START, "idle": IDLE, "csv": CSV}


def spread(values):
    """The median, and from where to where they go."""
    if not values:
        return ""
    return f"{statistics.median(values):.2f} ({min(values):.2f}–{max(values):.2f})"


def rows(columns, results, base):
    """Titles, then a row of texts for each tool. results: {tool: {round: {key: figure}}}. Tools are
    compared with the base round by round, over the rounds that both have."""
    yield (["tool"] + [c.title for c in columns] + [c.ratio for c in columns if c.ratio] +
           [c.more for c in columns if c.more])
    for tool, runs in results.items():
        pairs = [(results[base][r], runs[r]) for r in runs if r in results[base] and tool != base]
        row = [tool]
        for c in columns:
            row.append(c.form.format(statistics.median(run[c.key] for run in runs.values())))
        row += [spread([mine[c.key] / its[c.key] for mine, its in pairs if its[c.key]])
                for c in columns if c.ratio]
        row += [spread([its[c.key] - mine[c.key] for mine, its in pairs])
                for c in columns if c.more]
        yield row


def summary(done, setup, key):
    """Lines of one table for many works: driller's figure, and its share of each tool's. done: what
    a call has measured, each with work, setup and tools: {name: [figures]}."""
    def others(d):
        return [name for name in d["tools"] if not name.startswith("driller")]

    done = [d for d in done if d["setup"] == setup and others(d) and
            key in d["tools"].get("driller", [{}])[0]]
    names = dict.fromkeys(name for d in done for name in others(d))
    lines = [["work", "driller", *names]]
    for d in done:
        mine = d["tools"]["driller"]
        median = statistics.median(run[key] for run in mine)
        line = [d["work"], f"{median:,.0f}" if median >= 1000 else f"{median:.2f}"]
        for name in names:
            shares = [m[key] / its[key] for m, its in zip(mine, d["tools"].get(name, []))]
            line.append(f"{statistics.median(shares):.2f}" if shares else "")
        lines.append(line)
    return lines if done else []


def markdown(lines):
    """A table in Markdown that can be read as it is."""
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]

    def join(cells):
        first, *rest = [c.ljust(w) if i == 0 else c.rjust(w)
                        for i, (c, w) in enumerate(zip(cells, widths))]
        return "| " + " | ".join([first, *rest]) + " |"

    rule = "|" + "|".join("-" * (w + 1) + (":" if i else "-") for i, w in enumerate(widths)) + "|"
    return "\n".join([join(lines[0]), rule, *map(join, lines[1:])])
