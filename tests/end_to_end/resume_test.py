"""Tests that `publish --resume` continues a source whose content is known, and refuses others."""

import json
import os
import pathlib
import shutil
import unittest

import feed_files
import harness

DAY_NS = 86_400 * 1_000_000_000
STREAM = "cannot be compared with what the journal holds"


def trades(path, count, start_ns=feed_files.START_NS):
    """A DBN file of `count` trades. A longer one of the same day begins with the same records."""
    records = (feed_files.TRADE.pack(
        feed_files.TRADE.size // feed_files.LENGTH_UNIT, feed_files.RTYPE_TRADE, 1, 1, start_ns + n,
        n * feed_files.TICK, 1, b"T", b"B", feed_files.LAST, 0, start_ns + n, 0, n)
               for n in range(1, count + 1))
    path.write_bytes(feed_files.metadata("trades") + b"".join(records))
    return f"dbn:{path}"


class Resuming(harness.BusTest):
    """Each run is `publish --resume --summary`. No record is duplicated or silently omitted."""

    def setUp(self):
        super().setUp()
        self.runs = 0
        self.file = self.folder / "feed.dbn"

    def publish(self, source, *options, expect=0, **popen):
        self.runs += 1
        return self.run_to_end(f"publish-{self.runs}", "publish", "--source", source, "--summary",
                               *options, expect=expect, **popen)

    def resume(self, source, published, already, *options):
        summary = self.publish(source, "--resume", *options).summary()
        self.assertEqual((summary["records"], summary["already_in_journal"]), (published, already))

    def refused(self, source, words, *options, **popen):
        sessions = len(self.info()["sessions"])
        publisher = self.publish(source, "--resume", *options, expect=2, **popen)
        self.assertIn(words, publisher.err())
        self.assertEqual(len(self.info()["sessions"]), sessions, "a session began")

    def journal(self, bus=None):
        self.runs += 1
        verified = self.run_to_end(f"verify-{self.runs}", "verify", "--json", bus=bus)
        return json.loads(verified.out())["journals"][-1]

    def publish_until_retention_moves(self, origin, retain_bytes):
        """Publishes 9,000 more records on `origin`. Returns the oldest retained record."""
        more = trades(self.file, 9_000, feed_files.START_NS + DAY_NS)
        publisher = self.start("origin-2", "publish", "--source", more, "--segment-bytes", "65536",
                               "--retain-bytes", retain_bytes, "--linger", "600s", bus=origin)
        self.until("retention has removed the first file",
                   lambda: not list(pathlib.Path(origin).glob(f"journal/*/{0:020}.jnl")))
        self.until_durable(self.published_on_origin + 9_000, bus=origin)
        publisher.stop()
        return self.journal(origin)["oldest"]

    def digest(self):
        self.runs += 1
        return self.run_to_end(f"tail-{self.runs}", "tail", "--from", "start", "--until-closed",
                               "--format", "none", "--summary").summary()["digest"]

    def test_a_file_is_continued_whatever_its_name(self):
        source = trades(self.file, 1_000)
        self.resume(source, 1_000, 0)
        self.resume(source, 0, 1_000)
        moved = self.folder / "moved.dbn"
        self.file.rename(moved)
        self.resume(f"dbn:{moved}", 0, 1_000)
        self.resume(trades(self.file, 1_700), 700, 1_000)
        resumed = self.digest()
        shutil.rmtree(self.bus)
        self.publish(trades(self.file, 1_700))
        self.assertEqual(self.digest(), resumed)

    def test_the_next_days_file_at_the_same_path_is_refused_or_published_whole(self):
        self.resume(trades(self.file, 1_000), 1_000, 0)
        source = trades(self.file, 1_500, feed_files.START_NS + DAY_NS)
        self.refused(source, "holds nothing of")
        self.resume(source, 1_500, 0, "--on-new-source", "publish")
        self.resume(source, 0, 1_500, "--on-new-source", "publish")
        self.resume(trades(self.file, 1_000), 0, 1_000)
        self.assertEqual(self.journal()["durable"], 2_500)

    def test_a_shorter_file_and_one_that_was_changed_are_refused(self):
        self.resume(trades(self.file, 1_000), 1_000, 0)
        self.refused(trades(self.file, 600),
                     "it has 600 records, and the journal has 1000 records of it")
        source = trades(self.file, 1_200)
        content = bytearray(self.file.read_bytes())
        content[-201 * feed_files.TRADE.size + 20] ^= 1  # in record 1,000
        self.file.write_bytes(content)
        self.refused(source, "its record 1000 differs from record 1000 of the journal")

    def test_streams_are_refused(self):
        source = trades(self.file, 1_000)
        self.resume(source, 1_000, 0)
        fifo = self.folder / "fifo"
        os.mkfifo(fifo)
        held = os.open(fifo, os.O_RDWR)
        self.addCleanup(os.close, held)
        os.write(held, self.file.read_bytes())
        self.refused(f"dbn:{fifo}", STREAM)
        read, write = os.pipe()
        os.write(write, self.file.read_bytes())
        os.close(write)
        self.addCleanup(os.close, read)
        self.refused("dbn:-", STREAM, stdin=read)

    def test_passes_over_a_file_are_continued_and_over_a_journal_refused(self):
        source = trades(self.file, 1_000)
        self.resume(source, 1_000, 0)
        self.resume(source, 2_000, 1_000, "--loop", 3)
        origin = str(self.folder / "origin")
        self.run_to_end("origin", "publish", "--source", source, bus=origin)
        self.refused(f"journal:{origin}", "Remove --loop or --resume", "--loop", 3)

    def test_what_to_do_with_a_new_source_needs_resume(self):
        refused = self.publish(trades(self.file, 10), "--on-new-source", "publish", expect=2)
        self.assertIn("--on-new-source requires --resume", refused.err())

    def test_a_journal_is_followed_after_its_retention_has_moved(self):
        origin = str(self.folder / "origin")
        self.published_on_origin = 5_000
        first = trades(self.file, self.published_on_origin)
        self.run_to_end("origin-1", "publish", "--source", first, "--segment-bytes", "65536",
                        bus=origin)
        self.resume(f"journal:{origin}", 5_000, 0)
        oldest = self.publish_until_retention_moves(origin, 750_000)
        self.assertLessEqual(oldest, 5_000, "void: retention removed what was to come")
        self.resume(f"journal:{origin}", 9_000, 5_000 - (oldest - 1))
        self.assertEqual(self.journal()["durable"], 14_000)

    def test_records_that_the_source_journal_lost_are_reported(self):
        origin = str(self.folder / "origin")
        self.published_on_origin = 1_000
        self.run_to_end("origin-1", "publish", "--source", trades(self.file, 1_000),
                        "--segment-bytes", "65536", bus=origin)
        self.resume(f"journal:{origin}", 1_000, 0)
        oldest = self.publish_until_retention_moves(origin, 200_000)
        self.assertGreater(oldest, 1_001, "void: nothing was lost")
        publisher = self.publish(f"journal:{origin}", "--resume", expect=6)
        self.assertIn(f"records 1001 to {oldest - 1} of journal:{origin} are not published",
                      publisher.err())
        self.assertEqual(publisher.summary()["lost_in_source"], oldest - 1_001)
        self.assertEqual(publisher.summary()["records"], 10_000 - (oldest - 1))

    def test_a_restamped_file_is_continued(self):
        source = trades(self.file, 1_000)
        self.resume(source, 1_000, 0, "--restamp")
        self.resume(trades(self.file, 1_200), 200, 1_000, "--restamp")
        self.refused(source, "differs from record")


if __name__ == "__main__":
    unittest.main()
