"""The publisher is killed at random moments, its starts included, and the sequence goes on."""

import os
import random
import time
import unittest

import harness

KILLS = int(os.environ.get("LAPWING_KILLS", "25"))
RATE = 50_000
RUN_SECONDS_MAX = 0.6   # from a publisher's start to its kill: before, in and after its start
SLOWER = 4  # times that the kills may take, and more, before the feed ends
TAIL_RECORDS = 400_000  # what is left for the last publisher, which is not killed
QUIET = ("--until-closed", "--format", "none", "--summary")


class APublisherThatIsKilled(harness.BusTest):
    """Kill, restart with --resume, and again; subscribers re-attach by themselves."""

    def publish(self, name, *more):
        return self.start(name, "publish", "--source", f"synthetic:records={self.records},seed=7",
                          "--resume", "--summary", *more)

    def reference(self):
        """The same source, undisturbed, on a bus of its own: its digest."""
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
            time.sleep(chance.uniform(0, RUN_SECONDS_MAX))  # the random moment itself
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


if __name__ == "__main__":
    unittest.main(verbosity=2)
