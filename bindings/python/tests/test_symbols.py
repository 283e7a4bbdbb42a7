"""Maps symbols to instruments by date."""

import datetime
import struct

import numpy as np
import pytest

import lapwing

SYMBOL = struct.Struct("71s")
UNDEFINED = 2**64 - 1


def listed(items):
    return struct.pack("<I", len(items)) + b"".join(items)


def metadata(mappings):
    """Creates DBN metadata, version 2, from (symbol, [(start date, end date, instrument)])."""
    symbol = lambda text: SYMBOL.pack(text.encode())  # noqa: E731
    mapped = [
        symbol(name)
        + listed(
            [struct.pack("<II", start, end) + symbol(str(number)) for start, end, number in dates]
        )
        for name, dates in mappings
    ]
    head = struct.pack("<16sHQQQBBBH", b"TEST.X", 0, 0, UNDEFINED, 0, 1, 0, 0, SYMBOL.size)
    rest = head + bytes(53) + struct.pack("<I", 0)
    rest += listed([symbol(name) for name, _ in mappings]) + listed([]) + listed([]) + listed(mapped)
    return b"DBN" + struct.pack("<BI", 2, len(rest)) + rest


MAPPINGS = [
    ("ESH4", [(20240101, 20240103, 17077), (20240103, 20240105, 99)]),
    ("NQ", [(20240101, 20240201, 5)]),
]
NEW_YEAR = datetime.datetime(2024, 1, 1, 12, tzinfo=datetime.timezone.utc)


@pytest.fixture
def symbols(tmp_path):
    with lapwing.Publisher(tmp_path / "bus", record_bytes=16, metadata=metadata(MAPPINGS)):
        pass
    with lapwing.Symbols(tmp_path / "bus") as symbols:
        yield symbols


def test_a_symbol_stands_for_an_instrument_on_a_date(symbols):
    assert symbols.find("ESH4", NEW_YEAR) == 17077
    assert symbols.find("ESH4", NEW_YEAR + datetime.timedelta(days=2)) == 99
    assert symbols.find("ESH4", np.datetime64("2024-01-04T00:00:00")) == 99
    assert symbols.find("ESH4", int(NEW_YEAR.timestamp()) * 10**9) == 17077


def test_without_a_time_the_mapping_that_began_last_counts(symbols):
    assert symbols.find("ESH4") == 99
    assert symbols.name(5) == ("NQ", 5, 20240101, 20240201)


def test_an_instrument_has_a_symbol_on_a_date(symbols):
    found = symbols.name(17077, NEW_YEAR)
    assert found == lapwing.SymbolMapping("ESH4", 17077, 20240101, 20240103)
    assert (found.symbol, found.start_date, found.end_date) == ("ESH4", 20240101, 20240103)


def test_an_unknown_name_is_none(symbols):
    assert symbols.find("ES") is None and symbols.name(6) is None
    assert symbols.find("NQ", 0) == 5  # before its dates


def test_all_mappings_are_listed(symbols):
    assert symbols.list() == [
        (name, number, start, end) for name, dates in MAPPINGS for start, end, number in dates
    ]


def test_a_feed_without_metadata_has_no_symbols(bus):
    with lapwing.Symbols(bus) as symbols:
        assert symbols.list() == [] and symbols.find("ESH4") is None


def test_wrong_arguments_are_named(symbols):
    with pytest.raises(TypeError, match="^symbol is 5"):
        symbols.find(5)
    with pytest.raises(lapwing.InvalidArgument, match="^time is .* without a time zone"):
        symbols.find("NQ", datetime.datetime(2024, 1, 1))
    with pytest.raises(lapwing.InvalidArgument, match="^instrument_id is -1"):
        symbols.name(-1)
    symbols.destroy()
    with pytest.raises(lapwing.Misuse):
        symbols.list()
