"""Tests a new user's first steps, typed into terminals as in README.md and the tutorials.

Types each command of a page unchanged, in order. Only the paths of the programs are prepared.
"""

import os
import pathlib
import re
import subprocess
import sys
import unittest

import harness

try:
    import pexpect
except ImportError:  # a separately installed Python does not have Debian's packages
    sys.path.append("/usr/lib/python3/dist-packages")
    import pexpect

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROMPT = "ready> "
STOP, END = "\x1a", "\x03"  # Ctrl-Z, Ctrl-C
COMMAND = r"^    ((?:build/release/)?(?:lapwing|logger) [a-z./].*|(?:awk|fg|kill|ls|printf|rm|tail|wait)\b.*)$"
SLOTS = 1024  # in the ring on these pages


class Terminal:
    """bash with its own terminal."""

    def __init__(self, folder, environment):
        self.bash = pexpect.spawn("bash", ["--norc", "--noprofile"], cwd=str(folder), encoding="utf-8",
                                  env={**environment, "PS1": PROMPT, "TERM": "dumb"},
                                  dimensions=(24, 250), timeout=harness.HANG_SECONDS)
        self.bash.expect_exact(PROMPT)

    def type(self, line):
        self.bash.sendline(line)
        self.bash.expect_exact("\n")  # the echo of the line

    def press(self, key):
        self.bash.send(key)

    def see(self, pattern):
        """Waits for a text and returns its groups."""
        self.bash.expect(pattern)
        return self.bash.match.groups()

    def run(self, line):
        """The output of a command that ends by itself, without erased progress lines."""
        self.type(line)
        self.bash.expect_exact(PROMPT)
        return re.sub(r"[^\n]*\r\x1b\[K", "", self.bash.before.replace("\r\n", "\n"))


class Page(harness.ProgramTest):
    def open(self, page):
        self.commands = re.findall(COMMAND, (ROOT / page).read_text(encoding="utf-8"), re.M)
        programs = self.folder / "build" / "release"
        programs.mkdir(parents=True)
        examples = pathlib.Path(os.environ.get("LAPWING_BUILD_DIR", ROOT / "build" / "release")) / "examples"
        for name, path in (("lapwing", harness.program()), ("logger", examples / "logger")):
            (programs / name).symlink_to(os.path.realpath(path))
        environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"}
        self.one, self.two = (Terminal(self.folder, environment) for _ in range(2))
        for terminal in (self.one, self.two):
            self.addCleanup(terminal.bash.close, force=True)

    def next(self, beginning):
        """The next command of the page."""
        self.assertTrue(self.commands and self.commands[0].startswith(beginning), (beginning, self.commands))
        return self.commands.pop(0)

    def head(self, bus):
        done = subprocess.run([harness.program(), "info", "--json", "--bus", self.folder / bus],
                              capture_output=True, text=True, check=True)
        return int(re.search(r'"head": ?(\d+)', done.stdout)[1])

    def kill_the_publisher(self, command):
        self.one.press(STOP)
        self.one.see("Stopped")
        self.one.run(command)

    def fall_behind(self, bus, command):
        """Stops `tail`, and continues it after it has been lapped."""
        self.two.press(STOP)
        self.two.see("Stopped")
        begin = self.head(bus)
        self.until("a lap", lambda: self.head(bus) > begin + 2 * SLOTS)
        self.two.type(command)
        first, last = map(int, self.two.see(r"gap (\d+)\.\.(\d+) .*the journal has it"))
        self.assertLess(first, last)

    def sequences(self, name):
        return [int(line.split()[0]) for line in (self.folder / name).read_text().splitlines()]


class Readme(Page):
    def test_sixty_seconds(self):
        self.open("README.md")
        publish, tail = self.next("build/release/lapwing publish"), self.next("build/release/lapwing tail")
        self.assertEqual(self.commands, [])
        self.one.type(publish)
        self.one.see("published [1-9]")
        self.two.type(tail)
        self.two.see("caught up at")
        self.kill_the_publisher("kill -9 %%")
        (last,) = self.two.see(r"publisher gone after (\d+)")
        self.one.type(publish)
        (first,) = self.two.see(r"session continues at (\d+)")
        self.assertEqual(int(first), int(last) + 1)
        self.fall_behind("demo", "fg")
        self.one.press(END)
        (end,) = self.two.see(r"closed cleanly after (\d+)")
        self.two.press(END)
        self.two.see(PROMPT)
        self.assertEqual(self.sequences("records.txt"), list(range(1, int(end) + 1)))


class FirstBus(Page):
    def test_every_step(self):
        self.open("docs/tutorial/1-first-bus.md")
        self.one.type(self.next("lapwing publish --bus ./demo"))
        self.one.see("published [1-9]")
        oldest = self.two.run(self.next("lapwing tail --bus ./demo --from oldest --count 3"))
        self.assertEqual(re.findall(r"^ +(\d+)  .* order_id=(\d+) .* action=(\w)", oldest, re.M),
                         [("1", "0", "R"), ("2", "1", "A"), ("3", "2", "A")])
        self.two.type(self.next("lapwing tail"))
        self.two.see("caught up at")
        self.kill_the_publisher(self.next("kill -9"))
        (last,) = self.two.see(r"publisher gone after (\d+)")
        self.one.type(self.next("lapwing publish"))
        self.one.see(rf"continues after its record {last}\b")
        self.two.see(rf"session continues at {int(last) + 1}\b")
        self.fall_behind("demo", self.next("fg"))
        self.until("the 5,000 records that are exported below", lambda: self.head("demo") > 5000)
        self.one.press(END)
        (end,) = self.two.see(r"closed cleanly after (\d+)")
        self.two.press(END)
        self.two.see(PROMPT)
        self.assertEqual(self.two.run(self.next("awk")), f"{end} lines\n")

        self.one.run(self.next("lapwing export"))
        self.one.type(self.next("lapwing publish --bus ./again"))
        self.one.see("published [1-9]")
        self.kill_the_publisher(self.next("kill -9"))
        self.one.type(self.next("lapwing publish --bus ./again"))
        self.one.see(r"continues after its record \d+")
        self.one.see(PROMPT)
        digests = [re.findall(r'"records":5000,.*"gaps":0,"lost":0,.*"digest":"(\w+)"',
                              self.two.run(self.next("lapwing tail"))) for _ in range(2)]
        self.assertEqual(digests[0], digests[1])
        self.assertEqual(len(digests[0]), 1)
        self.two.run(self.next("rm"))
        self.assertEqual(self.commands, [])


class SurviveACrash(Page):
    def test_every_step(self):
        self.open("docs/tutorial/3-survive-a-crash.md")
        self.one.type(self.next("lapwing publish"))
        self.one.see("published [1-9]")
        self.two.run(self.next("logger"))
        log = self.folder / "es.log"
        self.until("the log to grow", lambda: log.exists() and log.stat().st_size)
        self.assertIn("es.log", self.two.run(self.next("ls")))
        position, size = re.search(r"position +\w+/\w+/(\d+)\n +output +(\d+) bytes",
                                   self.two.run(self.next("lapwing cursors"))).groups()
        self.assertEqual(int(size), 56 * int(position))
        self.two.run(self.next("kill -9"))
        self.assertIn("generation", self.two.run(self.next("lapwing cursors")))
        self.two.run(self.next("ls"))
        for beginning in ("printf", "logger", "kill -9", "logger"):
            self.two.run(self.next(beginning))
        self.one.press(END)
        self.one.see(PROMPT)
        self.two.run(self.next("wait"))
        self.two.run(self.next("lapwing export"))
        self.assertTrue(self.two.run(self.next("tail")).endswith("identical\n"))
        self.two.run(self.next("rm"))
        self.assertEqual(self.commands, [])
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["build"])


if __name__ == "__main__":
    unittest.main()
