"""Tests the program's completions and manual pages."""

import pathlib
import shutil
import subprocess
import tempfile
import unittest

import harness
from help_test import COMMANDS, help_of, options_of

DONE, OTHER, USAGE = 0, 1, 2


def output_of(*arguments, expect=DONE):
    done = subprocess.run([harness.program(), *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == expect, (arguments, done.returncode, done.stderr)
    return done.stdout


class InBash(unittest.TestCase):
    """Each case is the command line when the key is pressed."""

    def completed(self, *words, cwd="."):
        script = output_of("completion", "bash")
        line = " ".join(f"'{word}'" for word in words)
        ask = (f"{script}\nCOMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; _lapwing\n"
               'printf "%s\\n" "${COMPREPLY[@]}"')
        done = subprocess.run(["bash", "-c", ask], capture_output=True, text=True, check=True, cwd=cwd)
        self.assertEqual(done.stderr, "")
        return done.stdout.split()

    def test_the_commands(self):
        self.assertEqual(set(COMMANDS) - set(self.completed("lapwing", "")), set())
        self.assertEqual(self.completed("lapwing", "su"), ["subscribers"])

    def test_the_options_of_a_command_and_of_no_other(self):
        for command in COMMANDS:
            found = {word for word in self.completed("lapwing", command, "--") if word.startswith("--")}
            self.assertEqual(found, options_of(help_of(command)), command)

    def test_the_values_of_an_option(self):
        self.assertEqual(self.completed("lapwing", "tail", "--on-gap", ""), ["fill", "skip", "stop"])
        self.assertEqual(self.completed("lapwing", "tail", "--bus", "x", "--format", "j"), ["json"])
        self.assertEqual(self.completed("lapwing", "tail", "--count", ""), [])

    def test_directories_and_files(self):
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "bus").mkdir()
            (pathlib.Path(folder) / "file").touch()
            self.assertEqual(self.completed("lapwing", "tail", "--bus", "", cwd=folder), ["bus"])
            self.assertEqual(sorted(self.completed("lapwing", "record", "--out", "", cwd=folder)),
                             ["bus", "file"])
            self.assertEqual(sorted(self.completed("lapwing", "cursors", "", cwd=folder)),
                             ["bus", "file"])


class InOtherShells(unittest.TestCase):
    """Each command and option exists, and the shell can parse the script."""

    def test_zsh(self):
        script = output_of("completion", "zsh")
        self.assertTrue(script.startswith("#compdef lapwing\n"))
        self.parses("zsh", "-n", script)
        for command in COMMANDS:
            for option in options_of(help_of(command)):
                self.assertIn(f"'{option}[", script.split(f"\n    {command})\n")[1].split(";;")[0])

    def test_fish(self):
        script = output_of("completion", "fish")
        self.parses("fish", "--no-execute", script)
        for command in COMMANDS:
            lines = [line for line in script.splitlines() if f"subcommand_from {command}'" in line]
            for option in options_of(help_of(command)):
                self.assertTrue(any(f" -l {option[2:]} " in line for line in lines), (command, option))

    def test_another_shell_is_refused(self):
        output_of("completion", "csh", expect=USAGE)

    def parses(self, shell, check, script):
        self.assertIsNotNone(shutil.which(shell), f"there is no {shell}: deploy/setup.sh")
        with tempfile.NamedTemporaryFile("w", suffix=f".{shell}") as file:
            file.write(script)
            file.flush()
            done = subprocess.run([shell, check, file.name], capture_output=True, text=True, check=False)
            self.assertEqual((done.returncode, done.stderr), (0, ""))


class Manual(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def test_a_page_for_the_program_and_for_each_command(self):
        output_of("manual", "--into", str(self.folder))
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()),
                         sorted(["lapwing.1", *(f"lapwing-{command}.1" for command in COMMANDS)]))
        for command in COMMANDS:
            page = (self.folder / f"lapwing-{command}.1").read_text()
            self.assertEqual(page, output_of("manual", command))
            for option in options_of(help_of(command)):
                self.assertIn(option.replace("-", "\\-"), page)
        self.assertEqual((self.folder / "lapwing.1").read_text(), output_of("manual"))

    def test_mandoc_finds_nothing(self):
        self.assertIsNotNone(shutil.which("mandoc"), "there is no mandoc: deploy/setup.sh")
        output_of("manual", "--into", str(self.folder))
        for page in sorted(self.folder.iterdir()):
            done = subprocess.run(["mandoc", "-T", "lint", page], capture_output=True, text=True, check=False)
            self.assertEqual(done.stdout, "", page.name)

    def test_what_cannot_be_is_refused(self):
        output_of("manual", "no-such-command", expect=USAGE)
        output_of("manual", "tail", "--into", str(self.folder), expect=USAGE)
        output_of("manual", "--into", str(self.folder / "absent"), expect=OTHER)


if __name__ == "__main__":
    unittest.main(verbosity=2)
