"""Tests symbols: symbols of digits, unknown symbols, and symbols in a live recording."""

import json
import unittest

import feed_files as feed
import harness
import mbo_records as mbo

SAMSUNG, HYNIX, TOYOTA = "005930", "000660", "7203"
INSTRUMENTS = {SAMSUNG: 1001, HYNIX: 5930, TOYOTA: 1003}
NOT_FOUND, USAGE, NO_BUS = 1, 2, 5


class SymbolsTest(harness.BusTest):

    def publish_bytes(self, content, *options):
        path = self.folder / "feed.dbn"
        path.write_bytes(content)
        return self.run_to_end("publish", "publish", "--source", f"dbn:{path}", *options)

    def tail(self, instrument, expect=0, bus=None):
        return self.run_to_end("tail", "tail", "--from", "start", "--until-closed", "--format",
                               "csv", "--instrument", instrument, expect=expect, bus=bus)

    def instruments_of(self, instrument, bus=None):
        """The instruments of the records that tail shows."""
        lines = self.tail(instrument, bus=bus).out().splitlines()
        column = lines[0].split(",").index("instrument_id")
        return [int(line.split(",")[column]) for line in lines[1:]]


class Digits(SymbolsTest):
    """Seoul, Tokyo and Hong Kong: a symbol of digits is not an instrument number."""

    def setUp(self):
        super().setUp()
        records = [feed.trade_of(instrument, number)
                   for number, instrument in enumerate(INSTRUMENTS.values())]
        self.publish_bytes(feed.metadata("trades", INSTRUMENTS, INSTRUMENTS) + b"".join(records))

    def test_a_text_is_a_symbol_and_a_number_has_a_prefix(self):
        for symbol, instrument in INSTRUMENTS.items():
            self.assertEqual(self.instruments_of(symbol), [instrument])
            self.assertEqual(self.instruments_of(f"id:{instrument}"), [instrument])
        self.assertEqual(self.instruments_of("id:005930"), [INSTRUMENTS[HYNIX]])

    def test_the_command_lists_them(self):
        lines = self.run_to_end("list", "symbols").out().splitlines()
        self.assertEqual(lines[0].split(), ["symbol", "instrument", "from", "until"])
        self.assertEqual({tuple(line.split()[:2]) for line in lines[1:]},
                         {(symbol, str(number)) for symbol, number in INSTRUMENTS.items()})
        shown = json.loads(self.run_to_end("json", "symbols", TOYOTA, "id:5930", "--json").out())
        self.assertEqual([(one["symbol"], one["instrument_id"]) for one in shown["symbols"]],
                         [(TOYOTA, 1003), (HYNIX, 5930)])
        self.assertRegex(shown["symbols"][0]["from"], r"^\d{4}-\d\d-\d\d$")
        self.assertIn("symbols    3: ", self.run_to_end("info", "info").out())

    def test_the_command_refuses_what_the_bus_does_not_have(self):
        for name, what in (("1003", "has no symbol 1003"), ("id:7", "has no instrument id:7")):
            self.assertIn(what, self.run_to_end("one", "symbols", name, expect=NOT_FOUND).err())
        self.run_to_end("bad", "symbols", "id:x", expect=USAGE)
        self.run_to_end("none", "symbols", bus=self.folder / "none", expect=NO_BUS)

    def test_a_number_without_its_prefix_is_an_unknown_symbol(self):
        refused = self.tail(1003, expect=NOT_FOUND)
        self.assertEqual(refused.out(), "")
        self.assertIn("its 3 symbols are 7203, 000660 and 005930. Give one of its symbols, or id:1003 for the "
                      "instrument of that number", refused.err())

    def test_a_wrong_number_is_wrong_usage(self):
        for wrong in ("id:", "id:x", "id:-1", "id:99999999999999999999"):
            self.assertIn("--instrument: ", self.tail(wrong, expect=USAGE).err())
        self.assertIn("is a number of 4 bytes", self.tail("id:4294967296", expect=USAGE).err())


class Unknown(SymbolsTest):

    def assert_not_found(self, name, *arguments, option="--instrument"):
        process = self.run_to_end(name, *arguments, expect=NOT_FOUND)
        self.assertEqual(process.out(), "")
        self.assertIn(f"{option} SYN10: bus {self.bus} has no such symbol; the nearest of its 4 symbols are ",
                      process.err())
        self.assertIn("SYN1, SYN2 and SYN3. Give one of its symbols, or the instrument's number as id:N",
                      process.err())

    def test_every_command_ends_with_an_error(self):
        self.run_to_end("publish", "publish", "--source", "synthetic:records=2000,instruments=4")
        self.run_to_end("checkpoint", "checkpoint", "--fold", "orders", "--until-closed")
        for name, *arguments in (("tail", "--from", "start", "--until-closed"),
                                 ("tail", "--from", "snapshot", "--until-closed"),
                                 ("tail", "--from", "start", "--until-closed", "--conflate", "1s"),
                                 ("book",), ("book", "--at", 100), ("book", "--until-closed")):
            with self.subTest(name=name, arguments=arguments):
                self.assert_not_found(name, name, "--instrument", "SYN10", *arguments)
        self.assert_not_found("state", "state", "--key", "SYN10", option="--key")

    def test_tail_of_a_running_bus_ends(self):
        publisher = self.start("publish", "publish", "--source", "synthetic:records=0,instruments=4", "--pace", 100)
        self.until_head(1)
        self.assert_not_found("tail", "tail", "--instrument", "SYN10")
        self.assert_not_found("book", "book", "--follow", "--instrument", "SYN10")
        self.assertTrue(publisher.alive())
        publisher.stop()

    def test_a_symbol_that_is_listed_without_a_number_has_a_sentence_of_its_own(self):
        self.publish_bytes(feed.metadata("trades", {}, ["AIG", "SPY"]) + feed.trade_of(1))
        listed = self.tail("AIG", expect=NOT_FOUND).err()
        self.assertIn("lists this symbol without an instrument number. Give the instrument's number as id:N",
                      listed)
        self.assertIn("has no symbols", self.tail("IBM", expect=NOT_FOUND).err())
        self.assertEqual(self.instruments_of("id:1"), [1])

    def test_a_bus_without_metadata_has_no_symbols(self):
        self.run_to_end("publish", "publish", "--source", "kv16:records=10,keys=5")
        self.assertIn("has no symbols", self.tail("AIG", expect=NOT_FOUND).err())


class LiveRecording(SymbolsTest):
    """A file as written by a venue's live client: the symbols are in separate records."""

    def content(self, records, *later):
        return (feed.metadata("mixed", {}, ()) + feed.news() + feed.mapping(SAMSUNG, 1001)
                + b"".join(records) + feed.news() + b"".join(later))

    def test_tail_record_and_publishing_again_have_its_symbols(self):
        self.publish_bytes(self.content([feed.trade_of(1001), feed.trade_of(5930, 1)], feed.mapping(HYNIX, 5930),
                                        feed.trade_of(5930, 2)))
        self.assertEqual(self.instruments_of(SAMSUNG), [1001])
        self.assertEqual(self.instruments_of(HYNIX), [5930, 5930])
        out, again = self.folder / "copy.dbn", str(self.folder / "again")
        self.run_to_end("record", "record", "--out", out, "--from", "start", "--until-closed")
        self.run_to_end("again", "publish", "--source", f"dbn:{out}", bus=again)
        self.assertEqual(self.instruments_of(HYNIX, bus=again), [5930, 5930])

    def test_a_stream_has_the_symbols_that_come_first(self):
        path = self.folder / "live.dbn"
        path.write_bytes(self.content([feed.trade_of(1001)], feed.mapping(HYNIX, 5930), feed.trade_of(5930, 1)))
        with open(path, "rb") as live:
            self.run_to_end("publish", "publish", "--source", "dbn:-", stdin=live)
        self.assertEqual(self.instruments_of(SAMSUNG), [1001])
        self.tail(HYNIX, expect=NOT_FOUND)

    def test_a_book_is_found_by_its_symbol(self):
        order = mbo.record(b"A", b"B", 100 * mbo.SCALE, 5, order_id=1, instrument=1001)
        self.publish_bytes(self.content([order]))
        book = self.run_to_end("book", "book", "--instrument", SAMSUNG)
        self.assertIn(SAMSUNG, book.out())


class OlderSessions(SymbolsTest):
    """Two feeds, one after another: each record keeps the symbols with which it was published."""

    def setUp(self):
        super().setUp()
        for number, (symbol, instrument) in enumerate(((SAMSUNG, 1001), (HYNIX, 1001), (SAMSUNG, 2002))):
            self.publish_bytes(feed.metadata("trades", {symbol: instrument, TOYOTA: 1003}, ())
                               + feed.trade_of(instrument, 2 * number) + feed.trade_of(1003, 2 * number + 1))

    def test_tail_shows_the_instrument_of_each_session(self):
        self.assertEqual(self.instruments_of(TOYOTA), [1003, 1003, 1003])
        self.assertEqual(self.instruments_of(SAMSUNG), [1001, 2002])
        gone = self.tail(HYNIX, expect=NOT_FOUND)  # as of the last session, after its records
        self.assertEqual(len(gone.out().splitlines()), 2)

    def test_a_series_has_a_file_for_each_feed_and_one_file_says_that_they_differ(self):
        self.run_to_end("series", "record", "--out", self.folder / "day.dbn", "--rotate-every", "1d", "--from",
                        "start", "--until-closed")
        files = sorted(self.folder.glob("day.0*.dbn"))
        self.assertEqual(len(files), 3)
        for number, (path, symbol) in enumerate(zip(files, (SAMSUNG, HYNIX, SAMSUNG), strict=True)):
            again = str(self.folder / f"again{number}")
            self.run_to_end("again", "publish", "--source", f"dbn:{path}", bus=again)
            self.assertEqual(self.instruments_of(symbol, bus=again), [(1001, 1001, 2002)[number]])
        for command, *options in (("record", "--from", "start", "--until-closed"), ("export",)):
            out = self.folder / f"{command}.dbn"
            one = self.run_to_end(command, command, "--out", out, *options)
            self.assertEqual(one.err().count("the symbols or the dataset of the feed have changed"), 2)
            self.assertIn(SAMSUNG.encode(), out.read_bytes()[:600])

    def test_a_range_of_a_session_is_exported_with_its_own_symbols(self):
        out, again = self.folder / "second.dbn", str(self.folder / "again")
        self.run_to_end("export", "export", "--out", out, "--first", 3, "--last", 4)
        self.run_to_end("again", "publish", "--source", f"dbn:{out}", bus=again)
        self.assertEqual(self.instruments_of(HYNIX, bus=again), [1001])

    def test_a_journal_that_is_published_again_says_that_its_feeds_differ(self):
        again = str(self.folder / "again")
        published = self.run_to_end("again", "publish", "--source", f"journal:{self.bus}", bus=again)
        self.assertIn("was published by feeds with different metadata", published.err())
        self.assertEqual(self.instruments_of(SAMSUNG, bus=again), [2002])


if __name__ == "__main__":
    unittest.main()
