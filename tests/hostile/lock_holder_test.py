"""Tests that the lock holder is another user, and holds the locks."""

import fcntl
import os
import pathlib
import shutil
import tempfile
import time
import unittest

import lock_holder

UID = 61_002
DEADLINE_SECONDS = 30


@unittest.skipUnless(os.geteuid() == 0, "SKIPPED: needs root to become another user")
class Holder(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="lapwing-hostile-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.folder.chmod(0o755)
        self.file = self.folder / "file"
        self.file.write_text("content")
        self.file.chmod(0o644)

    def until(self, condition):
        deadline = time.monotonic() + DEADLINE_SECONDS
        while not condition():
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.005)

    def hold(self, *locks):
        return lock_holder.LockHolder([self.folder], locks, UID, UID)

    def is_free_for_a_writer(self):
        with open(self.file, "r+b") as file:
            try:
                fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return True
            except OSError:
                return False

    def test_a_read_lock_keeps_a_write_lock_out_until_the_holder_ends(self):
        for lock in ("F_SETLK", "F_SETLKW", "F_OFD_SETLK", "F_OFD_SETLKW"):
            with self.subTest(lock=lock):
                with self.hold(lock) as holder:
                    self.until(lambda now=holder: now.holds(self.file))
                    self.assertFalse(self.is_free_for_a_writer())
                self.assertTrue(self.is_free_for_a_writer())

    def test_a_file_made_later_is_locked_as_well(self):
        with self.hold("flock exclusive") as holder:
            later = self.folder / "later"
            later.write_text("")
            self.until(lambda: holder.holds(later))

    def test_what_the_user_cannot_read_is_not_locked(self):
        self.file.chmod(0o600)
        (self.folder / "other").write_text("")
        with self.hold("F_SETLK") as holder:
            self.until(lambda: holder.holds(self.folder / "other"))
            self.assertTrue(self.is_free_for_a_writer())

    def test_the_holder_has_no_privilege(self):
        with self.hold("F_SETLK") as holder:
            self.until(lambda: holder.holds(self.file))
            status = pathlib.Path(f"/proc/{holder.process}/status").read_text()
        self.assertIn(f"Uid:\t{UID}\t{UID}\t{UID}\t{UID}", status)
        self.assertIn("CapEff:\t0000000000000000", status)


if __name__ == "__main__":
    unittest.main()
