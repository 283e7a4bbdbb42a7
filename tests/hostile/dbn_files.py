"""Creates DBN files, valid or deliberately invalid (docs/reference/file-formats.md)."""

import dataclasses
import struct

TRADE = struct.Struct("<BBHIQqIccBBQiI")  # TradeMsg, 48 bytes
START_NS = 1_704_205_800_000_000_000  # 2024-01-02 14:30 UTC
DAY_NS = 86_400 * 1_000_000_000
TS_RECV = slice(32, 40)
SCHEMAS = {"mbo": 0, "trades": 4}
SYMBOL_BYTES = 71
RAW_SYMBOL, NUMBER = 1, 0  # symbology types
UNDEFINED = 2**64 - 1


def trade(number, instrument=1, start_ns=START_NS):
    """A trade. Different numbers give different trades."""
    return TRADE.pack(TRADE.size // 4, 0, 1, instrument, start_ns + number, 10_000_000 * number, 1,
                      b"T", b"B", 0x80, 0, start_ns + number, 0, number)


@dataclasses.dataclass
class Metadata:
    """DBN metadata. `mappings` is [(symbol, [(first date, end date, target)])]. A count that is set
    is written instead of the correct one."""
    schema: str = "trades"
    dataset: str = "XTST.FEED"
    symbols: tuple = ("AAA",)
    partial: tuple = ()
    not_found: tuple = ()
    mappings: tuple = (("AAA", ((20240101, 20250101, "1"),)),)
    version: int = 3
    stype_in: int = RAW_SYMBOL
    stype_out: int = NUMBER
    symbol_bytes: int = SYMBOL_BYTES
    definition_bytes: int = 0
    length_change: int = 0  # added to the correct length
    counts: dict = dataclasses.field(default_factory=dict)  # of symbols, mappings, intervals

    def _text(self, value, size=None):
        size = size or self.symbol_bytes
        data = value if isinstance(value, bytes) else value.encode()
        return data[:size].ljust(size, b"\0")

    def _count(self, name, values):
        return struct.pack("<I", self.counts.get(name, len(values)) & 0xFFFFFFFF)

    def encode(self):
        fields = [self._text(self.dataset, 16), struct.pack(
            "<HQQQBBBH", SCHEMAS[self.schema], START_NS, UNDEFINED, 0, self.stype_in,
            self.stype_out, 0, self.symbol_bytes), bytes(53),
                  struct.pack("<I", self.definition_bytes)]
        for name in ("symbols", "partial", "not_found"):
            values = getattr(self, name)
            fields += [self._count(name, values), *map(self._text, values)]
        fields.append(self._count("mappings", self.mappings))
        for symbol, intervals in self.mappings:
            fields += [self._text(symbol), self._count("intervals", intervals)]
            for first, end, target in intervals:
                fields += [struct.pack("<II", first, end), self._text(target)]
        body = b"".join(fields)
        body += bytes(-len(body) % 8)
        return (b"DBN" + bytes([self.version])
                + struct.pack("<I", len(body) + self.length_change & 0xFFFFFFFF) + body)


def split(data):
    """A raw DBN file's metadata, and the rest."""
    end = 8 + int.from_bytes(data[4:8], "little")
    return data[:end], data[end:]
