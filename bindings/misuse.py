#!/usr/bin/env python3
"""Performs invalid actions in each language, and reports how the library answers.

    bindings/misuse.sh [--languages c,python] [--cases forked,ctrl-c]

Prints a line for each case and language: the answer, or how the program ended. The steps are the `misuse.*` steps of
tests/conformance/bindings/README.md, and ANSWERS contains the expected answers. The last line is `0 crashes, 0 hangs`.
The time limits of `ctrl-c` and `publisher-dropped` hold at the usual priority, even if other programs keep every
processor busy. They do not hold under `nice` with such load.
`publisher-dropped` requires root, a loop device and fsfreeze. It freezes a file system in a mount namespace of its
own.
Exit: 0 no crash, no hang and no unexpected answer, 1 otherwise, or if a case could not be run, 2 wrong usage.
"""

import argparse
import ctypes
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "conformance" / "bindings"))

import run as conformance  # noqa: E402

CRASHES = {signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGILL, signal.SIGFPE, signal.SIGTRAP}
CTRL_C_SECONDS_MAX = 0.2
EXIT_SECONDS_MAX = 5
DROP_MS_MAX = 1000
IN_A_WAIT_SECONDS = 0.5  # after this time, the program is in the wait that it was asked to start
CLONE_NEWNS = 0x20000
RECORDS = 100

# The expected answers, and the languages without the case. For C, bindings/c/misuse_test.cc tests these cases. The Rust
# compiler rejects the first two, and bindings/rust/lapwing/tests/fork.rs tests the fork. Other runtimes cannot fork.
ANSWERS = {
    "used-after": ("ok kinds=8 answers=misuse", ("c", "rust")),
    "two-threads": ("ok second=misuse first=interrupted", ("c", "rust")),
    "forked": ("ok child=forked parent=ok", ("c", "rust", "go", "java", "kotlin", "node")),
}


class Crash(Exception):
    pass


class Hang(Exception):
    pass


@contextmanager
def place():
    """A temporary directory with a bus of 16-byte records, and the publisher of the bus."""
    with tempfile.TemporaryDirectory(prefix="lw-", dir="/tmp") as directory:
        publisher = conformance.Driver("c", directory)
        try:
            asked(publisher, "publisher.open as=p directory=bus record_bytes=16 capacity=4096")
            asked(publisher, f"publisher.publish on=p from=1 count={RECORDS} timeout_ms=1000")
            yield directory, publisher
        finally:
            publisher.kill()


@contextmanager
def driver_of(language, directory):
    driver = conformance.Driver(language, directory)
    try:
        asked(driver, "library.version")
        yield driver
    finally:
        driver.kill()


def answered(driver, step):
    """The lines of the driver's answer."""
    try:
        return driver.ask(step)
    except RuntimeError as error:
        raise (Hang if "no answer" in str(error) else Crash)(str(error)) from None


def asked(driver, step):
    return answered(driver, step)[-1]


def end_of(driver, seconds):
    """The program's exit code, and the seconds until it ended."""
    start = time.monotonic()
    end = os.pidfd_open(driver.process.pid)  # Popen.wait() only polls every 50 ms
    try:
        if not select.select([end], [], [], seconds)[0]:
            raise Hang(f"it had not ended after {seconds} s")
    finally:
        os.close(end)
    took = time.monotonic() - start
    code = driver.process.wait()
    if code < 0 and signal.Signals(-code) in CRASHES or code - 128 in CRASHES:
        raise Crash(f"it ended with {code}")
    return code, took


def is_ended_well(driver):
    """Closes the program's input, and returns whether its exit code is 0."""
    driver.process.stdin.close()
    code, _ = end_of(driver, EXIT_SECONDS_MAX)
    return code == 0


def one_step(case):
    def take(language):
        with place() as (directory, _), driver_of(language, directory) as driver:
            answer = asked(driver, f"misuse.{case} directory=bus")
            ended_well = is_ended_well(driver)
        return answer, ended_well and answer == ANSWERS[case][0]
    return take


def publisher_killed(language):
    with place() as (directory, publisher), driver_of(language, directory) as driver:
        asked(driver, "subscriber.open as=s directory=bus start=live")
        asked(driver, "begin w subscriber.read-all on=s until=publisher-gone timeout_ms=forever")
        time.sleep(IN_A_WAIT_SECONDS)
        publisher.kill()
        lines = answered(driver, "end w")
        answer = next((line for line in lines if "publisher-gone" in line), lines[-1])
        return answer, lines[-1] == "ok"


def ctrl_c(language):
    with place() as (directory, _), driver_of(language, directory) as driver:
        send(driver, "misuse.wait directory=bus")
        driver.process.send_signal(signal.SIGINT)
        code, took = end_of(driver, EXIT_SECONDS_MAX)
        how = signal.Signals(-code).name if code < 0 else f"{code}"
        return f"ended with {how} after {took * 1000:.0f} ms", took <= CTRL_C_SECONDS_MAX


def exit_in_a_wait(language):
    with place() as (directory, _), driver_of(language, directory) as driver:
        send(driver, "misuse.exit-in-wait directory=bus")
        code, _ = end_of(driver, EXIT_SECONDS_MAX)
        return f"ended with {code}", code == 7


def send(driver, step):
    """Sends a step that has no answer, and waits until it has started."""
    driver.process.stdin.write(step.encode() + b"\n")
    driver.process.stdin.flush()
    time.sleep(IN_A_WAIT_SECONDS)


@contextmanager
def disk(folder):
    """A separate ext4 file system, mounted at `disk` in the folder."""
    image = Path(folder, "image")
    with open(image, "wb") as file:
        file.truncate(256 << 20)
    mounted = Path(folder, "disk")
    mounted.mkdir()
    subprocess.run(["mkfs.ext4", "-q", "-F", str(image)], check=True)
    subprocess.run(["mount", "-o", "loop", str(image), str(mounted)], check=True)
    try:
        yield mounted
    finally:
        # Unmount lazily: the kernel may still be closing files that io_uring held.
        subprocess.run(["umount", "--lazy", str(mounted)], check=True)


def publisher_dropped(language):
    with tempfile.TemporaryDirectory(prefix="lw-", dir="/tmp") as folder, disk(folder) as mounted:
        with driver_of(language, folder) as driver:
            asked(driver, "misuse.open-dropped directory=disk/bus")
            subprocess.run(["fsfreeze", "-f", str(mounted)], check=True)
            start = time.monotonic()
            try:
                answer = asked(driver, "misuse.drop")
                took_ms = (time.monotonic() - start) * 1000
                asked(driver, "library.version")
            finally:
                subprocess.run(["fsfreeze", "-u", str(mounted)], check=True)
            good = answer.startswith("ok ms=") and took_ms <= DROP_MS_MAX
            return answer, is_ended_well(driver) and good


def why_no_disk():
    """The reason why no file system can be frozen here, or None if one can."""
    if os.geteuid() != 0:
        return "it needs root"
    missing = [name for name in ("mkfs.ext4", "fsfreeze") if shutil.which(name) is None]
    return f"there is no {missing[0]}" if missing else None


def enter_mount_namespace():
    if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNS) != 0:
        raise OSError(ctypes.get_errno(), "unshare")
    subprocess.run(["mount", "--make-rprivate", "/"], check=True)


CASES = {case: one_step(case) for case in ANSWERS}
CASES |= {"publisher-killed": publisher_killed, "ctrl-c": ctrl_c, "exit-in-a-wait": exit_in_a_wait,
          "publisher-dropped": publisher_dropped}


def tried(case, language):
    """The text of the line, and the kind of failure: "", "crash", "hang" or "unexpected"."""
    try:
        answer, good = CASES[case](language)
        return answer, "" if good else "unexpected"
    except Crash as crash:
        return str(crash), "crash"
    except Hang as hang:
        return str(hang), "hang"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--languages", default=None)
    parser.add_argument("--cases", default=",".join(CASES))
    options = parser.parse_args()
    languages = conformance.languages_of(parser, options.languages)
    conformance.need_built("misuse", [*languages, "c"])  # the C driver is the publisher for all languages
    cases = options.cases.split(",")
    for unknown in set(cases) - set(CASES):
        parser.error(f"no case is called {unknown}; there are {', '.join(CASES)}")
    # A shell makes its background programs ignore SIGINT, and child processes inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    left_out = 0
    counts = {"crash": 0, "hang": 0, "unexpected": 0}
    for case in cases:
        why = why_no_disk() if case == "publisher-dropped" else None
        if why:
            print(f"SKIPPED: {case}: {why}")
            left_out += 1
            continue
        if case == "publisher-dropped":
            enter_mount_namespace()
        _, without = ANSWERS.get(case, ("", ()))
        for language in (one for one in languages if one not in without):
            answer, bad = tried(case, language)
            if bad:
                counts[bad] += 1
            print(f"{case:<18} {language:<7} {answer}{f'   <- {bad}' if bad else ''}", flush=True)
    print(f"{counts['crash']} crashes, {counts['hang']} hangs, {counts['unexpected']} unexpected answers, "
          f"{left_out} cases left out")
    return 1 if any(counts.values()) or left_out else 0


if __name__ == "__main__":
    sys.exit(main())
