#!/usr/bin/env python3
"""Tests of complete runs on simulated machines, with simulated programs."""

import contextlib
import io
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from unittest import mock

import document
import gallery
import load
import measuring
import pictures
import report_test
import run
from environment_test import CLOCK, GOOD

PEERS = {"lapwing": ["round-trip", "saturation"], "pipe": ["saturation"]}
QUIET = {"seconds": 1.0, "named": 0.0, "nameless": 0.0, "steal": 0.0, "who": {}}
BUSY = {**QUIET, "named": 0.9, "who": {"stress-ng-cpu": 0.9}}
HANG_SECONDS = 300
# Runs a program with run.py's handling: it runs for minutes, and cleans up when it is terminated.
# It does not react to signals that the tests ignore.
RUNNING = """
import signal, sys, measuring, run
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGTERM, signal.SIG_DFL)
signal.signal(signal.SIGHUP, signal.SIG_DFL)
measuring.TIDY_SECONDS = float(sys.argv[3])
run.main = lambda _: measuring.run_to_end([sys.executable, "-c", sys.argv[1], sys.argv[2]], ".")
sys.exit(run.main_for_shells([]))
"""
TIDY = """
import os, pathlib, signal, sys
folder = pathlib.Path(sys.argv[1])
def tidy(*_):
    (folder / "tidied").touch()
    sys.exit(1)
signal.signal(signal.SIGTERM, tidy)
signal.alarm(300)  # ends a hang
(folder / "half").write_text(str(os.getpid()))
(folder / "half").rename(folder / "begun")
while True:
    signal.pause()
"""
DEAF = TIDY.replace("tidy)", "signal.SIG_IGN)")


class RunTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="lapwing-run-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.scratch = set()  # the folders that programs received
        self.change(GOOD)
        self.probe = report_test.probe()
        self.answer = report_test.row("one-way-1m", curve=report_test.curve(70))
        self.rows = ["one-way-1m"]
        self.taken = QUIET
        self.cores = {2, 3}

    def change(self, files):
        for name, text in files.items():
            path = self.folder / "machine" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")

    def program(self, command):
        return [dict(self.probe if "--probe" in command else self.answer)]

    def look_at(self, command):
        given = {pathlib.Path(command[command.index(option) + 1]) for option in ("--shm", "--disk")}
        self.assertTrue(all(folder.is_dir() for folder in given))
        self.scratch |= given
        return self.program(command)

    def run_it(self, *arguments):
        """(exit code, output, report)"""
        command_line = ["--peers", "none", "--only", "one-way", *arguments, "--out",
                        str(self.folder / "out"), "--disk", str(self.folder / "disk"),
                        "--system-root", str(self.folder / "machine")]
        printed = io.StringIO()
        with contextlib.ExitStack() as stack:
            stack.enter_context(contextlib.redirect_stdout(printed))
            stack.enter_context(contextlib.redirect_stderr(printed))
            for owner, name, stand_in in (
                    (measuring, "build_programs", lambda *_: self.folder),
                    (measuring, "build_peers", lambda _, names, __: (names, {})),
                    (measuring, "peers_listed", lambda _: dict(PEERS)),
                    (measuring.Measuring, "program", lambda _, command, **__: self.look_at(
                        command)),
                    (run, "rows_known", lambda _: self.rows),
                    (gallery, "ENDING", "svg"),
                    (load, "between", lambda *_: dict(self.taken)),
                    (run.environment.os, "sched_getaffinity", lambda _: self.cores)):
                stack.enter_context(mock.patch.object(owner, name, stand_in))
            code = run.main_for_shells(command_line)
        report = self.folder / "out" / "report.md"
        text = report.read_text(encoding="utf-8") if report.is_file() else ""
        return code, printed.getvalue(), text

    def pictures_that_warn(self):
        drawn = sorted((self.folder / "out").glob("*.svg"))
        return [pictures.DISTRUST in path.read_text(encoding="utf-8") for path in drawn]

    def assert_warns_everywhere(self, outcome, because):
        """The end of the output, the report and all pictures contain the warning. The code is 0."""
        code, printed, text = outcome
        self.assertEqual(code, 0)
        loud = printed[printed.index("!!!!"):]
        self.assertEqual(loud.splitlines()[-1], "!" * 78)
        for warning in (loud, "\n".join(text.splitlines()[:8])):
            self.assertIn(document.WARNING, warning)
            self.assertIn(because, warning)
        drawn = 1 if pictures.pyplot is not None and "trials" in self.answer else 0
        self.assertEqual(self.pictures_that_warn(), [True] * drawn)

    def test_a_run_on_a_good_and_quiet_machine_warns_nowhere(self):
        code, printed, text = self.run_it()
        self.assertEqual(code, 0)
        self.assertNotIn("TRUSTED", printed + text)
        self.assertFalse(any(self.pictures_that_warn()))
        if pictures.pyplot is not None:
            self.assertEqual(len(self.pictures_that_warn()), 1)

    def test_without_git_the_commit_is_unknown(self):
        with mock.patch.dict(run.subprocess.os.environ, {"PATH": str(self.folder)}):
            code, _, text = self.run_it()
        self.assertEqual(code, 0)
        self.assertIn("from commit unknown.", text)

    def test_a_run_with_an_untrusted_clock_warns_everywhere(self):
        self.change({CLOCK: "hpet\n"})
        self.assert_warns_everywhere(self.run_it(), "the kernel's clock source is hpet")

    def test_a_run_on_a_busy_machine_warns_everywhere(self):
        self.taken = BUSY
        self.assert_warns_everywhere(self.run_it(), "stress-ng-cpu up to 90%")

    def test_a_long_run_warns_once_while_it_measures(self):
        self.taken = BUSY
        self.rows = [f"one-way-{rate}" for rate in range(7)]
        _, printed, _ = self.run_it()
        messages = [line for line in printed.splitlines() if line.startswith("bench: ")]
        early = [line for line in messages if "so far are not to be trusted: other processes took" in line]
        self.assertEqual(len(early), 1)
        self.assertEqual(messages[messages.index(early[0]) + 1], "bench: row 6 of 7: one-way-5")
        self.taken = QUIET
        self.assertNotIn("so far", self.run_it()[1])

    def one_core(self):
        self.cores = {2}
        self.probe.update(cores=[2, 2], line_ns=0.0, walk_ns=0.0)
        self.answer = {"kind": "row", "name": "one-way-1m", "skipped": "needs two cores"}

    def test_a_run_on_one_core_warns_and_lists_skipped_measurements(self):
        self.one_core()
        outcome = self.run_it()
        self.assert_warns_everywhere(outcome, "this run has 1 core")
        _, printed, text = outcome
        self.assertIn("bench: one-way-1m: SKIPPED: needs two cores", printed)
        self.assertIn("- `one-way-1m`: SKIPPED: needs two cores", text)
        self.assertIn("| floor `walk` during the run | SKIPPED: needs two cores |", text)

    def test_no_peer_is_measured_on_one_core(self):
        self.one_core()
        code, printed, text = self.run_it("--only", "saturation", "--peers", "all")
        self.assertEqual(code, 0)
        self.assertIn("bench: saturation: SKIPPED: needs two cores", printed)
        self.assertIn("- `every peer's saturation`: SKIPPED: needs two cores", text)

    def test_a_scenario_that_no_selected_peer_has_is_an_error(self):
        code, printed, text = self.run_it("--only", "round-trip", "--peers", "pipe")
        self.assertEqual((code, text), (2, ""))
        self.assertIn("no selected peer has this scenario", printed)

    def on_a_full_disk(self, name):
        """The output of a run that cannot write the file of that name."""
        out = self.folder / "out"
        out.mkdir(exist_ok=True)
        (out / name).symlink_to("/dev/full")
        code, printed, _ = self.run_it()
        (out / name).unlink()
        self.assertEqual(code, 1)
        return printed.splitlines()[-1]

    def test_the_message_about_a_full_disk_contains_a_remedy(self):
        out = self.folder / "out"
        self.assertEqual(self.on_a_full_disk("raw.jsonl"),
                         f"bench: cannot write to {out}/raw.jsonl: No space left on device. Free "
                         "some space, or name another folder with --out.")
        self.assertEqual(self.on_a_full_disk("environment.json"),
                         f"bench: cannot write to {out}: No space left on device. The report needs "
                         "this file: start the run again.")
        self.assertEqual(self.on_a_full_disk("report.md"),
                         f"bench: cannot write to {out}: No space left on device. Free some space, "
                         f"then write the report with bench/run.sh --again {out}.")
        self.assertEqual(self.again()[0], 0)
        self.assertIn("| `one-way-1m` |", (out / "report.md").read_text(encoding="utf-8"))

    def test_a_folder_that_cannot_be_created_is_reported_before_measuring(self):
        for name in ("disk", "out"):
            shutil.rmtree(self.folder / name, ignore_errors=True)
            (self.folder / name).write_text("a file", encoding="utf-8")
            code, printed, _ = self.run_it()
            self.assertEqual((code, self.scratch), (1, set()))
            self.assertEqual(printed.splitlines()[-1], "bench: cannot write to "
                             f"{self.folder}/{name}: File exists. Name another folder with --{name}.")

    def again(self):
        printed = io.StringIO()
        with mock.patch.object(gallery, "ENDING", "svg"), contextlib.redirect_stdout(printed):
            return run.main(["--again", str(self.folder / "out")]), printed.getvalue()

    def test_list_prints_only_names(self):
        code, printed, _ = self.run_it("--list")
        self.assertEqual((code, printed.split()), (0, [
            *self.rows, *run.plans.PEER_SCENARIOS, run.plans.LATE_JOINS, run.plans.INSTRUCTIONS]))

    def test_a_closed_output_ends_the_run_without_a_traceback(self):
        program = ("import sys, run; run.main = lambda _: print('x' * 1_000_000); "
                   "sys.exit(run.main_for_shells([]))")
        with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True,
                              cwd=pathlib.Path(__file__).parent) as running:
            running.stdout.close()
            printed = running.stderr.read()
        self.assertEqual((running.returncode, printed),
                         (1, "bench: ended: the reader of its output is gone\n"))

    def end_with(self, number, program, tidy_seconds):
        """(exit code, output) of a run that receives the signal, with its children."""
        (self.folder / "begun").unlink(missing_ok=True)
        (self.folder / "tidied").unlink(missing_ok=True)
        with subprocess.Popen(
                [sys.executable, "-c", RUNNING, program, str(self.folder), str(tidy_seconds)],
                stderr=subprocess.PIPE, text=True, cwd=pathlib.Path(__file__).parent) as running:
            deadline = time.monotonic() + HANG_SECONDS
            while not (self.folder / "begun").exists():
                self.assertLess(time.monotonic(), deadline)
                self.assertIsNone(running.poll())
                time.sleep(0.01)
            running.send_signal(number)
            printed = running.communicate(timeout=HANG_SECONDS)[1]
        started = int((self.folder / "begun").read_text(encoding="utf-8"))
        with self.assertRaises(ProcessLookupError):
            os.kill(started, 0)
        return running.returncode, printed

    def test_a_signal_ends_the_programs_of_a_run_first(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with self.subTest(number):
                self.assertEqual(self.end_with(number, TIDY, HANG_SECONDS),
                                 (1, "bench: interrupted\n"))
                self.assertTrue((self.folder / "tidied").exists())

    def test_a_run_that_ignores_a_closed_terminal_continues(self):
        program = ("import os, signal, run; signal.signal(signal.SIGHUP, signal.SIG_IGN); "
                   "run.end_on_signals(); os.kill(os.getpid(), signal.SIGHUP); print('continues')")
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True,
                              cwd=pathlib.Path(__file__).parent, check=False)
        self.assertEqual(done.stdout, "continues\n", done.stderr)

    def test_a_program_that_ignores_signals_is_killed(self):
        self.assertEqual(self.end_with(signal.SIGTERM, DEAF, 0.1), (1, "bench: interrupted\n"))

    def test_a_report_can_be_written_again_without_changes(self):
        self.taken = BUSY
        code, printed, text = self.run_it()
        report = self.folder / "out" / "report.md"
        report.unlink()
        code_again, printed_again = self.again()
        self.assertEqual(report.read_text(encoding="utf-8"), text)
        self.assertEqual(code_again, code)
        self.assertIn(printed_again[printed_again.index("!!!!"):], printed)

    def test_an_unfinished_run_cannot_be_reported_again(self):
        self.assertEqual(self.again()[0], 2)

    def test_a_broken_promise_ends_the_run_with_1(self):
        self.answer["fault"] = "3 torn records"
        code, printed, _ = self.run_it()
        self.assertEqual(code, 1)
        self.assertIn("bench: one-way-1m: FAULT: 3 torn records", printed)

    def test_an_interrupted_run_reports_its_results_and_ends_with_1(self):
        def interrupt(command):
            if "one-way-10k" in command:
                raise KeyboardInterrupt
            return [dict(self.probe if "--probe" in command else self.answer)]
        self.program = interrupt
        self.rows.append("one-way-10k")
        code, printed, text = self.run_it()
        self.assertEqual(code, 1)
        self.assertIn("bench: interrupted", printed)
        self.assertIn("The run was interrupted", text)
        self.assertIn("| `one-way-1m` |", text)
        self.assertEqual([folder.exists() for folder in self.scratch], [False, False])

    def test_a_program_that_fails_ends_the_run_with_1(self):
        def fail(command):
            if "--probe" in command:
                return [dict(self.probe)]
            raise measuring.Failed("it broke")
        self.program = fail
        code, printed, text = self.run_it()
        self.assertEqual(code, 1)
        self.assertIn("bench: one-way-1m: FAILED: it broke", printed)
        self.assertIn("- `one-way-1m`: FAILED: it broke", text)


if __name__ == "__main__":
    unittest.main()
