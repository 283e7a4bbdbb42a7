"""Runs what a plan says and writes every answer down at once, as lines of JSON.

Each measurement stands between two probes of the floors. Where those differ by more than a quarter
the machine was another one at the end than at the beginning, and the measurement is repeated; so it
is where the two floors of one probe are so far apart that the cores moved between them.
"""

import contextlib
import json
import os
import subprocess
import sys
import time

import figures
import load
import plan as plans

DRIFT_MAX = 1.25    # the larger probe over the smaller
SPREAD_MAX = 3.0    # the larger floor of one probe over the smaller; at rest they are alike
ATTEMPTS_MAX = 3
ATTEMPTS_MAX_QUICK = 1
DOUBT_AFTER = 5  # measurements; fewer say little about a machine
HANG_SECONDS = 1800
TIDY_SECONDS = 10  # for a program that is told to end, and ends what it has started itself
NOT_HERE = 77


class Failed(Exception):
    """A measurement gave nothing; the text says why."""


class Unwritten(Exception):
    """What was measured cannot be written down; the text says where, why and what to do."""


@contextlib.contextmanager
def writing_to(path, remedy):
    try:
        yield
    except BrokenPipeError:
        raise  # somebody stopped reading what is printed
    except OSError as error:
        raise Unwritten(f"cannot write to {path}: {error.strerror}; {remedy}") from None


def within(factor, one, other):
    low, high = sorted((one, other))
    return high <= factor * low


def stood_still(before, after):
    return (all(within(DRIFT_MAX, before[floor], after[floor]) for floor in ("line_ns", "walk_ns"))
            and all(within(SPREAD_MAX, probe["line_ns"], probe["walk_ns"])
                    for probe in (before, after)))


def run_to_end(command, folder):
    """The completed process; what ends this one, or its waiting, ends that one properly first."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          cwd=folder) as running:
        try:
            told = running.communicate(timeout=HANG_SECONDS)
        except BaseException:
            running.terminate()
            try:
                running.wait(TIDY_SECONDS)
            except subprocess.TimeoutExpired:
                running.kill()
                running.wait()
            raise
    return subprocess.CompletedProcess(command, running.returncode, *told)


class Measuring:
    """One run: programs, the file of raw lines, and what has been measured so far."""

    def __init__(self, root, build, out, rings, disk, plan, say, doubts=lambda lines: []):
        self.root = root
        self.build = build
        self.rings = rings
        self.disk = disk
        self.plan = plan
        self.say = say
        self.attempts_max = ATTEMPTS_MAX_QUICK if plan.quick else ATTEMPTS_MAX
        self.lines = []
        self.raw_path = out / "raw.jsonl"
        with self.writing():
            self.raw = open(self.raw_path, "w", encoding="utf-8")
        self.last_probe = None
        self.saturation = {}  # {peer: records}
        self.doubts = doubts  # of lines: why they are not to be trusted
        self.measured = 0
        self.doubted = False

    def writing(self):
        return writing_to(self.raw_path, "make room or name another folder with --out")

    def close(self):
        with self.writing():
            self.raw.close()

    def write(self, kind, line):
        line = {"kind": kind, **line}
        self.lines.append(line)
        with self.writing():
            self.raw.write(json.dumps(line) + "\n")
            self.raw.flush()

    def program(self, command, answers=(0,)):
        """Its lines of JSON; Failed with what it said where it ended otherwise."""
        try:
            done = run_to_end(command, self.root)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise Failed(str(error)) from None
        lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        if done.returncode not in answers or not lines:
            *before, last = done.stderr.strip().splitlines() or [f"it ended with {done.returncode}"]
            # Of two processes, the one that broke says why before the one that waited for it; what
            # a language adds of its own, such as where it was, stands behind that, set in.
            causes = [line for line in before if line.strip() and not line.startswith(
                (" ", "\t", "note:"))]
            raise Failed(f"{last} ({causes[-1]})" if causes else last)
        return lines

    def bench(self, *arguments):
        # A row with a fault ends the program with 1, and says so in its line.
        command = [str(self.build / "bench" / "lapwing_bench"), "--shm", self.rings,
                   "--disk", self.disk, *arguments]
        return self.program(command, answers=(0, 1))[-1]

    def probe(self):
        probe = self.bench("--probe")
        self.write("probe", probe)
        self.last_probe = probe
        return probe

    def between_probes(self, measure):
        """Calls measure() once; its answer, with the probes around it and the load meanwhile."""
        before = self.last_probe or self.probe()
        look = load.Look.now(time.monotonic)
        answer = measure()
        taken = load.between(look, load.Look.now(time.monotonic))
        answer.update(probes=[before, self.probe()], load=taken)
        return answer

    def between_equal_probes(self, measure):
        """Calls measure() until the probes around it agree; its answer, with what went wrong."""
        for attempt in range(1, self.attempts_max + 1):
            answer = self.between_probes(measure)
            answer.update(attempts=attempt, steady=stood_still(*answer["probes"]))
            if answer["steady"]:
                break
        return answer

    def measure(self, kind, identity, call, compared=True):
        """One measurement between probes, written down whatever becomes of it.

        It is repeated where the probes differ if it is to be compared with them.
        """
        within = self.between_equal_probes if compared else self.between_probes
        self.attempt(kind, identity, lambda: within(call))
        self.measured += 1
        self.doubt()

    def doubt(self):
        """Tells once, while there is still time to be saved, that the report will warn."""
        reasons = [] if self.doubted or self.measured < DOUBT_AFTER else self.doubts(self.lines)
        for reason in reasons:
            self.say(f"so far not to be trusted: {reason}")
            self.doubted = True

    def attempt(self, kind, identity, call):
        try:
            self.write(kind, {**identity, **call()})
        except Failed as failure:
            self.write(kind, {**identity, "failed": str(failure)})
        for _, why in figures.failed_of(self.lines[-1:]):
            self.say(f"    {why}")

    def instructions(self):
        """Counted, not timed: no probes around them."""
        if not self.plan.instructions:
            return
        self.say("instructions of each operation, counted by callgrind")
        command = [str(self.root / "bench" / "instructions.sh"), "--json", str(self.build)]
        self.attempt("instructions", {"name": plans.INSTRUCTIONS}, lambda: self.program(
            command, answers=(0, NOT_HERE))[-1])

    def rows(self):
        for number, row in enumerate(self.plan.rows, 1):
            self.say(f"row {number} of {len(self.plan.rows)}: {row}")
            self.measure("row", {"name": row}, lambda row=row: self.bench(
                row, "--json-lines", "--trials", str(self.plan.trials_max)))

    def pair(self, peer, scenario, cores):
        options = self.plan.pair_options(scenario)
        if scenario == "saturation":
            options = ["--records", str(self.saturation_records(peer, cores))]
        return self.pair_once(peer, scenario, cores, options)

    def pair_once(self, peer, scenario, cores, options):
        command = [sys.executable, str(self.root / "bench" / "peers" / "pair.py"), peer,
                   plans.pair_scenario(scenario), "--cores", f"{cores[0]},{cores[1]}", *options]
        return {**self.program(command)[-1], "scenario": scenario}

    def saturation_records(self, peer, cores):
        """As many as the peer publishes in SATURATION_SECONDS, found out by a pilot."""
        if peer not in self.saturation:
            pilot = self.pair_once(peer, "saturation", cores, [])
            self.write("pilot", {**pilot, "peer": peer, "scenario": "saturation"})
            self.saturation[peer] = plans.saturation_records(pilot["published_per_second"])
        return self.saturation[peer]

    def peers(self):
        """Round by round: each peer once, in another order each time, the cores swapped."""
        if not self.plan.scenarios:
            return
        cores = (self.last_probe or self.probe())["cores"]
        for scenario in self.plan.scenarios:
            if cores[0] == cores[1]:
                self.say(f"{scenario}: SKIPPED: needs two cores")
                self.write("peer", {"peer": "every peer's", "scenario": scenario,
                                    "skipped": "needs two cores"})
                continue
            peers, rounds = self.plan.peers_with(scenario), self.plan.rounds(scenario)
            for turn in range(rounds):
                start = turn % len(peers)
                order = peers[start:] + peers[:start]
                placement = cores[::-1] if turn % 2 else cores
                self.say(f"{scenario}, round {turn + 1} of {rounds}: {', '.join(order)}")
                for peer in order:
                    identity = {"peer": peer, "scenario": scenario, "round": turn + 1}
                    self.measure("peer", identity, lambda peer=peer: self.pair(
                        peer, scenario, placement), plans.compared_with_floors(scenario))

    def join(self, backlog):
        command = [sys.executable, str(self.root / "bench" / "time_to_live.py"), str(self.build),
                   "--runs", str(self.plan.late_join_runs), "--backlog", str(backlog),
                   "--rate", str(plans.BACKLOG_RATE), "--disk", self.disk, "--json-lines"]
        subjects = {}
        for line in self.program(command):
            subjects.setdefault(line["subject"], []).append(line["milliseconds"])
        return {"milliseconds": subjects}

    def late_joins(self):
        for backlog in self.plan.backlogs:
            self.say(f"late join after {backlog:,} records, more coming all the time")
            self.measure("late-join", {"backlog": backlog}, lambda backlog=backlog: self.join(
                backlog))


def build_programs(root, targets, say):
    """Builds the targets; the build folder. Ends the run where that fails."""
    say("building " + ", ".join(targets))
    for command in (["cmake", "--preset", "release"],
                    ["cmake", "--build", "--preset", "release", "--target", *targets]):
        done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"{done.stdout[-3000:]}\n{done.stderr[-3000:]}\nbench: {' '.join(command)} "
                     "failed, see above; has deploy/setup.sh been run?")
    return root / "build" / "release"


def build_peers(root, names, say):
    """Builds the peers; (those that are there, {name: why it is not})."""
    if not names:
        return [], {}
    say("building the peers: " + ", ".join(names))
    done = subprocess.run([str(root / "bench" / "peers" / "build.sh"), *names], cwd=root,
                          capture_output=True, text=True, check=False)
    here, missing = [], dict.fromkeys(names, "its build said nothing")
    for line in done.stdout.splitlines():
        words = line.split(None, 2)
        if len(words) < 2 or words[1] not in missing:
            continue
        if words[0] == "built":
            here.append(words[1])
            del missing[words[1]]
        elif words[0] == "missing":
            missing[words[1]] = words[2].partition(": ")[2] if len(words) > 2 else "?"
    for name, why in missing.items():
        say(f"    {name} is not measured: {why}")
    if any("apt-get install" in why for why in missing.values()):
        say("    bench/peers/setup.sh installs all of this at once")
    return [name for name in names if name in here], missing


def peers_listed(root):
    """{peer: its scenarios} of bench/peers/list, in its order; Lapwing itself is one of them."""
    return {words[0]: words[7].split(",") for words in columns_of_list(root)}


def rivals_listed(root):
    """The same of those that Lapwing is compared with: see comparison.py."""
    return {name: scenarios.split(",")
            for name, _, package, scope, _, tears, _, scenarios, _ in columns_of_list(root)
            if package != "cpp:lapwing" and scope == "processes" and tears == "no"}


def columns_of_list(root):
    path = root / "bench" / "peers" / "list"
    if not os.path.exists(path):
        return []
    lines = path.read_text(encoding="utf-8").splitlines()
    return [line.split(None, 8) for line in lines if line.strip() and not line.startswith("#")]
