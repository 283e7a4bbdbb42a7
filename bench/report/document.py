"""The report of a run in Markdown. Pure functions of raw lines."""

import statistics

import comparison
import figures
import plan as plans

WARNING = "THE FIGURES OF THIS RUN ARE NOT TO BE TRUSTED"
BARE_LINES = "bare cache lines"
BARE_WORDS = ("Bare cache lines: the same load at the same pace, measured directly before, with one "
              "64-byte line per record and without Lapwing. They show what the machine itself does.")
PERCENTILE_COLUMNS = ((0.5, "50 %"), (0.9, "90 %"), (0.99, "99 %"), (0.999, "99.9 %"),
                      (0.9999, "99.99 %"), (0.99999, "99.999 %"), (1.0, "max"))


def loud(reasons):
    """The warning for a terminal; empty if there are no reasons."""
    if not reasons:
        return ""
    bar = "!" * 78
    lines = [bar, f"!!  {WARNING}"]
    for reason in reasons:
        lines.append(f"!!  - {reason}.")
    return "\n".join([*lines, bar])


def warning(reasons):
    if not reasons:
        return []
    return [f"> # ⚠ {WARNING}", ">", *(f"> - {reason}." for reason in reasons), ""]


def table(header, rows):
    if not rows:
        return []
    lines = ["| " + " | ".join(header) + " |", "|" + " --- |" * len(header)]
    return [*lines, *("| " + " | ".join(str(cell) for cell in row) + " |" for row in rows), ""]


def whole(value):
    return f"{value:,.0f}"


def number(value):
    if value >= 1000:
        return f"{value:,.0f}"
    return f"{value:.{2 if value < 10 else 1}f}"


def duration(ns):
    for unit, size in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if ns >= size:
            return f"{ns / size:.3g} {unit}"
    return f"{ns:.0f} ns"


def setting(environment, probes):
    shown = (("processor", "processor"), ("processor_model", "processor model"), ("kernel", "kernel"),
             ("system", "system"),
             ("virtual", "virtual machine"), ("cores_online", "cores"),
             ("cores_usable", "usable cores"), ("isolated", "isolated cores"),
             ("tickless", "tickless cores"), ("governor", "frequency governor"),
             ("clock_source", "clock source"), ("huge_pages", "transparent huge pages"),
             ("huge_pages_tmpfs", "transparent huge pages in tmpfs"),
             ("huge_pages_reserved", "reserved huge pages"),
             ("memory", "memory"), ("load_average", "load average at start"))
    rows = []
    for field, label in shown:
        value = environment.get(field)  # older runs have fewer fields
        text = {True: "yes", False: "no", None: "none"}.get(value) if isinstance(
            value, (bool, type(None))) else value
        rows.append((label, text))
    if probes:
        rows.append(("clock of the benchmark", f"{probes[0]['clock']}: "
                     f"{statistics.median(p['clock_ns'] for p in probes):.0f} ns per reading, "
                     f"resolution {number(min(p['clock_step_ns'] for p in probes))} ns"))
        for floor in ("line", "walk"):
            values = [probe[f"{floor}_ns"] for probe in probes]
            rows.append((f"floor `{floor}` during the run", f"{min(values):.0f} to "
                         f"{max(values):.0f} ns, median {statistics.median(values):.0f}"
                         if max(values) > 0 else "SKIPPED: needs two cores"))
    return ["## The machine", "", *table(("property", "value"), rows)]


def verdict(row):
    if row.get("fault"):
        return f"**FAULT: {row['fault']}**"
    if "chance" in row:
        return f"chance {row['chance']:.3f}: {comparison.met_or_missed(row['met'])}"
    bound = "≤" if row["bound"] == "at most" else "≥"
    budgets = []
    if "budget" in row:
        budgets.append(f"{bound} {row['budget']:g}")
    if "budget_far" in row:
        budgets.append(f"far {bound} {row['budget_far']:g}")
    if absolute := row.get("absolute_budget"):
        what = f"{absolute['unit']} {absolute['detail']}".strip()
        budgets.append(f"≤ {absolute['at_most']:g} {what} ({number(absolute['worse_placement'])})")
    if not budgets:
        return "none"
    return f"{', '.join(budgets)}: {comparison.met_or_missed(row['met'])}"


def with_unit(median):
    return f"{number(median['value'])} {median['unit']}".strip()


def ratio_with_range(row):
    ratios = [trial["ratio"] for trial in row["trials"]]
    return f"{row['ratio']:.2f} ({min(ratios):.2f} to {max(ratios):.2f})"


def rows_table(lines):
    cells = []
    for name, row in figures.rows_of(lines).items():
        medians = list(row["medians"].items())
        (_, measured), (floor, floor_value) = medians[:2]
        remark = [f"{row['rejections']} rejected"] if row["rejections"] else []
        if not row.get("steady", True):
            remark.append(comparison.FLOORS_DIFFERED)
        cells.append((
            f"`{name}`", ratio_with_range(row),
            f"{row['ratio_worse_placement']:.2f}", row["over"], verdict(row), with_unit(measured),
            f"{floor} {number(floor_value['value'])}", ", ".join(remark)))
    if not cells:
        return []
    return ["## Every row", "",
            "Ratios to the floor measured at the same time: median and range. The budget applies to "
            "the worse placement of the two sides on the cores.", "",
            *table(("row", "ratio", "worse placement", "over", "budget", "measured", "floor", ""),
                   cells)]


def curves_table(lines, title, beginning, details):
    """Percentiles and details of each row whose name starts with the prefix.

    details: [(name, heading, function that returns a value's text)]. Each row is followed by the
    percentiles of bare lines, if the row has them.
    """
    cells = []
    for name, row in figures.rows_of(lines).items():
        if not name.startswith(beginning):
            continue
        medians = row["medians"]
        for label, field, known in ((f"`{name}`", "curve", medians),
                                     (BARE_LINES, "floor_curve", {})):
            curve = dict(figures.curve_of(row, field))
            if curve:
                cells.append((label, *(duration(curve[at]) for at, _ in PERCENTILE_COLUMNS),
                              *(text(known[detail]["value"]) if detail in known else "–"
                                for detail, _, text in details)))
    if not cells:
        return []
    header = ("row", *(label for _, label in PERCENTILE_COLUMNS),
              *(heading for _, heading, _ in details))
    bare = any(label == BARE_LINES for label, *_ in cells)
    return [f"## {title}", "", "Each percentile is the median of the trials. The maximum is that of "
            "all trials." + (f" {BARE_WORDS}" if bare else ""), "", *table(header, cells)]


def channel_tables(lines):
    rows = figures.rows_of(lines)
    sizes = figures.channel_sizes_of(rows)
    parts = table(
        ("message", "channel, GB/s", "stream socket", "packet socket", "ratio to the stream socket"),
        [(figures.size_in_words(size), number(row["medians"]["measured"]["value"]),
          number(row["medians"]["stream socket"]["value"]),
          number(row["medians"]["packet socket"]["value"])
          if "packet socket" in row["medians"] else "too large",
          ratio_with_range(row)) for size, row in sizes])
    in_sizes = [row["name"] for _, row in sizes]
    cells = []
    for name, row in rows.items():
        if not name.startswith("channel-") or name in in_sizes:
            continue
        (_, measured), (floor, floor_value), *others = row["medians"].items()
        cells.append((f"`{name}`", row["what"], with_unit(measured), "; ".join(
            f"{other} {with_unit(value)}" for other, value in others),
            f"`{floor}` {number(floor_value['value'])}", ratio_with_range(row)))
    parts += table(("row", "what", "measured", "also measured", "floor", "ratio"), cells)
    if not parts:
        return []
    return ["## The channel", "", "Medians. Ratios also show the range of the trials. Latencies are "
            "between two processes and end when the message can be read in place.", "", *parts]


def crowds_table(lines):
    cells = []
    for strategy, points in figures.crowds_of(lines).items():
        for size, row in points:
            medians = {name: entry["value"] for name, entry in row["medians"].items()}
            cells.append((strategy, size, number(medians["measured"]), number(medians["strangers"]),
                          f"{row['ratio']:.2f}", *(
                              duration(medians[name] * 1e3)
                              for name in ("age p50", "age p99", "age max")),
                          f"{medians['lost']:,.0f}", f"{medians['not yet read after 5 s']:,.0f}"))
    if not cells:
        return []
    return ["## Subscribers", "", "Publish: median per record, with subscribers and with as many "
            "unrelated processes. Age: time since the record was due.", "",
            *table(("wait", "subscribers", "publish, ns", "with unrelated processes", "ratio", "age 50 %",
                    "99 %", "max", "lost", "unread after 5 s"), cells)]


def spread(rounds, value, text=number):
    values = [value(line) for line in rounds]
    middle = text(statistics.median(values))
    return middle if len(values) == 1 else f"{middle} ({text(min(values))} to {text(max(values))})"


def peers_table(peers, columns):
    """A table of [(heading, text of a peer's rounds)], with the number of rounds and remarks."""
    cells = [(peer, *(text(rounds) for _, text in columns), len(rounds),
              comparison.FLOORS_DIFFERED if figures.restless(rounds) else "")
             for peer, rounds in peers.items()]
    return table(("peer", *(heading for heading, _ in columns), "rounds", ""), cells)


def of_each(value, text=number):
    """The text of the rounds' values: median and range."""
    return lambda rounds: spread(rounds, value, text)


def percentile(name):
    return of_each(lambda line: line["ns"][name], duration)


def total_of(field):
    return lambda rounds: whole(figures.total_of(rounds, field))


def stopped_tables(lines):
    """The effect of a stopped reader on the publisher, and on another reader that runs."""
    publisher = [
        ("delivery", lambda rounds: rounds[0]["delivery"]),
        ("publish, 50 %", percentile("p50")), ("99.9 %", percentile("p99_9")),
        ("max", percentile("max")),
        ("longest single publish", of_each(lambda line: line["longest_stall_ns"], duration)),
        ("blocked until the end", lambda rounds: figures.blocked_of(rounds) or "no"),
        ("over 10 us, per million", of_each(lambda line: line["over_10_us_per_million"])),
        ("due, not published", of_each(lambda line: line["due"] - line["published"], whole))]
    live = [
        ("live reader: received", of_each(lambda line: line["received"], whole)),
        ("lost", of_each(lambda line: line["lost"], whole)), ("torn", total_of("torn")),
        ("out of order", total_of("out_of_order")),
        ("longest silence", of_each(lambda line: line["longest_silence_ns"], duration))]
    about = (
        ("stopped-reader", "the only reader is stopped. A lossless peer waits for it when its "
         "buffer is full. This is its contract, not a fault.", publisher),
        ("stopped-of-two", "one of two readers is stopped, and the other one runs. The longest "
         "silence is the longest time in which the running reader received nothing.",
         [*publisher, *live]))
    parts = []
    for scenario, what, columns in about:
        peers = figures.peers_of(lines, scenario)
        if peers:
            line = next(iter(peers.values()))[0]
            parts += [f"{line['rate']:,.0f} records a second for {line['seconds']:g} s, while "
                      f"{what} Publish times start when a record is due. \"blocked until the "
                      "end\" is a number of rounds.", "", *peers_table(peers, columns)]
    return parts


def fastest_table(lines, rivals):
    cells = comparison.verdicts(lines, rivals)
    return ["Lapwing, and the fastest of the peers that work between processes and never deliver a "
            "torn record: medians of the rounds, in the placement on the cores that is worse for "
            "Lapwing.", "", *table(("what", "Lapwing", "the fastest", "ratio", "budget"), cells)
            ] if cells else []


def round_trips_table(lines, scenario):
    return peers_table(figures.peers_of(lines, scenario), [
        ("round trip, over `walk`", of_each(figures.over_walk)),
        ("ns", of_each(lambda line: line["block_ns_p50"])),
        ("99.9 %", percentile("p99_9")), ("max", percentile("max")),
        ("damaged", total_of("damaged"))])


def peers_tables(lines, missing, rivals):
    parts = fastest_table(lines, rivals)
    parts += round_trips_table(lines, "round-trip")
    small = round_trips_table(lines, "round-trip-32")
    parts += ["The same with 32 bytes:", "", *small] if small else []
    parts += peers_table(figures.peers_of(lines, "saturation"), [
        ("delivered, million a second", of_each(lambda line: line["delivered_per_second"] / 1e6)),
        ("published", of_each(lambda line: line["published_per_second"] / 1e6)),
        ("lost", of_each(lambda line: line["lost"], whole)),
        ("reported lost", lambda rounds: "–" if rounds[0]["reported_lost"] < 0 else spread(
            rounds, lambda line: line["reported_lost"], whole)),
        ("torn", total_of("torn")), ("out of order", total_of("out_of_order"))])
    parts += stopped_tables(lines)
    if missing:
        parts += ["These peers could not be built and are not measured:", ""]
        parts += [f"- {name}: {why}" for name, why in missing.items()] + [""]
    return ["## Comparison with peers", "", "The peers take turns in each round. Each measurement "
            "is between two probes of the floors. `bench/peers/README.md` describes the columns.", "",
            *parts] if parts else []


def instructions_table(lines):
    counts, compiler = figures.instructions_of(lines)
    if not counts:
        return []
    return ["## Instructions", "", f"Instructions per record or message, counted by callgrind. "
            f"{compiler} compiles this source to the same instructions on every machine, and load "
            "has no effect.", "",
            *table(("operation", "instructions"), [
                (f"`{name}`", number(count)) for name, count in counts.items()])]


def late_joins_table(lines):
    cells = [(f"{backlog:,}", subject, f"{statistics.median(values):,.0f}",
              " ".join(f"{value:,.0f}" for value in values))
             for backlog, subjects in figures.late_joins_of(lines).items()
             for subject, values in subjects.items()]
    if not cells:
        return []
    return ["## Late join", "", "Milliseconds from the start of the process until it is live.", "",
            *table(("backlog", "subject", "median, ms", "runs"), cells)]


def failures(lines):
    found = figures.failed_of(lines)
    if not found:
        return []
    return ["## Skipped, failed or faulty", "", *(f"- `{name}`: {why}" for name, why in found), ""]


def report(environment, lines, drawn, missing, reasons, notes, command):
    """The whole report as one string."""
    probes = [line for line in lines if line["kind"] == "probe"]
    rejected, kept = figures.trials_of(lines)
    parts = [f"# Lapwing on {environment['host']}, {environment['date']}", "",
             *warning(reasons),
             f"Created by `{command}` in {plans.in_words(60 * environment['minutes'])}, from commit "
             f"{environment['commit']}. `bench/METHOD.md` describes the method and the reasons for "
             "it. `raw.jsonl` contains every trial.", "",
             f"{kept} trials count. {rejected} were discarded because the floors around them differed "
             "by more than a quarter.", ""]
    if any(line["kind"] == "interrupted" for line in lines):
        parts += ["**The run was interrupted:** some measurements are missing.", ""]
    parts += [f"- {note}" for note in notes] + [""] if notes else []
    for file, title in drawn:
        parts += [f"![{title}]({file})", ""]
    parts += rows_table(lines)
    parts += curves_table(lines, "One way under paced load", "one-way-", [
        ("lost", "lost", whole)])
    parts += curves_table(lines, "Publishing with a journal, a million records a second", "journal-", [
        ("stalls", "stalls", whole),
        ("longest stall", "longest stall", lambda ms: duration(ms * 1e6) if ms else "–"),
        ("journal behind by", "journal behind by, records", whole)])
    parts += crowds_table(lines)
    parts += channel_tables(lines)
    parts += peers_tables(lines, missing, environment.get("rivals", {}))
    parts += late_joins_table(lines)
    parts += instructions_table(lines)
    parts += failures(lines)
    parts += setting(environment, probes)
    return "\n".join(parts).rstrip() + "\n"
