"""Tests record files: schemas other than DBN's are recorded, and published again unchanged.

record_files.py, which was written only from the document, reads the files that the program writes,
and writes the files that the program reads.
"""

import json
import os
import pathlib
import random
import shutil
import struct
import unittest

import harness
import record_files
import recordings
from record_files import RecordFile

DONE, OTHER, USAGE, DAMAGED = 0, 1, 2, 4
RECORDS, MORE = 300, 50
SIGNAL = struct.Struct("<QIfdqB7s16s")
SIDES = {1: "buy", 2: "sell"}
BEGIN_NS, STEP_NS = 1_795_185_000_000_000_000, 1_000_000  # a full hour, UTC
KILLED_RECORDS = 60_000


def signals(count, first=1):
    """Records of the schema desk.signal, numbered from `first`."""
    return b"".join(SIGNAL.pack(BEGIN_NS + n * STEP_NS, n % 3, 0.1, n + 0.25, n, 1 + n % 2, b"X",
                                bytes(16)) for n in range(first, first + count))


class SignalsTest(recordings.RecordingTest):
    """A test with a closed bus of a struct that describes itself."""

    def setUp(self):
        super().setUp()
        program = pathlib.Path(os.environ.get("LAPWING_BUILD_DIR", "")) / "tests" / "signals"
        publisher = harness.Running([str(program), self.bus, str(RECORDS)], self.folder, "signals")
        self.assertEqual(publisher.wait(), DONE, publisher.err())
        self.text = self.bus_file()["description"].encode()

    def bus_file(self, bus=None):
        return json.loads((pathlib.Path(bus or self.bus) / "bus.json").read_text())

    def export(self, out, *options, bus=None):
        self.run_to_end(f"export-{out.name}", "export", "--out", out, *options, bus=bus)
        return out

    def publish(self, path, *options, bus="again", expect=DONE, **popen):
        """Publishes a file on another bus. Returns the bus and the process."""
        bus = str(self.folder / bus)
        process = self.run_to_end("publish", "publish", "--source", f"file:{path}", "--summary",
                                  *options, bus=bus, expect=expect, **popen)
        return bus, process

    def rows(self, bus=None):
        tail = self.run_to_end("tail", "tail", "--from", "start", "--until-closed", "--format",
                               "json", bus=bus)
        return [json.loads(line) for line in tail.out().splitlines() if "event" not in line]

    def write(self, name, content):
        path = self.folder / name
        path.write_bytes(content)
        return path

    def write_signals(self, name, records):
        return self.write(name, record_files.make("desk.signal", SIGNAL.size, records, self.text))


class WhatIsWritten(SignalsTest):

    def assert_is_the_bus(self, file):
        self.assertEqual(file.schema, "desk.signal")
        self.assertEqual(file.description, json.loads(self.text))
        self.assertEqual(f"{file.schema_hash:016x}.json",
                         os.listdir(pathlib.Path(self.bus) / "journal" / "schemas")[0])
        shown = self.rows()
        self.assertEqual(len(shown), RECORDS)
        for number, (row, held) in enumerate(zip(shown, file.rows(), strict=True), 1):
            self.assertEqual(row.pop("seq"), number)
            self.assertEqual(row, {**held, "side": SIDES[held["side"]],
                                   "weight": round(held["weight"], 6)})

    def test_by_record_and_by_export_is_what_the_document_says(self):
        contents = set()
        for name, options in (("export", ()), ("record", ("--from", "start", "--until-closed"))):
            for suffix in (".records", ".records.zst"):
                out = self.folder / (name + suffix)
                self.run_to_end(name + suffix, name, "--out", out, *options)
                contents.add(harness.decoded(out))
                self.assertEqual(out.read_bytes()[:4] == b"\x28\xb5\x2f\xfd",
                                 suffix.endswith(".zst"))
        (content,) = contents
        self.assert_is_the_bus(RecordFile(content))

    def test_of_a_range_is_the_range(self):
        whole = RecordFile(self.export(self.folder / "whole.records").read_bytes())
        part = RecordFile(self.export(self.folder / "part.records", "--first", 100, "--last",
                                      149).read_bytes())
        self.assertEqual(part.content[part.begin:],
                         whole.content[whole.end_of(99):whole.end_of(149)])

    def test_from_a_snapshot_is_the_latest_record_of_each_key_and_what_follows(self):
        self.run_to_end("checkpoint", "checkpoint", "--fold", "latest", "--until-closed")
        out = self.folder / "latest.records"
        self.run_to_end("record", "record", "--from", "snapshot", "--until-closed", "--out", out)
        file = RecordFile(out.read_bytes())
        self.assertEqual([row["instrument"] for row in file.rows()], [0, 1, 2])
        self.assertEqual({row["fair_value"] for row in file.rows()},
                         {RECORDS - 2 + 0.25, RECORDS - 1 + 0.25, RECORDS + 0.25})

    def test_of_a_bus_without_a_record_is_a_head(self):
        empty = self.write_signals("empty.records", b"")
        bus, _ = self.publish(empty)
        out = self.folder / "nothing.records"
        self.run_to_end("record", "record", "--from", "start", "--until-closed", "--out", out,
                        bus=bus)
        self.assertEqual(out.read_bytes(), empty.read_bytes())

    def test_has_a_name_that_fits(self):
        for name, options in (("record", ("--from", "start", "--until-closed")), ("export", ())):
            out = self.folder / f"{name}.dbn.zst"
            refused = self.run_to_end(name, name, "--out", out, *options, expect=USAGE)
            self.assertIn("schema desk.signal, which a DBN file cannot hold: name the file *.records",
                          refused.err())
            self.assertFalse(out.exists())

    def test_of_dbn_records_is_a_record_file_too_if_it_is_called_so(self):
        bus = str(self.folder / "es")
        self.run_to_end("es", "publish", "--source", "synthetic:records=500", bus=bus)
        out = self.export(self.folder / "es.records.zst", bus=bus)
        file = RecordFile(harness.decoded(out))
        self.assertEqual((file.schema, file.record_bytes, file.records), ("dbn.mbo", 56, 500))
        again, _ = self.publish(out)
        self.assertEqual(self.rows(again), self.rows(bus))


class PublishedAgain(SignalsTest):

    def test_it_is_the_bus_that_was_recorded(self):
        for name in ("f.records", "f.records.zst"):
            with self.subTest(name=name):
                out = self.export(self.folder / name)
                bus, _ = self.publish(out, bus=f"bus-{name}")
                self.assertEqual(self.rows(bus), self.rows())
                self.assertEqual(self.bus_file(bus)["description"], self.text.decode())
                again = self.export(self.folder / f"again-{name}", bus=bus)
                self.assertEqual(harness.decoded(again), harness.decoded(out))

    def test_it_comes_from_a_pipe_as_well(self):
        out = self.export(self.folder / "f.records.zst")
        with open(out, "rb") as pipe:
            bus, _ = self.publish("-", stdin=pipe)
        self.assertEqual(self.rows(bus), self.rows())

    def test_it_is_played_as_often_as_one_likes_and_resumed_where_it_ended(self):
        path = self.write_signals("f.records", signals(RECORDS))
        _, looped = self.publish(path, "--loop", 3, bus="looped")
        self.assertEqual(looped.summary()["records"], 3 * RECORDS)
        self.publish(path)
        _, resumed = self.publish(path, "--resume")
        self.assertEqual(resumed.summary()["records"], 0)
        self.write_signals("f.records", signals(RECORDS + MORE))
        bus, resumed = self.publish(path, "--resume")
        self.assertEqual(resumed.summary()["records"], MORE)
        exported = RecordFile(self.export(self.folder / "all.records", bus=bus).read_bytes())
        self.assertEqual(exported.content[exported.begin:], signals(RECORDS + MORE))

    def test_its_time_paces_it_and_can_be_set(self):
        path = self.write_signals("f.records", signals(100))
        bus, _ = self.publish(path, "--pace", "recorded*10", "--restamp")
        times = [row["ts_recv"] for row in self.rows(bus)]
        self.assertEqual(len(times), 100)
        self.assertGreater(len(set(times)), 10)  # each burst has its own time
        self.assertNotIn(BEGIN_NS + STEP_NS, times)

    def test_records_that_nobody_has_described_stay_so(self):
        content = record_files.make("desk.plain", 24, random.randbytes(24 * 100))
        bus, _ = self.publish(self.write("plain.records", content))
        shown = self.rows(bus)
        held = RecordFile(content)
        self.assertEqual(b"".join(bytes.fromhex(row["bytes"]) for row in shown),
                         content[held.begin:])
        for name in ("export", "record"):
            out = self.folder / f"{name}-plain.records"
            options = ("--from", "start", "--until-closed") if name == "record" else ()
            self.run_to_end(name, name, "--out", out, *options, bus=bus)
            self.assertEqual(out.read_bytes(), content)
        info = self.run_to_end("info", "info", bus=bus)
        self.assertIn("fields     not described", info.out())

    def test_pairs_are_pairs_again(self):
        bus = str(self.folder / "kv")
        self.run_to_end("kv", "publish", "--source", "kv16:records=1000", bus=bus)
        out = self.export(self.folder / "kv.records", bus=bus)
        file = RecordFile(out.read_bytes())
        self.assertEqual([row["value"] for row in file.rows()], list(range(1, 1001)))
        again, _ = self.publish(out)
        self.assertEqual(self.rows(again), self.rows(bus))


class FilesThatLie(SignalsTest):

    def refuse(self, content, code, *words):
        path = self.write("liar.records", content)
        _, refused = self.publish(path, bus="refused", expect=code)
        for word in (str(path), *words):
            self.assertIn(word, refused.err())
        self.assertFalse((self.folder / "refused" / "bus.json").exists())

    def make(self, text=None, record_bytes=SIGNAL.size, schema="desk.signal", **other):
        return record_files.make(schema, record_bytes, signals(3),
                                 self.text if text is None else text, **other)

    def test_are_refused_with_what_is_wrong(self):
        whole = self.make()
        RecordFile(whole)
        changed = bytearray(whole)
        changed[200] ^= 1
        self.refuse(bytes(changed), DAMAGED, "is not the description whose hash is")
        changed = bytearray(whole)
        changed[17] ^= 1
        self.refuse(bytes(changed), DAMAGED, "the checksum of its header")
        self.refuse(self.make(record_bytes=48), DAMAGED, "48 bytes, and its description")
        self.refuse(self.make(schema="desk.other"), DAMAGED, "says records of desk.other")
        self.refuse(self.make(schema_hash=1), DAMAGED, "is not the description whose hash is")
        self.refuse(self.make(header_bytes=4096), DAMAGED, "the first record at byte 4096")
        self.refuse(self.make(record_bytes=4), DAMAGED, "records of 4 bytes")
        self.refuse(self.make(version=2), OTHER, "version 2")
        self.refuse(self.make(text=b"{}"), OTHER, "of a later release")
        self.refuse(whole[:100], DAMAGED, "is cut off", "byte 100")
        self.refuse(whole[:300], DAMAGED, "is cut off", "inside its description")
        self.refuse(b"", DAMAGED, "is empty")
        self.refuse(b"ts_recv,instrument\n" * 20, DAMAGED, "does not begin like a record file")

    def test_do_not_get_a_shipped_name_for_records_of_their_own(self):
        shipped = json.loads(self.text)
        shipped["name"] = "kv16"
        path = self.write("liar.records", self.make(text=json.dumps(shipped).encode(),
                                                    schema="kv16"))
        _, refused = self.publish(path, bus="refused", expect=USAGE)
        self.assertIn("Lapwing ships the schema kv16", refused.err())

    def test_a_dbn_file_is_sent_where_it_belongs(self):
        dbn = self.write("es.dbn", self.raw_dbn("synthetic:records=10"))
        _, refused = self.publish(dbn, bus="refused", expect=DAMAGED)
        self.assertIn("give it as dbn:PATH", refused.err())

    def test_of_a_file_that_is_cut_off_what_is_whole_is_published_and_the_rest_is_said(self):
        path = self.write_signals("cut.records", signals(RECORDS)[:-20])
        bus, cut = self.publish(path, expect=DAMAGED)
        self.assertEqual(cut.summary()["records"], RECORDS - 1)
        self.assertIn(f"record {RECORDS} at byte", cut.err())
        self.assertIn("36 of its 56 bytes are there, and are ignored", cut.err())
        exported = RecordFile(self.export(self.folder / "whole.records", bus=bus).read_bytes())
        self.assertEqual(exported.content[exported.begin:], signals(RECORDS - 1))


class OtherRecords(SignalsTest):
    """A bus that has the recording's name but other records."""

    def others(self):
        """Files whose schema has the same name but another description or another size."""
        described = json.loads(self.text)
        described["fields"][2]["name"] = "factor"
        renamed = json.dumps(described, separators=(",", ":")).encode()
        return (("renamed", "(56 bytes, description ",
                 record_files.make("desk.signal", 56, signals(8), renamed)),
                ("resized", "(64 bytes)", record_files.make("desk.signal", 64, signals(8))))

    def test_are_refused_by_a_recorder_that_comes_back_and_by_one_that_stays(self):
        whole = self.write_signals("whole.records", signals(RECORDS))
        for name, carried, content in self.others():
            with self.subTest(name=name):
                bus = str(self.folder / name)
                self.publish(whole, bus=name)
                stays, back = self.folder / f"{name}-stays.records", self.folder / f"{name}.records"
                self.run_to_end("first", "record", "--from", "start", "--until-closed", "--out",
                                back, bus=bus)
                recorder = self.start("stays", "record", "--from", "start", "--out", stays,
                                      bus=bus)
                self.until("a session that is closed",
                           lambda: "closed cleanly" in recorder.err())
                shutil.rmtree(bus)
                self.publish(self.write(f"{name}-other.records", content), bus=name)
                again = self.start("again", "record", "--out", back, bus=bus)
                for process, out in ((recorder, stays), (again, back)):
                    self.assertEqual(process.wait(), USAGE, process.err())
                    self.assertIn(f"{out} holds records of schema desk.signal (56 bytes, "
                                  "description ", process.err())
                    self.assertIn(f"now carries records of schema desk.signal {carried}",
                                  process.err())
                    self.assertEqual(out.read_bytes(), whole.read_bytes())


class Killed(SignalsTest):
    """Recorders that are killed at random moments while the publisher continues."""

    def setUp(self):
        super().setUp()
        self.bus = str(self.folder / "killed")
        self.file = RecordFile(record_files.make("desk.signal", SIGNAL.size,
                                                 signals(KILLED_RECORDS), self.text))

    def assert_is_the_file(self, *outs):
        held = b""
        for out in outs:
            part = RecordFile(harness.decoded(out))
            self.assertEqual(part.content[:part.begin], self.file.content[:self.file.begin])
            held += part.content[part.begin:]
        self.assertEqual(len(held) / SIGNAL.size, KILLED_RECORDS)
        self.assertTrue(held == self.file.content[self.file.begin:])

    def test_one_file_is_the_source(self):
        out = self.folder / "one.records.zst"
        self.kill_again_and_again(self.file, out)
        self.assert_is_the_file(out)

    def test_a_series_is_the_source(self):
        out = self.folder / "series.records"
        self.kill_again_and_again(self.file, out, "--rotate-bytes", "512K", "--rotate-every", "2s")
        files = self.series(out)
        self.assertGreater(len(files), 10, "void: hardly a rotation")
        self.assert_is_the_file(*files)
        self.assertEqual(files[0].name, "series.000001.20261120T143000Z.records")


if __name__ == "__main__":
    unittest.main(verbosity=2)
