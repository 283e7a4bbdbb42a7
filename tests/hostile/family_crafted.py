"""Crafted bus directories: every sum is valid, but the content is false.

A process that can write a file can write its sum, so false content may cost this bus its records.
It must not cause anything else: a crash, a hang, or changes to another file or another bus's ring.
"""

import os
import pathlib
import struct

import bus_files
import use_bus

NAME = "crafted"
WEIGHT = 3
TRIALS_MIN = 10


class Family:
    def __init__(self, world):
        self.world = world
        self.crafts = (self.ring_path, self.session_numbers, self.ring_path, self.segment_header,
                       self.ring_header, self.description, self.ring_words, self.checkpoint,
                       self.sums_and_index, self.schema, self.retention)

    def trial(self, trial):
        craft = self.crafts[trial.number % len(self.crafts)]
        needs_ring = craft in (self.ring_header, self.ring_words)
        name = "killed" if needs_ring or trial.rng.random() < 0.4 else trial.rng.choice(
            ("clean", "cut", "group", "kv16", "failed"))
        if craft == self.schema:
            name = "kv16"
        if craft == self.checkpoint:
            name = trial.rng.choice(("clean", "kv16", "group"))
        bus = self.world.bases.place(name, trial)
        trial.note(f"base {bus.name}: {craft(trial, bus)}")
        use = use_bus.Use(trial, bus, self.world.bases, trusted=False)
        use.all()
        if craft == self.schema:
            shown = trial.run("tail", "--bus", bus.directory, "--from", "start", "--reattach", "0",
                              "--until-closed", "--format", "json")
            if b'"order_id"' in shown.out or b'"price"' in shown.out:
                trial.found("`tail` showed records of 16 bytes as larger ones")

    def schema(self, trial, bus):
        """The bus claims a schema with larger records for its 16-byte records."""
        name = trial.rng.choice(("dbn.mbo", "dbn.trades", "dbn.mbp-1"))
        for path in bus.files()["jnl"]:
            bus_files.edit_header(path, bus_files.SEGMENT, {"schema": name.ljust(32, "\0")})
        for copy in ("sessions", "sessions.copy"):
            def change(content):
                for entry, kind in bus_files.session_entries(content):
                    if kind == 1:
                        bus_files.put(content, entry * bus_files.SESSION_BYTES, bus_files.SESSION,
                                      "schema", name)
                        bus_files.seal_session(content, entry)
                bus_files.link_rows(content)
            bus_files.rewrite(bus.journal / copy, change)
        bus_files.edit_description(bus.directory / "bus.json", {"schema": name})
        return f"records of kv16 are called {name} everywhere"

    def bystanders(self, trial, bus):
        """Paths that no bus may be tricked into touching."""
        sentinels = self.world.sentinels
        rings = sentinels.rings
        fifo = trial.folder / "fifo"
        if not fifo.exists():
            os.mkfifo(fifo)
        link = trial.folder / "link"
        if not link.is_symlink():
            os.symlink(sentinels.file, link)
        own = sorted(bus.journal.glob("*/*.jnl")) or [bus.journal]
        return [sentinels.file, sentinels.directory / "kept", sentinels.directory,
                sentinels.home / ".profile", *rings, *rings, *rings, fifo, link, own[0],
                "..", "/", "", "/dev/zero", "relative.ring", bus.directory / "bus.json",
                f"{rings[0].parent}/../{rings[0].parent.name}/{rings[0].name}",
                "/dev/shm/lapwing-0/../../../" + str(sentinels.file)]

    def ring_path(self, trial, bus):
        """The session names another file as its ring."""
        path = str(trial.rng.choice(self.bystanders(trial, bus)))
        how = trial.rng.choice(("as it is", "open", "open", "same ids"))

        def last_begin(entries):
            return [entry for entry in entries if entry[1] == 1][-1]
        changes = {"ring_path": path}
        if how == "same ids" and path.endswith(".ring") and os.path.exists(path):
            header = pathlib.Path(path).read_bytes()[:bus_files.PAGE]
            changes["session_id"] = bus_files.get(header, 0, bus_files.RING, "session_id")
        bus_files.edit_sessions(bus.journal, last_begin, changes)
        if how != "as it is":
            self._open_last_session(bus)
        bus_files.edit_description(bus.directory / "bus.json", {"ring_path": path,
                                                               "closed": False})
        return f"ring_path of the last session is {path!r} ({how})"

    @staticmethod
    def _open_last_session(bus):
        """Removes the last session's end, so that the next start has to recover it, and sets this
        boot's id."""
        boot = bytes.fromhex(pathlib.Path("/proc/sys/kernel/random/boot_id").read_text()
                             .strip().replace("-", ""))
        for name in ("sessions", "sessions.copy"):
            def change(content):
                entries = bus_files.session_entries(content)
                if entries[-1][1] == 3:
                    at = entries[-1][0] * bus_files.SESSION_BYTES
                    content[at:at + bus_files.SESSION_BYTES] = bytes(bus_files.SESSION_BYTES)
                begin = [entry for entry, kind in entries if kind == 1][-1]
                session = bus_files.get(content, begin * bus_files.SESSION_BYTES,
                                        bus_files.SESSION, "session_id")
                for entry, _ in bus_files.session_entries(content):
                    if entry >= begin:
                        bus_files.put(content, entry * bus_files.SESSION_BYTES, bus_files.SESSION,
                                      "session_id", session)
                        bus_files.seal_session(content, entry)
                bus_files.put(content, begin * bus_files.SESSION_BYTES, bus_files.SESSION,
                              "boot_id", boot)
                bus_files.seal_session(content, begin)
                bus_files.link_rows(content)
            bus_files.rewrite(bus.journal / name, change)

    def _changes(self, trial, fields, most=2):
        rng, changes = trial.rng, {}
        for name in rng.sample(sorted(fields), rng.randint(1, most)):
            form = fields[name][1]
            if form == "16s":
                changes[name] = rng.choice((bytes(16), b"\xff" * 16, rng.randbytes(16)))
            elif form.endswith("s"):
                changes[name] = rng.choice(("", "dbn.mbo", "kv16", "x" * 31, "\x1b[31mred", "../..",
                                            "x" * 300, "dbn.trades", "%s%n"))
            else:
                changes[name] = rng.choice(bus_files.NUMBERS)
        return changes

    def session_numbers(self, trial, bus):
        picked = []

        def choose(entries):
            if not picked:
                picked.append(trial.rng.choice(entries))
            return picked[0]
        changes = self._changes(trial, bus_files.SESSION)
        bus_files.edit_sessions(bus.journal, choose, changes)
        return f"session entry {picked[0]}: {changes}"

    def segment_header(self, trial, bus):
        path = trial.rng.choice(bus.files()["jnl"])
        changes = self._changes(trial, bus_files.SEGMENT)
        bus_files.edit_header(path, bus_files.SEGMENT, changes)
        return f"header of {path.name}: {changes}"

    def ring_header(self, trial, bus):
        changes = self._changes(trial, bus_files.RING)
        bus_files.edit_header(bus.rings()[0], bus_files.RING, changes)
        return f"ring header: {changes}"

    def ring_words(self, trial, bus):
        word = trial.rng.choice(sorted(bus_files.RING_WORDS))
        value = trial.rng.choice(bus_files.NUMBERS + (2500, 2499, 2501, 3 + (5 << 32)))
        bus_files.edit_ring_word(bus.rings()[0], word, value)
        if trial.rng.random() < 0.5:
            def change(content):
                at = bus_files.PAGE * 2 + 64 * trial.rng.randrange(1000)
                struct.pack_into("<Q", content, at, trial.rng.choice(bus_files.NUMBERS))
            bus_files.rewrite(bus.rings()[0], change)
        return f"ring word {word} is {value}"

    def description(self, trial, bus):
        rng, sentinels = trial.rng, self.world.sentinels
        changes = dict(rng.choice((
            {"journal_root": str(sentinels.folder / "sentinel-closed" / "journal")},
            {"journal_root": str(sentinels.directory)}, {"journal_root": "/"},
            {"journal_root": ""}, {"journal_root": "journal"}, {"journal_root": "x" * 5000},
            {"ring_path": str(rng.choice(self.bystanders(trial, bus))), "closed": False},
            {"schema": rng.choice(("dbn.mbo", "kv16", "dbn.trades", "", "\x1b[31m"))},
            {"schema": "dbn.mbo"}, {"abi": 2}, {"abi": "1"}, {"abi": None},
            {"name": "\x1b]0;title\x07" * 3}, {"name": "n" * 100_000}, {"closed": None},
            {"record_bytes": rng.choice(bus_files.NUMBERS)},
            {"slot_bytes": rng.choice(bus_files.NUMBERS)}, {"record_bytes": -1},
            {"capacity": rng.choice(bus_files.NUMBERS)}, {"capacity": 1.5}, {"journal_id": "0"},
            {"session_id": "g" * 32}, {"journal_writer": {"a": []}}, {"nested": [[[[[]]]]]})))
        bus_files.edit_description(bus.directory / "bus.json", changes)
        return f"bus.json: {str(changes)[:200]}"

    def checkpoint(self, trial, bus):
        path = trial.rng.choice(bus.files()["ckpt"])
        changes = self._changes(trial, bus_files.CHECKPOINT)
        bus_files.edit_header(path, bus_files.CHECKPOINT, changes)
        if isinstance(changes.get("sequence"), int) and trial.rng.random() < 0.7:
            os.rename(path, path.with_name(f"{changes['sequence']:020}.ckpt"))
        return f"header of the checkpoint: {changes}"

    def sums_and_index(self, trial, bus):
        rng = trial.rng
        kind = rng.choice(("sum", "idx"))
        path = rng.choice(bus.files()[kind])
        journal_id = bytes.fromhex(path.parent.name)

        def change(content):
            if kind == "sum":
                entry = rng.randrange(len(content) // 16)
                struct.pack_into("<QI", content, entry * 16, rng.choice(bus_files.NUMBERS),
                                 rng.choice((0, 1, 64, 128, 4096, (1 << 32) - 1)))
                block = int(path.stem) * (len(content) // 16) + entry
                bus_files.seal_sum(content, entry * 16, journal_id, block)
            else:
                content += bytes(32)
                at = rng.randrange(len(content) // 32) * 32
                struct.pack_into("<QQQ", content, at, rng.choice(bus_files.NUMBERS),
                                 rng.choice(bus_files.NUMBERS), rng.choice((0, 1)))
                bus_files.seal_index_entry(content, at, journal_id)
        bus_files.rewrite(path, change)
        return f"an entry of {path.name} made up"

    def retention(self, trial, bus):
        """Changes where the retained records start."""
        path = trial.rng.choice(bus.files()["retention"])
        slots = 65536 // (32 if bus.schema == "kv16" else 64)
        oldest = trial.rng.choice((trial.rng.randrange(1 << 20) * slots + 1,
                                   ((1 << 62) // slots - trial.rng.randrange(4)) * slots + 1,
                                   *bus_files.NUMBERS))
        copies = trial.rng.choice(((0,), (1,), (0, 1)))

        def change(content):
            for entry in copies:
                bus_files.put(content, entry * bus_files.SESSION_BYTES, bus_files.RETENTION,
                              "oldest", oldest)
                bus_files.seal_session(content, entry)
        bus_files.rewrite(path, change)
        return f"retention keeps from {oldest} on (copies {copies})"
