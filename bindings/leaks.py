#!/usr/bin/env python3
"""Opens and closes handles of each language many times, and compares the resources of the process before and after.

    bindings/leaks.py [--cycles 100000] [--languages c,python]
    bindings/leaks.py --sanitized build/asan [--languages python,node]

With --sanitized, the library comes from a build with gcc's address sanitizer. The sanitizer's first report ends the
driver.

Prints a line for each language: descriptors, threads and mappings before and after, and the growth of resident memory.
The counts must be equal, and memory may grow by at most 1 MiB. Memory is sampled over the last tenth of the cycles, and
the smallest sample counts, because runtimes return free memory late and at unpredictable times.
Exit: 0 no leak, 1 at least one language leaks, 2 wrong usage.

With the sanitizer, memory is the sum of the allocated bytes, as the sanitizer counts them, and the resident memory
outside its allocator. Pages of that allocator are shown, but not compared. It reuses freed blocks in random order, so
more and more pages are partly used. Node.js had 3.1 MB allocated after each of 80,000 cycles, in 35 MB of pages and
later in 43 MB.
"""

import argparse
import os
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "conformance" / "bindings"))

import run as conformance  # noqa: E402

MEMORY_GROWTH_MAX = 1 << 20
# These settings make the return of freed memory predictable. The C library keeps some freed memory for the thread that
# freed it, and keeps large blocks once it has seen their size. Go collects garbage late. An idle worker of Kotlin's
# coroutines ends after a second, not a minute, so that the number of workers does not vary. Node.js would enlarge its
# young generation once, and its compiler would allocate 1.6 MB once, both at an unpredictable time.
ENVIRONMENT = {"MALLOC_ARENA_MAX": "1", "MALLOC_MMAP_THRESHOLD_": "65536", "GOGC": "10",
               "NODE_OPTIONS": "--max-semi-space-size=1 --jitless",
               "JAVA_TOOL_OPTIONS": "-Dkotlinx.coroutines.scheduler.keep.alive.sec=1"}
COUNTED = ("descriptors", "threads", "mappings")
SETTLE_SECONDS = 3
WARM_UP = 200  # cycles
SAMPLES = 10  # of memory, over the last tenth of the cycles
CYCLES_MIN = 10 * SAMPLES  # so that the last tenth has a cycle for each sample
PUBLISHER_EVERY = 1000  # cycles: each start and close of a session writes to the disk
CYCLE = (
    "subscriber.open as=s directory=bus start=oldest", "subscriber.destroy on=s",
    "history.open as=h directory=bus", "history.destroy on=h",
    "books.create as=b", "books.destroy on=b",
    "listener.open as=l path=c.sock", "listener.destroy on=l",
)
# Uses a directory of its own: a start reads the list of all earlier sessions, which would grow.
SESSION = ("publisher.open as=p directory=own record_bytes=16 capacity=4096", "publisher.publish on=p from=1 count=1",
           "publisher.close on=p timeout_ms=forever", "publisher.destroy on=p")
# The address ranges of the sanitizer's allocator, and of its shadow of all memory.
SANITIZER_ADDRESSES = ((0x600000000000, 0x640000000000), (0x7fff8000, 0x10007fff8000))
ASK_SIGNAL = signal.SIGRTMAX - 1
ASK_SECONDS_MAX = 60
# Freed memory stays in a quarantine for each thread and one for the process. Both are small, so that growth shows. The
# sanitizer keeps the stack of each allocation forever, and compiled JavaScript produces new stacks all the time. Stacks
# of one frame are few.
SANITIZER = ("detect_leaks=0:quarantine_size_mb=1:thread_local_quarantine_size_kb=16:malloc_context_size=1:"
             "allocator_release_to_os_interval_ms=200:abort_on_error=1")


def sanitized_driver(language, build, directory):
    """The command of a driver that uses the library of this build. A program that is not built with the
    sanitizer must load the sanitizer first, and the C++ library with it."""
    loaded = [subprocess.run(["gcc", f"-print-file-name={name}"], check=True, capture_output=True,
                             text=True).stdout.strip() for name in ("libasan.so", "libstdc++.so")]
    counter = Path(directory, "allocated.so")
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", counter, ROOT / "bindings" / "allocated.c", "-lasan"], check=True)
    answer = Path(directory, "allocated")
    answer.write_bytes(bytes(16))
    return ["env", f"LAPWING_LIBRARY={Path(build).resolve()}/liblapwing.so.1",
            f"LD_PRELOAD={' '.join(loaded)} {counter}", f"ASAN_OPTIONS={SANITIZER}",
            f"LAPWING_ALLOCATED={answer}", *conformance.driver_of(language)]


def allocated(pid, directory):
    """The bytes that the process has allocated, as the sanitizer counts them."""
    answer = Path(directory, "allocated")
    asked, _ = struct.unpack("QQ", answer.read_bytes())
    os.kill(pid, ASK_SIGNAL)
    until = time.monotonic() + ASK_SECONDS_MAX
    while time.monotonic() < until:
        times, count = struct.unpack("QQ", answer.read_bytes())
        if times != asked:
            return count
        time.sleep(0.01)
    raise RuntimeError(f"process {pid} did not say what it has allocated")


def resident_elsewhere(pid):
    """Bytes of resident memory outside the sanitizer's own memory."""
    total, counted = 0, True
    for line in Path("/proc", str(pid), "smaps").read_text().splitlines():
        word, *rest = line.split()
        if not word.endswith(":"):
            begin = int(word.split("-")[0], 16)
            counted = not any(first <= begin < end for first, end in SANITIZER_ADDRESSES)
        elif word == "Rss:" and counted:
            total += int(rest[0]) * 1024
    return total


def check_sanitized(pid, build):
    maps = Path("/proc", str(pid), "maps").read_text()
    for needed in ("libasan.so", f"{Path(build).resolve()}/liblapwing.so.1"):
        if needed not in maps:
            raise RuntimeError(f"the driver has not loaded {needed}")


def held(pid):
    folder = Path("/proc", str(pid))
    status = dict(line.split(":", 1) for line in (folder / "status").read_text().splitlines() if ":" in line)
    return {
        "descriptors": len(os.listdir(folder / "fd")),
        "threads": int(status["Threads"]),
        "mappings": sum(1 for line in (folder / "maps").read_text().splitlines()
                        if "lapwing" in line and ".so" not in line),
        "resident": int(status["VmRSS"].split()[0]) * 1024,
    }


def settled(pid, like=None):
    """The process's resources, once ending threads have ended. Waits at most SETTLE_SECONDS."""
    until = time.monotonic() + SETTLE_SECONDS
    while True:
        now = held(pid)
        if time.monotonic() > until or (like and all(now[what] <= like[what] for what in COUNTED)):
            return now
        time.sleep(0.1)


def take(driver, steps):
    for step in steps:
        answer = driver.ask(step)
        if not answer[0].startswith("ok"):
            raise RuntimeError(f"`{step}`: {answer[0]}")


def cycle(driver, directory, count, publisher_every=PUBLISHER_EVERY):
    for number in range(count):
        take(driver, CYCLE)
        if number % publisher_every == 0:
            take(driver, SESSION)
            shutil.rmtree(Path(directory, "own"))


def held_after(driver, directory, cycles, last, sanitized, like=None):
    """The process's resources after that many cycles. Samples memory over the last ones, and returns the minimum."""
    pid = driver.process.pid
    cycle(driver, directory, cycles - last)
    memory = []
    for _ in range(SAMPLES):
        cycle(driver, directory, last // SAMPLES)
        memory.append(allocated(pid, directory) + resident_elsewhere(pid) if sanitized
                      else held(pid)["resident"])
    return {**settled(pid, like), "memory": min(memory)}


def measured(language, cycles, sanitized):
    with tempfile.TemporaryDirectory(prefix="lw-", dir="/tmp") as directory:
        publisher = conformance.Driver("c", directory)
        driver = conformance.Driver(
            language, directory,
            command=sanitized_driver(language, sanitized, directory) if sanitized else None)
        try:
            take(publisher, ("publisher.open as=p directory=bus record_bytes=16 capacity=4096",))
            cycle(driver, directory, WARM_UP, publisher_every=1)  # one-time allocations of the runtime
            if sanitized:
                check_sanitized(driver.process.pid, sanitized)
            last = cycles // 10
            before = held_after(driver, directory, 2 * last, last, sanitized)
            return before, held_after(driver, directory, cycles, last, sanitized, before)
        finally:
            driver.kill()
            publisher.kill()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--cycles", type=int, default=100_000)
    parser.add_argument("--languages", default=None)
    parser.add_argument("--sanitized", metavar="BUILD")
    options = parser.parse_args()
    if options.cycles < CYCLES_MIN:
        parser.error(f"--cycles: {CYCLES_MIN} at least")
    languages = conformance.languages_of(parser, options.languages)
    conformance.need_built("leaks", languages)
    os.environ |= ENVIRONMENT
    leaking = 0
    for language in languages:
        before, after = measured(language, options.cycles, options.sanitized)
        grown = after["memory"] - before["memory"]
        equal = all(before[what] == after[what] for what in COUNTED)
        good = equal and grown <= MEMORY_GROWTH_MAX
        leaking += not good
        print(f"{language:<7} " + ", ".join(f"{what} {before[what]} and {after[what]}" for what in
                                            COUNTED) +
              f", memory {grown / 1024:+.0f} KiB" + (
                  f" (resident {(after['resident'] - before['resident']) / 1024:+.0f})" if options.sanitized else "") +
              f": {'equal' if good else 'LEAKS'}", flush=True)
    print(f"{len(languages)} languages, {leaking} leak, {options.cycles} cycles each")
    return 1 if leaking else 0


if __name__ == "__main__":
    sys.exit(main())
