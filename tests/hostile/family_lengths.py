"""Files of the wrong length: truncated, emptied, extended, with holes. The remaining bytes are
unchanged.

If `publish` refuses a bus, `verify` reports the damage, and a publisher starts after `repair`. No
record is wrong, and losses are reported.
"""

import os
import struct

import bus_files
import use_bus
from xxh3 import xxh3_64

NAME = "lengths"
WEIGHT = 3
TRIALS_MIN = 12
PAGE = bus_files.PAGE
MEBIBYTE = 1 << 20
DONE, DAMAGED = 0, 4
CURSOR = struct.Struct("<QIIQ16s16sQQQQ32s")  # CursorEntry without its checksum
CURSOR_MAGIC = 0x003152554357504C
CURSOR_BYTES, CURSOR_COPY_AT = 8192, 4096
# Files that `verify` does not read, because a start recreates them or does not need them.
BESIDE_THE_JOURNAL = ("bus.json", "metadata.dbn", "ring", "lock of the bus", "lock of the journal",
                      "control.sock")


def zeros_at_end(path):
    """The start of the zeros at the end of a file."""
    content = path.read_bytes()
    return len(content.rstrip(b"\0"))


def punch_zeros(path):
    """Turns all zero pages into holes, without changing a byte."""
    content = path.read_bytes()
    os.truncate(path, 0)
    os.truncate(path, len(content))
    with open(path, "r+b") as file:
        for at in range(0, len(content), PAGE):
            if any(content[at:at + PAGE]):
                file.seek(at)
                file.write(content[at:at + PAGE])


def cut_by(count):
    return lambda path, size: os.truncate(path, max(0, size - count))


def append(data):
    def add(path, _):
        with open(path, "ab") as file:
            file.write(data)
    return add


# {name: change(path, size)}
CHANGES = {
    "cut by a byte": cut_by(1),
    "cut by a page": cut_by(PAGE),
    "emptied": cut_by(1 << 62),
    "halved": lambda path, size: os.truncate(path, size // 2),
    "halved to a page": lambda path, size: os.truncate(path, size // 2 // PAGE * PAGE),
    "cut to one byte": lambda path, size: os.truncate(path, min(size, 1)),
    "without the zeros at its end": lambda path, _: os.truncate(path, zeros_at_end(path)),
    "without the pages of zeros at its end":
        lambda path, _: os.truncate(path, -(-zeros_at_end(path) // PAGE) * PAGE),
    "with holes for zeros": lambda path, _: punch_zeros(path),
    "extended by a zero": append(b"\0"),
    "extended by a byte": append(b"x"),
    "extended by a page of zeros": append(bytes(PAGE)),
    "extended by a page": append(b"x" * PAGE),
    "extended by a mebibyte of zeros": append(bytes(MEBIBYTE)),
    "extended by a hole": lambda path, size: os.truncate(path, size + 64 * MEBIBYTE),
    "doubled": lambda path, _: append(path.read_bytes())(path, 0),
}


def make_cursor(path, position):
    """A cursor with a position in both copies."""
    journal, session, sequence = position
    content = bytearray(CURSOR_BYTES)
    for at, generation in ((0, 2), (CURSOR_COPY_AT, 3)):
        entry = CURSOR.pack(CURSOR_MAGIC, 1, 0, generation, journal, session, sequence, 0, 0, 0,
                            b"")
        content[at:at + len(entry) + 8] = entry + struct.pack("<Q", xxh3_64(entry))
    path.write_bytes(content)


class Family:
    def __init__(self, world):
        self.world = world

    def trial(self, trial):
        rng = trial.rng
        bus = self.world.bases.place(rng.choice(self.world.bases.NAMES), trial)
        sessions = (bus.journal / "sessions").read_bytes()
        begin = [entry for entry, kind in bus_files.session_entries(sessions) if kind == 1][-1]
        make_cursor(bus.folder / "bus.cursor", [
            bus_files.get(sessions, begin * bus_files.SESSION_BYTES, bus_files.SESSION, name)
            for name in ("journal_id", "session_id", "first")])
        kinds = bus.files() | {"cursor": [bus.folder / "bus.cursor"]}
        kinds = {kind: [path for path in paths if path.is_file()] for kind, paths in kinds.items()}
        kinds = {kind: paths for kind, paths in kinds.items() if paths}
        changed = []
        for _ in range(rng.choice((1, 1, 1, 2))):
            kind = rng.choice(sorted(kinds))
            changed.append((kind, self._change(trial, bus, rng.choice(kinds[kind]))))
        self._use(trial, bus, [kind for kind, _ in changed])

    @staticmethod
    def _change(trial, bus, path):
        what = trial.rng.choice(sorted(CHANGES))
        size = path.stat().st_size
        mode = path.stat().st_mode
        os.chmod(path, mode | 0o600)
        CHANGES[what](path, size)
        os.chmod(path, mode)
        trial.note(f"base {bus.name}, {path.name} of {size} bytes: {what}, "
                   f"{path.stat().st_size} bytes")
        return what

    def _use(self, trial, bus, kinds):
        use = use_bus.Use(trial, bus, self.world.bases)
        trial.run("cursors", bus.folder / "bus.cursor")
        verified = use.verify()
        if trial.rng.random() < 0.7:
            use.readers()
            use.followers()
        first = use.publisher()
        if first is None:
            in_journal = [kind for kind in kinds if kind not in BESIDE_THE_JOURNAL]
            if verified.code == DONE and in_journal:
                trial.found("`publish` refuses what `verify` does not report")
            use.repair()
            first = use.publisher()
            if first is None and in_journal:
                trial.found("`publish` does not start after `repair`")
        use.readers()
        if first is not None and verified.code == DONE and use.verify().code != DONE:
            trial.found("`verify` reports damage after a start that it did not report before")
