"""Builds, measures and reports. Started by bench/run.sh; see `bench/run.sh --help`."""

import argparse
import json
import os
import pathlib
import shlex
import signal
import subprocess
import sys
import tempfile
import time

import document
import environment
import load
import measuring
import pictures
import plan as plans

ROOT = pathlib.Path(__file__).resolve().parents[2]
RINGS = pathlib.Path("/dev/shm")
ABOUT = """Measures Lapwing and its alternatives on this machine, and writes a report.

Exit: 0 everything that this machine can measure was measured; 1 a measurement failed, a promise was
broken (a torn record) or the run was interrupted; 2 wrong usage. Measurements that need two cores or
a missing file are SKIPPED, with the reason. If the figures are not to be trusted, a warning is
printed at the end and at the top of the report. It does not change the exit code.
"""


def arguments_of(command_line):
    parser = argparse.ArgumentParser(prog="bench/run.sh", description=ABOUT,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true",
                        help="a few rows, two trials each: under three minutes, or about six "
                             "with all peers")
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME",
                        help="rows (or the beginning of their names, such as one-way), scenarios of peers "
                             f"({', '.join(plans.PEER_SCENARIOS)}), {plans.LATE_JOINS}, "
                             f"{plans.INSTRUCTIONS}; --list prints all names")
    parser.add_argument("--peers", default="all", metavar="LIST",
                        help="all, none, or names separated by commas; default: all")
    parser.add_argument("--out", type=pathlib.Path, metavar="DIR",
                        help="default: bench/results/<host>-<date>")
    parser.add_argument("--disk", type=pathlib.Path, metavar="DIR", default=ROOT / "build",
                        help="a folder on the measured disk; default: build")
    parser.add_argument("--list", action="store_true",
                        help="print all names that --only accepts, without measuring")
    parser.add_argument("--again", type=pathlib.Path, metavar="DIR",
                        help="write the report and pictures of an earlier run again, from its "
                             "raw.jsonl and environment.json, without measuring")
    # For tests: the root of the files that describe the machine.
    parser.add_argument("--system-root", default="/", help=argparse.SUPPRESS)
    return parser.parse_args(command_line)


def say(text):
    print(f"bench: {text}", flush=True)


def say_aside(text):
    print(f"bench: {text}", file=sys.stderr)


def peers_asked_for(asked, known):
    """{peer: its scenarios} of the known peers."""
    if asked == "none":
        return {}
    if asked == "all":
        return known
    names = asked.split(",")
    for name in names:
        if name not in known:
            say(f"unknown peer {name}. Peers: {', '.join(known) or 'none'}")
            sys.exit(2)
    return {name: known[name] for name in names}


def commit_of(root):
    try:
        done = subprocess.run(["git", "describe", "--always", "--dirty"], cwd=root, text=True,
                              capture_output=True, check=False)
    except OSError:  # without git: not a work tree
        return "unknown"
    return done.stdout.strip() or "unknown"


def rows_known(build):
    done = subprocess.run([str(build / "bench" / "lapwing_bench"), "--list"], text=True,
                          capture_output=True, check=True)
    return done.stdout.split()


def list_names():
    """Prints only names on standard output. Returns the exit code."""
    rows = rows_known(measuring.build_programs(ROOT, ["lapwing_bench"], say_aside))
    print(*rows, *plans.PEER_SCENARIOS, plans.LATE_JOINS, plans.INSTRUCTIONS, sep="\n")
    return 0


def announce(plan, out):
    count = len(plan.rows)
    parts = [f"{count} row{'s' if count > 1 else ''}"] if count else []
    if plan.instructions:
        parts.append("instructions")
    if plan.backlogs:
        parts.append("late joins")
    if plan.scenarios:
        count = len(plan.peers_with(*plan.scenarios))
        parts.append(f"{' and '.join(plan.scenarios)} with {count} peer{'s' if count > 1 else ''}")
    say(f"measuring {', '.join(parts)}: about {plans.in_words(plan.seconds())}")
    say(f"the report will be in {out}. Do not use this machine until then.")


def end_on_signals():
    """Makes SIGTERM and SIGHUP end a run like Ctrl-C, unless they were ignored at the start."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler)


def folder_in(parent, remedy):
    """A folder of this run, removed at its end with all remaining files."""
    with measuring.writing_to(parent, remedy):
        parent.mkdir(parents=True, exist_ok=True)
        return tempfile.TemporaryDirectory(prefix="lapwing-bench-", dir=parent.resolve(),
                                           ignore_cleanup_errors=True)


def measure_all(measuring_run, machine):
    try:
        measuring_run.write("environment", machine)
        measuring_run.instructions()
        measuring_run.probe()
        measuring_run.rows()
        measuring_run.peers()
        measuring_run.late_joins()
    except KeyboardInterrupt:
        say("interrupted; reporting the measurements so far")
        measuring_run.write("interrupted", {})
    finally:
        measuring_run.close()


def distrust_of(machine, lines):
    loads = [line["load"] for line in lines if "load" in line]
    return environment.distrust(machine) + load.distrust(loads, *document.figures.trials_of(lines))


def main(command_line):
    arguments = arguments_of(command_line)
    if arguments.again:
        return again(arguments.again)
    if arguments.list:
        return list_names()
    load.adopt_orphans()
    began = time.monotonic()
    machine = environment.record(arguments.system_root)
    known = measuring.peers_listed(ROOT)
    asked = peers_asked_for(arguments.peers, known)
    say(f"building Lapwing{' and ' + str(len(asked)) + ' peers' if asked else ''}, then measuring, "
        "then writing a report with pictures")
    say(f"the first build takes about {plans.in_words(plans.BUILD_SECONDS)}"
        + (", plus the peers' packages" if asked else "") + "; later builds take seconds")
    build = measuring.build_programs(ROOT, ["lapwing_bench"], say)
    plan = plans.Plan(rows_known(build), asked, arguments.quick, arguments.only)
    if plan.unknown:
        say(f"unknown name {', '.join(plan.unknown)}. --list prints all names.")
        return 2
    if not (plan.rows or plan.instructions or plan.backlogs or plan.scenarios):
        say("nothing to measure: no selected peer has this scenario")
        return 2
    if plan.instructions:
        measuring.build_programs(ROOT, ["lapwing_instructions"], say)
    if plan.backlogs:
        measuring.build_programs(ROOT, ["lapwing", "lapwing_backlog", "lapwing_time_to_live"], say)
    here, missing = measuring.build_peers(ROOT, plan.peers_with(*plan.scenarios), say)
    plan.keep_peers(here)
    machine["date"] = time.strftime("%Y-%m-%d-%H%M", time.gmtime())
    machine["commit"] = commit_of(ROOT)
    out = arguments.out or ROOT / "bench" / "results" / f"{machine['host']}-{machine['date']}"
    with measuring.writing_to(out, "Name another folder with --out"):
        out.mkdir(parents=True, exist_ok=True)
    announce(plan, out)
    with (folder_in(RINGS, "Make it writable: the rings are stored there") as rings,
          folder_in(arguments.disk, "Name another folder with --disk") as disk):
        run = measuring.Measuring(ROOT, build, out, rings, disk, plan, say,
                                  lambda lines: distrust_of(machine, lines))
        measure_all(run, machine)
    machine["minutes"] = (time.monotonic() - began) / 60
    machine["command"] = shlex.join(["bench/run.sh", *command_line])
    machine["missing"] = missing
    machine["rivals"] = measuring.rivals_listed(ROOT)
    with measuring.writing_to(out, "The report needs this file: start the run again"):
        (out / "environment.json").write_text(json.dumps(machine, indent=2) + "\n",
                                              encoding="utf-8")
    say(f"done in {plans.in_words(time.monotonic() - began)}, "
        f"estimated: {plans.in_words(plan.seconds())}")
    return report_on(out, machine, run.lines)


def again(out):
    """Writes the report of an earlier run again. Returns the exit code."""
    try:
        machine = json.loads((out / "environment.json").read_text(encoding="utf-8"))
        lines = [json.loads(line) for line in
                 (out / "raw.jsonl").read_text(encoding="utf-8").splitlines()]
    except (OSError, ValueError) as error:
        say(f"{out} does not contain a finished run: {error}")
        return 2
    return report_on(out, machine, lines)


def report_on(out, machine, lines):
    """Writes the report and pictures, and prints problems. Returns the exit code."""
    reasons = distrust_of(machine, lines)
    later = shlex.join(["bench/run.sh", "--again", str(out)])
    with measuring.writing_to(out, f"Free some space, then write the report with {later}"):
        drawn = pictures.draw(out, lines, bool(reasons))
        (out / "report.md").write_text(document.report(
            machine, lines, drawn, machine["missing"], reasons, environment.remarks(machine),
            machine["command"]), encoding="utf-8")
    if not drawn:
        say("no pictures: " + ("python3-matplotlib is not installed" if pictures.pyplot is None
                               else "there is nothing to draw"))
    say(f"the report is {out / 'report.md'}")
    for name, why in document.figures.failed_of(lines):
        say(f"{name}: {why}")
    if reasons:
        print(document.loud(reasons), flush=True)
    return 1 if any(line.get("failed") or line.get("fault") or line["kind"] == "interrupted"
                    for line in lines) else 0


def main_for_shells(command_line):
    """Runs main(), without a traceback for interrupts by the user."""
    end_on_signals()
    try:
        code = main(command_line)
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        say_aside("interrupted")
        return 1
    except measuring.Unwritten as failure:
        say_aside(failure)
        return 1
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for the flush at the end
        say_aside("ended: the reader of its output is gone")
        return 1


if __name__ == "__main__":
    sys.exit(main_for_shells(sys.argv[1:]))
