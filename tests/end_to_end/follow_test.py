"""Everyone who follows a bus gets the same records, whatever was lapped on the way."""

import random
import signal
import time
import unittest

import harness

EQUITIES = "us-equities-20131007.mbp-1.dbn.zst"
EQUITIES_RECORDS = 2_054_274
STOPPED_SECONDS = 5
FAST_RATE = 1_000_000
FAST_RECORDS = 8_000_000
QUIET = ("--until-closed", "--format", "none", "--summary")


class EveryoneSeesTheSame(harness.BusTest):
    """The day's ticks at full speed, on a tiny ring and on the default one."""

    def follow_equities(self, *ring):
        feed = harness.test_data(EQUITIES)
        publisher = self.start("publish", "publish", "--source", f"dbn:{feed}", "--pace", "max",
                               "--await", 2, "--summary", *ring)
        busy = self.start("busy", "tail", "--from", "start", "--wait", "busy", *QUIET)
        park = self.start("park", "tail", "--from", "start", "--wait", "park", *QUIET)
        self.until_head(random.randrange(1, EQUITIES_RECORDS // 2))
        late = self.start("late", "tail", "--from", "start", *QUIET)
        self.assertEqual(publisher.wait(), 0, publisher.err())
        for follower in (busy, park, late):
            self.assertEqual(follower.wait(), 0, follower.err())
        summary = self.assert_same_records(busy, park, late)
        self.assertEqual(summary["records"], EQUITIES_RECORDS)
        self.assertEqual(publisher.summary()["durable"], EQUITIES_RECORDS)
        laps = sum(follower.summary()["gaps"] for follower in (busy, park, late))
        print(f"\n{EQUITIES} on {ring or 'the default ring'}: {laps} gaps, all filled; "
              f"digest {summary['digest']}")

    def test_a_ring_of_1024_slots_gives_everyone_the_same_digest(self):
        self.follow_equities("--capacity", 1024)

    def test_the_default_ring_gives_everyone_the_same_digest(self):
        self.follow_equities()


class ABusGivenByARelativePath(harness.BusTest):
    """Its description is read by processes with other working directories."""

    def test_is_found_from_elsewhere(self):
        self.run_to_end("publish", "publish", "--source", "synthetic:records=1000", "--journal",
                        "kept", bus="bus/", cwd=self.folder)
        follower = self.run_to_end("tail", "tail", "--from", "start", *QUIET, cwd="/")
        self.assertEqual(follower.summary()["records"], 1000)


class ExtremeOptions(harness.BusTest):
    """Values that are as large or as early as they can be mean what they say."""

    def test_a_time_before_1970_is_before_everything_that_is_kept(self):
        self.run_to_end("publish", "publish", "--source", "synthetic:records=1000")
        follower = self.run_to_end("tail", "tail", "--from", "time:1960-01-01T00:00:00Z", *QUIET)
        self.assertEqual(follower.summary()["records"], 1000)

    def test_a_wait_longer_than_any_clock_is_no_shorter_one(self):
        follower = self.start("tail", "tail", "--from", "start", "--reattach", "1e30", *QUIET)
        self.run_to_end("publish", "publish", "--source", "synthetic:records=1000")
        self.assertEqual(follower.wait(), 0, follower.err())
        self.assertEqual(follower.summary()["records"], 1000)


class AStoppedSubscriber(harness.BusTest):
    """Stopped with SIGSTOP while a million records a second go by."""

    def publish_while_stopped(self, policy, expect):
        publisher = self.start(
            "publish", "publish", "--source", f"synthetic:records={FAST_RECORDS}",
            "--pace", FAST_RATE, "--await", 2, "--summary")
        steady = self.start("steady", "tail", "--from", "start", *QUIET)
        stopped = self.start("stopped", "tail", "--from", "start", "--on-gap", policy, *QUIET)
        self.until_head(FAST_RATE // 2)
        stopped.signal(signal.SIGSTOP)
        time.sleep(STOPPED_SECONDS)  # the event itself: a subscriber that is stopped this long
        stopped.signal(signal.SIGCONT)
        self.assertEqual(publisher.wait(), 0, publisher.err())
        self.assertEqual(steady.wait(), 0, steady.err())
        self.assertEqual(stopped.wait(), expect, stopped.err())
        summary = stopped.summary()
        self.assertGreater(summary["gaps"], 0, "void: the stopped subscriber was never lapped")
        print(f"\nstopped {STOPPED_SECONDS} s, {policy}: {summary['gaps']} gaps, "
              f"filled {summary['filled']}, lost {summary['lost']}; "
              f"publisher stalls {publisher.summary()['journal_stalls']}")
        return publisher, steady, stopped

    def test_it_does_not_stall_the_publisher_and_fills_its_gap(self):
        publisher, steady, stopped = self.publish_while_stopped("fill", 0)
        summary = self.assert_same_records(steady, stopped)
        self.assertEqual(summary["records"], FAST_RECORDS)
        self.assertGreater(stopped.summary()["filled"], 0)
        self.assertEqual(publisher.summary()["journal_stalls"], 0)

    def test_with_skip_gaps_and_records_are_exactly_all_there_were(self):
        _, _, stopped = self.publish_while_stopped("skip", 6)
        summary = stopped.summary()
        ranges = []
        for line in stopped.err().splitlines():
            if "lapwing: gap " in line:
                first, last = line.split()[2].split("..")
                ranges.append((int(first), int(last)))
        self.assertEqual(len(ranges), summary["gaps"])
        missed = sum(last - first + 1 for first, last in ranges)
        self.assertEqual(missed, summary["lost"])
        self.assertEqual(summary["records"] + missed, FAST_RECORDS)
        self.assertEqual((summary["first"], summary["last"]), (1, FAST_RECORDS))
        self.assertEqual((summary["duplicates"], summary["out_of_order"]), (0, 0))


if __name__ == "__main__":
    unittest.main(verbosity=2)
