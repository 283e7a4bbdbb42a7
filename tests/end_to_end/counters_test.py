"""Tests the publisher's counters on page 1 in `lapwing info` and `lapwing subscribers`."""

import json
import signal
import unittest

import harness

RATE = 50_000
RING = 16384  # a third of a second: only SIGSTOP causes losses, even on a busy machine
LAPS = 2


class Counters(harness.BusTest):
    def publish(self, name):
        return self.start(name, "publish", "--source", "synthetic:records=0", "--pace", RATE,
                          "--capacity", RING, "--await", 1)

    def ask(self, command):
        """The publisher's answer; None if there is no publisher."""
        process = self.start(command, command, "--json")
        return json.loads(process.out()) if process.wait() == 0 else None

    def subscriber(self):
        answer = self.ask("subscribers")
        return next(iter(answer["subscribers"]), None) if answer else None

    def counters(self):
        ring = (self.info() or {}).get("ring")
        return ring["counters"] if ring else None

    def test_losses_are_counted_once_and_of_this_session(self):
        publisher = self.publish("publisher")
        tail = self.start("tail", "tail", "--from", "start", "--on-gap", "skip", "--wait", "park",
                          "--format", "none", "--until-closed")
        self.until_head(RING)
        self.assertEqual(self.counters()["lost"], 0)
        tail.signal(signal.SIGSTOP)
        self.until_head(self.info()["ring"]["head"] + LAPS * RING)
        head = self.info()["ring"]["head"]
        tail.signal(signal.SIGCONT)
        # It may be lapped again while it catches up.
        self.until("it has caught up", lambda: self.subscriber()["position"] >= head)
        before = self.subscriber()["lost"]
        self.assertGreaterEqual(before, RING)
        self.until("the loss is counted", lambda: self.counters()["lost"] == before)
        counters = self.counters()
        self.assertGreater(counters["gaps"], 0)
        self.assertEqual(counters["subscribers"], 1)
        self.assertGreater(counters["doorbells"], 0)
        self.assertGreater(counters["syncs"]["count"], 0)
        self.assertEqual(counters["syncs"]["count"], sum(counters["syncs"]["counts"]))
        self.assertGreater(counters["journal_bytes"], LAPS * RING * 56)
        self.assertEqual((self.subscriber()["wait"], self.subscriber()["on_gap"]), ("park", "skip"))
        text = self.run_to_end("info", "info").out()
        self.assertIn(f"lost       {before} records in", text)

        events = self.ask("events")["events"]
        (attached,) = (event for event in events if event["event"] == "attached")
        self.assertEqual(attached["pid"], tail.pid)
        # Records lapped while it catches up are lost in further gaps.
        self.assertEqual(sum(event["lost"] for event in events if event["event"] == "loss"), before)

        publisher.kill()
        last = self.publish("last")
        self.until("it is back", lambda: self.subscriber() and self.subscriber()["records"])
        since = self.subscriber()["lost"] - before
        self.until("the new session counts its own losses", lambda: self.counters()["lost"] == since)
        self.assertEqual(last.stop(), 0, last.err())
        tail.wait()

    def test_who_lost_records_is_known_after_it_left(self):
        publisher = self.publish("publisher")
        tail = self.start("tail", "tail", "--from", "start", "--on-gap", "skip", "--format", "none")
        self.until("it reads", lambda: self.subscriber() and self.subscriber()["records"])
        tail.signal(signal.SIGSTOP)
        self.until_head(self.info()["ring"]["head"] + LAPS * RING)
        tail.signal(signal.SIGCONT)
        self.until("the loss is reported", lambda: self.subscriber()["lost"])
        tail.stop()
        left = self.until("it has left", lambda: next(
            (event for event in self.ask("events")["events"] if event["event"] == "detached"), None))
        self.assertGreaterEqual(left["lost"], RING)
        self.assertIn(f"left at sequence {left['position']}", left["what"])
        text = self.run_to_end("text", "events").out()
        self.assertIn(left["what"], text)
        self.assertEqual(publisher.stop(), 0)
        process = self.start("nobody", "events")
        self.assertEqual(process.wait(), 5)


if __name__ == "__main__":
    unittest.main()
