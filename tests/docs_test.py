#!/usr/bin/env python3
"""Builds the reference for include/lapwing with Doxygen and checks that it contains the
comments."""

import html
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def text_of(page):
    """The visible text of a page, as one line."""
    text = re.sub(r"<[^>]+>", " ", page.read_text(encoding="utf-8"))
    return re.sub(r"\s+", " ", html.unescape(text))


class Reference(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        environment = dict(os.environ, LAPWING_DOXYGEN_OUTPUT=cls.folder.name)
        cls.made = subprocess.run(["doxygen", "docs/Doxyfile"], cwd=ROOT, env=environment,
                                 capture_output=True, text=True, check=False)

    def page(self, name):
        return text_of(Path(self.folder.name, "html", name))

    def test_it_is_made_without_a_warning(self):
        self.assertEqual(self.made.stdout + self.made.stderr, "")
        self.assertEqual(self.made.returncode, 0)

    def test_comments_above_behind_and_at_the_head_are_in_it(self):
        recording = self.page("classlapwing_1_1Recording.html")
        self.assertIn("Makes the appended records durable and moves position() to their end.", recording)
        counters = self.page("structlapwing_1_1RecordingCounters.html")
        self.assertIn("that this object has written to", counters)
        head = self.page("recording_8h.html")
        self.assertIn("continues exactly where it stopped, even after a crash", head)

    def test_the_guide_is_its_main_page(self):
        self.assertIn("Rules for all classes", self.page("index.html"))


if __name__ == "__main__":
    if shutil.which("doxygen") is None:
        print("SKIPPED: doxygen is not installed; deploy/setup.sh installs it")
        sys.exit(77)
    sys.exit(unittest.main())
