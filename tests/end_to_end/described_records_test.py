"""Tests records of a user-defined struct, of which the commands only know the description."""

import csv
import json
import os
import pathlib
import subprocess
import time
import unittest

import harness

RECORDS = 30
FIELDS = ["ts_recv", "instrument", "weight", "fair_value", "price", "side", "venue"]


class SignalsTest(harness.BusTest):

    def publish(self, *options):
        program = pathlib.Path(os.environ.get("LAPWING_BUILD_DIR", "")) / "tests" / "signals"
        publisher = harness.Running([str(program), self.bus, str(RECORDS), *options], self.folder,
                                    "signals")
        self.assertEqual(publisher.wait(), 0, publisher.err())

    def latencies(self, *options):
        tail = self.run_to_end("tail", "tail", "--from", "start", "--until-closed", "--format",
                               "none", "--summary", "--latency", *options)
        return tail.summary()


class StampedRecords(SignalsTest):
    """Records whose own time is long ago, and that have a publish time."""

    def test_latency_counts_from_the_time_of_publishing(self):
        began_ns = time.time_ns()
        self.publish("stamped")
        summary = self.latencies()
        took_ns = time.time_ns() - began_ns
        latency = summary["latency_ns"]
        self.assertEqual(sorted(latency.values()), list(latency.values()))
        self.assertGreater(latency["p50"], 0)
        self.assertLess(latency["max"], took_ns * 1.1)
        self.assertEqual(summary["not_measured"], {"negative": 0, "unstamped": 1})

    def test_a_subscriber_reports_the_ages_that_it_is_to_measure(self):
        program = pathlib.Path(os.environ.get("LAPWING_BUILD_DIR", "")) / "tests" / "signals"
        publisher = harness.Running([str(program), self.bus, "0", "live"], self.folder, "signals",
                                    stdin=subprocess.PIPE)
        self.running.append(publisher)
        self.addCleanup(publisher.process.stdin.close)
        for number, options in enumerate(((), ("--measure", 7))):
            self.start(f"tail{number}", "tail", "--format", "none", "--reattach",
                       f"{harness.HANG_SECONDS}s", *options)

        def reported():
            asked = self.start("subscribers", "subscribers", "--json")
            if asked.wait() != 0:
                return None  # no publisher yet
            ages = [one["latency"] for one in json.loads(asked.out())["subscribers"]]
            return ages if len(ages) == 2 and any(ages) else None
        ages = self.until("ages", reported)
        (measured,) = [one for one in ages if one]
        self.assertEqual(measured["every"], 7)
        self.assertGreater(measured["count"], 0)
        self.assertIn(None, ages)  # an unmeasured age is null, not 0

    def test_latency_is_of_the_records_that_are_shown(self):
        self.publish("stamped")
        self.assertNotIn("not_measured", self.latencies("--instrument", "id:1"))
        self.assertNotIn("not_measured", self.latencies("--count", RECORDS - 1))

    def test_what_is_not_measured_is_not_0(self):
        self.run_to_end("publish", "publish", "--source", "kv16:records=10")
        self.assertIsNone(self.latencies()["latency_ns"])
        none = self.run_to_end("none", "tail", "--from", "start", "--until-closed", "--format",
                               "none", "--summary").summary()
        self.assertNotIn("latency_ns", none)


class DescribedRecords(SignalsTest):

    def setUp(self):
        super().setUp()
        self.publish()

    def tail(self, *options):
        tail = self.run_to_end("tail", "tail", "--from", "start", "--until-closed", *options)
        return tail.out().splitlines()

    def rows(self, *options):
        return [json.loads(line) for line in self.tail("--format", "json", *options)
                if "event" not in line]

    def test_json_has_every_field_by_its_name(self):
        rows = self.rows()
        self.assertEqual(len(rows), RECORDS)
        for number, row in enumerate(rows, 1):
            self.assertEqual(list(row), ["seq", *FIELDS])
            self.assertEqual(row["seq"], number)
            self.assertEqual(row["instrument"], number % 3)
            self.assertEqual(row["weight"], 0.1)
            self.assertEqual(row["fair_value"], number + 0.25)
            self.assertEqual(row["side"], "sell" if number % 2 == 0 else "buy")
            self.assertEqual(row["venue"], 'X,"1"')
        self.assertEqual(rows[0]["price"], 4_500_250_000_000 - 1)
        self.assertEqual(rows[1]["price"], 2**63 - 1)

    def test_text_is_for_people(self):
        first, second = self.tail("--count", "2")[:2]
        self.assertRegex(first, r"^ +1  ts_recv=20\d\d-\d\d-\d\dT[0-9:.]+Z instrument=1 weight=0.1 "
                                r'fair_value=1.25 price=4500.249999999 side=buy venue=X,"1"$')
        self.assertIn(" price=- side=sell ", second)

    def test_csv_is_json_in_columns(self):
        header, *lines = csv.reader(self.tail("--format", "csv"))
        self.assertEqual(header, ["seq", *FIELDS])
        self.assertEqual(lines, [[str(value) for value in row.values()] for row in self.rows()])

    def test_csv_says_what_was_conflated_and_what_is_state(self):
        header, *lines = csv.reader(self.tail("--format", "csv", "--conflate", "10s"))
        self.assertEqual(header, ["seq", *FIELDS, "conflated"])
        self.assertEqual(sum(int(line[-1]) + 1 for line in lines), RECORDS)
        self.run_to_end("checkpoint", "checkpoint", "--fold", "latest", "--until-closed")
        tail = self.run_to_end("state", "tail", "--from", "snapshot", "--until-closed", "--format",
                               "csv")
        header, *lines = csv.reader(tail.out().splitlines())
        self.assertEqual(header, ["seq", *FIELDS, "state"])
        self.assertEqual([line[2] for line in lines if line[-1] == "1"], ["0", "1", "2"])

    def test_the_key_is_that_of_the_description(self):
        rows = self.rows("--conflate", "10s")
        self.assertEqual({row["instrument"] for row in rows}, {0, 1, 2})
        self.assertEqual({row["instrument"] for row in self.rows("--instrument", "id:2")}, {2})
        self.run_to_end("checkpoint", "checkpoint", "--fold", "latest", "--until-closed")
        state = self.run_to_end("state", "state", "--key", "id:1", "--json").out()
        self.assertEqual(json.loads(state.splitlines()[-1])["fair_value"], RECORDS - 2 + 0.25)
        refused = self.run_to_end("refused", "state", "--key", "id:4294967296", expect=2)
        self.assertIn("instrument, is a number of 4 bytes", refused.err())

    def test_info_shows_every_field(self):
        text = self.run_to_end("info", "info").out()
        fields = text[text.index("  fields     desk.signal, version 1\n"):].splitlines()[1:]
        self.assertEqual([line.split() for line in fields], [
            ["ts_recv", "uint64", "utc_ns", "time"], ["instrument", "uint32", "key"],
            ["weight", "float32"], ["fair_value", "float64"], ["price", "int64", "price"],
            ["side", "uint8"], ["venue", "text[7]"], ["spare", "bytes[16]", "spare"]])
        described = json.loads((self.folder / "bus" / "bus.json").read_text())["description"]
        self.assertEqual(self.info()["description"], json.loads(described))

    def test_info_says_why_it_shows_no_field(self):
        path = self.folder / "bus" / "bus.json"
        told = json.loads(path.read_text())
        for change, words in (({"description": ""}, "not described"),
                              ({"description": "{}"}, "name, version or record_bytes is missing"),
                              ({"schema": "desk.other"}, "their description is of desk.signal")):
            with self.subTest(words=words):
                path.write_text(json.dumps({**told, **change}))
                self.assertIn(words, self.run_to_end("info", "info").out())
                shown = self.info()
                self.assertIsNone(shown["description"])
                self.assertIn(words, shown["description_why"])

    def test_latency_counts_from_their_time(self):
        lines = self.tail("--format", "none", "--summary", "--latency")
        self.assertGreater(json.loads(lines[-1])["latency_ns"]["p50"], 0)

    def test_a_journal_that_is_published_again_keeps_the_description(self):
        again = self.folder / "again"
        self.run_to_end("again", "publish", "--source", f"journal:{self.bus}", bus=again)
        told = json.loads((again / "bus.json").read_text())
        self.assertEqual(told["description"],
                         json.loads((self.folder / "bus" / "bus.json").read_text())["description"])
        tail = self.run_to_end("tail", "tail", "--from", "start", "--until-closed", "--format",
                               "json", bus=again)
        shown = [json.loads(line) for line in tail.out().splitlines() if "event" not in line]
        self.assertEqual(shown, self.rows())


if __name__ == "__main__":
    unittest.main()
