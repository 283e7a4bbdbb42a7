"""Tests notifications to a service manager: READY, WATCHDOG while it works, and STOPPING.

The test acts as the service manager: a datagram socket in NOTIFY_SOCKET (sd_notify(3)).
"""

import ctypes
import os
import pathlib
import signal
import socket
import subprocess
import tempfile
import unittest

import harness

DONE = 0
RECORDS = 2000
WATCHDOG_MS = 400
SIGNS = 5
QUEUED_MAX = 50


class Manager:
    """A notify socket and its messages."""

    def __init__(self, test):
        folder = tempfile.TemporaryDirectory(prefix="lapwing-notify-")
        test.addCleanup(folder.cleanup)
        self.path = str(pathlib.Path(folder.name) / "notify")
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        test.addCleanup(self.socket.close)
        self.socket.bind(self.path)
        self.seen = []

    def environment(self, watchdog_ms=WATCHDOG_MS):
        more = {"NOTIFY_SOCKET": self.path}
        if watchdog_ms:
            more["WATCHDOG_USEC"] = str(watchdog_ms * 1000)
        return {**os.environ, **more}

    def next(self, seconds=harness.HANG_SECONDS):
        """The next message as a dictionary. Raises TimeoutError."""
        self.socket.settimeout(seconds)
        lines = self.socket.recv(4096).decode().splitlines()
        self.seen.append(dict(line.split("=", 1) for line in lines))
        return self.seen[-1]

    def until(self, name):
        """The next message with the assignment `name`=1."""
        while True:
            message = self.next()
            if message.get(name) == "1":
                return message

    def until_quiet(self):
        """Asserts that nothing arrives for three watchdog intervals, except queued messages."""
        for _ in range(QUEUED_MAX):
            try:
                self.next(3 * WATCHDOG_MS / 1000)
            except TimeoutError:
                return
        raise AssertionError(f"it goes on: {self.seen[-1]}")


class Held:
    """Stops one thread of a process with ptrace during the block. The others continue."""

    SEIZE, INTERRUPT, DETACH = 0x4206, 0x4207, 17

    def __init__(self, thread):
        self.thread = thread
        self.libc = ctypes.CDLL(None, use_errno=True)
        self.libc.ptrace.argtypes = [ctypes.c_long] * 4

    def request(self, number):
        if self.libc.ptrace(number, self.thread, 0, 0) < 0:
            raise OSError(ctypes.get_errno(), "ptrace")

    def __enter__(self):
        self.request(self.SEIZE)
        self.request(self.INTERRUPT)
        os.waitpid(self.thread, 0x40000000)  # __WALL, because it is not a child's main thread

    def __exit__(self, *_):
        self.request(self.DETACH)


def reports_to_systemd():
    """True if the build has libsystemd."""
    done = subprocess.run(["ldd", harness.program()], capture_output=True, text=True, check=True)
    return "libsystemd" in done.stdout


@unittest.skipUnless(reports_to_systemd(), "SKIPPED: built without libsystemd")
class Notified(harness.BusTest):
    def setUp(self):
        super().setUp()
        self.manager = Manager(self)

    def watched(self, name, *arguments, **popen):
        return self.start(name, *arguments, env=self.manager.environment(), **popen)

    def lives_and_stops(self, process):
        """Checks its signs of life, their absence while it is stopped, and the message when it
        ends."""
        for _ in range(SIGNS):
            self.manager.until("WATCHDOG")
        process.signal(signal.SIGSTOP)
        self.manager.until_quiet()
        process.signal(signal.SIGCONT)
        self.manager.until("WATCHDOG")
        process.signal(signal.SIGTERM)
        self.manager.until("STOPPING")
        self.assertEqual(process.wait(), DONE, process.err())

    def test_a_publisher_is_ready_when_its_bus_is_open(self):
        publisher = self.watched("publish", "publish", "--source", "synthetic:records=100",
                                 "--linger", "10000s")
        self.assertIn(self.bus, self.manager.until("READY")["STATUS"])
        self.run_to_end("tail", "tail", "--count", 100, "--from", "start", "--format", "none",
                        "--reattach", 0)
        self.lives_and_stops(publisher)

    def test_a_publisher_lives_while_its_source_is_silent(self):
        flow = self.publish_flow("publish", self.raw_dbn(f"synthetic:records={RECORDS}"),
                                 env=self.manager.environment())
        flow.feed(10)
        self.manager.until("READY")
        self.lives_and_stops(flow.publisher)

    def test_a_publisher_lives_while_it_waits_for_subscribers(self):
        publisher = self.watched("publish", "publish", "--source", "synthetic:records=100",
                                 "--await", 1)
        self.manager.until("READY")
        self.assertIn("waiting for 1 subscriber of", self.manager.next()["STATUS"])
        self.lives_and_stops(publisher)

    def test_a_publisher_lives_while_records_are_not_due(self):
        publisher = self.watched("publish", "publish", "--source", "synthetic:records=100",
                                 "--pace", "0.001")
        self.manager.until("READY")
        self.lives_and_stops(publisher)

    def test_a_publisher_that_publishes_flat_out_lives(self):
        publisher = self.watched("publish", "publish", "--source", "synthetic:records=1000",
                                 "--loop", 0, "--retain-bytes", "1M", "--segment-bytes", "1M")
        self.manager.until("READY")
        self.lives_and_stops(publisher)

    def test_a_publisher_that_cannot_open_its_bus_is_never_ready(self):
        self.run_to_end("publish", "publish", "--source", "synthetic:records=100", "--capacity", 3,
                        env=self.manager.environment(), expect=2)
        self.manager.until_quiet()
        self.assertEqual(self.manager.seen, [])

    def test_a_recorder_is_ready_when_it_is_on_its_bus(self):
        recorder = self.watched("record", "record", "--out", self.folder / "copy.dbn",
                                "--reattach", "forever")
        self.manager.until("WATCHDOG")
        self.assertFalse(any("READY" in message for message in self.manager.seen))
        self.start("publish", "publish", "--source", "synthetic:records=100", "--linger", "10000s")
        self.assertIn("copy.dbn", self.manager.until("READY")["STATUS"])
        self.lives_and_stops(recorder)

    def test_a_checkpointer_is_ready_when_it_folds(self):
        self.start("publish", "publish", "--source", "synthetic:records=100", "--linger", "10000s")
        folder = self.watched("checkpoint", "checkpoint", "--fold", "orders")
        self.assertIn("orders", self.manager.until("READY")["STATUS"])
        self.lives_and_stops(folder)

    def test_a_status_is_one_line(self):
        bus = str(self.folder / "a\nREADY=0")
        publisher = self.start("publish", "publish", "--source", "synthetic:records=100",
                               "--linger", "10000s", bus=bus, env=self.manager.environment())
        self.assertIn("a?READY=0", self.manager.until("READY")["STATUS"])
        self.assertEqual(publisher.stop(), DONE)

    def test_without_a_watchdog_there_are_no_signs_of_life(self):
        publisher = self.start("publish", "publish", "--source", "synthetic:records=100",
                               "--linger", "10000s", env=self.manager.environment(watchdog_ms=0))
        self.manager.until("READY")
        self.manager.until_quiet()
        self.assertEqual(len(self.manager.seen), 1)
        self.assertEqual(publisher.stop(), DONE)


@unittest.skipUnless(reports_to_systemd(), "SKIPPED: built without libsystemd")
class Server(harness.ProgramTest):
    lives_and_stops = Notified.lives_and_stops

    def test_a_server_is_ready_when_it_listens(self):
        self.manager = Manager(self)
        server = self.start("serve", "serve", "--listen", "127.0.0.1:0",
                            env=self.manager.environment())
        address = self.manager.until("READY")["STATUS"].removeprefix("serving at ")
        host, port = address.removeprefix("http://").rstrip("/").split(":")
        with socket.create_connection((host, int(port)), harness.HANG_SECONDS) as connection:
            connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
            self.assertIn(b" 200 ", connection.recv(4096).splitlines()[0])
        self.lives_and_stops(server)

    def test_a_server_whose_connections_hang_gives_no_sign(self):
        """A debugger stops only the connection thread. The other threads continue."""
        self.manager = Manager(self)
        server = self.start("serve", "serve", "--listen", "127.0.0.1:0",
                            env=self.manager.environment())
        self.manager.until("READY")
        tasks = pathlib.Path(f"/proc/{server.pid}/task")
        threads = self.until("the thread's name", lambda: [
            int(task.name) for task in tasks.iterdir()
            if (task / "comm").read_text().strip() == "lapwing-http"])
        with Held(threads[0]):
            self.manager.until_quiet()
        self.manager.until("WATCHDOG")
        self.assertEqual(server.stop(), DONE)


if __name__ == "__main__":
    unittest.main(verbosity=2)
