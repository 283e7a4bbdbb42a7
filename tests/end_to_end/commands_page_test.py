"""Compares docs/reference/commands.md with the help. LAPWING_UPDATE_GOLDEN=1 updates the page."""

import os
import pathlib
import re
import sys
import unittest

import harness
from help_test import COMMANDS, help_of, options_of

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import commands  # noqa: E402


class Page(unittest.TestCase):
    def test_it_is_what_the_program_prints(self):
        page = commands.page_of(harness.program())
        if os.environ.get("LAPWING_UPDATE_GOLDEN"):
            commands.PAGE.write_text(page, encoding="utf-8")
        self.assertEqual(commands.PAGE.read_text(encoding="utf-8"), page,
                         "\nRun tools/commands.py build/release/lapwing --update, and commit the page.")

    def test_it_has_every_command_and_every_option(self):
        sections = re.split(r"^## ", commands.page_of(harness.program()), flags=re.M)[1:]
        self.assertEqual(tuple(section.split("\n")[0] for section in sections), ("All commands", *COMMANDS))
        common = set(commands.COMMON)
        for command, section in zip(COMMANDS, sections[1:], strict=True):
            rows = set(re.findall(r"^\| `(?:-\w, )?(--[a-z-]+)", section, re.M))
            self.assertEqual(rows, options_of(help_of(command)) - common, command)

    def test_an_option_of_an_unknown_form_is_refused(self):
        for spec in ("--bus DIR SOMETIMES", "--bus DIR Requires --x"):
            with self.assertRaises(SystemExit):
                commands.option_of(spec, "")


if __name__ == "__main__":
    unittest.main()
