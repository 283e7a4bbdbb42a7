"""Schemas and dtypes; Arrow, Polars and DLPack."""

import decimal
import json

import numpy as np
import polars
import pyarrow
import pytest

import lapwing
from quotes import QUOTE, SCHEMA, publisher, quotes

MIXED = np.dtype(
    [
        ("time", "<u8"),
        ("price", "<i8"),
        ("symbol", "S8"),
        ("side", "S1"),
        ("flags", "u1"),
        ("raw", "V3"),
        ("spare", "V3"),
    ]
)
MIXED_SCHEMA = lapwing.Schema.describe(
    "test.mixed", MIXED, time="time", prices=["price"], flags=["flags"], spare=["spare"]
)


def mixed_records():
    rows = np.zeros(2, MIXED)
    rows["time"] = [1_700_000_000_000_000_000, 2**64 - 1]
    rows["price"] = [2**63 - 1, 5_000_000_000]
    rows["symbol"] = [b"ESZ6", b"NQ"]
    rows["side"] = [b"B", b"A"]
    rows["raw"] = [b"\x01\x02\x03", b"\x00\x00\x00"]
    return lapwing.Records(rows, 1, MIXED_SCHEMA)


def test_a_shipped_schema_is_a_dtype_of_its_record():
    schema = lapwing.Schema.shipped("dbn.mbo")
    assert schema.record_bytes == schema.dtype.itemsize == 56
    assert schema.dtype["order_id"] == np.dtype("<u8")
    units = {field.name: field.unit for field in schema.fields}
    assert units["price"] == "price" and units["ts_event"] == "utc_ns"
    assert json.loads(schema.text)["name"] == schema.name


def test_an_unknown_schema_is_not_found():
    with pytest.raises(lapwing.NotFound):
        lapwing.Schema.shipped("dbn.nothing")


def test_what_python_describes_the_bus_gives_back(tmp_path):
    with publisher(tmp_path / "bus"):
        found = lapwing.Schema.of_bus(tmp_path / "bus")
    assert (found.name, found.version, found.fields) == ("test.quote", 1, SCHEMA.fields)
    assert found.dtype == QUOTE and found.hash != 0


def test_every_type_of_field_survives_the_bus(tmp_path):
    with lapwing.Publisher(tmp_path / "bus", schema=MIXED_SCHEMA) as opened:
        found = lapwing.Schema.of_bus(tmp_path / "bus")
        opened.publish(mixed_records().rows)
    assert found.fields == MIXED_SCHEMA.fields and found.dtype == MIXED
    with lapwing.History(tmp_path / "bus") as history:
        assert np.array_equal(history[1:3].rows, mixed_records().rows)


def test_a_field_that_no_record_has_is_refused():
    with pytest.raises(lapwing.Error, match="'when' is datetime64"):
        lapwing.Schema.describe("test.bad", np.dtype([("when", "M8[ns]")]))
    with pytest.raises(lapwing.Error, match="has no field 'prize'"):
        lapwing.Schema.describe("test.bad", QUOTE, prices=["prize"])


def test_arrow_has_a_column_a_field_and_null_for_what_is_absent():
    batch = mixed_records().to_arrow()
    assert batch.schema.names == ["time", "price", "symbol", "side", "flags", "raw"]
    assert batch.schema.field("time").type == pyarrow.timestamp("ns", tz="UTC")
    assert batch.schema.field("price").metadata == {b"unit": b"price", b"role": b"data"}
    assert batch.column("price").to_pylist() == [None, 5_000_000_000]
    assert batch.column("time").is_null().to_pylist() == [False, True]
    assert batch.column("symbol").to_pylist() == ["ESZ6", "NQ"]
    assert batch.column("raw").to_pylist() == [b"\x01\x02\x03", b"\x00\x00\x00"]


def test_prices_are_floats_or_decimals_on_request():
    records = mixed_records()
    floats = records.to_arrow(prices="float").column("price")
    assert floats.type == pyarrow.float64() and floats.to_pylist() == [None, 5.0]
    decimals = records.to_arrow(prices="decimal").column("price")
    assert decimals.to_pylist() == [None, decimal.Decimal("5.000000000")]
    rows = np.zeros(4, MIXED)
    rows["price"] = [-(2**63), -1, 0, 2**63 - 2]
    exact = lapwing.Records(rows, 1, MIXED_SCHEMA).to_arrow(prices="decimal").column("price")
    assert [int(each.scaleb(9)) for each in exact.to_pylist()] == rows["price"].tolist()
    with pytest.raises(lapwing.InvalidArgument, match="prices is 'double'; it can be: int, float"):
        records.to_arrow(prices="double")


def test_texts_end_at_the_first_zero_and_may_be_anything():
    dtype = np.dtype([("letter", "S1"), ("text", "S6")])
    schema = lapwing.Schema.describe("test.texts", dtype)
    texts = [b"", b"ab", b"abcdef", b"a\0b", "\u20acx".encode(), b"\xff\xfea"]
    for chosen in (texts, texts[:4], texts[2:3], []):
        rows = np.zeros(len(chosen), dtype)
        rows["text"] = chosen
        rows["letter"] = [text[:1] for text in chosen]
        batch = lapwing.Records(rows, 1, schema).to_arrow()
        batch.validate(full=True)
        assert batch.column("text").to_pylist() == [
            text.split(b"\0")[0].decode(errors="replace") for text in chosen
        ]
        assert batch.column("letter").to_pylist() == [
            text[:1].decode(errors="replace") for text in chosen
        ]
        assert batch.column("text").type == pyarrow.string()


def test_frames_of_mapped_and_of_many_rows_have_every_row(tmp_path):
    count = 100_000  # several blocks
    with publisher(tmp_path / "bus", segment_bytes=1 << 20) as opened:
        opened.publish(quotes(1, count))
        opened.flush()
        with lapwing.History(tmp_path / "bus") as history:
            assert isinstance(history[5:1000], lapwing.MappedRows)
            for records in (history[5:1000], history[:]):
                batch = records.to_arrow()
                batch.validate(full=True)
                assert batch.num_rows == len(records)
                for name in QUOTE.names[1:]:
                    assert np.array_equal(batch.column(name).to_numpy(), records.rows[name])
            assert len(history[-1:0].to_arrow()) == 0


def test_pandas_has_the_same_columns():
    frame = mixed_records().to_pandas()
    assert list(frame.columns) == ["time", "price", "symbol", "side", "flags", "raw"]
    assert frame["price"].dtype == "Int64" and frame["price"][1] == 5_000_000_000
    assert frame["price"].isna().tolist() == [True, False]
    assert str(frame["time"].dtype) == "datetime64[ns, UTC]"
    assert frame["time"].isna().tolist() == [False, True]
    assert (frame["symbol"] == "NQ").tolist() == [False, True]
    assert mixed_records().to_pandas(prices="float")["price"].tolist()[1] == 5.0
    rows = quotes(1, 5)
    assert np.array_equal(SCHEMA.rows(lapwing.Records(rows, 1, SCHEMA).to_pandas()), rows)


def test_polars_has_the_same_columns():
    frame = mixed_records().to_polars()
    assert frame.columns == ["time", "price", "symbol", "side", "flags", "raw"]
    assert frame["price"].to_list() == [None, 5_000_000_000]
    assert frame.schema["time"] == polars.Datetime("ns", "UTC")


def test_rows_without_a_schema_have_no_columns():
    with pytest.raises(lapwing.Error, match="have no schema"):
        lapwing.Records(np.zeros(1, "V8"), 1).to_arrow()


def test_a_column_that_is_not_there_is_answered_with_the_columns():
    with pytest.raises(lapwing.InvalidArgument, match="time, instrument, size, price"):
        lapwing.Records(quotes(1, 8), 1, SCHEMA).column("prize")


def test_a_column_goes_through_dlpack_without_a_copy():
    records = lapwing.Records(quotes(1, 8), 1, SCHEMA)
    taken = np.from_dlpack(records.column("price"))
    assert np.shares_memory(taken, records.rows) and taken.tolist() == list(range(1, 9))


def test_a_column_that_dlpack_cannot_describe_is_copied():
    rows = np.zeros(3, np.dtype({"names": ["n"], "formats": ["<u8"], "itemsize": 12}))
    rows["n"] = [1, 2, 3]
    column = lapwing.Records(rows, 1).column("n")
    assert not np.shares_memory(column, rows)
    assert np.from_dlpack(column).tolist() == [1, 2, 3]


def test_sequences_are_a_column():
    records = lapwing.Records(quotes(5, 3), 5, SCHEMA)
    assert records.sequences.tolist() == [5, 6, 7] and records.last == 7
