"""Draws the pictures of a report. Needs matplotlib.

pictures.py defines the pictures and their data.
"""

import math

try:
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot
    from matplotlib.ticker import FuncFormatter, MaxNLocator, NullFormatter, NullLocator
except ImportError:
    pyplot = None

# Also distinguishable with color blindness (Okabe and Ito).
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#555555", "#a6761d")
OURS = COLOURS[0]
OTHERS = "#b8bec6"
INK = "#24292f"
PALE_INK = "#57606a"
FLOOR_INK = "#8c959f"
BUDGET = COLOURS[1]

STYLE = {
    "font.family": "DejaVu Sans", "font.size": 10.5, "text.color": INK,
    "axes.titlesize": 13, "axes.titleweight": "bold", "axes.titlelocation": "left",
    "axes.labelcolor": INK, "axes.edgecolor": "#9aa2ab",
    "axes.spines.top": False, "axes.spines.right": False, "axes.axisbelow": True,
    "axes.grid": True, "grid.color": "#e6e9ec", "grid.linewidth": 0.9,
    "xtick.color": INK, "ytick.color": INK, "xtick.major.size": 0, "ytick.major.size": 0,
    "xtick.minor.size": 0, "ytick.minor.size": 0,
    "legend.frameon": False, "lines.linewidth": 2.2, "lines.solid_capstyle": "round",
    "figure.dpi": 110, "savefig.dpi": 160, "savefig.bbox": "tight", "savefig.pad_inches": 0.25,
}
ENDING = "png"  # tests draw "svg" and check its content
SUBTITLE_POINTS = 9        # above the axes
TITLE_POINTS = 28          # above the axes, with a subtitle of one line
LINE_POINTS = 12           # for each further line
NOTE_POINTS = -46          # below the axes
WIDTH, HEIGHT = 8.2, 4.6   # of a sheet, in inches
BAR_PITCH, BARS_ROUND = 0.44, 1.6  # inches between bars; above and below all bars
DASHED = (0, (4, 2))
DOTTED = (0, (1, 2))

# Positions of shares of the samples on the axis: each step is ten times rarer.
SHARES = ((0.5, "50 %"), (0.9, "90 %"), (0.99, "99 %"), (0.999, "99.9 %"), (0.9999, "99.99 %"),
          (0.99999, "99.999 %"))
DISTRUST = "not-to-be-trusted"  # identifies the warning in an SVG
FLOORS = "floors"               # and the area between the floors
MAXIMUM_AT = 10 / (1 - SHARES[-1][0])  # one step beyond the last share


def three_digits(value):
    return f"{float(f'{value:.3g}'):g}"


def nanoseconds(value, _=None):
    """Formats three digits, for example 1.06 µs."""
    if value == 0:
        return "0"
    for unit, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if value >= 0.9995 * size:
            return f"{three_digits(value / size)} {unit}"
    return f"{three_digits(value)} ns"


def short(value):
    """Formats three digits, for example 1.06 million."""
    for unit, size in ((" billion", 1e9), (" million", 1e6), (" thousand", 1e3)):
        if value >= 0.9995 * size:
            return f"{three_digits(value / size)}{unit}"
    return three_digits(value)


def times(ratio):
    return f"{ratio:.{2 if ratio < 10 else 1}f} ×"


def bytes_a_second(value, _=None):
    for unit, size in (("GB/s", 1e9), ("MB/s", 1e6)):
        if value >= 0.9995 * size:
            return f"{three_digits(value / size)} {unit}"
    return f"{three_digits(value / 1e3)} kB/s"


def whole_decades(values):
    """The enclosing powers of ten, at least one decade apart."""
    low = math.floor(math.log10(min(values)))
    return 10.0**low, 10.0 ** max(math.ceil(math.log10(max(values))), low + 1)


def placed(curve):
    """A percentile curve as [(position on the axis, ns)]. The last point is the maximum."""
    return [*((1 / (1 - at), max(ns, 1)) for at, ns in curve if 0 < at <= SHARES[-1][0]),
            (MAXIMUM_AT, max(curve[-1][1], 1))]


class Gallery:
    """Draws pictures into a folder, and keeps a list of them."""

    def __init__(self, folder, distrusted):
        self.folder = folder
        self.distrusted = distrusted
        self.drawn = []  # (file name, title)

    def sheet(self, title, subtitle, height=HEIGHT):
        figure, axes = pyplot.subplots(figsize=(WIDTH, height))
        axes.set_title(title, pad=TITLE_POINTS + LINE_POINTS * subtitle.count("\n"))
        axes.annotate(subtitle, (0, 1), xycoords="axes fraction", xytext=(0, SUBTITLE_POINTS),
                      textcoords="offset points", fontsize=9.5, color=PALE_INK)
        if self.distrusted:
            figure.text(0.5, 0.5, "not to be trusted", rotation=min(24, 5 * height), fontsize=44,
                        color="#d1242f", alpha=0.2, ha="center", va="center", gid=DISTRUST)
        return figure, axes

    def bar_sheet(self, title, subtitle, labels):
        """A sheet with one row per label, the first on top; rows have the same height on all
        sheets."""
        height = BARS_ROUND + BAR_PITCH * len(labels)
        figure, axes = self.sheet(title, subtitle, height)
        figure.subplots_adjust(bottom=0.6 / height, top=1 - (BARS_ROUND - 0.6) / height)
        axes.set_yticks(range(len(labels)), labels)
        axes.set_ylim(len(labels) - 0.4, -0.6)
        axes.grid(axis="y", visible=False)
        return figure, axes

    def keep(self, figure, name, title):
        file = f"{name}.{ENDING}"
        figure.savefig(self.folder / file)
        pyplot.close(figure)
        self.drawn.append((file, title))

    @staticmethod
    def legend_beside(axes):
        axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1.02))

    @staticmethod
    def write_beside(axes, place, value, text, points=6):
        axes.annotate(text, (value, place), xytext=(points, 0), textcoords="offset points",
                      va="center", fontsize=9.5, zorder=4, bbox={
                          "facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 1})

    @staticmethod
    def mark_floor(axes):
        axes.axvline(1, color=PALE_INK, linewidth=1.2, linestyle=DASHED, zorder=0.9)

    @staticmethod
    def few_ticks(axes):
        axes.xaxis.set_major_locator(MaxNLocator(5, steps=(1, 2, 2.5, 5, 10)))
        axes.xaxis.set_minor_locator(NullLocator())

    @staticmethod
    def between_floors(axes, floors):
        places = [place for place, _ in floors[0]]
        columns = [[ns for _, ns in points] for points in zip(*floors, strict=False)]
        edges = [list(map(extreme, columns)) for extreme in (min, max)]
        axes.fill_between(places, *edges, color=FLOOR_INK, alpha=0.18, linewidth=0, gid=FLOORS)
        for edge in edges:
            axes.plot(places, edge, color=FLOOR_INK, linestyle=DASHED, linewidth=1.4, zorder=2.5)

    def curves(self, name, title, subtitle, ylabel, series, floors=()):
        """Percentile curves: [(label, [(fraction, ns)])]. `floors` are such curves without labels.
        Their minimum and maximum at each share are drawn, with the area between them."""
        series = [(label, placed(curve)) for label, curve in series if curve]
        if not series:
            return
        figure, axes = self.sheet(title, subtitle)
        floors = [placed(curve) for curve in floors if curve]
        if floors:
            self.between_floors(axes, floors)
        for (label, points), colour in zip(series, COLOURS, strict=False):
            axes.plot(*zip(*points[:-1], strict=True), color=colour, label=label)
            axes.plot(*zip(*points[-2:], strict=True), color=colour, linestyle=DOTTED,
                      linewidth=1.4)
            axes.plot(*points[-1], "o", color=colour, markersize=6)
        heights = [ns for points in [*floors, *(points for _, points in series)]
                   for _, ns in points]
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xticks([1 / (1 - at) for at, _ in SHARES] + [MAXIMUM_AT])
        axes.set_xticklabels([label for _, label in SHARES] + ["max"])
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.xaxis.set_minor_locator(NullLocator())
        axes.yaxis.set_major_formatter(FuncFormatter(nanoseconds))
        axes.set_xlim(1.02, MAXIMUM_AT * 1.4)
        axes.set_ylim(*whole_decades(heights))
        axes.set_xlabel("share of the records that were at least as fast")
        axes.set_ylabel(ylabel)
        self.legend_beside(axes)
        self.keep(figure, name, title)

    def bars(self, name, title, subtitle, xlabel, entries, logarithmic=False, scale=short,
             floor_is_one=False):
        """[(label, value, text, ours)], the best one first. Draws bars from 0 with their figures,
        or dots on a logarithmic scale, where a bar cannot start at 0."""
        if not entries:
            return
        figure, axes = self.bar_sheet(title, subtitle, [label for label, *_ in entries])
        values = [value for _, value, *_ in entries]
        colours = [OURS if ours else OTHERS for *_, ours in entries]
        places = range(len(entries))
        if logarithmic:
            axes.set_xscale("log")
            axes.set_xlim(min(values) / 3, max(values) * 12)
            axes.hlines(places, min(values) / 3, values, color=OTHERS, linestyle=DOTTED,
                        linewidth=1.2)
            axes.scatter(values, places, s=80, color=colours, zorder=3)
        else:
            axes.barh(places, values, color=colours, height=0.66)
            axes.set_xlim(0, max(values) * 1.3)
            self.few_ticks(axes)
        for place, (_, value, text, _) in enumerate(entries):
            self.write_beside(axes, place, value, text, points=9 if logarithmic else 6)
        axes.xaxis.set_minor_locator(NullLocator())
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: scale(value)))
        axes.set_xlabel(xlabel)
        if floor_is_one:
            self.mark_floor(axes)
        self.keep(figure, name, title)

    def spans(self, name, title, subtitle, xlabel, entries, scale):
        """Dots on a logarithmic scale: [(label, [value] or [value, other], text, ours)], the best
        one first. The other value is drawn as a ring."""
        figure, axes = self.bar_sheet(title, subtitle, [label for label, *_ in entries])
        axes.set_xscale("log")
        least, most = whole_decades([value for _, values, *_ in entries for value in values])
        for place, (_, values, text, ours) in enumerate(entries):
            colour = OURS if ours else OTHERS
            axes.hlines(place, least, max(values), color=OTHERS, linestyle=DOTTED, linewidth=1.2)
            axes.scatter(values[:1], [place], s=80, color=colour, zorder=3)
            axes.scatter(values[1:], [place] * len(values[1:]), s=170, facecolors="none",
                         edgecolors=INK, linewidths=1.4, zorder=3)
            self.write_beside(axes, place, max(values), text, points=11)
        axes.set_xlim(least / 2, most * 30)  # room for the figures beyond the last dot
        axes.xaxis.set_minor_locator(NullLocator())
        axes.xaxis.set_major_formatter(FuncFormatter(scale))
        axes.set_xlabel(xlabel)
        self.keep(figure, name, title)

    def ratios(self, name, title, subtitle, floor, entries):
        """Bars as multiples of a floor, which is 1: [(label, ratio, (least, most), budget or None,
        text, ours)]. A thin line shows the range of the trials, and a short line across the bar
        shows its budget."""
        if not entries:
            return
        figure, axes = self.bar_sheet(title, subtitle, [label for label, *_ in entries])
        ends = []
        for place, (_, ratio, (least, most), budget, text, ours) in enumerate(entries):
            axes.barh(place, ratio, color=OURS if ours else OTHERS, height=0.66)
            axes.hlines(place, least, most, color=INK, linewidth=1.4)
            if budget:
                axes.vlines(budget, place - 0.45, place + 0.45, color=BUDGET, linewidth=2.4)
            ends.append(max(most, ratio, budget or 0))
            self.write_beside(axes, place, ends[-1], text)
        self.mark_floor(axes)
        axes.set_xlim(0, 1.3 * max(ends))
        self.few_ticks(axes)
        axes.set_xlabel(f"times {floor}")
        marks = "orange: the budget; " if any(entry[3] for entry in entries) else ""
        axes.annotate(f"dashed: the floor; {marks}thin: the range of the trials", (0, 0),
                      xycoords="axes fraction", xytext=(0, NOTE_POINTS),
                      textcoords="offset points", fontsize=9, color=PALE_INK)
        self.keep(figure, name, title)

    def lines(self, name, title, subtitle, xlabel, x_in_words, series, draw_y):
        """Curves over a number that grows in powers of two: [(label, colour, style, [(x, y)])].
        `draw_y` is the result of logarithmic() or from_zero()."""
        if not series:
            return
        figure, axes = self.sheet(title, subtitle)
        ticks = sorted({x for *_, points in series for x, _ in points})
        for label, colour, style, points in series:
            axes.plot(*zip(*points, strict=True), color=colour, linestyle=style, marker="o",
                      markersize=5, label=label)
        axes.set_xscale("log", base=2)
        axes.set_xticks(ticks)
        axes.set_xticklabels([x_in_words(x) for x in ticks])
        axes.xaxis.set_minor_locator(NullLocator())
        draw_y(axes, [y for *_, points in series for _, y in points])
        axes.set_xlabel(xlabel)
        self.legend_beside(axes)
        self.keep(figure, name, title)


def logarithmic(label, text):
    """For Gallery.lines: a y axis with whole decades, labelled by `text`."""
    def draw(axes, values):
        axes.set_yscale("log")
        axes.set_ylim(*whole_decades(values))
        axes.yaxis.set_major_formatter(FuncFormatter(text))
        axes.set_ylabel(label)
    return draw


def from_zero(label, text):
    """For Gallery.lines: a y axis from 0, labelled by `text`."""
    def draw(axes, values):
        axes.set_ylim(0, 1.25 * max(values))
        axes.yaxis.set_major_formatter(FuncFormatter(text))
        axes.set_ylabel(label)
    return draw
