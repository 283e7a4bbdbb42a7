"""The pictures of a report, each as PNG and SVG. Needs matplotlib; without it there are none."""

import statistics

import figures

try:
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot
    from matplotlib.ticker import FuncFormatter, NullFormatter
except ImportError:
    pyplot = None

# Told apart by those who see colours differently, too (Okabe and Ito).
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#555555", "#a6761d")
OURS = COLOURS[0]
OTHERS = "#b8bec6"
INK = "#24292f"

STYLE = {
    "font.family": "DejaVu Sans", "font.size": 10.5, "text.color": INK,
    "axes.titlesize": 13, "axes.titleweight": "bold", "axes.titlelocation": "left",
    "axes.titlepad": 26, "axes.labelcolor": INK, "axes.edgecolor": "#9aa2ab",
    "axes.spines.top": False, "axes.spines.right": False, "axes.axisbelow": True,
    "axes.grid": True, "grid.color": "#e6e9ec", "grid.linewidth": 0.9,
    "xtick.color": INK, "ytick.color": INK, "xtick.major.size": 0, "ytick.major.size": 0,
    "legend.frameon": False, "lines.linewidth": 2.2, "lines.solid_capstyle": "round",
    "figure.dpi": 110, "savefig.dpi": 160, "savefig.bbox": "tight", "savefig.pad_inches": 0.25,
    "svg.fonttype": "path", "svg.hashsalt": "lapwing",
}
# Where a share of the samples stands on the axis: each step is ten times rarer.
SHARES = ((0.5, "50 %"), (0.9, "90 %"), (0.99, "99 %"), (0.999, "99.9 %"), (0.9999, "99.99 %"),
          (0.99999, "99.999 %"))
DISTRUST = "not-to-be-trusted"  # what the warning is called in an SVG
RARER_THAN_ALL = 10  # the maximum stands so many times further than the last share shown


def nanoseconds(value, _=None):
    for unit, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if value >= size:
            return f"{value / size:g} {unit}"
    return f"{value:g} ns"


def short(value):
    for unit, size in ((" billion", 1e9), (" million", 1e6), (" thousand", 1e3)):
        if value >= size:
            return f"{value / size:.3g}{unit}"
    return f"{value:.3g}"


def remark(rounds):
    return ", floors differed" if figures.restless(rounds) else ""


class Gallery:
    """Draws into a folder; remembers what it drew and what each picture shows."""

    def __init__(self, folder, distrusted):
        self.folder = folder
        self.distrusted = distrusted
        self.drawn = []  # (file name without its ending, title)

    def sheet(self, title, subtitle, width=8.2, height=4.6):
        figure, axes = pyplot.subplots(figsize=(width, height))
        axes.set_title(title)
        axes.text(0, 1.035, subtitle, transform=axes.transAxes, fontsize=9.5, color="#57606a")
        if self.distrusted:
            figure.text(0.5, 0.5, "not to be trusted", rotation=24, fontsize=44, color="#d1242f",
                        alpha=0.13, ha="center", va="center", gid=DISTRUST)
        return figure, axes

    def keep(self, figure, name, title):
        for ending in ("png", "svg"):
            metadata = {"Date": None} if ending == "svg" else None
            figure.savefig(self.folder / f"{name}.{ending}", metadata=metadata)
        pyplot.close(figure)
        self.drawn.append((name, title))

    def curves(self, name, title, subtitle, ylabel, series):
        """Percentile curves: [(label, [(fraction, ns)])]."""
        series = [(label, curve) for label, curve in series if curve]
        if not series:
            return
        figure, axes = self.sheet(title, subtitle)
        last = 1 / (1 - SHARES[-1][0]) * RARER_THAN_ALL
        for (label, curve), colour in zip(series, COLOURS):
            places = [(1 / (1 - at), max(ns, 1)) for at, ns in curve if 0 < at <= SHARES[-1][0]]
            axes.plot(*zip(*places), color=colour, label=label)
            axes.plot([places[-1][0], last], [places[-1][1], curve[-1][1]], color=colour,
                      linestyle=(0, (1, 2)), linewidth=1.4)
            axes.plot([last], [curve[-1][1]], "o", color=colour, markersize=6)
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xticks([1 / (1 - at) for at, _ in SHARES] + [last])
        axes.set_xticklabels([label for _, label in SHARES] + ["max"])
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.xaxis.set_minor_locator(matplotlib.ticker.NullLocator())
        axes.yaxis.set_major_formatter(FuncFormatter(nanoseconds))
        axes.set_xlim(1.02, last * 1.4)
        axes.set_xlabel("share of the records that were at least as fast")
        axes.set_ylabel(ylabel)
        axes.legend(loc="upper left")
        self.keep(figure, name, title)

    def bars(self, name, title, subtitle, xlabel, entries, logarithmic=False, scale=short):
        """Bars with their figures: [(label, value, text, ours)], the best one first."""
        if not entries:
            return
        height = 1.5 + 0.46 * len(entries)
        figure, axes = self.sheet(title, subtitle, height=height)
        axes.set_title(title, pad=30)
        labels = [label for label, *_ in entries]
        values = [value for _, value, *_ in entries]
        colours = [OURS if ours else OTHERS for *_, ours in entries]
        axes.barh(labels, values, color=colours, height=0.66)
        axes.invert_yaxis()
        if logarithmic:
            axes.set_xscale("log")
            axes.set_xlim(min(values) / 3, max(values) * 12)
        else:
            axes.set_xlim(0, max(values) * 1.3)
            axes.xaxis.set_major_locator(matplotlib.ticker.MaxNLocator(5))
        for place, (_, value, text, _) in enumerate(entries):
            axes.annotate(text, (value, place), xytext=(5, 0), textcoords="offset points",
                          va="center", fontsize=9.5)
        axes.grid(axis="y", visible=False)
        axes.xaxis.set_minor_locator(matplotlib.ticker.NullLocator())
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: scale(value)))
        axes.set_xlabel(xlabel)
        self.keep(figure, name, title)

    def against_subscribers(self, name, title, subtitle, ylabel, series, logarithmic):
        """[(label, colour, style, [(subscribers, value)])]"""
        if not series:
            return
        figure, axes = self.sheet(title, subtitle)
        sizes = sorted({size for *_, points in series for size, _ in points})
        for label, colour, style, points in series:
            axes.plot(*zip(*points), color=colour, linestyle=style, marker="o", markersize=5,
                      label=label)
        axes.set_xscale("log", base=2)
        axes.set_xticks(sizes)
        axes.set_xticklabels([str(size) for size in sizes])
        axes.xaxis.set_minor_locator(matplotlib.ticker.NullLocator())
        if logarithmic:
            axes.set_yscale("log")
        else:
            axes.set_ylim(0, 1.25 * max(value for *_, points in series for _, value in points))
        axes.yaxis.set_major_formatter(FuncFormatter(nanoseconds))
        axes.set_xlabel("subscribers")
        axes.set_ylabel(ylabel)
        axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1))
        self.keep(figure, name, title)


def latency(gallery, rows):
    names = (("one-way-10k", "10 thousand a second"), ("one-way-100k", "100 thousand a second"),
             ("one-way-1m", "1 million a second"), ("one-way-5m", "5 million a second"),
             ("one-way-bursts", "bursts of a real feed"))
    gallery.curves(
        "latency", "One way, publisher to reader",
        "From when a record was due until a busy reader in another process had read it in full",
        "latency", [(label, figures.curve_of(rows[name])) for name, label in names if name in rows])


def journal(gallery, rows):
    names = (("journal-off", "no journal"), ("journal-memory", "journal in memory"),
             ("journal-disk-1ms", "on disk, synced every 1 ms"),
             ("journal-disk-10ms", "on disk, synced every 10 ms"),
             ("journal-disk-100ms", "on disk, synced every 100 ms"),
             ("journal-disk-slow", "100 MB/s, 50 ms a sync, every 10 ms"))
    gallery.curves(
        "journal", "What a journal does to a publish",
        "A million records a second; from when a record was due until publish had returned",
        "publish", [(label, figures.curve_of(rows[name])) for name, label in names if name in rows])


def throughput(gallery, lines, rows):
    entries = []
    for peer, rounds in figures.peers_of(lines, "saturation").items():
        delivered = figures.median_of(rounds, lambda line: line["delivered_per_second"])
        torn = max(line["torn"] for line in rounds)
        text = short(delivered) + (f", {torn:,} TORN" if torn else "") + remark(rounds)
        entries.append((peer, delivered, text, peer.startswith("lapwing")))
    subtitle = "56-byte records, publisher flat out, one busy reader in another process"
    if not entries:
        subtitle = "Flat out, no peer measured; grey is what this machine's memory gives at best"
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
        text = f"{ratio:.2f} × walk ({nanoseconds(round(ns))})" + remark(rounds)
        entries.append((peer, ratio, text, peer.startswith("lapwing")))
    entries.sort(key=lambda entry: entry[1])
    gallery.bars("round-trip", "Round trip between two processes",
                 "Over what a fresh cache line costs there and back at the same moment (walk)",
                 "times the floor", entries, logarithmic=True)


def stalls(gallery, lines):
    entries = []
    for peer, rounds in figures.peers_of(lines, "stopped-reader").items():
        longest = figures.median_of(rounds, lambda line: line["longest_stall_ns"])
        blocked = any(line.get("blocked_at_end") for line in rounds)
        text = nanoseconds(float(f"{longest:.3g}")) + (", blocked for good" if blocked else "")
        text += remark(rounds)
        entries.append((peer, max(longest, 1), text, peer.startswith("lapwing")))
    entries.sort(key=lambda entry: entry[1])
    gallery.bars("stopped-reader", "Longest publish while the reader is stopped",
                 "100 thousand records a second, the only reader stopped (SIGSTOP)",
                 "longest publish", entries, logarithmic=True, scale=nanoseconds)


def subscribers(gallery, lines):
    crowds = figures.crowds_of(lines)
    ages, costs = [], []
    for (strategy, points), colour in zip(crowds.items(), COLOURS):
        for percentile, style in (("age p50", "-"), ("age p99", (0, (4, 2)))):
            ages.append((f"{strategy}, {percentile[4:]}", colour, style, [
                (size, figures.median_detail(row, percentile) * 1e3) for size, row in points]))
        for what, style, label in (("measured", "-", "subscribers"),
                                   ("strangers", (0, (4, 2)), "strangers")):
            costs.append((f"{label}, {strategy}", colour, style, [
                (size, figures.median_detail(row, what)) for size, row in points]))
    gallery.against_subscribers(
        "subscribers-latency", "Age of a record when a subscriber has it",
        "100 thousand records a second in bursts of 16; all subscribers share the other cores",
        "age", ages, logarithmic=True)
    gallery.against_subscribers(
        "subscribers-publish", "What a publish costs beside subscribers",
        "Median for a record; dashed: beside as many unrelated processes that do as much",
        "publish", costs, logarithmic=False)


def catch_up(gallery, lines, rows):
    entries = []
    for backlog, subjects in figures.late_joins_of(lines).items():
        for subject, milliseconds in subjects.items():
            value = statistics.median(milliseconds) * 1e6
            entries.append((f"{subject}, after {short(backlog)}", value,
                            nanoseconds(float(f"{value:.3g}")), "snapshot" in subject))
    entries.sort(key=lambda entry: entry[0].split(",")[0])  # the backlogs side by side
    gallery.bars("late-join", "Time until a late joiner is live",
                 "After so many records, 200 thousand more coming each second; grey: without a "
                 "snapshot", "from the start of its process", entries, scale=nanoseconds)
    if "catch-up" in rows:
        row = rows["catch-up"]
        journal_rate = figures.median_detail(row, "measured")
        copy_rate = figures.median_detail(row, "copy")
        gallery.bars("catch-up", "Reading the journal from the page cache",
                     "56-byte records, every block's sum verified", "records a second",
                     [("plain copy", copy_rate * 1e6, short(copy_rate * 1e6), False),
                      ("journal", journal_rate * 1e6, short(journal_rate * 1e6), True)])


def draw(folder, lines, distrusted):
    """All that the lines give; [(name, title)], empty where matplotlib is not there."""
    if pyplot is None:
        return []
    rows = figures.rows_of(lines)
    gallery = Gallery(folder, distrusted)
    with matplotlib.rc_context(STYLE):
        latency(gallery, rows)
        round_trips(gallery, lines)
        throughput(gallery, lines, rows)
        stalls(gallery, lines)
        subscribers(gallery, lines)
        journal(gallery, rows)
        catch_up(gallery, lines, rows)
    return gallery.drawn
