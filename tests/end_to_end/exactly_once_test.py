"""Tests that orders from a bus are executed once, even if publisher, strategy and gateway are
killed.

    exactly_once_test.py                the programs of examples/exactly_once
    LAPWING_RECIPE_KILLS=N              kills of each of the three; default 1
    LAPWING_RECIPE_STRATEGY, _GATEWAY   other programs with the same arguments, as command lines

Prints `N orders, 0 missing, 0 twice`.
"""

import collections
import os
import random
import shlex
import signal
import time
import unittest

import harness

KILLS = int(os.environ.get("LAPWING_RECIPE_KILLS", "1"))
SEED = int(os.environ.get("LAPWING_TEST_SEED", "1"))
PACE = 20_000  # records per second
LARGE = 8  # the strategy's threshold


def command_of(variable, example):
    """The command line of one of the two programs."""
    given = os.environ.get(variable)
    if given:
        return shlex.split(given)
    return [os.path.join(os.environ["LAPWING_BUILD_DIR"], "examples", example)]


class ExactlyOnce(harness.BusTest):

    def setUp(self):
        super().setUp()
        self.orders = self.folder / "orders.txt"
        socket = self.folder / "orders.sock"
        self.commands = {
            "publisher": [harness.program(), "publish", "--bus", self.bus, "--resume",
                          "--source", "synthetic:records=0", "--pace", PACE],
            "strategy": [*command_of("LAPWING_RECIPE_STRATEGY", "order_strategy"), self.bus,
                         self.folder / "strategy.cursor", socket],
            "gateway": [*command_of("LAPWING_RECIPE_GATEWAY", "order_gateway"), socket,
                        self.orders],
        }
        self.parts = {}

    def run_part(self, name):
        command = [str(word) for word in self.commands[name]]
        self.parts[name] = harness.Running(command, self.folder, name)
        self.running.append(self.parts[name])

    def orders_written(self):
        """The journal and sequence of each order in the gateway's file."""
        return [tuple(line.split()[:2]) for line in self.orders.read_text().splitlines()]

    def orders_due(self):
        """The same for each order that the bus's records should cause."""
        journal = self.info()["journal_id"]
        lines = self.run_to_end("tail", "tail", "--from", "oldest", "--until-closed",
                                "--format", "csv").out().splitlines()
        columns = lines[0].split(",")
        seq, action, side, size = map(columns.index, ("seq", "action", "side", "size"))
        rows = (line.split(",") for line in lines[1:])
        return [(journal, row[seq]) for row in rows
                if row[action] == "A" and row[side] == "B" and int(row[size]) >= LARGE]

    def head(self):
        """The last record, or 0 while the publisher starts."""
        bus = self.info()
        return bus["ring"]["head"] if bus and bus["ring"] else 0

    def grows(self):
        return self.orders.exists() and self.orders.stat().st_size

    def test_each_order_once_over_kills_of_everything(self):
        for name in self.commands:
            self.run_part(name)
        self.until("the first order", self.grows)
        draw = random.Random(SEED)
        kills = list(self.commands) * KILLS
        draw.shuffle(kills)
        for name in kills:
            time.sleep(draw.uniform(0, 0.3))
            part = self.parts[name]
            self.assertIsNone(part.process.poll(), f"{name} has ended: {part.err()}")
            part.kill()
            part.wait()
            self.run_part(name)
        size, head = self.grows(), self.head()
        self.until("a record after the last kill", lambda: self.head() > head)
        self.until("an order after the last kill", lambda: self.grows() > size)
        self.parts["publisher"].process.send_signal(signal.SIGTERM)
        for name, part in self.parts.items():
            self.assertEqual(part.wait(), 0, f"{name}: {part.err()}")
        written = collections.Counter(self.orders_written())
        due = self.orders_due()
        missing = [order for order in due if order not in written]
        twice = [order for order, times in written.items() if times > 1]
        undue = set(written) - set(due)
        print(f"{len(due)} orders, {len(missing)} missing, {len(twice)} twice", flush=True)
        self.assertGreater(len(due), 0)
        self.assertEqual((missing, twice, undue), ([], [], set()))


if __name__ == "__main__":
    unittest.main()
