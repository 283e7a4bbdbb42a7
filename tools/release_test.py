#!/usr/bin/env python3
"""Tests tools/release.py on this tree and on a copy of the files that contain the version."""

import contextlib
import io
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import release


class Release(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="lapwing-release-")
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        for path in {path for path, _ in release.PLACES} | {"debian/changelog"}:
            (self.root / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(release.ROOT / path, self.root / path)
        self.version = release.Tree(self.root).version()
        (self.root / "CHANGELOG.md").write_text(
            f"# Changelog\n\n## Unreleased\n\nNew.\n\n## {self.version}\n\nOld.\n")
        subprocess.run(["git", "-C", self.root, "init", "--quiet"], check=True)
        self.track()

    def track(self):
        subprocess.run(["git", "-C", self.root, "add", "--all"], check=True)

    def text(self, path):
        return (self.root / path).read_text(encoding="utf-8")

    def change(self, path, old, new):
        text = self.text(path)
        self.assertIn(old, text)
        (self.root / path).write_text(text.replace(old, new), encoding="utf-8")

    def run_release(self, *arguments):
        """(exit code, output)"""
        output = io.StringIO()
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
            try:
                status = release.main([*arguments, "--root", str(self.root)])
            except SystemExit as end:
                status = end.code
        return status, output.getvalue()

    def test_this_tree_agrees(self):
        self.assertEqual(list(release.faults(release.Tree(release.ROOT))), [])

    def test_a_copy_of_it_agrees(self):
        self.assertEqual(self.run_release("--check")[0], 0)

    def test_every_place_gets_the_new_version(self):
        status, output = self.run_release("19.28.37", "--date", "2031-02-03")
        self.assertEqual(status, 0)
        self.assertIn("version 19.28.37, 0 faults", output)
        for path, _ in release.PLACES:
            self.assertIn("19.28", self.text(path), path)
        self.assertIn("set(LAPWING_RELEASE_DATE 2031-02-03)", self.text("CMakeLists.txt"))
        self.assertTrue(self.text("debian/changelog").startswith("lapwing (19.28.37) unstable"))
        self.assertIn(">  Mon, 03 Feb 2031 12:00:00 +0000\n", self.text("debian/changelog"))
        self.assertIn(f"\n## 19.28.37\n\nNew.\n\n## {self.version}\n", self.text("CHANGELOG.md"))
        self.assertNotIn("Unreleased", self.text("CHANGELOG.md"))

    def test_setting_the_same_version_again_changes_nothing(self):
        self.run_release("19.28.37", "--date", "2031-02-03")
        before = {path: self.text(path) for path, _ in release.PLACES}
        self.assertEqual(self.run_release("19.28.37", "--date", "2031-02-03")[0], 0)
        self.assertEqual(before, {path: self.text(path) for path, _ in release.PLACES})

    def test_a_place_that_disagrees_is_a_fault(self):
        for path, pattern in release.PLACES:
            if (path, pattern) == release.REFERENCE:
                continue
            with self.subTest(path=path, pattern=pattern):
                before = self.text(path)
                match = release.re.search(pattern, before, release.re.M)
                other = release.in_form(pattern, "9.9.9")
                changed = before[:match.start(1)] + other + before[match.end(1):]
                (self.root / path).write_text(changed, encoding="utf-8")
                status, output = self.run_release("--check")
                self.assertEqual(status, 1)
                self.assertIn(f"{path}:", output)
                (self.root / path).write_text(before, encoding="utf-8")

    def test_a_place_that_is_gone_is_a_fault(self):
        self.change("cli/version.h", f'"{self.version}"', '"…"')
        self.change("cli/version.h", f"lapwing {self.version}", "lapwing …")
        status, output = self.run_release("--check")
        self.assertEqual(status, 1)
        self.assertIn("cli/version.h: contains no version", output)

    def test_changelogs_and_date_must_agree(self):
        for path, old, new, fault in (
                ("CHANGELOG.md", f"## {self.version}\n", "## 0.0.1\n", "newest version is 0.0.1"),
                ("CMakeLists.txt", "RELEASE_DATE 20", "RELEASE_DATE 30", "newest entry is not of 30"),
                ("debian/changelog", f"({self.version})", "(0.0.1)",
                 f"newest entry is not {self.version}")):
            self.change(path, old, new)
            status, output = self.run_release("--check")
            self.assertEqual(status, 1)
            self.assertIn(fault, output)

    def test_a_version_that_is_not_listed_is_a_fault(self):
        page = self.root / "page.md"
        history = f"Releases before {self.version} wrote another header.\n"
        page.write_text(f"{history}Install 1{self.version} or {self.version}.1.\n")
        self.track()
        self.assertEqual(self.run_release("--check")[0], 0)
        page.write_text(f"{history}Install lapwing-{self.version}.tar.gz.\n")
        status, output = self.run_release("--check")
        self.assertEqual(status, 1)
        self.assertIn(f"page.md:2: contains {self.version}, which", output)

    def test_bad_versions_are_refused(self):
        for version in ("1.0", "v1.0.0", "0.0.1"):
            self.assertEqual(self.run_release(version)[0], 2, version)
        self.assertEqual(self.run_release()[0], 2)
        self.assertEqual(self.run_release("9.9.9", "--check")[0], 2)

    def test_a_release_needs_a_section_of_the_changelog(self):
        self.change("CHANGELOG.md", "## Unreleased\n\nNew.\n\n", "")
        self.assertIn("has no section `## 9.9.9`", str(self.run_release("9.9.9")[0]))
        self.assertEqual(release.Tree(self.root).version(), self.version)

    def test_notes_are_the_newest_section_with_joined_lines(self):
        (self.root / "CHANGELOG.md").write_text(
            "# Changelog\n\n## Unreleased\n\nLater.\n\n## 1.2.3\n\nABI 1,\njournal 1.\n\n"
            "### Added\n"
            "- One item\n  of two lines.\n- Another.\n\n| a | b |\n| --- | --- |\n| c | d |\n\n"
            "## 1.2.2\n\nOld.\n")
        status, output = self.run_release("--notes")
        self.assertEqual(status, 0)
        self.assertEqual(output.split("\n\n", 2)[0], "# Lapwing 1.2.3")
        self.assertEqual(output.split("\n\n", 2)[2],
                         "ABI 1, journal 1.\n\n## Added\n- One item of two lines.\n- Another.\n\n"
                         "| a | b |\n| --- | --- |\n| c | d |\n")


if __name__ == "__main__":
    if not (release.ROOT / ".git").exists() or shutil.which("git") is None:
        print("SKIPPED: this is not a git work tree")
        sys.exit(77)
    unittest.main()
