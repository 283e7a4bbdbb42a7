"""Runs a plan and writes each result immediately as a line of JSON.

Each measurement is between two probes of the floors. If they differ by more than a quarter, the
machine has changed in between, and the measurement is repeated. It is also repeated if the two
floors of one probe differ so much that the cores must have moved between them.
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

DRIFT_MAX = 1.25    # larger probe divided by the smaller
SPREAD_MAX = 3.0    # larger floor of one probe divided by the smaller; similar on an idle machine
ATTEMPTS_MAX = 3
ATTEMPTS_MAX_QUICK = 1
DOUBT_AFTER = 5  # measurements; fewer are not conclusive
HANG_SECONDS = 1800
TIDY_SECONDS = 10  # for a terminated program to end its own children
NOT_HERE = 77


class Failed(Exception):
    """A measurement failed; the text is the reason."""


class Unwritten(Exception):
    """A result cannot be written; the text contains the path, the reason and a remedy."""


@contextlib.contextmanager
def writing_to(path, remedy):
    try:
        yield
    except BrokenPipeError:
        raise  # the reader of the output has ended
    except OSError as error:
        raise Unwritten(f"cannot write to {path}: {error.strerror}. {remedy}.") from None


def within(factor, one, other):
    low, high = sorted((one, other))
    return high <= factor * low


def is_steady(before, after):
    return (all(within(DRIFT_MAX, before[floor], after[floor]) for floor in ("line_ns", "walk_ns"))
            and all(within(SPREAD_MAX, probe["line_ns"], probe["walk_ns"])
                    for probe in (before, after)))


def run_to_end(command, folder):
    """Runs a command to its end. On an exception while waiting, ends the command properly."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          cwd=folder) as running:
        try:
            output = running.communicate(timeout=HANG_SECONDS)
        except BaseException:
            running.terminate()
            try:
                running.wait(TIDY_SECONDS)
            except subprocess.TimeoutExpired:
                running.kill()
                running.wait()
            raise
    return subprocess.CompletedProcess(command, running.returncode, *output)


class Measuring:
    """One run: programs, the file of raw lines, and the results so far."""

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
        self.doubts = doubts  # returns the reasons why lines are unreliable
        self.measured = 0
        self.doubted = False

    def writing(self):
        return writing_to(self.raw_path, "Free some space, or name another folder with --out")

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
        """The lines of JSON that a program prints. Raises Failed with its message if it fails."""
        try:
            done = run_to_end(command, self.root)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise Failed(str(error)) from None
        lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        if done.returncode not in answers or not lines:
            *before, last = done.stderr.strip().splitlines() or [f"it ended with {done.returncode}"]
            # If two processes are involved, the failed one prints the reason before the one that
            # waited for it does. Details that a language adds, such as the location, follow
            # indented.
            causes = [line for line in before if line.strip() and not line.startswith(
                (" ", "\t", "note:"))]
            raise Failed(f"{last} ({causes[-1]})" if causes else last)
        return lines

    def bench(self, *arguments):
        # If a row has a fault, the program exits with 1 and reports it in its line.
        command = [str(self.build / "bench" / "lapwing_bench"), "--shm", self.rings,
                   "--disk", self.disk, *arguments]
        return self.program(command, answers=(0, 1))[-1]

    def probe(self):
        probe = self.bench("--probe")
        self.write("probe", probe)
        self.last_probe = probe
        return probe

    def between_probes(self, measure):
        """Calls measure() once. Returns its result with the surrounding probes and the load."""
        before = self.last_probe or self.probe()
        reading = load.Reading.now(time.monotonic)
        answer = measure()
        taken = load.between(reading, load.Reading.now(time.monotonic))
        answer.update(probes=[before, self.probe()], load=taken)
        return answer

    def between_equal_probes(self, measure):
        """Calls measure() until the surrounding probes agree. Returns its result and problems."""
        for attempt in range(1, self.attempts_max + 1):
            answer = self.between_probes(measure)
            answer.update(attempts=attempt, steady=is_steady(*answer["probes"]))
            if answer["steady"]:
                break
        return answer

    def measure(self, kind, identity, call, compared=True):
        """Makes one measurement between probes, and always writes the result.

        If its figures are compared with the probes, it is repeated when they differ.
        """
        within = self.between_equal_probes if compared else self.between_probes
        self.attempt(kind, identity, lambda: within(call))
        self.measured += 1
        self.doubt()

    def doubt(self):
        """Warns early, once, if the figures will be unreliable."""
        reasons = [] if self.doubted or self.measured < DOUBT_AFTER else self.doubts(self.lines)
        for reason in reasons:
            self.say(f"the figures so far are not to be trusted: {reason}")
            self.doubted = True

    def attempt(self, kind, identity, call):
        try:
            self.write(kind, {**identity, **call()})
        except Failed as failure:
            self.write(kind, {**identity, "failed": str(failure)})
        for _, why in figures.failed_of(self.lines[-1:]):
            self.say(f"    {why}")

    def instructions(self):
        """Counts instructions, which need no surrounding probes."""
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
        """The number of records that the peer publishes in SATURATION_SECONDS, from a pilot run."""
        if peer not in self.saturation:
            pilot = self.pair_once(peer, "saturation", cores, [])
            self.write("pilot", {**pilot, "peer": peer, "scenario": "saturation"})
            self.saturation[peer] = plans.saturation_records(pilot["published_per_second"])
        return self.saturation[peer]

    def peers(self):
        """Measures each peer once per round, in a different order, with the cores swapped."""
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
            self.say(f"late join after {backlog:,} records, while more are published")
            self.measure("late-join", {"backlog": backlog}, lambda backlog=backlog: self.join(
                backlog))


def build_programs(root, targets, say):
    """Builds the targets and returns the build folder. Ends the run if that fails."""
    say("building " + ", ".join(targets))
    for command in (["cmake", "--preset", "release"],
                    ["cmake", "--build", "--preset", "release", "--target", *targets]):
        done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"{done.stdout[-3000:]}\n{done.stderr[-3000:]}\nbench: {' '.join(command)} "
                     "failed (see above). Run deploy/setup.sh first.")
    return root / "build" / "release"


def build_peers(root, names, say):
    """Builds the peers. Returns (built peers, {missing peer: reason})."""
    if not names:
        return [], {}
    say("building the peers: " + ", ".join(names))
    done = subprocess.run([str(root / "bench" / "peers" / "build.sh"), *names], cwd=root,
                          capture_output=True, text=True, check=False)
    here, missing = [], dict.fromkeys(names, "its build printed nothing")
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
        say("    bench/peers/setup.sh installs all of these packages")
    return [name for name in names if name in here], missing


def peers_listed(root):
    """{peer: its scenarios} from bench/peers/list, in its order, including Lapwing itself."""
    return {words[0]: words[7].split(",") for words in columns_of_list(root)}


def rivals_listed(root):
    """The same for only the peers that Lapwing is compared with: see comparison.py."""
    return {name: scenarios.split(",")
            for name, _, package, scope, _, tears, _, scenarios, _ in columns_of_list(root)
            if package != "cpp:lapwing" and scope == "processes" and tears == "no"}


def columns_of_list(root):
    path = root / "bench" / "peers" / "list"
    if not os.path.exists(path):
        return []
    lines = path.read_text(encoding="utf-8").splitlines()
    return [line.split(None, 8) for line in lines if line.strip() and not line.startswith("#")]
