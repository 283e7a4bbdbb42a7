#!/usr/bin/env python3
"""Measures the time until a late joiner is live, in milliseconds.

    cmake --build build/release --target lapwing lapwing_backlog lapwing_time_to_live
    bench/time_to_live.py build/release [--runs 3] [--backlog 1000000] [--rate 200000] [--disk DIR]
                          [--json-lines]

Each run has its own bus of synthetic market-by-order records, with a backlog published at full
speed. A checkpointer folds its orders and writes a checkpoint every 200,000 records. Then more
records are published continuously at the given rate. After the first checkpoint of these, four
processes join one after another. Each is timed from before its start until it reports that it has
caught up:
  tail      lapwing tail --format none: every record, without processing
  orders    lapwing_time_to_live: folds all resting orders in memory
from the start, and from a snapshot. The backlog has grown slightly by the last join. Each line
contains the number of entries and records.
"""

import argparse
import json
import os
import pathlib
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tools"))

import built

HANG_SECONDS = 120
FOLDED_PER_SECOND_MIN = 50_000  # by the checkpointer; a slower one counts as hanging
CHECKPOINT_EVERY = 200_000


class Bench:
    """The programs, and a scratch folder on the measured disk."""

    def __init__(self, build, folder):
        self.lapwing = str(build / "lapwing")
        self.backlog = str(build / "bench" / "lapwing_backlog")
        self.joiner = str(build / "bench" / "lapwing_time_to_live")
        self.bus = str(folder / "bus")
        self.publisher = None
        self.checkpointer = None

    def publish(self, records, rate):
        """Returns when `records` are durable. go_on() publishes more at the given rate."""
        self.publisher = subprocess.Popen([self.backlog, self.bus, str(records), str(rate)],
                                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        line = self.publisher.stdout.readline()
        if not line:
            sys.exit("time_to_live: the publisher ended before it had published the backlog")
        return int(line)

    def go_on(self):
        self.publisher.stdin.write("\n")
        self.publisher.stdin.flush()

    def checkpoint(self):
        self.checkpointer = subprocess.Popen(
            [self.lapwing, "checkpoint", "--bus", self.bus, "--fold", "orders", "--every",
             str(CHECKPOINT_EVERY)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def stop(self):
        if self.publisher:
            self.publisher.stdin.close()
        if self.checkpointer:
            self.checkpointer.terminate()
        for process in (self.publisher, self.checkpointer):
            if process:
                process.wait(HANG_SECONDS)

    def until_checkpoint(self, first, seconds):
        """Waits for a checkpoint as of the given record or a later one."""
        deadline = time.monotonic() + seconds
        while self.newest_checkpoint() < first:
            if time.monotonic() > deadline:
                sys.exit(f"time_to_live: waited {seconds:.0f} s in vain for a checkpoint as of "
                         f"{first:,}; the newest is as of {self.newest_checkpoint():,}")
            time.sleep(0.05)

    def newest_checkpoint(self):
        files = pathlib.Path(self.bus, "checkpoint", "orders").glob("*.ckpt")
        return max((int(file.stem) for file in files), default=0)

    def timed(self, command, line_says):
        """Milliseconds until the process has written a line with this text, and the line."""
        began = time.monotonic()
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True) as process:
            for line in process.stdout:
                if line_says in line:
                    milliseconds = (time.monotonic() - began) * 1000
                    process.terminate()
                    return milliseconds, line.strip()
        sys.exit(f"time_to_live: {' '.join(command)} has not caught up")

    def tail(self, start):
        return self.timed([self.lapwing, "tail", "--bus", self.bus, "--from", start, "--format",
                           "none"], "caught up")

    def orders(self, start):
        return self.timed([self.joiner, self.bus, start], "as_of")


def measure(build, folder, backlog, rate):
    """One run: {subject: (milliseconds, its line)}."""
    bench = Bench(build, folder)
    try:
        head = bench.publish(backlog, rate)
        bench.checkpoint()
        bench.until_checkpoint(head - CHECKPOINT_EVERY,
                               HANG_SECONDS + backlog / FOLDED_PER_SECOND_MIN)
        bench.go_on()
        bench.until_checkpoint(head + 1, HANG_SECONDS)
        return {
            "tail from snapshot": bench.tail("snapshot"),
            "orders from snapshot": bench.orders("snapshot"),
            "tail from start": bench.tail("start"),
            "orders from start": bench.orders("start"),
        }
    finally:
        bench.stop()


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--backlog", type=int, default=1_000_000)
    parser.add_argument("--rate", type=int, default=200_000)
    parser.add_argument("--disk", default=os.getcwd(), help="where the bus directory is made")
    parser.add_argument("--json-lines", action="store_true",
                        help="print each join as a line of JSON, and no medians")
    arguments = parser.parse_args()
    programs = arguments.build / "bench"
    built.need("time_to_live", arguments.build / "lapwing", programs / "lapwing_backlog",
               programs / "lapwing_time_to_live")
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:  # ignored with nohup
            signal.signal(number, lambda number, frame: sys.exit(1))
    results = {}
    for run in range(1, arguments.runs + 1):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="lapwing-bench-", dir=arguments.disk))
        try:
            measured = measure(arguments.build.resolve(), folder, arguments.backlog,
                               arguments.rate)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        for subject, (milliseconds, said) in measured.items():
            results.setdefault(subject, []).append(milliseconds)
            line = {"run": run, "subject": subject, "milliseconds": milliseconds, "said": said}
            print(json.dumps(line) if arguments.json_lines else
                  f"run {run}  {subject:22} {milliseconds:8.1f} ms  {said}", flush=True)
    if arguments.json_lines:
        return
    for subject, figures in results.items():
        print(f"{subject:22} {' '.join(f'{figure:.0f}' for figure in figures)} ms, "
              f"median {statistics.median(figures):.0f}")


if __name__ == "__main__":
    main()
