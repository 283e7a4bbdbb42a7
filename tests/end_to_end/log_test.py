"""Tests messages as text and with --log json, and the table in docs/reference/events.md."""

import json
import pathlib
import re
import subprocess
import unittest

import harness

ROOT = pathlib.Path(__file__).resolve().parents[2]
RECORDS = 1000
OTHER = 1


def entries(process):
    return [json.loads(line) for line in process.err().splitlines()]


class Log(harness.BusTest):
    def publish(self, name, *options):
        return self.start(name, "publish", "--source", f"synthetic:records={RECORDS}", *options)

    def test_a_publisher_says_with_what_it_began(self):
        self.assertEqual(self.publish("first", "--log", "json").wait(), 0)
        first = self.running[-1]
        said = {entry["event"]: entry for entry in entries(first)}
        self.assertEqual(said["journal-begins"]["level"], "info")
        self.assertTrue(said["journal-writer"]["writer"])
        for entry in said.values():
            self.assertRegex(entry["ts"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z$")
            self.assertEqual(entry["bus"], self.bus)
            self.assertTrue(entry["message"])

        killed = self.publish("killed", "--linger", "60s", "--log", "json")
        self.until_head(2 * RECORDS)
        killed.kill()
        continued = {entry["event"]: entry for entry in entries(killed)}["journal-continues"]
        self.assertEqual((continued["level"], continued["last"]), ("info", RECORDS))
        third = self.publish("third", "--log", "json")
        self.assertEqual(third.wait(), 0)
        recovered = {entry["event"]: entry for entry in entries(third)}["journal-recovered"]
        self.assertEqual((recovered["level"], recovered["last"]), ("warning", 2 * RECORDS))

    def test_a_subscriber_says_its_events_and_its_error(self):
        publisher = self.publish("publisher")
        self.assertEqual(publisher.wait(), 0)
        tail = self.run_to_end("tail", "tail", "--from", "start", "--until-closed", "--log", "json")
        closed = entries(tail)[-1]
        self.assertEqual((closed["event"], closed["level"], closed["sequence"]),
                         ("closed", "info", RECORDS))
        self.assertEqual(len(tail.out().splitlines()), RECORDS)

        refused = self.start("refused", "tail", "--log", "json", "--from", "start",
                             "--journal-id", "none")
        self.assertNotEqual(refused.wait(), 0)
        (error,) = entries(refused)
        self.assertEqual((error["event"], error["level"], error["errc"]),
                         ("error", "error", "invalid-argument"))

    def test_text_is_what_it_was(self):
        publisher = self.publish("publisher")
        self.assertEqual(publisher.wait(), 0)
        for line in publisher.err().splitlines():
            self.assertTrue(line.startswith("lapwing: "), line)

    def under_systemd(self, name, stream, *arguments):
        """Standard error of a command whose environment has a JOURNAL_STREAM."""
        with open(self.folder / name, "wb") as err:
            said = stream or "$(stat -L -c %d:%i /proc/self/fd/2)"
            subprocess.run(["sh", "-c", f'JOURNAL_STREAM={said} exec "$@"', "sh", harness.program(), *arguments],
                           stdout=subprocess.DEVNULL, stderr=err, check=False, timeout=harness.HANG_SECONDS)
        return (self.folder / name).read_text()

    def test_under_systemd_text_has_a_priority(self):
        publish = ("publish", "--bus", self.bus, "--source", f"synthetic:records={RECORDS}")
        for line in self.under_systemd("journal", None, *publish).splitlines():
            self.assertTrue(line.startswith("<6>lapwing: "), line)
        no_bus = ("health", "--bus", str(self.folder / "none"))
        self.assertTrue(self.under_systemd("error", None, *no_bus).startswith("<3>lapwing: "))
        self.assertTrue(self.under_systemd("elsewhere", "1:1", *no_bus).startswith("lapwing: "))
        self.assertTrue(self.under_systemd("json", None, *no_bus, "--log", "json").startswith("{"))


class Table(unittest.TestCase):
    def test_names_every_event_of_the_header_with_its_level(self):
        header = (ROOT / "include" / "lapwing" / "log.h").read_text()
        made = set(re.findall(r'^ +return \{"([a-z-]+)", LogLevel::k(\w+)\}', header, re.M)) - {("unknown", "Error")}
        self.assertGreater(len(made), 20)
        document = (ROOT / "docs" / "reference" / "events.md").read_text()
        section = document.split("\n## Logs\n", 1)[1].split("\n## ", 1)[0]
        written = set()
        for names, level in re.findall(r"^\| (`[a-z-]+`(?:, `[a-z-]+`)*) \| (info|warning|error) \|", section, re.M):
            written |= {(name, level.capitalize()) for name in re.findall(r"[a-z-]+", names)}
        self.assertEqual(written, made)


if __name__ == "__main__":
    unittest.main()
