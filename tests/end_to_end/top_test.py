"""Tests `lapwing top`: one reading, JSON lines, and all keys in terminals of several sizes."""

import json
import os
import signal
import sys
import unittest

import harness

try:
    import pexpect
    import pyte
except ImportError:  # a separately installed Python does not have Debian's packages
    sys.path.append("/usr/lib/python3/dist-packages")
    import pexpect
    import pyte

DONE, OTHER, USAGE, ABSENT = 0, 1, 2, 5
RATE = 20_000
SIZES = ((80, 24), (20, 5), (200, 60))
UP, DOWN, PAGE_DOWN, PAGE_UP, HOME, END = (
    "\x1bOA", "\x1bOB", "\x1b[6~", "\x1b[5~", "\x1bOH", "\x1bOF")
ESCAPE, ENTER, BACKSPACE = "\x1b", "\r", "\x7f"


class TopTest(harness.ProgramTest):
    def publish(self, name, *more):
        """A bus of that name with a publisher."""
        bus = str(self.folder / name)
        process = self.start(f"publish-{name}", "publish", "--bus", bus, "--source",
                             "synthetic:records=0", *more)
        self.until(f"{name} to run", lambda: self.run_info(bus))
        return bus, process

    def run_info(self, bus):
        done = self.start("info", "info", "--json", "--bus", bus)
        return done.wait() == DONE and json.loads(done.out())["ring"]

    def read(self, *arguments, expect=DONE):
        process = self.start("top", "top", "--interval", "300ms", *arguments)
        self.assertEqual(process.wait(), expect, process.err())
        return process.out()

    def row(self, text, name):
        """The columns of the line that begins with this name."""
        return next((line.split() for line in text.splitlines() if line.split()[:1] == [name]), [])


class Once(TopTest):
    def test_a_killed_a_stopped_a_shed_and_a_good_bus_are_told_apart(self):
        good, _ = self.publish("good", "--pace", RATE)
        stopped, process = self.publish("halted", "--pace", RATE)
        process.signal(signal.SIGSTOP)
        self.addCleanup(process.signal, signal.SIGCONT)
        killed, process = self.publish("killed", "--pace", RATE)
        process.kill()
        shed, _ = self.publish("shed", "--capacity", 1024, "--on-journal-lag", "shed")
        buses = [word for bus in (good, stopped, killed, shed) for word in ("--bus", bus)]
        self.until("it is silent and the other has shed", lambda: (
            (text := self.read("--once", *buses)) and "gone" in text and
            "shed" in self.row(text, "shed")[6:]))
        text = self.read("--once", *buses)
        self.assertEqual([self.row(text, name)[1] for name in ("good", "halted", "killed", "shed")],
                         ["running", "stopped", "gone", "running"])
        self.assertIn("good", self.row(text, "good")[6:])
        self.assertGreater(float(self.row(text, "good")[2].rstrip("kMG")), 0)

    def test_a_stopped_subscriber_is_told_from_a_slow_one(self):
        bus, _ = self.publish("good", "--pace", RATE)
        reader = self.start("reader", "tail", "--bus", bus, "--format", "none")
        out, into = os.pipe()  # without a reader, it blocks without being stopped
        slow = self.start("slow", "tail", "--bus", bus, "--format", "json", stdout=into)
        self.addCleanup(os.close, out)
        os.close(into)

        def states():
            (line,) = self.read("--once", "--json", "--bus", bus).splitlines()
            (told,) = json.loads(line)["buses"]
            return {one["pid"]: one for one in told["subscribers"] or ()}
        self.until("both have joined", lambda: len(states()) == 2)
        reader.signal(signal.SIGSTOP)
        self.addCleanup(reader.signal, signal.SIGCONT)
        both = self.until("both lag", lambda: (found := states()) and len(found) == 2 and all(
            one["lag"] > 0 and one["delay_seconds"] > 0 for one in found.values()) and found)
        self.assertTrue(both[reader.pid]["stopped"])
        self.assertFalse(both[slow.pid]["stopped"])
        self.assertIn("STOPPED", self.read("--once", "--bus", bus))

    def test_a_directory_without_a_bus_is_said(self):
        process = self.start("top", "top", "--once", "--interval", "1ms", "--bus", self.folder / "none")
        self.assertEqual(process.wait(), ABSENT)
        self.assertIn("no bus at", process.err())

    def test_without_a_terminal_it_says_what_needs_none(self):
        process = self.start("top", "top")
        self.assertEqual(process.wait(), USAGE)
        self.assertIn("--once and --json need none", process.err())

    def test_json_is_a_line_each_interval_until_it_is_stopped(self):
        bus, _ = self.publish("good", "--pace", RATE)
        process = self.start("top", "top", "--json", "--interval", "100ms", "--bus", bus)
        self.until("three lines", lambda: process.out().count("\n") >= 3)
        self.assertEqual(process.stop(), DONE)
        heads = [json.loads(line)["buses"][0]["ring"]["head"] for line in process.out().splitlines()]
        self.assertEqual(heads, sorted(heads))
        self.assertLess(heads[0], heads[-1])


class Terminal(TopTest):
    def open(self, *arguments, **keywords):
        return self.spawn(harness.program(), "top", *arguments, **keywords)

    def spawn(self, program, *arguments, columns=80, rows=24, **environment):
        process = pexpect.spawn(program, list(map(str, arguments)), encoding="utf-8",
                                dimensions=(rows, columns), timeout=harness.HANG_SECONDS,
                                env={**os.environ, "TERM": "xterm-256color", "LC_ALL": "C.UTF-8",
                                     **environment})
        self.addCleanup(process.close, force=True)
        self.screen = pyte.Screen(columns, rows)
        self.stream = pyte.Stream(self.screen)
        return process

    def shows(self, process, words, absent=False):
        """Waits until the screen contains this text, or no longer contains it."""
        def there():
            try:
                self.stream.feed(process.read_nonblocking(65536, timeout=0.05))
            except pexpect.TIMEOUT:
                pass
            return (words in "\n".join(self.screen.display)) != absent
        self.until(f"the screen {'loses' if absent else 'has'} {words!r}", there)

    def press(self, process, key, words, absent=False):
        process.send(key)
        self.shows(process, words, absent)

    def end(self, process):
        process.send("q")
        process.expect(pexpect.EOF)
        process.close()
        self.assertEqual(process.exitstatus, DONE)

    def test_every_key_at_every_size(self):
        first, _ = self.publish("alpha", "--pace", RATE)
        second, _ = self.publish("beta", "--pace", RATE)
        self.start("reader", "tail", "--bus", second, "--format", "none")
        for columns, rows in SIZES:
            with self.subTest(columns=columns, rows=rows):
                process = self.open("--bus", first, "--bus", second, "--interval", "500ms",
                                    columns=columns, rows=rows)
                self.shows(process, "buses 2")
                self.shows(process, "alpha")
                self.press(process, "2", "subscribers 1")
                self.shows(process, "tail")
                self.press(process, "3", "channels")
                self.press(process, "4", "checkpoints 0")
                self.press(process, "5", "events")
                self.shows(process, "tail (pid")
                self.press(process, "1", "buses 2")
                process.send(DOWN + PAGE_UP + PAGE_DOWN + HOME + END)
                self.press(process, ENTER, "subscribers 1")  # of beta, the last bus
                self.press(process, ESCAPE, "buses 2")
                process.send(HOME + UP)
                self.press(process, ENTER, "subscribers 0")  # of alpha
                self.press(process, ESCAPE, "buses 2")
                self.press(process, "/", "/")
                process.send("bex")
                self.press(process, BACKSPACE + "t" + ENTER, "buses 1")
                self.shows(process, "beta")
                self.press(process, ESCAPE, "buses 2")
                self.press(process, "p", "PAUSED")
                self.press(process, "p", "PAUSED", absent=True)
                if columns >= 80:
                    self.press(process, "s", "by bus")
                    self.press(process, "r", "by bus, reversed")
                    self.shows(process, "alpha")  # everything is drawn
                    self.assertLess(self.line_of("beta"), self.line_of("alpha"))
                    self.press(process, "+", "every 1s")
                    self.press(process, "-", "every 0.5s")
                    self.press(process, "?", "read less often")
                    self.press(process, " ", "read less often", absent=True)
                self.end(process)

    def line_of(self, word):
        return next(i for i, line in enumerate(self.screen.display) if line.startswith(word))

    def test_columns_give_way_by_rank_and_come_back_with_the_window(self):
        bus, _ = self.publish("alpha", "--pace", RATE)
        process = self.open("--bus", bus, columns=30, rows=10)
        self.shows(process, "alpha")
        self.shows(process, "state")
        self.assertNotIn("directory", "\n".join(self.screen.display))
        process.setwinsize(10, 200)
        self.screen.resize(10, 200)
        self.shows(process, "directory")
        self.end(process)

    def test_it_comes_back_after_a_stop(self):
        bus, _ = self.publish("alpha", "--pace", RATE)
        shell = self.spawn("bash", "--norc", "--noprofile", "-i")
        shell.sendline(f"{harness.program()} top --bus {bus}")
        self.shows(shell, "every 1s")
        shell.send("\x1a")  # Ctrl-Z
        self.shows(shell, "Stopped")
        self.screen.reset()
        shell.sendline("fg")
        self.shows(shell, "every 1s")
        shell.send("q")
        shell.sendline("exit")
        shell.expect(pexpect.EOF)
        shell.close()
        self.assertEqual(shell.exitstatus, DONE)

    def test_a_signal_gives_the_terminal_back(self):
        bus, _ = self.publish("alpha", "--pace", RATE)
        process = self.open("--bus", bus)
        self.shows(process, "alpha")
        os.kill(process.pid, signal.SIGTERM)
        process.expect_exact("\x1b[?1049l")
        process.expect(pexpect.EOF)
        process.close()
        self.assertEqual(process.exitstatus, DONE)

    def test_colours_only_where_they_are_wanted_and_unicode_only_where_it_is_known(self):
        bus, process = self.publish("alpha", "--pace", RATE)
        for environment, red, bars in (({}, True, True), ({"NO_COLOR": "1"}, False, True),
                                       ({"LC_ALL": "C"}, True, False)):
            with self.subTest(**environment):
                top = self.open("--bus", bus, "--interval", "250ms", columns=200, **environment)
                self.shows(top, "alpha")
                self.shows(top, "█" if bars else "#")
                self.shows(top, "█", absent=not bars)
                process.signal(signal.SIGSTOP)
                self.shows(top, "stopped")
                colours = {char.fg for char in self.screen.buffer[self.line_of("alpha")].values()}
                self.assertEqual("red" in colours, red, colours)
                process.signal(signal.SIGCONT)
                self.end(top)

    def test_an_unknown_terminal_is_said(self):
        process = self.open("--interval", "1s", TERM="no-such-terminal")
        process.expect("Set TERM, or use --once")
        process.expect(pexpect.EOF)
        process.close()
        self.assertEqual(process.exitstatus, OTHER)


if __name__ == "__main__":
    unittest.main(verbosity=2)
