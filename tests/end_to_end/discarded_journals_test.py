"""Tests buses with a failed or ended journal: the next start keeps all durable records readable."""

import os
import pathlib
import resource
import subprocess
import unittest

import harness

DONE, USAGE, LOST = 0, 2, 6
QUIET = ("--format", "none", "--summary")
SECOND = 1_000          # records of the second journal
TAKEN = 5_000           # records of the first journal in a recording
SEGMENT_BYTES = 1 << 20
ENTRY_BYTES, FIRST_AT = 512, 64  # of `sessions`


class DiscardedJournals(harness.BusTest):
    """Tests every command that reads history, with the first journal."""

    def setUp(self):
        super().setUp()
        self.bus = str(self.disk() / "bus")
        rings = pathlib.Path("/dev/shm") / self.folder.name
        rings.mkdir(mode=0o700)
        self.addCleanup(subprocess.run, ["rm", "-rf", str(rings)], check=False)
        self.ring_dir = rings

    def disk(self):
        return self.folder

    def publish(self, name, records, *more):
        return self.start(name, "publish", "--source", f"synthetic:records={records}",
                          "--segment-bytes", SEGMENT_BYTES, "--ring-dir", self.ring_dir,
                          "--summary", *more)

    def break_disk(self, publisher):
        """Makes it impossible for the publisher to write another segment completely."""
        limit = SEGMENT_BYTES // 8
        resource.prlimit(publisher.pid, resource.RLIMIT_FSIZE, (limit, limit))

    def mend_disk(self):
        """The limit ended with the process."""

    def fail_first_journal(self):
        """Makes the publisher continue live to the last record. Returns that record, and
        `durable`."""
        records = 400_000
        publisher = self.publish("first", records, "--pace", 300_000, "--await", 1)
        recorder = self.record("recorder-begins", "--from", "start", "--count", TAKEN)
        self.assertEqual(recorder.wait(), DONE, recorder.err())
        self.until_durable(2 * TAKEN)
        self.break_disk(publisher)
        self.assertEqual(publisher.wait(), LOST, publisher.err())
        durable = publisher.summary()["durable"]
        self.assertLess(durable, records)
        self.assertGreater(durable, TAKEN)
        return records, durable

    def record(self, name, *more):
        return self.start(name, "record", "--out", self.folder / "recorded.dbn", "--summary", *more)

    def export(self, name, *more, expect=DONE):
        """The records of an exported file, and the command's summary."""
        out = self.folder / f"{name}.dbn"
        done = self.run_to_end(name, "export", "--out", out, "--summary", *more, expect=expect)
        return harness.Dbn(out.read_bytes()).records, done.summary()

    def middle_of_a_day(self):
        """A file of SECOND records from the middle of a feed."""
        other, path = str(self.folder / "other"), self.folder / "middle.dbn"
        self.run_to_end("other", "publish", "--source", f"synthetic:records={2 * SECOND}", bus=other)
        self.run_to_end("middle", "export", "--out", path, "--first", SECOND + 1, bus=other)
        return path

    def journals(self):
        return [journal["journal"] for journal in self.info()["journals"]]

    def test_every_reader_gets_the_first_journal_and_then_the_second(self):
        records, durable = self.fail_first_journal()
        self.mend_disk()
        second = self.run_to_end("second", "publish", "--source", f"dbn:{self.middle_of_a_day()}",
                                 "--segment-bytes", SEGMENT_BYTES, "--ring-dir", self.ring_dir)
        self.assertEqual(second.wait(), DONE, second.err())
        lost = records - durable

        exported, summary = self.export("export", expect=LOST)
        self.assertEqual(exported, durable + SECOND)
        self.assertEqual(summary["lost"], lost)

        tail = self.run_to_end("tail", "tail", "--from", "start", "--until-closed", *QUIET,
                               expect=LOST)
        self.assertEqual(tail.summary()["records"], durable + SECOND)
        for words in (f"lost {durable + 1}..{records}", "reset at 1"):
            self.assertIn(words, tail.err())

        recorder = self.record("recorder-continues", "--until-closed")
        self.assertEqual(recorder.wait(), LOST, recorder.err())
        summary = recorder.summary()
        self.assertEqual(summary["records"], durable - TAKEN + SECOND)
        self.assertEqual(summary["lost"], lost)
        recorded = harness.Dbn((self.folder / "recorded.dbn").read_bytes())
        self.assertEqual(recorded.records, durable + SECOND)

        book = self.run_to_end("book", "book", "--summary", "--format", "none")
        self.assertGreater(book.summary()["stale"], 0, "their beginning is in another journal")
        self.assertEqual(book.summary()["stale"], book.summary()["books"])

        self.name_journals(durable)
        self.remove_first_journal()

    def name_journals(self, durable):
        """`info` lists both, and each can be read separately."""
        info = self.info()
        first, second = info["journals"]
        self.assertEqual((first["oldest"], first["last"]), (1, durable))
        self.assertEqual((first["end"], first["discarded"]), ("failed", True))
        self.assertEqual((second["last"], second["discarded"]), (SECOND, False))
        self.assertEqual(info["journal_size"]["bytes"], first["bytes"] + second["bytes"])
        self.assertIn("discarded", self.run_to_end("info", "info").out())

        exported, _ = self.export("only-first", "--journal-id", first["journal"], expect=LOST)
        self.assertEqual(exported, durable)
        exported, _ = self.export("part-of-first", "--journal-id", first["journal"],
                                  "--first", 4_001, "--last", 4_100)
        self.assertEqual(exported, 100)
        exported, _ = self.export("only-second", "--journal-id", second["journal"])
        self.assertEqual(exported, SECOND)
        exported, summary = self.export("part", "--last", 10)
        self.assertEqual((exported, summary["first"], summary["last"]), (10, 1, 10))
        tail = self.run_to_end("tail-first", "tail", "--from", "seq:4001", "--journal-id",
                               first["journal"], *QUIET, expect=LOST)
        self.assertEqual(tail.summary()["records"], durable - 4_000)
        wrong = self.run_to_end("wrong", "export", "--out", self.folder / "x.dbn", "--journal-id",
                                "ab", expect=USAGE)
        self.assertIn("--journal-id `ab`", wrong.err())

    def remove_first_journal(self):
        """Retention counts both, and removes the first one first."""
        publisher = self.publish("third", SECOND, "--retain-bytes", 2 * SEGMENT_BYTES,
                                 "--linger", "600s")
        self.until("the first journal to be removed",
                   lambda: self.info()["journals"][0]["segments"] == 0)
        self.assertGreater(self.info()["journals"][1]["segments"], 0)
        self.assertIn(f'{self.info()["journals"][0]["journal"]}  no records',
                      self.run_to_end("info-after-removal", "info").out())
        self.assertEqual(publisher.stop(), DONE, publisher.err())
        exported, _ = self.export("after-removal")
        self.assertEqual(exported, 2 * SECOND)
        verified = self.run_to_end("verify", "verify")
        self.assertEqual(verified.wait(), DONE)

    def test_a_journal_that_repair_has_ended_comes_first(self):
        for name in ("first", "second"):
            publisher = self.publish(name, SECOND)
            self.assertEqual(publisher.wait(), DONE, publisher.err())
        recorder = self.record("recorder-begins", "--from", "start", "--count", SECOND // 2)
        self.assertEqual(recorder.wait(), DONE, recorder.err())
        root = pathlib.Path(self.bus) / "journal"
        for path in (root / "sessions", root / "sessions.copy"):
            with open(path, "r+b") as file:  # the reservation of the second session
                file.seek(4 * ENTRY_BYTES + FIRST_AT)
                file.write(b"damage!!")
        self.run_to_end("repair", "repair")
        publisher = self.publish("third", 10)
        self.assertEqual(publisher.wait(), DONE, publisher.err())
        self.assertEqual(len(self.journals()), 2)
        exported, _ = self.export("export")
        self.assertEqual(exported, SECOND + 10)
        recorder = self.record("recorder-continues", "--until-closed")
        self.assertEqual(recorder.wait(), DONE, recorder.err())
        self.assertEqual(recorder.summary()["records"], SECOND // 2 + 10)

    def test_a_journal_whose_log_was_rebuilt_comes_first_for_stored_positions_too(self):
        for name in ("first", "second"):
            publisher = self.publish(name, SECOND)
            self.assertEqual(publisher.wait(), DONE, publisher.err())
        recorder = self.record("recorder-begins", "--from", "start", "--count", SECOND // 2)
        self.assertEqual(recorder.wait(), DONE, recorder.err())
        root = pathlib.Path(self.bus) / "journal"
        for path in (root / "sessions", root / "sessions.copy"):
            path.unlink()
        self.run_to_end("repair", "repair")
        publisher = self.publish("third", 10)
        self.assertEqual(publisher.wait(), DONE, publisher.err())
        exported, _ = self.export("export")
        self.assertEqual(exported, 2 * SECOND + 10)
        recorder = self.record("recorder-continues", "--until-closed")
        self.assertEqual(recorder.wait(), DONE, recorder.err())
        self.assertEqual(recorder.summary()["records"], 2 * SECOND - SECOND // 2 + 10)


@unittest.skipUnless(os.geteuid() == 0, "SKIPPED: needs root")
class OnADiskThatFills(DiscardedJournals):
    """The same on a full file system that later has space again."""

    def disk(self):
        return self.mount(self.folder / "disk", "-t", "tmpfs", "-o", "size=12m", "tmpfs")

    def break_disk(self, publisher):
        """Does nothing: the file system fills by itself."""

    def mend_disk(self):
        subprocess.run(["mount", "-o", "remount,size=64m", str(self.folder / "disk")], check=True)

    test_a_journal_that_repair_has_ended_comes_first = None
    test_a_journal_whose_log_was_rebuilt_comes_first_for_stored_positions_too = None


if __name__ == "__main__":
    unittest.main()
