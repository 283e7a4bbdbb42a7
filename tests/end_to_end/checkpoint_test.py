"""Tests the checkpointer: with a publisher, killed, refused, on a full disk, and pruning."""

import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import time
import unittest

import harness

KILLS = int(os.environ.get("LAPWING_KILLS", "25"))
RETENTION_RECORDS = int(os.environ.get("LAPWING_RETENTION_RECORDS", "500000"))
DONE, OTHER, LOST = 0, 1, 6
NOBODY = 65_534
QUIET = ("--format", "none", "--summary")
SEGMENT_BYTES = 1 << 20
SEGMENT_RECORDS = SEGMENT_BYTES // 64
JOINS_MAX = 1000
# Many records are published faster, and replaying them may take longer.
RETENTION_PACE = max(100_000, RETENTION_RECORDS // 300)
REPLAY_SECONDS = harness.HANG_SECONDS + RETENTION_RECORDS // 100_000


def needs_root(test):
    return unittest.skipUnless(os.geteuid() == 0, "SKIPPED: needs root")(test)


class CheckpointTest(harness.BusTest):
    """A bus with a publisher, checkpointers, and their files."""

    def publish(self, *more, source="synthetic:records=200000", **keywords):
        return self.start("publish", "publish", "--source", source, *more, **keywords)

    def checkpoint(self, name, *more, fold="orders", **keywords):
        return self.start(name, "checkpoint", "--fold", fold, "--summary", *more, **keywords)

    def checkpoint_to_end(self, name, *more, expect=DONE, seconds=harness.HANG_SECONDS,
                          **keywords):
        process = self.checkpoint(name, "--until-closed", *more, **keywords)
        self.assertEqual(process.wait(seconds), expect, process.err())
        return process.summary()

    def checkpoints(self, fold="orders", bus=None):
        """The as-of sequences of the existing checkpoints, newest first."""
        folder = pathlib.Path(bus or self.bus) / "checkpoint" / fold
        return sorted((int(file.stem) for file in folder.glob("*.ckpt")), reverse=True)

    def fill(self, disk):
        """Fills the disk. Truncating the returned file frees the space."""
        filler = disk / "filler"
        with open(filler, "wb", buffering=0) as file:
            for piece in (1 << 16, 1 << 12):
                try:
                    while file.write(bytes(piece)) == piece:
                        pass
                except OSError:
                    pass
        return filler

    def digest_of_replay(self, fold="orders", bus=None, through=None):
        """The checkpoint that an undisturbed checkpointer makes of the same records on another
        bus."""
        other = str(self.folder / "replay")
        self.run_to_end("replay", "publish", "--source", f"journal:{bus or self.bus}", bus=other)
        summary = self.checkpoint_to_end("reference", fold=fold, bus=other)
        if through is not None:
            self.assertEqual(summary["as_of"], through)
        return summary["digest"]


class Checkpoints(CheckpointTest):
    """Tests with one bus each."""

    def test_killed_at_any_moment_it_goes_on_exactly(self):
        # Keeps the number of records replayable, even if the kills take ten times as long.
        publisher = self.publish("--pace", 25_000, "--loop", 0, "--segment-bytes", SEGMENT_BYTES)
        self.until_head(1)
        chance = random.Random(7)
        begun = None
        for kill in range(KILLS):
            running = self.checkpoint(f"killed-{kill}", "--every", 2000)
            if kill % 5 == 0:  # so that some reach this point even on a slow machine
                before = self.checkpoints()[:1]
                self.until("another checkpoint",
                           lambda last=before: self.checkpoints()[:1] != last)
            time.sleep(chance.uniform(0.0, 0.4))  # the random moment
            if running.kill() != -9:
                self.fail(running.err())
            if "continues after record" in running.err():
                at = int(running.err().split("continues after record")[1].split()[0])
                self.assertGreaterEqual(at, begun or 0)
                begun = at
        self.assertIsNotNone(begun, "no run came as far as a commit")
        self.assertEqual(publisher.stop(), DONE)
        summary = self.checkpoint_to_end("last")
        self.assertEqual(summary["digest"], self.digest_of_replay(through=summary["as_of"]))
        self.assertEqual(self.checkpoints()[0], summary["as_of"])
        leftovers = list((pathlib.Path(self.bus) / "checkpoint" / "orders").glob("*.tmp"))
        self.assertEqual(leftovers, [])
        print(f"\n{KILLS} kills, as of {summary['as_of']}, last run from {begun}")

    def test_a_second_checkpointer_is_refused_and_says_who_runs(self):
        publisher = self.publish("--linger", "600s")
        first = self.checkpoint("first", "--every", "200ms")
        self.until("a checkpoint", self.checkpoints)
        second = self.checkpoint("second")
        self.assertEqual(second.wait(), OTHER)
        self.assertIn(str(first.pid), second.err())
        other = self.checkpoint("other", "--every", "200ms", fold="latest")
        self.until("another fold's checkpoint", lambda: self.checkpoints("latest"))
        told = self.run_to_end("subscribers", "subscribers", "--json").out()
        for name in ("checkpoint-orders", "checkpoint-latest"):
            self.assertIn(name, told)
        for subscriber in json.loads(told)["subscribers"]:
            self.assertGreaterEqual(subscriber["head_seen"], subscriber["position"])
        self.assertEqual((first.stop(), other.stop()), (DONE, DONE))
        publisher.stop()

    def test_a_signal_ends_it_with_a_checkpoint_of_all_that_is_durable(self):
        publisher = self.publish("--linger", "600s")
        self.until_durable(200_000)
        running = self.checkpoint("running", "--every", "1h")
        self.until("it to catch up", lambda: "caught up" in running.err())
        time.sleep(0.5)  # any time; there may be no checkpoint yet
        self.assertEqual(self.checkpoints(), [])
        self.assertEqual(running.stop(), DONE, running.err())
        self.assertEqual(self.checkpoints(), [200_000])
        self.assertEqual(running.summary()["as_of"], 200_000)
        publisher.stop()

    def test_an_empty_bus_gets_no_checkpoint(self):
        publisher = self.publish("--linger", "600s", "--await", 9)
        running = self.checkpoint("running", "--every", 1)
        self.until("it to catch up", lambda: "caught up" in running.err())
        self.assertEqual(running.stop(), DONE)
        self.assertEqual(self.checkpoints(), [])
        publisher.kill()

    def test_wrong_usage_is_named(self):
        self.run_to_end("publish", "publish", "--source", "synthetic:records=100")
        for more, word in ((("--every", "soon"), "soon"), (("--every", "0"), "--every 0"),
                           (("--keep", "0"), "keep")):
            refused = self.checkpoint("refused", *more)
            self.assertEqual(refused.wait(), 2)
            self.assertIn(word, refused.err())
        unknown = self.checkpoint("unknown", fold="books")
        self.assertEqual(unknown.wait(), 2)
        self.assertIn("orders", unknown.err())

    @needs_root
    def test_who_may_not_write_there_is_told_whose_the_bus_is(self):
        self.run_to_end("publish", "publish", "--source", "synthetic:records=100")
        os.chmod(self.folder, 0o755)
        os.chmod(self.bus, 0o755)
        os.chmod(pathlib.Path(self.bus) / "bus.json", 0o644)
        refused = self.checkpoint("refused", user=NOBODY, group=NOBODY, extra_groups=[])
        self.assertEqual(refused.wait(), OTHER, refused.err())
        for word in ("belongs to user", self.bus, "owner"):
            self.assertIn(word, refused.err())

    def mount_memory(self, folder, mebibytes):
        """Mounts a small disk in memory on that folder."""
        return self.mount(folder, "-t", "tmpfs", "-o", f"size={mebibytes}m", "tmpfs")

    def publish_without_end(self, bus):
        """A publisher that needs no space on its bus's disk."""
        ring = pathlib.Path("/dev/shm") / self.folder.name
        ring.mkdir(mode=0o700)
        self.addCleanup(shutil.rmtree, ring)
        return self.publish("--journal", self.folder / "journal", "--ring-dir", ring,
                            "--pace", 50_000, "--loop", 0, source="kv16:keys=400000", bus=bus)

    def run_over_a_full_disk(self, bus, disk, file, end):
        """Runs a checkpointer that has no space for that file for a while, and checks its
        messages."""
        publisher = self.publish_without_end(bus)
        running = self.checkpoint("running", "--until-closed", "--every", 25_000, fold="latest",
                                  bus=bus)
        self.until("a checkpoint", lambda: self.checkpoints("latest", bus))
        filler = self.fill(disk)
        told = re.compile(f"{file}.*: No space left on device; trying again")
        self.until("it to fail", lambda: told.search(running.err()))
        time.sleep(2)  # it retries every second, without messages
        for whole in (bus / "checkpoint" / "latest").glob("*.ckpt"):
            self.assertGreater(whole.stat().st_size, 4096)
        filler.unlink()
        self.until(end, lambda: end in running.err())
        since = self.checkpoints("latest", bus)[0]
        self.until("a later checkpoint", lambda: self.checkpoints("latest", bus)[0] > since)
        self.assertEqual(publisher.stop(), DONE, publisher.err())
        self.assertEqual(running.wait(), DONE, running.err())
        self.assertEqual(len(told.findall(running.err())), 1, running.err())
        summary = running.summary()
        replayed = self.digest_of_replay("latest", bus=bus, through=summary["as_of"])
        self.assertEqual(summary["digest"], replayed)
        print(f"\n{running.err()}")

    @needs_root
    def test_a_full_disk_is_said_once_and_the_store_goes_on_when_there_is_room(self):
        disk = self.mount_memory(self.folder / "disk", 160)
        self.run_over_a_full_disk(disk / "bus", disk, "latest/state",
                                  "the store can be written to again")

    @needs_root
    def test_checkpoints_without_room_are_said_once_and_written_when_there_is_some(self):
        disk = self.mount_memory(self.folder / "disk", 60)
        bus = disk / "bus"
        self.mount_memory(bus / "checkpoint" / "latest" / "state", 100)  # the store stays unchanged
        self.run_over_a_full_disk(bus, disk, "ckpt.tmp", "checkpoints can be written again")


class Retention(CheckpointTest):
    """Hours of flow, with constant disk usage."""

    def journal_bytes(self):
        total = 0
        for file in (pathlib.Path(self.bus) / "journal").rglob("*.jnl"):
            try:
                total += harness.disk_bytes(file)
            except FileNotFoundError:
                pass  # pruned meanwhile
        return total

    def segments(self, journal=None):
        """The numbers of the journal's files, ascending."""
        return sorted(int(file.stem) for file in
                      (journal or pathlib.Path(self.bus) / "journal").rglob("*.jnl"))

    def join_late(self):
        """The sequence and books digest of a subscriber that joins from a snapshot now."""
        joined = self.run_to_end("joiner", "book", "--depth", 1, "--summary").summary()
        self.assertIn("state_as_of", joined)
        self.assertEqual(joined["lost"], 0)
        return joined["sequence"], joined["digest"]

    def digests_at(self, sequences, bus):
        """The books after these records on a bus that keeps everything."""
        at = ",".join(str(sequence) for sequence in sequences)
        told = self.run_to_end("books", "book", "--from", "start", "--at", at, "--depth", 1,
                               "--json", bus=bus, seconds=REPLAY_SECONDS).out()
        books = [json.loads(line) for line in told.splitlines()]
        return {book["seq"]: book["digest"] for book in books}

    def test_with_checkpoints_and_pruning_the_journal_keeps_what_a_late_joiner_needs(self):
        every = 100_000
        joins = {}
        publisher = self.publish("--pace", RETENTION_PACE, "--segment-bytes", SEGMENT_BYTES,
                                 "--linger", "3600s", source=f"synthetic:records={RETENTION_RECORDS}")
        running = self.checkpoint("running", "--every", every, "--keep", 2, "--prune-journal")
        most = 0
        while max(self.checkpoints(), default=0) <= RETENTION_RECORDS - every:
            self.assertTrue(publisher.alive() and running.alive(), running.err())
            most = max(most, self.journal_bytes())
            if self.checkpoints() and len(joins) < JOINS_MAX:
                sequence, digest = self.join_late()
                joins[sequence] = digest
            time.sleep(0.2)
        self.until_head(RETENTION_RECORDS)
        sequence, digest = self.join_late()
        joins[sequence] = digest
        self.assertEqual(running.stop(), DONE, running.err())  # after a last checkpoint and prune
        kept = self.checkpoints()
        self.assertEqual(len(kept), 2)
        self.assertEqual(self.segments()[0], kept[-1] // SEGMENT_RECORDS, running.err())
        self.assertEqual(running.summary()["lost"], 0)
        self.assertEqual(publisher.stop(), DONE)
        # The state includes pruned records: compare with the same flow on a bus that keeps
        # everything.
        last = self.checkpoint_to_end("last")
        other = str(self.folder / "kept")
        self.run_to_end("kept", "publish", "--source",
                        f"synthetic:records={RETENTION_RECORDS}", bus=other,
                        seconds=REPLAY_SECONDS)
        whole = self.checkpoint_to_end("reference", bus=other, seconds=REPLAY_SECONDS)
        self.assertEqual((last["as_of"], last["digest"]), (whole["as_of"], whole["digest"]))
        self.assertEqual(joins, self.digests_at(joins, other))
        print(f"\n{RETENTION_RECORDS} records, {RETENTION_RECORDS * 64 >> 20} MiB of journal, at "
              f"most {most >> 20} MiB at a time; {running.summary()['checkpoints']} checkpoints, "
              f"{len(joins)} late joins equal")

    def test_a_reader_of_a_segment_that_is_pruned_reads_it_to_its_end(self):
        publisher = self.publish("--segment-bytes", SEGMENT_BYTES, "--linger", "600s",
                                 "--capacity", 1024)
        self.until_head(200_000)
        reader = self.start("reader", "tail", "--from", "start", "--format", "text",
                            stdout=subprocess.PIPE)
        # A reader with a full pipe blocks in the middle of its first segment.
        first = reader.process.stdout.readline()
        running = self.checkpoint("running", "--every", 150_000, "--prune-journal")
        segment = f"{0:020d}.jnl"
        self.until("the reader's segment to be pruned", lambda: not list(
            (pathlib.Path(self.bus) / "journal").rglob(segment)))
        lines = [first]
        while len(lines) < SEGMENT_RECORDS:
            lines.append(reader.process.stdout.readline())
        self.assertTrue(all(lines), "the reader ended within the segment that it had open")
        reader.process.stdout.close()
        reader.kill()
        running.stop()
        publisher.stop()

    @needs_root
    def test_on_a_full_disk_the_journal_is_pruned_and_goes_on_in_the_room_that_makes(self):
        journal = self.mount_disk(64) / "journal"
        where = ("--journal", journal, "--segment-bytes", SEGMENT_BYTES)
        records = 200_000
        self.run_to_end("before", "publish", "--source", f"synthetic:records={records}", *where)
        flow_file = self.folder / "flow.dbn"
        self.run_to_end("flow", "record", "--from", "start", "--until-closed", "--out", flow_file)
        flow = self.publish_flow("publish", flow_file.read_bytes(), *where)
        publisher = flow.publisher
        flow.feed(1)
        self.until_durable(records + 1)
        # Two more segments are created in advance: before the disk is full, and not when the next
        # one is due.
        ahead = records // SEGMENT_RECORDS + 2
        self.until("segments made ahead", lambda: self.segments(journal)[-1] >= ahead)
        filler = self.fill(journal.parent)
        self.assertEqual(shutil.disk_usage(journal).free, 0)
        running = self.checkpoint("running", "--every", 50_000, "--keep", 1, "--prune-journal",
                                  "--until-closed")
        self.until("the journal to be pruned",
                   lambda: self.segments(journal)[0] >= records // SEGMENT_RECORDS)
        self.assertTrue(filler.exists() and publisher.alive(), publisher.err())
        self.assertNotIn("not pruned", running.err())
        # More records than fit in the segments created in advance.
        flow.feed(flow.source.records)
        flow.end()
        self.assertEqual(publisher.wait(), DONE, publisher.err())
        self.assertEqual(running.wait(), DONE, running.err())
        self.assertEqual(running.summary()["lost"], 0)
        self.run_to_end("verify", "verify")
        other = str(self.folder / "kept")
        for source in (f"synthetic:records={records}", f"dbn:{flow_file}"):
            self.run_to_end("kept", "publish", "--source", source, bus=other)
        whole = self.checkpoint_to_end("reference", bus=other)
        for word in ("as_of", "digest"):
            self.assertEqual(running.summary()[word], whole[word])


if __name__ == "__main__":
    unittest.main(verbosity=2)
