"""Tests that the demonstration exits with 0, and that the events it shows happened.

LAPWING_DEMO=1 runs the part of deploy/demo.sh after the build, in some 20 s. LAPWING_DEMO=2 runs
the script itself, which first installs packages and builds. Otherwise both are skipped.
"""

import os
import pathlib
import re
import subprocess
import sys
import unittest

import harness

LEVEL = int(os.environ.get("LAPWING_DEMO", "0"))
DEPLOY = pathlib.Path(__file__).resolve().parents[2] / "deploy"


class Demonstration(harness.ProgramTest):
    def run_demo(self, *command):
        demo = harness.Running([str(word) for word in command], self.folder, "demo",
                               env={**os.environ, "TMPDIR": str(self.folder)})
        self.running.append(demo)
        self.assertEqual(demo.wait(3600), 0, demo.out() + demo.err())
        return demo.out()

    def assert_shown(self, text):
        whole = int(re.search(r"^all subscribers received the same ([\d,]+) records$", text, re.M)[1]
                    .replace(",", ""))
        self.assertEqual(whole, 2_000_000)
        self.assertIn("and all order books are equal", text)
        self.assertRegex(text, r"publisher: killed once, resumed at record [1-9]")
        self.assertRegex(text, r"recorder:  killed [1-9]\d* times")
        self.assertNotIn("FAILED:", text)
        rows = re.findall(r"^  (from the start|parked|stopped 3 s|late|killed in a loop) .* "
                          r"([0-9a-f]{16})$", text, re.M)
        self.assertEqual(len(rows), 5, text)
        self.assertEqual(len({digest for _, digest in rows}), 1, rows)
        self.assertEqual(list(self.folder.glob("lapwing-demo-*")), [], "the demo left files behind")

    @unittest.skipIf(LEVEL < 2, "SKIPPED: the set-up and the build of deploy/demo.sh are for "
                     "LAPWING_DEMO=2")
    def test_the_script_sets_up_builds_and_runs_the_demo(self):
        self.assert_shown(self.run_demo(DEPLOY / "demo.sh"))

    @unittest.skipIf(LEVEL < 1, "SKIPPED: the demonstration is for LAPWING_DEMO=1")
    def test_all_subscribers_receive_the_same_records(self):
        self.assert_shown(self.run_demo(sys.executable, DEPLOY / "demo.py", harness.program()))

    @unittest.skipIf(LEVEL < 1, "SKIPPED: the demonstration is for LAPWING_DEMO=1")
    def test_an_operator_sees_slow_and_stopped_subscribers(self):
        text = self.run_demo(sys.executable, DEPLOY / "operate_demo.py", harness.program(), "--once")
        self.assertRegex(text, r"^http://127.0.0.1:\d+/#token=[0-9a-f]{64}\n")
        rows = {row[0]: row for row in map(str.split, text.splitlines()) if row}
        self.assertEqual([rows[bus][1] for bus in ("futures", "equities")], ["running"] * 2)
        self.assertEqual(rows["stopped"][1], "STOPPED")
        self.assertGreater(int(rows["slow"][2]), 10_000)
        for name in ("strategy", "recorder", "risk", "archive"):
            self.assertEqual(rows[name][1], "live")
        self.assertEqual(list(self.folder.glob("lapwing-operate-*")), [], "the demo left files behind")

    def test_wrong_usage_is_2_before_anything_is_set_up(self):
        for script in ("demo.sh", "operate_demo.sh"):
            for arguments in (("--fast",), ("one", "two", "three"), (self.folder / "none.dbn",)):
                done = subprocess.run([DEPLOY / script, *arguments], capture_output=True, text=True,
                                      check=False)
                self.assertEqual(done.returncode, 2, arguments)
                self.assertIn(f"{script}: ", done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
