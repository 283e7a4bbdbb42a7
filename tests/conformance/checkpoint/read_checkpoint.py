"""An independent reader of checkpoints, written only from docs/reference/file-formats.md."""

import pathlib
import struct

import xxhash

MAGIC = b"LPWCKP1\0"
PAGE = 4096
BLOCK = 65_536
HEADER = struct.Struct("<8sII16s16sQQQIIQQII32s32s3920sQ")
FIELDS = ("magic", "version", "header_bytes", "journal_id", "session_id", "sequence",
          "created_wall_ns", "entry_count", "entry_bytes", "block_bytes", "sums_offset", "sums_sum",
          "record_bytes", "fold_version", "schema", "fold", "reserved", "checksum")
ORDER_ENTRY = struct.Struct("<BBHIQQqIBBccQiIQ")
ORDER_FIELDS = ("length", "rtype", "publisher_id", "instrument_id", "ts_event", "order_id", "price",
                "size", "flags", "channel_id", "action", "side", "ts_recv", "ts_in_delta",
                "sequence", "place")
TOP, LOSS, BOOK, ORDER = 64, 0, 1, 2


class Damaged(Exception):
    """The file is not valid."""


def demand(condition, what):
    if not condition:
        raise Damaged(what)


def text(field):
    demand(field[-1] == 0, "a text does not end with a zero")
    return field.split(b"\0", 1)[0].decode()


class Checkpoint:
    """A completely verified checkpoint: the fields of its header, and its entries."""

    def __init__(self, path):
        self.path = pathlib.Path(path)
        content = self.path.read_bytes()
        demand(len(content) >= PAGE, "no header")
        header = dict(zip(FIELDS, HEADER.unpack(content[:PAGE]), strict=True))
        demand(header["magic"] == MAGIC, "magic")
        demand(header["version"] == 1, "version")
        demand(header["checksum"] == xxhash.xxh3_64_intdigest(content[:PAGE - 8]), "checksum")
        demand(header["header_bytes"] == PAGE and header["block_bytes"] == BLOCK, "sizes")
        demand(not any(header["reserved"]), "reserved")
        demand(self.path.name == f"{header['sequence']:020}.ckpt", "name")
        for name in ("schema", "fold"):
            header[name] = text(header[name])
        for name in ("journal_id", "session_id"):
            header[name] = header[name].hex()
        self.header = header
        entries_end = PAGE + header["entry_count"] * header["entry_bytes"]
        self.entries_bytes = content[PAGE:entries_end]
        self._verify(content, entries_end)

    def _verify(self, content, entries_end):
        sums_offset = (entries_end + 7) // 8 * 8
        blocks = [self.entries_bytes[at:at + BLOCK]
                  for at in range(0, len(self.entries_bytes), BLOCK)]
        demand(self.header["sums_offset"] == sums_offset, "sums_offset")
        demand(len(content) == sums_offset + 8 * len(blocks), "length")
        demand(not any(content[entries_end:sums_offset]), "padding")
        sums = content[sums_offset:]
        demand(self.header["sums_sum"] == xxhash.xxh3_64_intdigest(sums), "sums")
        pairs = zip(blocks, struct.iter_unpack("<Q", sums), strict=True)
        for number, (block, wanted) in enumerate(pairs):
            demand(xxhash.xxh3_64_intdigest(block, seed=number) == wanted[0], f"block {number}")

    def entries(self):
        size = self.header["entry_bytes"]
        return [self.entries_bytes[at:at + size]
                for at in range(0, len(self.entries_bytes), size)]

    def digest(self):
        return f"{xxhash.xxh3_64_intdigest(self.entries_bytes):016x}"


def order_of(entry):
    """An OrderEntry as a dictionary."""
    return dict(zip(ORDER_FIELDS, ORDER_ENTRY.unpack(entry), strict=True))


def order_key(order):
    """The OrderKey by which the entry is sorted."""
    kind = {b"N": LOSS, b"R": BOOK}.get(order["action"], ORDER)
    if kind == ORDER and order["flags"] & TOP:
        kind = 3
    number = {LOSS: 0, BOOK: 0, ORDER: order["order_id"], 3: order["side"][0]}[kind]
    publisher, instrument = (0, 0) if kind == LOSS else (order["publisher_id"],
                                                         order["instrument_id"])
    return struct.pack(">HIBQ", publisher, instrument, kind, number)
