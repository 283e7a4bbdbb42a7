"""Tests options for timing, waiting and ranges: each does what its line in --help describes."""

import datetime
import json
import os
import pathlib
import stat
import struct
import unittest

import harness
import mbo_records as mbo

SECOND = 1_000_000_000
DAY = 86_400 * SECOND
RECORDS = 20_000
SEGMENT_BYTES = 65_536
RING = 1024
GROUP = 61_100  # unused on this machine
QUIET = ("--until-closed", "--format", "none", "--summary")
RECV_AT, RECORD_BYTES = 40, mbo.LAYOUT.size


class Pace(harness.BusTest):
    """`--pace recorded`: the recorded intervals, with silences shortened to one second."""

    def feed_of(self, *times_ns):
        """A feed with one record at each of these times."""
        like = self.folder / "like.dbn"
        like.write_bytes(self.raw_dbn("synthetic:records=10"))
        records = []
        for number, time_ns in enumerate(times_ns, 1):
            record = bytearray(mbo.record(b"A", b"B", 100 * mbo.SCALE, 1, order_id=number))
            struct.pack_into("<Q", record, RECV_AT, time_ns)
            records.append(bytes(record))
        return mbo.write_dbn(self.folder / "paced.dbn", like, records)

    def restamped(self, pace):
        """The arrival times of a feed with silences of 0.1 s and of one day."""
        began = mbo.START_NS
        source = self.feed_of(began, began + SECOND // 10, began + SECOND // 10 + DAY)
        bus, out = str(self.folder / f"bus-{pace}"), self.folder / f"{pace}.dbn"
        self.run_to_end("publish", "publish", "--source", source, "--pace", pace, "--restamp",
                        bus=bus)
        self.run_to_end("export", "export", "--out", out, bus=bus)
        content = out.read_bytes()
        (metadata_bytes,) = struct.unpack_from("<I", content, 4)
        came = [struct.unpack_from("<Q", content, at + RECV_AT)[0]
                for at in range(8 + metadata_bytes, len(content), RECORD_BYTES)]
        self.assertGreater(came[0], began + 100 * DAY, "that is when the feed was recorded")
        self.assertLess(came[-1] - came[0], DAY, "no silence of a day is kept")
        return came

    def test_recorded_keeps_distances_and_cuts_a_silence_of_a_day(self):
        first, second, third = self.restamped("recorded")
        # Never before they are due.
        self.assertGreaterEqual(second - first, SECOND // 10 * 0.99)
        self.assertGreaterEqual(third - first, SECOND * 1.09)

    def test_recorded_n_times_as_fast_divides_them(self):
        first, second, third = self.restamped("recorded*4")
        self.assertGreaterEqual(third - first, SECOND * 1.09 / 4)
        self.assertGreaterEqual(second - first, SECOND / 10 * 0.99 / 4)

    def test_what_is_no_pace_is_refused_with_the_forms(self):
        for pace in ("recorded*0", "recorded/2", "slow", "-1"):
            refused = self.run_to_end("refused", "publish", "--source", "synthetic:records=1",
                                      f"--pace={pace}", expect=2)
            self.assertIn("recorded", refused.err())


class Latency(harness.BusTest):
    """`--restamp` sets ts_recv to now, from which `--latency` measures."""

    def follow(self, *options):
        flow = self.start("publish", "publish", "--source", f"synthetic:records={RECORDS}",
                          "--await", 1, *options)
        tail = self.run_to_end("tail", "tail", "--from", "start", "--latency", *QUIET)
        self.assertEqual(flow.wait(), 0, flow.err())
        return tail.summary()["latency_ns"]

    def test_of_restamped_records_is_less_than_the_test_takes(self):
        began = datetime.datetime.now().timestamp()
        latency = self.follow("--restamp")
        took = (datetime.datetime.now().timestamp() - began) * SECOND
        self.assertEqual(sorted(latency.values()), list(latency.values()))
        self.assertGreater(latency["p50"], 0)
        self.assertLess(latency["max"], took * 1.1)

    def reported(self, *options, is_whole):
        """The complete ages reported by a subscriber that measures every record."""
        flow = self.start("publish", "publish", "--source", f"synthetic:records={RECORDS}",
                          "--linger", "3600s", *options)
        tail = self.start("tail", "tail", "--from", "start", "--measure", 1, *QUIET)
        told = []

        def has_all():
            asked = self.start("subscribers", "subscribers", "--json")
            told[:] = json.loads(asked.out())["subscribers"] if asked.wait() == 0 else ()
            return told and told[0]["records"] == RECORDS and is_whole(told[0]["latency"])
        self.until("every record to be taken", has_all)
        latency = told[0]["latency"]
        self.assertEqual((tail.stop(), flow.stop()), (0, 0))
        return latency

    def test_ages_of_restamped_records_are_measured(self):
        latency = self.reported("--restamp",
                                is_whole=lambda ages: ages and ages["count"] == RECORDS)
        self.assertGreater(latency["p50_ns"], 0)

    def test_ages_of_records_as_they_were_are_not(self):
        self.assertIsNone(self.reported(is_whole=lambda ages: True))

    def test_of_records_as_they_were_is_the_age_of_the_recording(self):
        self.assertGreater(self.follow()["p50"], 100 * DAY)

    def test_nothing_else_of_a_record_is_changed(self):
        source = f"synthetic:records={RECORDS}"
        whole = self.raw_dbn(source)
        out = self.folder / "restamped.dbn"
        self.run_to_end("publish", "publish", "--source", source, "--restamp")
        self.run_to_end("export", "export", "--out", out)
        stamped = bytearray(out.read_bytes())
        self.assertEqual(len(stamped), len(whole))
        self.assertNotEqual(bytes(stamped), whole)
        for at in range(len(whole) - RECORDS * RECORD_BYTES, len(whole), RECORD_BYTES):
            stamped[at + RECV_AT:at + RECV_AT + 8] = whole[at + RECV_AT:at + RECV_AT + 8]
        self.assertEqual(bytes(stamped), whole)


class Waiting(harness.BusTest):
    """`--wait`: how a reader behaves without records."""

    def test_every_way_of_waiting_gets_every_record(self):
        publisher = self.start("publish", "publish", "--source", f"synthetic:records={RECORDS}",
                               "--await", 3, "--pace", 100_000)
        tails = [self.start(wait, "tail", "--from", "start", "--wait", wait, *QUIET)
                 for wait in ("busy", "backoff", "park")]
        self.assertEqual(publisher.wait(), 0, publisher.err())
        for tail in tails:
            self.assertEqual(tail.wait(), 0, tail.err())
        self.assertEqual(self.assert_same_records(*tails)["records"], RECORDS)

    def test_whoever_backs_off_or_parks_sleeps_and_whoever_is_busy_does_not(self):
        self.start("holder", "publish", "--source", "synthetic:records=10", "--linger", "600s")
        self.until_head(10)
        for wait in ("backoff", "park", "busy"):
            tail = self.start(wait, "tail", "--from", "start", "--wait", wait, *QUIET)
            self.until("it to be live", lambda each=tail: "caught up" in each.err())
            if wait == "busy":
                with self.assertRaises(AssertionError):
                    self.assert_idle(tail)
            else:
                self.assert_idle(tail)
            self.assertEqual(tail.stop(), 0, tail.err())


class Ranges(harness.BusTest):
    """`export --first --last`, and `--from time:`."""

    def export(self, name, *options):
        out = self.folder / f"{name}.dbn"
        done = self.run_to_end(name, "export", "--out", out, "--summary", *options)
        return out.read_bytes(), done.summary()

    def test_first_and_last_are_both_in_the_range(self):
        self.run_to_end("publish", "publish", "--source", f"synthetic:records={RECORDS}")
        whole, _ = self.export("whole")
        begin = len(whole) - RECORDS * RECORD_BYTES
        for name, options, first, last in (
                ("one", ("--first", 500, "--last", 500), 500, 500),
                ("middle", ("--first", 1000, "--last", 1999), 1000, 1999),
                ("head", ("--last", 3), 1, 3), ("tail", ("--first", RECORDS - 1), RECORDS - 1,
                                                RECORDS)):
            part, summary = self.export(name, *options)
            self.assertEqual((summary["first"], summary["last"]), (first, last))
            self.assertEqual(part, whole[:begin] + whole[begin + (first - 1) * RECORD_BYTES:
                                                         begin + last * RECORD_BYTES])
        self.assertEqual(self.export("huge", "--last", 1 << 63)[0], whole)
        refused = self.run_to_end("refused", "export", "--out", self.folder / "none.dbn",
                                  "--first", 20, "--last", 10, expect=2)
        self.assertIn("--first 20 is after --last 10", refused.err())

    def test_a_time_begins_a_little_before_it_and_never_after(self):
        dbn = self.raw_dbn(f"synthetic:records={RECORDS}")
        flow = self.publish_flow("publish", dbn)
        flow.feed(RECORDS // 2)
        self.until_durable(RECORDS // 2)
        between = datetime.datetime.now(datetime.timezone.utc)
        flow.feed(RECORDS)
        flow.end()
        self.assertEqual(flow.publisher.wait(), 0, flow.publisher.err())
        moment = between.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        summary = self.run_to_end("tail", "tail", "--from", f"time:{moment}", *QUIET).summary()
        self.assertEqual(summary["last"], RECORDS)
        self.assertLessEqual(summary["first"], RECORDS // 2 + 1, "not after it")
        self.assertGreater(summary["first"], 1, "and not all there is")
        refused = self.run_to_end("refused", "tail", "--from", "time:noon", expect=2)
        self.assertIn("noon", refused.err())


class Kept(harness.BusTest):
    """`--retain-bytes` and `--group`: retained segments and the access of the group."""

    def test_the_oldest_files_beyond_retain_bytes_go_and_are_no_loss(self):
        dbn = self.raw_dbn(f"synthetic:records={RECORDS}")
        flow = self.publish_flow("publish", dbn, "--segment-bytes", SEGMENT_BYTES, "--capacity",
                                 RING, "--retain-bytes", 4 * SEGMENT_BYTES)
        flow.feed(RECORDS)
        self.until_durable(RECORDS)
        def kept():
            return harness.kept_bytes(pathlib.Path(self.bus) / "journal", RING, RECORDS)
        self.until("the oldest to go", lambda: kept() <= 4 * SEGMENT_BYTES)
        self.assertGreater(kept(), 2 * SEGMENT_BYTES, "and no more than that")
        flow.end()
        self.assertEqual(flow.publisher.wait(), 0, flow.publisher.err())
        summary = self.run_to_end("tail", "tail", "--from", "start", *QUIET).summary()
        self.assertEqual((summary["last"], summary["lost"]), (RECORDS, 0))
        self.assertGreater(summary["first"], RECORDS // 2)
        self.assertGreater(summary["records"], 2 * RING)
        pruned = self.run_to_end("first", "tail", "--from", "seq:1", *QUIET, expect=6)
        self.assertIn(f"lost 1..{summary['first'] - 1} ", pruned.err())
        self.assertIn("pruned", pruned.err())
        self.run_to_end("verify", "verify")

    def test_an_option_of_the_journal_is_refused_without_one_and_is_named(self):
        source = ("--source", "synthetic:records=1", "--journal", "none")
        for option in (("--resume",), ("--segment-bytes", SEGMENT_BYTES), ("--sync-interval", "1ms"),
                       ("--retain-bytes", "1M"), ("--on-journal-lag", "wait"),
                       ("--on-journal-failure", "continue")):
            refused = self.run_to_end("refused", "publish", *source, *option, expect=2)
            self.assertIn(f"{option[0]} requires a journal, but --journal none is set", refused.err())
        self.run_to_end("published", "publish", *source)

    def test_a_journal_that_is_synced_on_request_is_not_synced_by_time(self):
        def publish(name, *options):
            bus = str(self.folder / name)
            self.start(name, "publish", "--source", "synthetic:records=10", "--linger", "600s",
                       *options, bus=bus)
            self.until_head(10, bus=bus)
            return bus
        on_request = publish("on-request", "--sync-interval", "on-request")
        self.until_durable(10, bus=publish("by-time", "--sync-interval", "1ms"))
        self.assertEqual(self.info(on_request)["ring"]["durable"], 0)

    @unittest.skipUnless(os.geteuid() == 0, "SKIPPED: needs root to give a bus to a group")
    def test_a_group_may_read_every_file_and_write_none(self):
        self.start("holder", "publish", "--source", "synthetic:records=1000", "--group", GROUP,
                   "--linger", "600s")
        self.until_head(1000)
        ring = pathlib.Path(self.info()["ring"]["path"])
        bus = pathlib.Path(self.bus)
        read = [ring, bus / "bus.json", bus / "journal" / "sessions", *bus.rglob("*.jnl"),
                *bus.rglob("*.sum")]
        for path in (*read, bus, ring.parent, bus / "journal"):
            mode = path.stat()
            self.assertEqual(mode.st_gid, GROUP, path)
            self.assertTrue(mode.st_mode & stat.S_IRGRP, path)
            self.assertFalse(mode.st_mode & (stat.S_IWGRP | stat.S_IRWXO), path)
        os.chmod(self.folder, 0o755)
        member = self.run_to_end("member", "tail", "--from", "start", "--count", 1000, "--format",
                                 "none", "--summary", user=GROUP, group=GROUP, extra_groups=[])
        self.assertEqual(member.summary()["records"], 1000)
        unknown = self.run_to_end("unknown", "publish", "--source", "synthetic:records=1",
                                  "--group", "no-such-group", expect=2,
                                  bus=str(self.folder / "other"))
        self.assertIn("no-such-group", unknown.err())


if __name__ == "__main__":
    unittest.main(verbosity=2)
