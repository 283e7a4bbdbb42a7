"""Tests that all followers of a bus get the same records, even if they are lapped."""

import json
import os
import pathlib
import random
import shutil
import signal
import unittest

import harness

EQUITIES = "us-equities-20131007.mbp-1.dbn.zst"
FAST_RATE = 1_000_000
STOPPED_RECORDS = int(os.environ.get("LAPWING_STOPPED_RECORDS", "600000"))  # during a stop
QUIET = ("--until-closed", "--format", "none", "--summary")


class EveryoneSeesTheSame(harness.BusTest):
    """The day's ticks at full speed, on a tiny ring and on the default one."""

    def follow_equities(self, *ring):
        feed = harness.feed_file("mbp-1", EQUITIES)
        records = harness.Dbn(harness.decoded(feed)).records
        publisher = self.start("publish", "publish", "--source", f"dbn:{feed}", "--pace", "max",
                               "--await", 2, "--summary", *ring)
        busy = self.start("busy", "tail", "--from", "start", "--wait", "busy", *QUIET)
        park = self.start("park", "tail", "--from", "start", "--wait", "park", *QUIET)
        self.until_head(random.randrange(1, records // 2))
        late = self.start("late", "tail", "--from", "start", *QUIET)
        self.assertEqual(publisher.wait(), 0, publisher.err())
        for follower in (busy, park, late):
            self.assertEqual(follower.wait(), 0, follower.err())
        summary = self.assert_same_records(busy, park, late)
        self.assertEqual(summary["records"], records)
        self.assertEqual(publisher.summary()["durable"], records)
        laps = sum(follower.summary()["gaps"] for follower in (busy, park, late))
        print(f"\n{pathlib.Path(feed).name} on {ring or 'the default ring'}: {laps} gaps, all "
              f"filled; digest {summary['digest']}")

    def test_a_ring_of_1024_slots_gives_everyone_the_same_digest(self):
        self.follow_equities("--capacity", 1024)

    def test_the_default_ring_gives_everyone_the_same_digest(self):
        self.ring_slots = None
        self.follow_equities()


class ABusGivenByARelativePath(harness.BusTest):
    """Processes with other working directories can read the bus's description."""

    def test_is_found_from_elsewhere(self):
        self.run_to_end("publish", "publish", "--source", "synthetic:records=1000", "--journal",
                        "kept", bus="bus/", cwd=self.folder)
        follower = self.run_to_end("tail", "tail", "--from", "start", *QUIET, cwd="/")
        self.assertEqual(follower.summary()["records"], 1000)


class ExtremeOptions(harness.BusTest):
    """Extreme values have their normal meaning."""

    def test_a_time_before_1970_is_before_everything_that_is_kept(self):
        self.run_to_end("publish", "publish", "--source", "synthetic:records=1000")
        follower = self.run_to_end("tail", "tail", "--from", "time:1960-01-01T00:00:00Z", *QUIET)
        self.assertEqual(follower.summary()["records"], 1000)

    def test_a_wait_without_a_limit_is_no_shorter_one(self):
        follower = self.start("tail", "tail", "--from", "start", "--reattach", "forever", *QUIET)
        self.run_to_end("publish", "publish", "--source", "synthetic:records=1000")
        self.assertEqual(follower.wait(), 0, follower.err())
        self.assertEqual(follower.summary()["records"], 1000)


class FromTheOldest(harness.BusTest):
    """`--from oldest`, and its older name `start`."""

    def test_start_is_the_same_as_oldest(self):
        self.run_to_end("publish", "publish", "--source", "synthetic:records=1000")
        followers = [self.run_to_end(where, "tail", "--from", where, *QUIET)
                     for where in ("oldest", "start")]
        self.assertEqual(self.assert_same_records(*followers)["records"], 1000)
        books = [self.run_to_end(where, "book", "--from", where, "--format", "json").out()
                 for where in ("oldest", "start")]
        self.assertTrue(books[0])
        self.assertEqual(books[0], books[1])

    def test_both_are_accepted_in_a_file_of_options(self):
        self.run_to_end("publish", "publish", "--source", "synthetic:records=1000")
        for where in ("oldest", "start"):
            config = self.folder / f"{where}.toml"
            config.write_text(f'from = "{where}"\nuntil-closed = true\nsummary = true\n')
            recorder = self.run_to_end(where, "record", "--config", config, "--out",
                                       self.folder / f"{where}.dbn")
            self.assertEqual(recorder.summary()["records"], 1000)


class FromASnapshot(harness.BusTest):
    """`--from snapshot`: the state, marked as such, then the records after it."""

    def setUp(self):
        super().setUp()
        self.publish(2000)
        self.run_to_end("checkpoint", "checkpoint", "--fold", "orders", "--until-closed")
        self.publish(1500)

    def publish(self, records):
        self.run_to_end("publish", "publish", "--source", f"synthetic:records={records}")

    def lines(self, process):
        return [json.loads(line) for line in process.out().splitlines()]

    def test_the_state_comes_first_and_is_marked(self):
        tail = self.run_to_end("tail", "tail", "--from", "snapshot", "--format", "json",
                               "--until-closed", "--summary")
        *lines, summary = self.lines(tail)
        complete = [line.get("event") for line in lines].index("snapshot-complete")
        state, after = lines[:complete], lines[complete + 1:]
        self.assertTrue(state)
        self.assertTrue(all(line["state"] is True for line in state))
        self.assertTrue(all(line["seq"] <= 2000 for line in state), "places, of before the state")
        self.assertEqual(lines[complete]["seq"], 2000)
        self.assertIn(".ckpt", lines[complete]["text"])
        records = [line["seq"] for line in after if "event" not in line]
        self.assertEqual(records, list(range(2001, 3501)))
        self.assertFalse(any("state" in line for line in after))
        self.assertEqual((summary["state"], summary["state_as_of"]), (len(state), 2000))

    def test_the_summary_is_that_of_who_began_after_the_state(self):
        joined = self.run_to_end("joined", "tail", "--from", "snapshot:orders", *QUIET)
        late = self.run_to_end("late", "tail", "--from", "seq:2001", *QUIET)
        summary = self.assert_same_records(joined, late)
        self.assertEqual((summary["first"], summary["records"]), (2001, 1500))
        self.assertNotIn("state", late.summary())

    def test_a_count_of_one_ends_after_a_state_of_larger_entries(self):
        tail = self.run_to_end("tail", "tail", "--from", "snapshot", "--count", "1", "--format",
                               "none", "--summary")
        summary = tail.summary()
        self.assertEqual((summary["first"], summary["records"]), (2001, 1))
        self.assertGreater(summary["state"], 0)

    def test_text_marks_the_state_too(self):
        tail = self.run_to_end("tail", "tail", "--from", "snapshot", "--until-closed")
        lines = tail.out().splitlines()
        state = [line for line in lines if line.startswith("state ")]
        self.assertEqual(lines[:len(state)], state)
        self.assertEqual(len(lines) - len(state), 1500)
        self.assertIn("snapshot complete at 2000: ", tail.err())

    def test_without_a_checkpoint_it_says_so_and_begins_with_the_oldest(self):
        tail = self.run_to_end("tail", "tail", "--from", "snapshot:latest", *QUIET)
        self.assertIn("no snapshot: no checkpoint in ", tail.err())
        self.assertEqual(tail.summary()["records"], 3500)

    def test_a_damaged_one_is_passed_over(self):
        (checkpoint,) = (self.folder / "bus" / "checkpoint" / "orders").glob("*.ckpt")
        content = bytearray(checkpoint.read_bytes())
        content[5000] ^= 1
        checkpoint.chmod(0o640)  # finished checkpoints are writable only by root
        checkpoint.write_bytes(content)
        tail = self.run_to_end("tail", "tail", "--from", "snapshot", *QUIET)
        self.assertIn("sum mismatch", tail.err())
        self.assertEqual(tail.summary()["records"], 3500)

    def test_what_cannot_be_is_refused(self):
        tail = self.run_to_end("tail", "tail", "--from", "snapshot:nonsense", *QUIET, expect=2)
        self.assertIn("orders", tail.err())
        self.run_to_end("empty", "tail", "--from", "snapshot:", *QUIET, expect=2)


class ABusThatIsReplaced(harness.BusTest):
    """While the bus is followed, one with other records replaces it."""

    def replace(self, *tails):
        """The complete output of each tail, as JSON."""
        publisher = self.start("first", "publish", "--source", "synthetic:records=1000",
                               "--linger", "600s")
        self.until_head(1000)
        running = [self.start(f"tail{number}", "tail", "--format", "json", *more)
                   for number, more in enumerate(tails)]
        for tail in running:
            self.until("a tail that has caught up", lambda: '"caught-up"' in tail.out())
        self.assertEqual(publisher.stop(), 0, publisher.err())
        for tail in running:
            self.until("the end of the session", lambda: '"closed"' in tail.out())
        shutil.rmtree(self.bus)
        self.start("second", "publish", "--source", "kv16:records=10", "--linger", "600s")
        return running

    def pairs(self, tail):
        """The records of the second bus that a tail has shown so far, or their number."""
        lines = [json.loads(line) for line in tail.out().split("\n")[:-1] if '"key"' in line]
        return sum(1 + line.get("conflated", 0) for line in lines)

    def shown(self, tail):
        lines = [json.loads(line) for line in tail.out().splitlines()]
        reset = [line.get("event") for line in lines].index("reset")
        return lines[:reset], [line for line in lines[reset:] if "event" not in line]

    def test_is_shown_in_the_format_of_its_records(self):
        every, conflated = self.replace(("--from", "start", "--count", 1010),
                                        ("--from", "start", "--conflate", "20ms"))
        self.assertEqual(every.wait(), 0, every.err())
        self.until("all pairs", lambda: self.pairs(conflated) == 10)
        self.assertEqual(conflated.stop(), 0, conflated.err())
        for tail in (every, conflated):
            before, after = self.shown(tail)
            self.assertTrue(all("order_id" in line for line in before if "event" not in line))
            self.assertEqual({tuple(line)[:3] for line in after}, {("seq", "key", "value")})
            self.assertEqual(self.pairs(tail), 10)

    def test_ends_a_tail_with_a_state_that_is_of_other_records(self):
        (tail,) = self.replace(("--from", "snapshot"),)
        self.assertEqual(tail.wait(), 2, tail.err())
        self.assertIn("the fold orders is for dbn.mbo records", tail.err())


class AStoppedSubscriber(harness.BusTest):
    """Followers stopped with SIGSTOP while several rings of records pass, a million records per
    second."""

    ring_slots = 1 << 18  # a quarter of a second for running followers

    def is_stopped(self, process):
        stat = pathlib.Path(f"/proc/{process.pid}/stat").read_text()
        return stat.rsplit(")", 1)[1].split()[0] == "T"

    def publish_while_stopped(self, policy, expect):
        """A steady follower, a stopped one, and the number of records."""
        publisher = self.start("publish", "publish", "--source", "synthetic:records=0",
                               "--pace", FAST_RATE, "--await", 2, "--summary")
        steady = self.start("steady", "tail", "--from", "start", *QUIET)
        stopped = self.start("stopped", "tail", "--from", "start", "--on-gap", policy, *QUIET)
        self.until_head(FAST_RATE // 10)
        stopped.signal(signal.SIGSTOP)
        self.until("it to be stopped", lambda: self.is_stopped(stopped))
        info = self.info()
        self.assertLess(info["capacity"], STOPPED_RECORDS, "void: the ring holds all of them")
        self.until_head(info["ring"]["head"] + STOPPED_RECORDS)
        self.assertTrue(self.is_stopped(stopped), "the publisher went on beside it for whole rings")
        stopped.signal(signal.SIGCONT)
        self.until("it to tell of a gap", lambda: "lapwing: gap " in stopped.err())
        self.assertEqual(publisher.stop(), 0, publisher.err())
        self.assertEqual(steady.wait(), 0, steady.err())
        self.assertEqual(stopped.wait(), expect, stopped.err())
        records, summary = publisher.summary()["records"], stopped.summary()
        self.assertGreater(summary["gaps"], 0)
        print(f"\nstopped for {STOPPED_RECORDS:,} of {records:,} records, {policy}: "
              f"{summary['gaps']} gaps, filled {summary['filled']}, lost {summary['lost']}")
        return steady, stopped, records

    def test_it_does_not_stall_the_publisher_and_fills_its_gap(self):
        steady, stopped, records = self.publish_while_stopped("fill", 0)
        summary = self.assert_same_records(steady, stopped)
        self.assertEqual(summary["records"], records)
        self.assertGreater(stopped.summary()["filled"], 0)

    def test_with_skip_gaps_and_records_are_exactly_all_there_were(self):
        _, stopped, records = self.publish_while_stopped("skip", 6)
        summary = stopped.summary()
        ranges = []
        for line in stopped.err().splitlines():
            if "lapwing: gap " in line:
                first, last = line.split()[2].split("..")
                ranges.append((int(first), int(last)))
        self.assertEqual(len(ranges), summary["gaps"])
        missed = sum(last - first + 1 for first, last in ranges)
        self.assertEqual(missed, summary["lost"])
        self.assertEqual(summary["records"] + missed, records)
        self.assertEqual(min(summary["first"], ranges[0][0]), 1)
        self.assertEqual(summary["last"], records)
        self.assertEqual((summary["duplicates"], summary["out_of_order"]), (0, 0))


if __name__ == "__main__":
    unittest.main(verbosity=2)
