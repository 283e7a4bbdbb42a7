"""Budgets relative to the fastest peer instead of a fixed figure. Pure functions of raw lines.

Lapwing is compared with its rivals: peers that work between processes and never deliver a torn
record. All of them must be measured, because otherwise the fastest may be missing. The placement of
the two sides that is worse for Lapwing determines the result.
"""

import figures
import plan as plans

ROUND_TRIP_BUDGET = 0.85   # maximum ratio to the fastest, if the fastest itself is
ROUND_TRIP_PROVISO = 1.35  # above this ratio to the floor
DELIVERED_BUDGET = 1.3     # minimum ratio
FLOORS_DIFFERED = "the floors differed"


def over_walk(rounds):
    return figures.median_of(rounds, figures.over_walk)


def delivered(rounds):
    """Million records per second."""
    return figures.median_of(rounds, lambda line: line["delivered_per_second"] / 1e6)


class Comparison:
    """Lapwing and its rivals in one scenario.

    rivals: {peer: its scenarios}, as in the list. figure(rounds) returns the compared figure.
    `fastest` and `worst` select among figures and ratios: min or max.
    """

    def __init__(self, lines, ours, scenario, rivals, figure, fastest, worst):
        self.broken = broken(lines, ours, scenario)
        self.measured = figures.peers_of(lines, scenario)
        self.own = self.measured.get(ours, [])
        listed = [peer for peer, has in rivals.items() if plans.pair_scenario(scenario) in has]
        self.rivals = {peer: self.measured[peer] for peer in listed if peer in self.measured}
        self.missing = [peer for peer in listed if peer not in self.measured]
        self.restless = False
        if self.own and self.rivals:
            self.own_figure, self.peer, self.peer_figure = worst(
                (self.placement(cores, figure, fastest)
                 for cores in {tuple(line["cores"]) for line in self.own}),
                key=lambda found: found[0] / found[2])
            self.ratio = self.own_figure / self.peer_figure
            self.restless = any(figures.restless(rounds)
                                for rounds in (self.own, self.rivals[self.peer]))

    def placement(self, cores, figure, fastest):
        """(own figure, fastest peer, its figure) for this placement of the sides."""
        def there(rounds):
            return [line for line in rounds if tuple(line["cores"]) == cores] or rounds
        peer, its = fastest(((peer, figure(there(rounds))) for peer, rounds in self.rivals.items()),
                            key=lambda item: item[1])
        return figure(there(self.own)), peer, its

    def cells(self, what, figure_in_words, verdict):
        """A line of the table; empty if there is nothing to compare."""
        if self.broken:
            return [(what, "–", "–", "–", f"**FAULT: {self.broken}**")]
        if not self.own or not self.rivals:
            return []
        if self.missing:
            verdict = f"none: not measured: {', '.join(self.missing)}"
        elif self.restless:
            verdict += f"; {FLOORS_DIFFERED}"
        return [(what, figure_in_words(self.own_figure),
                 f"{self.peer}: {figure_in_words(self.peer_figure)}", f"{self.ratio:.2f}", verdict)]


def broken(lines, peer, scenario):
    """The first promise broken in a round of Lapwing; empty if there is none."""
    for line in lines:
        if line["kind"] != "peer" or line["peer"] != peer or line["scenario"] != scenario:
            continue
        if line.get("fault"):
            return line["fault"]
        lost = line.get("lost", 0)
        if line.get("reported_lost", -1) >= 0 and line["reported_lost"] != lost:
            return f"{lost} records lost, {line['reported_lost']} reported"
    return ""


def met_or_missed(met):
    return "met" if met else "**missed**"


def held(met, bound, budget):
    return f"{bound} {budget:g}: {met_or_missed(met)}"


def round_trip(lines, what, ours, scenario, rivals):
    compared = Comparison(lines, ours, scenario, rivals, over_walk, min, max)
    verdict = ""
    if compared.own and compared.rivals:
        verdict = (held(compared.ratio <= ROUND_TRIP_BUDGET, "≤", ROUND_TRIP_BUDGET)
                   if compared.peer_figure > ROUND_TRIP_PROVISO
                   else f"none: the fastest is not above {ROUND_TRIP_PROVISO} × walk")
    return compared.cells(what, lambda figure: f"{figure:.2f} × walk", verdict)


def delivery(lines, what, rivals):
    compared = Comparison(lines, "lapwing", "saturation", rivals, delivered, max, min)
    verdict = ""
    if compared.own and compared.rivals:
        verdict = held(compared.ratio >= DELIVERED_BUDGET, "≥", DELIVERED_BUDGET)
    return compared.cells(what, lambda figure: f"{figure:.1f} million a second", verdict)


def verdicts(lines, rivals):
    """[(what, Lapwing's figure, the fastest and its figure, ratio, budget)]"""
    return [*round_trip(lines, "round trip over two buses", "lapwing", "round-trip", rivals),
            *round_trip(lines, "round trip over two channels, 32 bytes", "lapwing-channel",
                        "round-trip-32", rivals),
            *delivery(lines, "records delivered to one live reader", rivals)]
