#!/usr/bin/env python3
"""Tests that the guard detects one more store, and ignores noise."""

import contextlib
import io
import json
import pathlib
import tempfile
import unittest

import instructions_guard as guard

COMPILER = "x86_64 gcc 12"
WRITTEN = {operation: 50.0 for operation in guard.OPERATIONS}


class GuardTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="lapwing-counts-")
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name) / "instructions.json"
        self.path.write_text(json.dumps({COMPILER: WRITTEN}), encoding="utf-8")

    def check(self, **changed):
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            code = guard.check({**WRITTEN, **changed}, COMPILER, self.path)
        return code, said.getvalue()

    def test_the_same_counts_pass(self):
        self.assertEqual(self.check()[0], 0)

    def test_noise_passes(self):
        self.assertEqual(self.check(publish=50.3, poll=49.7)[0], 0)

    def test_one_more_instruction_for_each_record_fails_wherever_it_is(self):
        for operation in guard.OPERATIONS:
            code, said = self.check(**{operation: 51.0})
            self.assertEqual(code, 1, operation)
            self.assertIn(f"{operation}: 51.00 instructions a record, 1.00 more", said)
            self.assertIn(f"{len(guard.OPERATIONS) - 1} passed, 1 failed", said)

    def test_one_less_fails_until_it_is_written_down(self):
        self.assertIn("write it down", self.check(publish=49.0)[1])
        with contextlib.redirect_stdout(io.StringIO()):
            guard.update({**WRITTEN, "publish": 49.0}, COMPILER, self.path)
        self.assertEqual(self.check(publish=49.0)[0], 0)
        self.assertEqual(self.check(publish=50.0)[0], 1)

    def test_writing_one_compilers_counts_down_keeps_anothers(self):
        with contextlib.redirect_stdout(io.StringIO()):
            guard.update(WRITTEN, "x86_64 clang 19", self.path)
        self.assertEqual(sorted(json.loads(self.path.read_text())), ["x86_64 clang 19", COMPILER])

    def test_a_description_costs_no_instruction(self):
        written = json.loads(guard.COUNTS.read_text(encoding="utf-8"))
        self.assertTrue(written)
        for compiler, counts in written.items():
            for typed, plain in (("typed_publish", "publish"), ("typed_take", "poll")):
                with self.subTest(compiler=compiler, operation=typed):
                    self.assertLessEqual(counts[typed], counts[plain] + guard.TOLERANCE)

    def test_a_compiler_without_counts_is_skipped_and_told(self):
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            self.assertEqual(guard.is_known("x86_64 gcc 99", self.path), guard.NOT_HERE)
            self.assertEqual(guard.is_known(COMPILER, self.path), 0)
        self.assertIn("SKIPPED", said.getvalue())

    def test_an_operation_that_was_not_counted_is_not_passed_over(self):
        with self.assertRaises(SystemExit):
            guard.counts_of(["publish 50.0"])


if __name__ == "__main__":
    unittest.main()
