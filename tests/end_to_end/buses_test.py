"""Tests `buses` and `health` during stops, kills, restarts and closes."""

import json
import os
import pathlib
import resource
import signal
import socket
import unittest

import harness

DONE, OTHER, USAGE, GONE, JOURNAL_FAILED = 0, 1, 2, 5, 6
RECORDS = 5000
FOR_EVER = ("--linger", "3600s")


class BusesTest(harness.BusTest):
    def publish(self, name="publish", **keywords):
        publisher = self.start(name, "publish", "--source", f"synthetic:records={RECORDS}", *FOR_EVER,
                               **keywords)
        self.until_durable(RECORDS)
        return publisher

    def listed(self, name="buses"):
        """This test's bus in the list, or None."""
        found = json.loads(self.run_alone(name, "buses", "--json").out())
        directory = os.path.realpath(self.bus)
        mine = [bus for bus in found["buses"] if bus["directory"] == directory]
        self.assertLessEqual(len(mine), 1)
        return mine[0] if mine else None

    def run_alone(self, name, *arguments, expect=DONE):
        """A command without this test's --bus."""
        process = harness.ProgramTest.start(self, name, *arguments)
        code = process.wait()
        self.assertEqual(code, expect, process.err() + process.out())
        return process

    def until_state(self, state):
        self.until(f"the bus is {state}", lambda: (self.listed() or {}).get("state") == state)


class Buses(BusesTest):
    def test_a_bus_is_listed_through_stops_and_kills_until_it_is_closed(self):
        self.assertIsNone(self.listed())
        publisher = self.publish()
        found = self.listed()
        self.assertEqual(found["state"], "running")
        self.assertEqual(found["publisher_pid"], publisher.pid)
        self.assertEqual(found["uid"], os.geteuid())
        self.assertEqual(found["ring"]["head"], RECORDS)
        publisher.signal(signal.SIGSTOP)
        self.until_state("stopped")
        publisher.signal(signal.SIGCONT)
        self.until_state("running")
        publisher.kill()
        self.until_state("gone")
        successor = self.publish("successor")
        self.until("the successor is listed",
                   lambda: self.listed()["publisher_pid"] == successor.pid)
        self.assertEqual(successor.stop(), DONE, successor.err())
        self.assertIsNone(self.listed())

    def test_info_judges_the_publisher_as_other_monitors_do(self):
        publisher = self.publish()
        for begin, state in ((lambda: None, "running"),
                             (lambda: publisher.signal(signal.SIGSTOP), "stopped"),
                             (lambda: publisher.signal(signal.SIGCONT), "running"),
                             (publisher.kill, "gone")):
            begin()
            self.until_state(state)
            self.assertEqual(self.info()["ring"]["state"], state)
            self.assertEqual(self.listed()["ring"]["state"], state)
            self.assertIn(f".ring, {state}, heartbeat ", self.run_to_end("text", "info").out())

    def test_the_table_has_the_same(self):
        publisher = self.publish()
        table = self.run_alone("table", "buses").out()
        line = next(line for line in table.splitlines() if os.path.realpath(self.bus) in line)
        self.assertEqual(line.split()[0], "running")
        self.assertIn(f" {publisher.pid} ", line)

    def test_the_announcement_of_a_bus_that_is_removed_goes_with_the_next_start(self):
        self.publish().kill()
        pathlib.Path(self.bus, "bus.json").rename(pathlib.Path(self.bus, "away"))
        self.assertEqual(self.listed()["state"], "unreadable")
        pathlib.Path(self.bus, "away").rename(pathlib.Path(self.bus, "bus.json"))
        directory = os.path.realpath(self.bus)
        os.rename(self.bus, self.bus + "-moved")
        self.assertIsNone(self.listed())
        self.run_to_end("other", "publish", "--source", "synthetic:records=10",
                        bus=str(self.folder / "other"))
        self.assertFalse(self.is_announced(directory))

    def is_announced(self, directory):
        return any(directory in path.read_text()
                   for path in pathlib.Path("/dev/shm", f"lapwing-{os.geteuid()}").glob("*.bus"))


class Health(BusesTest):
    def health(self, *arguments, expect):
        """The output, which is on standard error for an unhealthy bus."""
        done = self.run_to_end("health", "health", *arguments, expect=expect)
        self.assertEqual(done.out() == "", expect != DONE)
        return done.out() + done.err()

    def test_a_bus_is_well_while_its_publisher_runs(self):
        publisher = self.publish()
        said = self.health(expect=DONE)
        self.assertEqual(said, f"healthy: running, head {RECORDS}, 0 subscribers\n")
        publisher.signal(signal.SIGSTOP)
        self.assertIn("is stopped", self.health(expect=GONE))
        publisher.signal(signal.SIGCONT)
        publisher.kill()
        self.health(expect=GONE)

    def test_without_a_bus_there_is_no_publisher(self):
        self.health(expect=GONE)

    def test_a_bus_that_was_closed_has_no_publisher(self):
        self.assertEqual(self.publish().stop(), DONE)
        self.assertEqual(self.health(expect=GONE),
                         "lapwing: unhealthy: no publisher: the bus is closed\n")

    def test_a_bus_whose_ring_is_not_here_is_not_called_closed(self):
        publisher = self.publish()
        ring = pathlib.Path(json.loads(pathlib.Path(self.bus, "bus.json").read_text())["ring_path"])
        elsewhere = ring.with_suffix(".elsewhere")
        ring.rename(elsewhere)
        said = self.health(expect=GONE)
        elsewhere.rename(ring)
        self.assertIn(f"the ring cannot be read: opening the ring file {ring}", said)
        self.assertIn("the container's /dev/shm", said)
        publisher.stop()

    def test_a_publisher_that_cannot_be_asked_is_not_well(self):
        publisher = self.publish()
        control = pathlib.Path(self.bus, "control.sock")
        control.unlink()
        why = (f"the publisher (pid {publisher.pid}) runs, but its control socket {control} is gone."
               " Restart the publisher, unless it has just started.\n")
        self.assertEqual(self.health(expect=GONE), f"lapwing: unhealthy: {why}")
        self.assertEqual(self.health("--ignore-subscribers", expect=GONE),
                         f"lapwing: unhealthy: {why}")
        top = self.run_to_end("top", "top", "--once", expect=GONE)
        self.assertEqual(top.err(), f"lapwing: {why}")
        self.assertIn("no answer", top.out())
        self.assertEqual(self.run_to_end("subscribers", "subscribers", expect=GONE).err(),
                         f"lapwing: {why}")
        self.assertIn(f"publisher  no answer: {why}", self.run_to_end("info", "info").out())

    def test_a_publisher_whose_socket_is_another_s_is_not_well(self):
        publisher = self.publish()
        control = pathlib.Path(self.bus, "control.sock")
        control.unlink()
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
            listener.bind(str(control))
            said = self.health(expect=GONE)
            self.assertIn(f"(pid {publisher.pid}) runs, but it does not listen on its", said)
            listener.listen()
            said = self.health(expect=GONE)
            self.assertIn(f"runs, but it did not answer on {control} within 2 s. If this", said)

    def test_a_subscriber_that_is_behind_is_named(self):
        self.publish()
        out, into = os.pipe()  # without a reader, a full pipe blocks the writer
        reader = self.start("reader", "tail", "--from", "start", "--format", "json", stdout=into)
        self.addCleanup(os.close, out)
        os.close(into)
        self.until("it has joined", lambda: "1 subscriber, " in self.health(expect=DONE))
        said = self.health("--max-lag", 10, expect=OTHER)
        self.assertIn(f"(pid {reader.pid}) is", said)
        self.assertIn("records behind", said)
        late = self.health("--max-delay", "100ms", expect=OTHER)
        self.assertIn(f"(pid {reader.pid}) is at", late)
        self.health("--max-lag", RECORDS, expect=DONE)

    def test_a_subscriber_that_keeps_up_exceeds_nothing(self):
        self.publish()
        self.start("reader", "tail", "--from", "start", "--format", "none")
        self.until("it has joined",
                   lambda: f"{RECORDS}, 1 subscriber, " in self.health(expect=DONE))
        self.until("it has caught up", lambda: " 0 behind" in self.health(expect=DONE))
        self.health("--max-lag", 0, "--max-delay", "100ms", expect=DONE)

    def test_a_journal_that_has_failed_is_said(self):
        publisher = self.start("publish", "publish", "--source", "synthetic:records=100000000",
                               "--pace", 20_000, "--segment-bytes", 65536)
        self.until_durable(1)
        resource.prlimit(publisher.pid, resource.RLIMIT_FSIZE, (1, 1))
        self.until("the journal has failed", lambda: self.info()["ring"]["journal"] == "failed")
        said = self.health(expect=JOURNAL_FAILED)
        self.assertIn("unhealthy: the journal has failed (errno 27)", said)

    def test_a_duration_that_is_none_is_refused(self):
        self.health("--max-delay", "soon", expect=USAGE)


if __name__ == "__main__":
    unittest.main(verbosity=2)
