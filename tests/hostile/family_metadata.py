"""Crafted DBN metadata in a source and, with a correct hash, in a bus.

Readers end within their limits. If the metadata can be parsed, `tail --instrument` shows exactly
the records of the symbol's instruments.
"""

import csv
import dataclasses
import datetime
import os
import struct

import bases
import bus_files
import dbn_files
import expected_records
from xxh3 import xxh3_64

NAME = "metadata"
WEIGHT = 3
TRIALS_MIN = 12
INSTRUMENTS = (1, 2, 3)
INSTRUMENT_TEXTS = tuple(map(str, INSTRUMENTS))
DAYS = 4
RECORDS = 24
NAMES = ("AAA", "BBB", "005930", "7")
DATES = (0, 1, 20231231, 20240102, 20240103, 20240104, 20240105, 20240106, 20240199, 20250101,
         99991231, (1 << 32) - 1)
HUGE_BYTES = 63 << 20  # the program reads at most 64 MiB of metadata
PARSED = 0  # exit code of a reader that used the metadata


def date_of(utc_ns):
    date = datetime.datetime.fromtimestamp(utc_ns // 1_000_000_000, datetime.timezone.utc)
    return date.year * 10_000 + date.month * 100 + date.day


class Model:
    """The meaning of symbols (include/lapwing/symbols.h). Each mapping is valid from its first date
    to the day before its end. If there are several, the one with the latest start counts, even on
    dates outside all of them."""

    def __init__(self, mappings):
        self.all = [(symbol, int(target), first, end) for symbol, intervals in mappings
                    for first, end, target in intervals if target.isdigit()]

    @staticmethod
    def _newest(mappings, date):
        """The last mapping that is valid on that date, otherwise the last one."""
        ordered = sorted(mappings, key=lambda mapping: mapping[2])  # stable
        if len(ordered) == 1:
            return ordered[0]
        holding = [mapping for mapping in ordered if mapping[2] <= date < mapping[3]]
        return (holding or ordered)[-1]

    def knows(self, symbol):
        return any(mapping[0] == symbol for mapping in self.all)

    def stands_for(self, symbol, instrument, date):
        of_symbol = [mapping for mapping in self.all if mapping[0] == symbol]
        if not of_symbol or self._newest(of_symbol, date)[1] != instrument:
            return False
        names = {mapping[0] for mapping in self.all
                 if mapping[1] == instrument and mapping[2] <= date < mapping[3]}
        return symbol in names or not names


class Family:
    def __init__(self, world):
        self.world = world

    def trial(self, trial):
        cases = (self.dates, self.wrong_counts, self.huge, self.dates, self.flipped,
                 self.file_beside_the_bus)
        return cases[trial.number % len(cases)](trial)

    # Creation of the bus

    def _records(self):
        return [dbn_files.trade(n, INSTRUMENTS[n % len(INSTRUMENTS)],
                                dbn_files.START_NS + n * DAYS // RECORDS * dbn_files.DAY_NS)
                for n in range(RECORDS)]

    def _publish(self, trial, metadata, name="bus"):
        """A bus with the records of a file that has this metadata, and the command's outcome."""
        bus = bases.Bus(trial.folder, name, "dbn.trades", expected_records.Expected())
        bus.directory = trial.folder / name
        source = trial.folder / f"{name}.dbn"
        source.write_bytes(metadata + b"".join(self._records()))
        return bus, trial.run("publish", "--bus", bus.directory, "--source", f"dbn:{source}",
                              *bases.SEGMENT, "--summary")

    def _place(self, trial, metadata):
        """A bus whose session contains crafted metadata, with the correct hash and valid sums. In
        half of the cases a publisher writes them, if it accepts them."""
        if trial.rng.random() < 0.5:
            bus, published = self._publish(trial, metadata, "crafted")
            if published.code == 0:
                return bus
            trial.note("the publisher refuses the metadata")
        bus, published = self._publish(trial, dbn_files.Metadata().encode())
        self.world.bases.sure(published)
        hash_of = xxh3_64(metadata) or 1
        kept = bus.directory / "journal" / "metadata" / f"{hash_of:016x}.dbn"
        kept.write_bytes(metadata)
        os.chmod(kept, 0o600)
        bus_files.edit_sessions(bus.directory / "journal", lambda entries: entries[0],
                                {"metadata_hash": hash_of})
        return bus

    # Checks of the bus

    def _readers(self, trial, bus):
        """All readers that parse or copy metadata."""
        at = ("--bus", bus.directory)
        ends = ("--until-closed", "--reattach", "0")
        symbol = trial.rng.choice(NAMES)
        out = trial.folder / "out.dbn"
        lines = [("tail", *at, "--from", "start", *ends, "--instrument", symbol),
                 ("export", *at, "--out", out, "--summary"),
                 ("record", *at, "--from", "start", "--out", trial.folder / "recorded.dbn", *ends),
                 ("record", *at, "--from", "start", "--out", trial.folder / "series.dbn", *ends,
                  "--rotate-every", "1d"),
                 ("info", *at), ("verify", *at), ("state", *at, "--key", symbol),
                 ("checkpoint", *at, "--fold", "latest", *ends),
                 ("tail", *at, "--from", "snapshot", *ends, "--instrument", symbol),
                 ("publish", "--bus", trial.folder / "again", "--source",
                  f"journal:{bus.directory}")]
        trial.rng.shuffle(lines)
        for line in lines:
            trial.run(*line)
        shown = trial.run("tail", *at, "--from", "start", *ends, "--format", "csv")
        rows = list(csv.DictReader(shown.out.decode(errors="replace").splitlines()))
        if len(rows) != RECORDS:
            trial.found(f"`tail` without symbols shows {len(rows)} of {RECORDS} records")
        content = b"".join(self._records())
        if out.exists() and not out.read_bytes().endswith(content):
            trial.found("`export` wrote other records than those published")

    def _symbols(self, trial, bus, model):
        """Checks the instruments of each symbol on each day."""
        for symbol in NAMES:
            outcome = trial.run("tail", "--bus", bus.directory, "--from", "start", "--until-closed",
                                "--reattach", "0", "--format", "csv", "--instrument", symbol)
            rows = csv.DictReader(outcome.out.decode(errors="replace").splitlines())
            shown = [int(row["sequence"]) for row in rows]
            due = []
            for n, record in enumerate(self._records()):
                instrument, = struct.unpack_from("<I", record, 4)
                ts_recv, = struct.unpack_from("<Q", record, dbn_files.TS_RECV.start)
                if model.stands_for(symbol, instrument, date_of(ts_recv)):
                    due.append(n)
            if not model.knows(symbol):
                if outcome.code == PARSED or shown:
                    trial.found(f"`tail --instrument {symbol}` found an unknown symbol")
            elif outcome.code != PARSED or shown != due:
                trial.found(f"`tail --instrument {symbol}` ended with {outcome.code}, with the "
                            f"records {shown} instead of {due}")

    # Crafted metadata

    def _mappings(self, rng, targets=INSTRUMENT_TEXTS):
        return tuple((rng.choice(NAMES), tuple(
            (rng.choice(DATES), rng.choice(DATES), rng.choice(targets))
            for _ in range(rng.choice((0, 1, 1, 2, 3, 6))))) for _ in range(rng.randint(0, 6)))

    def dates(self, trial):
        """Valid metadata: intervals that overlap, are empty, end before they begin, or have invalid
        dates; symbols that share an instrument; targets that are not numbers."""
        targets = INSTRUMENT_TEXTS * 3 + ("", "x", "4294967295")
        mappings = self._mappings(trial.rng, targets)
        trial.note(f"mappings {mappings}")
        bus = self._place(trial, dbn_files.Metadata(symbols=NAMES, mappings=mappings).encode())
        self._symbols(trial, bus, Model(mappings))
        self._readers(trial, bus)

    def wrong_counts(self, trial):
        """Counts and lengths that do not match the data."""
        rng = trial.rng
        numbers = (0, 1, 2, 3, 70, 71, 72, 1 << 16, 1 << 24, 1 << 31, (1 << 32) - 1)
        changes = dict(rng.choice((
            {"counts": {rng.choice(("symbols", "partial", "not_found", "mappings", "intervals")):
                        rng.choice(numbers)}},
            {"length_change": rng.choice((-8, -1, 1, 8, 4096, 1 << 26, 1 << 31))},
            {"symbol_bytes": rng.choice((0, 1, 2, 22, 70, 72, 65535))},
            {"definition_bytes": rng.choice(numbers)}, {"version": rng.choice((0, 1, 2, 4, 255))},
            {"stype_in": rng.choice((0, 1, 7, 255)), "stype_out": rng.choice((0, 1, 7, 255))},
            {"dataset": b"\xff\x1b[31m\x9b" * 4},
            {"symbols": (b"\x1b[31mred", b"\0", b"\xff" * 71)},
            {"mappings": ((b"\x1b]0;title\x07", ((20240101, 20250101, b"1"),)),)})))
        trial.note(f"metadata with {changes}")
        metadata = dataclasses.replace(dbn_files.Metadata(), **changes)
        self._readers(trial, self._place(trial, metadata.encode()))

    def huge(self, trial):
        """The largest possible metadata, with the maximum number of symbols, mappings or intervals,
        in an order that is slow to sort."""
        what = trial.rng.choice(("symbols", "mappings", "intervals", "intervals",
                                 "names of one letter"))
        size = trial.rng.choice((1 << 20, 8 << 20, HUGE_BYTES))
        trial.note(f"{size} bytes of {what}")
        if what == "names of one letter":
            metadata = dbn_files.Metadata(symbols=(b"A",) * (size - 4096), symbol_bytes=1)
        elif what == "symbols":
            metadata = dbn_files.Metadata(symbols=tuple(
                b"%d" % n for n in range((size - 4096) // dbn_files.SYMBOL_BYTES)))
        elif what == "mappings":
            interval = ((20240101, 20250101, b"1"),)
            metadata = dbn_files.Metadata(mappings=tuple(
                (b"S%d" % n, interval) for n in range((size - 4096) // 154)))
        else:
            count = (size - 4096) // 79
            metadata = dbn_files.Metadata(mappings=(("AAA", tuple(
                (count - n, count - n + 1, b"%d" % (n % trial.rng.choice((1, 3, 1 << 31)) + 1))
                for n in range(count))),))
        self._readers(trial, self._place(trial, metadata.encode()))

    def flipped(self, trial):
        """Valid metadata with randomly changed bytes and a correct hash."""
        mappings = self._mappings(trial.rng)
        content = bytearray(dbn_files.Metadata(symbols=NAMES, mappings=mappings).encode())
        for _ in range(trial.rng.choice((1, 2, 8))):
            at = trial.rng.randrange(len(content))
            content[at] = trial.rng.choice((0, 1, 0x7f, 0x80, 0xff, trial.rng.randrange(256)))
        if trial.rng.random() < 0.3:
            del content[trial.rng.randrange(len(content)):]
        if trial.rng.random() < 0.2:
            content += trial.rng.randbytes(trial.rng.choice((1, 8, 4096)))
        trial.note(f"{len(content)} bytes of metadata, changed")
        self._readers(trial, self._place(trial, bytes(content)))

    def file_beside_the_bus(self, trial):
        """Replaces the bus's `metadata.dbn`. The session's own metadata must be used."""
        mappings = self._mappings(trial.rng)
        metadata = dbn_files.Metadata(symbols=NAMES, mappings=mappings)
        bus, published = self._publish(trial, metadata.encode())
        self.world.bases.sure(published)
        other = dbn_files.Metadata(mappings=tuple((name, ((0, 99991231, "2"),)) for name in NAMES))
        (bus.directory / "metadata.dbn").write_bytes(trial.rng.choice((
            other.encode(), b"", b"DBN", trial.rng.randbytes(200), b"DBN\x03\xff\xff\xff\xff")))
        trial.note("metadata.dbn was replaced")
        self._symbols(trial, bus, Model(mappings))
        self._readers(trial, bus)
