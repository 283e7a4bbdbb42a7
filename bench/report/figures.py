"""Extracts the figures for the report and the pictures from the raw lines. Pure functions."""

import re
import statistics

STRATEGIES = ("busy", "backoff", "park")
CHANNEL_SIZE = re.compile(r"channel-(\d+)([km]?)")  # in the name of a row
UNIT_BYTES = {"": 1, "k": 1 << 10, "m": 1 << 20}


def rows_of(lines):
    """{name: row} of the rows with a figure."""
    return {line["name"]: line for line in lines if line["kind"] == "row" and "trials" in line}


def name_of(line):
    if "name" in line:
        return line["name"]
    return f"{line['peer']} {line['scenario']}" if "peer" in line else (
        f"late join, {line['backlog']:,}")


def failed_of(lines):
    """Missing measurements and broken promises: [(name, "SKIPPED: no disk")]."""
    found = []
    for line in lines:
        if line["kind"] not in ("row", "peer", "late-join", "instructions"):
            continue
        for kind in ("failed", "skipped", "fault"):
            entry = (name_of(line), f"{kind.upper()}: {line.get(kind)}")
            if line.get(kind) and entry not in found:
                found.append(entry)
    return found


def curve_of(row, field="curve"):
    """[(fraction, ns)]: the median of the trials for each fraction, and the maximum for the last.

    "floor_curve": the curve of the same load without Lapwing, if the row has it.
    """
    curves = [trial[field] for trial in row["trials"] if field in trial]
    if not curves:
        return []
    middle = [(points[0][0], statistics.median(point[1] for point in points))
              for points in zip(*curves, strict=False)]
    return [*middle[:-1], (1.0, max(curve[-1][1] for curve in curves))]


def median_detail(row, name):
    return row["medians"][name]["value"]


def crowds_of(lines):
    """{strategy: [(subscribers, row)]}, sorted by number."""
    found = {}
    for name, row in rows_of(lines).items():
        words = name.split("-")
        if words[0] == "crowd" and words[1] in STRATEGIES:
            found.setdefault(words[1], []).append((int(words[2]), row))
    return {strategy: sorted(found[strategy], key=lambda item: item[0])
            for strategy in STRATEGIES if strategy in found}


def channel_sizes_of(rows):
    """[(message bytes, row)] for the rows channel-64 to channel-4m, sorted by size."""
    found = []
    for name, row in rows.items():
        size = CHANNEL_SIZE.fullmatch(name)
        if size:
            found.append((int(size[1]) * UNIT_BYTES[size[2]], row))
    return sorted(found, key=lambda item: item[0])


def size_in_words(size):
    for unit, factor in (("MiB", 1 << 20), ("KiB", 1 << 10)):
        if size >= factor:
            return f"{size // factor} {unit}"
    return f"{size} B"


def peers_of(lines, scenario):
    """{peer: [line of a round]}, without failed and faulty rounds.

    Rounds between differing floors are included only if a peer has no others; see restless().
    """
    found = {}
    for line in lines:
        if line["kind"] != "peer" or line["scenario"] != scenario or "probes" not in line:
            continue
        if not line.get("fault"):
            found.setdefault(line["peer"], []).append(line)
    return {peer: [line for line in rounds if not restless([line])] or rounds
            for peer, rounds in found.items()}


def restless(rounds):
    """True if all rounds were measured between floors that differed."""
    return not any(line.get("steady", True) for line in rounds)


def blocked_of(rounds):
    """The number of rounds in which the last publish was still blocked at the end."""
    return sum(1 for line in rounds if line["blocked_at_end"])


def over_walk(line):
    """A round trip over the mean of the `walk` floors around it."""
    return line["block_ns_p50"] / statistics.mean(probe["walk_ns"] for probe in line["probes"])


def total_of(rounds, field):
    return sum(line[field] for line in rounds)


def median_of(lines, value):
    return statistics.median(value(line) for line in lines)


def instructions_of(lines):
    """{operation: instructions} and the compiler; empty if nothing was counted."""
    for line in lines:
        if line["kind"] == "instructions" and "instructions" in line:
            return line["instructions"], line["compiler"]
    return {}, ""


def late_joins_of(lines):
    """{backlog: {subject: [ms]}}"""
    return {line["backlog"]: line["milliseconds"] for line in lines
            if line["kind"] == "late-join" and "milliseconds" in line}


def trials_of(lines):
    """(rejected, kept) over all trials of rows and all measurements between probes."""
    rejected = kept = 0
    for line in lines:
        if line["kind"] == "row":
            rejected += line.get("rejections", 0)
            kept += len(line.get("trials", []))
        elif line["kind"] == "peer" and "attempts" in line:
            rejected += line["attempts"] - (1 if line["steady"] else 0)
            kept += 1 if line["steady"] else 0
    return rejected, kept
