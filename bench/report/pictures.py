"""Defines the pictures of a report. Without matplotlib there are none."""

import statistics

import figures
import gallery as galleries
import plan as plans
from gallery import (
    COLOURS,
    DASHED,
    DISTRUST,
    Gallery,
    bytes_a_second,
    from_zero,
    logarithmic,
    nanoseconds,
    pyplot,
    short,
    times,
)

__all__ = ["DISTRUST", "draw", "pyplot"]


def remark(rounds):
    return ", floors differed" if figures.restless(rounds) else ""


def latency(gallery, rows):
    names = (("one-way-10k", "10 thousand a second"), ("one-way-100k", "100 thousand a second"),
             ("one-way-1m", "1 million a second"), ("one-way-5m", "5 million a second"),
             ("one-way-bursts", "bursts of a real feed"))
    floors = [figures.curve_of(rows[name], "floor_curve") for name, _ in names if name in rows]
    subtitle = "From the due time of a record until a busy reader in another process has read all of it"
    if any(floors):
        subtitle += (";\ndashed, grey between: bare cache lines at the same pace, which show what "
                     "the machine itself does")
    gallery.curves(
        "latency", "One way, publisher to reader", subtitle, "latency",
        [(label, figures.curve_of(rows[name])) for name, label in names if name in rows], floors)


def journal(gallery, rows):
    names = (("journal-off", "no journal"), ("journal-memory", "journal in memory"),
             ("journal-disk-1ms", "on disk, synced every 1 ms"),
             ("journal-disk-10ms", "on disk, synced every 10 ms"),
             ("journal-disk-100ms", "on disk, synced every 100 ms"),
             ("journal-disk-slow", "100 MB/s, 50 ms per sync, every 10 ms"))
    gallery.curves(
        "journal", "Publishing with a journal",
        "A million records a second; from the due time of a record until publish returned",
        "publish", [(label, figures.curve_of(rows[name])) for name, label in names if name in rows])


def throughput(gallery, lines, rows):
    entries = []
    for peer, rounds in figures.peers_of(lines, "saturation").items():
        delivered = figures.median_of(rounds, lambda line: line["delivered_per_second"])
        torn = figures.total_of(rounds, "torn")
        text = short(delivered) + (f", {torn:,} TORN" if torn else "") + remark(rounds)
        entries.append((peer, delivered, text, peer.startswith("lapwing")))
    subtitle = "56-byte records, publisher at full speed, one busy reader in another process"
    if not entries:
        subtitle = "At full speed, no peers measured; grey: the limit of this machine's memory"
        for name, label in (("one-reader", "bus, one reader"),
                            ("channel-messages-batch", "channel, batches"),
                            ("channel-messages", "channel, one by one")):
            if name in rows:
                row = rows[name]
                for what, text, ours in (("measured", label, True),
                                         ("stream", f"floor of {label}", False)):
                    value = figures.median_detail(row, what) * 1e6
                    entries.append((text, value, short(value), ours))
    entries.sort(key=lambda entry: -entry[1])
    gallery.bars("throughput", "Records delivered a second", subtitle, "records a second", entries)


def round_trips(gallery, lines):
    entries = []
    for peer, rounds in figures.peers_of(lines, "round-trip").items():
        ratio = figures.median_of(rounds, figures.over_walk)
        ns = figures.median_of(rounds, lambda line: line["block_ns_p50"])
        text = f"{times(ratio)} ({nanoseconds(ns)})" + remark(rounds)
        entries.append((peer, ratio, text, peer.startswith("lapwing")))
    entries.sort(key=lambda entry: entry[1])
    gallery.bars("round-trip", "Round trip between two processes",
                 "Median; dashed: the floor, a fresh cache line there and back at the same time",
                 "times the floor", entries, logarithmic=True, floor_is_one=True)


def stalls(gallery, lines, scenario, title, who):
    """For each peer, the longest publish and, if another reader ran, that reader's longest
    silence."""
    entries = []
    peers = figures.peers_of(lines, scenario)
    for peer, rounds in peers.items():
        spans = [max(figures.median_of(rounds, lambda line, name=name: line[name]), 1)
                 for name in ("longest_stall_ns", "longest_silence_ns") if name in rounds[0]]
        text = " / ".join(nanoseconds(span) for span in spans)
        text += ", blocked until the end" if figures.blocked_of(rounds) else ""
        label = peer + (", lossless" if rounds[0]["delivery"] == "lossless" else "")
        entries.append((label, spans, text + remark(rounds), peer.startswith("lapwing")))
    if entries:
        line = next(iter(peers.values()))[0]
        subtitle = f"{short(line['rate'])} records a second for {line['seconds']:g} s; {who}"
        entries.sort(key=lambda entry: entry[1])
        gallery.spans(scenario, title, subtitle, "time", entries, nanoseconds)


def stopped(gallery, lines):
    stalls(gallery, lines, "stopped-reader", "While the only reader is stopped",
           "longest publish; lossless peers have to wait")
    stalls(gallery, lines, "stopped-of-two", "While one of two readers is stopped",
           "dot: longest publish, ring: longest silence of the other reader")


def over_floor(gallery, rows, name, title, subtitle, floor, labels):
    """Rows as multiples of their floor: [(row, label, ours)]."""
    entries = []
    for row_name, label, ours in labels:
        if row_name not in rows:
            continue
        row = rows[row_name]
        ratios = [trial["ratio"] for trial in row["trials"]]
        text = f"{times(row['ratio'])} ({nanoseconds(figures.median_detail(row, 'measured'))})"
        entries.append((label, row["ratio"], (min(ratios), max(ratios)), row.get("budget"), text,
                        ours))
    gallery.ratios(name, title, subtitle, floor, entries)


def own_rows(gallery, rows):
    over_floor(gallery, rows, "publish", "Publishing a record",
               "Without readers; in brackets: the median for a record of 56 bytes",
               "a plain copy of the same records",
               (("publish", "one by one", True), ("publish-batch", "in batches of 32", True)))
    over_floor(gallery, rows, "bus-and-channel", "Round trips of bus and channel",
               "Between two busy processes; grey: only the protocol",
               "a fresh cache line there and back",
               (("round-trip", "two buses, 56 bytes", True),
                ("round-trip-ring", "two bare rings of slots", False),
                ("channel-round-trip", "two channels, 32 bytes", True),
                ("channel-round-trip-frames", "two bare rings of frames", False),
                ("channel-call", "call and reply, 32 bytes", True)))
    over_floor(gallery, rows, "folds", "Folding records into state",
               "In memory, on one core; in brackets: the time per record. Plain maps store less",
               "plain maps",
               (("book-update", "order book and its best prices", True),
                ("fold-orders", "resting orders", True),
                ("fold-latest", "latest of a million keys", True)))


def channel_sizes(gallery, rows):
    ours = figures.channel_sizes_of(rows)
    series = []
    for what, label, colour, style in (
            ("measured", "channel", COLOURS[0], "-"),
            ("stream socket", "Unix stream socket", COLOURS[1], DASHED),
            ("packet socket", "Unix packet socket", COLOURS[2], DASHED)):
        points = [(size, figures.median_detail(row, what) * 1e9) for size, row in ours
                  if what in row["medians"]]
        if points:
            series.append((label, colour, style, points))
    gallery.lines(
        "channel-sizes", "Throughput of a channel, by message size",
        "Between two processes, every byte written and read; sockets: one send and one receive each",
        "message", figures.size_in_words, series, logarithmic("bytes a second", bytes_a_second))


def subscribers(gallery, lines):
    crowds = figures.crowds_of(lines)
    ages, costs = [], []
    for (strategy, points), colour in zip(crowds.items(), COLOURS, strict=False):
        for percentile, style, label in (("age p50", "-", "50 %"), ("age p99", DASHED, "99 %")):
            ages.append((f"{strategy}, {label}", colour, style, [
                (size, figures.median_detail(row, percentile) * 1e3) for size, row in points]))
        for what, style, label in (("measured", "-", "subscribers"),
                                   ("strangers", DASHED, "unrelated")):
            costs.append((f"{strategy}, {label}", colour, style, [
                (size, figures.median_detail(row, what)) for size, row in points]))

    gallery.lines(
        "subscribers-latency", "Age of a record when a subscriber receives it",
        "100 thousand records a second in bursts of 16; all subscribers share the other cores",
        "subscribers", str, ages, logarithmic("age", nanoseconds))
    gallery.lines(
        "subscribers-publish", "Cost of a publish with subscribers",
        "Median per record; dashed: with as many unrelated processes that do the same work",
        "subscribers", str, costs, from_zero("publish", nanoseconds))


def catch_up(gallery, lines, rows):
    entries = []
    for backlog, subjects in figures.late_joins_of(lines).items():
        for subject, milliseconds in subjects.items():
            value = statistics.median(milliseconds) * 1e6
            entries.append((f"{subject}, {short(backlog)}", value, nanoseconds(value),
                            "snapshot" in subject))
    entries.sort(key=lambda entry: entry[0].split(",")[0])  # sorts the backlogs side by side
    gallery.bars("late-join", "Time until a late joiner is live",
                 f"After that many records, with {short(plans.BACKLOG_RATE)} more per second; "
                 "grey: reads all of them",
                 "time since the start of its process", entries, scale=nanoseconds)
    if "catch-up" in rows:
        row = rows["catch-up"]
        journal_rate = figures.median_detail(row, "measured") * 1e6
        copy_rate = figures.median_detail(row, "copy") * 1e6
        gallery.bars("catch-up", "Reading the journal from the page cache",
                     "56-byte records, with the checksum of every block verified", "records a second",
                     [("plain copy", copy_rate, short(copy_rate), False),
                      ("journal", journal_rate, short(journal_rate), True)])


def draw(folder, lines, distrusted):
    """Draws all pictures of the lines. Returns [(name, title)], empty without matplotlib."""
    if pyplot is None:
        return []
    rows = figures.rows_of(lines)
    gallery = Gallery(folder, distrusted)
    with galleries.matplotlib.rc_context(galleries.STYLE):
        latency(gallery, rows)
        round_trips(gallery, lines)
        throughput(gallery, lines, rows)
        stopped(gallery, lines)
        own_rows(gallery, rows)
        subscribers(gallery, lines)
        journal(gallery, rows)
        catch_up(gallery, lines, rows)
        channel_sizes(gallery, rows)
    return gallery.drawn
