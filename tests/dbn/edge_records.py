"""Creates DBN files with databento-dbn: some 50 records with the edge values of every field.

The package's own classes create every record from named values, and its writer creates every file,
in every schema and version. The same schema and version always give the same bytes.

The package's classes accept no values for spare bytes, and only letters that have a name. Therefore
a few more records have other bytes there (`odd_records`).
"""

import datetime
import hashlib
import io
import re
from types import SimpleNamespace

import databento_dbn as dbn

import record_classes

RECORDS_MIN = 50
DATASET = "XTST.EDGES"
START_NS = 1_704_205_800_000_000_000  # 2024-01-02 14:30 UTC
UNDEFINED = 2**64 - 1
SCALE = 1_000_000_000
TIMES = (0, 1, 2**63 - 1, 2**63, UNDEFINED - 1, UNDEFINED, START_NS, START_NS + 1)
PRICES = (4_500 * SCALE + SCALE // 4, -37 * SCALE - 630_000_000, SCALE, -SCALE, 10, -10)
FLAGS = (dbn.F_LAST, dbn.F_TOB, dbn.F_SNAPSHOT, dbn.F_MBP, dbn.F_BAD_TS_RECV, dbn.F_MAYBE_BAD_BOOK,
         dbn.F_PUBLISHER_SPECIFIC, 1)
TEXTS = ("", "A", "ES Z4-ES H5", 'a"b,c', "x\\y", "~`!@#$%^&*()_+{}|:<>?")
LETTERS = ("~", " ", "A", "z", "0", '"', ",", "\\")  # for fields whose letters the venue defines
ODD_LETTERS = (0, 1, ord("\n"), ord("?"))
ODD_SPARE_BYTE = 0xA5
# In these fields the package reads unnamed letters as other letters, so they cannot be tested.
NAMED_LETTERS_ALONE = (
    (dbn.InstrumentDefMsgV1, "security_update_action"),
    (dbn.InstrumentDefMsgV1, "user_defined_instrument"),
    (dbn.InstrumentDefMsgV2, "user_defined_instrument"),
)

ENUMERATIONS = {
    "action": dbn.Action,
    "side": dbn.Side,
    "unpaired_side": dbn.Side,
    "leg_side": dbn.Side,
    "instrument_class": dbn.InstrumentClass,
    "leg_instrument_class": dbn.InstrumentClass,
    "match_algorithm": dbn.MatchAlgorithm,
    "security_update_action": dbn.SecurityUpdateAction,
    "user_defined_instrument": dbn.UserDefinedInstrument,
    "stat_type": dbn.StatType,
    "update_action": dbn.StatUpdateAction,
}
ENUMERATIONS_OF_STATUS = {
    "action": dbn.StatusAction,
    "reason": dbn.StatusReason,
    "trading_event": dbn.TradingEvent,
    "is_trading": dbn.TriState,
    "is_quoting": dbn.TriState,
    "is_short_sell_restricted": dbn.TriState,
}
WITH_RTYPE = (dbn.OHLCVMsg, dbn.BBOMsg, dbn.CBBOMsg, dbn.CMBP1Msg)  # classes used for several types
LEVEL_FIELD = re.compile(r"(\w+)_(\d\d)")


def drawn(name, number, count):
    """A number below `count`, always the same for a given field of a record."""
    digest = hashlib.blake2b(f"{name} {number}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") % count


def enumeration_of(made, name):
    return (ENUMERATIONS_OF_STATUS if made is dbn.StatusMsg else ENUMERATIONS).get(name)


def limits_of(dtype):
    """The smallest and the largest integer of a type."""
    bits = 8 * int(dtype[1:])
    return (-2**(bits - 1), 2**(bits - 1) - 1) if dtype[0] == "i" else (0, 2**bits - 1)


def edges_of(made, name, dtype):
    """The values that must occur in a field."""
    enumeration = enumeration_of(made, name)
    if enumeration:
        return list(enumeration.variants())
    if dtype == "S1":
        return list(LETTERS)
    if dtype[0] == "S":
        room = int(dtype[1:]) - 1  # and a terminating zero
        longest = "".join(chr(ord("A") + at % 26) for at in range(room))
        return [longest, *(text[:room] for text in TEXTS)]
    if name in made._timestamp_fields:
        return list(TIMES)
    low, high = limits_of(dtype)
    edges = [0, 1, high, high - 1, low, low + 1, high // 2, high // 2 + 1]
    if low < 0:
        edges += [-1, -high // 2]
    if name in made._price_fields:
        edges += PRICES
    if name == "flags":
        edges += FLAGS
    return edges


def value_of(made, name, dtype, number):
    """The value in record `number`, from 0: first the edges, then values that vary by field."""
    edges = edges_of(made, name, dtype)
    if number < len(edges):
        return edges[number]
    if enumeration_of(made, name) or dtype == "S1":
        return edges[drawn(name, number, len(edges))]
    if dtype[0] == "S":
        return str(drawn(name, number, 10**9))[:int(dtype[1:]) - 1]
    low, high = limits_of(dtype)
    return low + drawn(name, number, high - low + 1)


def fields_with_values(made):
    """The fields set by the constructor of a record class: (name, numpy type)."""
    for name, _, dtype in record_classes.layout(made):
        if not record_classes.is_spare(name) and name not in ("length", "rtype"):
            yield name, dtype


def edge_record(made, rtype, number):
    """Record `number`, from 0, created by its class."""
    arguments, levels = {}, {}
    for name, dtype in fields_with_values(made):
        value = value_of(made, name, dtype, number)
        level = LEVEL_FIELD.fullmatch(name)
        if level:
            levels.setdefault(int(level[2]), {})[level[1]] = value
        else:
            arguments[name] = value
    if levels:
        pair = dbn.ConsolidatedBidAskPair if "bid_pb" in levels[0] else dbn.BidAskPair
        pairs = [pair(**levels[level]) for level in sorted(levels)]
        arguments["levels"] = pairs if len(pairs) > 1 else pairs[0]  # against its declared types
    if made in WITH_RTYPE:
        arguments["rtype"] = rtype
    return bytes(made(**arguments))


def odd_records(made, record):
    """A record with other spare bytes, and one for each unnamed or invalid letter."""
    def is_letter(name, dtype):
        return (dtype == "S1" and not record_classes.is_spare(name)
                and (made, name) not in NAMED_LETTERS_ALONE)

    def with_bytes(is_changed, byte):
        changed = bytearray(record)
        for name, offset, dtype in record_classes.layout(made):
            if is_changed(name, dtype):
                changed[offset:offset + int(dtype[1:])] = bytes([byte]) * int(dtype[1:])
        return bytes(changed)

    yield with_bytes(lambda name, dtype: record_classes.is_spare(name), ODD_SPARE_BYTE)
    for letter in ODD_LETTERS:
        yield with_bytes(is_letter, letter)


def edge_records(schema, version):
    """The records of a file as bytes. Every edge value of every field occurs."""
    made = record_classes.record_class(schema, version)
    rtype = dbn.RType.from_schema(dbn.Schema(schema))
    most = max(len(edges_of(made, name, dtype)) for name, dtype in fields_with_values(made))
    records = [edge_record(made, rtype, number) for number in range(max(RECORDS_MIN, most))]
    return records + list(odd_records(made, records[-1]))


def edge_metadata(schema, version):
    """Metadata encoded by the package, with symbols of the maximum length and a limit."""
    longest = {1: dbn.SYMBOL_CSTR_LEN_V1, 2: dbn.SYMBOL_CSTR_LEN_V2,
               3: dbn.SYMBOL_CSTR_LEN_V3}[version] - 1
    symbols = ["E" * longest, "ES Z4-ES H5"]
    interval = SimpleNamespace(start_date=datetime.date(1970, 1, 1),
                               end_date=datetime.date(2024, 2, 29), symbol="4294967295")
    return dbn.Metadata(
        version=version, dataset=DATASET, schema=dbn.Schema(schema), start=START_NS,
        end=UNDEFINED - 1, limit=2**64 - 1, stype_in=dbn.SType.RAW_SYMBOL,
        stype_out=dbn.SType.INSTRUMENT_ID, symbols=symbols, partial=symbols[:1],
        not_found=["X" * longest],
        mappings=[SimpleNamespace(raw_symbol=symbol, intervals=[interval]) for symbol in symbols],
    ).encode()


def transcoded(content, encoding, pretty=False, compression=dbn.Compression.NONE):
    """A DBN file written by the package in another encoding, in its own version."""
    out = io.BytesIO()
    transcoder = dbn.Transcoder(
        out, encoding, compression, pretty_px=pretty, pretty_ts=pretty, map_symbols=False,
        upgrade_policy=dbn.VersionUpgradePolicy.AS_IS)
    transcoder.write(content)
    transcoder.finish()
    return out.getvalue()


def edge_file(schema, version):
    """The complete uncompressed file, as written by the package."""
    content = edge_metadata(schema, version) + b"".join(edge_records(schema, version))
    return transcoded(content, dbn.Encoding.DBN)
