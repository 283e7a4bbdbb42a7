"""Tests that every program in examples/ does what its header comment describes."""

import json
import os
import pathlib
import random
import re
import signal
import struct
import subprocess
import time
import unittest

import harness


def trades(dbn):
    """(publisher, instrument, price, size) of each trade of a raw DBN file."""
    layout = struct.Struct("<2xHI8xqI20x")  # TradeMsg, 48 bytes
    (metadata_bytes,) = struct.unpack_from("<I", dbn, 4)
    return layout.iter_unpack(dbn[8 + metadata_bytes:])


class Examples(harness.ProgramTest):
    """Runs each program as its header comment describes, in a scratch folder."""

    def setUp(self):
        super().setUp()
        self.path = str(self.folder / "x.sock")

    def listening(self, name, *arguments, **popen):
        process = self.example(name, *arguments, **popen)
        self.until_listening(self.path)
        return process

    def assert_says(self, process, text):
        self.assertEqual(process.wait(), 0, process.err())
        self.assertEqual(process.out(), text)

    def test_orders(self):
        receiver = self.listening("orders", "receive", self.path)
        sender = self.example("orders", "send", self.path, 1000)
        self.assert_says(sender, "")
        self.assert_says(receiver, "1000 orders, worth 9400500\n")

    def test_orders_of_a_sender_that_dies(self):
        receiver = self.listening("orders", "receive", self.path)
        sender = self.example("orders", "send", self.path, 10**12)
        self.until_served(self.path)
        sender.kill()
        self.assertEqual(receiver.wait(), 1)
        self.assertIn("pid", receiver.err())

    def test_batches(self):
        receiver = self.listening("batches", "receive", self.path)
        self.assert_says(self.example("batches", "send", self.path), "")
        self.assert_says(receiver, "32000 ticks in order\n")

    def test_event_loop(self):
        loop = self.listening("event_loop", self.path)
        lines = self.folder / "lines"
        lines.write_text("".join(f"{number}\n" for number in range(1, 101)))
        with open(lines, "rb") as source:
            self.run_to_end("pipe", "pipe", "--connect", self.path, "--messages", "lines",
                            *harness.WITH_PATIENCE, stdin=source)
        self.assertEqual(loop.wait(), 0, loop.err())
        self.assertTrue(loop.out().startswith("100 messages of 192 bytes, and the timer ticked "))

    def test_reconnect(self):
        count = 5_000_000
        def start(name, **popen):
            return self.start(name, "pipe", "--listen", self.path, "--messages", "lines", **popen)
        first = start("first", stdout=subprocess.PIPE)
        sender = self.example("reconnect", self.path, count)
        # Its pipe has some more room, then it blocks: it cannot send all numbers first.
        numbers = first.process.stdout.read(1 << 18)
        first.kill()
        numbers += first.process.stdout.read()
        first.process.stdout.close()
        second = start("second")
        self.assertEqual(second.wait(), 0, second.err())
        self.assert_says(sender, f"{count} numbers over 2 connections\n")
        taken = numbers.decode().split("\n")[:-1]
        after = second.out().split("\n")[:-1]
        self.assertEqual(taken, [str(n) for n in range(1, len(taken) + 1)])
        begin = int(after[0])
        self.assertEqual(after, [str(n) for n in range(begin, count + 1)])
        self.assertLessEqual(begin, len(taken) + 1, "every number arrived at least once")
        self.assertGreater(begin, 1, "and what was taken was not sent again")

    def test_hand_over(self):
        old = self.listening("hand_over", "listen", self.path)
        feed = {"stdin": -1, "bufsize": 0}
        connect = ("pipe", "--connect", self.path, "--messages", "lines", *harness.WITH_PATIENCE)
        client = self.start("client", *connect, **feed)
        client.process.stdin.write(b"one\n")
        self.until_served(self.path)
        new = self.example("hand_over", "take-over", self.path)
        self.until("the handing over", lambda: "handed over" in old.out())
        other = self.start("other", *connect, **feed)
        other.process.stdin.write(b"one\ntwo\n")
        other.process.stdin.close()
        self.assertEqual(other.wait(), 0, other.err())
        self.until("its jobs", lambda: new.out() == "listening\n2 jobs from one peer\n")
        client.process.stdin.write(b"two\nthree\n")
        client.process.stdin.close()
        self.assertEqual(client.wait(), 0, client.err())
        self.assert_says(old, "listening\nhanded over\n3 jobs from one peer\n")
        new.signal(signal.SIGTERM)

    def test_calls(self):
        server = self.listening("calls", "serve", self.path)
        client = self.example("calls", "ask", self.path)
        self.assert_says(client, "root of 2: 1.41421\nroot of 4: 2\nroot of 9: 3\n"
                                 "root of -1: error 33, there is no such root\n")
        self.assert_says(server, "one-way: goodbye\n")

    def settled(self, trader):
        """Its last line: the numbers of filled and cancelled orders, and of broken calls."""
        self.assertEqual(trader.wait(), 0, trader.err())
        return [int(number) for number in re.findall(r"\d+", trader.out().splitlines()[-1])]

    def test_gateway(self):
        gateway = self.listening("gateway", "serve", self.path)
        traders = [self.example("gateway", "trade", self.path, 3000) for _ in range(3)]
        for trader in traders:
            self.assertEqual(self.settled(trader), [2000, 1000, 0, 0])
            self.assertEqual(trader.out().count("connected\n"), 1)
        self.until("the end of each", lambda: gateway.out().count(": closed\n") == len(traders))
        killed = self.example("gateway", "trade", self.path, 10**12)
        self.until("another client", lambda: "connected\n" in killed.out())
        killed.kill()
        self.until("its end", lambda: ": peer-gone\n" in gateway.out())
        self.assertTrue(gateway.alive(), gateway.err())

    def test_gateway_that_is_killed_again_and_again(self):
        orders = 60_000
        gateway = self.listening("gateway", "serve", self.path)
        traders = [self.example("gateway", "trade", self.path, orders) for _ in range(3)]
        for kill in range(5):
            for trader in traders:
                self.until("a connection", lambda trader=trader: not trader.alive()
                           or trader.out().count("connected\n") > kill)
            gateway.kill()
            gateway = self.example("gateway", "serve", self.path)
        broken = 0
        for trader in traders:
            filled, cancelled, *broken_calls = self.settled(trader)
            self.assertEqual((filled, cancelled), (orders - orders // 3, orders // 3))
            broken += sum(broken_calls)
        self.assertGreater(broken, 0, "no call was under way when the gateway died")
        self.assertTrue(gateway.alive(), gateway.err())

    def test_best_prices(self):
        bus = str(self.folder / "bus")
        publisher = self.start("publish", "publish", "--bus", bus, "--source",
                               "synthetic:records=50000", "--pace", "max", "--await", 1)
        strategy = self.example("best_prices", bus, 60000, 1)
        self.assertEqual(publisher.wait(), 0, publisher.err())
        self.assertEqual(strategy.wait(), 0, strategy.err())
        changes, bid, ask = map(int, re.fullmatch(
            r"(\d+) changes of the best prices over 50000 records; the last are (\d+) and (\d+)\n",
            strategy.out()).groups())
        self.assertGreater(changes, 100)
        book = json.loads(self.run_to_end("book", "book", "--bus", bus, "--json", "--depth",
                                          1).out())
        self.assertEqual((bid, ask), (book["bids"][0]["price"], book["asks"][0]["price"]))

    def test_vwap(self):
        bus, raw = self.folder / "bus", self.folder / "trades.dbn"
        feed = harness.feed_file("trades", "us-equities-20131007.trades.dbn.zst")
        self.run_to_end("publish", "publish", "--bus", bus, "--source", f"dbn:{feed}")
        self.run_to_end("export", "export", "--bus", bus, "--out", raw)
        expected = {}
        for publisher, instrument, price, size in trades(raw.read_bytes()):
            expected.setdefault((publisher, instrument), []).append((price, size))
        lines = []
        for (publisher, instrument), each in sorted(expected.items()):
            volume = sum(size for _, size in each)
            average = sum(price * size for price, size in each) / 1e9 / volume
            low, high = min(each)[0] / 1e9, max(each)[0] / 1e9
            lines.append(f"{publisher}/{instrument}: {len(each)} trades, volume {volume}, average "
                         f"{average:.6f}, low {low:.6f}, high {high:.6f}\n")
        self.assertGreater(len(lines), 1)
        without = self.example("vwap", "show", bus)
        self.assert_says(without, "".join(lines))
        self.assertNotIn("state", without.err())
        self.assert_says(self.example("vwap", "keep", bus), "")
        joined = self.example("vwap", "show", bus)
        self.assert_says(joined, "".join(lines))
        records = sum(map(len, expected.values()))
        self.assertIn(f"vwap: the state as of record {records}\n", joined.err())

    def test_logger_that_is_killed_again_and_again(self):
        kills = int(os.environ.get("LAPWING_LOGGER_KILLS", "20"))
        bus, log, out = self.folder / "bus", self.folder / "es.log", self.folder / "es.dbn"
        log.touch()
        publisher = self.start("publish", "publish", "--bus", bus, "--pace", 20_000,
                               "--source", "synthetic:records=1000000000", "--await", 1,
                               "--capacity", 1 << 16)
        for kill in range(kills):
            before = log.stat().st_size
            logger = self.example("logger", bus, log)
            self.until("the log to grow",
                       lambda: log.stat().st_size > before or not logger.alive())
            time.sleep(random.uniform(0, 0.02))
            self.assertTrue(logger.alive(), logger.err())
            logger.kill()
            if kill % 2 == 0:  # as if killed between its write and its commit
                with open(log, "ab") as file:
                    file.write(b"not committed")
        self.assertEqual(publisher.stop(), 0, publisher.err())
        last = self.example("logger", bus, log)
        self.assertEqual(last.wait(), 0, last.err())
        self.run_to_end("export", "export", "--bus", bus, "--out", out)
        expected = harness.Dbn(out.read_bytes())
        self.assertTrue(log.read_bytes() == expected.content[expected.begin:], "byte for byte")
        (shown,) = self.cursors(f"{log}.cursor")
        self.assertEqual((shown["sequence"], shown["output_bytes"]),
                         (expected.records, log.stat().st_size))

    def test_logger_that_has_lost_its_log(self):
        bus, log = self.folder / "bus", self.folder / "es.log"
        self.run_to_end("publish", "publish", "--bus", bus, "--source", "synthetic:records=1000")
        self.assert_says(self.example("logger", bus, log), "")
        size = log.stat().st_size
        os.truncate(log, size - 1)
        refused = self.example("logger", bus, log)
        self.assertEqual(refused.wait(), 1)
        self.assertIn("cannot be continued", refused.err())
        self.assertEqual(log.stat().st_size, size - 1, "it is not filled with zeros")

    def test_screen(self):
        bus = str(self.folder / "bus")
        screen = self.example("screen", bus)
        publisher = self.start("publish", "publish", "--bus", bus, "--pace", 50_000, "--await", 1,
                               "--source", "synthetic:records=50000,instruments=3")
        self.assertEqual(publisher.wait(), 0, publisher.err())
        self.assertEqual(screen.wait(), 0, screen.err())
        *lines, last = screen.out().splitlines()
        records = [int(line.split()[-2]) for line in lines]
        self.assertEqual(sum(records), 50_000)
        total, shown, conflated = (int(number) for number in re.findall(r"\d+", last))
        self.assertEqual((total, shown + conflated), (50_000, 50_000))
        self.assertGreater(conflated, shown)

    def test_many_sources(self):
        buses = {str(self.folder / name): records for name, records in (("es", 20000), ("nq", 10000))}
        program = self.listening("many_sources", self.path, *buses)
        publishers = [self.start(f"publish{records}", "publish", "--bus", bus, "--await", 1,
                                 "--source", f"synthetic:records={records}")
                      for bus, records in buses.items()]
        lines = self.folder / "lines"
        lines.write_text("".join(f"{number}\n" for number in range(1, 101)))
        with open(lines, "rb") as source:
            self.run_to_end("pipe", "pipe", "--connect", self.path, "--messages", "lines",
                            *harness.WITH_PATIENCE, stdin=source)
        for publisher in publishers:
            self.assertEqual(publisher.wait(), 0, publisher.err())
        self.assertEqual(program.wait(), 0, program.err())
        *of_buses, last = program.out().splitlines()
        self.assertEqual(of_buses, [f"{bus}: {records} records" for bus, records in buses.items()])
        self.assertTrue(last.startswith("100 lines, and the timer ticked "), last)

    def test_late_joiner(self):
        bus = self.folder / "bus"
        self.run_to_end("publish", "publish", "--bus", bus, "--source", "synthetic:records=20000")
        replayed = self.example("late_joiner", bus, 1)
        self.assertEqual(replayed.wait(), 0, replayed.err())
        self.assertIn("begins with no checkpoint", replayed.out())
        self.run_to_end("checkpoint", "checkpoint", "--bus", bus, "--fold", "orders",
                        "--until-closed")
        joined = self.example("late_joiner", bus, 1)
        self.assertEqual(joined.wait(), 0, joined.err())
        self.assertRegex(joined.out(), r"^begins with \d+ entries from .*\.ckpt\n")
        state = replayed.out().splitlines()[1:]
        self.assertEqual(joined.out().splitlines()[1:], state, "the state is the same")
        self.assertRegex(state[0], r"^as of 20000: \d+ entries, digest [0-9a-f]+$")

    def test_each_says_how_it_is_used_and_is_tested_here(self):
        folder = pathlib.Path(__file__).resolve().parents[2] / "examples"
        names = sorted(source.stem for source in folder.glob("*.cc"))
        tested = set(re.findall(r'(?:example|listening)\("(\w+)"',
                                pathlib.Path(__file__).read_text(encoding="utf-8")))
        self.assertEqual(set(names), tested)
        for name in names:
            process = self.example(name)
            self.assertEqual(process.wait(), 2)
            self.assertIn("usage: " + name, process.err())


if __name__ == "__main__":
    unittest.main(verbosity=2)
