#!/usr/bin/env python3
"""Measures the cost of faults that `lapwing doctor` finds: benchmark rows with and without each.

    bench/tuning.sh [--rounds 5] [--faults io_uring,thp] [--disk DIR]

Each fault exists only during a run: a system call is refused, a limit is set, or a kernel setting
is written and restored. Needs root and build/release. Prints a Markdown table with the slowdown of
each row: the median over the rounds of the ratio to the neighbouring run without the fault. A line
`not made: FAULT: why` lists faults that this machine cannot have. Exit: 0 everything possible was
measured, 1 a run failed, 2 wrong usage.
"""

import argparse
import contextlib
import errno
import json
import os
import resource
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "end_to_end"))
sys.path.insert(0, str(ROOT / "tools"))

import built  # noqa: E402
import seccomp  # noqa: E402

BUILD = Path(os.environ.get("LAPWING_BUILD_DIR", ROOT / "build" / "release"))
BENCH = BUILD / "bench" / "lapwing_bench"
PROGRAM_PATH = BUILD / "lapwing"
SHARED_THP = Path("/sys/kernel/mm/transparent_hugepage/shmem_enabled")
CPU_GROUPS = Path("/sys/fs/cgroup/cpu")
NOBODY = 65534
TRIALS = 4
PROGRAM = "lapwing publish"  # not a row: the time to publish PROGRAM_RECORDS with a journal
PROGRAM_RECORDS = 10_000_000


class NotMade(Exception):
    """The fault cannot be added to this machine, or cannot be removed from it."""


def refused(call):
    """The system call fails as not permitted."""
    @contextlib.contextmanager
    def fault(is_made):
        yield (lambda: seccomp.refuse(call, errno.EPERM)) if is_made else None
    return fault


@contextlib.contextmanager
def no_huge_pages(is_made):
    if not SHARED_THP.exists():
        raise NotMade("the kernel has no transparent huge pages")
    before = SHARED_THP.read_text().split("[")[1].split("]")[0]
    SHARED_THP.write_text("never" if is_made else "advise")
    try:
        yield None
    finally:
        SHARED_THP.write_text(before)


@contextlib.contextmanager
def quota(is_made):
    """Limits a process that uses two processors to the time of one, with containers' periods."""
    group = CPU_GROUPS / f"lapwing-tuning-{os.getpid()}"
    if not (CPU_GROUPS / "cpu.cfs_quota_us").exists():
        raise NotMade("there is no cgroup of version 1 with a quota")
    group.mkdir()
    try:
        (group / "cpu.cfs_period_us").write_text("100000")
        (group / "cpu.cfs_quota_us").write_text("100000" if is_made else "-1")
        yield lambda: (group / "cgroup.procs").write_text(str(os.getpid()))
    finally:
        group.rmdir()


@contextlib.contextmanager
def shared_cores(is_made):
    """Runs another busy process on every core."""
    spinning = [sys.executable, "-c", "while True: pass"]
    hogs = [subprocess.Popen(spinning) for _ in range(os.cpu_count() if is_made else 0)]
    try:
        yield None
    finally:
        for hog in hogs:
            hog.kill()
            hog.wait()


@contextlib.contextmanager
def locked_memory(is_made):
    """Runs as an unprivileged user, because root may always lock memory."""
    if resource.getrlimit(resource.RLIMIT_MEMLOCK)[1] != resource.RLIM_INFINITY:
        raise NotMade("this process itself may not lock all memory")

    def become():
        limit = 0 if is_made else resource.RLIM_INFINITY
        resource.setrlimit(resource.RLIMIT_MEMLOCK, (limit, limit))
        os.setgid(NOBODY)
        os.setuid(NOBODY)
    yield become


# The fault of each property, and the rows that it may slow down.
FAULTS = {
    "io_uring": (refused("io_uring_setup"), (PROGRAM,)),  # the floors of rows need it
    "thp": (no_huge_pages, ("publish", "one-reader", "one-reader-lossless", "journal-memory")),
    "memlock": (locked_memory, ("sustained", "journal-disk-10ms")),
    "cgroup-cpu": (quota, ("one-reader", "sustained", "wake")),
    "isolcpus": (shared_cores, ("one-reader", "wake", "sustained")),
}


def measured_program(disk, prepare):
    with tempfile.TemporaryDirectory(dir=disk) as folder:
        began = time.monotonic()
        done = subprocess.run([PROGRAM_PATH, "publish", "--bus", f"{folder}/bus", "--source",
                               f"synthetic:records={PROGRAM_RECORDS}"], capture_output=True, text=True, preexec_fn=prepare,
                              check=False)
        took = time.monotonic() - began
        if done.returncode != 0:
            raise RuntimeError(done.stderr.strip()[-300:])
        return {PROGRAM: took}


def measured(rows, disk, prepare):
    """For each row, a value of which less is better, such as nanoseconds."""
    if rows == (PROGRAM,):
        return measured_program(disk, prepare)
    done = subprocess.run([BENCH, *rows, "--disk", disk, "--json-lines", "--trials", str(TRIALS)], capture_output=True,
                          text=True, preexec_fn=prepare, check=False)
    found = {}
    for line in done.stdout.splitlines():
        row = json.loads(line)
        if not row.get("medians"):
            continue
        value = row["medians"]["measured"]
        is_rate = value["unit"].endswith("/s") or row.get("bound") == "at least"
        found[row["name"]] = 1 / value["value"] if is_rate else value["value"]
    missing = set(rows) - set(found)
    if missing:
        raise RuntimeError(f"no figure of {', '.join(sorted(missing))}: {done.stderr.strip()[-300:]}")
    return found


def ratios(fault, rows, rounds, disk):
    """The slowdown of each row compared with the run without the fault, one per round."""
    found = {row: [] for row in rows}
    for number in range(rounds):
        times = {}
        for is_made in ((False, True), (True, False))[number % 2]:
            with fault(is_made) as prepare:
                times[is_made] = measured(rows, disk, prepare)
        for row in rows:
            found[row].append(times[True][row] / times[False][row])
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--faults", default=",".join(FAULTS))
    parser.add_argument("--disk", default="/var/tmp", help="a directory on the disk of journals")
    options = parser.parse_args()
    chosen = options.faults.split(",")
    if options.rounds < 1 or any(name not in FAULTS for name in chosen):
        parser.error(f"--rounds is at least 1, and --faults are of: {', '.join(FAULTS)}")
    if os.geteuid() != 0:
        parser.error("this needs root: it sets limits and settings of the kernel")
    built.need("tuning", PROGRAM_PATH)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # restores changed settings
    lines, failed = [], False
    with tempfile.TemporaryDirectory(dir=options.disk) as disk:
        os.chmod(disk, 0o777)
        for name in chosen:
            fault, rows = FAULTS[name]
            print(f"tuning: {name}", file=sys.stderr, flush=True)
            try:
                for row, each in ratios(fault, rows, options.rounds, disk).items():
                    lines.append((statistics.median(each), name, row, min(each), max(each)))
            except NotMade as why:
                print(f"not made: {name}: {why}")
            except RuntimeError as why:
                failed = True
                print(f"failed: {name}: {why}")
    print("| property | row | times as long | from | to |\n| --- | --- | ---: | ---: | ---: |")
    for middle, name, row, least, most in sorted(lines, reverse=True):
        print(f"| `{name}` | `{row}` | {middle:.2f} | {least:.2f} | {most:.2f} |")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
