"""Tests how builds are identified: `lapwing --version`, and cmake/Revision.cmake."""

import os
import pathlib
import re
import subprocess
import tempfile
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[1]
RELEASE = re.search(r"VERSION (\S+)", (SOURCE / "CMakeLists.txt").read_text().split("project(")[1])[1]


def run(*command, **options):
    return subprocess.run(command, capture_output=True, text=True, check=True, **options).stdout


class Program(unittest.TestCase):
    def test_it_names_release_and_revision(self):
        line = run(os.environ["LAPWING_BIN"], "--version")
        self.assertRegex(line, rf"\Alapwing {re.escape(RELEASE)}( \(\S+( dirty)?\))?\n\Z")

    def test_a_manual_names_the_release_alone(self):
        heading = run(os.environ["LAPWING_BIN"], "manual").split("\n", 1)[0]
        self.assertTrue(heading.endswith(f'"Lapwing {RELEASE}"'), heading)


class Revision(unittest.TestCase):
    """A separate repository, which the script reads."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="lapwing-revision-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.header = self.folder / "revision.h"
        self.source = self.folder / "source"
        self.source.mkdir()
        (self.source / "file").write_text("content\n")

    def git(self, *arguments):
        names = ("-c", "user.name=Test", "-c", "user.email=test@example.org")
        return run("git", "-C", str(self.source), *names, *arguments).strip()

    def commit(self):
        self.git("init", "--quiet")
        self.git("add", "file")
        self.git("commit", "--quiet", "--no-gpg-sign", "--message", "A file")
        return self.git("rev-parse", "--short=12", "HEAD")

    def revision(self, source=None, given=""):
        run("cmake", f"-DSOURCE={source or self.source}", f"-DOUTPUT={self.header}",
            f"-DREVISION={given}", "-P", str(SOURCE / "cmake/Revision.cmake"))
        return re.fullmatch(r'#define LAPWING_REVISION "(.*)"\n', self.header.read_text())[1]

    def test_a_clean_tree_is_named_by_its_commit(self):
        self.assertEqual(self.revision(), "")
        commit = self.commit()
        self.assertEqual(self.revision(), commit)
        (self.source / "build.log").write_text("of nobody's interest\n")
        self.assertEqual(self.revision(), commit)

    def test_a_changed_tree_is_dirty(self):
        commit = self.commit()
        (self.source / "file").write_text("other content\n")
        self.assertEqual(self.revision(), f"{commit} dirty")

    def test_a_tree_below_another_repository_has_no_revision(self):
        self.commit()
        below = self.source / "unpacked"
        below.mkdir()
        self.assertEqual(self.revision(below), "")

    def test_a_given_text_stands_for_it(self):
        self.commit()
        self.assertEqual(self.revision(given="0.2.0-1"), "0.2.0-1")

    def test_an_unchanged_revision_leaves_the_file_as_it_is(self):
        self.commit()
        self.revision()
        os.utime(self.header, (1, 1))
        self.revision()
        self.assertEqual(self.header.stat().st_mtime, 1)


if __name__ == "__main__":
    unittest.main(verbosity=2)
