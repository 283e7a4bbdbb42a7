"""Tests that the current program reads and continues files written by earlier releases."""

import json
import pathlib
import unittest

import buses
import harness

DAMAGED = 4  # exit code
FIRST_RECORD = 4096 + 8  # offset in a segment, after its header and the first slot's stamp


class WhatAnEarlierReleaseLeft(harness.ProgramTest):
    """Every bus of every version folder."""

    def setUp(self):
        super().setUp()
        self.maxDiff = None

    def each_bus(self, check):
        """Calls check(unpacked bus, expected results) for each bus."""
        count = 0
        for version in buses.version_folders():
            expected = json.loads((version / "expected.json").read_text())
            archives = sorted(version.glob("*.tar.zst"))
            self.assertEqual([archive.name for archive in archives],
                             sorted(f"{name}.tar.zst" for name in expected))
            folder = self.folder / version.name
            folder.mkdir()
            for archive in archives:
                name = archive.name.removesuffix(".tar.zst")
                count += 1
                with self.subTest(version=version.name, bus=name):
                    check(buses.Reading(buses.unpack(archive, folder), folder), expected[name])
        self.assertGreater(count, 0, "void: no version folder is there")
        print(f"{count} buses of {len(buses.version_folders())} earlier versions")

    def test_is_read_as_it_was_then_and_continued(self):
        def check(reading, expected):
            continued = expected.pop("continued")
            self.assertEqual(reading.everything(), expected)
            if continued["sessions"][-2]["end"] == "failed":
                # Since 0.2 readers get a discarded journal first, then the one that follows it.
                self.assertFalse(continued["old_records_are_there"])
                continued["old_records_are_there"] = True
                continued["tail"]["records"] += expected["tail"]["records"]
            self.assertEqual(reading.continued(), continued)
        self.each_bus(check)

    def test_is_not_taken_for_whole_with_a_byte_of_a_record_flipped(self):
        def check(reading, expected):
            self.assertEqual(reading.verify(), expected["verify"])
            segment = sorted(pathlib.Path(reading.bus, "journal").glob("*/*.jnl"))[0]
            content = bytearray(segment.read_bytes())
            content[FIRST_RECORD] ^= 1
            segment.chmod(0o600)
            segment.write_bytes(content)
            self.assertEqual(reading.verify()["exit"], DAMAGED)
            self.assertNotEqual(reading.tail(), expected["tail"])
        self.each_bus(check)


if __name__ == "__main__":
    unittest.main(verbosity=2)
