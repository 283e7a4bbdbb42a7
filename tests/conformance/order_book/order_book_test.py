#!/usr/bin/env python3
"""Compares the fold `orders` with the book of order_book_oracle. Run it with run.sh.

LAPWING_BUILD_DIR contains the programs fold_dbn and feed_to_dbn. LAPWING_TEST_DATA contains the
real files. LAPWING_FOLD_FLOWS: number of synthetic flows, by default 3.
"""

import collections
import itertools
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import order_book_oracle as oracle  # noqa: E402

BUILD = pathlib.Path(os.environ.get("LAPWING_BUILD_DIR", HERE.parents[2] / "build"))
DATA = os.environ.get("LAPWING_TEST_DATA")
FLOWS = int(os.environ.get("LAPWING_FOLD_FLOWS", 3))
ES_SNAPSHOT = "esh4-glbx-mdp3-20231224.mbo.dbn.zst"
ES = "esh4-glbx-mdp3-20231225.mbo.dbn.zst"
ES_RECORDS = 68_792
ES_SNAPSHOT_RECORDS = 8_725
ES_INSTRUMENT = (1, 17_077)

needs_data = unittest.skipUnless(
    DATA, "SKIPPED: LAPWING_TEST_DATA is not set: no real order flow was folded")

Folded = collections.namedtuple("Folded", "books orders tops")


def run(program, *arguments):
    """The standard output of one of our programs, which must succeed."""
    command = [BUILD / "tests" / "conformance" / program, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise AssertionError(f"{program} {arguments}: {done.stderr}")
    return done.stdout


def folded(path, sequences):
    """The output of fold_dbn: {sequence: Folded}, each field by (publisher, instrument)."""
    states = {}
    for line in run("order_book/fold_dbn", path, *sequences).splitlines():
        word, *fields = line.split()
        if word == "at":
            state = states[int(fields[0])] = Folded({}, collections.defaultdict(list), {})
            continue
        key = (int(fields[0]), int(fields[1]))
        if word == "book":
            state.books[key] = (fields[2], int(fields[3]))
        elif word == "order":
            order_id, side, price, size, place = fields[2:]
            state.orders[key].append(
                oracle.Resting(int(order_id), side, int(price), int(size), int(place)))
        else:
            state.tops.setdefault(key, {})[fields[2]] = tuple(map(int, fields[3:]))
    return states


def in_queue(orders, side):
    """The orders of a side by price, best first, then by queue rank."""
    sign = -1 if side == "B" else 1
    return sorted((order for order in orders if order.side == side),
                  key=lambda order: (sign * order.price, order.place))


def levels(queue):
    """(price, size, order count) of orders that are sorted best first."""
    found = {}
    for order in queue:
        size, count = found.get(order.price, (0, 0))
        found[order.price] = (size + order.size, count + 1)
    return [(price, *rest) for price, rest in found.items()]


class Comparison(unittest.TestCase):
    """The fold and the oracle after the same records."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def assert_same(self, market, state, where):
        self.assertEqual(set(market.books), set(state.books), where)
        for key, book in market.books.items():
            misfits = sum(book.misfits.values())
            self.assertEqual(state.books[key], ("good", misfits), (where, key, book.misfits))
            self.assertEqual(book.tops(), state.tops.get(key, {}), (where, key))
            for side in "BA":
                queue = in_queue(state.orders[key], side)
                self.assert_same_list(queue, book.orders(side), (where, key, side))
                if not book.tops():
                    self.assert_same_list(levels(queue), book.levels(side), (where, key, side))

    def assert_same_list(self, ours, theirs, where):
        """Like assertEqual, but without its slow comparison of long lists."""
        if ours == theirs:
            return
        for index, pair in enumerate(itertools.zip_longest(ours, theirs)):
            self.assertEqual(*pair, (where, index))

    def compare(self, path, record_count, looks):
        """Compares them at `looks` sequences, including the last one. Returns market and
        actions."""
        chosen = random.sample(range(1, record_count), looks - 1)
        states = folded(path, sorted(chosen) + [record_count])
        market, actions, last = oracle.Market(), collections.Counter(), 0
        for sequence, record in oracle.read_mbo(path):
            market.apply(record, sequence)
            actions[str(record.action)] += 1
            last = sequence
            if sequence in states:
                self.assert_same(market, states[sequence], f"{path} after record {sequence}")
        self.assertEqual(last, record_count)
        return market, actions


class SyntheticFlow(Comparison):
    """Every action, including partial cancels."""

    def test_orders_queues_and_levels_are_those_of_the_oracle_at_any_sequence(self):
        for number in range(FLOWS):
            records, instruments = 120_000, (1, 8, 64)[number % 3]
            source = (f"synthetic:seed={random.randrange(1, 2**31)},instruments={instruments},"
                      f"records={records}")
            path = self.folder / f"flow{number}.dbn"
            run("dbn_package/feed_to_dbn", source, path)
            with self.subTest(source=source):
                market, actions = self.compare(path, records, 40)
                self.assertEqual(set(actions), set("RAMCTF"), source)
                self.assertGreater(sum(book.partial_cancels for book in market.books.values()),
                                   100, "partial cancels")
                for book in market.books.values():
                    self.assertFalse(book.misfits, source)
                print(f"\n{source}: equal at 40 sequences, {dict(actions)}")


@needs_data
class RealFlow(Comparison):
    """The ES file, whose book begins with a snapshot from the previous day."""

    def test_orders_queues_and_levels_are_those_of_the_oracle_at_200_sequences(self):
        market, actions = self.compare(f"{DATA}/{ES}", ES_RECORDS, 200)
        book = market.books[ES_INSTRUMENT]
        self.assertFalse(book.misfits)
        print(f"\n{ES}: equal at 200 sequences, {dict(actions)}, "
              f"{len(book.orders())} orders rest at the end")

    def test_the_snapshot_at_its_start_is_the_book_at_the_end_of_the_day_before(self):
        """Compares order by order, rank by rank and level by level. The records differ only in the
        snapshot's time, and in the last record's mark, which only one file has."""
        day_before = folded(f"{DATA}/{ES_SNAPSHOT}", [ES_SNAPSHOT_RECORDS])[ES_SNAPSHOT_RECORDS]
        snapshot = folded(f"{DATA}/{ES}", [ES_SNAPSHOT_RECORDS])[ES_SNAPSHOT_RECORDS]
        self.assertEqual(len(snapshot.orders[ES_INSTRUMENT]), ES_SNAPSHOT_RECORDS)
        self.assertEqual(snapshot.orders, day_before.orders)
        self.assertEqual(snapshot.books, day_before.books)
        for side in "BA":
            queues = [in_queue(state.orders[ES_INSTRUMENT], side)
                      for state in (snapshot, day_before)]
            self.assertEqual(*map(levels, queues))
            print(f"\n{side}: {len(queues[0])} orders at {len(levels(queues[0]))} prices, equal")
        differences = collections.Counter()
        for (_, a), (_, b) in zip(oracle.read_mbo(f"{DATA}/{ES_SNAPSHOT}"),
                                  oracle.read_mbo(f"{DATA}/{ES}"), strict=False):
            for field in ("order_id", "price", "size", "side", "action", "sequence", "ts_event",
                          "channel_id", "ts_in_delta", "ts_recv", "flags"):
                differences[field] += getattr(a, field) != getattr(b, field)
        self.assertEqual(+differences, {"ts_recv": ES_SNAPSHOT_RECORDS, "flags": 1})


if __name__ == "__main__":
    unittest.main(verbosity=2)
