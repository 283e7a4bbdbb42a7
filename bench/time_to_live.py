#!/usr/bin/env python3
"""How long a process that joins late takes until it is live, in milliseconds.

    cmake --build build/release --target lapwing lapwing_time_to_live
    bench/time_to_live.py build/release [--runs 3] [--backlog 1000000] [--rate 200000] [--disk DIR]

Each run has a bus of its own: synthetic market by order is published at the rate until there are so
many records, and goes on while a checkpointer keeps the orders, with a checkpoint every 200,000
records. Then four processes join, one after the other; each is timed from before it is started
until it has said that it has caught up:
  tail      lapwing tail --format none: every record, and nothing done with it
  orders    lapwing_time_to_live: all orders that rest, folded, in memory
from the start, and from a snapshot. The backlog has grown a little by the last of them; each line
says how many entries and records it was.
"""

import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HANG_SECONDS = 120
CHECKPOINT_EVERY = 200_000


class Bench:
    """The programs, and a scratch folder on the disk that is measured."""

    def __init__(self, build, folder):
        self.lapwing = str(build / "lapwing")
        self.joiner = str(build / "bench" / "lapwing_time_to_live")
        self.bus = str(folder / "bus")
        self.started = []

    def background(self, *arguments):
        process = subprocess.Popen([self.lapwing, *arguments], stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        self.started.append(process)

    def stop(self):
        for process in self.started:
            process.terminate()
        for process in self.started:
            process.wait(HANG_SECONDS)

    def head(self):
        done = subprocess.run([self.lapwing, "info", "--bus", self.bus, "--json"],
                              capture_output=True, text=True, check=False)
        info = json.loads(done.stdout) if done.returncode == 0 else None
        return info["ring"]["head"] if info and info["ring"] else 0

    def until(self, what, condition):
        deadline = time.monotonic() + HANG_SECONDS
        while not condition():
            if time.monotonic() > deadline:
                sys.exit(f"time_to_live: waited {HANG_SECONDS} s in vain for {what}")
            time.sleep(0.05)

    def newest_checkpoint(self):
        files = pathlib.Path(self.bus, "checkpoint", "orders").glob("*.ckpt")
        return max((int(file.stem) for file in files), default=0)

    def timed(self, command, line_says):
        """Milliseconds until the process has written a line with those words; and the line."""
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
    """One run: {subject: (milliseconds, what it said)}."""
    bench = Bench(build, folder)
    try:
        bench.background("publish", "--bus", bench.bus, "--source", "synthetic:records=100000000",
                         "--pace", str(rate))
        bench.background("checkpoint", "--bus", bench.bus, "--fold", "orders", "--every",
                         str(CHECKPOINT_EVERY))
        bench.until("the backlog", lambda: bench.head() >= backlog)
        bench.until("a checkpoint of it",
                    lambda: bench.newest_checkpoint() >= backlog - CHECKPOINT_EVERY)
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
    arguments = parser.parse_args()
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
            print(f"run {run}  {subject:22} {milliseconds:8.1f} ms  {said}", flush=True)
    for subject, figures in results.items():
        print(f"{subject:22} {' '.join(f'{figure:.0f}' for figure in figures)} ms, "
              f"median {statistics.median(figures):.0f}")


if __name__ == "__main__":
    main()
