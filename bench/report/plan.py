"""The contents of a run, and its estimated duration."""

# The rows of a quick run: a few for each of the pictures, measured properly.
QUICK_ROWS = (
    "round-trip", "one-way-100k", "one-way-1m", "publish", "publish-batch", "journal-off",
    "journal-disk-10ms", "one-reader", "crowd-park-1", "crowd-park-16", "wake", "catch-up",
    "channel-round-trip", "channel-64", "channel-4k", "channel-1m",
)
QUICK_TRIALS = 2
BUILD_SECONDS = 240  # on two idle cores, without an earlier build
PROBE_SECONDS = 0.4
REPORT_SECONDS = 4.0

# Trials of a row, as in its source. Seconds of a trial with its two floors, on two otherwise idle
# cores. The longest matching prefix is used.
TRIALS = {"": 10, "one-way": 6, "publish-journal": 6, "journal-": 6, "sustained": 6, "crowd-": 4,
          "restart": 6, "gap-snapshot": 6, "idle": 2, "channel-idle": 2}
TRIAL_SECONDS = {
    "": 1.0,
    "round-trip": 1.1,
    "one-way": 4.9,
    "one-way-5m": 5.5,
    "one-way-bursts": 3.9,
    "publish": 0.3,
    "publish-journal": 6.6,
    "journal-": 3.3,
    "sustained": 5.0,
    "one-reader": 0.4,
    "subscribers-": 3.4,
    "crowd-": 2.5,
    "crowd-busy-16": 4.0,
    "crowd-busy-64": 6.0,
    "crowd-backoff-64": 5.5,
    "restart": 1.5,
    "gap-snapshot": 1.5,
    "checkpoint-load": 3.0,
    "idle": 31.0,
    "book-update": 0.5,
    "channel-": 1.2,
    "channel-round-trip": 0.2,
    "channel-call": 0.3,
    "channel-messages": 0.6,
    "channel-64": 2.4,
    "channel-idle": 31.0,
}
# Runs per accepted trial. A rejected trial takes equally long, except for its first floor. The tail
# of a paced copy, the floor of journal-*, stays within a quarter only half of the time; there that
# floor is a third of a run.
RUNS_FOR_A_TRIAL = {"": 1.15, "one-way": 1.4, "journal-": 1.7, "idle": 1.0, "channel-idle": 1.0}
REPEATED = 1.25  # the same for the probes around a row, except in a quick run

# A budget depends on "saturation", whose rounds are short and vary by a fifth. "stopped-" takes a
# long time, and its results are in seconds.
PEER_ROUNDS = {"": 4, "saturation": 8, "stopped-": 2}
PEER_ROUNDS_QUICK = 1
PEER_SECONDS = {  # per measurement
    "round-trip": 3.9, "round-trip-32": 3.9, "saturation": 3.2, "stopped-reader": 1.2,
    "stopped-of-two": 1.5,
}
PEER_REPEATED = {"": 1.4, "stopped-": 1.0}  # see compared_with_floors()
PEER_SCENARIOS = tuple(PEER_SECONDS)
SMALL = {"round-trip-32": ("round-trip", ["--bytes", "32"])}  # required by the channel's budget
# A ring of 2^20 records is full after 5 ms, and all its pages are mapped after one lap. Shorter
# runs do not show a sustained rate.
SATURATION_SECONDS = 1.5
SATURATION_RECORDS = (1_000_000, 1_000_000_000)
STOPPED_SECONDS = 15  # time that a reader is stopped, in addition
STOPPED_SECONDS_QUICK = 3

INSTRUCTIONS = "instructions"  # a name for --only
INSTRUCTIONS_SECONDS = 8.0

LATE_JOINS = "late-join"  # a name for --only, like those of rows and scenarios
BACKLOGS = (1_000_000, 10_000_000)
BACKLOG_RATE = 200_000      # records per second during the joins
FOLDED_PER_SECOND = 600_000  # by the checkpointer, for which a run waits
LATE_JOIN_SECONDS = 1.5      # per run, in addition
LATE_JOIN_RUNS = 3


def pair_scenario(scenario):
    """The name in pair.py and `list`."""
    return SMALL[scenario][0] if scenario in SMALL else scenario


def longest_match(table, name):
    return table[max((key for key in table if name.startswith(key)), key=len)]


def row_seconds(name, trials_max):
    trials = min(longest_match(TRIALS, name), trials_max)
    runs = trials * longest_match(RUNS_FOR_A_TRIAL, name)
    return runs * longest_match(TRIAL_SECONDS, name) + PROBE_SECONDS


def late_join_seconds(backlog, runs):
    return runs * (backlog / FOLDED_PER_SECOND + LATE_JOIN_SECONDS) + PROBE_SECONDS


def in_words(seconds):
    if seconds < 90:
        return f"{round(seconds) if seconds < 20 else round(seconds / 10) * 10} seconds"
    return f"{round(seconds / 60)} minutes"


def saturation_records(per_second):
    least, most = SATURATION_RECORDS
    return round(min(max(per_second * SATURATION_SECONDS, least), most))


class Plan:
    """The requested measurements that are available."""

    def __init__(self, rows, peers, quick=False, only=()):
        self.quick = quick
        self.trials_max = QUICK_TRIALS if quick else 1000
        known = [*rows, *PEER_SCENARIOS, LATE_JOINS, INSTRUCTIONS]
        self.unknown = [name for name in only if name not in known and not chosen(rows, name)]
        if only:
            self.rows = [row for row in rows if any(row in chosen(rows, name) for name in only)]
        else:
            self.rows = [row for row in rows if not quick or row in QUICK_ROWS]
        self.peers = dict(peers)  # {name: scenarios}
        self.scenarios = [name for name in PEER_SCENARIOS if self.peers_with(name) and (
            name in only or not (only or quick and name in SMALL))]
        self.instructions = INSTRUCTIONS in only or not only
        joins = LATE_JOINS in only or not only
        self.backlogs = list(BACKLOGS[:1] if quick else BACKLOGS) if joins else []
        self.late_join_runs = 1 if quick else LATE_JOIN_RUNS

    def peers_with(self, *scenarios):
        """The names of the peers that have one of the scenarios."""
        wanted = {pair_scenario(scenario) for scenario in scenarios}
        return [name for name, has in self.peers.items() if wanted & set(has)]

    def keep_peers(self, names):
        """Keeps only the peers that could be built."""
        self.peers = {name: has for name, has in self.peers.items() if name in names}
        self.scenarios = [name for name in self.scenarios if self.peers_with(name)]

    def rounds(self, scenario):
        return PEER_ROUNDS_QUICK if self.quick else longest_match(PEER_ROUNDS, scenario)

    def pair_options(self, scenario):
        """Additional arguments of pair.py for a scenario."""
        if scenario in SMALL:
            return SMALL[scenario][1]
        stopped = self.stopped_seconds(scenario)
        return ["--seconds", str(stopped)] if stopped else []

    def stopped_seconds(self, scenario):
        if not scenario.startswith("stopped-"):
            return 0
        return STOPPED_SECONDS_QUICK if self.quick else STOPPED_SECONDS

    def seconds(self):
        total = sum(row_seconds(row, self.trials_max) for row in self.rows)
        total += sum(late_join_seconds(backlog, self.late_join_runs) for backlog in self.backlogs)
        total *= 1 if self.quick else REPEATED
        total += INSTRUCTIONS_SECONDS if self.instructions else 0
        for scenario in self.scenarios:
            each = PEER_SECONDS[scenario] + self.stopped_seconds(scenario) + PROBE_SECONDS
            each *= 1 if self.quick else longest_match(PEER_REPEATED, scenario)
            total += self.rounds(scenario) * len(self.peers_with(scenario)) * each
        return total + REPORT_SECONDS


def compared_with_floors(scenario):
    """True if its figures are compared with the floors around it, and therefore repeated if these
    differ.

    "stopped-" shows whether a publisher waits, and for how many seconds.
    """
    return not scenario.startswith("stopped-")


def chosen(rows, name):
    """The rows for a name of --only: that row, or otherwise all that begin with NAME-."""
    return [name] if name in rows else [row for row in rows if row.startswith(name + "-")]
