#!/usr/bin/env python3
"""Tests that build.sh prints usable commands for missing peers, and setup.sh installs everything.

The tests run in a tree of links to this machine's programs, without some that the test removes.
"""

import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
TAKEN = ("cargo", "mvn", "javac", "clang++-19", "cmake", "apt-get", "apt-cache", "dpkg-query",
         "sudo")
# Logs its arguments, and prints the answer prepared by the test.
FAKE = """#!/bin/sh
printf '%s %s\\n' "${0##*/}" "$*" >>"$LAPWING_ASKED"
case "${0##*/}" in
  cmake)
    [ "$1" = --build ] || exit 0
    echo '[0/2] Re-checking globbed directories...'
    [ "$4" = peer_pipe ] && exit 0
    echo "ninja: error: unknown target '$4'" >&2
    exit 1 ;;
  cargo) echo "cargo $LAPWING_CARGO (d65d197ad 2022-11-15)" ;;
  dpkg-query) exit 1 ;;
  sudo) while [ "$1" = -n ]; do shift; done; exec "$@" ;;
esac
"""


class BuildTest(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="lapwing-peers-build-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.programs = self.folder / "bin"
        self.programs.mkdir()
        for place in ("/bin", "/usr/bin"):
            for program in os.listdir(place):
                link = self.programs / program
                if program not in TAKEN and not link.is_symlink():
                    link.symlink_to(f"{place}/{program}")
        self.asked = self.folder / "asked"
        self.asked.touch()
        native = self.folder / "native"
        native.mkdir()
        (native / "CMakeCache.txt").touch()
        self.environment = {
            "PATH": str(self.programs), "HOME": str(self.folder), "LAPWING_ASKED": str(self.asked),
            "LAPWING_PEERS_DIR": str(self.folder / "peers"), "LAPWING_BUILD_DIR": str(native),
        }

    def fake(self, *names):
        for name in names:
            (self.programs / name).write_text(FAKE, encoding="utf-8")
            (self.programs / name).chmod(0o755)

    def run_script(self, name, *arguments):
        return subprocess.run([HERE / name, *arguments], capture_output=True, text=True,
                              env=self.environment, timeout=60, check=False)

    def missing(self, *peers):
        """{peer: message of build.sh} for missing peers."""
        done = self.run_script("build.sh", *peers)
        self.assertEqual(done.returncode, 1, done.stderr)
        said = dict(re.findall(r"^missing (\S+) \S+: (.*)$", done.stdout, re.M))
        self.assertEqual(sorted(said), sorted(peers), done.stdout + done.stderr)
        return said

    def test_the_message_about_each_missing_peer_names_its_packages(self):
        self.fake("cmake")
        said = self.missing("zeromq", "iceoryx", "ringfire", "tachyon", "aeron", "disruptor")
        installs = {peer: re.match(r"apt-get install ([a-z0-9 -]+?)(?= \(|$)", text)
                    for peer, text in said.items()}
        self.assertEqual({peer: found and found[1] for peer, found in installs.items()}, {
            "zeromq": "libzmq3-dev", "iceoryx": "iceoryx libiceoryx-posh-dev",
            "ringfire": "cargo-web", "tachyon": "cargo-web",
            "aeron": "maven default-jdk-headless", "disruptor": "maven default-jdk-headless"})

    def test_a_build_configured_before_the_package_was_installed_is_configured_again(self):
        self.fake("cmake")
        self.missing("zeromq")
        self.assertIn(f"cmake {self.folder / 'native'}\n", self.asked.read_text())

    def test_a_build_that_checks_its_files_first_is_not_a_missing_peer(self):
        self.fake("cmake")
        done = self.run_script("build.sh", "pipe")
        self.assertEqual(done.stdout, "built   pipe -\n", done.stderr)
        self.assertNotIn(f"cmake {self.folder / 'native'}\n", self.asked.read_text())

    def test_a_rust_that_is_too_old_counts_as_missing(self):
        self.fake("cargo")
        for version, package in (("1.66.0", "cargo-web"), ("1.89.9", "cargo-web"),
                                 ("1.90.0", "clang-19"), ("1.100.0", "clang-19")):
            self.environment["LAPWING_CARGO"] = version
            self.assertIn(f"apt-get install {package}", self.missing("tachyon")["tachyon"])

    def test_set_up_installs_everything_that_build_needs(self):
        self.fake("cmake", "apt-get", "apt-cache", "dpkg-query", "sudo")
        named = set()
        for text in self.missing("zeromq", "iceoryx", "ringfire", "aeron").values():
            named.update(re.match(r"apt-get install ([a-z0-9 -]+?)(?= \(|$)", text)[1].split())
        done = self.run_script("setup.sh")
        self.assertEqual(done.returncode, 0, done.stderr)
        installs = [line.split() for line in self.asked.read_text().splitlines()
                    if line.startswith("apt-get ") and " install " in line]
        self.assertEqual(len(installs), 1)
        self.assertLessEqual({*named, "clang-19"}, set(installs[0]))

    def test_set_up_without_apt_names_what_is_missing(self):
        self.fake("dpkg-query")
        done = self.run_script("setup.sh")
        self.assertEqual(done.returncode, 2)
        self.assertIn("libzmq3-dev", done.stderr)
        self.assertIn("cargo (Rust ", done.stderr)


if __name__ == "__main__":
    unittest.main()
