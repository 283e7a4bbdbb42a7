#!/usr/bin/env python3
"""Kills the programs of a trading desk, each at most forty lines long, at random moments: no
duplicates, nothing missing, no quote on old data. LAPWING_DESK_SECONDS: duration of each case;
default 2."""

import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "end_to_end"))

import harness  # noqa: E402

SECONDS = float(os.environ.get("LAPWING_DESK_SECONDS", "2"))
LINES_MAX = 40
PROGRAMS = ("handler", "dbn_handler", "strategy", "merger", "gateway", "trader")


def code_lines(source):
    """Lines that are neither empty nor a comment or an include."""
    return [line for line in source.read_text(encoding="utf-8").splitlines()
            if line.strip() and not re.match(r"\s*(//|#include)", line)]


class Desk(harness.ProgramTest):
    def setUp(self):
        super().setUp()
        self.quotes, self.orders, self.fills = (
            str(self.folder / name) for name in ("quotes", "orders", "fills"))
        self.socket = str(self.folder / "gateway.sock")
        self.starts = 0

    def program(self, name, *arguments, folder="desk"):
        """Starts one of the desk's programs, with its own output."""
        path = pathlib.Path(os.environ["LAPWING_BUILD_DIR"]) / folder / name
        self.starts += 1
        process = harness.Running([str(path), *map(str, arguments)], self.folder,
                                  f"{name}{self.starts}")
        self.running.append(process)
        return process

    def live_on(self, *commands):
        """Runs the commands for a while. Repeatedly kills or stops one at random, and restarts
        it."""
        running = [self.program(*command) for command in commands]
        kills = 0
        ends = time.monotonic() + SECONDS
        while time.monotonic() < ends or kills < 3:
            time.sleep(random.uniform(0.05, 0.4))
            which = random.randrange(len(commands))
            victim = running[which]
            self.assertTrue(victim.alive(), f"{victim.name} ended by itself:\n{victim.err()}")
            if commands[which][0] == "strategy" and random.random() < 0.5:
                victim.signal(signal.SIGSTOP)  # long enough to be lapped
                time.sleep(random.uniform(0.1, 0.6))
                victim.signal(signal.SIGCONT)
            else:
                victim.kill()
                running[which] = self.program(*commands[which])
            kills += 1
        return running

    def audit(self, *arguments):
        path = pathlib.Path(os.environ["LAPWING_BUILD_DIR"]) / "desk" / "audit"
        done = subprocess.run([path, *map(str, arguments)], capture_output=True, text=True,
                              timeout=harness.HANG_SECONDS, check=False)
        return done.returncode, done.stdout + done.stderr

    def assert_audit(self, *arguments):
        code, said = self.audit(*arguments)
        self.assertEqual(code, 0, said)
        return said

    def firsts(self):
        """The first record of each handler session."""
        outputs = "".join(process.out() for process in self.running if "handler" in process.name)
        return re.findall(r"^from (\d+)$", outputs, re.M)

    def kill_all(self, running):
        for process in running:
            process.kill()

    def test_each_program_has_forty_lines_and_public_headers(self):
        sources = [ROOT / "tests" / "desk" / f"{name}.cc" for name in PROGRAMS]
        sources.append(ROOT / "examples" / "logger.cc")
        for source in sources:
            with self.subTest(program=source.stem):
                includes = re.findall(r'#include "([^"]+)"', source.read_text(encoding="utf-8"))
                self.assertTrue(all(re.match(r"(lapwing/\w+|tests/desk/desk)\.h$", name) for name in includes))
                if source.stem != "logger":  # the example has messages for users
                    self.assertLessEqual(len(code_lines(source)), LINES_MAX)

    def test_handlers_go_on_with_the_next_number(self):
        self.kill_all(self.live_on(("handler", self.quotes), ("dbn_handler", self.orders)))
        for bus in (self.quotes, self.orders):
            self.assertGreater(int(self.assert_audit("numbers", bus)), 0)

    def test_a_strategy_quotes_on_the_newest_data_alone(self):
        made = self.folder / "made"
        running = self.live_on(("handler", self.quotes), ("strategy", self.quotes, made))
        self.until("a quote", lambda: made.exists() and made.stat().st_size > 0)
        self.kill_all(running)
        self.assertIn(", 0 on old data", self.assert_audit("made", self.quotes, made, *self.firsts()))

    def test_the_audit_notices_a_strategy_that_quotes_on_anything(self):
        made = self.folder / "made"
        handler = self.program("handler", self.quotes)
        strategy = self.program("strategy", self.quotes, made, "always")
        for _ in range(3):
            size = made.stat().st_size if made.exists() else 0
            self.until("a quote", lambda: made.exists() and made.stat().st_size > size)
            strategy.signal(signal.SIGSTOP)
            time.sleep(0.2)
            strategy.signal(signal.SIGCONT)
        size = made.stat().st_size
        self.until("quotes on old data", lambda: made.stat().st_size > size + 16 * 10_000)
        self.kill_all([handler, strategy])
        code, said = self.audit("made", self.quotes, made, *self.firsts())
        self.assertEqual(code, 1, said)
        self.assertNotIn(", 0 on old data", said)

    def test_a_logger_has_every_record_once(self):
        log = self.folder / "log"
        handler = self.program("handler", self.quotes)
        ends = time.monotonic() + SECONDS
        kills = 0
        while time.monotonic() < ends or kills < 3:
            logger = self.program("logger", self.quotes, log, folder="examples")
            time.sleep(random.uniform(0.05, 0.4))
            logger.kill()
            kills += 1
        logger = self.program("logger", self.quotes, log, folder="examples")
        size = log.stat().st_size if log.exists() else 0
        self.until("more of the log", lambda: log.exists() and log.stat().st_size > size + 40_000)
        self.kill_all([logger, handler])
        numbers = [int.from_bytes(row[:8], "little") for row in self.rows(log.read_bytes(), 40)]
        self.assertEqual(numbers, list(range(1, len(numbers) + 1)))

    @staticmethod
    def rows(content, row_bytes):
        """Complete rows: the kill may have truncated the last one."""
        whole = len(content) - len(content) % row_bytes
        return [content[at:at + row_bytes] for at in range(0, whole, row_bytes)]

    def test_a_merger_has_every_record_of_both_buses_once(self):
        merged = self.folder / "merged"
        running = self.live_on(("handler", self.quotes), ("dbn_handler", self.orders),
                               ("merger", self.quotes, self.orders, merged))
        running.pop().kill()
        last = self.folder / "last"
        running.append(self.program("merger", self.quotes, self.orders, last))
        self.until("both buses", lambda: last.exists() and all(
            mark in last.read_text(encoding="ascii") for mark in ("q 1000\n", "o 1000\n")))
        self.kill_all(running)
        lines = last.read_text(encoding="ascii").rpartition("\n")[0].split("\n")
        for mark in "qo":
            numbers = [int(line[2:]) for line in lines if line.startswith(mark)]
            self.assertEqual(numbers, list(range(1, len(numbers) + 1)))

    def test_a_gateway_fills_each_order_once(self):
        traders = [("trader", self.socket, number) for number in (1, 2, 3)]
        running = self.live_on(("gateway", self.socket, self.fills), *traders)
        for trader in running[1:]:
            self.until("fills of each trader", lambda trader=trader: "filled 100\n" in trader.out())
        self.kill_all(running)
        # The next start writes a killed publisher's records from the ring to the journal.
        self.program("gateway", self.socket, self.fills)
        self.until_listening(self.socket)
        self.assertGreater(int(self.assert_audit("fills", self.fills)), 0)


if __name__ == "__main__":
    unittest.main()
