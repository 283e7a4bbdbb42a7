"""Tests the confinement's promises from within."""

import os
import pathlib
import shutil
import socket
import subprocess
import tempfile
import unittest

import confinement

HERE = os.path.dirname(os.path.abspath(__file__))


class Confinement(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="lapwing-hostile-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def within(self, body):
        """True if body() returned without an exception."""
        def run():
            body()
            return 0
        try:
            return confinement.run_confined(str(self.folder), run) == 0
        except confinement.Unconfinable as reason:
            self.skipTest(f"SKIPPED: {reason}")

    def test_a_write_elsewhere_fails_and_one_in_the_folder_reaches_it(self):
        def body():
            confinement.check_confinement(["/", "/etc", "/usr", "/dev", "/sys", HERE])
            (self.folder / "written").write_text("within")
            pathlib.Path("/dev/shm/within").write_text("within")
        self.assertTrue(self.within(body))
        self.assertEqual((self.folder / "written").read_text(), "within")
        self.assertFalse(os.path.exists("/dev/shm/within"))

    def test_the_check_itself_fails_where_a_write_succeeds(self):
        def body():
            try:
                confinement.check_confinement([str(self.folder)])
            except AssertionError:
                return
            raise RuntimeError("it found nothing")
        self.assertTrue(self.within(body))

    def test_there_is_no_network_and_no_process_of_others(self):
        def body():
            with socket.socket() as connection:
                if connection.connect_ex(("127.0.0.1", 9)) == 0:
                    raise RuntimeError("connected")
            processes = [name for name in os.listdir("/proc") if name.isdigit()]
            if processes != ["1"]:
                raise RuntimeError(f"processes {processes}")
        self.assertTrue(self.within(body))

    def test_root_in_a_child_without_capabilities_cannot_mount(self):
        def body():
            done = subprocess.run(["mount", "-o", "remount,rw", "/"], capture_output=True,
                                  preexec_fn=confinement.drop_capabilities, check=False)
            if done.returncode == 0:
                raise RuntimeError("mounted")
        self.assertTrue(self.within(body))


if __name__ == "__main__":
    unittest.main()
