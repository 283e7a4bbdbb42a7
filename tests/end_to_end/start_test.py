"""Starts on file systems that are full or lack something: what they leave, and that the next one works.

Needs root to mount. The mounts are in a namespace of this process and go with it.
"""

import ctypes
import errno
import os
import subprocess
import sys
import unittest

import harness

CLONE_NEWNS = 0x20000
MIB = 1 << 20


def enter_own_mounts():
    """Whatever this process mounts from now on, no other process sees."""
    if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNS) != 0:
        raise OSError(ctypes.get_errno(), "unshare")
    subprocess.run(["mount", "--make-rprivate", "/"], check=True)


def fallocate_error(path):
    """The errno with which the file system refuses to allocate space for a file; 0 if it does not."""
    libc = ctypes.CDLL(None, use_errno=True)
    with open(path, "wb") as file:
        size = ctypes.c_long(4096)
        return ctypes.get_errno() if libc.fallocate(file.fileno(), 0, ctypes.c_long(0), size) else 0


@unittest.skipUnless(os.geteuid() == 0, "SKIPPED: needs root to mount")
class MountTest(harness.BusTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        enter_own_mounts()

    def mount(self, folder, *arguments):
        subprocess.run(["mount", *arguments, str(folder)], check=True)
        self.addCleanup(subprocess.run, ["umount", "-l", str(folder)], check=False)
        return folder

    def mount_disk(self, mebibytes, *mkfs):
        """An image of a file system, mounted."""
        image = self.folder / "disk.img"
        with open(image, "wb") as file:
            file.truncate(mebibytes * MIB)
        subprocess.run([*mkfs, str(image)], check=True)
        disk = self.folder / "disk"
        disk.mkdir()
        return self.mount(disk, "-o", "loop", str(image))


class WithoutFallocate(MountTest):
    """ext3 has no fallocate: space is reserved by writing zeros."""

    def test_a_journal_is_written_closed_killed_and_continued(self):
        disk = self.mount_disk(96, "mkfs.ext4", "-q", "-t", "ext3")
        bus = str(disk / "bus")
        options = ("--segment-bytes", "1M", "--source")
        self.assertEqual(fallocate_error(disk / "probe"), errno.EOPNOTSUPP, "the test is void")
        self.run_to_end("first", "publish", *options, "synthetic:records=1000", bus=bus)
        killed = self.start("killed", "publish", *options, "synthetic:records=100000", "--linger",
                            600, bus=bus)
        self.until_head(101_000, bus)
        killed.kill()
        self.run_to_end("next", "publish", *options, "synthetic:records=50", bus=bus)
        self.run_to_end("verify", "verify", bus=bus)
        reader = self.run_to_end("tail", "tail", "--from", "start", "--until-closed", "--format", "none",
                                 "--summary", bus=bus)
        self.assertEqual(reader.summary()["records"], 101_050)
        self.assertEqual(reader.summary()["lost"], 0)


if __name__ == "__main__":
    sys.exit(unittest.main(verbosity=2))
