#!/usr/bin/env python3
"""Tests that scripts that need a build print what to build if it is missing."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
NOT_BUILT = "not built. Run: cmake "
PROGRAMS = "is not a program"
SCRIPTS = {  # with their messages
    "bench/time_to_live.py {build}": NOT_BUILT,
    "bench/tuning.py": NOT_BUILT,
    "bindings/leaks.sh": NOT_BUILT,
    "bindings/misuse.sh": NOT_BUILT,
    "tests/conformance/bindings/run.py": NOT_BUILT,
    "tests/dbn/every_schema.sh": PROGRAMS,
    "tests/hostile/run.py": PROGRAMS,
}


class UnbuiltTest(unittest.TestCase):
    def test_each_says_what_to_build(self):
        environment = {name: value for name, value in os.environ.items()
                       if not name.startswith("LAPWING_")}
        with tempfile.TemporaryDirectory() as build:
            environment |= {"LAPWING_BUILD_DIR": build, "LAPWING_BIN": build + "/lapwing"}
            for command, words in SCRIPTS.items():
                with self.subTest(command):
                    done = subprocess.run(command.format(build=build).split(), cwd=ROOT,
                                          env=environment, stdin=subprocess.DEVNULL,
                                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                          text=True, timeout=60, check=False)
                    self.assertIn(done.returncode, (1, 2), done.stdout)
                    self.assertIn(words, done.stdout)
                    self.assertNotIn("Traceback", done.stdout)


class PeersTest(unittest.TestCase):
    """bench/peers/build.sh finds a target even if the build must do other work first."""

    def test_a_target_is_found_when_globs_are_checked_again(self):
        text = (ROOT / "bench/peers/build.sh").read_text()
        begin = text.index("build_target() {")
        functions = text[begin:text.index("\n", text.index("is_unknown() {"))]
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder)
            (source / "one.txt").touch()
            (source / "CMakeLists.txt").write_text(
                "cmake_minimum_required(VERSION 3.25)\nproject(p LANGUAGES NONE)\n"
                "file(GLOB files CONFIGURE_DEPENDS *.txt)\n"
                "add_custom_target(peer_here COMMAND true)\n")
            subprocess.run(["cmake", "-G", "Ninja", "-S", source, "-B", source / "build"],
                           stdout=subprocess.DEVNULL, check=True)
            for target, found in (("peer_here", True), ("peer_nowhere", False)):
                (source / f"{target}.txt").touch()
                script = f'{functions}\nbuild_target {target} "$log"; ! is_unknown "$log"'
                done = subprocess.run(
                    ["bash", "-c", script], check=False,
                    env=os.environ | {"native": str(source / "build"), "log": f"{folder}/log"})
                self.assertEqual(done.returncode == 0, found, target)


if __name__ == "__main__":
    sys.exit(unittest.main())
