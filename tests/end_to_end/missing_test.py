"""Tests that a subscriber stopped while its publisher is killed and restarted is a problem.

Every monitor reports it: health, subscribers, top, events, serve and its metrics.
"""

import json
import os
import pty
import shutil
import signal
import subprocess
import unittest

import harness
import serve_test

DONE, ILL, NO_PUBLISHER = 0, 1, 5
PACE = 2_000


class Missing(serve_test.ServeTest, harness.BusTest):
    def setUp(self):
        super().setUp()
        self.bus = str(self.folder / "es")

    def publish(self, name="publisher"):
        publisher = self.start(name, "publish", "--source", "synthetic:records=0", "--pace", PACE)
        self.until(f"{name} to run", lambda: self.ask_json("subscribers") is not None)
        return publisher

    def ask_json(self, command):
        process = self.start(f"{command}-json", command, "--json")
        return json.loads(process.out()) if process.wait() == DONE else None

    def subscriber(self, name, state=None):
        """Its entry in `subscribers`; None if it is not listed or is not in that state."""
        for one in (self.ask_json("subscribers") or {"subscribers": []})["subscribers"]:
            if one["name"] == name and state in (None, one["state"]):
                return one
        return None

    def kinds(self):
        return [event["event"] for event in self.ask_json("events")["events"]]

    def health(self, *options):
        process = self.start("health", "health", *options)
        return process.wait(), process.out() + process.err()

    def start_tail(self, name, *options):
        tail = self.start(name, "tail", "--name", name, "--format", "none", *options)
        self.until(f"{name} to read", lambda: self.subscriber(name, "live"))
        return tail

    def stuck_over_a_restart(self):
        """A publisher that was killed and restarted, a stopped tail, and one that returned."""
        publisher = self.publish()
        stuck = self.start_tail("stuck")
        self.start_tail("good")
        stuck.signal(signal.SIGSTOP)
        self.until("it to be written down", lambda: "stuck" in self.roster())
        publisher.kill()
        self.publish("next")
        return stuck

    def roster(self, state=None):
        try:
            roster = json.loads((self.folder / "es/roster.json").read_text())
        except FileNotFoundError:
            return []
        return sorted(one["name"] for one in roster["subscribers"]
                      if state is None or one[state])

    def test_every_monitor_reports_it(self):
        stuck = self.stuck_over_a_restart()
        missing = self.until("it to be missing", lambda: self.subscriber("stuck", "missing"))
        self.assertEqual(missing["pid"], stuck.pid)
        self.assertEqual(missing["process"], "stopped")
        self.assertRegex(missing["missing_since"], r"^2\d\d\d-")
        code, words = self.health()
        self.assertEqual(code, ILL)
        self.assertRegex(words, rf"stuck \(pid {stuck.pid}\) is missing since .* \(its process is stopped\)")
        self.assertNotIn("good", words)
        self.assertEqual(self.health("--ignore-subscribers")[0], DONE)

        kinds = self.kinds()
        self.assertEqual(kinds[:2], ["killed", "session"])
        self.assertIn("missing", kinds)
        events = self.run_to_end("events", "events").out()
        self.assertRegex(events, r"the last publisher \(pid \d+\) was killed, crashed or lost power after sequence \d+")
        self.assertRegex(events, r"publisher \d+ started at sequence \d+")
        self.assertIn("stuck", events)

        top = self.run_to_end("top", "top", "--once").out()
        self.assertRegex(top, r"(?m)^stuck +MISSING")
        self.assertRegex(top, r"(?m)^good +live")

        self.serve()
        reading = self.until("a reading with it", self.reading)
        (one,) = (one for one in reading["subscribers"] if one["name"] == "stuck")
        self.assertEqual((one["state"], one["process"]), ("missing", "stopped"))
        metrics = self.ask("/metrics")[2]
        self.assertIn('lapwing_subscriber_up{bus="es",subscriber="stuck"} 0\n', metrics)
        self.assertIn('lapwing_subscriber_up{bus="es",subscriber="good"} 1\n', metrics)
        self.assertRegex(metrics, r'subscriber_state\{bus="es",.*stuck.*state="missing"\} 1\n')

        stuck.signal(signal.SIGCONT)
        self.until("it to be back", lambda: self.subscriber("stuck", "live"))
        self.assertEqual(self.health("--expect", "stuck", "--expect", "good")[0], DONE)

    def reading(self):
        status, _, body = self.ask("/api/v1/buses")
        if status != 200:
            return None
        (bus,) = json.loads(body)["buses"]
        names = [one["name"] for one in bus["subscribers"] or ()]
        return bus if "stuck" in names else None

    def test_it_stays_missing_over_more_restarts_until_it_is_forgotten(self):
        stuck = self.stuck_over_a_restart()
        since = self.until("it to be missing",
                           lambda: self.subscriber("stuck", "missing"))["missing_since"]
        stuck.kill()
        for process in self.running:
            if process.name == "next":
                process.kill()
        last = self.publish("last")
        missing = self.until("it to be missing again", lambda: self.subscriber("stuck", "missing"))
        self.assertEqual(missing["missing_since"], since)
        self.assertEqual(missing["process"], "ended")
        wrong = self.run_to_end("wrong", "subscribers", "--forget", "stack", expect=1)
        self.assertIn("no missing subscriber has that name", wrong.err())
        self.run_to_end("forget", "subscribers", "--forget", "stuck")
        self.assertIsNone(self.subscriber("stuck"))
        self.assertEqual(self.health()[0], DONE)
        self.assertEqual(self.kinds()[-1], "forgotten")
        self.until("it to be out of the list", lambda: "stuck" not in self.roster())
        last.kill()
        self.publish("after")
        self.until("the other to be back", lambda: self.subscriber("good", "live"))
        self.assertIsNone(self.subscriber("stuck"))

    def test_without_a_publisher_the_exit_code_is_5(self):
        for options in ((), ("--json",), ("--forget", "x"), ("--forget-all",)):
            self.run_to_end("nowhere", "subscribers", *options, expect=NO_PUBLISHER)
        publisher = self.publish()
        (self.folder / "es/control.sock").unlink()
        self.run_to_end("unlinked", "subscribers", expect=NO_PUBLISHER)
        publisher.kill()
        self.run_to_end("killed", "subscribers", expect=NO_PUBLISHER)

    def test_each_name_is_forgotten_although_one_is_wrong(self):
        publisher = self.publish()
        for name in ("a", "b", "c"):
            self.start_tail(name).signal(signal.SIGSTOP)
        self.until("them to be written down", lambda: set(self.roster()) >= {"a", "b", "c"})
        publisher.kill()
        self.publish("next")
        for name in ("a", "b", "c"):
            self.until(f"{name} to be missing", lambda name=name: self.subscriber(name, "missing"))
        forget = self.run_to_end("forget", "subscribers", "--forget", "a", "--forget", "nix",
                                 "--forget", "b", expect=1)
        self.assertIn("--forget nix: no missing subscriber has that name", forget.err())
        self.assertEqual(forget.out(), "removed 1 missing subscriber named a\n"
                                       "removed 1 missing subscriber named b\n")
        self.assertEqual([one["name"] for one in self.ask_json("subscribers")["subscribers"]], ["c"])
        forget = self.run_to_end("all", "subscribers", "--forget-all")
        self.assertEqual(forget.out(), "removed 1 missing subscriber\n")

    def test_after_a_close_who_ended_with_it_is_not_missing(self):
        publisher = self.publish()
        stuck = self.start_tail("stuck")
        ended = self.start("ended", "tail", "--name", "ended", "--format", "none", "--until-closed")
        self.until("it to read", lambda: self.subscriber("ended", "live"))
        stuck.signal(signal.SIGSTOP)
        self.assertEqual(publisher.stop(), DONE)
        self.assertEqual(ended.wait(), DONE)
        self.publish("next")
        self.until("it to be missing", lambda: self.subscriber("stuck", "missing"))
        self.assertIsNone(self.subscriber("ended"))
        self.assertEqual(self.kinds()[0], "session", "a close is no kill")

    def test_a_stopped_subscriber_and_an_absent_one_are_ill(self):
        self.publish()
        tail = self.start_tail("here")
        self.assertEqual(self.health("--expect", "here")[0], DONE)
        code, words = self.health("--expect", "away")
        self.assertEqual(code, ILL)
        self.assertIn("away is expected and not attached", words)
        words = self.health("--expect", "away", "--expect", "here", "--expect", "away")[1]
        self.assertEqual(words.count("away"), 1, words)
        tail.signal(signal.SIGSTOP)
        self.until("it to stand", lambda: self.subscriber("here")["stopped"])
        code, words = self.health()
        self.assertEqual(code, ILL)
        self.assertRegex(words, r"here \(pid \d+\) is stopped")
        table = self.run_to_end("subscribers", "subscribers").out()
        self.assertRegex(table, r"here +STOPPED")
        process = self.start("wrong", "health", "--ignore-subscribers", "--expect", "x")
        self.assertEqual(process.wait(), 2)

    def test_a_damaged_roster_keeps_no_publisher_from_starting(self):
        for content in ("", "{", '{"boot_id": 7}', "x" * 4_000_000):
            self.publish("first").kill()
            (self.folder / "es/roster.json").write_text(content)
            publisher = self.publish("second")
            self.assertIn("roster.json", publisher.err())
            publisher.kill()
            (self.folder / "es/roster.json").unlink(missing_ok=True)

    def test_a_start_that_fails_leaves_the_list_as_it_is(self):
        publisher = self.publish()
        ended = self.start_tail("ended")
        self.until("it to be written down", lambda: "ended" in self.roster())
        publisher.kill()
        ended.kill()
        listed = self.roster()
        socket = self.folder / "es/control.sock"
        socket.unlink()
        socket.mkdir()
        failed = self.start("failed", "publish", "--source", "synthetic:records=0")
        self.assertNotEqual(failed.wait(), DONE)
        self.assertEqual(self.roster(), listed)
        socket.rmdir()
        self.publish("next")
        self.until("it to be missing", lambda: self.subscriber("ended", "missing"))

    def test_a_list_of_another_session_or_another_bus_names_nobody(self):
        publisher = self.publish()
        tail = self.start_tail("ended")
        self.until("it to be written down", lambda: "ended" in self.roster())
        publisher.kill()
        tail.kill()
        copy = self.folder / "copy"
        shutil.copytree(self.folder / "es", copy, ignore=shutil.ignore_patterns("*.sock"))
        roster = (self.folder / "es/roster.json").read_text()
        for bus in (copy, self.folder / "es"):
            self.bus = str(bus)
            if bus == copy:
                said = self.publish("of the copy")
            else:  # as left by a release that keeps no list
                self.publish("next").kill()
                (bus / "roster.json").write_text(roster)
                self.publish("one more").kill()
                (bus / "roster.json").write_text(roster)
                said = self.publish("last")
            self.assertIn("is not of the last session of this bus", said.err())
            self.assertEqual(self.health("--expect", "nobody")[1].count("missing"), 0)
            said.kill()
            again = self.publish("again")
            self.assertNotIn("roster.json", again.err())
            again.kill()

    def test_who_was_missing_before_is_missing_at_once_after_a_restart(self):
        self.stuck_over_a_restart()
        self.until("it to be written down as missing", lambda: self.roster("missing") == ["stuck"])
        for process in self.running:
            if process.name == "next":
                process.kill()
        self.publish("last")
        self.assertIsNotNone(self.subscriber("stuck", "missing"))

    def test_what_shows_records_at_a_terminal_is_not_expected_back(self):
        publisher = self.publish()
        ours, theirs = pty.openpty()
        self.addCleanup(os.close, ours)
        shown = subprocess.Popen([harness.program(), "tail", "--bus", self.bus, "--format", "json"],
                                 stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs)
        os.close(theirs)
        self.addCleanup(shown.wait)
        self.addCleanup(shown.kill)
        self.start_tail("named")
        self.until("it to be attached", lambda: self.subscriber("tail"))
        self.assertTrue(self.subscriber("tail")["observes"])
        self.until("the other to be written down", lambda: self.roster() == ["named"])
        shown.kill()
        publisher.kill()
        self.publish("next")
        self.until("the other to be back", lambda: self.subscriber("named", "live"))
        self.assertEqual(self.roster(), ["named"])

    def test_without_a_journal_it_is_the_same(self):
        options = ("publish", "--journal", "none", "--source", "synthetic:records=0", "--pace", PACE)
        publisher = self.start("publisher", *options)
        self.until("it to run", lambda: self.ask_json("subscribers") is not None)
        stuck = self.start_tail("stuck", "--on-gap", "skip")
        stuck.signal(signal.SIGSTOP)
        self.until("it to be written down", lambda: "stuck" in self.roster())
        publisher.kill()
        self.start("next", *options)
        self.until("it to be missing", lambda: self.subscriber("stuck", "missing"))
        self.assertEqual(self.kinds()[:2], ["killed", "session"])


if __name__ == "__main__":
    unittest.main()
