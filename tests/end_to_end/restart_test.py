"""Kills the publisher at random moments, including during its start: the sequence continues."""

import os
import pathlib
import random
import time
import unittest

import harness

KILLS = int(os.environ.get("LAPWING_KILLS", "25"))
RATE = 50_000
RUN_SECONDS_MAX = 0.6   # from a publisher's launch to its kill: before, during or after its start
SLOWER = 4  # factor by which the kills may be slower without outlasting the feed
TAIL_RECORDS = 400_000  # records left for the last publisher, which is not killed
QUIET = ("--until-closed", "--format", "none", "--summary")


class APublisherThatIsKilled(harness.BusTest):
    """Repeated kills and restarts with --resume. Subscribers re-attach automatically."""

    def publish(self, name, *more):
        return self.start(name, "publish", "--source", f"synthetic:records={self.records},seed=7",
                          "--resume", "--summary", *more)

    def reference(self):
        """The digest of the same source, published undisturbed on a separate bus."""
        bus = str(self.folder / "reference")
        self.run_to_end("reference-publish", "publish", "--source",
                        f"synthetic:records={self.records},seed=7", bus=bus)
        follower = self.run_to_end("reference", "tail", "--from", "start", *QUIET, bus=bus)
        return follower.summary()

    def kill_again_and_again(self, capacity):
        seed = random.randrange(1 << 32)
        print(f"\n{KILLS} kills, ring of {capacity}, seed {seed}")
        chance = random.Random(seed)
        self.records = int(KILLS * RUN_SECONDS_MAX / 2 * SLOWER * RATE) + TAIL_RECORDS
        live = self.start("live", "tail", "--from", "start", "--wait", "busy", *QUIET)
        parked = self.start("parked", "tail", "--from", "start", "--wait", "park", *QUIET)
        kills = 0
        for kill in range(KILLS):
            publisher = self.publish(f"publisher-{kill}", "--pace", RATE, "--capacity", capacity)
            time.sleep(chance.uniform(0, RUN_SECONDS_MAX))  # the random moment
            if not publisher.alive():
                self.assertEqual(publisher.wait(), 0, publisher.err())
                break
            publisher.kill()
            kills += 1
        last = self.publish("publisher-last", "--capacity", capacity)
        self.assertEqual(last.wait(), 0, last.err())
        self.assertGreater(kills, KILLS // 2, "void: the feed ended before the kills did")
        late = self.start("late", "tail", "--from", "start", *QUIET)
        for follower in (live, parked, late):
            self.assertEqual(follower.wait(), 0, follower.err())
        summary = self.assert_same_records(live, parked, late)
        self.assertEqual((summary["first"], summary["last"]), (1, self.records))
        self.assertEqual(summary["digest"], self.reference()["digest"],
                         "the journal does not hold what was published")
        self.run_to_end("verify", "verify")
        sessions = self.info()["sessions"]
        self.assertFalse([session for session in sessions if "void" in session])
        print(f"{kills} kills survived: {summary['records']} records, {len(sessions)} sessions, "
              f"re-attached {live.summary()['reattached']} times, digest {summary['digest']}")

    def test_goes_on_without_hole_or_reuse_on_a_small_ring(self):
        self.kill_again_and_again(1024)

    def test_goes_on_without_hole_or_reuse_on_a_large_ring(self):
        self.kill_again_and_again(1 << 18)


class ReservedSpace(harness.BusTest):
    """A segment's space is reserved while the segment is written. A clean close releases the
    rest."""

    RECORDS = 2_000
    SEGMENT_BYTES = 64 << 20  # bytes of slots, the default
    USED_BYTES_MAX = 1 << 20  # for 2,000 records and the file system's overhead

    def setUp(self):
        super().setUp()
        self.sessions = 0

    def publish(self):
        """A running publisher whose records are all durable."""
        self.sessions += 1
        publisher = self.start(f"publish-{self.sessions}", "publish", "--source",
                               f"synthetic:records={self.RECORDS}", "--linger", "3600s")
        self.until("its session to be durable", lambda: self.is_durable(publisher))
        return publisher

    def is_durable(self, publisher):
        ring = (self.info() or {}).get("ring")
        return (ring and ring["publisher_pid"] == publisher.pid
                and ring["durable"] - ring["session_first"] + 1 == self.RECORDS)

    def segments(self):
        return sorted((pathlib.Path(self.bus) / "journal").glob("*/*.jnl"))

    def assert_reserved(self):
        self.assertGreaterEqual(harness.disk_bytes(self.segments()[-1]), self.SEGMENT_BYTES)

    def assert_given_back(self):
        for segment in self.segments():
            self.assertLess(harness.disk_bytes(segment), self.USED_BYTES_MAX)
            self.assertGreater(segment.stat().st_size, self.SEGMENT_BYTES, "readers see it whole")
        self.assertLess(self.info()["journal_size"]["bytes"],
                        len(self.segments()) * self.USED_BYTES_MAX)

    def assert_all_is_there(self, expect=0):
        self.run_to_end(f"verify-{self.sessions}", "verify")
        tail = self.run_to_end(f"tail-{self.sessions}", "tail", "--from", "start", *QUIET,
                               expect=expect)
        self.assertEqual(tail.summary()["records"], self.sessions * self.RECORDS)

    def test_a_close_gives_it_back_and_the_next_session_continues(self):
        follower = self.start("follower", "tail", "--from", "start", *QUIET)
        publisher = self.publish()
        self.assert_reserved()
        self.assertEqual(publisher.stop(), 0, publisher.err())
        self.assertEqual(follower.wait(), 0, follower.err())
        self.assertEqual(follower.summary()["records"], self.RECORDS)
        self.assert_given_back()
        self.assert_all_is_there()
        publisher = self.publish()
        self.assert_reserved()
        self.assertEqual(publisher.stop(), 0, publisher.err())
        self.assert_given_back()
        self.assert_all_is_there()

    def test_what_a_killed_publisher_leaves_is_given_back_by_the_next_one(self):
        self.publish().kill()
        self.assert_reserved()
        self.assertEqual(self.publish().stop(), 0)
        self.assert_given_back()
        self.assert_all_is_there()

    def test_a_start_that_cuts_the_journal_gives_back_what_lies_beyond_the_cut(self):
        publisher = self.publish()
        ring = pathlib.Path(self.info()["ring"]["path"])
        publisher.kill()
        ring.unlink()
        self.assertEqual(self.publish().stop(), 0)
        self.assertGreater(len(self.segments()), 1, "void: it goes on in the same segment")
        self.assert_given_back()
        self.assert_all_is_there(expect=6)  # the sequences after the truncation are a void


if __name__ == "__main__":
    unittest.main(verbosity=2)
