"""Tests `lapwing book`: its output, its reports of staleness, and equal books from every start."""

import csv
import json
import os
import pty
import signal
import unittest

import harness
import mbo_records as mbo

RECORDS = 20_000
FLOW = f"synthetic:records={RECORDS},instruments=2,seed=7"
MANY = f"synthetic:records={RECORDS},instruments=9,seed=7"
THREE = f"synthetic:records={RECORDS},instruments=3,seed=7"
PASS_RECORDS = 600_000
LONG_PASS = f"synthetic:records={PASS_RECORDS},instruments=1,seed=7"
PASS_PER_SECOND = 250_000
RING = 65_536


def lines_of_json(process):
    """The complete lines so far."""
    return [json.loads(line) for line in process.out().split("\n")[:-1]]


def rows_of_json(book):
    """The CSV rows that correspond to one book in JSON."""
    about = {("book_orders" if name == "orders" else name): value for name, value in book.items()
             if name not in ("bids", "asks", "digest")}
    levels = [{"side": side, "level": number, **level} for side, name in (("B", "bids"),
              ("A", "asks")) for number, level in enumerate(book[name])]
    none = dict.fromkeys(("side", "level", "price", "size", "orders"))
    digest = {"digest": book["digest"]} if "digest" in book else {}
    return [{**about, **level, **digest} for level in levels or [none]]


def as_cells(row):
    return {name: "" if value is None else value if isinstance(value, str) else json.dumps(value)
            for name, value in row.items()}


def sides(text):
    """The bids and asks of one printed book: [(price, size, orders)]."""
    rows = [line.split("|") for line in text.splitlines() if "|" in line][1:]
    bids = [tuple(bid.split()[::-1]) for bid, _ in rows if bid.split()]
    asks = [tuple(ask.split()) for _, ask in rows if ask.split()]
    return bids, asks


class Terminal:
    """A terminal of 24 rows and 80 columns, with the text written to it."""

    def __init__(self, test):
        self.ours, self.theirs = pty.openpty()
        test.addCleanup(os.close, self.ours)
        self.shown = b""

    def read(self, done):
        """Reads until `done` accepts the output so far, or the writer has closed it."""
        os.close(self.theirs)
        while not done(self.shown):
            try:
                self.shown += os.read(self.ours, 65536)
            except OSError:
                break
        return self.shown.decode()


def as_text(levels):
    return [(f"{level['price'] / 1e9:.2f}", str(level["size"]), str(level["orders"]))
            for level in levels]


class WhatItShows(harness.BusTest):
    """Books of a closed bus."""

    def publish(self, source=FLOW, *options):
        self.run_to_end("publish", "publish", "--source", source, "--pace", "max", *options)

    def test_the_text_says_what_the_json_says(self):
        self.publish()
        text = self.run_to_end("text", "book", "--instrument", "SYN1", "--depth", 5)
        self.assertIn(f"SYN1 (1)  publisher 60000  at {RECORDS}  ", text.out())
        shown = self.run_to_end("json", "book", "--instrument", "id:1", "--depth", 5, "--json")
        [book] = lines_of_json(shown)
        bids, asks = sides(text.out())
        self.assertEqual(len(bids), 5)
        self.assertEqual((bids, asks), (as_text(book["bids"]), as_text(book["asks"])))
        spread = (book["asks"][0]["price"] - book["bids"][0]["price"]) / 1e9
        self.assertIn(f"{book['orders']} orders, {book['bid_levels']} + {book['ask_levels']} "
                      f"levels, spread {spread:.2f}\n", text.out())
        self.assertNotIn("STALE", text.out())
        self.assertNotIn("\x1b", text.out())

    def test_csv_says_what_json_says_in_a_row_for_each_level(self):
        self.publish(THREE)
        for number, options in enumerate(((), ("--at", "1,1000,5000"), ("--depth", 0),
                                          ("--instrument", "SYN2", "--depth", 1))):
            shown = self.run_to_end(f"json-{number}", "book", "--format", "json", *options)
            rows = [as_cells(row) for book in lines_of_json(shown) for row in rows_of_json(book)]
            text = self.run_to_end(f"csv-{number}", "book", "--format", "csv", *options).out()
            header, *cells = csv.reader(text.splitlines())
            self.assertEqual(header, list(rows[0]))
            self.assertEqual([dict(zip(header, row, strict=True)) for row in cells], rows)
            without_levels = sum(row["side"] == "" for row in rows)
            self.assertEqual(without_levels > 0, "--at" in options, "the first record is a clear")

    def test_names_are_those_of_the_records_where_they_have_them(self):
        self.publish()
        header = self.run_to_end("csv", "book", "--format", "csv").out().splitlines()[0].split(",")
        fields = {field["name"] for field in self.info()["description"]["fields"]}
        self.assertEqual([name for name in header if name in fields],
                         ["publisher_id", "instrument_id", "ts_event", "ts_recv", "side", "price",
                          "size"])
        self.assertEqual([name for name in header if name not in fields],
                         ["seq", "symbol", "last_seq", "settled", "stale", "lost_through",
                          "misfits", "book_orders", "bid_levels", "ask_levels", "level", "orders"])
        [book] = lines_of_json(self.run_to_end("json", "book", "--json", "--instrument", "id:1"))
        tail = self.run_to_end("tail", "tail", "--from", f"seq:{book['last_seq']}", "--count", 1,
                               "--format", "json")
        [record] = [line for line in lines_of_json(tail) if "action" in line]
        for name in ("publisher_id", "instrument_id", "ts_event", "ts_recv"):
            self.assertEqual(book[name], record[name], name)

    def test_the_format_has_the_names_that_tail_gives_them(self):
        self.publish()
        short = self.run_to_end("short", "book", "--json").out()
        self.assertEqual(self.run_to_end("json", "book", "--format", "json").out(), short)
        text = self.run_to_end("plain", "book").out()
        self.assertEqual(self.run_to_end("text", "book", "--format", "text").out(), text)
        none = self.run_to_end("none", "book", "--format", "none", "--summary").out()
        self.assertEqual([json.loads(line)["books"] for line in none.splitlines()], [2])
        self.run_to_end("both", "book", "--json", "--format", "text", expect=2)
        self.run_to_end("unknown", "book", "--format", "xml", expect=2)

    def test_within_an_event_it_says_so_and_only_where_it_was_asked_for(self):
        self.publish()
        wanted = ",".join(map(str, range(1000, 1100)))
        shown = self.run_to_end("json", "book", "--at", wanted, "--json", "--instrument", "id:1")
        books = {book["seq"]: book for book in lines_of_json(shown)}
        self.assertEqual(sorted(books), list(range(1000, 1100)))
        inside = next(n for n, book in books.items() if not book["settled"])
        outside = next(n for n, book in books.items() if book["settled"])
        for n, expected in ((inside, True), (outside, False)):
            text = self.run_to_end("text", "book", "--at", n, "--instrument", "id:1").out()
            self.assertEqual("INSIDE AN EVENT" in text, expected, text)

    def test_many_books_are_a_list_of_their_best_prices(self):
        self.publish(MANY)
        text = self.run_to_end("list", "book").out()
        shown = self.run_to_end("json", "book", "--json", "--depth", 1)
        books = lines_of_json(shown)
        self.assertEqual(len(books), 9)
        self.assertEqual(len(text.splitlines()), 2 + 9)
        for book in books:
            [line] = [row for row in text.splitlines() if row.startswith(book["symbol"] + " ")]
            bid, ask = line.split("|")[0].split()[-1], line.split("|")[1].split()[0]
            self.assertEqual((round(float(bid) * 1e9), round(float(ask) * 1e9)),
                             (book["bids"][0]["price"], book["asks"][0]["price"]))

    def test_the_summary_is_of_the_record_that_was_asked_for_last(self):
        self.publish()
        for at in (17, RECORDS // 2):
            shown = self.run_to_end("at", "book", "--at", f"5,{at}", "--summary")
            self.assertEqual(shown.summary()["sequence"], at)
        digests = {self.run_to_end(f"end{i}", "book", *options, "--summary").summary()["digest"]
                   for i, options in enumerate(((), ("--until-closed",), ("--at", RECORDS)))}
        self.assertEqual(len(digests), 1)

    def test_what_cannot_be_shown_is_an_error_that_says_why(self):
        self.publish()
        later = self.run_to_end("later", "book", "--at", RECORDS + 1, expect=1)
        self.assertIn(f"--at {RECORDS + 1}: the last record is {RECORDS}", later.err())
        unknown = self.run_to_end("unknown", "book", "--instrument", "NONE", expect=1)
        self.assertIn("--instrument NONE: bus ", unknown.err())
        self.assertIn("Give one of its symbols, or the instrument's number as id:N", unknown.err())
        number = self.run_to_end("number", "book", "--instrument", "id:999", expect=1)
        self.assertIn("no book of id:999", number.err())
        wrong = self.run_to_end("wrong", "book", "--instrument", "id:x", expect=2)
        self.assertIn("id:x is not an instrument", wrong.err())
        self.run_to_end("usage", "book", "--at", 0, expect=2)
        self.run_to_end("usage", "book", "--depth", -1, expect=2)

    def test_a_bus_of_other_records_has_no_books(self):
        feed = harness.feed_file("trades",
                                 "futures_trades_2024-07-01T23-58_2024-07-02T00-02.dbn.zst")
        self.publish(f"dbn:{feed}")
        refused = self.run_to_end("trades", "book", "--from", "start", expect=2)
        self.assertIn("dbn.trades", refused.err())


    def show_on_a_terminal(self, *options):
        terminal = Terminal(self)
        shown = self.start("terminal", "book", *options, stdout=terminal.theirs)
        text = terminal.read(lambda _: False)
        self.assertEqual(shown.wait(), 0, shown.err())
        return text.replace("\r", "").replace("\x1b[K", "")

    def test_on_a_terminal_all_is_shown_that_was_asked_for_once(self):
        self.publish()
        self.assertEqual(self.show_on_a_terminal("--depth", 40),
                         self.run_to_end("deep", "book", "--depth", 40).out())
        several = ("--at", "100,200", "--depth", 2)
        self.assertEqual(self.show_on_a_terminal(*several),
                         self.run_to_end("several", "book", *several).out())

    def made_by_hand(self, records, replace=(b"", b"")):
        """Publishes these records with a synthetic feed's metadata, instead of its records."""
        other = str(self.folder / "other")
        self.run_to_end("like", "publish", "--source", FLOW, "--pace", "max", bus=other)
        like = self.folder / "like.dbn"
        self.run_to_end("metadata", "record", "--from", "start", "--count", 1, "--out", like,
                        bus=other)
        like.write_bytes(like.read_bytes().replace(*replace))
        self.publish(mbo.write_dbn(self.folder / "hand.dbn", like, records))

    def test_best_prices_without_orders_are_shown_as_such(self):
        flags = mbo.LAST | mbo.TOP
        self.made_by_hand([mbo.record(b"A", b"B", 100 * mbo.SCALE, 5, flags=flags),
                           mbo.record(b"A", b"A", 101 * mbo.SCALE, 7, flags=flags)])
        text = self.run_to_end("text", "book").out()
        self.assertIn("best prices only, spread 1\n", text)
        self.assertEqual(sides(text), ([("100", "5", "-")], [("101", "7", "-")]))
        [book] = lines_of_json(self.run_to_end("json", "book", "--json"))
        self.assertEqual(book["orders"], 0)
        self.assertEqual(book["bids"], [{"price": 100 * mbo.SCALE, "size": 5, "orders": 0}])

    def test_bytes_that_are_no_text_are_shown_all_the_same(self):
        self.made_by_hand([mbo.record(b"A", b"B", 100 * mbo.SCALE, 5, order_id=1),
                           mbo.record(b"\xff", b"\xfe", order_id=1),
                           mbo.record(b"\0", b"\n", order_id=1)], (b"SYN1", b"SY\xff1"))
        [book] = lines_of_json(self.run_to_end("json", "book", "--json"))
        self.assertEqual((book["symbol"], book["orders"]), ("SY\ufffd1", 1))
        _, row = csv.reader(self.run_to_end("csv", "book", "--format", "csv").out().splitlines())
        self.assertEqual(row[3], "SY\\xff\\x31")
        tail = self.run_to_end("tail", "tail", "--from", "start", "--until-closed", "--format",
                               "json")
        lines = [line for line in lines_of_json(tail) if "action" in line]
        self.assertEqual([(line["action"], line["side"]) for line in lines],
                         [("A", "B"), ("\\xff", "\\xfe"), ("\0", "\n")])
        text = self.run_to_end("text", "tail", "--from", "start", "--until-closed").out()
        self.assertIn(r" action=\x00 side=\n ", text)


class Live(harness.BusTest):
    """Books of a running publisher."""

    def test_it_follows_until_the_publisher_closes(self):
        flow = self.publish_flow("publish", self.raw_dbn(FLOW), "--await", 1)
        follower = self.start("follow", "book", "--follow", "--json", "--until-closed", "--summary",
                              "--instrument", "SYN1")
        for quarter in range(1, 5):
            shown = len(lines_of_json(follower))
            flow.feed(RECORDS * quarter // 4)
            self.until("it to be shown", lambda least=shown: len(lines_of_json(follower)) > least)
        flow.end()
        self.assertEqual(flow.publisher.wait(), 0, flow.publisher.err())
        self.assertEqual(follower.wait(), 0, follower.err())
        *books, summary = lines_of_json(follower)
        self.assertTrue(all(book["settled"] for book in books))
        self.assertEqual(books[-1]["seq"], RECORDS)
        self.assertEqual(summary["sequence"], RECORDS)
        last = self.run_to_end("last", "book", "--instrument", "SYN1", "--json")
        self.assertEqual(lines_of_json(last)[0], books[-1])

    def follow_on_a_terminal(self, source, *options):
        self.start("publish", "publish", "--source", source, "--pace", "max", "--linger", "600s")
        self.until_head(RECORDS)
        terminal = Terminal(self)
        follower = self.start("follow", "book", "--follow", *options, stdout=terminal.theirs)
        shown = terminal.read(lambda text: b"\x1b[J" in text)
        follower.stop()
        return shown

    def test_on_a_terminal_it_stays_in_place_and_elsewhere_it_is_plain_lines(self):
        shown = self.follow_on_a_terminal(FLOW, "--depth", 0)
        self.assertIn("\x1b[", shown)
        self.assertLessEqual(shown.count("\r\n"), 23, "it fits a terminal of 24 rows")
        elsewhere = self.start("elsewhere", "book", "--follow", "--depth", 0)
        self.until("a book", lambda: f"SYN1 (1)  publisher 60000  at {RECORDS}  "
                   in elsewhere.out())
        self.assertEqual(elsewhere.stop(), 0, elsewhere.err())
        plain = elsewhere.out_path.read_bytes()
        self.assertNotIn(b"\x1b", plain)
        self.assertNotIn(b"\r", plain)
        self.assertGreater(plain.count(b"\n"), 24, "no terminal cuts it")

    def test_on_a_terminal_every_book_has_its_part(self):
        shown = self.follow_on_a_terminal(THREE)
        for symbol in ("SYN1", "SYN2", "SYN3"):
            self.assertIn(symbol, shown)
        self.assertLessEqual(shown.count("\r\n"), 23)

    def test_following_it_waits_for_what_was_asked_for_and_shows_nothing_else(self):
        wanted = [RECORDS // 4, RECORDS // 2]
        follower = self.start("follow", "book", "--follow", "--json", "--instrument", "id:1", "--at",
                              ",".join(map(str, wanted)))
        self.run_to_end("publish", "publish", "--source", FLOW, "--pace", RECORDS // 2, "--await",
                        1)
        self.assertEqual(follower.wait(), 0, follower.err())
        self.assertEqual([book["seq"] for book in lines_of_json(follower)], wanted)


class Losses(harness.BusTest):
    """A bus without a journal."""

    def publish_without_journal(self, *options):
        return self.start("publish", "publish", "--journal", "none", "--capacity", RING, *options)

    def test_a_lap_makes_it_stale_until_the_next_clear(self):
        self.publish_without_journal("--source", LONG_PASS, "--loop", 0, "--pace",
                                     PASS_PER_SECOND, "--await", 1)
        follower = self.start("follow", "book", "--follow", "--json", "--depth", 1, "--on-gap",
                              "skip", "--from", "start", "--wait", "busy")
        def books():
            return lines_of_json(follower)
        before = self.until("a book", books)[-1]["seq"]
        follower.signal(signal.SIGSTOP)
        self.until_head(self.info()["ring"]["head"] + 4 * RING)
        follower.signal(signal.SIGCONT)
        stale = self.until("a stale book", lambda: [
            b for b in books() if b["seq"] > before and b["stale"]])[0]
        self.assertIn("gap ", follower.err())
        self.assertGreaterEqual(stale["seq"], stale["lost_through"])
        self.assertGreater(stale["lost_through"], before)
        good = self.until("a good book after it", lambda: [
            b for b in books() if b["seq"] > stale["seq"] and not b["stale"]])[0]
        # A pass begins with a clear; the first pass has no earlier record.
        self.assertGreater(good["seq"], PASS_RECORDS)
        follower.signal(signal.SIGINT)
        self.assertEqual(follower.wait(), 6, "records were lost")

    def test_a_beginning_in_the_middle_is_stale_and_says_since_when(self):
        self.publish_without_journal("--source", f"synthetic:records={2 * RING},seed=7",
                                     "--linger", "600s")
        self.until_head(2 * RING)
        shown = self.run_to_end("book", "book", "--from", "start", "--on-gap", "skip")
        self.assertIn("STALE since record ", shown.out(), shown.err())
        asked = self.start("at", "book", "--from", "start", "--on-gap", "skip", "--at", 1)
        self.assertEqual(asked.wait(), 1)
        self.assertIn("--at 1: the books begin at record ", asked.err())

    def test_nothing_has_to_be_said_for_what_the_ring_holds(self):
        self.publish_without_journal("--source", FLOW, "--linger", "600s")
        self.until_head(RECORDS)
        shown = self.run_to_end("book", "book")
        self.assertIn("keeps no journal: the books begin with the oldest record in its ring",
                      shown.err())
        self.assertIn(f"SYN1 (1)  publisher 60000  at {RECORDS}  ", shown.out())
        self.assertNotIn("STALE", shown.out())
        for option, value, why in (("--from", "snapshot", "no start from a snapshot is possible"),
                                   ("--on-gap", "fill", "gaps cannot be filled")):
            refused = self.run_to_end("refused", "book", option, value, expect=1)
            self.assertIn(why, refused.err())


class FromASnapshot(harness.BusTest):
    """A state plus later records gives the same book as all records."""

    def test_both_have_the_same_digest_at_the_same_sequence(self):
        source = harness.feed_file("mbo", "esh4-glbx-mdp3-20231225.mbo.dbn.zst")
        records = harness.Dbn(harness.decoded(source)).records
        self.start("publish", "publish", "--source", f"dbn:{source}", "--pace", 40_000,
                   "--linger", "600s")
        self.start("checkpoint", "checkpoint", "--fold", "orders", "--every", 10_000)
        self.until_head(records)
        def join():
            snapshot = self.run_to_end("snapshot", "book", "--summary")
            return snapshot if "state_as_of" in snapshot.summary() else None
        snapshot = self.until("a checkpoint", join).summary()
        self.assertEqual(snapshot["sequence"], records)
        self.assertLess(snapshot["records"], records)
        start = self.run_to_end("start", "book", "--from", "start", "--summary").summary()
        self.assertEqual((snapshot["digest"], snapshot["sequence"], snapshot["orders"]),
                         (start["digest"], start["sequence"], start["orders"]))
        self.assertEqual(start["records"], records)
        print(f"\nfrom the snapshot as of {snapshot['state_as_of']} and from the start: "
              f"digest {start['digest']} at {start['sequence']}")
        before = snapshot["state_as_of"] - 1
        early = self.run_to_end("early", "book", "--at", before, "--from", "snapshot", expect=1)
        self.assertIn("try --from oldest, which may begin earlier", early.err())
        chosen = self.run_to_end("chosen", "book", "--at", before, "--summary").summary()
        self.assertNotIn("state_as_of", chosen)  # no start was given: at the start
        shown = self.run_to_end("text", "book").out().splitlines()[3:]
        again = self.run_to_end("again", "book", "--from", "start").out().splitlines()[3:]
        self.assertEqual(shown, again)


if __name__ == "__main__":
    unittest.main(verbosity=2)
