"""Tests real power cuts: ext4 on a loop device, shut down without writing anything back.

EXT4_IOC_SHUTDOWN (without a log flush) cuts off the disk while the publisher writes. The publisher
and its ring file are removed, and the file system is mounted again. Records announced as durable
must exist; the rest is a recorded void; no sequence is used twice. Needs root; reports that it is
skipped otherwise.
"""

import fcntl
import os
import pathlib
import random
import struct
import subprocess
import time
import unittest

import harness

CUTS = int(os.environ.get("LAPWING_POWER_CUTS", "20"))
EXT4_IOC_SHUTDOWN = 0x8004587D
NO_LOG_FLUSH = 2
DISK_MIB = 256
RATE = 150_000
RECORDS = 300_000
RECORD_BYTES = 56
BEFORE_RECORDS = 250_000  # in the source until the cut
SECONDS_MAX = 0.8
STORED_RECORDS = 100_000
BATCH_SECONDS = 2.5  # the checkpointer writes one batch per second
SOURCE = f"synthetic:records={RECORDS},seed=11"
QUIET = ("--format", "none", "--summary")


@unittest.skipUnless(os.geteuid() == 0, "SKIPPED: needs root to mount and shut down a file system")
class PowerCut(harness.BusTest):
    """Each cut uses a new file system and bus."""

    def setUp(self):
        super().setUp()
        self.ring = pathlib.Path("/dev/shm") / self.folder.name
        self.ring.mkdir(mode=0o700)
        self.addCleanup(subprocess.run, ["rm", "-rf", str(self.ring)], check=False)

    def make_disk(self):
        self.disk = self.mount_disk(DISK_MIB)

    def unmount(self):
        # The kernel may hold a killed publisher's files until its last request has ended.
        self.until("the file system to be idle", lambda: subprocess.run(
            ["umount", str(self.disk)], check=False, stderr=subprocess.DEVNULL).returncode == 0)

    def cut(self):
        """Stops all writes to the disk."""
        root = os.open(self.disk, os.O_RDONLY)
        try:
            fcntl.ioctl(root, EXT4_IOC_SHUTDOWN, struct.pack("I", NO_LOG_FLUSH))
        finally:
            os.close(root)

    def options(self):
        return "--ring-dir", self.ring, "--segment-bytes", 1 << 20, "--summary"

    def come_back(self):
        """Simulates a restart of the machine: its memory is lost."""
        for leftover in self.ring.glob("*/*.ring"):
            leftover.unlink()
        self.unmount()
        self.mount(self.disk, "-o", "loop", str(self.folder / "disk.img"))

    def digest_of_first(self, count, bus):
        follower = self.run_to_end("digest", "tail", "--from", "start", "--count", count, *QUIET,
                                   bus=bus)
        self.assertEqual(follower.summary()["records"], count)
        return follower.summary()["digest"]

    def publish_file(self, name, source, *options, bus):
        return self.start(name, "publish", "--source", f"dbn:{source}", "--resume", *options,
                          *self.options(), bus=bus)

    def live_through_a_cut(self, number, reference, dbn):
        self.make_disk()
        bus = str(self.disk / "bus")
        recording = self.folder / f"recording-{number}.dbn"
        source = self.folder / "feed.dbn"
        records_at = len(dbn) - RECORDS * RECORD_BYTES
        source.write_bytes(dbn[:records_at + BEFORE_RECORDS * RECORD_BYTES])
        # On a slow machine the source could end before the cut, but the publisher must still be
        # running.
        publisher = self.publish_file("before", source, "--pace", RATE, "--linger", "600s", bus=bus)
        self.until_head(1, bus=bus)
        keeper = self.start("keeper", "checkpoint", "--fold", "orders", "--every", 10_000, bus=bus)
        recorder = self.start("recorder", "record", "--from", "start", "--out", recording, bus=bus)
        self.until("the recorder to follow", lambda: "caught up" in recorder.err())
        time.sleep(random.uniform(0.05, SECONDS_MAX))  # the random moment
        durable = self.info(bus)["ring"]["durable"]
        self.cut()
        time.sleep(random.uniform(0, 0.1))  # it continues for a while, unaware of the cut
        publisher.kill()
        recorder.stop()
        keeper.kill()
        self.come_back()
        source.write_bytes(dbn)
        checkpoints = [int(file.stem)
                       for file in (self.disk / "bus/checkpoint/orders").glob("*.ckpt")]
        after = self.publish_file("after", source, bus=bus)
        self.assertEqual(after.wait(), 0, after.err())
        sessions = self.info(bus)["sessions"]
        self.assertEqual(sessions[0]["end"], "cut", sessions)
        first, last = sessions[0]["void"]
        kept = sessions[0]["last"]
        self.assertGreaterEqual(kept, durable, "what was announced as durable is gone")
        self.assertEqual((first, last), (kept + 1, sessions[0]["reserved_through"]))
        self.assertEqual(sessions[1]["first"], last + 1, "a sequence was given twice, or left out")
        if kept > 0:
            self.assertEqual(self.digest_of_first(kept, bus), self.digest_of_first(kept, reference))
        self.run_to_end("verify", "verify", bus=bus)
        whole = self.start("whole", "tail", "--from", "start", "--until-closed", *QUIET, bus=bus)
        self.assertEqual(whole.wait(), 6, whole.err())  # the void is lost and reported
        self.assertEqual(whole.summary()["lost"], last - first + 1)
        self.assertEqual(whole.summary()["records"], RECORDS)
        self.continue_recording(bus, recording, first)
        self.continue_state(bus, checkpoints, kept, last)
        self.unmount()
        return durable, kept, last

    def continue_recording(self, bus, recording, void_first):
        """A recording that is continued after the cut reports the loss."""
        more = self.start("more", "record", "--out", recording, "--until-closed", bus=bus)
        self.assertEqual(more.wait(), 6, more.err())
        self.assertTrue("void" in more.err() or "reset" in more.err(), more.err())
        self.assertIn(str(void_first), more.err())

    def continue_state(self, bus, checkpoints, kept, void_last):
        """Neither store nor checkpoint contained anything that the cut removed. The state equals
        that of a subscriber that now begins at the oldest record."""
        self.assertLessEqual(max(checkpoints, default=0), kept)
        went_on = self.start("went-on", "checkpoint", "--fold", "orders", "--until-closed",
                             "--summary", bus=bus)
        self.assertEqual(went_on.wait(), 6, went_on.err())
        words = went_on.err().split("continues after record ")
        if len(words) > 1:
            self.assertLessEqual(int(words[1].split()[0]), kept)
        self.assertNotIn("reset", went_on.err())
        subprocess.run(["rm", "-rf", bus + "/checkpoint"], check=True)
        anew = self.start("anew", "checkpoint", "--fold", "orders", "--until-closed", "--summary",
                          bus=bus)
        self.assertEqual(anew.wait(), 6, anew.err())
        self.assertGreater(anew.summary()["as_of"], void_last)
        for word in ("as_of", "digest"):
            self.assertEqual(went_on.summary()[word], anew.summary()[word], went_on.err())

    def test_what_was_durable_is_there_and_the_rest_is_a_recorded_void(self):
        reference = str(self.folder / "reference")
        self.run_to_end("reference", "publish", "--source", SOURCE, bus=reference)
        dbn = self.raw_dbn(SOURCE)
        for number in range(CUTS):
            durable, kept, last = self.live_through_a_cut(number, reference, dbn)
            print(f"\ncut {number + 1}: announced durable {durable}, kept {kept}, "
                  f"void {kept + 1}..{last}", end="")
        print(f"\n{CUTS} power cuts survived")

    def test_the_store_is_not_behind_its_last_checkpoint(self):
        """The checkpoint contains a batch that was written before the checkpoint was requested."""
        self.make_disk()
        bus = str(self.disk / "bus")
        kept, head = [], 0
        for run in ("first", "second"):
            publisher = self.start(f"{run}-flow", "publish", "--linger", "600s", *self.options(),
                                   "--source", f"synthetic:records={STORED_RECORDS}", bus=bus)
            head += STORED_RECORDS
            self.until_durable(head, bus=bus)
            keeper = self.start(run, "checkpoint", "--fold", "orders", "--every", "1h", "--keep", 1,
                                "--prune-journal", "--summary", bus=bus)
            self.until("the checkpointer to follow", lambda it=keeper: "caught up" in it.err())
            time.sleep(BATCH_SECONDS)  # if that is too short, it is written at the stop
            self.assertEqual(keeper.stop(), 0, keeper.err())
            kept.append(keeper.summary()["as_of"])
            if run == "second":
                self.cut()
                publisher.kill()
            else:
                self.assertEqual(publisher.stop(), 0)
        self.assertGreater(kept[1], kept[0])
        self.come_back()
        self.run_to_end("after", "publish", "--source", "synthetic:records=100",
                        "--ring-dir", self.ring, bus=bus)
        went_on = self.start("went-on", "checkpoint", "--fold", "orders", "--until-closed", bus=bus)
        self.assertEqual(went_on.wait(), 6, went_on.err())  # only the void is lost
        self.assertIn(f"continues after record {kept[1]}\n", went_on.err())
        self.assertNotIn("pruned", went_on.err())
        self.unmount()


if __name__ == "__main__":
    unittest.main(verbosity=2)
