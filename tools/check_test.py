#!/usr/bin/env python3
"""Tests that tools/check finds the tests for a file, and the way to install a missing tool."""

import importlib.machinery
import importlib.util
import subprocess
import unittest
from pathlib import Path

CHECK = Path(__file__).resolve().with_name("check")


def loaded():
    loader = importlib.machinery.SourceFileLoader("check", str(CHECK))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("check", loader))
    loader.exec_module(module)
    return module


check = loaded()


class Check(unittest.TestCase):
    def programs(self, path):
        return check.test_programs(Path(path), check.lists_of_tests())

    def test_a_test_source_has_its_own_program(self):
        self.assertEqual(self.programs("snapshot/schema/schema_text_test.cc"), {"schema_test"})

    def test_a_source_has_the_programs_of_its_folder(self):
        self.assertEqual(self.programs("snapshot/journal/segment_map.cc"),
                         {"journal_files_test", "journal_reader_test", "mirror_files_test",
                          "mirror_reader_test", "session_log_test"})

    def test_a_folder_without_tests_has_those_of_its_list(self):
        self.assertEqual(self.programs("monitor/doctor/checks.cc"), {"monitor_test"})

    def test_a_public_header_has_the_program_that_is_named_after_it(self):
        self.assertEqual(self.programs("include/lapwing/subscriber.h"), {"subscriber_test"})

    def test_slow_programs_are_left_out(self):
        self.assertNotIn("calls_test", self.programs("tests/torture/calls_test.cc"))

    def test_a_python_test_that_needs_no_build_is_found_from_its_module(self):
        self.assertEqual(check.python_tests(["tools/tally.py"]), ["tools/tally_test.py"])
        self.assertEqual(check.python_tests(["tests/house_rules/tree.py"]),
                         ["tests/house_rules/self_test.py"])
        self.assertEqual(check.python_tests(["tests/end_to_end/book_test.py"]), [])

    def test_scripts_are_known_by_their_first_line(self):
        self.assertTrue(check.is_python("tools/check") and not check.is_shell("tools/check"))
        self.assertTrue(check.is_shell("bindings/go/driver") and not check.is_shell("README.md"))

    def test_a_missing_tool_is_a_failure_that_names_its_installer(self):
        with self.assertRaisesRegex(check.Failed, r"no-such-tool .*deploy/setup\.sh installs"):
            check.installed("no-such-tool")

    def test_wrong_usage_ends_with_2(self):
        for wrong in (["--every"], ["--since", "no-such-commit"], ["file"]):
            done = subprocess.run([CHECK, *wrong], capture_output=True, check=False)
            self.assertEqual(done.returncode, 2, wrong)


if __name__ == "__main__":
    unittest.main()
