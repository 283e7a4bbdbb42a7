"""What a run consists of, and how long that takes."""

# The rows of a quick run: a few, measured properly, for each of the pictures.
QUICK_ROWS = (
    "round-trip", "one-way-100k", "one-way-1m", "publish", "publish-batch", "journal-off",
    "journal-disk-10ms", "one-reader", "crowd-park-1", "crowd-park-16", "wake", "catch-up",
    "channel-round-trip", "channel-64", "channel-4k", "channel-1m",
)
QUICK_TRIALS = 2
BUILD_SECONDS = 240  # on two cores that have nothing else to do, with nothing built yet
PROBE_SECONDS = 0.4
REPORT_SECONDS = 4.0

# Trials of a row, as in its source; seconds of one with its two floors, on two cores that have
# nothing else to do. By the longest beginning that fits.
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
# Runs for a trial that counts: what is thrown away takes as long, but for its first floor. The tail
# of a paced copy, the floor of journal-*, stays within a quarter every other time; there that floor
# is a third of a run.
RUNS_FOR_A_TRIAL = {"": 1.15, "one-way": 1.4, "journal-": 1.7, "idle": 1.0, "channel-idle": 1.0}
REPEATED = 1.25  # the same, for the probes around a row; but in a quick run

# A budget hangs on "saturation", whose rounds are short and differ by a fifth; "stopped-" takes
# long, and what it shows is seconds.
PEER_ROUNDS = {"": 4, "saturation": 8, "stopped-": 2}
PEER_ROUNDS_QUICK = 1
PEER_SECONDS = {  # of one measurement
    "round-trip": 3.9, "round-trip-32": 3.9, "saturation": 3.2, "stopped-reader": 1.2,
    "stopped-of-two": 1.5,
}
PEER_REPEATED = {"": 1.4, "stopped-": 1.0}  # see compared_with_floors()
PEER_SCENARIOS = tuple(PEER_SECONDS)
SMALL = {"round-trip-32": ("round-trip", ["--bytes", "32"])}  # as the channel's budget has it
# A ring of 2^20 records is full after 5 ms and its pages are all there after one lap: what a peer
# does in less than this is not what it keeps up.
SATURATION_SECONDS = 1.5
SATURATION_RECORDS = (1_000_000, 1_000_000_000)
STOPPED_SECONDS = 15  # for which a reader is stopped, besides
STOPPED_SECONDS_QUICK = 3

INSTRUCTIONS = "instructions"  # a name for --only, as is the next
INSTRUCTIONS_SECONDS = 8.0

LATE_JOINS = "late-join"  # a name for --only, beside those of rows and scenarios of peers
BACKLOGS = (1_000_000, 10_000_000)
BACKLOG_RATE = 200_000      # records a second, while there are joins
FOLDED_PER_SECOND = 600_000  # by the checkpointer, which a run waits for
LATE_JOIN_SECONDS = 1.5      # of a run, besides
LATE_JOIN_RUNS = 3


def pair_scenario(scenario):
    """What pair.py calls it, and `list`."""
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
    """What is asked for, resolved against what there is."""

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
        """The names of the peers that have one of them."""
        wanted = {pair_scenario(scenario) for scenario in scenarios}
        return [name for name, has in self.peers.items() if wanted & set(has)]

    def keep_peers(self, names):
        """Those that could be built."""
        self.peers = {name: has for name, has in self.peers.items() if name in names}
        self.scenarios = [name for name in self.scenarios if self.peers_with(name)]

    def rounds(self, scenario):
        return PEER_ROUNDS_QUICK if self.quick else longest_match(PEER_ROUNDS, scenario)

    def pair_options(self, scenario):
        """What pair.py is told besides which peer and scenario."""
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
    """Whether its figures are judged beside the floors around it, and so repeated where these differ.

    What "stopped-" shows is whether a publisher waits, and for how many seconds.
    """
    return not scenario.startswith("stopped-")


def chosen(rows, name):
    """The rows that a name of --only means: that one, or else all that begin with NAME-."""
    return [name] if name in rows else [row for row in rows if row.startswith(name + "-")]
