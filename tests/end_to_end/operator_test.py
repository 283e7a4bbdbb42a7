"""Tests operations on a journal's files while they are in use: renaming, removing and restoring."""

import json
import os
import pathlib
import unittest

import harness

RECORDS = 20_000
SEGMENT_BYTES = 65536  # so that the journal has many segments
SEGMENT_RECORDS = SEGMENT_BYTES // 64
PIPE = ("--format", "none", "--summary", "--until-closed")


class AnOperator(harness.BusTest):
    """Each test changes the files in one way, and checks the effect on readers and publishers."""

    def publish(self, name="publish", records=RECORDS, *more):
        """A running publisher whose records are all durable."""
        publisher = self.start(name, "publish", "--source", f"synthetic:records={records},seed=3",
                               "--segment-bytes", SEGMENT_BYTES, "--capacity", 1024,
                               "--linger", "3600s", *more)
        self.until_durable(records)
        return publisher

    @property
    def root(self):
        return pathlib.Path(self.bus) / "journal"

    def segment_files(self, suffix):
        return sorted(self.root.glob(f"*/*.{suffix}"))

    def lose_session_log(self):
        for name in ("sessions", "sessions.copy"):
            (self.root / name).unlink()

    def tail(self, name, expect=0):
        return self.run_to_end(name, "tail", "--from", "start", "--reattach", "1s", *PIPE,
                               expect=expect)

    def test_a_reader_in_the_journal_loses_nothing_to_a_bus_that_is_renamed(self):
        publisher = self.publish()
        out, into = os.pipe()
        reader = self.start("reader", "tail", "--from", "start", "--until-closed", "--format",
                            "json", stdout=into)
        os.close(into)
        with os.fdopen(out, "rb") as lines:
            seen = [lines.readline()]  # it has started, and its pipe fills up long before the end
            os.rename(self.bus, self.bus + "-away")
            # Far more than fits in a pipe: it reads segments while their names do not exist.
            while len(seen) < RECORDS - 2_000 and b'"lost"' not in seen[-1]:
                seen.append(lines.readline())
            os.rename(self.bus + "-away", self.bus)
            publisher.stop()
            seen += lines.readlines()
        self.assertEqual(reader.wait(), 0, reader.err())
        events = [line for line in seen if b'"event"' in line]
        self.assertEqual(len(seen) - len(events), RECORDS, events)
        self.assertFalse([line for line in events if b'"lost"' in line])

    def test_the_archiver_writes_on_under_a_bus_that_is_renamed(self):
        dbn = self.raw_dbn(f"synthetic:records={RECORDS},seed=3")
        flow = self.publish_flow("publish", dbn, "--segment-bytes", SEGMENT_BYTES,
                                 "--capacity", 1024)
        flow.feed(1000)
        self.until_durable(1000)
        os.rename(self.bus, self.bus + "-away")
        flow.feed(RECORDS)  # more than the pipe and the ring hold: creates segments
        os.rename(self.bus + "-away", self.bus)
        flow.end()
        self.assertEqual(flow.publisher.wait(), 0, flow.publisher.err())
        self.assertEqual(self.tail("tail").summary()["records"], RECORDS)
        self.run_to_end("verify", "verify")

    def test_an_unused_file_that_is_missing_at_the_end_is_no_failure(self):
        for suffix in ("jnl", "sum", "idx"):
            publisher = self.publish(f"publish-{suffix}", RECORDS, "--resume")
            self.segment_files(suffix)[-1].unlink()
            self.assertEqual(publisher.stop(), 0, publisher.err())
            self.assertNotIn("journal ended", publisher.err())
        self.run_to_end("verify", "verify")

    def test_a_publisher_that_has_lost_its_session_log_ends_its_journal_and_repair_rebuilds(self):
        publisher = self.publish()
        self.lose_session_log()
        self.until("the publisher to notice", lambda: "journal ended" in publisher.err())
        self.assertIn("lapwing repair", publisher.err())
        self.assertEqual(publisher.stop(), 1)
        source = f"synthetic:records={RECORDS}"
        for command in (("publish", "--source", source), ("verify",), ("info",)):
            refused = self.run_to_end(f"{command[0]}-refused", *command, expect=4)
            self.assertIn("lapwing repair", refused.err() + refused.out())
        self.tail("tail-refused", expect=4)

        self.run_to_end("repair", "repair")
        self.run_to_end("verify", "verify")
        summary = self.tail("tail-rebuilt", expect=5).summary()
        self.assertEqual((summary["records"], summary["lost"]), (RECORDS, 0))
        anew = self.run_to_end("publish-anew", "publish", "--source", source)
        self.assertIn("a new journal begins at sequence 1", anew.err())

    def test_segments_removed_at_the_front_are_lost_and_not_pruned_until_repair_says_so(self):
        self.publish().stop()
        for path in [*self.segment_files("jnl")[:2], *self.segment_files("sum")[:2]]:
            path.unlink()
        gone = 2 * SEGMENT_BYTES // 64
        self.run_to_end("verify-refused", "verify", expect=4)
        tail = self.tail("tail-lost", expect=6)
        self.assertEqual(tail.summary()["lost"], gone)
        self.assertIn(f"lost 1..{gone} ({gone} records, damaged)", tail.err())
        source = ("--source", "synthetic:records=10")
        refused = self.run_to_end("publish-refused", "publish", *source, expect=4)
        self.assertIn("lapwing repair", refused.err())

        repaired = self.run_to_end("repair", "repair")
        self.assertIn(f"sequences 1 to {gone} are gone", repaired.out())
        self.run_to_end("verify", "verify")
        self.assertEqual(self.tail("tail").summary()["records"], RECORDS - gone)
        self.run_to_end("publish-on", "publish", *source)
        self.assertEqual(self.tail("tail-on").summary()["last"], RECORDS + 10)

    def test_info_shows_the_segments_that_the_journal_keeps(self):
        self.publish().stop()
        files = self.segment_files("jnl")
        size = {"segments": len(files), "bytes": sum(map(harness.disk_bytes, files))}
        self.assertGreaterEqual(size["segments"], RECORDS // SEGMENT_RECORDS)
        self.assertEqual(self.info()["journal_size"], size)
        shown = self.run_to_end("info", "info").out()
        self.assertIn(f"{size['segments']} segments, {size['bytes']} bytes", shown)

    def test_retention_that_somebody_removes_is_no_loss(self):
        publisher = self.publish("publish", RECORDS, "--retain-bytes", 4 * SEGMENT_BYTES)
        # While it is still removing segments, it would write a new one without a message.
        self.until("retention", lambda: harness.kept_bytes(self.root, SEGMENT_RECORDS, RECORDS)
                   <= 4 * SEGMENT_BYTES)
        next(self.root.glob("*/retention")).unlink()
        self.until("the publisher to notice", lambda: "is made again" in publisher.err())
        self.assertEqual(publisher.stop(), 0)
        self.run_to_end("verify", "verify")
        self.assertEqual(self.tail("tail").summary()["lost"], 0)

    def test_a_start_without_session_log_leaves_the_ring_of_the_killed_publisher(self):
        self.publish().kill()
        description = json.loads((pathlib.Path(self.bus) / "bus.json").read_text())
        ring = pathlib.Path(description["ring_path"])
        self.lose_session_log()
        self.run_to_end("refused", "publish", "--source", "synthetic:records=10", expect=4)
        self.assertTrue(ring.exists())

    def test_a_ring_that_is_removed_under_a_publisher_costs_its_readers_nothing(self):
        dbn = self.raw_dbn(f"synthetic:records={RECORDS},seed=3")
        flow = self.publish_flow("publish", dbn, "--capacity", 1024, "--summary")
        flow.feed(1000)
        self.until_durable(1000)
        attached = self.start("attached", "tail", "--from", "start", *PIPE)
        self.until("it to be live", lambda: "caught up" in attached.err())
        ring = pathlib.Path(self.info()["ring"]["path"])
        ring.unlink()
        self.until("the publisher to notice", lambda: f"the ring file {ring} was deleted: "
                   "attached subscribers continue" in flow.publisher.err())
        flow.feed(RECORDS // 2)
        refused = self.run_to_end("refused", "tail", "--from", "start", "--reattach", "100ms",
                                  *PIPE, expect=5)
        self.assertIn(str(ring), refused.err())
        late = self.start("late", "tail", "--from", "start", *PIPE)
        flow.feed(RECORDS)
        flow.end()
        self.assertEqual(flow.publisher.wait(), 0, flow.publisher.err())
        self.assertEqual(flow.publisher.summary()["durable"], RECORDS)
        self.assertEqual(attached.wait(), 0, attached.err())
        self.assertEqual(late.wait(), 0, late.err())
        summary = self.assert_same_records(attached, late)
        self.assertEqual(summary["records"], RECORDS)
        self.run_to_end("verify", "verify")

    def test_a_ring_that_was_removed_before_a_kill_is_cut_at_durable(self):
        publisher = self.publish()
        pathlib.Path(self.info()["ring"]["path"]).unlink()
        publisher.kill()
        self.run_to_end("publish-on", "publish", "--source", "synthetic:records=10")
        cut, after = self.info()["sessions"]
        self.assertEqual((cut["end"], cut["last"]), ("cut", RECORDS))
        self.assertEqual(after["first"], cut["reserved_through"] + 1)
        tail = self.tail("tail", expect=6)
        self.assertEqual(tail.summary()["records"], RECORDS + 10)
        self.assertIn(f"lost {RECORDS + 1}..{cut['reserved_through']} ", tail.err())
        self.run_to_end("verify", "verify")

    def test_a_segment_that_is_removed_under_the_publisher_ends_the_journal(self):
        dbn = self.raw_dbn("synthetic:records=1000,seed=3")
        flow = self.publish_flow("publish", dbn)
        flow.feed(1000)
        self.until_durable(1000)
        first = self.segment_files("jnl")[0]
        first.unlink()
        flow.end()
        self.assertNotEqual(flow.publisher.wait(), 0)
        self.assertIn(str(first), flow.publisher.err())


if __name__ == "__main__":
    unittest.main(verbosity=2)
