"""Tests that output is either complete or reported as lost, and free of foreign control
characters."""

import json
import os
import pathlib
import subprocess
import unittest

import harness

DONE, OTHER, USAGE = 0, 1, 2
RECORDS = 1000


class OutputTest(harness.BusTest):
    def setUp(self):
        super().setUp()
        self.run_to_end("publish", "publish", "--source", f"synthetic:records={RECORDS}")
        self.run_to_end("checkpoint", "checkpoint", "--fold", "orders", "--until-closed")

    def shown(self):
        """The name and arguments of every command that has output."""
        bus = ("--bus", self.bus)
        other = ("--bus", str(self.folder / "other"), "--source", "synthetic:records=10")
        end = ("--until-closed", "--summary")
        return (("--help",), ("--version",), ("publish", "--help"), ("info", *bus),
                ("info", *bus, "--json"), ("info", "--channels"), ("verify", *bus),
                ("verify", *bus, "--json"), ("repair", *bus), ("state", *bus),
                ("state", *bus, "--entries"), ("book", *bus), ("book", *bus, "--json"),
                ("book", *bus, "--format", "csv"),
                ("tail", *bus, "--from", "start", "--until-closed"),
                ("tail", *bus, "--from", "start", "--format", "none", *end),
                ("export", *bus, "--out", self.folder / "out.dbn", "--summary"),
                ("record", *bus, "--from", "start", "--out", self.folder / "copy.dbn", *end),
                ("checkpoint", *bus, "--fold", "orders", *end), ("publish", *other, "--summary"))

    def show(self, *arguments, **popen):
        process = harness.ProgramTest.start(self, "show", *arguments, **popen)
        return process, process.wait()


class LostOutput(OutputTest):
    """A full or closed standard output is an error for any output."""

    def assert_in_no_file(self, bus, shown):
        for path in pathlib.Path(bus).rglob("*"):
            if path.is_file() and path.stat().st_size < 1 << 20:
                self.assertNotIn(shown, path.read_bytes(), path)

    def test_a_full_output_is_said(self):
        for arguments in self.shown():
            with self.subTest(arguments=arguments), open("/dev/full", "wb") as full:
                process, code = self.show(*arguments, stdout=full)
                self.assertEqual(code, OTHER, process.err())
                self.assertEqual(process.err().count("standard output"), 1, process.err())

    def test_a_closed_output_is_said_and_no_file_takes_its_place(self):
        for arguments in self.shown():
            with self.subTest(arguments=arguments):
                process, code = self.show(*arguments, preexec_fn=lambda: os.close(1))
                self.assertEqual(code, OTHER, process.err())
                self.assertIn("standard output is closed", process.err())
        for bus in (self.bus, str(self.folder / "other")):
            self.run_to_end("verify", "verify", bus=bus)
            self.assert_in_no_file(bus, b'"records":')

    def test_with_all_streams_closed_a_publisher_works(self):
        def close_all():
            os.closerange(0, 3)
        _, code = self.show("publish", "--bus", self.bus, "--source", "synthetic:records=10",
                            preexec_fn=close_all)
        self.assertEqual(code, DONE)
        self.run_to_end("verify", "verify")
        self.assert_in_no_file(self.bus, b"lapwing: ")

    def test_a_reader_that_wants_no_more_is_no_error_of_what_was_shown(self):
        for arguments in (("info", "--bus", self.bus), ("verify", "--bus", self.bus), ("--help",)):
            reader, writer = os.pipe()
            os.close(reader)
            with os.fdopen(writer, "wb") as unread:
                process, code = self.show(*arguments, stdout=unread)
            self.assertEqual((code, process.err()), (DONE, ""))


class ForeignText(OutputTest):
    """Arguments, paths and names are printed without their control characters."""

    HOSTILE = "a\x1b[31m\nlapwing: b\r\x7f"

    def assert_clean(self, process, lines=None):
        for text in (process.out(), process.err()):
            for line in text.splitlines():
                self.assertTrue(line.isprintable(), repr(line))
            self.assertNotIn("\nlapwing: b", text)
        if lines is not None:
            self.assertEqual(len(process.err().splitlines()), lines, process.err())

    def test_of_arguments(self):
        hostile = self.HOSTILE
        self.assert_clean(self.show(hostile)[0], 1)
        self.assert_clean(self.show("tail", "--bus", self.bus, "--" + hostile)[0])
        for arguments in (("info", "--bus", hostile), ("verify", "--bus", hostile),
                          ("tail", "--bus", hostile, "--reattach", "0"),
                          ("tail", "--bus", self.bus, "--from", "start", "--journal-id", hostile),
                          ("publish", "--bus", self.bus, "--source", hostile),
                          ("state", "--bus", self.bus, "--fold", hostile),
                          ("checkpoint", "--bus", self.bus, "--fold", hostile),
                          ("ping", hostile), ("info", "--channel", hostile),
                          ("pipe", "--connect", hostile)):
            with self.subTest(arguments=arguments):
                process, code = self.show(*arguments, stdin=subprocess.DEVNULL)
                self.assertNotEqual(code, DONE)
                self.assert_clean(process, 1)
                self.assertIn("?[31m?", process.err())
        for option in ("--capacity", "--linger", "--segment-bytes", "--on-journal-lag", "--group",
                       "--pace"):
            refused, code = self.show("publish", "--bus", self.bus, "--source", "x", option,
                                      hostile)
            self.assertEqual(code, USAGE)
            self.assert_clean(refused)
        for arguments in (("tail", "--bus", self.bus, "--from", hostile),
                          ("serve", "--listen", hostile)):
            refused, code = self.show(*arguments)
            self.assertEqual(code, USAGE)
            self.assertIn("?[31m?", refused.err())
            self.assert_clean(refused)

    def test_of_names_in_a_bus_directory(self):
        description = pathlib.Path(self.bus) / "bus.json"
        told = json.loads(description.read_text())
        for field in ("name", "schema", "journal_writer", "ring_path"):
            description.write_text(json.dumps({**told, field: self.HOSTILE, "closed": False}))
            for arguments in (("info",), ("info", "--json"), ("book",), ("state",),
                              ("export", "--out", self.folder / "none.dbn")):
                with self.subTest(field=field, arguments=arguments):
                    process = self.start("show", *arguments)
                    process.wait()
                    self.assert_clean(process)

    def test_letters_of_any_script_are_shown_as_they_are(self):
        process, _ = self.show("info", "--bus", self.folder / "b\u00fcs-\u76ee\u5f55")
        self.assertIn("b\u00fcs-\u76ee\u5f55", process.err_path.read_text(encoding="utf-8"))

    def test_a_path_that_is_no_text_is_still_json(self):
        bus = os.fsencode(self.folder) + b"/b\xffs"
        os.symlink(self.bus, bus)
        done = subprocess.run([harness.program(), "info", "--json", "--bus", bus],
                              capture_output=True, timeout=harness.HANG_SECONDS, check=False)
        self.assertEqual(done.returncode, DONE, done.stderr)
        self.assertIn("b\ufffds", json.loads(done.stdout)["bus"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
