"""Tests `lapwing cursors` and `--from after:`: showing committed positions and resuming from them.

The program is examples/logger. examples_test.py tests that it survives kills.
"""

import json
import os
import time
import unittest

import harness

OTHER, DAMAGED = 1, 4
RECORDS, MORE = 1000, 500
RECORD_BYTES = 56
COPY_BYTES, POSITION_AT = 4096, 60  # docs/reference/file-formats.md, "Cursors"
QUIET = ("--until-closed", "--format", "none", "--summary")


class CursorTest(harness.BusTest):
    """A closed bus with RECORDS records, and a logger's file with all of them."""

    def setUp(self):
        super().setUp()
        self.began_ns = time.time_ns()
        self.log = self.folder / "es.log"
        self.cursor = self.folder / "es.log.cursor"
        self.publish(RECORDS)
        self.run_logger()

    def publish(self, records):
        self.run_to_end("publish", "publish", "--source", f"synthetic:records={records}")

    def run_logger(self):
        logger = self.example("logger", self.bus, self.log)
        self.assertEqual(logger.wait(), 0, logger.err())

    def show(self, *arguments, expect=0):
        return harness.ProgramTest.run_to_end(self, "cursors", *arguments, expect=expect)

    def start(self, name, *arguments, **popen):
        """`lapwing cursors` has no --bus."""
        if name == "cursors":
            return harness.ProgramTest.start(self, name, "cursors", *arguments, **popen)
        return super().start(name, *arguments, **popen)

    def flip(self, at):
        content = bytearray(self.cursor.read_bytes())
        content[at] ^= 1
        self.cursor.write_bytes(content)


class Shown(CursorTest):
    """The contents of the file as text and as JSON, without changing it."""

    def test_a_cursor_shows_its_position_and_where_the_output_ended(self):
        before = self.cursor.stat()
        (shown,) = self.cursors(self.cursor)
        (session,) = self.info()["sessions"]
        self.assertEqual(shown["path"], str(self.cursor))
        self.assertEqual((shown["journal"], shown["session"], shown["sequence"]),
                         (session["journal"], session["session"], RECORDS))
        self.assertEqual(shown["position"],
                         f"{session['journal']}/{session['session']}/{RECORDS}")
        self.assertEqual((shown["output_bytes"], shown["output_file"]),
                         (RECORDS * RECORD_BYTES, 0))
        self.assertEqual(shown["generation"], RECORDS + 1)
        self.assertFalse(shown["one_copy_is_damaged"])
        self.assertLessEqual(self.began_ns, shown["written_ns"])
        self.assertLessEqual(shown["written_ns"], time.time_ns())
        text = self.show(self.cursor).out()
        self.assertIn(f"cursor {self.cursor}\n  position    {shown['position']}\n"
                      f"  output      {RECORDS * RECORD_BYTES} bytes, file 0\n"
                      f"  generation  {RECORDS + 1}, written 2", text)
        self.assertNotIn("damaged", text)
        after = self.cursor.stat()
        self.assertEqual((after.st_mtime_ns, after.st_size), (before.st_mtime_ns, before.st_size))

    def test_a_cursor_without_a_commit_says_so(self):
        path = self.folder / "other.log.cursor"
        logger = self.example("logger", self.folder / "no-bus", self.folder / "other.log")
        self.until("its cursor", path.exists)
        logger.kill()
        (shown,) = self.cursors(path)
        self.assertIsNone(shown["position"])
        self.assertNotIn("sequence", shown)
        self.assertIn("position    none", self.show(path).out())

    def test_a_program_that_has_it_open_is_not_disturbed_and_no_second_one_gets_it(self):
        publisher = self.start("holder", "publish", "--source", f"synthetic:records={MORE}",
                               "--linger", "600s")
        self.until_head(RECORDS + MORE)
        logger = self.example("logger", self.bus, self.log)
        self.until("the log to grow",
                   lambda: self.log.stat().st_size == (RECORDS + MORE) * RECORD_BYTES)
        self.until("the last commit",
                   lambda: self.cursors(self.cursor)[0]["sequence"] == RECORDS + MORE)
        second = self.example("logger", self.bus, self.log)
        self.assertEqual(second.wait(), 1)
        self.assertIn(f"{self.cursor}.lock is held by process {logger.pid} (", second.err())
        self.assertIn(f", user {os.geteuid()}), which has the cursor open", second.err())
        self.assertTrue(logger.alive(), logger.err())
        self.assertEqual(publisher.stop(), 0, publisher.err())
        self.assertEqual(logger.wait(), 0, logger.err())


class Damaged(CursorTest):
    """One damaged copy is reported, two are an error, and files are independent."""

    def newest_copy(self):
        """Generations alternate; the first copy has the even ones."""
        return self.cursors(self.cursor)[0]["generation"] % 2 * COPY_BYTES

    def test_one_damaged_copy_leaves_the_commit_before(self):
        self.flip(self.newest_copy() + POSITION_AT)
        text = self.show(self.cursor).out()
        self.assertIn("damaged     one of its two copies", text)
        (shown,) = self.cursors(self.cursor)
        self.assertTrue(shown["one_copy_is_damaged"])
        self.assertEqual((shown["sequence"], shown["output_bytes"]),
                         (RECORDS - 1, (RECORDS - 1) * RECORD_BYTES))
        whole = self.log.read_bytes()
        self.run_logger()
        self.assertEqual(self.log.read_bytes(), whole)
        (shown,) = self.cursors(self.cursor)
        self.assertEqual((shown["sequence"], shown["one_copy_is_damaged"]), (RECORDS, False))

    def test_two_damaged_copies_are_an_error_to_the_command_and_to_the_program(self):
        for copy in (0, COPY_BYTES):
            self.flip(copy + POSITION_AT)
        content, whole = self.cursor.read_bytes(), self.log.read_bytes()
        refused = self.show(self.cursor, expect=DAMAGED)
        self.assertIn(f"cursor {self.cursor} is damaged", refused.err())
        self.assertIn("remove it", refused.err())
        (shown,) = self.cursors(self.cursor)
        self.assertEqual((shown["path"], shown["error"]), (str(self.cursor), "damaged"))
        self.assertIn("remove it", shown["why"])
        logger = self.example("logger", self.bus, self.log)
        self.assertEqual(logger.wait(), 1)
        self.assertIn("is damaged", logger.err())
        self.assertEqual((self.cursor.read_bytes(), self.log.read_bytes()), (content, whole))

    def test_others_are_shown_beside_what_is_none_and_the_damaged_one_decides(self):
        none, missing = self.folder / "none", self.folder / "missing"
        none.write_text("no cursor\n" * 1000)
        shown = self.show("--json", none, missing, self.cursor, expect=OTHER)
        first, second, third = json.loads(shown.out())["cursors"]
        self.assertEqual((first["error"], second["error"], third["sequence"]),
                         ("not-a-lapwing-file", "not-found", RECORDS))
        self.assertIn(str(missing), shown.err())
        for copy in (0, COPY_BYTES):
            self.flip(copy + POSITION_AT)
        self.show(self.cursor, missing, expect=DAMAGED)

    def test_no_path_is_wrong_usage(self):
        self.assertIn("PATH", self.show(expect=2).err())


class After(CursorTest):
    """`--from after:POSITION`."""

    def test_what_comes_after_a_position_is_shown(self):
        (shown,) = self.cursors(self.cursor)
        self.publish(MORE)
        tail = self.run_to_end("tail", "tail", "--from", f"after:{shown['position']}", *QUIET)
        self.assertEqual((tail.summary()["first"], tail.summary()["records"]),
                         (RECORDS + 1, MORE))

    def test_a_position_of_another_history_is_a_reset(self):
        other = f"after:{'0' * 31}1/{'0' * 31}2/7"
        tail = self.run_to_end("tail", "tail", "--from", other, *QUIET)
        self.assertIn("reset at 1", tail.err())
        self.assertEqual(tail.summary()["records"], RECORDS)

    def test_what_is_no_position_is_refused_with_the_forms(self):
        for text in ("after:", "after:7", f"after:{'0' * 32}/{'0' * 32}/07"):
            refused = self.run_to_end("tail", "tail", "--from", text, *QUIET, expect=2)
            self.assertIn("after:POSITION (as `lapwing cursors` shows it)", refused.err())


if __name__ == "__main__":
    unittest.main(verbosity=2)
