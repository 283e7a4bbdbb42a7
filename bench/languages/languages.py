#!/usr/bin/env python3
"""Compares the speed of each language with that of C, and of C with that of C++.

    bench/languages.sh [--languages c,go] [--rounds 9] [--out FILE.json]

Each round measures every figure once: for C++, for C, and for each language between two runs of C.
Round trips are measured five times, because a host may move the two cores of a virtual machine:
they may be two threads of one core, or far apart. The result is the median of the ratios to the two
neighbouring runs of C (for C: to those of C++). Absolute nanoseconds are valid only for that run
and machine. README.md in this folder describes the rates. Build the packages first
(bindings/test.sh), and run nothing else. If Tachyon's package for Python can be built (clang-19),
its round trip is measured with those of the channel. Prints a Markdown table, then a line for each
budget. Exit: 0 everything was measured, 1 an error, 2 wrong usage. A missed budget is printed, but
does not change the exit code.
"""

import argparse
import functools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "conformance" / "bindings"))

import run as conformance  # noqa: E402

NAMES = {"cpp": "C++", "c": "C", "python": "Python", "rust": "Rust", "go": "Go", "java": "Java", "kotlin": "Kotlin",
         "node": "Node.js", "csharp": "C# (Mono)", "tachyon": "Tachyon 0.5.1 (Python)"}
RECORDS = 1 << 19
ROWS = 4096
PASSES = 400  # a pass takes 5 ms; the JVM compiles for half a second, and the median pass is later
SINGLE_PASSES = 10
ROUND_TRIPS = 200_000
ONE_WAY = 9_600_000  # messages, sent in batches
FRAME_PASSES = 20
FRAME_RATE_MIN = 0.5
# Bytes per record: the allocations of a pass, including its events. A copied row would be 56.
GARBAGE_MAX = 0.1
CORES = ((0, 1), (1, 0))  # cores of the two sides, alternating

FIGURES = {
    "read": f"read directory=bus records={RECORDS} rows={ROWS} passes={PASSES}",
    "take": f"take directory=bus records={RECORDS} passes={SINGLE_PASSES}",
    "publish": f"publish directory=own records={RECORDS} rows={ROWS} passes={PASSES}",
    "publish-one": f"publish-one directory=own records={RECORDS} passes={SINGLE_PASSES}",
    "round-trip": ("echo in=ping out=pong count={count}", "ping in=pong out=ping count={count}"),
    "channel": ("channel-echo path=c.sock count={count}", "channel-ping path=c.sock count={count}"),
    "one-way": (f"channel-take path=c.sock count={ONE_WAY}", f"channel-send path=c.sock count={ONE_WAY}"),
}
TURNS = {"round-trip": 5, "channel": 5, "one-way": 5}  # per round; others once
ONLY_C = ("one-way",)  # compared with C++; other languages have no such step
PEER = "tachyon"  # another project's package, which has only that figure
PEER_FIGURE = "channel"
# Maximum of the time divided by the base's time. Rates are compared as times: 1 / 0.9 means 0.9 of
# C's rate.
BUDGETS = {
    ("c", "read"): 1 / 0.98, ("c", "round-trip"): 1.08, ("c", "channel"): 1.15,
    ("c", "one-way"): 1 / 0.9,
    ("rust", "read"): 1 / 0.9, ("go", "read"): 1 / 0.9, ("java", "read"): 1 / 0.9, ("kotlin", "read"): 1 / 0.9,
    ("python", "read"): 1 / 0.8, ("node", "read"): 1 / 0.8, ("csharp", "read"): 1 / 0.5,
}


@functools.cache
def peer_command():
    """The command of Tachyon's driver, or None if its package cannot be built. Prints why."""
    here = Path(__file__).parent
    made = subprocess.run(
        [ROOT / "tools" / "venv.sh", "tachyon_venv", here / "requirements.txt", "Tachyon's package is not compared."],
        env={"CC": "clang-19", "CXX": "clang++-19", "LDFLAGS": "-flto", **os.environ}, stdout=subprocess.PIPE, text=True)
    return [made.stdout.strip(), str(here / "tachyon_rates.py")] if made.returncode == 0 else None


def started(language, rate, directory, core=None):
    """Starts the program of a rate."""
    program = peer_command() if language == PEER else [str(Path(__file__).parent / "rates.sh"), language]
    pinned = [] if core is None else ["taskset", "-c", str(core)]
    environment = {"LAPWING_LIBRARY": str(conformance.BUILD / "liblapwing.so.1"), **os.environ}
    return subprocess.Popen([*pinned, *program, *rate.split()], cwd=directory, env=environment, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def figures(program, language, figure):
    """The figures in its output, by name."""
    output, errors = program.communicate()
    if program.returncode != 0:
        raise RuntimeError(f"{language}, {figure}: ended with {program.returncode}: {errors.strip()[-500:]}")
    return dict(pair.split("=") for pair in output.split())


class Place:
    """A directory in memory with a bus, whose ring contains `RECORDS` records."""

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="lw-", dir="/dev/shm")
        self.publisher = conformance.Driver("c", self.folder.name)
        self.publisher.ask("publisher.open as=p directory=bus record_bytes=56 capacity=1048576 no_journal=1")
        self.publisher.ask(f"publisher.publish on=p from=1 count={RECORDS} timeout_ms=10000")
        return self.folder.name

    def __exit__(self, *_):
        self.publisher.kill()
        self.folder.cleanup()


def alone(language, figure, directory):
    """The figures of a single program."""
    return figures(started(language, FIGURES[figure], directory), language, figure)


def between(language, figure, cores):
    """The figures of two programs of that language, each on its own core."""
    echo_step, ping_step = (step.format(count=ROUND_TRIPS) for step in FIGURES[figure])
    with tempfile.TemporaryDirectory(prefix="lw-", dir="/dev/shm") as directory:
        echo = started(language, echo_step, directory, cores[1])
        try:
            wait_for(Path(directory, "pong/bus.json" if figure == "round-trip" else "c.sock"), echo)
            return figures(started(language, ping_step, directory, cores[0]), language, figure)
        finally:
            echo.kill()
            echo.communicate()


def wait_for(path, echo):
    until = time.monotonic() + conformance.ANSWER_SECONDS_MAX
    while not path.exists():
        if time.monotonic() > until or echo.poll() is not None:
            raise RuntimeError(f"the other side made no {path.name}")
        time.sleep(0.01)


def has(language, figure):
    if figure in ONLY_C:
        return language in ("cpp", "c")
    return language != PEER or figure == PEER_FIGURE


def measured(language, figure, directory, round_number):
    if isinstance(FIGURES[figure], tuple):
        return between(language, figure, CORES[round_number % len(CORES)])
    return alone(language, figure, directory)


def measure(languages, rounds):
    """ratios[language][figure], ns[language][figure]: one entry per turn; garbage[language]."""
    every = ["cpp", *languages]
    ns = {language: {figure: [] for figure in FIGURES} for language in every}
    ratios = {language: {figure: [] for figure in FIGURES} for language in every}
    garbage = {}
    for number in range(rounds):
        for figure, turn in ((each, turn) for each in FIGURES for turn in range(TURNS.get(each, 1))):
            with Place() as directory:
                def of(language):
                    found = measured(language, figure, directory, number + turn)
                    if found.get("garbage", "-") != "-":
                        garbage[language] = max(garbage.get(language, 0.0), float(found["garbage"]))
                    value = float(found["ns"])
                    ns[language][figure].append(value)
                    return value

                cpp = of("cpp")
                base = of("c")
                ratios["cpp"][figure].append(1.0)
                ratios["c"][figure].append(base / statistics.mean((cpp, of("cpp"))))
                for language in languages:
                    if language == "c" or not has(language, figure):
                        continue
                    value = of(language)
                    after = of("c")
                    ratios[language][figure].append(value / statistics.mean((base, after)))
                    base = after
        print(f"languages: round {number + 1} of {rounds}", file=sys.stderr, flush=True)
    return ratios, ns, garbage


def table(languages, ratios, ns, garbage):
    """A Markdown table: nanoseconds, with the ratio in brackets. The first column is a rate."""
    median = statistics.median
    lines = ["| language | read, million/s | of C's | publish, million/s | take, ns | publish one, ns | "
             "bus round trip, ns | channel round trip, ns | channel one way, million/s | garbage, bytes a record |",
             "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"]
    for language in ["cpp", *languages]:
        if language == PEER:
            lines.append(f"| {NAMES[language]} |  |  |  |  |  |  | {median(ns[language][PEER_FIGURE]):.0f} |  |  |")
            continue
        of = {figure: median(ns[language][figure]) for figure in FIGURES if has(language, figure)}
        rate = 1 / median(ratios[language]["read"]) if language not in ("cpp", "c") else None
        lines.append("| " + " | ".join([
            NAMES[language], f"{1000 / of['read']:.0f}", f"{rate:.2f}" if rate else "", f"{1000 / of['publish']:.0f}",
            f"{of['take']:.1f}", f"{of['publish-one']:.1f}", f"{of['round-trip']:.0f}", f"{of['channel']:.0f}",
            f"{1000 / of['one-way']:.0f}" if "one-way" in of else "",
            f"{garbage[language]:.3f}" if language in garbage else "–"]) + " |")
    return lines


def frame_verdict():
    """The rate of Python's Arrow batches, compared with a copy of the same rows."""
    step = f"to-arrow records={RECORDS} passes={FRAME_PASSES}"
    rate = float(figures(started("python", step, None), "python", "to-arrow")["copy"])
    return (f"{'met' if rate >= FRAME_RATE_MIN else 'MISSED'}: {NAMES['python']}, to_arrow: {rate:.3f} of the rate of a "
            f"copy, at least {FRAME_RATE_MIN:.3f}")


def verdicts(languages, ratios, garbage):
    lines = []
    for (language, figure), budget in BUDGETS.items():
        if language not in languages:
            continue
        seen = statistics.median(ratios[language][figure])
        lines.append(f"{'met' if seen <= budget else 'MISSED'}: {NAMES[language]}, {figure}: {seen:.3f} of the time of "
                     f"{'C++' if language == 'c' else 'C'}, at most {budget:.3f}")
    lines += [f"{'met' if count <= GARBAGE_MAX else 'MISSED'}: {NAMES[language]}, garbage: {count:.3f} bytes a record"
              for language, count in garbage.items()]
    return lines + ([frame_verdict()] if "python" in languages else [])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--languages", default=None)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--out", type=Path, default=None)
    options = parser.parse_args()
    languages = conformance.languages_of(parser, options.languages, PEER)
    if not options.languages and peer_command() is not None:
        languages.append(PEER)
    if options.rounds < 1:
        parser.error("--rounds begins at 1")
    if "c" not in languages:
        languages.insert(0, "c")
    if len(os.sched_getaffinity(0)) < 2:
        parser.error("two cores are needed")
    try:
        ratios, ns, garbage = measure(languages, options.rounds)
        lines = table(languages, ratios, ns, garbage) + [""] + verdicts(languages, ratios, garbage)
    except RuntimeError as error:
        print(f"languages: {error}", file=sys.stderr)
        return 1
    print("\n".join(lines))
    if options.out:
        options.out.write_text(json.dumps({"ratios": ratios, "ns": ns, "garbage": garbage}, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
