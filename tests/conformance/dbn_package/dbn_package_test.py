#!/usr/bin/env python3
"""Compares our DBN reader, writer and schemas with the package databento-dbn. Run it with run.sh.

LAPWING_BUILD_DIR contains the programs describe_dbn, feed_to_dbn and known_schemas.
LAPWING_TEST_DATA contains the real files.
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from collections import Counter
from datetime import date
from pathlib import Path
from types import SimpleNamespace

import databento_dbn as dbn
import zstandard

import compare_dbn
import record_classes

HERE = Path(__file__).resolve().parent
BUILD = Path(os.environ.get("LAPWING_BUILD_DIR", HERE.parents[2] / "build"))
PROGRAMS = BUILD / "tests" / "conformance" / "dbn_package"
DATA = os.environ.get("LAPWING_TEST_DATA")
UNDEFINED_NS = 2**64 - 1

# The bus's schema, and the number of its records in each real file.
FILES = {
    "esh4-glbx-mdp3-20231225.mbo.dbn.zst": 68_792,
    "esh4-glbx-mdp3-20231224.mbo.dbn.zst": 8_725,
    "futures_mbp-1_2024-07-01T23-58_2024-07-02T00-02.dbn.zst": 2_288,
    "futures_trades_2024-07-01T23-58_2024-07-02T00-02.dbn.zst": 120,
    "us-equities-20131007.trades.dbn.zst": 388_417,
}

needs_data = unittest.skipUnless(DATA, "LAPWING_TEST_DATA is not set: no real file was compared")


def run(program, *arguments):
    """The standard output of one of our programs, which must succeed."""
    command = [PROGRAMS / program, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise AssertionError(f"{program} {arguments}: {done.stderr}")
    return done.stdout


def date_number(date):
    return date.year * 10_000 + date.month * 100 + date.day


def described(path):
    """The package's description of a file, in the format of describe_dbn."""
    records = compare_dbn.decode(path)
    metadata = next(records)
    counts = Counter(f"{bytes(record)[1]}/{len(bytes(record))}" for record in records)
    mappings = {
        symbol: [
            [date_number(i["start_date"]), date_number(i["end_date"]), i["symbol"]]
            for i in intervals
        ]
        for symbol, intervals in metadata.mappings.items()
        if intervals
    }
    return {
        "version": metadata.version,
        "dataset": metadata.dataset,
        "schema": str(metadata.schema) if metadata.schema is not None else "mixed",
        "start": metadata.start,
        "end": metadata.end if metadata.end is not None else UNDEFINED_NS,
        "limit": metadata.limit or 0,
        "stype_in": int(metadata.stype_in) if metadata.stype_in is not None else 255,
        "stype_out": int(metadata.stype_out),
        "ts_out": metadata.ts_out,
        "symbols": metadata.symbols,
        "partial": metadata.partial,
        "not_found": metadata.not_found,
        "mappings": mappings,
        "records": dict(counts),
    }


class InTemporaryDirectory(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="lapwing-dbn-")
        self.addCleanup(directory.cleanup)
        self.directory = Path(directory.name)

    def assert_same(self, a, b, records):
        count, difference = compare_dbn.first_difference(str(a), str(b))
        self.assertIsNone(difference)
        self.assertEqual(count, records)


class Writing(InTemporaryDirectory):
    @needs_data
    def test_what_we_write_of_a_real_file_is_that_file(self):
        for name, records in FILES.items():
            source = Path(DATA) / name
            for out, part in (("raw.dbn", 0), ("one.dbn.zst", 0), ("many.dbn.zst", records // 3)):
                with self.subTest(name=name, out=out):
                    path = self.directory / f"{records}-{out}"
                    run("feed_to_dbn", f"dbn:{source}", path, part)
                    self.assert_same(source, path, records)

    def test_the_synthetic_flow_is_read_with_its_symbols(self):
        path = self.directory / "synthetic.dbn.zst"
        run("feed_to_dbn", "synthetic:records=50000,instruments=3", path, 20_000)
        records = compare_dbn.decode(str(path))
        metadata = next(records)
        self.assertEqual(metadata.dataset, "LAPWING.SYNTH")
        self.assertEqual(metadata.schema, dbn.Schema.MBO)
        self.assertEqual(metadata.symbols, ["SYN1", "SYN2", "SYN3"])
        self.assertEqual(metadata.mappings["SYN2"][0]["symbol"], "2")
        records = list(records)
        self.assertEqual(len(records), 50_000)
        self.assertTrue(all(isinstance(record, dbn.MBOMsg) for record in records))
        self.assertEqual({record.instrument_id for record in records}, {1, 2, 3})
        self.assertEqual({str(record.action) for record in records}, set("ACFMRT"))

    def test_several_frames_and_a_raw_file_hold_the_same(self):
        raw, frames = self.directory / "a.dbn", self.directory / "b.dbn.zst"
        run("feed_to_dbn", "synthetic:records=30000,seed=4", raw)
        run("feed_to_dbn", "synthetic:records=30000,seed=4", frames, 5_000)
        self.assert_same(raw, frames, 30_000)


class Reading(InTemporaryDirectory):
    @needs_data
    def test_we_understand_every_real_file_as_the_package_does(self):
        names = [*FILES, "definition-glbx-es-fut.dbn.zst"]
        for name in names:
            with self.subTest(name=name):
                path = str(Path(DATA) / name)
                self.assertEqual(json.loads(run("describe_dbn", path)), described(path))

    def test_we_understand_metadata_of_each_version_as_the_package_encodes_it(self):
        for version in record_classes.VERSIONS:
            for schema in (dbn.Schema.MBO, dbn.Schema.DEFINITION, None):
                with self.subTest(version=version, schema=schema):
                    path = self.directory / "metadata.dbn"
                    path.write_bytes(self.metadata(version, schema).encode())
                    self.assertEqual(json.loads(run("describe_dbn", path)), described(str(path)))

    @staticmethod
    def metadata(version, schema):
        interval = SimpleNamespace(
            start_date=date(2024, 1, 2), end_date=date(2024, 1, 3), symbol="17077"
        )
        mapping = SimpleNamespace(raw_symbol="ESH4", intervals=[interval, interval])
        return dbn.Metadata(
            version=version,
            dataset="XTST.BOOK",
            schema=schema,
            start=1_704_205_800_000_000_000,
            end=None if schema is None else 1_704_292_200_000_000_000,
            limit=None if schema is None else 12,
            stype_in=None if schema is None else dbn.SType.RAW_SYMBOL,
            stype_out=dbn.SType.INSTRUMENT_ID,
            symbols=["ESH4", "NQH4"],
            partial=["CLG4"],
            not_found=["XX"],
            mappings=[mapping],
        )


class Schemas(unittest.TestCase):
    """Our descriptions of DBN records match the package."""

    @classmethod
    def setUpClass(cls):
        schemas = map(json.loads, run("known_schemas").splitlines())
        cls.schemas = {(schema["name"], schema["version"]): schema for schema in schemas}

    def test_every_schema_of_the_package_is_described(self):
        names = {str(schema) for schema in dbn.Schema.variants()}
        self.assertEqual(set(record_classes.RECORD_CLASSES), names)

    def test_every_schema_is_described_in_every_version(self):
        described = set(self.schemas) - {("kv16", 1)}
        expected = {
            (f"dbn.{schema}", version) for schema, version, _ in record_classes.every_record_class()
        }
        self.assertEqual(described, expected)

    def test_fields_have_the_name_the_place_and_the_type_of_the_package(self):
        for schema, version, record_class in record_classes.every_record_class():
            with self.subTest(schema=schema, version=version):
                ours = self.schemas[f"dbn.{schema}", version]
                self.assertEqual(self.layout_of(ours), self.layout_in_package(record_class))
                self.assertEqual(ours["record_bytes"], record_class.size_hint)

    def test_prices_times_and_spare_bytes_are_those_of_the_package(self):
        for schema, version, record_class in record_classes.every_record_class():
            fields = self.schemas[f"dbn.{schema}", version]["fields"]
            with self.subTest(schema=schema, version=version):
                for unit, names in (
                    ("price", record_class._price_fields),
                    ("utc_ns", record_class._timestamp_fields),
                ):
                    ours = {f["name"] for f in fields if f.get("unit") == unit}
                    self.assertEqual(ours, set(names))
                spare = {f["name"] for f in fields if f.get("role") == "spare"}
                self.assertEqual(spare, set(record_class._hidden_fields) - {"length"})

    @staticmethod
    def layout_of(schema):
        """Each field except spare bytes: name, offset and numpy type."""
        numbers = {"int": "i", "uint": "u", "float": "f"}
        layout = []
        for field in schema["fields"]:
            if field.get("role") == "spare":
                continue
            kind = field["type"]
            if kind in ("char", "text"):
                dtype = f"S{field.get('bytes', 1)}"
            else:
                letters = kind.rstrip("0123456789")
                dtype = f"{numbers[letters]}{int(kind[len(letters):]) // 8}"
            layout.append((field["name"], field["offset"], dtype))
        return layout

    @staticmethod
    def layout_in_package(record_class):
        layout = record_classes.layout(record_class)
        return [field for field in layout if not record_classes.is_spare(field[0])]


class Comparing(InTemporaryDirectory):
    """Tests that compare_dbn.py can fail."""

    def setUp(self):
        super().setUp()
        self.original = self.directory / "original.dbn"
        run("feed_to_dbn", "synthetic:records=1000", self.original)

    def compare(self, changed):
        other = self.directory / "other.dbn"
        other.write_bytes(changed)
        return subprocess.run(
            [sys.executable, HERE / "compare_dbn.py", self.original, other],
            capture_output=True,
            text=True,
        )

    def test_equal_files_are_equal_whatever_their_compression(self):
        original = self.original.read_bytes()
        frames = b"".join(
            zstandard.compress(original[at : at + 10_000]) for at in range(0, len(original), 10_000)
        )
        for same in (original, frames):
            done = self.compare(same)
            self.assertEqual((done.returncode, done.stdout), (0, "1000 records equal\n"))

    def test_a_changed_byte_of_any_field_is_found(self):
        original = self.original.read_bytes()
        first = len(original) - 1000 * 56 + 499 * 56
        for field in (4, 8, 16, 24, 32, 40, 48, 52):  # all except length and type
            changed = bytearray(original)
            changed[first + field] ^= 1
            done = self.compare(bytes(changed))
            self.assertEqual(done.returncode, 1)
            self.assertIn("499 records equal, then they differ: record 500", done.stdout)

    def test_a_missing_or_additional_record_is_found(self):
        original = self.original.read_bytes()
        for changed in (original[:-56], original + original[-56:]):
            done = self.compare(changed)
            self.assertEqual(done.returncode, 1)
            self.assertIn("the other goes on", done.stdout)

    def test_other_metadata_is_found(self):
        changed = self.original.read_bytes().replace(b"LAPWING.SYNTH", b"LAPWING.OTHER")
        done = self.compare(changed)
        self.assertEqual(done.returncode, 1)
        self.assertIn("metadata", done.stdout)

    def test_a_file_that_ends_within_a_record_is_no_dbn_file(self):
        self.assertEqual(self.compare(self.original.read_bytes()[:-1]).returncode, 2)
        self.assertEqual(self.compare(b"something else altogether").returncode, 2)


if __name__ == "__main__":
    unittest.main(verbosity=2)
