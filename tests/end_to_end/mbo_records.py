"""Creates market-by-order records and DBN files for tests."""

import struct

LAYOUT = struct.Struct("<BBHIQQqIBBccQiI")  # MboMsg, 56 bytes
LENGTH_UNIT, RTYPE_MBO = 4, 160
LAST, TOP, SNAPSHOT = 0x80, 0x40, 0x20
UNDEF_PRICE = 2**63 - 1
SCALE = 1_000_000_000
START_NS = 1_704_205_800 * SCALE


def record(action, side=b"N", price=UNDEF_PRICE, size=0, *, order_id=0, flags=LAST, publisher=1,
           instrument=1):
    """The bytes of one record."""
    return LAYOUT.pack(LAYOUT.size // LENGTH_UNIT, RTYPE_MBO, publisher, instrument, START_NS,
                       order_id, price, size, flags, 0, action, side, START_NS, 0, 0)


def write_dbn(path, like, records):
    """Writes a DBN file with the metadata of `like` and these records. Returns the file as a
    source."""
    whole = like.read_bytes()
    (metadata_bytes,) = struct.unpack_from("<I", whole, 4)
    path.write_bytes(whole[:8 + metadata_bytes] + b"".join(records))
    return f"dbn:{path}"
