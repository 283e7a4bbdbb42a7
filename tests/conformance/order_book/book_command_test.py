#!/usr/bin/env python3
"""Compares `lapwing book` with the book of order_book_oracle. Run it with run.sh.

LAPWING_BIN is the program. LAPWING_TEST_DATA is the folder with the real files, if there are any.
"""

import json
import pathlib
import random
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parents[1] / "end_to_end")]
import harness  # noqa: E402
import mbo_records as mbo  # noqa: E402
import order_book_oracle as oracle  # noqa: E402

ES = "esh4-glbx-mdp3-20231225.mbo.dbn.zst"
ES_SNAPSHOT_RECORDS = 8_725
SEQUENCES = 200
FLOW_RECORDS = 60_000
TWO_RECORDS = 4_000
FLOW = f"synthetic:records={FLOW_RECORDS},instruments=3"


def two_publishers(count):
    """Records of one instrument: publisher 1 sends only best prices, publisher 2 sends orders."""
    resting = {}
    for number in range(count):
        last = random.choice((0, mbo.LAST))
        side = random.choice((b"A", b"B"))
        price, size = random.randint(95, 105) * mbo.SCALE, random.randint(1, 9)
        if number % 2 == 0:
            flags = last | mbo.TOP
            if random.randrange(8) == 0:
                price, size = mbo.UNDEF_PRICE, 0
            yield mbo.record(b"A", side, price, size, flags=flags)
        elif random.randrange(100) == 0:
            resting.clear()
            yield mbo.record(b"R", flags=last, publisher=2)
        elif resting and random.randrange(2) == 0:
            order_id = random.choice(list(resting))
            side, price, left = resting.pop(order_id)
            taken = random.randint(1, left)
            if taken < left:
                resting[order_id] = side, price, left - taken
            yield mbo.record(b"C", side, price, taken, order_id=order_id, flags=last, publisher=2)
        else:
            resting[number] = side, price, size
            yield mbo.record(b"A", side, price, size, order_id=number, flags=last, publisher=2)


def expected_side(book, side):
    return [{"price": price, "size": size, "orders": orders}
            for price, size, orders in book.levels(side)]


class BooksAreTheOracles(harness.BusTest):
    """Each level and order count, at many records, equals an independent book."""

    def books_at(self, sequences, *options):
        """The output of `lapwing book`: {(sequence, publisher, instrument): book}."""
        at = ",".join(map(str, sequences))
        process = self.run_to_end("book", "book", "--from", "start", "--at", at, "--json",
                                  "--depth", 0, *options)
        books = [json.loads(line) for line in process.out().splitlines()]
        return {(b["seq"], b["publisher_id"], b["instrument_id"]): b for b in books}

    def compare(self, path, sequences):
        """The number of compared levels."""
        printed = self.books_at(sequences)
        market = oracle.Market()
        compared = levels = 0
        for sequence, record in oracle.read_mbo(path):
            market.apply(record, sequence)
            if sequence not in sequences:
                continue
            for key, book in market.books.items():
                shown = printed[(sequence, *key)]
                for side, name in (("B", "bids"), ("A", "asks")):
                    expected = expected_side(book, side)
                    self.assertEqual(shown[name], expected, (sequence, key, name))
                    levels += len(expected)
                self.assertEqual(shown["orders"], len(book.orders()), (sequence, key))
                self.assertFalse(shown["stale"])
                compared += 1
        self.assertEqual(compared, len(printed))
        return levels

    def test_at_200_records_of_a_feed(self):
        path = harness.feed_file("mbo", ES)
        records = harness.Dbn(harness.decoded(path)).records
        self.run_to_end("publish", "publish", "--source", f"dbn:{path}", "--pace", "max")
        chosen = {1, ES_SNAPSHOT_RECORDS, ES_SNAPSHOT_RECORDS + 1, records}
        while len(chosen) < SEQUENCES:
            chosen.add(random.randint(2, records))
        levels = self.compare(path, sorted(chosen))
        print(f"\n{pathlib.Path(path).name}: {SEQUENCES} books, {levels} levels equal")

    def test_at_200_records_of_a_flow_with_partial_cancels(self):
        path = str(self.folder / "flow.dbn")
        self.run_to_end("publish", "publish", "--source", FLOW, "--pace", "max")
        self.run_to_end("record", "record", "--from", "start", "--out", path, "--until-closed")
        chosen = random.sample(range(1, FLOW_RECORDS), SEQUENCES - 1) + [FLOW_RECORDS]
        levels = self.compare(path, sorted(chosen))
        print(f"\n{FLOW}: {SEQUENCES} moments, {levels} levels equal")

    def test_at_200_records_of_a_feed_of_best_prices_beside_one_of_orders(self):
        other, like = str(self.folder / "other"), self.folder / "like.dbn"
        self.run_to_end("other", "publish", "--source", "synthetic:records=100", bus=other)
        self.run_to_end("record", "record", "--from", "start", "--count", 1, "--out", like,
                        bus=other)
        path = self.folder / "two.dbn"
        source = mbo.write_dbn(path, like, two_publishers(TWO_RECORDS))
        self.run_to_end("publish", "publish", "--source", source, "--pace", "max")
        chosen = random.sample(range(2, TWO_RECORDS), SEQUENCES - 1) + [TWO_RECORDS]
        levels = self.compare(str(path), sorted(chosen))
        print(f"\ntwo publishers: {SEQUENCES} moments, {levels} levels equal")

    def test_one_of_several_instruments_by_its_symbol(self):
        self.run_to_end("publish", "publish", "--source", FLOW, "--pace", "max")
        every = self.books_at([FLOW_RECORDS])
        one = self.books_at([FLOW_RECORDS], "--instrument", "SYN2")
        self.assertEqual(sorted(key[2] for key in every), [1, 2, 3])
        self.assertEqual({key: every[key] for key in one}, one)
        self.assertEqual([book["symbol"] for book in one.values()], ["SYN2"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
