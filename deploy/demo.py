"""One publisher, six subscribers, and everything that goes wrong in a trading day.

Called by demo.sh: demo.py LAPWING [FILE.dbn.zst]. Every process is started here and ended by
its own id.
"""

import json
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

RUN_SECONDS = 16         # how long the feed is stretched over
SYNTHETIC_RECORDS = 2_000_000
CAPACITY = 4096          # slots: small, so that a stopped subscriber is lapped many times over
HANG_SECONDS = 60


class Demo:
    """The processes of the demonstration and the folder they work in."""

    def __init__(self, lapwing, feed):
        self.lapwing = lapwing
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="lapwing-demo-"))
        self.bus = str(self.folder / "bus")
        self.recording = str(self.folder / "recording.dbn.zst")
        self.feed = feed
        self.began = time.monotonic()
        self.processes = []
        if feed:
            self.source = f"dbn:{feed}"
            self.expected = self.count_records(feed)
        else:
            self.source = f"synthetic:records={SYNTHETIC_RECORDS}"
            self.expected = SYNTHETIC_RECORDS
        self.rate = max(self.expected // RUN_SECONDS, 100)

    @staticmethod
    def count_records(feed):
        """How many records the feed has, if all are of one size: enough to choose a pace."""
        unpack = ["zstd", "-dcq", feed] if feed.endswith(".zst") else ["cat", feed]
        with subprocess.Popen(unpack, stdout=subprocess.PIPE) as unpacked:
            start = unpacked.stdout.read(1 << 20)
            total = len(start)
            while block := unpacked.stdout.read(1 << 20):
                total += len(block)
        # DBN: magic and version, the metadata's length, the metadata; a record's first byte is its
        # length in words of four bytes. What is no DBN is left to `lapwing publish` to refuse.
        records_begin = 8 + int.from_bytes(start[4:8], "little")
        size = 4 * start[records_begin] if records_begin < len(start) else 0
        return (total - records_begin) // size if size else 0

    def say(self, text):
        print(f"  {time.monotonic() - self.began:5.1f} s  {text}", flush=True)

    def start(self, name, *arguments, bus=None):
        out = open(self.folder / f"{name}.out", "wb")
        err = open(self.folder / f"{name}.err", "wb")
        command = [self.lapwing, arguments[0], "--bus", bus or self.bus, *arguments[1:]]
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err)
        self.processes.append(process)
        return process

    def publish(self, name, *more):
        return self.start(name, "publish", "--source", self.source, "--pace", str(self.rate),
                          "--capacity", str(CAPACITY), "--resume", "--summary", *more)

    def tail(self, name, *more, bus=None):
        return self.start(name, "tail", "--from", "start", "--until-closed", "--format", "none",
                          "--summary", *more, bus=bus)

    def head(self):
        done = subprocess.run([self.lapwing, "info", "--json", "--bus", self.bus],
                              capture_output=True, text=True, check=False)
        if done.returncode != 0:
            return 0
        ring = json.loads(done.stdout)["ring"]
        return ring["head"] if ring else 0

    def until_share(self, share):
        """Waits until that share of the feed is published."""
        deadline = time.monotonic() + HANG_SECONDS
        while self.head() < self.expected * share:
            if time.monotonic() > deadline:
                raise RuntimeError(f"the publisher did not reach {share:.0%} of the feed")
            time.sleep(0.05)

    def summary(self, name):
        lines = (self.folder / f"{name}.out").read_text().splitlines()
        return json.loads(lines[-1]) if lines else None

    def errors(self, name):
        return (self.folder / f"{name}.err").read_text()

    def end(self):
        for process in self.processes:
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)
                process.kill()
                process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


class CrashLoop(threading.Thread):
    """A recorder that is killed with SIGKILL again and again, and goes on where it was."""

    def __init__(self, demo):
        super().__init__(daemon=True)
        self.demo = demo
        self.kills = 0
        self.calm = threading.Event()  # set: no more kills
        self.code = None

    def run(self):
        while self.code is None:
            process = self.demo.start(f"recorder-{self.kills}", "record", "--from", "start",
                                      "--out", self.demo.recording, "--until-closed")
            if self.calm.wait(0.7):
                self.code = process.wait(HANG_SECONDS)
            elif process.poll() is None:
                process.kill()
                process.wait()
                self.kills += 1
            else:
                self.code = process.returncode


def live_through_it(demo):
    """The day itself. Returns the names of the subscribers and the crash loop."""
    print(f"\nA feed of about {demo.expected:,} records over {RUN_SECONDS} s, "
          f"on a ring of {CAPACITY:,} slots\n")
    publisher = demo.publish("publisher-1", "--await", "4")
    demo.tail("from the start")
    demo.tail("parked", "--wait", "park")
    stopped = demo.tail("stopped 3 s", "--wait", "busy")
    crash_loop = CrashLoop(demo)
    crash_loop.start()
    demo.say("publisher started; one follows from the start, one is parked, one records and keeps "
             "crashing")
    demo.until_share(0.15)
    stopped.send_signal(signal.SIGSTOP)
    demo.say("one subscriber is stopped (SIGSTOP); the publisher does not notice")
    time.sleep(3)
    stopped.send_signal(signal.SIGCONT)
    demo.say("it goes on (SIGCONT), lapped, and fills its gap from the journal")
    demo.until_share(0.5)
    publisher.kill()
    publisher.wait()
    demo.say("the publisher is killed (SIGKILL) in the middle of the feed")
    second = demo.publish("publisher-2")
    demo.say("it is started again with --resume; everybody re-attaches by himself")
    demo.until_share(0.7)
    demo.tail("late")
    demo.say("a late one joins and wants everything from the start")
    if second.wait(HANG_SECONDS + RUN_SECONDS) != 0:
        raise RuntimeError("the second publisher failed:\n" + demo.errors("publisher-2"))
    demo.say("the feed has ended, the publisher has closed its session")
    crash_loop.calm.set()
    crash_loop.join(HANG_SECONDS)
    return ["from the start", "parked", "stopped 3 s", "late"], crash_loop


def read_back(demo):
    """Publishes the crashing recorder's file on a bus of its own and follows it: its digest."""
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
        print("  " + "  ".join(cell.ljust(width) if column in (0, 8) else cell.rjust(width)
                              for column, (cell, width) in enumerate(zip(line, widths))))
        if index == 0:
            print("  " + "  ".join("-" * width for width in widths))
    print()


def judge(demo, rows, crash_loop):
    """Prints the verdict; True if all agree and the events that were to happen did."""
    publisher = demo.summary("publisher-2")
    records = publisher["last"]
    wrong = []
    for name, row in rows:
        if row["records"] != records or row["digest"] != rows[0][1]["digest"]:
            wrong.append(f"{name} got {row['records']:,} records, digest {row['digest']}")
        if row["lost"] or row["duplicates"] or row["out_of_order"]:
            wrong.append(f"{name} lost {row['lost']}, twice {row['duplicates']}, "
                         f"out of order {row['out_of_order']}")
    if dict(rows)["stopped 3 s"]["gaps"] == 0:
        wrong.append("the stopped subscriber was never lapped: nothing was shown")
    if crash_loop.kills == 0 or crash_loop.code != 0:
        wrong.append(f"the recorder was killed {crash_loop.kills} times and ended with "
                     f"{crash_loop.code}")
    print(f"  publisher: killed once, resumed at record {publisher['first']:,}; "
          f"{publisher['journal_stalls']} stalls, longest "
          f"{publisher['journal_stall_ns_max'] / 1e3:.0f} us; "
          f"publish p50 {publisher['publish_ns']['p50']} ns, "
          f"p99 {publisher['publish_ns']['p99']} ns")
    print(f"  recorder:  killed {crash_loop.kills} times, continued its file each time")
    for line in wrong:
        print(f"  differs: {line}")
    if not wrong:
        print(f"\neveryone saw the same {records:,} records")
    return not wrong


def main():
    demo = Demo(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else None)
    try:
        names, crash_loop = live_through_it(demo)
        for process in demo.processes:
            process.wait(HANG_SECONDS)
        rows = []
        for name in names:
            summary = demo.summary(name)
            if summary is None:
                raise RuntimeError(f"{name} ended without a summary:\n{demo.errors(name)}")
            rows.append((name, summary))
        rows.append(("killed in a loop", read_back(demo)))
        print_table(rows)
        return 0 if judge(demo, rows, crash_loop) else 1
    except (RuntimeError, subprocess.TimeoutExpired) as error:
        print(f"\ndemo: {error}", file=sys.stderr)
        return 1
    finally:
        demo.end()


if __name__ == "__main__":
    sys.exit(main())
