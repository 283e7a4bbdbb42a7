#!/usr/bin/env python3
"""Compares every DBN schema in every version with the package databento-dbn. Prints a table.

    every_schema.py [SCHEMA…]

Each row is one version of a schema: a file written by the package (edge_records.py) and passed
through a bus. A cell contains `equal` or `DIFFERS`; the first difference follows the table. The
last column marks contradictions within the package, which are described below the table.

  in    the records in the bus's journal equal those of the file, byte by byte
  out   the files of `lapwing export` and `lapwing record` equal the package's file, byte by byte,
        and the package reads the same records in them
  text  `lapwing tail` shows every field of every record with the package's name and value
  json  the same of `lapwing tail --format json`
  csv   the same of `lapwing tail --format csv`

shown_fields.py defines the package's value for each shown value, with reasons. every_schema.sh
creates the environment. LAPWING_BIN is the program. Exit: 0 all equal, 1 a difference.
"""

import csv
import importlib.metadata
import itertools
import json
import pathlib
import struct
import subprocess
import sys
import tempfile

TESTS = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(TESTS / "conformance" / "dbn_package"), str(TESTS / "end_to_end")]
import databento_dbn as dbn  # noqa: E402

import compare_dbn  # noqa: E402
import edge_records  # noqa: E402
import harness  # noqa: E402
import record_classes  # noqa: E402
import shown_fields  # noqa: E402

CAPACITY = 1024  # slots of the ring
SEGMENT_BYTES = 65536  # minimum size of the journal's files
SEGMENT_HEADER_BYTES = 4096
SEGMENT_FIELDS = struct.Struct("<QQII")  # first sequence, slots, bytes per slot and per record
SEGMENT_FIELDS_AT = 40
STAMP = struct.Struct("<Q")


class Differs(Exception):
    """A difference from the package."""


class Bus:
    """A closed bus that contains a file's records."""

    def __init__(self, folder, source):
        self.folder = folder
        self.run("publish", "--source", f"dbn:{source}", "--capacity", CAPACITY, "--segment-bytes",
                 SEGMENT_BYTES)

    def run(self, command, *options):
        """The output of the command, which must succeed."""
        done = subprocess.run(
            [harness.program(), command, "--bus", self.folder / "bus", *map(str, options)],
            capture_output=True, text=True, timeout=harness.HANG_SECONDS, check=False)
        if done.returncode != 0:
            raise Differs(f"lapwing {command} ended with {done.returncode}: {done.stderr}")
        return done.stdout

    def tail(self, form):
        return self.run("tail", "--from", "start", "--until-closed", "--format", form).splitlines()

    def journal(self):
        """Yields each record of the journal, at the positions in docs/reference/file-formats.md."""
        for path in sorted((self.folder / "bus" / "journal").glob("*/*.jnl")):
            segment = path.read_bytes()
            first, slots, slot_bytes, record_bytes = SEGMENT_FIELDS.unpack_from(
                segment, SEGMENT_FIELDS_AT)
            for slot in range(slots):
                at = SEGMENT_HEADER_BYTES + slot * slot_bytes
                if STAMP.unpack_from(segment, at) == (2 * (first + slot),):
                    yield segment[at + STAMP.size:][:record_bytes]


class Row:
    """One version of a schema: the package's file, the package's records, and the bus."""

    def __init__(self, schema, version, folder):
        self.folder = folder
        self.path = folder / "edges.dbn"
        self.records = edge_records.edge_records(schema, version)
        self.file = edge_records.edge_file(schema, version)
        self.path.write_bytes(self.file)
        compressed = folder / "edges.dbn.zst"
        compressed.write_bytes(edge_records.transcoded(
            self.file, dbn.Encoding.DBN, compression=dbn.Compression.ZSTD))
        self.bus = Bus(folder, compressed)

    def shown(self):
        """Yields, for each record, the fields that must be shown."""
        _, *records = compare_dbn.decode(self.path)
        lines = [map(shown_fields.fields_in_json, self.lines_of_package(pretty))
                 for pretty in (False, True)]
        for record, plain, pretty in zip(records, *lines, strict=True):
            yield list(shown_fields.shown_fields(record, plain, pretty))

    def lines_of_package(self, pretty):
        content = edge_records.transcoded(self.file, dbn.Encoding.JSON, pretty=pretty)
        return content.decode().removesuffix("\n").split("\n")

    def check_in(self):
        require_equal(self.records, self.bus.journal(), lambda record, other: record.hex())

    def check_out(self):
        raw, compressed = self.folder / "out.dbn", self.folder / "out.dbn.zst"
        self.bus.run("export", "--out", raw)
        self.bus.run("record", "--from", "start", "--until-closed", "--out", compressed)
        for path in (raw, compressed):
            _, difference = compare_dbn.first_difference(str(self.path), str(path))
            if difference is not None:
                raise Differs(difference)
            with compare_dbn.open_decoded(path) as stream:
                if stream.read() != self.file:
                    raise Differs(f"{path.name}: other bytes of the same records or metadata")

    def check_text(self):
        lines = [f"{number:12}  " + " ".join(f"{field.name}={field.text}" for field in fields)
                 for number, fields in enumerate(self.shown(), 1)]
        require_equal(lines, self.bus.tail("text"))

    def check_json(self):
        lines = ([("seq", number)] + [(field.name, field.json) for field in fields]
                 for number, fields in enumerate(self.shown(), 1))
        shown = (list(json.loads(line, parse_float=str).items())  # no number has a fraction
                 for line in self.bus.tail("json"))
        require_equal(lines, (fields for fields in shown if fields[0][0] != "event"))

    def check_csv(self):
        records = list(self.shown())
        header = ["seq"] + [field.name for field in records[0]]
        rows = [[str(number)] + [field.csv for field in fields]
                for number, fields in enumerate(records, 1)]
        require_equal([header, *rows], csv.reader(self.bus.tail("csv")))


COLUMNS = {"in": Row.check_in, "out": Row.check_out, "text": Row.check_text,
           "json": Row.check_json, "csv": Row.check_csv}


def unlike(shown, other):
    """The parts of a line, a text or a list, that differ from the other line."""
    parts, others = (line.split(" ") if isinstance(line, str) else line for line in (shown, other))
    return [part for part, of_other in itertools.zip_longest(parts, others) if part != of_other]


def require_equal(expected, found, shown=unlike):
    """Compares two series of records or lines. Reports the first difference."""
    nothing = object()
    for number, (a, b) in enumerate(itertools.zip_longest(expected, found, fillvalue=nothing), 1):
        if a is nothing or b is nothing:
            raise Differs(f"{number - 1} are equal, and then {'less' if b is nothing else 'more'}"
                          " than the package has")
        if a != b:
            raise Differs(f"number {number}\n  the package: {shown(a, b)}\n"
                          f"  Lapwing:     {shown(b, a)}")


def cells(schema, version):
    """The results of a row: for each column None, or the difference."""
    with tempfile.TemporaryDirectory(prefix="lapwing-edges-") as folder:
        try:
            row = Row(schema, version, pathlib.Path(folder))
        except Differs as difference:
            return {column: str(difference) for column in COLUMNS}
        found = {}
        for column, check in COLUMNS.items():
            try:
                found[column] = check(row)
            except (Differs, compare_dbn.NotDbn) as difference:
                found[column] = str(difference)
        return found


def main():
    every = [str(schema) for schema in dbn.Schema.variants()]
    chosen = sys.argv[1:] or every
    if not set(chosen) <= set(every):
        print(f"every_schema: the schemas are {', '.join(every)}", file=sys.stderr)
        return 2
    try:
        harness.program()
    except RuntimeError as error:
        print(f"every_schema: {error}", file=sys.stderr)
        return 1
    print(f"databento-dbn {importlib.metadata.version('databento-dbn')}\n")
    print(" ".join(["schema       version ", *(f"{column:8}" for column in COLUMNS), "odd"]))
    differences = {}
    for schema, version in itertools.product(chosen, record_classes.VERSIONS):
        row = cells(schema, version)
        outcomes = (f"{'DIFFERS' if row[column] else 'equal':8}" for column in COLUMNS)
        oddities = shown_fields.oddities(record_classes.record_class(schema, version))
        print(" ".join([f"{schema:12} {version:7} ", *outcomes, *oddities]), flush=True)
        differences.update(
            {(schema, version, column): text for column, text in row.items() if text})
    print("\nWhere the package is odd, and Lapwing is held against its other form of the value:")
    for oddity, text in shown_fields.ODDITIES.items():
        print(f"  {oddity}  {text}")
    for cell, difference in differences.items():
        print(f"\n{' '.join(map(str, cell))}: {difference}")
    of_all = len(chosen) * len(record_classes.VERSIONS) * len(COLUMNS)
    print(f"\n{of_all - len(differences)} passed, {len(differences)} failed, 0 skipped")
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
