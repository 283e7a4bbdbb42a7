"""Tests that every option refuses wrong values with exit code 2 and a message that names it.

Commands and options are read from --help, so new options are included. If an option has a list of
values, the message contains them. The same wrong values are given to the keys of a configuration
file.
"""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

import harness

TIMEOUT_SECONDS = 60
WORDS = re.compile(r"TEXT:\{(.*)\}")
OPTION = re.compile(r"^  (?:-\w,)?(--[\w-]+)(?: (\S.*?))?(?:  |$)", re.M)

# Wrong values by the type that --help shows. (): every text is a name, or a path that may be
# created.
NUMBERS = ("", "x", "-1", "1.5", "1x", "0x", "99999999999999999999999")
DURATIONS = ("", "x", "-1s", "1", "10", "0.5", "1 parsec", "s", "inf", "nan")
WRONG = {
    "FLAG": ("x", "maybe"),
    "N": NUMBERS,
    "N:NONNEGATIVE": NUMBERS,
    "G": NUMBERS,
    "UID": NUMBERS,
    "USER": ("", "no-such-user", "-1", "4294967296"),
    "SLOTS": NUMBERS + ("3",),
    "BYTES": NUMBERS + ("64Q",),
    "DURATION": DURATIONS,
    "DURATION|forever": DURATIONS + ("for ever", "never"),
    "DURATION|on-request": DURATIONS + ("0", "0s", "forever"),
    "RECORDS": NUMBERS,
    "RECORDS|DURATION": ("", "x", "-1", "1.5 parsecs"),
    "LIST": ("", "x", "3-", "-1", "5-3"),
    "WHERE": ("", "x", "Start", "Oldest", "oldest:", "seq:", "seq:x", "seq:-1", "time:yesterday", "after:x", "snapshot:"),
    "SEQUENCE": NUMBERS,
    "SEQUENCE,…": ("", "x", "1,x", "-1"),
    "ADDRESS": ("", "x", "127.0.0.1", "127.0.0.1:x", "127.0.0.1:99999"),
    "BUS:NAME": ("", "x"),
    "TEXT": ("", "x"),
    "FOLD": (),  # the folds depend on the bus
    "KEY": ("",),
    "ID": ("", "x", "0123"),
    "SYMBOL|id:N": ("",),
    "PERIOD": ("", "x", "-1h", "1", "fortnight"),
    "TIME": ("", "x", "17", "25:00", "17:60", "-1:00"),
    "ZONE": ("", "America/Chicgo"),
    "DIR": (),
    "DIR|none": (),
    "FILE": (),
    "PATH": (),
    "NAME": (),
}
# Other options that an option needs; wrong values that are valid for one option; and messages that
# contain the accepted forms of a value instead of the option.
BESIDE = {("publish", "--thread-priority"): ["--thread-policy", "fifo"]}
RIGHT = {("publish", "--thread-nice"): {"-1"}}
# Values that are wrong for only one option.
WRONG_FOR = {
    ("health", "--expect"): ("",),
    ("health", "--max-delay"): ("0", "0s"),
    ("serve", "--interval"): ("0", "0s"),
    ("tail", "--conflate"): ("0", "0s"),
    ("top", "--interval"): ("0", "0s"),
    ("serve", "--expect"): (":", "es:", ":logger"),
    ("serve", "--host"): ("", "*", "https://mon.example", "mon.example:8443", "mon.example/", "mon example",
                          "10.0.0.256"),
}
FORMS = {
    ("publish", "--source", "x"): "--source: \"x\" is not a source; the forms are",
    ("publish", "--pace", "x"): "--pace: \"x\" is not a pace; give max, recorded",
    **{("serve", "--listen", value): f"--listen: {value} is not an address"
       for value in ("x", "127.0.0.1", "127.0.0.1:x", "127.0.0.1:99999")},
}
# A command's minimum arguments. It never runs, because the wrong value ends it first.
NEEDED = {
    "--bus": ["--bus", "bus"],
    "--source": ["--source", "synthetic:records=1"],
    "--out": ["--out", "out.dbn"],
    "--fold": ["--fold", "latest"],
    "--listen": ["--listen", "127.0.0.1:0"],
    "--into": ["--into", "manual"],
}


def help_of(*command):
    done = subprocess.run([os.path.abspath(harness.program()), *command, "--help"], capture_output=True, text=True,
                          timeout=TIMEOUT_SECONDS, check=True)
    return done.stdout


def commands():
    listed = help_of().split("Subcommands:")[1]
    found = re.findall(r"^  ([a-z]+) {2,}", listed, re.M)
    assert len(found) > 15, found
    return found


def options_of(command):
    """(option, type of its value in --help, whether it is required)"""
    found = []
    for name, shown in OPTION.findall(help_of(command)):
        value = (shown or "FLAG").split("=")[0].removesuffix("REQUIRED").removesuffix(" ...").strip()
        value = "FLAG" if value.startswith(("Excludes:", "Needs:")) or not value else value
        found.append((name, value.split(" ")[0], "REQUIRED" in (shown or "")))
    assert ("--help", "FLAG", False) in found, command
    return [one for one in found if one[0] != "--help"]


def wrong_values(command, option, shown):
    words = WORDS.fullmatch(shown)
    if words:
        first = words[1].split(",")[0]
        return words[1].split(","), (first.capitalize(), first[:-1], "x", "")
    right = RIGHT.get((command, option), ())
    wrong = WRONG[shown] + WRONG_FOR.get((command, option), ())
    return [], [value for value in wrong if value not in right]  # a new type needs wrong values


class WrongOptions(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_lapwing(self, *words):
        return subprocess.run([os.path.abspath(harness.program()), *words], cwd=self.folder, capture_output=True, text=True,
                              timeout=TIMEOUT_SECONDS, stdin=subprocess.DEVNULL, check=False)

    def left_behind(self):
        """The names in the folder, which is then emptied."""
        names = sorted(file.name for file in self.folder.iterdir())
        for name in names:
            path = self.folder / name
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        return names

    def test_every_wrong_value_is_refused_before_anything_begins(self):
        tried = 0
        for command in commands():
            options = options_of(command)
            for option, shown, _ in options:
                needed = [word for name, _, is_required in options if is_required and name != option
                          for word in NEEDED[name]] + BESIDE.get((command, option), [])
                words, values = wrong_values(command, option, shown)
                for value in values:
                    with self.subTest(command=command, option=option, value=value):
                        done = self.run_lapwing(command, *needed, f"{option}={value}")
                        self.assertEqual(done.returncode, 2, done.stderr)
                        self.assertIn(FORMS.get((command, option, value), option), done.stderr)
                        for word in words:
                            self.assertIn(word, done.stderr)
                        self.assertEqual(self.left_behind(), [])
                        tried += 1
        self.assertGreater(tried, 400, "--help is read wrongly")

    def test_an_unknown_option_is_refused_by_its_name(self):
        for command in commands():
            needed = [word for name, _, is_required in options_of(command) if is_required
                      for word in NEEDED[name]]
            done = self.run_lapwing(command, *needed, "--no-such-option")
            self.assertEqual(done.returncode, 2, command)
            self.assertIn("--no-such-option", done.stderr)

    def test_a_configuration_has_the_same_wrong_values(self):
        """The keys are the options. Wrong values, types and names are refused with the file and the
        line."""
        tried = 0
        for command in commands():
            options = options_of(command)
            if "--config" not in [option for option, _, _ in options]:
                continue
            for option, shown, is_required in options:
                if option in ("--config", "--bus", "--log") or is_required:
                    continue
                needed = [word for name, _, required in options if required and name != option
                          for word in NEEDED[name]]
                _, values = wrong_values(command, option, shown)
                for value in values:
                    with self.subTest(command=command, option=option, value=value):
                        key = option.removeprefix("--")
                        (self.folder / "wrong.toml").write_text(f'{key} = "{value}"\n')
                        done = self.run_lapwing(command, *needed, "--config", "wrong.toml")
                        self.assertEqual(done.returncode, 2, done.stderr)
                        self.assertIn(key, done.stderr)
                        self.assertEqual(self.left_behind(), ["wrong.toml"])
                        tried += 1
        self.assertGreater(tried, 50, "--help is read wrongly")


if __name__ == "__main__":
    unittest.main()
