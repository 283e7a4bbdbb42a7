"""Tests a bus that was started a million times: every command works in linear time.

A command that compares each session with every other one would take days, so a command's time limit
is the check.
"""

import os
import pathlib
import subprocess
import unittest

import harness

SESSIONS = int(os.environ.get("LAPWING_SESSIONS", "1000000"))
RECORDS = 5_000
ROW_BYTES = 512
MAKER = pathlib.Path(os.environ["LAPWING_BUILD_DIR"]) / "tests" / "many_sessions"
SEGMENTS = ("--segment-bytes", 65_536)
QUIET = ("--from", "start", "--until-closed", "--format", "none", "--summary")


class AMillionSessions(harness.BusTest):
    def setUp(self):
        super().setUp()
        self.root = pathlib.Path(self.bus) / "journal"
        self.run_to_end("first", "publish", "--source", f"kv16:keys=9,records={RECORDS}",
                        *SEGMENTS)
        made = subprocess.run([MAKER, self.root, str(SESSIONS)],
                              capture_output=True, text=True, check=False)
        self.assertEqual(made.returncode, 0, made.stderr)

    def test_every_command_reads_them(self):
        tail = self.run_to_end("tail", "tail", *QUIET).summary()
        self.assertEqual((tail["first"], tail["last"], tail["lost"]), (1, RECORDS, 0))
        verified = self.run_to_end("verify", "verify").out()
        self.assertIn(f"{SESSIONS} sessions", verified)
        self.run_to_end("export", "export", "--out", self.folder / "out.records")
        self.run_to_end("record", "record", "--from", "start", "--until-closed", "--out",
                        self.folder / "recorded.records")
        self.run_to_end("health", "health", expect=5)
        info = self.run_to_end("info", "info").out()
        self.assertEqual(info.count(f"from {RECORDS + 1} to {RECORDS}"), 20)
        self.assertIn(f"{SESSIONS - 20} older: `lapwing info --json` lists them", info)

    def damage(self, row):
        """A row of both copies."""
        for name in ("sessions", "sessions.copy"):
            with (self.root / name).open("r+b") as log:
                log.seek(row * ROW_BYTES + 100)
                byte = log.read(1)[0]
                log.seek(-1, os.SEEK_CUR)
                log.write(bytes([byte ^ 1]))

    def test_repair_goes_back_to_the_row_before_a_damaged_one(self):
        self.damage(SESSIONS)
        repaired = self.run_to_end("repair", "repair").out()
        self.assertIn(f"is reset to its first {SESSIONS} entries", repaired)
        self.run_to_end("next", "publish", "--source", "kv16:keys=9,records=10")
        self.run_to_end("verify", "verify")

    def test_the_next_publisher_continues_and_resumes(self):
        source = f"kv16:keys=9,records={2 * RECORDS}"
        summary = self.run_to_end("next", "publish", "--source", source, "--summary").summary()
        self.assertEqual((summary["first"], summary["last"]), (RECORDS + 1, 3 * RECORDS))
        resumed = self.run_to_end("resumed", "publish", "--source", source, "--resume",
                                  "--summary").summary()
        self.assertEqual((resumed["records"], resumed["already_in_journal"]), (0, 2 * RECORDS))
        tail = self.run_to_end("tail", "tail", *QUIET).summary()
        self.assertEqual((tail["first"], tail["last"], tail["lost"]), (1, 3 * RECORDS, 0))

    def test_a_start_drops_those_without_records_once_retention_has_moved(self):
        log = self.root / "sessions"
        publisher = self.start("retain", "publish", "--source", "kv16:keys=9,records=50000",
                               *SEGMENTS, "--retain-bytes", 1, "--linger", "600s")
        self.until("retention has removed the first file",
                   lambda: not list(log.parent.glob(f"*/{0:020}.jnl")))
        self.until_durable(RECORDS + 50_000)
        publisher.stop()
        self.assertGreater(harness.disk_bytes(log), SESSIONS * 512)
        self.run_to_end("next", "publish", "--source", "kv16:keys=9,records=10", *SEGMENTS)
        self.assertLess(harness.disk_bytes(log), 1 << 20)
        self.assertLess(len(self.info()["sessions"]), 10)
        self.run_to_end("verify", "verify")
        self.damage(3 * SESSIONS + 1)  # the reservation of the first kept session
        self.run_to_end("repair", "repair")
        aside = list(self.root.glob("*.damaged-*"))
        self.assertEqual(len(aside), 2)
        for path in aside:
            self.assertLess(harness.disk_bytes(path), 1 << 20, "its hole is kept")
        self.run_to_end("verify-repaired", "verify")


if __name__ == "__main__":
    unittest.main()
