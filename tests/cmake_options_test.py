#!/usr/bin/env python3
"""Tests each option in CMakeLists.txt: with it off and on, the project configures and builds.

The runs for other options use an option's default, so only its other value needs its own run.

  cmake_options_test.py           configures each, and builds one small target
  cmake_options_test.py --full    builds all targets of each, which takes hours
  cmake_options_test.py OPTION…   only these, e.g. LAPWING_BUILD_TESTS=OFF

The options are read from the project's CMakeLists.txt files, so that new ones are tested
automatically. CXX can name the compiler. Exit: 0 all work, 1 one does not.
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
OPTION = re.compile(r'^\s*option\((LAPWING_\w+) "[^"]*" (\S+)\)', re.MULTILINE)
TOP_LEVEL = {"${PROJECT_IS_TOP_LEVEL}": "ON"}  # its value in this project
SMALL_TARGET = "lapwing_os"  # built with every option
# Options that only one compiler supports.
COMPILERS = {"LAPWING_BUILD_FUZZERS=ON": "clang++-19"}


def options():
    files = subprocess.run(["git", "ls-files", "*CMakeLists.txt", "*.cmake"], cwd=ROOT, check=True,
                           capture_output=True, text=True).stdout.split()
    found = sorted({option for path in files for option in OPTION.findall((ROOT / path).read_text())})
    if len(found) < 2:
        sys.exit("cmake_options: CMakeLists.txt has no options, so this finds them no longer")
    return [f"{name}={value}" for name, default in found for value in ("OFF", "ON")
            if value != TOP_LEVEL.get(default, default)]


def run(command, what):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False)
    if done.returncode == 0:
        return True
    print(f"FAILED: {what}: {' '.join(map(str, command))}")
    print("\n".join(done.stdout.splitlines()[-30:]))
    return False


def works(option, build, is_full):
    configure = ["cmake", "-S", ROOT, "-B", build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
                 f"-D{option}"]
    if option in COMPILERS:
        configure.append(f"-DCMAKE_CXX_COMPILER={COMPILERS[option]}")
    if not run(configure, f"{option} does not configure"):
        return False
    target = [] if is_full else ["--target", SMALL_TARGET]
    return run(["cmake", "--build", build, *target], f"{option} does not build")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("options", nargs="*", metavar="OPTION=VALUE")
    parser.add_argument("--full", action="store_true")
    arguments = parser.parse_args()
    failed = 0
    for option in arguments.options or options():
        with tempfile.TemporaryDirectory(prefix="lapwing-options-") as build:
            if works(option, build, arguments.full):
                print(f"ok: {option}", flush=True)
            else:
                failed += 1
    return 1 if failed else 0


if __name__ == "__main__":
    os.environ.pop("CMAKE_GENERATOR", None)
    sys.exit(main())
