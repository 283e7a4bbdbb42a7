"""Tests starts on full or limited file systems: the files that remain, and the next start.

Needs root to mount.
"""

import contextlib
import ctypes
import errno
import json
import os
import pathlib
import sys
import unittest

import harness

OTHER = 1


def fallocate_error(path):
    """The errno with which the file system refuses to allocate space for a file; 0 on success."""
    libc = ctypes.CDLL(None, use_errno=True)
    with open(path, "wb") as file:
        size = ctypes.c_long(4096)
        return ctypes.get_errno() if libc.fallocate(file.fileno(), 0, ctypes.c_long(0), size) else 0


needs_root_to_mount = unittest.skipUnless(os.geteuid() == 0, "SKIPPED: needs root to mount")


@needs_root_to_mount
class WithoutFallocate(harness.BusTest):
    """ext3 has no fallocate, so space is reserved by writing zeros."""

    def test_a_journal_is_written_closed_killed_and_continued(self):
        disk = self.mount_disk(96, "mkfs.ext4", "-q", "-t", "ext3")
        bus = str(disk / "bus")
        options = ("--segment-bytes", "1M", "--source")
        self.assertEqual(fallocate_error(disk / "probe"), errno.EOPNOTSUPP, "the test is void")
        self.run_to_end("first", "publish", *options, "synthetic:records=1000", bus=bus)
        killed = self.start("killed", "publish", *options, "synthetic:records=100000", "--linger",
                            "600s", bus=bus)
        self.until_head(101_000, bus)
        killed.kill()
        self.run_to_end("next", "publish", *options, "synthetic:records=50", bus=bus)
        self.run_to_end("verify", "verify", bus=bus)
        reader = self.run_to_end("tail", "tail", "--from", "start", "--until-closed", "--format", "none",
                                 "--summary", bus=bus)
        self.assertEqual(reader.summary()["records"], 101_050)
        self.assertEqual(reader.summary()["lost"], 0)


@needs_root_to_mount
class FullDisk(harness.BusTest):
    """A supervisor restarts a publisher repeatedly while its journal's disk is full."""

    CAPACITY = 1 << 20  # a ring of 64 MiB; two do not fit in the tmpfs

    def setUp(self):
        super().setUp()
        self.shm = self.mount(pathlib.Path("/dev/shm"), "-t", "tmpfs", "-o", "mode=1777,size=100m", "tmpfs")
        self.disk = self.mount_disk(192)
        self.bus = str(self.disk / "bus")

    def publish(self, name, **keywords):
        return self.run_to_end(name, "publish", "--source", "synthetic:records=100", "--capacity",
                               self.CAPACITY, **keywords)

    def fill_disk(self):
        with contextlib.suppress(OSError), open(self.disk / "fill", "wb", buffering=0) as fill:
            while True:
                fill.write(bytes(1 << 16))

    def rings(self):
        return list(self.shm.rglob("*.ring"))

    def sessions(self):
        return len(self.info()["sessions"])

    def test_no_failed_start_keeps_a_ring_or_a_session_and_with_room_it_starts(self):
        self.publish("first")
        sessions = self.sessions()
        self.fill_disk()
        for start in range(5):
            refused = self.publish(f"full{start}", expect=OTHER)
            self.assertIn("No space left", refused.err())
            self.assertEqual(self.rings(), [])
        self.assertEqual(self.sessions(), sessions)
        (self.disk / "fill").unlink()
        self.publish("with-room")
        self.run_to_end("verify", "verify")
        self.assertEqual(self.rings(), [])

    def test_a_killed_publisher_is_recovered_where_neither_disk_nor_memory_has_room(self):
        killed = self.start("killed", "publish", "--source", "synthetic:records=50000", "--linger",
                            "600s", "--capacity", self.CAPACITY)
        self.until_head(50_000)
        killed.kill()
        self.fill_disk()
        self.publish("full")
        reader = self.run_to_end("tail", "tail", "--from", "start", "--until-closed", "--format",
                                 "none", "--summary")
        self.assertEqual((reader.summary()["records"], reader.summary()["lost"]), (50_100, 0))


@needs_root_to_mount
class Squatter(harness.BusTest):
    """Another user has created the directory that a publisher would use in shared memory."""

    OWNER_UID, SQUATTER_UID = 61_001, 61_009
    OWNER = {"user": OWNER_UID, "group": OWNER_UID, "extra_groups": []}

    def test_the_bus_is_published_recovered_and_found_all_the_same(self):
        shm = self.mount(pathlib.Path("/dev/shm"), "-t", "tmpfs", "-o", "mode=1777,size=256m", "tmpfs")
        squatted = pathlib.Path(shm, f"lapwing-{self.OWNER_UID}")
        squatted.mkdir(mode=0o777)
        os.chown(squatted, self.SQUATTER_UID, self.SQUATTER_UID)
        for decoy in range(1100):  # because of their names, all are read before the publisher's own
            path = pathlib.Path(shm, f"lapwing-0.{decoy}")
            path.mkdir()
            os.chown(path, self.SQUATTER_UID, self.SQUATTER_UID)
        self.folder.chmod(0o777)
        killed = self.start("killed", "publish", "--source", "synthetic:records=1000", "--linger",
                            "600s", **self.OWNER)
        self.until_head(1000)
        ring = pathlib.Path(self.info()["ring"]["path"])
        self.assertRegex(str(ring), f"^{squatted}[.][A-Za-z0-9]{{6}}/")
        buses = harness.ProgramTest.start(self, "buses", "buses", "--json", **self.OWNER)
        self.assertEqual(buses.wait(), 0, buses.err())
        self.assertEqual([bus["directory"] for bus in json.loads(buses.out())["buses"]], [self.bus])
        killed.kill()
        self.run_to_end("next", "publish", "--source", "synthetic:records=10", **self.OWNER)
        self.assertFalse(ring.exists())
        self.assertEqual(list(squatted.iterdir()), [])
        reader = self.run_to_end("tail", "tail", "--from", "start", "--until-closed", "--format",
                                 "none", "--summary", **self.OWNER)
        self.assertEqual((reader.summary()["records"], reader.summary()["lost"]), (1010, 0))


if __name__ == "__main__":
    sys.exit(unittest.main(verbosity=2))
