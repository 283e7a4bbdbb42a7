"""Logs with up to a million sessions, in both versions: complete, shortened, or with crafted rows.

Every command ends within its limits. If the log is complete, each reader gets every record, and a
publisher continues after the last one.
"""

import dataclasses
import itertools
import json
import os
import struct

import bases
import bus_files
import expected_records
import use_bus
from xxh3 import xxh3_64

NAME = "many sessions"
WEIGHT = 3
TRIALS_MIN = 3
SESSIONS_BITS = 20
ROWS_MAX = 1 << 22  # maximum that the program reads
ROW = bus_files.SESSION_BYTES
BEGIN, RESERVE, END, SHORTENED = 1, 2, 3, 4
CLOSED = 1
RECORDS = 300
BATCH_ROWS = 8192
SLOTS_OF_BLOCK = 4096 // 32  # for kv16
ID = struct.Struct("<Q8s")


@dataclasses.dataclass
class Shape:
    """The shape of a log. `crafted` are numbers of rows."""
    sessions: int
    version: int
    reserves: int  # rows per session in addition to its begin and end
    skipped: int  # rows in the hole of a shortened log
    crafted: frozenset


class Log:
    """Rows after the session with records, which keeps its own rows."""

    def __init__(self, content, shape, rng, numbers):
        rows = [bytearray(content[entry * ROW:(entry + 1) * ROW])
                for entry, _ in bus_files.session_entries(content)]
        self.first, self.shape, self.rng, self.numbers = rows, shape, rng, numbers
        self.begin = rows[0]
        end = next(row for row in rows if bus_files.get(row, 0, bus_files.SESSION, "kind") == END)
        self.last = bus_files.get(end, 0, bus_files.SESSION, "last")
        self.newest_id = bus_files.get(self.begin, 0, bus_files.SESSION, "session_id")
        self.index, self.previous = 0, 0
        self.rows = 0

    def _templates(self):
        """The rows of a session that has no records: begin, reservation and end."""
        begin = bytearray(self.begin)
        bus_files.put(begin, 0, bus_files.SESSION, "first", self.last + 1)
        bus_files.put(begin, 0, bus_files.SESSION, "source_offset", self.last)
        others = []
        for kind in (RESERVE, END):
            row = bytearray(ROW)
            bus_files.put(row, 0, bus_files.SESSION, "journal_id",
                          bus_files.get(self.begin, 0, bus_files.SESSION, "journal_id"))
            bus_files.put(row, 0, bus_files.SESSION, "kind", kind)
            others.append(row)
        reserve, end = others
        bus_files.put(end, 0, bus_files.SESSION, "last", self.last)
        bus_files.put(end, 0, bus_files.SESSION, "how", CLOSED)
        return begin, reserve, end

    def _all(self):
        """All rows, before numbering and sealing."""
        step = SLOTS_OF_BLOCK
        begin, reserve, end = self._templates()
        for number in range(self.shape.sessions):
            is_newest = number == self.shape.sessions - 1
            session = self.newest_id if is_newest else ID.pack(number + 1, b"\x5e" * 8)
            rows = self.first if number == 0 else [
                begin, *itertools.repeat(reserve, self.shape.reserves), end]
            through = (self.last // step + 1) * step
            for row in rows:
                bus_files.put(row, 0, bus_files.SESSION, "session_id", session)
                if row is reserve:
                    bus_files.put(row, 0, bus_files.SESSION, "through", through)
                    through += step
                yield row

    def _seal(self, row, kind):
        """Numbers, links and seals a row."""
        struct.pack_into("<IIQ", row, 0, self.shape.version, kind, self.index)
        if self.shape.version >= 2:
            struct.pack_into("<Q", row, 464, self.previous)
        else:
            row[448:504] = bytes(56)
        struct.pack_into("<Q", row, ROW - 8, xxh3_64(row[:ROW - 8]))
        self.index += 1
        self.previous = xxh3_64(row)

    def _shortened(self):
        """Row 0 of a log without its oldest rows."""
        row = bytearray(ROW)
        for name in ("journal_id", "session_id"):
            bus_files.put(row, 0, bus_files.SESSION, name,
                          bus_files.get(self.begin, 0, bus_files.SESSION, name))
        bus_files.put(row, 0, bus_files.SESSION, "through", self.shape.skipped)
        return row

    def write(self, path):
        """Writes the complete log in batches of rows."""
        os.truncate(path, 0)
        with open(path, "r+b", buffering=0) as file:
            if self.shape.skipped:
                row = self._shortened()
                self.previous = self.rng.getrandbits(64)
                dropped = self.previous
                self._seal(row, SHORTENED)
                self.previous = dropped
                file.write(row)
                self.index = self.shape.skipped
                file.seek(self.index * ROW)
            batch = bytearray()
            for number, row in enumerate(self._all()):
                self._seal(row, bus_files.get(row, 0, bus_files.SESSION, "kind"))
                if number in self.shape.crafted:
                    row = self._crafted(row)
                batch += row
                if len(batch) >= BATCH_ROWS * ROW:
                    file.write(batch)
                    batch.clear()
            file.write(batch)
        self.rows = self.index

    def _crafted(self, row):
        """A falsified copy of a sealed row, sealed again. The next row is linked to it."""
        row = bytearray(row)
        for name in self.rng.sample(sorted(bus_files.SESSION), self.rng.randint(1, 2)):
            form = bus_files.SESSION[name][1]
            size = struct.calcsize(form)
            value = self.rng.choice(self.numbers) if not form.endswith("s") else self.rng.choice(
                (bytes(size), b"\xff" * size, self.rng.randbytes(size)))
            bus_files.put(row, 0, bus_files.SESSION, name, value)
        bus_files.seal_session(row, 0)
        self.previous = xxh3_64(row)
        return row


class Use(use_bus.Use):
    def _find_voids(self):
        """These logs have no voids, and `info --json` for a million sessions is too long to
        read."""


class Family:
    def __init__(self, world):
        self.world, self.bases = world, world.bases

    def trial(self, trial):
        rng = trial.rng
        bus = bases.Bus(trial.folder, "bus", "kv16", expected_records.Expected())
        self.bases.publish(trial, bus, 1, count=RECORDS)
        shape = self._shape(rng)
        path = bus.journal / "sessions"
        log = Log(path.read_bytes(), shape, rng, bus_files.NUMBERS)
        log.write(path)
        copy = self._copy(rng, bus.journal, path)
        trial.note(f"{shape.sessions} sessions in {log.rows} rows of version {shape.version}, "
                   f"{len(shape.crafted)} of them crafted, {shape.skipped} before them dropped; "
                   f"the copy is {copy}")
        is_whole = not shape.crafted
        self._use(trial, bus, shape, is_whole, copy == "the same")

    @staticmethod
    def _shape(rng):
        bits = rng.uniform(0, SESSIONS_BITS) if rng.random() < 0.95 else SESSIONS_BITS
        sessions = int(2 ** bits)
        version = rng.choice((1, 2, 2, 2))
        reserves = rng.choice((0, 1, 1, 2))
        rows = 3 + (sessions - 1) * (reserves + 2)
        skipped = rng.choice((0, 0, 3 * 1024, ROWS_MAX - rows - 3)) if version == 2 else 0
        count = rng.choice((0, 0, 1, 2, 20))
        crafted = frozenset(rng.randrange(rows) for _ in range(count))
        return Shape(sessions, version, reserves, max(0, skipped), crafted)

    @staticmethod
    def _copy(rng, journal, path):
        """The second copy of the log: equal, missing, or older."""
        copy = journal / "sessions.copy"
        what = rng.choice(("the same", "missing", "behind"))
        copy.unlink()
        if what == "the same":
            bases.copy_folder(path, copy)
        elif what == "behind":
            bases.copy_folder(path, copy)
            os.truncate(copy, rng.randrange(1 + copy.stat().st_size // ROW) * ROW)
        return what

    def _use(self, trial, bus, shape, is_whole, copied):
        at = ("--bus", bus.directory)
        quiet = ("--until-closed", "--reattach", "0")
        readers = [("verify", *at), ("info", *at, *trial.rng.choice(((), ("--json",)))),
                   ("export", *at, "--out", bus.folder / "out.records"),
                   ("record", *at, "--from", "start", "--out", bus.folder / "recorded.records",
                    *quiet),
                   ("checkpoint", *at, "--fold", bus.fold, *quiet), ("state", *at), ("health", *at),
                   ("publish", "--bus", bus.folder / "again", "--source",
                    f"journal:{bus.directory}")]
        trial.rng.shuffle(readers)
        must_work = {"info", "export", "record", "checkpoint", "publish"}
        if copied:  # otherwise `verify` reports the copy
            must_work.add("verify")
        for line in readers:
            done = trial.run(*line)
            if is_whole and done.code != 0 and line[0] in must_work:
                trial.found(f"`{trial.shown(done.command)}` ended with {done.code} on a whole log")
        use = Use(trial, bus, self.bases, trusted=is_whole)
        use.tail()
        first = use.publisher()
        full = shape.skipped > ROWS_MAX // 2
        if is_whole and not full and first != RECORDS + 1:
            trial.found(f"the next session begins at {first}, and {RECORDS} records were published")
        if not is_whole:
            use.repair()
            use.publisher()
        use.tail()
        # Version 1 identifies a source by a record of its last session, which does not exist here.
        self._resume(trial, bus, is_whole and not full and shape.version >= 2)

    @staticmethod
    def _resume(trial, bus, is_whole):
        source = f"kv16:records={RECORDS + 1},seed=1000000"
        done = trial.run("publish", "--bus", bus.directory, "--source", source, "--resume",
                         "--summary", *bases.SEGMENT)
        summary = json.loads(done.out.splitlines()[-1]) if done.out.strip() else {}
        if is_whole and (summary.get("records"), summary.get("already_in_journal")) != (1, RECORDS):
            trial.found(f"`publish --resume` ended with {done.code} and {summary}")
