"""Parses Lapwing's files and writes them with valid sums (docs/reference/file-formats.md)."""

import json
import os
import pathlib
import struct

from xxh3 import xxh3_64

PAGE = 4096
SESSION_BYTES = 512

# (offset, struct format) of the fields worth falsifying.
SESSION = {"version": (0, "<I"), "kind": (4, "<I"), "index": (8, "<Q"), "journal_id": (16, "16s"),
           "session_id": (32, "16s"), "boot_id": (48, "16s"), "first": (64, "<Q"),
           "through": (72, "<Q"), "last": (80, "<Q"), "void_first": (88, "<Q"),
           "void_last": (96, "<Q"), "how": (104, "<I"), "slot_bytes": (108, "<I"),
           "record_bytes": (112, "<I"), "sys_errno": (116, "<I"), "segment_slots": (120, "<Q"),
           "source_id": (128, "<Q"), "source_offset": (136, "<Q"), "wall_ns": (144, "<Q"),
           "schema": (152, "32s"), "ring_path": (184, "256s"), "schema_hash": (440, "<Q"),
           "source_fingerprint": (448, "<Q"), "metadata_hash": (456, "<Q"),
           "previous_hash": (464, "<Q")}
SEGMENT = {"version": (8, "<I"), "header_bytes": (12, "<I"), "journal_id": (16, "16s"),
           "segment": (32, "<Q"), "first_sequence": (40, "<Q"), "slot_count": (48, "<Q"),
           "slot_bytes": (56, "<I"), "record_bytes": (60, "<I"), "created_wall_ns": (64, "<Q"),
           "schema": (72, "32s"), "schema_hash": (104, "<Q")}
RING = {"abi_version": (8, "<I"), "header_bytes": (12, "<I"), "feature_bits": (16, "<Q"),
        "slot_bytes": (24, "<I"), "record_bytes": (28, "<I"), "capacity": (32, "<Q"),
        "journal_id": (40, "16s"), "session_id": (56, "16s"), "boot_id": (72, "16s"),
        "session_first_sequence": (88, "<Q"), "ring_first_sequence": (96, "<Q"),
        "created_wall_ns": (104, "<Q"), "publisher_pid": (112, "<I"), "has_journal": (116, "<I"),
        "schema": (120, "32s"), "bus_name": (152, "64s"), "schema_hash": (232, "<Q")}
RING_WORDS = {"head": 4096, "doorbell": 4224, "archived": 4352, "durable": 4480, "oldest": 4608,
              "journal_state": 4736, "heartbeat": 4864, "state": 4992}
RETENTION = {"version": (0, "<I"), "journal_id": (8, "16s"), "oldest": (24, "<Q")}
CHECKPOINT = {"version": (8, "<I"), "header_bytes": (12, "<I"), "journal_id": (16, "16s"),
              "session_id": (32, "16s"), "sequence": (48, "<Q"), "created_wall_ns": (56, "<Q"),
              "entry_count": (64, "<Q"), "entry_bytes": (72, "<I"), "block_bytes": (76, "<I"),
              "sums_offset": (80, "<Q"), "sums_sum": (88, "<Q"), "record_bytes": (96, "<I"),
              "fold_version": (100, "<I"), "schema": (104, "32s"), "fold": (136, "32s")}

NUMBERS = (0, 1, 2, 7, 63, 64, 4095, 4096, 4097, 1 << 31, (1 << 32) - 1, 1 << 32, 1 << 40,
           (1 << 63) - 1, 1 << 63, (1 << 64) - 1)


def rewrite(path, change):
    """Writes change(content) to a file in place: it keeps its inode, mode and owner."""
    path = pathlib.Path(path)
    mode = path.stat().st_mode
    content = bytearray(path.read_bytes())
    change(content)
    os.chmod(path, mode | 0o600)
    with open(path, "r+b") as file:
        file.write(content)
        file.truncate(len(content))
    os.chmod(path, mode)


def put(content, base, fields, name, value):
    at, form = fields[name]
    if isinstance(value, str):
        value = value.encode()
    if isinstance(value, int):
        value &= (1 << (8 * struct.calcsize(form))) - 1
    struct.pack_into(form, content, base + at, value)


def get(content, base, fields, name):
    at, form = fields[name]
    return struct.unpack_from(form, content, base + at)[0]


def seal_page(content):
    """The checksum at the end of a header page."""
    struct.pack_into("<Q", content, PAGE - 8, xxh3_64(content[:PAGE - 8]))


def seal_session(content, entry):
    """The checksum of a 512-byte entry of `sessions` or `retention`."""
    base = entry * SESSION_BYTES
    sum_ = xxh3_64(content[base:base + SESSION_BYTES - 8])
    struct.pack_into("<Q", content, base + SESSION_BYTES - 8, sum_)


def link_rows(content, but=-1):
    """Sets the hash of the previous row in every sealed row of `sessions`, except row `but`."""
    for entry, _ in session_entries(content):
        row = slice(entry * SESSION_BYTES, (entry + 1) * SESSION_BYTES)
        sealed = bytearray(content)
        seal_session(sealed, entry)
        is_linked = get(content, row.start, SESSION, "version") >= 2
        if entry == but or not is_linked or sealed[row] != content[row]:
            continue
        before = content[row.start - SESSION_BYTES:row.start]
        put(content, row.start, SESSION, "previous_hash", xxh3_64(before) if entry > 0 else 0)
        seal_session(content, entry)


def session_entries(content):
    """The numbers and kinds of the written entries."""
    entries = []
    for entry in range(len(content) // SESSION_BYTES):
        kind = get(content, entry * SESSION_BYTES, SESSION, "kind")
        if kind == 0:
            break
        entries.append((entry, kind))
    return entries


def edit_sessions(journal, choose, changes):
    """Changes fields of an entry, in both copies alike. choose([(entry, kind)]) selects it."""
    for name in ("sessions", "sessions.copy"):
        def change(content):
            entry, _ = choose(session_entries(content))
            for field, value in changes.items():
                put(content, entry * SESSION_BYTES, SESSION, field, value)
            seal_session(content, entry)
            link_rows(content, but=entry if "previous_hash" in changes else -1)
        rewrite(journal / name, change)


def retained_from(folder):
    """The oldest sequence retained according to this journal's folder."""
    path = folder / "retention"
    content = path.read_bytes() if path.is_file() and not path.is_symlink() else b""
    oldest = [1]
    for entry in range(min(2, len(content) // SESSION_BYTES)):
        sealed = bytearray(content)
        seal_session(sealed, entry)
        base = entry * SESSION_BYTES
        if sealed == content and get(content, base, RETENTION, "journal_id").hex() == folder.name:
            oldest.append(get(content, base, RETENTION, "oldest"))
    return max(oldest)


def edit_header(path, fields, changes):
    """Changes fields of the header page of a segment, ring or checkpoint."""
    def change(content):
        for field, value in changes.items():
            put(content, 0, fields, field, value)
        seal_page(content)
    rewrite(path, change)


def edit_ring_word(path, word, value):
    rewrite(path, lambda content: struct.pack_into("<Q", content, RING_WORDS[word], value))


def seal_sum(content, at, journal_id, block):
    """Sets the check field of the sum entry at this offset."""
    sum_, count = struct.unpack_from("<QI", content, at)
    check = xxh3_64(journal_id + struct.pack("<QQI", block, sum_, count)) & 0xFFFFFFFF
    struct.pack_into("<I", content, at + 12, check or 1)


def seal_index_entry(content, at, journal_id):
    seed = struct.unpack_from("<Q", journal_id)[0]
    struct.pack_into("<Q", content, at + 24, xxh3_64(content[at:at + 24], seed))


def wrong_sums(bus):
    """The parts of a bus's files whose sums differ from those that this module computes; [] if this
    module and the program agree. Checks one file of each kind."""
    wrong, kinds = [], bus.files()

    def hold(what, content, seal):
        sealed = bytearray(content)
        seal(sealed)
        if sealed != content or not any(content):
            wrong.append(what)
    sessions = kinds["sessions"][0].read_bytes()
    for entry, _ in session_entries(sessions):
        hold(f"sessions, entry {entry}", sessions, lambda data, n=entry: seal_session(data, n))
    hold("retention", kinds["retention"][0].read_bytes(), lambda data: seal_session(data, 1))
    for kind in ("jnl", "ring", "ckpt"):
        for path in kinds.get(kind, ())[:1]:
            hold(path.name, path.read_bytes()[:PAGE], seal_page)
    path = kinds["sum"][0]
    journal_id = bytes.fromhex(path.parent.name)
    hold(path.name, path.read_bytes(), lambda data: seal_sum(data, 0, journal_id, 0))
    sum_, count = struct.unpack_from("<QI", path.read_bytes())
    slots = kinds["jnl"][0].read_bytes()
    slot_bytes = get(slots, 0, SEGMENT, "slot_bytes")
    if xxh3_64(slots[PAGE:PAGE + count * slot_bytes]) != sum_:
        wrong.append(f"the first block of {kinds['jnl'][0].name}")
    path = kinds["idx"][0]
    hold(path.name, path.read_bytes(), lambda data: seal_index_entry(data, 0, journal_id))
    return wrong


def edit_description(path, changes):
    """Changes fields of bus.json. A value of None removes the field."""
    def change(content):
        description = json.loads(bytes(content))
        for name, value in changes.items():
            description[name] = value
            if value is None:
                del description[name]
        content[:] = json.dumps(description).encode()
    rewrite(path, change)
