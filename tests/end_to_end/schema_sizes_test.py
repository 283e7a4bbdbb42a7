"""Tests a bus whose records do not have their schema's size: no command decodes missing data."""

import json
import re
import shutil
import unittest

import harness

DONE, USAGE = 0, 2
RECORDS = 50
WRONG = "dbn.mbp-1"  # 80 bytes; the records on the bus have 56


class SchemaSizes(harness.BusTest):

    def setUp(self):
        super().setUp()
        self.start("publish", "publish", "--source", f"synthetic:records={RECORDS}").wait()
        self.records = self.tail("--format", "json")
        self.call_records(WRONG)

    def call_records(self, schema):
        path = self.folder / "bus" / "bus.json"
        description = json.loads(path.read_text())
        description["schema"] = schema
        description.pop("description", None)
        path.write_text(json.dumps(description))

    def tail(self, *options):
        tail = self.start("tail", "tail", "--from", "start", "--until-closed", *options)
        self.assertEqual(tail.wait(), DONE, tail.err())
        self.said = tail.err()
        return tail.out().splitlines()

    def assert_told(self, text):
        self.assertIn(f"the bus calls its records of 56 bytes {WRONG}, whose records have 80", text)

    def refused(self, name, *arguments):
        """The message with which a command refuses the bus."""
        command = self.start(name, name, *arguments)
        self.assertEqual(command.wait(), USAGE, command.err())
        return command.err()

    def test_tail_shows_plain_bytes_and_says_so(self):
        lines = self.tail()
        self.assert_told(self.said)
        self.assertEqual(self.said.count("the bus calls"), 1)
        hexadecimal = [line.split()[1] for line in lines if re.match(r" *\d+  [0-9a-f]+$", line)]
        self.assertEqual(len(hexadecimal), RECORDS)
        for text in hexadecimal:
            self.assertEqual(len(text), 2 * 56, "the record, and nothing of the next one")
        shown = [json.loads(line) for line in self.tail("--format", "json")]
        orders = [json.loads(line)["order_id"] for line in self.records if "order_id" in line]
        self.assertEqual(len(orders), RECORDS)
        of_bytes = [bytes.fromhex(line["bytes"]) for line in shown if "bytes" in line]
        self.assertEqual([int.from_bytes(record[16:24], "little") for record in of_bytes], orders)

    def test_conflation_has_no_key_for_them(self):
        words = self.refused("tail", "--from", "start", "--until-closed", "--conflate", "1s")
        self.assert_told(words)
        self.assertIn("have no known key", words)

    def test_record_and_export_write_no_file_of_them(self):
        for name, options in (("record", ("--from", "start", "--until-closed")), ("export", ())):
            out = self.folder / f"{name}.dbn"
            words = self.refused(name, *options, "--out", str(out))
            self.assert_told(words)
            self.assertIn("which a DBN file cannot hold", words)
            self.assertFalse(out.exists())

    def test_book_state_and_checkpoint_refuse_them(self):
        self.assert_told(self.refused("state"))
        self.assert_told(self.refused("checkpoint", "--fold", "latest", "--until-closed"))
        self.assertIn("no fold", self.refused("tail", "--from", "snapshot"))
        words = self.refused("book", "--from", "start")
        self.assert_told(words)
        self.assertIn("a book needs dbn.mbo", words)

    def test_a_book_is_not_made_of_records_that_are_too_short_for_it(self):
        shutil.rmtree(self.folder / "bus")
        publish = self.start("pairs", "publish", "--source", f"kv16:records={RECORDS}")
        self.assertEqual(publish.wait(), DONE, publish.err())
        self.call_records("dbn.mbo")
        words = self.refused("book", "--from", "start")
        self.assertIn("the bus calls its records of 16 bytes dbn.mbo, whose records have 56", words)


if __name__ == "__main__":
    unittest.main()
