"""Tests a bus on overlayfs, as in a container: the journal is complete, even after a kill.

Needs root for its own mount namespace. Reports that it is skipped otherwise.
"""

import json
import pathlib
import subprocess
import unittest

import harness

RECORDS = 20_000
QUIET = ("--until-closed", "--format", "none", "--summary")


class OnOverlayfs(harness.BusTest):
    """Every command runs in one namespace with a private mount that ends with it."""

    def setUp(self):
        super().setUp()
        for name in ("lower", "upper", "work", "merged"):
            (self.folder / name).mkdir()
        mount = ("mount -t overlay overlay -o lowerdir=$0/lower,upperdir=$0/upper,workdir=$0/work "
                 "$0/merged && echo mounted && exec sleep infinity")
        try:
            keeper = harness.Running(["unshare", "-m", "sh", "-c", mount, str(self.folder)],
                                     self.folder, "keeper")
        except OSError as error:
            self.skipTest(f"SKIPPED: needs unshare: {error}")
        self.running.append(keeper)
        self.until("the mount", lambda: "mounted" in keeper.out() or not keeper.alive())
        if not keeper.alive():
            self.skipTest(f"SKIPPED: no overlayfs can be mounted here: {keeper.err().strip()}")
        # Enter the root directory as well: in a chroot, the namespace alone has a different root.
        self.inside = ["nsenter", "-m", "-r", "-t", str(keeper.pid)]
        self.bus = str(self.folder / "merged" / "bus")

    def start(self, name, *arguments, bus=None, **popen):
        """Starts a command in the namespace. nsenter executes it, so it has the same pid."""
        command = [*self.inside, harness.program(), arguments[0], "--bus", bus or self.bus,
                   *(str(argument) for argument in arguments[1:])]
        process = harness.Running(command, self.folder, name, **popen)
        self.running.append(process)
        return process

    def info(self, bus=None):
        shown = self.start("info", "info", "--json", bus=bus)
        return json.loads(shown.out()) if shown.wait() == 0 else None

    def test_it_is_an_overlay(self):
        kind = subprocess.run([*self.inside, "stat", "-f", "-c", "%T", self.folder / "merged"],
                              capture_output=True, text=True, check=True).stdout.strip()
        self.assertEqual(kind, "overlayfs")
        self.assertEqual(list((self.folder / "merged").iterdir()), [], "others do not see it")

    def test_a_bus_is_published_followed_and_verified(self):
        follower = self.start("follower", "tail", "--from", "start", *QUIET)
        self.run_to_end("publish", "publish", "--source", f"synthetic:records={RECORDS}",
                        "--capacity", 1024, "--await", 1)
        self.assertEqual(follower.wait(), 0, follower.err())
        late = self.run_to_end("late", "tail", "--from", "start", *QUIET)
        self.assertEqual(self.assert_same_records(follower, late)["records"], RECORDS)
        self.run_to_end("verify", "verify")
        upper = pathlib.Path(self.folder / "upper" / "bus" / "journal")
        self.assertTrue(list(upper.rglob("*.jnl")), "the journal lies on the overlay's upper layer")

    def test_a_killed_publisher_s_records_are_recovered(self):
        killed = self.start("killed", "publish", "--source", f"synthetic:records={RECORDS}",
                            "--linger", "600s")
        self.until_head(RECORDS)
        killed.kill()
        again = self.run_to_end("again", "publish", "--source", "synthetic:records=10")
        self.assertNotIn("void", again.err())
        recovered, _ = self.info()["sessions"]
        self.assertEqual((recovered["end"], recovered["last"]), ("recovered", RECORDS))
        late = self.run_to_end("late", "tail", "--from", "start", *QUIET)
        self.assertEqual(late.summary()["records"], RECORDS + 10)


if __name__ == "__main__":
    unittest.main(verbosity=2)
