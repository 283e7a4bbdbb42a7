"""Tests `lapwing repair`: it uses the second copies, ends uncertain journals, and invents
nothing."""

import json
import os
import pathlib
import shutil
import struct
import unittest

import harness

OTHER, DAMAGED = 1, 4
ENTRY_BYTES = 512      # in sessions
KIND_AT, FIRST_AT = 4, 64
TIME_ENTRY_BYTES = 32
RECORDS = 3000         # in each of two sessions
QUIET = ("--format", "none", "--summary")


class Repair(harness.BusTest):
    """Repairs of a bus with two closed sessions."""

    def setUp(self):
        super().setUp()
        for _ in range(2):
            self.run_to_end("publish", "publish", "--source", f"synthetic:records={RECORDS}",
                            "--segment-bytes", 1 << 20)
        self.root = pathlib.Path(self.bus) / "journal"
        self.sessions, self.copy = self.root / "sessions", self.root / "sessions.copy"

    def entries(self, path):
        """The number of entries written to a `sessions` file."""
        content = path.read_bytes()
        return next(n for n in range(len(content) // ENTRY_BYTES)
                    if struct.unpack_from("<I", content, n * ENTRY_BYTES + KIND_AT) == (0,))

    def overwrite(self, path, at, data):
        with open(path, "r+b") as file:
            file.seek(at)
            file.write(data)

    def flip(self, path, at):
        content = path.read_bytes()
        self.overwrite(path, at, bytes([content[at] ^ 1]))

    def verify(self, expect=0):
        return json.loads(self.run_to_end("verify", "verify", "--json", expect=expect).out())

    def assert_whole(self):
        self.assertEqual(self.verify()["findings"], [])
        tail = self.run_to_end("tail", "tail", "--from", "start", "--until-closed", *QUIET)
        self.assertEqual(tail.summary()["records"], 2 * RECORDS)

    def test_of_a_journal_that_is_well_does_nothing(self):
        before = self.sessions.read_bytes()
        self.assertIn("nothing to repair", self.run_to_end("repair", "repair").out())
        self.assertEqual(self.sessions.read_bytes(), before)
        self.assert_whole()

    def test_writes_a_damaged_time_index_anew_from_what_is_good(self):
        (index,) = self.root.rglob("*.idx")
        good = index.read_bytes()
        self.assertGreaterEqual(len(good), 2 * TIME_ENTRY_BYTES)
        self.flip(index, 8)
        (finding,) = self.verify(expect=DAMAGED)["findings"]
        self.assertIn(str(index), json.dumps(finding))
        self.assertIn(str(index), self.run_to_end("repair", "repair").out())
        self.assertEqual(index.read_bytes(), good[TIME_ENTRY_BYTES:])
        self.assert_whole()

    def test_makes_a_missing_time_index_anew(self):
        (index,) = self.root.rglob("*.idx")
        index.unlink()
        self.verify(expect=DAMAGED)
        self.run_to_end("repair", "repair")
        self.assertTrue(index.exists())
        self.assert_whole()

    def test_heals_a_copy_of_sessions_that_lags(self):
        written = self.entries(self.sessions)
        self.overwrite(self.copy, (written - 2) * ENTRY_BYTES, bytes(2 * ENTRY_BYTES))
        self.verify(expect=DAMAGED)
        repaired = self.run_to_end("repair", "repair")
        self.assertIn("2 entries of ", repaired.out())
        self.assertEqual(self.copy.read_bytes(), self.sessions.read_bytes())
        self.assert_whole()

    def test_heals_an_entry_that_is_damaged_in_one_file_from_the_other(self):
        good = self.sessions.read_bytes()
        self.flip(self.sessions, FIRST_AT)
        self.flip(self.copy, ENTRY_BYTES + FIRST_AT)
        self.verify(expect=DAMAGED)
        self.run_to_end("repair", "repair")
        for path in (self.sessions, self.copy):
            self.assertEqual(path.read_bytes(), good)
        self.assert_whole()

    def test_goes_back_to_the_entry_before_one_that_is_damaged_in_both_copies(self):
        second = self.entries(self.sessions) // 2 + 1  # the reservation of the second session
        damaged = []
        for path in (self.sessions, self.copy):
            self.flip(path, second * ENTRY_BYTES + FIRST_AT)
            damaged.append(path.read_bytes())
        self.verify(expect=DAMAGED)
        source = ("--source", "synthetic:records=10")
        refused = self.run_to_end("refused", "publish", *source, expect=DAMAGED)
        self.assertIn("lapwing repair", refused.err())

        repaired = self.run_to_end("repair", "repair")
        self.assertIn(f"is reset to its first {second} entries", repaired.out())
        kept = [next(self.root.glob(f"{path.name}.damaged-*")).read_bytes()
                for path in (self.sessions, self.copy)]
        self.assertEqual(kept, damaged, "what it was is kept")
        self.assertEqual(self.verify()["findings"], [])
        tail = self.run_to_end("tail", "tail", "--from", "start", "--count", RECORDS, *QUIET)
        self.assertEqual(tail.summary()["last"], RECORDS, "the first session is whole")
        anew = self.run_to_end("anew", "publish", *source)
        self.assertIn("a new journal begins at sequence 1", anew.err())
        self.assertNotIn("as the ring of its last session", anew.err())
        self.assertEqual(self.verify()["findings"], [])

    def refused(self, name, expect=OTHER, bus=None):
        """The message of a command that fails."""
        return self.run_to_end(name, name, expect=expect, bus=bus).err()

    def test_beside_a_publisher_says_whose_end_it_needs(self):
        publisher = self.start("publish", "publish", "--source", "synthetic:records=10",
                               "--linger", "600s")
        self.until_head(2 * RECORDS + 10)
        said = self.refused("repair")
        self.assertIn(f"is held by process {publisher.pid} (lapwing, user {os.geteuid()}), "
                      "which publishes or repairs here", said)
        self.assertIn("end it, then repair again", said)

    def test_of_a_journal_that_is_gone_says_what_to_do_about_it(self):
        shutil.rmtree(self.root)
        for command in ("repair", "verify", "info"):
            said = self.refused(command)
            self.assertIn(str(self.root), said)
            self.assertIn("start a publisher, which begins a new one", said)
            self.assertNotIn("--journal", said)

        self.run_to_end("anew", "publish", "--source", f"synthetic:records={2 * RECORDS}")
        self.assert_whole()

    def test_of_a_bus_without_a_journal_says_that_there_is_none(self):
        bus = str(self.folder / "bare")
        self.run_to_end("bare", "publish", "--journal", "none", "--source", "synthetic:records=10",
                        bus=bus)
        for command in ("repair", "verify"):
            said = self.refused(command, bus=bus)
            self.assertIn(f"bus {bus} keeps no journal to verify or repair",
                          said)


if __name__ == "__main__":
    unittest.main(verbosity=2)
