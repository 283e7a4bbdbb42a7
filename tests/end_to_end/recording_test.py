"""Tests that recordings of a feed equal the feed byte for byte.

Recordings of a real feed are also compared with the package databento-dbn, another implementation
of the format, which comes from a registry.
"""

import json
import os
import pathlib
import random
import shutil
import signal
import struct
import subprocess
import time
import unittest

import harness
import recordings

ES = "esh4-glbx-mdp3-20231225.mbo.dbn.zst"
TIMES = slice(26, 42)  # start and end, in the metadata
UNDEFINED = 2**64 - 1
TS_RECV_AT = 40
PACKAGE = pathlib.Path(__file__).resolve().parent.parent / "conformance" / "dbn_package"


def package_python():
    """The Python interpreter with databento-dbn. Without it, skips, or fails if registries are
    required."""
    made = subprocess.run([PACKAGE / "venv.sh"], capture_output=True, text=True, check=False)
    if made.returncode == 77:
        raise unittest.SkipTest("SKIPPED: " + made.stderr)
    if made.returncode != 0:
        raise RuntimeError(made.stderr)
    return made.stdout.strip()


class EsTest(recordings.RecordingTest):
    """A test that compares recordings with their source."""

    def setUp(self):
        super().setUp()
        self.feed = harness.feed_file("mbo", ES)
        self.dbn = harness.Dbn(harness.decoded(self.feed))
        self.records = self.dbn.records
        self.python = package_python() if harness.has_real_data() else None

    def publish_feed(self, *options):
        """A publisher that publishes the feed as far as the test allows."""
        return self.publish_flow("publish", self.dbn, *options)

    def metadata_of(self, dbn, in_series):
        """A recording's metadata; in a series with the source's times, if its own are correct."""
        metadata = bytearray(dbn.content[:dbn.begin])
        if in_series:
            (came,) = struct.unpack_from("<Q", dbn.content, dbn.begin + TS_RECV_AT)
            self.assertEqual(struct.unpack("<QQ", metadata[TIMES]), (came, UNDEFINED))
            metadata[TIMES] = self.dbn.content[TIMES]
        return bytes(metadata)

    def assert_begins_as_source(self, records, *recordings):
        """Asserts that a recording, or a whole series, equals the source up to that record."""
        held = b""
        for recording in recordings:
            dbn = harness.Dbn(harness.decoded(recording))
            self.assertEqual(self.metadata_of(dbn, len(recordings) > 1),
                             self.dbn.content[:self.dbn.begin], recording)
            held += dbn.content[dbn.begin:]
        expected = self.dbn.content[self.dbn.begin:self.dbn.end_of(records)]
        self.assertEqual(len(held) / self.dbn.record_bytes, records)
        self.assertTrue(held == expected, f"{records} records, and not those of the source")

    def compare_by_package(self, *recordings):
        """The exit code and the message of a comparison."""
        done = subprocess.run(
            [self.python, PACKAGE / "compare_dbn.py", self.feed, *map(str, recordings)],
            capture_output=True, text=True, timeout=harness.HANG_SECONDS, check=False)
        return done.returncode, done.stdout + done.stderr

    def assert_same_as_source(self, *recordings):
        self.assert_begins_as_source(self.records, *recordings)
        names = recordings[0].name if len(recordings) == 1 else f"{len(recordings)} files"
        if self.python is not None:
            code, said = self.compare_by_package(*recordings)
            self.assertEqual(code, 0, said)
            self.assertIn(f"{self.records} records equal", said)
        print(f"\n{names}: {self.records} records equal")


class RecordingsOfEs(EsTest):
    """Recordings in one file."""

    def test_joining_in_the_middle_and_after_the_end_both_give_the_file_byte_for_byte(self):
        flow = self.publish_feed("--capacity", 1024)
        joined = random.randrange(1, self.records // 2)
        flow.feed(joined)
        self.until_head(joined)
        middle = self.record("middle", self.folder / "middle.dbn.zst")
        self.until("it to be live", lambda: "caught up" in middle.err())
        flow.feed(self.records)
        flow.end()
        self.assertEqual(flow.publisher.wait(), 0, flow.publisher.err())
        self.assertEqual(middle.wait(), 0, middle.err())
        after = self.record("after", self.folder / "after.dbn")
        self.assertEqual(after.wait(), 0, after.err())
        exported = self.folder / "exported.dbn.zst"
        self.run_to_end("export", "export", "--out", exported)
        for recording in (self.folder / "middle.dbn.zst", self.folder / "after.dbn", exported):
            self.assert_same_as_source(recording)

    def test_a_recorder_that_is_killed_goes_on_without_a_hole(self):
        flow = self.publish_feed()
        out = self.folder / "killed.dbn.zst"
        for kill, share in enumerate((0.2, 0.4, 0.6, 0.8)):
            recorder = self.record(f"recorder-{kill}", out)
            kept = int(self.records * share)
            flow.feed(kept)
            self.until("it to be recorded", lambda least=kept: self.committed(out) >= least)
            flow.feed(int(self.records * (share + 0.1)))  # it is killed before the end
            self.assertEqual(recorder.kill(), -signal.SIGKILL, recorder.err())
        flow.feed(self.records)
        flow.end()
        self.assertEqual(flow.publisher.wait(), 0, flow.publisher.err())
        last = self.record("recorder-last", out)
        self.assertEqual(last.wait(), 0, last.err())
        self.assertIn("continues after record", last.err())
        self.assert_same_as_source(out)

    def test_a_signal_ends_the_file_properly(self):
        flow = self.publish_feed()
        flow.feed(1)
        out = self.folder / "signalled.dbn.zst"
        recorder = self.record("recorder", out)
        self.until("the recorder to be live", lambda: "caught up" in recorder.err())
        flow.feed(self.records // 3)
        self.until_head(self.records // 3)
        flow.feed(self.records // 2)  # somewhere in the middle of these records
        self.assertEqual(recorder.stop(), 0, recorder.err())
        records = recorder.summary()["records"]
        self.assertGreater(records, 0)
        self.assert_begins_as_source(records, out)
        if self.python is not None:
            code, said = self.compare_by_package(out)
            self.assertEqual(code, 1, said)  # shorter, but otherwise the same
            self.assertIn(f"ends after {records} records", said)
        flow.end()
        self.assertEqual(flow.publisher.wait(), 0, flow.publisher.err())


class ASeriesOfFiles(EsTest):
    """The same feed, recorded with rotation."""

    def publish(self, *more):
        return self.start("publish", "publish", "--source", f"dbn:{self.feed}", *more)

    def test_every_period_has_its_file_and_together_they_are_the_source(self):
        publisher = self.publish("--linger", "600s")
        out = self.folder / "periods.dbn.zst"
        self.until_head(self.records)
        recorder = self.record("recorder", out, "--rotate-every", "10m", "--count", self.records)
        self.assertEqual(recorder.wait(), 0, recorder.err())
        files = self.series(out)
        times = [file.name.split(".")[2] for file in files]
        self.assertEqual(times, sorted(set(times)))
        self.assertEqual(len({time[:-4] for time in times}), len(files), times)
        self.assertGreater(len(files), 5)
        self.assert_same_as_source(*files)
        for number, file in enumerate(files):  # each file is a valid feed
            alone = self.start(file.name, "publish", "--source", f"dbn:{file}", "--summary",
                               bus=str(self.folder / f"alone-{number}"))
            self.assertEqual(alone.wait(), 0, alone.err())
        self.assertEqual(publisher.stop(), 0, publisher.err())

    def record_with_kills(self, out, *rotation):
        self.kill_again_and_again(self.dbn, out, *rotation)
        files = self.series(out)
        self.assertGreater(len(files), 10, "void: hardly a rotation")
        self.assert_same_as_source(*files)

    def test_a_recorder_that_is_killed_at_random_moments_goes_on_exactly_by_size(self):
        self.record_with_kills(self.folder / "killed.dbn", "--rotate-bytes", "64K")

    def test_a_recorder_that_is_killed_at_random_moments_goes_on_exactly_by_time(self):
        self.record_with_kills(self.folder / "killed.dbn.zst", "--rotate-every", "1m")


class ARecordingFromASnapshot(harness.BusTest):
    """A recording with the state first, then records: folding it gives the bus's orders."""

    RECORDS = 100_000
    SOURCE = f"synthetic:records={RECORDS},instruments=3,seed=11"

    def orders(self, name, bus):
        """The resting orders at the end of a bus, in queue order, without their ranks."""
        self.run_to_end(f"{name}-checkpoint", "checkpoint", "--fold", "orders", "--until-closed",
                        bus=bus)
        tail = self.run_to_end(f"{name}-state", "tail", "--from", "snapshot", "--until-closed",
                               "--format", "json", bus=bus)
        lines = [json.loads(line) for line in tail.out().splitlines()]
        orders = [line for line in lines if line.get("state") and line["action"] == "A"]
        fields = ("instrument_id", "side", "price", "order_id", "size")
        return [tuple(order[field] for field in fields)
                for order in sorted(orders, key=lambda order: order["seq"])]

    def queues(self, orders):
        """The orders on each level, in queue order."""
        levels = {}
        for *level, order_id, size in orders:
            levels.setdefault(tuple(level), []).append((order_id, size))
        return levels

    def record(self, name, out):
        return self.start(name, "record", "--from", "snapshot", "--until-closed", "--out", out,
                          "--rotate-bytes", "64K", "--summary")

    def test_folds_to_the_orders_of_the_bus_in_their_queues_however_often_it_was_killed(self):
        publisher = self.start("publish", "publish", "--source", self.SOURCE, "--pace", 50_000)
        checkpointer = self.start("checkpoint", "checkpoint", "--fold", "orders", "--every", 10_000)
        self.until("a checkpoint", lambda: list(self.folder.glob("bus/checkpoint/orders/*.ckpt")))
        checkpointer.kill()
        out = self.folder / "joined.dbn.zst"
        chance = random.Random(random.randrange(1 << 32))
        for kill in range(5):
            recorder = self.record(f"recorder-{kill}", out)
            time.sleep(chance.uniform(0, recordings.RUN_SECONDS_MAX))  # the random moment
            recorder.kill()
        self.assertEqual(publisher.wait(), 0, publisher.err())
        last = self.record("recorder-last", out)
        self.assertEqual(last.wait(), 0, last.err())
        said = "".join(process.err() for process in self.running)
        self.assertIn("snapshot complete at", said)
        self.assertNotIn("no snapshot", said)
        again = str(self.folder / "again")
        for file in sorted(self.folder.glob("joined.[0-9]*.dbn.zst")):
            self.run_to_end(file.name, "publish", "--source", f"dbn:{file}", "--resume",
                            "--on-new-source", "publish", bus=again)
        source, recorded = self.orders("source", self.bus), self.orders("recorded", again)
        self.assertEqual(self.queues(recorded), self.queues(source))
        self.assertGreater(len(source), 10, "void: hardly an order rests")
        print(f"\n{len(source)} orders in {len(self.queues(source))} levels equal")


class TwoRecordersOfOneRecording(harness.BusTest):
    """A second recorder would cut off the first one's data."""

    def record(self, name, out):
        return self.start(name, "record", "--from", "start", "--out", out)

    def test_are_one_and_the_other_is_told_who_it_is(self):
        self.start("publish", "publish", "--source", "synthetic:records=1000", "--linger", "600s")
        self.until_head(1000)
        out = self.folder / "one.dbn"
        first = self.record("first", out)
        self.until("the first to be live", lambda: "caught up" in first.err())
        second = self.record("second", out)
        self.assertEqual(second.wait(), 1, second.err())
        self.assertIn(f"{out}.lock is held by process {first.pid} (lapwing, user {os.geteuid()}), "
                      "which records it", second.err())
        first.kill()
        third = self.record("third", out)
        self.until("the third to be live", lambda: "caught up" in third.err())
        self.assertEqual(third.stop(), 0, third.err())
        again = self.run_to_end("again", "publish", "--source", f"dbn:{out}", "--summary",
                                bus=str(self.folder / "again"))
        self.assertEqual(again.summary()["records"], 1000)


class ARecordingOfAnotherSchema(harness.BusTest):
    """A bus of the same name with other records."""

    def record(self, name, out, *more):
        return self.start(name, "record", "--from", "start", "--out", out, *more)

    def replace_bus(self):
        shutil.rmtree(self.bus)
        feed = harness.feed_file("trades",
                                 "futures_trades_2024-07-01T23-58_2024-07-02T00-02.dbn.zst")
        return self.start("trades", "publish", "--source", f"dbn:{feed}", "--linger", "600s")

    def test_is_left_as_it_is_by_a_recorder_that_stays_and_by_one_that_comes_back(self):
        publisher = self.start("publish", "publish", "--source", "synthetic:records=1000",
                               "--linger", "600s")
        stays, comes_back = self.folder / "stays.dbn", self.folder / "comes_back.dbn"
        recorder = self.record("stays", stays)
        self.until_head(1000)
        self.assertEqual(publisher.stop(), 0, publisher.err())
        back = self.record("comes", comes_back, "--until-closed")
        self.assertEqual(back.wait(), 0, back.err())
        self.until("a session that is closed", lambda: "closed cleanly" in recorder.err())
        trades = self.replace_bus()
        again = self.record("comes-back", comes_back)
        for name, process, out in (("stays", recorder, stays), ("back", again, comes_back)):
            self.assertEqual(process.wait(), 2, process.err())
            self.assertIn("reset", process.err())
            self.assertIn(f"{out} holds records of schema", process.err())
            exported = self.start(name, "publish", "--source", f"dbn:{out}", "--summary",
                                  bus=str(self.folder / name))
            self.assertEqual(exported.wait(), 0, exported.err())
            self.assertEqual(exported.summary()["records"], 1000)
        self.assertEqual(trades.stop(), 0, trades.err())


if __name__ == "__main__":
    unittest.main(verbosity=2)
