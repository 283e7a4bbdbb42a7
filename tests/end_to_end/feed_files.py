"""Creates DBN files for tests when there are no real ones.

A file contains only the records that the tests need. See include/lapwing/dbn.h for the layouts. The
metadata has the format of DBN version 3, whose fields are in snapshot/dbn/dbn_metadata.cc.
"""

import pathlib
import struct
import subprocess
import tempfile

TRADE = struct.Struct("<BBHIQqIccBBQiI")  # TradeMsg, 48 bytes
MBP1 = struct.Struct(TRADE.format + "qqIIII")  # Mbp1Msg, 80 bytes
HEADER = struct.Struct("<BBHIQ")  # RecordHeader, 16 bytes
DEFINITION_BYTES = 520  # InstrumentDefMsg of version 3; buses cannot carry it
LENGTH_UNIT = 4
RTYPE_TRADE, RTYPE_MBP1, RTYPE_DEFINITION = 0x00, 0x01, 0x13
RTYPE_MAPPING, RTYPE_SYSTEM = 0x16, 0x17
SCHEMA_IDS = {"mbo": 0, "mbp-1": 1, "trades": 4, "definition": 9, "mixed": 0xFFFF}
SYMBOLS = ("AAA", "BBB", "CCC")  # their instruments are 1, 2 and 3
PUBLISHERS = 2
LAST = 0x80
UNDEFINED = 2**64 - 1
TICK = 10_000_000
START_NS = 1_704_205_800_000_000_000  # 2024-01-02 14:30 UTC
STEP_NS = 1_000_000

MBO_RECORDS, MBO_BYTES = 40_000, 56
MBO_SPAN_NS = 5_400_000_000_000  # 1.5 hours: enough minutes for a series of files
MBO_TS_EVENT_AT, MBO_TS_RECV_AT = 8, 40
RECORDS = {"trades": 20_000, "mbp-1": 200_000, "definition": 2}


def metadata(schema, mappings=None, symbols=SYMBOLS):
    """The bytes before the first record. `mappings` is {symbol: instrument}."""
    if mappings is None:
        mappings = {symbol: instrument for instrument, symbol in enumerate(SYMBOLS, 1)}

    def text(value, field_bytes=71):
        return value.encode().ljust(field_bytes, b"\0")

    def texts(values):
        return struct.pack("<I", len(values)) + b"".join(map(text, values))

    fields = text("XTST.FEED", 16)
    fields += struct.pack("<HQQQBBBH", SCHEMA_IDS[schema], START_NS, UNDEFINED, 0, 1, 0, 0, 71)
    fields += bytes(53) + struct.pack("<I", 0) + texts(symbols) + texts(()) + texts(())
    fields += struct.pack("<I", len(mappings))
    for symbol, instrument in mappings.items():
        fields += text(symbol) + struct.pack("<III", 1, 20240101, 20250101) + text(str(instrument))
    fields += bytes(-len(fields) % 8)
    return b"DBN\x03" + struct.pack("<I", len(fields)) + fields


def trade(number, layout=TRADE, rtype=RTYPE_TRADE, *level):
    """Record `number`, from 0. All records differ."""
    time_ns = START_NS + number * STEP_NS
    price = (4000 + number * 7 % 101) * TICK
    return layout.pack(layout.size // LENGTH_UNIT, rtype, 1 + number // len(SYMBOLS) % PUBLISHERS,
                       1 + number % len(SYMBOLS), time_ns, price, 1 + number % 17, b"T",
                       b"AB"[number % 2:][:1], LAST, 0, time_ns + 1000, 500, number, *level)


def trade_of(instrument, number=0):
    """The same record with another instrument."""
    record = bytearray(trade(number))
    struct.pack_into("<I", record, 4, instrument)
    return bytes(record)


def mapping(symbol, instrument, time_ns=START_NS):
    """SymbolMappingMsg of version 3: a gateway's mapping for a subscription, without dates."""
    header = HEADER.pack(176 // LENGTH_UNIT, RTYPE_MAPPING, 0, instrument, time_ns)
    text = b"\xff" + symbol.encode().ljust(71, b"\0")
    return header + text + text + struct.pack("<QQ", UNDEFINED, UNDEFINED)


def news():
    """SystemMsg of version 3: a heartbeat."""
    return HEADER.pack(320 // LENGTH_UNIT, RTYPE_SYSTEM, 0, 0, START_NS) + b"Heartbeat".ljust(304, b"\0")


def mbp1(number):
    price = (4000 + number * 7 % 101) * TICK
    return trade(number, MBP1, RTYPE_MBP1, price - TICK, price + TICK, 3, 5, 1, 2)


def definition(number):
    header = HEADER.pack(DEFINITION_BYTES // LENGTH_UNIT, RTYPE_DEFINITION, 1, 1 + number, START_NS)
    return header.ljust(DEFINITION_BYTES, b"\0")


def mbo(program):
    """A valid synthetic flow that lasts as long as a real one."""
    with tempfile.TemporaryDirectory(prefix="lapwing-feed-") as folder:
        bus, raw = folder + "/bus", folder + "/raw.dbn"
        for command in (("publish", "--source", f"synthetic:records={MBO_RECORDS}"),
                        ("export", "--out", raw)):
            subprocess.run([program, command[0], "--bus", bus, *command[1:]], check=True,
                           capture_output=True)
        content = bytearray(pathlib.Path(raw).read_bytes())
    begin = len(content) - MBO_RECORDS * MBO_BYTES

    def came(at):
        return struct.unpack_from("<Q", content, at + MBO_TS_RECV_AT)[0]

    first, last = came(begin), came(len(content) - MBO_BYTES)
    for at in range(begin, len(content), MBO_BYTES):
        later = (came(at) - first) * MBO_SPAN_NS // (last - first) - (came(at) - first)
        for field in (at + MBO_TS_EVENT_AT, at + MBO_TS_RECV_AT):
            struct.pack_into("<Q", content, field, struct.unpack_from("<Q", content, field)[0]
                             + later)
    return bytes(content)


def make(schema, program):
    """The content of a raw DBN file with this schema. `program` is the lapwing program."""
    if schema == "mbo":
        return mbo(program)
    record = {"trades": trade, "mbp-1": mbp1, "definition": definition}[schema]
    return metadata(schema) + b"".join(map(record, range(RECORDS[schema])))
