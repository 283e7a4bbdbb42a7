"""Runs two buses and six subscribers for an operator. One subscriber is too slow, another is stopped.

Called by operate_demo.sh: operate_demo.py LAPWING [--once] [FILE.dbn.zst [FILE.dbn.zst]].
"""

import signal
import subprocess
import sys
import threading
import time

from demo_processes import Processes

SYNTHETIC = ("synthetic:records=2000000,seed=1", "synthetic:records=2000000,seed=2")
RATES = (20_000, 4_000)     # records per second
NAMES = ("futures", "equities")
SLOW_BYTES = 4096           # bytes per read of the slow subscriber
SLOW_PAUSE_SECONDS = 0.05
HANG_SECONDS = 60           # only ends a hang


def read_slowly(pipe):
    """Reads the output of the slow subscriber slowly, so that it falls behind."""
    while pipe.read(SLOW_BYTES):
        time.sleep(SLOW_PAUSE_SECONDS)


class Desk(Processes):
    """The two buses and their processes."""

    def __init__(self, lapwing, feeds):
        super().__init__(lapwing, "lapwing-operate-")
        self.sources = [f"dbn:{feed}" for feed in feeds] + list(SYNTHETIC[len(feeds):])

    def bus(self, name):
        return str(self.folder / name)

    def publish(self):
        for name, source, rate in zip(NAMES, self.sources, RATES, strict=False):
            self.start(f"publish-{name}", "publish", "--bus", self.bus(name), "--source", source, "--pace", rate,
                       "--loop", 0, "--restamp")
        for name in NAMES:
            self.until(f"the bus {name}", lambda name=name: self.has_ring(name), f"publish-{name}")

    def has_ring(self, name):
        done = subprocess.run([self.lapwing, "info", "--bus", self.bus(name), "--json"], capture_output=True, check=False)
        return done.returncode == 0

    def follow(self, name, command, bus, *options, stdout=None):
        return self.start(name, command, "--bus", self.bus(bus), "--name", name, *options, stdout=stdout)

    def subscribe(self):
        self.follow("strategy", "tail", "futures", "--format", "none", "--wait", "park", "--measure", 16)
        self.follow("recorder", "record", "futures", "--out", self.folder / "futures.records.zst")
        self.follow("risk", "tail", "equities", "--format", "none")
        self.follow("archive", "record", "equities", "--from", "oldest", "--out", self.folder / "equities.records.zst")
        slow = self.follow("slow", "tail", "futures", "--format", "json", stdout=subprocess.PIPE)
        threading.Thread(target=read_slowly, args=(slow.stdout,), daemon=True).start()
        stopped = self.follow("stopped", "tail", "equities", "--format", "none")
        self.until("six subscribers", lambda: self.attached() == 6, "stopped")
        stopped.send_signal(signal.SIGSTOP)

    def attached(self):
        counts = (subprocess.run([self.lapwing, "subscribers", "--bus", self.bus(name)], capture_output=True, text=True,
                                 check=False).stdout for name in NAMES)
        return sum(any(word in line.split() for word in ("strategy", "recorder", "risk", "archive", "slow", "stopped"))
                   for text in counts for line in text.splitlines())

    def serve(self):
        """The line with the address and token of the page."""
        expected = [option for name in NAMES for option in ("--bus", self.bus(name))]
        self.start("serve", "serve", *expected, "--listen", "127.0.0.1:0", "--expect", "futures:strategy")
        self.until("the server", lambda: self.output("serve").endswith("\n"), "serve")
        return self.output("serve").strip()

    def until(self, what, condition, name):
        deadline = time.monotonic() + HANG_SECONDS
        while not condition():
            if time.monotonic() > deadline or any(process.poll() for process in self.running):
                raise RuntimeError(f"timed out waiting for {what}:\n{self.errors(name)}")
            time.sleep(0.05)

    def top(self, once):
        buses = [option for name in NAMES for option in ("--bus", self.bus(name))]
        return subprocess.call([self.lapwing, "top", *buses, *(["--once"] if once else [])])


def main():
    lapwing, *rest = sys.argv[1:]
    once = "--once" in rest or not sys.stdout.isatty()
    desk = Desk(lapwing, [feed for feed in rest if feed != "--once"])
    try:
        desk.publish()
        desk.subscribe()
        print(desk.serve(), flush=True)
        if not once:
            input("Open this address in a browser, then press Enter for `lapwing top` (2: subscribers, q: quit). ")
        time.sleep(2)  # until the slow one is behind
        return desk.top(once)
    except (EOFError, KeyboardInterrupt):
        return 0
    except RuntimeError as error:
        print(f"operate_demo: {error}", file=sys.stderr)
        return 1
    finally:
        desk.end()


if __name__ == "__main__":
    sys.exit(main())
