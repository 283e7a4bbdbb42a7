"""Arrays passed to a call must have the bus's fields. Frames are converted to such arrays."""

import ctypes
import datetime
import decimal

import numpy as np
import polars
import pyarrow
import pytest

import lapwing
from lapwing.schema import PRICE_NONE
from quotes import QUOTE, SCHEMA, follower, publisher, quotes

OTHERS = {
    "another order": (
        [("time", "<u8"), ("size", "<u4"), ("instrument", "<u4"), ("price", "<i8")],
        "column instrument is at offset 12, and the bus has it at 8",
    ),
    "big-endian": (
        [("time", ">u8"), ("instrument", ">u4"), ("size", ">u4"), ("price", ">i8")],
        "column time is >u8, and the bus has <u8",
    ),
    "floats": (
        [("time", "<u8"), ("instrument", "<u4"), ("size", "<u4"), ("price", "<f8")],
        "column price is <f8, and the bus has <i8",
    ),
    "unsigned": (
        [("time", "<u8"), ("instrument", "<u4"), ("size", "<u4"), ("price", "<u8")],
        "column price is <u8, and the bus has <i8",
    ),
    "other names": (
        [("ts", "<u8"), ("instrument", "<u4"), ("size", "<u4"), ("price", "<i8")],
        "they have no column time",
    ),
    "one more": (
        [("time", "<u8"), ("instrument", "<u4"), ("size", "<u4"), ("price", "<i8"), ("x", "<i8")],
        "column x is not a field of the bus",
    ),
    "longer rows": (
        {
            "names": ["time", "instrument", "size", "price"],
            "formats": ["<u8", "<u4", "<u4", "<i8"],
            "itemsize": 32,
        },
        "a row has 32 bytes, and a record 24",
    ),
    "a datetime": (
        [("time", "<M8[ns]"), ("instrument", "<u4"), ("size", "<u4"), ("price", "<i8")],
        "column time is <M8",
    ),
}
HOLDERS = {
    "array": lambda rows: rows,
    "record array": lambda rows: rows.view(np.recarray),
    "one row": lambda rows: rows[0],
    "memoryview": memoryview,
}


# NumPy arrays of times have no memoryview.
FORMS = [
    (other, holder)
    for other in OTHERS
    for holder in HOLDERS
    if (other, holder) != ("a datetime", "memoryview")
]


@pytest.mark.parametrize(("other", "holder"), FORMS)
def test_rows_of_other_fields_are_refused_by_name(tmp_path, other, holder):
    dtype, why = OTHERS[other]
    rows = np.zeros(2, np.dtype(dtype))
    with publisher(tmp_path / "bus", journal=False) as opened:
        for _ in range(2):  # a refused dtype is not remembered as accepted
            with pytest.raises(lapwing.Error, match=why) as raised:
                opened.publish(HOLDERS[holder](rows))
            assert raised.value.name == "record-size" and "Schema.rows(frame)" in str(raised.value)
        assert opened.inspect().head == 0
        assert opened.publish(quotes(1, 2)) == 2
        with pytest.raises(lapwing.Error, match=why):
            opened.publish(HOLDERS[holder](rows))
        assert opened.inspect().head == 2


def test_rows_of_the_fields_are_taken_in_each_form(tmp_path):
    class Quote(ctypes.LittleEndianStructure):
        _fields_ = [
            ("time", ctypes.c_uint64), ("instrument", ctypes.c_uint32),
            ("size", ctypes.c_uint32), ("price", ctypes.c_int64),
        ]  # fmt: skip

    rows = quotes(1, 1)
    forms = [
        rows, rows[0], rows.view(np.recarray), memoryview(rows), np.array(rows, QUOTE, copy=True),
        rows.tobytes(), bytearray(rows.tobytes()), memoryview(rows.tobytes()), rows.view("V24"),
        rows.view("u1"), rows.view("u1").reshape(1, 24), Quote(*rows[0].tolist()),
        (Quote * 1)(Quote(*rows[0].tolist())),
    ]  # fmt: skip
    with publisher(tmp_path / "bus") as opened:
        for number, form in enumerate(forms, 1):
            assert opened.publish(form) == number
    with lapwing.History(tmp_path / "bus") as history:
        assert history[1 : len(forms) + 1].rows.tolist() == rows.tolist() * len(forms)


def test_numbers_without_fields_are_taken_only_by_a_bus_of_that_one_field(tmp_path):
    one = lapwing.Schema.describe("test.one", np.dtype([("price", "<i8")]), prices=["price"])
    with lapwing.Publisher(tmp_path / "one", schema=one, journal=False) as opened:
        assert opened.publish(np.zeros(2, "<i8")) == 2
        for other in ("<f8", "<u8", ">i8", "<M8[ns]"):
            with pytest.raises(lapwing.Error, match="without fields"):
                opened.publish(np.zeros(2, other))
    with lapwing.Publisher(tmp_path / "plain", record_bytes=8, journal=False) as opened:
        assert opened.publish(np.zeros(2, "<f8")) == 2  # without a schema, any memory is accepted


def test_a_shipped_schema_is_checked_too(tmp_path):
    mbo = lapwing.Schema.shipped("dbn.mbo")
    members = [(field.name, field.format) for field in reversed(mbo.fields)]
    with lapwing.Publisher(tmp_path / "bus", schema_name="dbn.mbo", journal=False) as opened:
        assert opened.publish(np.zeros(1, mbo.dtype)) == 1
        with pytest.raises(lapwing.Error, match="at offset"):
            opened.publish(np.zeros(1, np.dtype(members)))


def test_memory_to_read_into_has_the_fields_of_the_bus(bus):
    swapped = np.zeros(8, np.dtype(OTHERS["another order"][0]))
    with follower(bus) as subscriber:
        assert subscriber.read_into(swapped).kind == "session"  # an event needs no memory
        for call in (subscriber.read_into, lambda memory: subscriber.read_one(memory[:1])):
            with pytest.raises(lapwing.RecordSize, match="instrument is at offset 12"):
                call(swapped)
        rows = np.zeros(8, QUOTE)
        assert np.array_equal(subscriber.read_into(rows).rows, quotes(1, 8))
        row = np.zeros(1, QUOTE)
        assert subscriber.read_one(row) == 9 and row["price"] == 9
        assert subscriber.read_one(bytearray(24)) == 10
    with lapwing.History(bus) as history:
        with pytest.raises(lapwing.Error, match="instrument is at offset 12"):
            history.read_into(swapped, 1)
        assert len(history.read_into(np.zeros(8, QUOTE), 1)) == 8
        assert len(history.read_into(bytearray(240), 1)) == 10


def test_books_take_orders_of_other_fields_from_nobody():
    mbo = lapwing.Schema.shipped("dbn.mbo")
    swapped = np.zeros(1, np.dtype([(f.name, f.format) for f in reversed(mbo.fields)]))
    with lapwing.Books() as books:
        with pytest.raises(lapwing.RecordSize, match="are not records of dbn.mbo"):
            books.take(lapwing.Records(swapped, 1))
        with pytest.raises(TypeError, match="item is of ndarray"):
            books.take(swapped)


# ---- Schema.rows


def columns(**changed):
    """Columns in a different order than the fields."""
    frame = {"price": [101, 102], "size": [1, 2], "time": [5, 6], "instrument": [7, 8]}
    return frame | changed


EXPECTED = [(5, 7, 1, 101), (6, 8, 2, 102)]


def structured():
    names = ["price", "size", "time", "instrument"]
    rows = np.zeros(2, [(name, ">i8") for name in names])
    for name in names:
        rows[name] = columns()[name]
    return rows


class Frame:
    """A minimal substitute for a pandas DataFrame: columns, and items that are arrays."""

    def __init__(self, data):
        self.columns = list(data)
        self._data = data

    def __getitem__(self, name):
        return np.asarray(self._data[name])


FRAMES = {
    "dict": columns,
    "dict of arrays": lambda: {name: np.array(values) for name, values in columns().items()},
    "pandas": lambda: Frame(columns()),
    "polars": lambda: polars.DataFrame(columns()),
    "pyarrow table": lambda: pyarrow.table(columns()),
    "pyarrow batch": lambda: pyarrow.RecordBatch.from_pydict(columns()),
    "structured array": structured,
    "whole floats": lambda: columns(price=[101.0, 102.0], size=np.array([1, 2], "f4")),
    "small types": lambda: columns(size=np.array([1, 2], "i1"), instrument=np.array([7, 8], ">u2")),
    "objects": lambda: columns(time=np.array([5, 6], object)),
}


@pytest.mark.parametrize("frame", FRAMES)
def test_rows_are_made_of_columns_by_their_names(frame, tmp_path):
    rows = SCHEMA.rows(FRAMES[frame]())
    assert rows.dtype == QUOTE and rows.tolist() == EXPECTED
    with publisher(tmp_path / "bus", journal=False) as opened:
        assert opened.publish(rows) == 2


def test_what_to_arrow_and_to_polars_give_becomes_the_same_rows():
    rows = quotes(1, 5)
    records = lapwing.Records(rows, 1, SCHEMA)
    assert np.array_equal(SCHEMA.rows(records.to_arrow()), rows)
    assert np.array_equal(SCHEMA.rows(records.to_polars()), rows)


REFUSED = {
    "missing": ({"price": [1], "size": [1], "time": [1]}, "no column instrument, which test.quote"),
    "unknown": (columns(bid=[1, 2]), "column bid, which test.quote does not have"),
    "of another length": (columns(size=[1]), "column size has 1 rows, and column price has 2"),
    "a fraction": (columns(price=[1.0, 1.5]), "price has 1.5 in row 1, which is not a whole"),
    "NaN": (columns(price=[float("nan"), 1.0]), "price has nan in row 0, which is not a number"),
    "infinite": (columns(price=[1.0, float("inf")]), "row 1, which is not a number"),
    "a large float": (columns(time=[1.7e18, 1.0]), "lost its last digits"),
    "negative": (columns(size=[1, -1]), "size has -1 in row 1, which does not fit into uint32"),
    "large": (columns(size=[1, 2**32]), "does not fit into uint32"),
    "larger than any": (columns(price=[1, 2**63]), "does not fit into int64"),
    "text": (columns(price=["1", "2"]), "and the field is int64"),
    "a decimal": (columns(price=[decimal.Decimal(1), 2]), "has Decimal"),
    "None": (columns(price=[1, None]), "has None in row 1"),
    "NaT": (columns(time=np.array(["2024-01-02", "NaT"], "M8[ns]")), "time has NaT in row 1"),
    "times as prices": (columns(price=np.array([1, 2], "M8[ns]")), "price has times"),
    "durations": (columns(time=np.array([1, 2], "m8[ns]")), "is of timedelta64"),
    "masked": (columns(size=np.ma.array([1, 2], mask=[0, 1])), "size has masked values"),
    "absent": (pyarrow.table(columns(price=[1, None])), "price has 1 absent values"),
    "absent in Polars": (polars.DataFrame(columns(price=[1, None])), "price has 1 absent values"),
    "two-dimensional": (columns(price=np.zeros((2, 2))), "has the shape"),
    "an array without fields": (np.zeros(2), "has no columns"),
    "numbered": ({0: [1]}, "Give names that are texts"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_frame_that_would_lose_something_is_refused(case):
    frame, why = REFUSED[case]
    with pytest.raises(lapwing.Error) as raised:
        SCHEMA.rows(frame)
    assert why in str(raised.value) and raised.value.name == "invalid-argument"
    with pytest.raises(TypeError, match="frame is of list. Give a DataFrame"):
        SCHEMA.rows([1, 2])


def test_times_of_any_unit_become_ns():
    moment = datetime.datetime(2024, 1, 2, 14, 30)
    expected = 1_704_205_800_000_000_000
    for unit in ("s", "ms", "us", "ns", "m"):
        times = np.array([moment, moment], f"M8[{unit}]")
        assert SCHEMA.rows(columns(time=times))["time"].tolist() == [expected] * 2
    table = pyarrow.table(columns(time=pyarrow.array([moment] * 2, pyarrow.timestamp("us", "UTC"))))
    assert SCHEMA.rows(table)["time"].tolist() == [expected] * 2
    with pytest.raises(lapwing.Error, match="out of the range of ns"):
        SCHEMA.rows(columns(time=np.array([0, 2**62], "M8[s]")))


def test_all_types_of_fields_are_made_of_columns():
    members = ["f4:<f4", "f8:<f8", "u1:u1", "letter:S1", "text:S4", "raw:V2"]
    dtype = np.dtype([tuple(member.split(":")) for member in members])
    schema = lapwing.Schema.describe("test.types", dtype)
    frame = {
        "f4": [0.5, float("nan")], "f8": [0.1, 2], "u1": [1, 255], "letter": ["B", b"A"],
        "text": ["\u20ac", "ab"], "raw": [b"\x01\x00", b"ab"],
    }  # fmt: skip
    rows = schema.rows(frame)
    assert rows["f8"].tolist() == [0.1, 2.0] and rows["f4"][0] == 0.5 and np.isnan(rows["f4"][1])
    assert rows["text"].tolist() == ["\u20ac".encode(), b"ab"]
    assert rows["raw"].tolist() == [b"\x01\x00", b"ab"]
    turned = rows[["raw", "text", "letter", "u1", "f8", "f4"]]
    assert schema.rows(turned).tobytes() == rows.tobytes()
    for name, value, why in [
        ("f4", 0.1, "more digits than float32"), ("f8", 2**53 + 1, "more digits than float64"),
        ("letter", "no", "longer than 1 bytes"), ("letter", 5, "the field is text"),
        ("text", "\u20ac\u20ac", "longer than 4 bytes"), ("raw", b"abc", "not 2 bytes"),
        ("raw", "ab", "the field is 2 bytes"), ("u1", 256, "does not fit into uint8"),
    ]:  # fmt: skip
        with pytest.raises(lapwing.Error, match=why):
            schema.rows(frame | {name: [value, value]})


def test_spare_fields_may_be_missing_and_an_absent_price_is_a_number():
    dtype = np.dtype([("price", "<i8"), ("spare", "V8")])
    schema = lapwing.Schema.describe("test.spare", dtype, prices=["price"], spare=["spare"])
    assert schema.rows({"price": [PRICE_NONE]}).tobytes() == b"\xff" * 7 + b"\x7f" + bytes(8)
    assert len(schema.rows({"price": []})) == 0


