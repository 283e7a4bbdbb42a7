#!/usr/bin/env python3
"""Tests that tools/tally.py counts the results in program output, and never a failure as a pass."""

import tempfile
import unittest

import tally

JUNIT = """<?xml version="1.0"?><testsuite>
<testcase name="good" status="run"><system-out>All tests passed (9 assertions in 3 test cases)
</system-out></testcase>
<testcase name="partly" status="fail"><failure message=""/><system-out>
its cause
test cases:  4 |  3 passed | 1 failed
assertions: 20 | 19 passed | 1 failed
</system-out></testcase>
<testcase name="died" status="fail"><failure message="SEGFAULT"/><system-out>half</system-out>
</testcase>
<testcase name="missing" status="notrun"><skipped message="Unable to find executable"/></testcase>
<testcase name="elsewhere" status="notrun"><skipped message="SKIP_RETURN_CODE=77"/>
<system-out>SKIPPED: needs root
</system-out></testcase>
</testsuite>
"""


class Tally(unittest.TestCase):
    def setUp(self):
        report = tempfile.NamedTemporaryFile("w", suffix=".xml")
        self.addCleanup(report.close)
        report.write(JUNIT)
        report.flush()
        self.report = report.name

    def test_a_junit_report_is_counted_by_cases(self):
        counted = dict(zip("good partly died missing elsewhere".split(),
                           tally.programs_of_junit(self.report), strict=True))
        self.assertEqual(counted["good"], ((3, 0, 0), []))
        self.assertEqual(counted["partly"], ((3, 1, 0), ["failed:  partly"]))
        self.assertEqual(counted["died"][0], (0, 1, 0))
        self.assertEqual(counted["missing"][0], (0, 1, 0))
        self.assertEqual(counted["elsewhere"], ((0, 0, 1), ["skipped: elsewhere: needs root"]))

    def test_a_tier_that_has_grown_threefold_fails(self):
        tests, seconds = tally.BUDGETS["default"]
        self.assertEqual(list(tally.budget_faults("default", 3 * tests, 3 * seconds)), [])
        self.assertEqual(len(list(tally.budget_faults("default", 3 * tests + 1, seconds))), 1)
        self.assertEqual(len(list(tally.budget_faults("default", tests, 3 * seconds + 1))), 1)

    def test_the_reason_of_a_skip_is_found_where_a_program_says_it(self):
        text = ("test_x (m.C.test_x) ... skipped 'SKIPPED: needs root'\n"
                "Ran 2 tests in 0.1s\n\nOK (skipped=1)\n")
        self.assertEqual(tally.count_program("a", text, False, False),
                         ((1, 0, 1), ["skipped: a: needs root"]))

    def test_what_a_failed_test_printed_is_shown(self):
        self.assertEqual(list(tally.failures_of_junit(self.report)), [
            "--- partly", "", "its cause", "test cases:  4 |  3 passed | 1 failed",
            "assertions: 20 | 19 passed | 1 failed",
            "--- died", "half",
            "--- missing", "Unable to find executable"])

    def test_what_programs_print_is_understood(self):
        cases = {
            "All tests passed (1 assertion in 1 test case)\n": (1, 0, 0),
            "test cases: 5 | 2 passed | 2 failed | 1 failed as expected\n": (2, 2, 0),
            "Ran 6 tests in 0.1s\n\nOK\n": (6, 0, 0),
            "Ran 6 tests in 0.1s\n\nOK (skipped=2)\n": (4, 0, 2),
            "Ran 6 tests in 0.1s\n\nFAILED (failures=1, errors=2)\n": (3, 3, 0),
            "test result: ok. 7 passed; 0 failed; 1 ignored; 0 measured\n": (7, 0, 1),
            "12 passed, 1 failed, 3 skipped\n": (12, 1, 3),
        }
        for text, counts in cases.items():
            with self.subTest(text=text):
                self.assertEqual(tally.count_cases(text), counts)
        self.assertIsNone(tally.count_cases("done\n"))

    def test_a_program_that_fails_without_counting_is_a_failure(self):
        self.assertEqual(tally.count_program("x", "3 passed, 0 failed, 0 skipped", True, False)[0],
                         (3, 1, 0))
        self.assertEqual(tally.count_program("x", "", False, False)[0], (1, 0, 0))

    def test_a_check_that_skipped_inside_a_program_is_named(self):
        text = "*** SKIPPED: no crate\nAll tests passed (9 assertions in 3 test cases)\n"
        counts, lines = tally.count_program("x", text, False, False)
        self.assertEqual(counts, (2, 0, 1))
        self.assertEqual(lines, ["skipped: x: no crate"])
        text = "SKIPPED: no root\n3 passed, 0 failed, 1 skipped\n"
        self.assertEqual(tally.count_program("x", text, False, False)[0], (3, 0, 1))
        counts, lines = tally.count_program("x", "Ran 3 tests in 1s\n\nOK (skipped=2)\n", 0, 0)
        self.assertEqual(counts, (1, 0, 2))
        self.assertEqual(lines, ["skipped: x: 2 without a reason; see its log"])


if __name__ == "__main__":
    unittest.main()
