#!/usr/bin/env python3
"""Runs the scenarios of this folder with the driver of each language, and compares the answers.

    tests/conformance/bindings/run.py                          every scenario, every built language
    tests/conformance/bindings/run.py --languages c,python     these languages
    tests/conformance/bindings/run.py --scenarios gap-fill     these scenarios
    tests/conformance/bindings/run.py --break rust             swaps two error names in that driver
    tests/conformance/bindings/run.py --update                 writes C's answers into the scenarios

README.md is the contract. Build the packages with `bindings/test.sh` first. The library is
LAPWING_LIBRARY, by default the one in LAPWING_BUILD_DIR, by default build/release.

Exit: 0 all answer as expected, 1 one does not, 2 wrong usage.
"""

import argparse
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from urllib.parse import quote

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
BUILD = Path(os.environ.get("LAPWING_BUILD_DIR", ROOT / "build" / "release")).resolve()
LANGUAGES = ("c", "python", "rust", "go", "java", "kotlin", "node", "csharp")
sys.path.insert(0, str(ROOT / "tools"))

import built  # noqa: E402

ANSWER_SECONDS_MAX = 60  # only ends a hang


def need_built(script, languages):
    """Ends the script unless the programs of these languages' drivers are built."""
    drivers = [driver_of("c")[0]] if "c" in languages else []
    library = os.environ.get("LAPWING_LIBRARY", BUILD / "liblapwing.so.1")
    built.need(script, BUILD / "lapwing", library, *drivers)


def driver_of(language):
    """The command of a language's driver."""
    if language == "c":
        return [str(BUILD / "tests" / "conformance" / "bindings" / "c_driver")]
    return [str(ROOT / "bindings" / language / "driver")]


class Driver:
    """A running driver."""

    def __init__(self, language, directory, broken=False, command=None):
        environment = dict(os.environ)
        environment.setdefault("LAPWING_LIBRARY", str(BUILD / "liblapwing.so.1"))
        if broken:
            environment["LAPWING_CONFORMANCE_BREAK"] = "1"
        self.language = language
        self.errors = tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            command or driver_of(language), cwd=directory, env=environment, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=self.errors)
        self.rest = b""

    def ask(self, line):
        """The lines of the answer. Raises RuntimeError if the driver ends or hangs."""
        try:
            self.process.stdin.write(line.encode() + b"\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            raise RuntimeError(self.why_ended(line)) from None
        until = time.monotonic() + ANSWER_SECONDS_MAX
        lines = []
        while True:
            one = self.read_line(until, line)
            if one == ".":
                return lines
            lines.append(one)

    def read_line(self, until, step):
        while b"\n" not in self.rest:
            ready, _, _ = select.select([self.process.stdout], [], [], max(0, until - time.monotonic()))
            if not ready:
                raise RuntimeError(f"no answer to `{step}` within {ANSWER_SECONDS_MAX} s")
            got = os.read(self.process.stdout.fileno(), 1 << 16)
            if not got:
                raise RuntimeError(self.why_ended(step))
            self.rest += got
        line, self.rest = self.rest.split(b"\n", 1)
        return line.decode(errors="replace").rstrip("\r")

    def why_ended(self, step):
        code = self.process.wait()
        self.errors.seek(0)
        said = self.errors.read().decode(errors="replace").strip().splitlines()[-5:]
        return f"the driver ended with {code} at `{step}`: {' / '.join(said)}"

    def end(self):
        """Its exit code after its input has ended."""
        try:
            self.process.stdin.close()
        except BrokenPipeError:
            pass
        try:
            return self.process.wait(timeout=ANSWER_SECONDS_MAX)
        except subprocess.TimeoutExpired:
            self.kill()
            raise RuntimeError("the driver did not end at the end of its input") from None

    def kill(self):
        self.process.kill()
        self.process.wait()


class Externals:
    """Actions outside the driver: in other processes, and damage to files."""

    def __init__(self, directory):
        self.directory = directory
        self.helpers = {}

    def run(self, words):
        verb, _, rest = words.partition(" ")
        getattr(self, "do_" + verb.replace("-", "_"))(rest)

    def do_step(self, rest):
        """step NAME STEP…: runs a step in another process, the C driver of that name."""
        name, _, step = rest.partition(" ")
        if name not in self.helpers:
            self.helpers[name] = Driver("c", self.directory)
        answer = self.helpers[name].ask(step)
        if not answer[0].startswith("ok"):
            raise RuntimeError(f"`{step}` in {name}: {answer[0]}")

    def do_kill(self, name):
        self.helpers.pop(name).kill()

    def do_stop(self, name):
        self.helpers[name].process.send_signal(signal.SIGSTOP)

    def do_damage(self, rest):
        """damage GLOB OFFSET: inverts 8 bytes in each file."""
        pattern, offset = rest.split()
        files = sorted(Path(self.directory).glob(pattern))
        if not files:
            raise RuntimeError(f"no file is called {pattern}")
        for path in files:
            with open(path, "r+b") as file:
                file.seek(int(offset))
                old = file.read(8)
                file.seek(int(offset))
                file.write(bytes(byte ^ 0xFF for byte in old))

    def do_remove(self, pattern):
        for path in Path(self.directory).glob(pattern):
            shutil.rmtree(path) if path.is_dir() else path.unlink()

    def do_lapwing(self, rest):
        """lapwing ARGUMENTS…: runs the program, which must exit with 0."""
        done = subprocess.run([str(BUILD / "lapwing"), *rest.split()], cwd=self.directory,
                              capture_output=True, text=True, timeout=ANSWER_SECONDS_MAX)
        if done.returncode != 0:
            raise RuntimeError(f"lapwing {rest}: exit {done.returncode}: {done.stderr.strip()}")

    def end(self):
        for helper in self.helpers.values():
            helper.kill()


def line_of(step):
    """A step in the driver's input format."""
    words = []
    for key, value in step.items():
        if key == "do":
            continue
        text = ",".join(map(str, value)) if isinstance(value, list) else str(value)
        words.append(f"{key}={quote(text, safe='/:,.{}[]_-')}")
    return " ".join([step["do"], *words])


def answers(scenario, language, broken):
    """The driver's answers to all steps, and another error or None."""
    lines = []
    # A short path, because it contains sockets.
    with tempfile.TemporaryDirectory(prefix="lw-", dir="/tmp") as directory:
        driver = Driver(language, directory, broken)
        externals = Externals(directory)
        try:
            for step in scenario["steps"]:
                if step["do"] == "external":
                    externals.run(step["run"])
                else:
                    lines += driver.ask(line_of(step))
            code = driver.end()
            return lines, None if code == 0 else f"the driver ended with {code}"
        except RuntimeError as error:
            driver.kill()
            return lines, str(error)
        finally:
            externals.end()


def differences(expected, found, trouble):
    for number, (want, got) in enumerate(zip(expected, found, strict=False)):
        if want != got:
            return f"line {number + 1}: expected `{want}`, got `{got}`"
    if trouble:
        return trouble
    if len(expected) != len(found):
        return f"{len(found)} lines instead of {len(expected)}"
    return None


def table(names, languages, found):
    width = max(map(len, names))
    yield " " * width + "".join(f" {language:>7}" for language in languages)
    for name in names:
        yield f"{name:<{width}}" + "".join(
            f" {'ok' if found[language, name] is None else 'DIFFERS':>7}" for language in languages)


def built_languages():
    return [language for language in LANGUAGES if Path(driver_of(language)[0]).exists()]


def languages_of(parser, given, *others):
    """The languages of `--languages`, by default those that are built. `others` are allowed."""
    languages = given.split(",") if given else built_languages()
    known = (*LANGUAGES, *others)
    unknown = [language for language in languages if language not in known]
    if unknown:
        parser.error(f"no language is called {', '.join(unknown)}; there are {', '.join(known)}")
    return languages


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--languages", default=None)
    parser.add_argument("--scenarios", default=None)
    parser.add_argument("--break", dest="broken", default="", choices=("", *LANGUAGES))
    parser.add_argument("--update", action="store_true")
    options = parser.parse_args()
    languages = ["c"] if options.update else languages_of(parser, options.languages)
    need_built("run", languages)
    wanted = options.scenarios.split(",") if options.scenarios else None
    paths = [path for path in sorted(HERE.glob("*.json")) if wanted is None or path.stem in wanted]
    if not paths:
        parser.error("no scenario is called so")

    found = {}
    for path in paths:
        scenario = json.loads(path.read_text(encoding="utf-8"))
        for language in languages:
            lines, trouble = answers(scenario, language, language == options.broken)
            if options.update:
                if trouble:
                    print(f"{path.stem}: {trouble}")
                scenario["expect"] = lines
                write_scenario(path, scenario)
            found[language, path.stem] = differences(scenario["expect"], lines, trouble)

    names = [path.stem for path in paths]
    print("\n".join(table(names, languages, found)))
    different = [language for language in languages if any(found[language, name] for name in names)]
    for language in different:
        for name in names:
            if found[language, name]:
                print(f"{language} {name}: {found[language, name]}")
    print(f"{len(languages)} languages, {len(different)} differ" +
          (f": {', '.join(different)}" if different else ""))
    return 1 if different else 0


def write_scenario(path, scenario):
    """Formats one step or answer per line."""
    steps = ",\n".join("    " + json.dumps(step) for step in scenario["steps"])
    expect = ",\n".join("    " + json.dumps(line) for line in scenario["expect"])
    path.write_text(f'{{\n  "about": {json.dumps(scenario["about"])},\n  "steps": [\n{steps}\n  ],\n'
                    f'  "expect": [\n{expect}\n  ]\n}}\n', encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
