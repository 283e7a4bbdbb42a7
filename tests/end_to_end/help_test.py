"""Tests that every command's help lists its options, and that its examples run unchanged.

Only the paths in an example are replaced. The feed, bus or other side that it needs is provided.
"""

import os
import pathlib
import re
import shutil
import subprocess
import unittest

import harness
import mbo_records as mbo

DONE, OTHER, USAGE = 0, 1, 2
ROOT = pathlib.Path(__file__).resolve().parents[2]
CLI = ROOT / "cli"
COMMANDS = ("publish", "tail", "book", "record", "export", "checkpoint", "info", "verify", "repair",
            "state", "subscribers", "events", "symbols", "cursors", "pipe", "ping", "buses", "top", "serve",
            "health", "doctor", "completion", "manual")
RECORDS, LARGE = 3000, 1_200_000
KEY = 42                       # in the examples' kv16 bus
INSTRUMENT, ORDER = 17_077, 6_411_802
MASK = (1 << 64) - 1


def help_of(*command):
    done = subprocess.run([harness.program(), *command, "--help"], capture_output=True, text=True,
                          check=False)
    assert done.returncode == DONE, done.stderr
    return done.stdout


def options_of(text):
    """The long options listed in a command's --help."""
    return set(re.findall(r"^  (?:-\w,)?(--[a-z-]+)", text, re.M))


def examples_of(text):
    """The command lines of a --help: two spaces, a command, more spaces, a description."""
    joined = re.sub(r" \\\n +", " ", text)
    lines = re.findall(r"^  ((?:lapwing|zstd|tail -F) .*)", joined, re.M)
    found = []
    for line in lines:
        command = re.sub(r"^lapwing (\w+) +", r"lapwing \1 ", line)
        found.append(re.split(r" {2,}", command)[0])
    return found


def seed_of_key(key):
    """The seed that makes this the kv16 feed's first key: inverse SplitMix64."""
    word = key ^ (key >> 31) ^ (key >> 62)
    word = (word * pow(0x94D049BB133111EB, -1, 1 << 64)) & MASK
    word = word ^ (word >> 27) ^ (word >> 54)
    word = (word * pow(0xBF58476D1CE4E5B9, -1, 1 << 64)) & MASK
    word = word ^ (word >> 30) ^ (word >> 60)
    return (word - 0x9E3779B97F4A7C15) & MASK


class Documents(unittest.TestCase):
    # Options of other programs.
    OTHERS = {"--enable-native-access", "--exclude-libs", "--ipc", "--long", "--pid", "--prefix",
              "--security-opt", "--shm-size", "--ulimit", "--virtual-time-budget"}

    def test_they_name_only_options_that_exist(self):
        known = set().union(*(re.findall(r"--[a-z][a-z-]+", help_of(*command))
                              for command in ((), *((command,) for command in COMMANDS))))
        documents = [ROOT / "README.md", *ROOT.glob("docs/**/*.md"), *ROOT.glob("bindings/*/README.md")]
        named = {}
        for document in documents:
            text = document.read_text()
            in_commands = re.findall(r"(?:^ {4}|`)(?:lapwing .*?)(?:`|$)", text, re.M)
            for option in [*re.findall(r"`(--[a-z][a-z-]+)", text),
                           *re.findall(r" (--[a-z][a-z-]+)", "\n".join(in_commands))]:
                named.setdefault(option, document.name)
        self.assertGreater(len(named), 50, "the documents are read wrongly")
        unknown = {option: name for option, name in named.items() if option not in known | self.OTHERS}
        self.assertEqual(unknown, {})


class Options(unittest.TestCase):
    """All accepted options are listed, and all listed options are accepted."""

    def test_every_command_is_listed_and_has_examples(self):
        listed = re.findall(r"^  ([a-z]+) {2,}[A-Z]", help_of(), re.M)
        self.assertEqual(tuple(listed), COMMANDS)
        for command in COMMANDS:
            self.assertTrue(examples_of(help_of(command)), command)

    def test_every_option_of_the_sources_is_named(self):
        source = "".join(path.read_text() for path in CLI.glob("*.[ch]*"))
        defined = set(re.findall(r'add_(?:option|flag)\w*\(\s*"(?:-\w,)?(--[a-z-]+)', source))
        named = set().union(*(options_of(help_of(command)) for command in COMMANDS))
        self.assertGreater(len(defined), 30)
        self.assertEqual(defined - named, set())

    def test_every_option_that_is_named_is_accepted_and_no_other(self):
        for command in COMMANDS:
            text = help_of(command)
            required = re.findall(r"^  (--\S+) \S+ REQUIRED", text, re.M)
            needed = [f"{option}=x" for option in required]
            for option in sorted(options_of(text) - {"--help"}) + ["--none-such"]:
                # The command never runs: one of the last two is not a valid value.
                done = subprocess.run([harness.program(), command, *needed, option, "--unknown",
                                       "--unknown"], capture_output=True, text=True, check=False)
                self.assertEqual(done.returncode, USAGE, (command, option))
                unknown = re.search(r"not expected: .*" + option + r"\b", done.stderr) is not None
                self.assertEqual(unknown, option == "--none-such", (command, done.stderr))


class ExamplesTest(harness.BusTest):
    """Runs lines in a separate folder with the programs `lapwing` and `consumer`."""

    ring_slots = None  # the examples unchanged

    def setUp(self):
        super().setUp()
        programs = self.folder / "programs"
        programs.mkdir()
        (programs / "lapwing").symlink_to(os.path.realpath(harness.program()))
        (programs / "consumer").symlink_to(shutil.which("cat"))
        self.environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"}

    def shell(self, name, line, folder):
        """Starts a line from the help. A single command becomes the process itself."""
        plain = line.removesuffix(" &")
        script = plain if "|" in plain else "exec " + plain
        process = harness.Running(["sh", "-c", script], self.folder, name, cwd=folder,
                                  env=self.environment)
        self.running.append(process)
        return process


class OfBuses(ExamplesTest):
    """Every example with --bus."""

    @classmethod
    def examples(cls):
        texts = [help_of()] + [help_of(command) for command in COMMANDS]
        return sorted({line for text in texts for line in examples_of(text) if "--bus" in line})

    def make_template(self):
        """./es of 3,000 records of two instruments, its feed, ./kv, and both with a checkpoint."""
        self.template = self.folder / "template"
        self.template.mkdir()
        like = self.folder / "like.dbn"
        like.write_bytes(self.raw_dbn("synthetic:records=10").replace(b"SYN1", b"ESH4"))
        records = [mbo.record(b"A", b"B", (100 + n % 50) * mbo.SCALE, 1, order_id=n)
                   for n in range(1, RECORDS)]
        records.append(mbo.record(b"A", b"A", 200 * mbo.SCALE, 3, order_id=ORDER,
                                  instrument=INSTRUMENT))
        source = mbo.write_dbn(self.folder / "es.dbn", like, records)
        es, kv = str(self.template / "es"), str(self.template / "kv")
        small = ("--segment-bytes", 1 << 20)
        self.run_to_end("es", "publish", "--source", source, *small, bus=es)
        feed = self.template / "es.mbo.dbn.zst"
        self.run_to_end("feed", "export", "--out", feed, bus=es)
        shutil.copy(feed, self.template / "day.dbn.zst")
        self.run_to_end("kv", "publish", "--source", f"kv16:records=10,seed={seed_of_key(KEY)}",
                        *small, bus=kv)
        self.run_to_end("day", "export", "--out", self.template / "day.records", bus=kv)
        for bus, fold in ((es, "orders"), (es, "latest"), (kv, "latest")):
            self.run_to_end(fold, "checkpoint", "--fold", fold, "--until-closed", bus=bus)

    def follows(self, line):
        """True if the example runs until it is terminated."""
        (command,) = re.findall(r"lapwing (\w+)", line)[-1:]
        ends = "--until-closed" in line or "--count" in line
        return not ends and (command in ("tail", "record", "checkpoint") or
                             "--follow" in line)

    def run_example(self, name, line, folder):
        bus = str(folder / re.search(r"--bus \./(\w+)", line)[1])
        if "--at 1200000" in line:
            self.run_to_end("large", "publish", "--source", f"synthetic:records={LARGE}", bus=bus)
            self.run_to_end("fold", "checkpoint", "--fold", "orders", "--until-closed", bus=bus)
        holder = None
        asks = any(f"lapwing {command} " in line for command in ("subscribers", "events", "health"))
        if self.follows(line) or asks:
            holder = self.start("holder", "publish", "--source", f"dbn:{folder}/es.mbo.dbn.zst",
                                "--linger", "3600s", bus=bus)
            self.until_head(2 * RECORDS, bus=bus)
        process = self.shell(name, line, folder)
        if self.follows(line):
            self.until(f"{line} to be live", lambda: "caught up" in process.err() or
                       '"caught-up"' in process.out() or not process.alive())
            self.assertTrue(process.alive(), f"{line}: {process.err()}")
            process.stop()
        if "lapwing serve" in line:
            self.until("its address", lambda: process.out().endswith("\n"))
            process.stop()
        if "--linger" in line:
            self.until_head(1_000_000, bus=bus)
            process.stop()
        for _ in range(int((re.search(r"--await (\d+)", line) or (0, 0))[1])):
            self.start("awaited", "tail", "--from", "start", "--until-closed", "--format", "none",
                       bus=bus)
        # doctor's findings depend on the machine. The names in ABSENT do not exist.
        said = next((words for part, words in self.ABSENT.items() if part in line), None)
        ends = (DONE, OTHER) if "doctor" in line else (OTHER,) if said else (DONE,)
        self.assertIn(process.wait(), ends, f"{line}\n{process.err()}")
        self.assertIn(said or "", process.err())
        if holder:
            self.assertEqual(holder.stop(), DONE, holder.err())

    ABSENT = {"health --bus ./es --expect": "logger is expected and not attached",
              "subscribers --bus ./es --forget": "no missing subscriber has that name",
              "symbols --bus ./es ESH4 id:": "has no instrument id:5930"}

    def test_every_example_of_a_bus_runs(self):
        self.make_template()
        examples = self.examples()
        self.assertGreater(len(examples), 30)
        for number, line in enumerate(examples):
            with self.subTest(example=line):
                folder = self.folder / f"example-{number}"
                shutil.copytree(self.template, folder)
                if "--at 1200000" in line or "--source synthetic:records=1000000" in line:
                    shutil.rmtree(folder / "es")  # it has other records
                for out in re.findall(r"--out (\S+)", line):
                    self.assertFalse((folder / out).exists())
                self.run_example(f"example-{number}", line, folder)
                for out in re.findall(r"--out (\S+)", line):
                    self.assertTrue(list(folder.glob(out.split(".")[0] + ".*")), line)
                shutil.rmtree(folder)


class OfCursors(ExamplesTest):
    """Every example of `lapwing cursors`."""

    def test_every_example_of_a_cursor_runs(self):
        self.run_to_end("publish", "publish", "--source", "synthetic:records=10")
        logger = self.example("logger", self.bus, self.folder / "es.log")
        self.assertEqual(logger.wait(), DONE, logger.err())
        for number, line in enumerate(examples_of(help_of("cursors"))):
            shown = self.shell(f"cursors-{number}", line, self.folder)
            self.assertEqual(shown.wait(), DONE, f"{line}\n{shown.err()}")
            self.assertIn("es.log.cursor", shown.out())


class OfTheMachine(ExamplesTest):
    """Examples of commands that need no bus."""

    COMMANDS = ("buses", "doctor", "completion", "manual")

    def test_each_runs(self):
        man = self.folder / "programs" / "man"  # replaces any installed man
        man.write_text("#!/bin/sh\nexec mandoc\n")
        man.chmod(0o755)
        self.environment["HOME"] = str(self.folder)
        for folder in (".zfunc", ".config/fish/completions", "man1"):
            (self.folder / folder).mkdir(parents=True)
        lines = [line for command in self.COMMANDS for line in examples_of(help_of(command))
                 if "--bus" not in line]
        self.assertGreater(len(lines), 8)
        for number, line in enumerate(lines):
            with self.subTest(example=line):
                process = self.shell(f"machine-{number}", line.replace("/usr/share/man/", ""), self.folder)
                ends = (DONE, OTHER) if "doctor" in line else (DONE,)
                self.assertIn(process.wait(), ends, process.err())
        for file in (".zfunc/_lapwing", ".config/fish/completions/lapwing.fish", "man1/lapwing.1"):
            self.assertTrue((self.folder / file).stat().st_size > 0, file)


class OfTop(ExamplesTest):
    """Every example of `lapwing top`. top_test.py tests it in a terminal."""

    TERMINAL, LINES = "lapwing top", "lapwing top --json --interval 500ms"
    USER = "lapwing top --user 1000"

    def test_each_runs(self):
        self.assertEqual({line for line in examples_of(help_of("top")) if "--bus" not in line},
                         {self.TERMINAL, self.LINES, self.USER})
        for name, line in (("terminal", self.TERMINAL), ("user", self.USER)):
            process = self.shell(name, line, self.folder)
            self.assertEqual(process.wait(), USAGE)
            self.assertIn("top needs a terminal", process.err())
        process = self.shell("lines", self.LINES, self.folder)
        self.until("a line", lambda: "\n" in process.out())
        self.assertEqual(process.stop(), DONE, process.err())


class OfServe(ExamplesTest):
    """Every example of `lapwing serve`. serve_test.py sends requests to it."""

    FIXED_PORT, SOCKET = "lapwing serve", "lapwing serve --listen unix:./lapwing.sock"

    def test_each_runs(self):
        self.assertEqual({line for line in examples_of(help_of("serve")) if "--bus" not in line},
                         {self.FIXED_PORT, self.SOCKET})
        for name, line in (("port", self.FIXED_PORT), ("socket", self.SOCKET)):
            process = self.shell(name, line, self.folder)
            self.until("an answer", lambda: process.out().endswith("\n") or not process.alive())
            if "port is taken" not in process.err():  # by another program on this machine
                self.assertEqual(process.stop(), DONE, process.err())


class OfChannels(ExamplesTest):
    """Every example with a socket, with its other side."""

    X, LOG, PING = "/run/x.sock", "/run/log.sock", "/run/ping.sock"
    LISTEN, CONNECT = f"lapwing pipe --listen {X} > copy", f"lapwing pipe --connect {X} < file"
    SEND = f"lapwing pipe --listen {X} --send < feed"
    RECEIVE = f"lapwing pipe --connect {X} --receive | consumer"
    LINES = f"lapwing pipe --listen {LOG} --messages lines --keep >> all.log"
    TAKE_OVER = f"lapwing pipe --listen {LOG} --messages lines --keep --take-over >> all.log"
    TAIL = f"tail -F app.log | lapwing pipe --connect {LOG} --messages lines --retry 60s"
    ECHO = f"lapwing ping --listen {PING} &"
    PINGS = (f"lapwing ping {PING}", f"lapwing ping {PING} --wait busy",
             f"lapwing ping {PING} --count 1000 --interval 10ms --size 4K --json")
    INFO = ("lapwing info --channels", f"lapwing info --channel {X}")

    def setUp(self):
        super().setUp()
        self.number = 0
        for name in ("file", "feed"):
            (self.folder / name).write_bytes(b"content\n" * 1000)
        (self.folder / "app.log").write_bytes(b"first\n")

    def run_line(self, line, prefix=""):
        self.number += 1
        return self.shell(f"line-{self.number}", line.replace("/run/", f"{self.folder}/{prefix}"),
                          self.folder)

    def listen(self, line, path, prefix=""):
        process = self.run_line(line, prefix)
        self.until_listening(str(self.folder / (prefix + pathlib.Path(path).name)))
        return process

    def assert_done(self, *processes):
        for process in processes:
            self.assertEqual(process.wait(), DONE, f"{process.arguments}\n{process.err()}")

    def test_these_are_all(self):
        texts = [help_of()] + [help_of(command) for command in COMMANDS]
        printed = {line for text in texts for line in examples_of(text) if "--bus" not in line}
        for command in ("cursors", "top", "serve", *OfTheMachine.COMMANDS):
            printed -= set(examples_of(help_of(command)))
        self.assertEqual(printed, {self.LISTEN, self.CONNECT, self.SEND, self.RECEIVE, self.LINES,
                                   self.TAKE_OVER, self.TAIL, self.ECHO, *self.PINGS, *self.INFO})

    def test_a_file_is_carried(self):
        listening = self.listen(self.LISTEN, self.X)
        (self.folder / "file").unlink()
        os.mkfifo(self.folder / "file")
        connecting = self.run_line(self.CONNECT)
        with open(self.folder / "file", "wb") as file:
            self.until_served(str(self.folder / "x.sock"))
            for line in self.INFO:
                self.assert_done(self.run_line(line))
            file.write(b"content\n" * 1000)
        self.assert_done(connecting, listening)
        self.assertEqual((self.folder / "copy").read_bytes(), b"content\n" * 1000)

    def test_the_listening_side_sends(self):
        listening = self.listen(self.SEND, self.X)
        receiving = self.run_line(self.RECEIVE)
        self.assert_done(listening, receiving)
        self.assertEqual(receiving.out_path.read_bytes(), b"content\n" * 1000)

    def test_a_log_is_followed_across_a_take_over(self):
        first = self.listen(self.LINES, self.LOG)
        log, source = self.folder / "all.log", self.folder / "app.log"
        following = self.run_line(self.TAIL)
        self.until("a line", lambda: log.read_bytes() == b"first\n")
        second = self.run_line(self.TAKE_OVER)
        self.until("the taking over", lambda: "took over" in second.err() or "handed over"
                   in first.err() or not first.alive())
        with open(source, "ab") as more:
            more.write(b"second\n")
        self.until("a line", lambda: log.read_bytes() == b"first\nsecond\n")
        second.stop()
        self.assert_done(second)
        for process in (following, first):
            process.kill()

    def test_pings_are_answered(self):
        echoes = self.listen(self.ECHO, self.PING), self.listen(self.ECHO, self.PING, "other-")
        *fast, slow = self.PINGS  # the last one takes ten seconds, so it runs in parallel
        meanwhile = self.run_line(slow, "other-")
        for line in fast:
            self.assert_done(self.run_line(line))
        self.assert_done(meanwhile)
        for echo in echoes:
            echo.stop()
        self.assert_done(*echoes)


if __name__ == "__main__":
    unittest.main(verbosity=2)
