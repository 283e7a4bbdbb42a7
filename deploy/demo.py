"""Runs a publisher, its subscribers, and the failures of a bad trading day.

Called by demo.sh: demo.py LAPWING [FILE.dbn.zst].
"""

import json
import signal
import subprocess
import sys
import threading
import time

from demo_processes import Processes

RUN_SECONDS = 16         # duration of the feed
SYNTHETIC_RECORDS = 2_000_000
CAPACITY = 4096          # slots: small, so that a stopped subscriber is lapped
CAPACITY_SLOW = 1024     # for feeds too slow to lap it in a second; the minimum
HANG_SECONDS = 300       # only ends a hang


class Demo(Processes):
    """The bus and its publisher and subscribers."""

    def __init__(self, lapwing, feed):
        super().__init__(lapwing, "lapwing-demo-")
        self.bus = str(self.folder / "bus")
        self.recording = str(self.folder / "recording.dbn.zst")
        self.feed = feed
        self.began = time.monotonic()
        if feed:
            self.source = f"dbn:{feed}"
            self.expected = self.count_records(feed)
        else:
            self.source = f"synthetic:records={SYNTHETIC_RECORDS}"
            self.expected = SYNTHETIC_RECORDS
        self.rate = max(self.expected // RUN_SECONDS, 100)
        self.capacity = CAPACITY if self.rate > CAPACITY else CAPACITY_SLOW

    @staticmethod
    def count_records(feed):
        """The number of records, assuming one size for all: accurate enough to choose a pace."""
        unpack = ["zstd", "-dcq", feed] if feed.endswith(".zst") else ["cat", feed]
        with subprocess.Popen(unpack, stdout=subprocess.PIPE) as unpacked:
            start = unpacked.stdout.read(1 << 20)
            total = len(start)
            while block := unpacked.stdout.read(1 << 20):
                total += len(block)
        # DBN: magic and version, length of the metadata, metadata. The first byte of a record is
        # its length in 4-byte words. `lapwing publish` refuses other formats.
        records_begin = 8 + int.from_bytes(start[4:8], "little")
        size = 4 * start[records_begin] if records_begin < len(start) else 0
        return (total - records_begin) // size if size else 0

    def say(self, text):
        print(f"  {time.monotonic() - self.began:5.1f} s  {text}", flush=True)

    def start(self, name, *arguments, bus=None):
        return super().start(name, arguments[0], "--bus", bus or self.bus, *arguments[1:])

    def publish(self, name, *more):
        return self.start(name, "publish", "--source", self.source, "--pace", str(self.rate),
                          "--capacity", str(self.capacity), "--resume", "--summary", *more)

    def tail(self, name, *more, bus=None):
        return self.start(name, "tail", "--from", "oldest", "--until-closed", "--format", "none",
                          "--summary", *more, bus=bus)

    def info(self):
        done = subprocess.run([self.lapwing, "info", "--json", "--bus", self.bus],
                              capture_output=True, text=True, check=False)
        return json.loads(done.stdout) if done.returncode == 0 else None

    def head(self):
        info = self.info()
        if not info:
            return 0
        if info["ring"]:
            return info["ring"]["head"]
        # The feed has ended: use the sessions.
        return max((session.get("last", 0) for session in info["sessions"]), default=0)

    def until(self, what, condition):
        deadline = time.monotonic() + HANG_SECONDS
        while not condition():
            refused = (self.running[0].poll() or 0) > 0  # the publisher; negative after a kill
            if refused or time.monotonic() > deadline:
                raise RuntimeError(f"timed out waiting for {what}; the publisher printed:\n"
                                   + self.errors("publisher-1"))
            time.sleep(0.05)

    def schema(self):
        """The schema of the records. Waits until the publisher has created the bus."""
        self.until("the publisher to begin", self.info)
        return self.info()["schema"]

    def until_share(self, share):
        """Waits until this share of the feed has been published."""
        self.until(f"{share:.0%} of the feed to be published",
                   lambda: self.head() >= self.expected * share)

    def summary(self, name):
        lines = self.output(name).splitlines()
        return json.loads(lines[-1]) if lines else None


class CrashLoop(threading.Thread):
    """Kills a process with SIGKILL repeatedly and restarts it."""

    def __init__(self, demo, name, *arguments):
        super().__init__(daemon=True)
        self.demo = demo
        self.name = name
        self.arguments = arguments
        self.kills = 0
        self.calm = threading.Event()  # set to stop killing
        self.code = None

    def run(self):
        while self.code is None:
            process = self.demo.start(f"{self.name}-{self.kills}", *self.arguments,
                                      "--until-closed")
            if self.calm.wait(0.7):
                self.code = process.wait(HANG_SECONDS)
            elif process.poll() is None:
                process.kill()
                process.wait()
                self.kills += 1
            else:
                self.code = process.returncode

    def settle(self):
        """Stops killing and waits until the last process has ended."""
        self.calm.set()
        self.join(HANG_SECONDS)

    def complaint(self):
        """Messages about failures; empty if there are none."""
        if self.kills and self.code == 0:
            return []
        return [f"the {self.name} was killed {self.kills} times and ended with {self.code}: "
                + self.demo.errors(f"{self.name}-{self.kills}")]


class Strategies:
    """Two strategies that keep the feed's order books: one runs all day, one crashes and restarts.

    A checkpointer, which is also killed repeatedly, provides the state from which the second one
    starts. Order books need a market-by-order feed.
    """

    def __init__(self, demo):
        self.demo = demo
        self.checkpointer = CrashLoop(demo, "checkpointer", "checkpoint", "--fold", "orders",
                                      "--every", "200ms", "--summary")
        self.checkpointer.start()
        self.keep_book("strategy", "oldest")
        self.crashing = self.keep_book("strategy that crashes", "oldest")

    def keep_book(self, name, start):
        return self.demo.start(name, "book", "--from", start, "--until-closed", "--summary",
                               "--depth", "1")

    def crash(self):
        self.crashing.kill()
        self.crashing.wait()
        self.demo.say("a strategy that maintains order books is killed")

    def restart(self):
        self.keep_book("strategy that crashed", "snapshot")
        self.demo.say("the strategy is restarted from the newest checkpoint; the process that writes "
                      "checkpoints is killed repeatedly as well")

    def judge(self):
        """Prints the results and returns messages about failures."""
        whole = self.demo.summary("strategy")
        restarted = self.demo.summary("strategy that crashed")
        kept = self.demo.summary(f"checkpointer-{self.checkpointer.kills}")
        if not (whole and restarted and kept):
            return ["a strategy or the checkpointer ended without a summary"]
        print(f"  checkpoints: the process that writes them was killed {self.checkpointer.kills} "
              f"times; state as of {kept['as_of']:,}: {kept['digest']}")
        print(f"  order books: the strategy that was never killed, as of {whole['sequence']:,}: "
              f"{whole['digest']}")
        # None if the venue's first event, such as its snapshot, had not ended by then.
        as_of = restarted.get("state_as_of")
        print("               the strategy restarted "
              + (f"from a checkpoint as of {as_of:,}" if as_of
                 else "from the start (there was no checkpoint yet)")
              + f", which read {restarted['records']:,} records: {restarted['digest']}")
        wrong = self.checkpointer.complaint()
        if len({whole["digest"], restarted["digest"], kept["digest"]}) != 1:
            wrong.append("the order books differ")
        return wrong


def run_day(demo):
    """Runs the day. Returns the names of the subscribers, the recorder and the strategies."""
    print(f"\nA feed of about {demo.expected:,} records over {RUN_SECONDS} s, "
          f"on a ring of {demo.capacity:,} slots\n")
    publisher = demo.publish("publisher-1", "--await", "4")
    demo.tail("from the start")
    demo.tail("parked", "--wait", "park")
    stopped = demo.tail("stopped 3 s", "--wait", "busy")
    recorder = CrashLoop(demo, "recorder", "record", "--from", "oldest", "--out", demo.recording)
    recorder.start()
    demo.say("the publisher has started; one subscriber reads from the start, one is parked, and one "
             "records and is killed repeatedly")
    strategies = Strategies(demo) if demo.schema() == "dbn.mbo" else None
    demo.until_share(0.15)
    stopped.send_signal(signal.SIGSTOP)
    demo.say("one subscriber is stopped (SIGSTOP); the publisher does not notice")
    away = demo.head()
    time.sleep(3)
    demo.until("the subscriber to be lapped", lambda: demo.head() > away + demo.capacity)
    stopped.send_signal(signal.SIGCONT)
    demo.say("it continues (SIGCONT), has been lapped, and fills the gap from the journal")
    demo.until_share(0.4)
    if strategies:
        strategies.crash()
    demo.until_share(0.5)
    publisher.kill()
    publisher.wait()
    demo.say("the publisher is killed (SIGKILL) in the middle of the feed")
    second = demo.publish("publisher-2")
    demo.say("the publisher is restarted with --resume; all subscribers reattach by themselves")
    demo.until_share(0.7)
    demo.tail("late")
    demo.say("a late subscriber joins and reads from the start")
    if strategies:
        strategies.restart()
    if second.wait(HANG_SECONDS + RUN_SECONDS) != 0:
        raise RuntimeError("the second publisher failed:\n" + demo.errors("publisher-2"))
    demo.say("the feed has ended, and the publisher has closed its session")
    recorder.settle()
    if strategies:
        strategies.checkpointer.settle()
    return ["from the start", "parked", "stopped 3 s", "late"], recorder, strategies


def read_back(demo):
    """Publishes the crashing recorder's file on a separate bus; returns its digest."""
    bus = str(demo.folder / "read-back")
    reader = demo.tail("recording", bus=bus)
    publisher = demo.start("publisher-3", "publish", "--source", f"dbn:{demo.recording}",
                           "--await", "1", bus=bus)
    if publisher.wait(HANG_SECONDS) != 0:
        raise RuntimeError("the recording cannot be read back:\n" + demo.errors("publisher-3"))
    reader.wait(HANG_SECONDS)
    return demo.summary("recording")


def print_table(rows):
    head = ("subscriber", "records", "first", "last", "gaps", "filled", "lost", "sessions",
            "digest")
    cells = [head] + [
        (name, f"{row['records']:,}", f"{row['first']:,}", f"{row['last']:,}", str(row["gaps"]),
         f"{row['filled']:,}", str(row["lost"]), str(row["sessions"]), row["digest"])
        for name, row in rows]
    widths = [max(len(line[column]) for line in cells) for column in range(len(head))]
    print()
    for index, line in enumerate(cells):
        columns = enumerate(zip(line, widths, strict=True))
        print("  " + "  ".join(cell.ljust(width) if column in (0, 8) else cell.rjust(width)
                              for column, (cell, width) in columns))
        if index == 0:
            print("  " + "  ".join("-" * width for width in widths))
    print()


def judge(demo, rows, recorder, strategies):
    """Prints the verdict. True if all digests agree and all intended events happened."""
    publisher = demo.summary("publisher-2")
    records = publisher["last"]
    wrong = []
    for name, row in rows:
        if row["records"] != records or row["digest"] != rows[0][1]["digest"]:
            wrong.append(f"{name} received {row['records']:,} records, digest {row['digest']}")
        if row["lost"] or row["duplicates"] or row["out_of_order"]:
            wrong.append(f"{name}: {row['lost']} lost, {row['duplicates']} duplicates, "
                         f"{row['out_of_order']} out of order")
    if dict(rows)["stopped 3 s"]["gaps"] == 0:
        wrong.append("the stopped subscriber was never lapped, so the demo proves nothing about laps")
    wrong += recorder.complaint()
    print(f"  publisher: killed once, resumed at record {publisher['first']:,}; "
          f"{publisher['journal_stalls']} stalls, longest "
          f"{publisher['journal_stall_ns_max'] / 1e3:.0f} us; "
          f"publish p50 {publisher['publish_ns']['p50']} ns, "
          f"p99 {publisher['publish_ns']['p99']} ns")
    print(f"  recorder:  killed {recorder.kills} times, continued its file each time")
    if strategies:
        wrong += strategies.judge()
    else:
        print("  order books: none, because the feed is not market by order")
    for line in wrong:
        print(f"  FAILED: {line}")
    if not wrong:
        print(f"\nall subscribers received the same {records:,} records")
        if strategies:
            print("and all order books are equal")
    return not wrong


def main():
    demo = Demo(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else None)
    try:
        names, recorder, strategies = run_day(demo)
        for process in demo.running:
            process.wait(HANG_SECONDS)
        rows = []
        for name in names:
            summary = demo.summary(name)
            if summary is None:
                raise RuntimeError(f"{name} ended without a summary:\n{demo.errors(name)}")
            rows.append((name, summary))
        rows.append(("killed in a loop", read_back(demo)))
        print_table(rows)
        return 0 if judge(demo, rows, recorder, strategies) else 1
    except (RuntimeError, subprocess.TimeoutExpired) as error:
        print(f"\ndemo: {error}", file=sys.stderr)
        return 1
    finally:
        demo.end()


if __name__ == "__main__":
    sys.exit(main())
