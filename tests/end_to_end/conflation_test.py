"""Tests that a conflated tail shows the newest record for each key, and counts the others."""

import collections
import json
import signal
import unittest

import harness

RECORDS = 100_000
RATE = 50_000


def key_of(record):
    """The key of a market-by-order record."""
    return record["publisher_id"], record["instrument_id"], record["side"]


class AConflatedTail(harness.BusTest):
    """Compared with a tail that shows every record."""

    def publish(self, *more):
        return self.start("publish", "publish", "--pace", RATE, "--await", 2, "--source",
                          f"synthetic:records={RECORDS},instruments=5,seed=3", *more)

    def tail(self, name, *more, form="json"):
        return self.start(name, "tail", "--from", "start", "--until-closed", "--format", form,
                          "--summary", *more)

    def lines(self, tail):
        """Its records, its events and its summary."""
        *shown, summary = [json.loads(line) for line in tail.out().splitlines()]
        records = [line for line in shown if "event" not in line]
        return records, [line for line in shown if "event" in line], summary

    def test_shows_the_newest_of_each_key_and_counts_the_rest(self):
        publisher = self.publish()
        every, screen = self.tail("every"), self.tail("screen", "--conflate", "50ms")
        self.assertEqual(publisher.wait(), 0, publisher.err())
        for tail in (every, screen):
            self.assertEqual(tail.wait(), 0, tail.err())
        records, _, _ = self.lines(every)
        shown, events, summary = self.lines(screen)
        self.assertEqual(len(records), RECORDS)
        by_sequence = {record["seq"]: record for record in records}
        sums, newest = collections.Counter(), {}
        for line in shown:
            sums[key_of(line)] += 1 + line.pop("conflated")
            newest[key_of(line)] = line
            self.assertEqual(line, by_sequence[line["seq"]])
        self.assertEqual(sums, collections.Counter(map(key_of, records)))
        self.assertEqual(newest, {key_of(record): record for record in records})
        sequences = [line["seq"] for line in shown]
        self.assertEqual(sequences, sorted(set(sequences)))
        self.assertEqual(events[-1]["event"], "closed")
        self.assertEqual(summary["records"], len(shown))
        self.assertEqual(summary["records"] + summary["conflated"], RECORDS)
        self.assertLess(len(shown), RECORDS // 10, "void: hardly anything was conflated")
        print(f"\n{RECORDS} records in {len(shown)} lines")

    def test_counts_what_it_was_lapped_by_as_lost_and_tells_it_in_its_place(self):
        publisher = self.publish("--capacity", 1024, "--loop", 0, "--summary")
        screen = self.tail("screen", "--conflate", "50ms", "--on-gap", "skip")
        other = self.tail("other", form="none")
        self.until_head(RATE // 2)
        screen.signal(signal.SIGSTOP)
        away = self.info()["ring"]["head"]
        self.until_head(away + RATE)  # many laps
        screen.signal(signal.SIGCONT)
        self.until("it to tell of a gap", lambda: '"gap"' in screen.out())
        self.assertEqual(publisher.stop(), 0, publisher.err())
        records = publisher.summary()["records"]
        self.assertEqual(screen.wait(), 6, screen.err())
        self.assertEqual(other.wait(), 0, other.err())
        shown, events, summary = self.lines(screen)
        self.assertGreaterEqual(summary["lost"], RATE - 1024)
        self.assertEqual(summary["records"] + summary["conflated"] + summary["lost"], records)
        gaps = [event for event in events if event["event"] == "gap"]
        self.assertEqual(sum(gap["last"] - gap["first"] + 1 for gap in gaps), summary["lost"])
        order = [line for line in map(json.loads, screen.out().splitlines()[:-1])]
        for gap in gaps:
            place = order.index(gap)
            before = [line["seq"] for line in order[:place] if "event" not in line]
            after = [line["seq"] for line in order[place:] if "event" not in line]
            self.assertLess(max(before, default=0), gap["first"])
            self.assertGreater(min(after), gap["last"])

    def test_of_one_instrument_counts_that_instrument_alone(self):
        self.run_to_end("publish", "publish", "--source",
                        f"synthetic:records={RECORDS},instruments=5,seed=3")
        every = self.tail("every", "--instrument", "id:2", form="none")
        screen = self.tail("screen", "--instrument", "id:2", "--conflate", "1d")
        for tail in (every, screen):
            self.assertEqual(tail.wait(), 0, tail.err())
        shown, _, summary = self.lines(screen)
        self.assertEqual({line["instrument_id"] for line in shown}, {2})
        self.assertEqual(summary["records"] + summary["conflated"],
                         every.summary()["records"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
