"""`publish --resume` from sources that change between runs, with killed publishers.

Each run either publishes exactly those source records that are not in the journal, or is refused
with exit code 2 and begins no session. After each run every record on the bus is compared.
"""

import dataclasses
import json
import os
import shutil
import time

import dbn_files
import expected_records

NAME = "resumed"
WEIGHT = 3
TRIALS_MIN = 8
USAGE, LOST = 2, 6
OPTIONS = ("--segment-bytes", "64K", "--capacity", "4096", "--summary")
RETAINED_BYTES = 1 << 17  # two segments of 1,024 trades


@dataclasses.dataclass
class Source:
    """The content of a DBN file."""
    metadata: bytes
    records: list

    def identity(self):
        return self.metadata, self.records[0] if self.records else b""

    def write(self, path):
        """Replaces the file at that path, which a publisher may have open."""
        new = path.with_name(path.name + ".new")
        new.write_bytes(self.metadata + b"".join(self.records))
        os.rename(new, path)
        return path


@dataclasses.dataclass
class Known:
    """The part of a source in the journal: the number of records, and the last one."""
    position: int
    last: bytes
    is_listed: bool = True  # False: it may have been killed before its session began


@dataclasses.dataclass
class Due:
    """The expected result of a run: `records` are published, or it is refused."""
    records: list
    already: int = 0
    lost: int = 0
    behind: int = 0  # for a journal: the sequence before the first record
    is_refused: bool = False
    may_refuse: bool = False
    may_lose: int = 0  # number lost if a killed publisher had begun its session


class Held:
    """The contents of a bus, as written by `export`."""

    def __init__(self, trial, directory, normal=bytes):
        self.trial, self.directory, self.normal = trial, directory, normal
        self.records = []

    def sessions(self):
        done = self.trial.run("info", "--json", "--bus", self.directory, expect_words=False)
        return len(json.loads(done.out)["sessions"]) if done.code == 0 and done.out else 0

    def read(self):
        out = self.trial.folder / "held.dbn"
        out.unlink(missing_ok=True)
        self.trial.run("export", "--bus", self.directory, "--out", out, expect_words=False)
        data = out.read_bytes() if out.exists() else b""
        return [self.normal(record) for record in expected_records.dbn_records(data)]

    def grow(self, due, what, whole=True):
        """Checks that the bus contains the earlier records plus `due`, or the first of `due`.
        Returns the number of records from `due`."""
        due = [self.normal(record) for record in due]
        now = self.read()
        count = len(now) - len(self.records)
        if whole and count != len(due) or not 0 <= count <= len(due) \
                or now != self.records + due[:count]:
            wanted = self.records + due
            common = next((n for n, (one, other) in enumerate(zip(now, wanted, strict=False))
                           if one != other), min(len(now), len(wanted)))
            self.trial.found(f"{what}: the bus holds {len(now)} records, the first {common} of them "
                             f"right; {len(self.records)} and then {len(due)} were due")
        self.records = now
        return max(0, min(count, len(due)))

    def grow_until_kill(self, due):
        """The same after a publisher that was killed before it had published everything."""
        records = [] if due.is_refused else due.records
        return self.grow(records, "a publisher that was killed", whole=False)


class Family:
    def __init__(self, world):
        self.world = world

    def trial(self, trial):
        cases = (self.files, self.journals, self.streams, self.files)
        return cases[trial.number % len(cases)](trial)

    # Runs

    def _run(self, trial, held, source, due, *options):
        """Runs a publisher to its end, and checks its result."""
        before = held.sessions()
        done = trial.run("publish", "--bus", held.directory, "--source", source, "--resume",
                         *OPTIONS, *options)
        lines = [line for line in done.out.splitlines() if line.startswith(b"{")]
        summary = json.loads(lines[-1]) if lines else {}
        what = f"`publish --resume --source {source}`".replace(f"{trial.folder}/", "")
        if due.is_refused or due.may_refuse and done.code == USAGE:
            if done.code != USAGE:
                trial.found(f"{what} ended with {done.code}, and 2 was due")
            if held.sessions() != before:
                trial.found(f"{what} was refused and has begun a session")
            held.grow([], what)
            return False
        if due.may_lose and summary.get("lost_in_source") == due.may_lose:
            due.lost = due.may_lose
        if done.code != (LOST if due.lost else 0):
            trial.found(f"{what} ended with {done.code}")
        told = [summary.get(name) for name in ("records", "already_in_journal", "lost_in_source")]
        if told != [len(due.records), due.already, due.lost]:
            trial.found(f"{what}: records, already_in_journal and lost_in_source are {told}, not "
                        f"{[len(due.records), due.already, due.lost]}")
        held.grow(due.records, what)
        return True

    @staticmethod
    def _kill_run(trial, bus, source, *options, after=None):
        """A run that is killed at a random moment, or when `after` has finished."""
        pace = trial.rng.choice(("2000", "50000", "max"))
        publisher = trial.start("publish", "--bus", bus, "--source", source, "--resume", *OPTIONS,
                                "--pace", pace, "--linger", "600s", *options)
        time.sleep(trial.rng.choice((0.001, 0.01, 0.03, 0.1, 0.3)))  # part of the test
        if after:
            after()
        publisher.kill()
        if trial.rng.random() < 0.3:
            rings = list(bus.parent.glob(f"{bus.name}-rings/*/*.ring"))
            for ring in rings:
                ring.unlink()
            trial.note(f"killed, and {len(rings)} rings removed")

    # Files

    def files(self, trial):
        """One bus, and a file that is replaced."""
        rng = trial.rng
        stamps = rng.random() < 0.25

        def without_stamp(record):
            return record[:dbn_files.TS_RECV.start] + bytes(8) + record[dbn_files.TS_RECV.stop:]
        bus = trial.folder / "bus"
        held = Held(trial, bus, without_stamp if stamps else bytes)
        rings = trial.folder / "bus-rings"
        options = ["--ring-dir", self._on_tmpfs(trial, rings)] + ["--restamp"] * stamps
        known = {}
        day = self._day(rng, 0)
        source, number = day, 0
        for _ in range(rng.randint(3, 7)):
            path = trial.folder / rng.choice(("feed.dbn", "feed.dbn", "other.dbn"))
            source.write(path)
            on_new = rng.choice(("refuse", "refuse", "publish"))
            due = self._due(held, known, source, on_new)
            line = (f"dbn:{path}", *options, "--on-new-source", on_new)
            if rng.random() < 0.35:
                self._killed(trial, held, known, source, due, path, line)
            elif self._run(trial, held, line[0], due, *line[1:]):
                self._book(held, known, source, due.already + len(due.records))
            number += 1
            source = self._changed(trial, rng, source, day, number)

    def _on_tmpfs(self, trial, name):
        """One of the trial's directories in shared memory, through a link of that name."""
        target = f"/dev/shm/{name.name}-{trial.number}"
        shutil.rmtree(target, ignore_errors=True)
        os.mkdir(target, 0o700)
        name.symlink_to(target)
        return target

    @staticmethod
    def _day(rng, number, metadata=None):
        start = dbn_files.START_NS + number * dbn_files.DAY_NS
        count = rng.choice((0, 1, 2, 63, 64, 65, rng.randrange(3000), rng.randrange(3000)))
        return Source(metadata or dbn_files.Metadata().encode(),
                      [dbn_files.trade(n, 1, start) for n in range(count)])

    def _changed(self, trial, rng, source, day, number):
        """The source of the next run."""
        records = list(source.records)
        name, change = rng.choice((
            ("the same", lambda: None), ("longer", lambda: self._lengthen(rng, records)),
            ("longer", lambda: self._lengthen(rng, records)),
            ("shorter", lambda: records.__delitem__(slice(rng.randrange(len(records) + 1), None))),
            ("its last record changed", lambda: self._spoil(records, len(records) - 1)),
            ("its first record changed", lambda: self._spoil(records, 0)),
            ("a record changed", lambda: self._spoil(records, rng.randrange(len(records) or 1))),
            ("a record left out", lambda: records and records.pop(rng.randrange(len(records)))),
            ("a record before the others",
             lambda: records.insert(0, dbn_files.trade(9_000_000 + number)))))
        change()
        metadata = source.metadata
        draw = rng.random()
        if draw < 0.15:
            name = "other metadata"
            metadata = dbn_files.Metadata(dataset=f"OTHER.{number}").encode()
        elif draw < 0.3:
            fresh = self._day(rng, number, metadata)
            name, records = "another day", fresh.records
        elif draw < 0.45:
            name, metadata, records = "the first day again", day.metadata, list(day.records)
        trial.note(f"the source is now {name}: {len(records)} records")
        return Source(metadata, records)

    @staticmethod
    def _lengthen(rng, records):
        first = len(records)
        records += [dbn_files.trade(5_000_000 + rng.randrange(1 << 18) * 4096 + n)
                    for n in range(first, first + rng.choice((1, 64, 500, 3000)))]

    @staticmethod
    def _spoil(records, at):
        if records:
            record = bytearray(records[at])
            record[16] ^= 1
            records[at] = bytes(record)

    @staticmethod
    def _due(held, known, source, on_new):
        """The expected result of the next run, according to docs/how-to/run-with-systemd.md."""
        found = known.get(source.identity())
        whole = Due(source.records)
        if found is None or not found.is_listed and found.position == 0:
            if not held.records or on_new == "publish":
                return whole
            return Due(source.records, is_refused=found is None, may_refuse=True)
        if found.position == 0:
            return whole
        if len(source.records) < found.position \
                or held.normal(source.records[found.position - 1]) != found.last:
            return Due([], is_refused=True)
        return Due(source.records[found.position:], found.position)

    @staticmethod
    def _book(held, known, source, position, is_listed=True):
        before = known.get(source.identity())
        if before and before.is_listed:
            is_listed = True
        last = held.normal(source.records[position - 1]) if position else b""
        known[source.identity()] = Known(position, last, is_listed)

    def _killed(self, trial, held, known, source, due, path, line):
        """A killed run. The file is replaced meanwhile, without effect on it."""
        def replace():
            if trial.rng.random() < 0.5:
                Source(source.metadata, source.records[:1] * 5).write(path)
        self._kill_run(trial, held.directory, *line, after=replace)
        count = held.grow_until_kill(due)
        if not due.is_refused:
            position = due.already + count
            self._book(held, known, source, position, is_listed=count > 0)

    # Journals

    def journals(self, trial):
        """`journal:` follows a bus that grows, is pruned, or is restored to an older state."""
        rng = trial.rng
        origin, held = Held(trial, trial.folder / "origin"), Held(trial, trial.folder / "bus")
        rings = self._on_tmpfs(trial, trial.folder / "bus-rings")
        position, last, oldest = 0, b"", 1
        is_listed = False  # None: it may have been killed before the session began
        all_of_origin = []  # by sequence, from 1 on
        older = None
        for step in range(rng.randint(3, 7)):
            all_of_origin, oldest = self._publish_on_origin(trial, origin, all_of_origin, step)
            if rng.random() < 0.2:
                older = older or self._keep(trial, origin, all_of_origin, oldest)
            elif older and rng.random() < 0.5:
                all_of_origin, oldest = self._put_back(trial, origin, older)
            due = self._due_of_journal(all_of_origin, oldest, position, last, is_listed)
            source = f"journal:{origin.directory}"
            options = ("--ring-dir", rings)
            if rng.random() < 0.3:
                self._kill_run(trial, held.directory, source, *options)
                count = held.grow_until_kill(due)
                if count == 0 and due.behind != position:
                    return True  # only the publisher could tell whether its session had begun
                position = due.behind + count if count else position
                is_listed = is_listed or (True if count else None)
            elif self._run(trial, held, source, due, *options):
                position, is_listed = due.behind + len(due.records), True
            last = held.records[-1] if held.records else b""
        return True

    @staticmethod
    def _due_of_journal(all_of_origin, oldest, position, last, is_listed):
        if len(all_of_origin) < position:
            return Due([], is_refused=True)
        if position > 0 and position >= oldest and all_of_origin[position - 1] != last:
            return Due([], is_refused=True)
        behind = max(position, oldest - 1)
        if not is_listed:
            return Due(all_of_origin[behind:], behind=behind,
                       may_lose=behind if is_listed is None else 0)
        # Records that the origin no longer keeps are not counted as already present.
        return Due(all_of_origin[behind:], max(0, position - (oldest - 1)), behind - position,
                   behind)

    def _publish_on_origin(self, trial, origin, records, step):
        """Publishes more records, after which retention may have removed the oldest ones. Returns
        the origin's records, and the oldest retained sequence."""
        rng = trial.rng
        day = self._day(rng, step)
        source = day.write(trial.folder / "origin.dbn")
        retain = rng.random() < 0.5
        options = ("--retain-bytes", RETAINED_BYTES) if retain else ()
        publisher = trial.start("publish", "--bus", origin.directory, "--source", f"dbn:{source}",
                                *OPTIONS, "--linger", "600s" if retain else "0", *options)
        if retain:
            self.world.bases.until_head(trial, origin, len(records) + len(day.records), publisher)
            time.sleep(0.05)  # for the retention, which may not have moved
            trial.check(publisher, stop_after=0)
        else:
            trial.check(publisher)
        records = records + day.records
        verified = json.loads(trial.run("verify", "--json", "--bus", origin.directory).out)
        return records, verified["journals"][-1]["oldest"]

    @staticmethod
    def _keep(trial, origin, records, oldest):
        kept = trial.folder / "older"
        shutil.copytree(origin.directory, kept)
        trial.note("a copy of the origin is kept")
        return kept, records, oldest

    @staticmethod
    def _put_back(trial, origin, older):
        kept, records, oldest = older
        shutil.rmtree(origin.directory)
        shutil.copytree(kept, origin.directory)
        trial.note(f"the origin is the older copy: {len(records)} records from {oldest} on")
        return records, oldest

    # Sources that cannot be compared

    def streams(self, trial):
        """A pipe, a FIFO, a device, a directory and a dangling link: none begins a session."""
        rng = trial.rng
        held = Held(trial, trial.folder / "bus")
        day = self._day(rng, 0)
        day.records = day.records or [dbn_files.trade(0)]
        path = day.write(trial.folder / "feed.dbn")
        if rng.random() < 0.7:
            self._run(trial, held, f"dbn:{path}", Due(day.records))
        fifo = trial.folder / "fifo"
        os.mkfifo(fifo)
        before = held.sessions()
        kinds = ("fifo", "pipe", "directory", "nothing", "device", "empty", "cut")
        for kind in rng.sample(kinds, 3):
            self._stream(trial, held, day, fifo, kind)
            if held.sessions() != before:
                trial.found(f"a source that is a {kind} began a session")
        held.grow([], "streams")
        return True

    @staticmethod
    def _stream(trial, held, day, fifo, kind):
        content = day.metadata + b"".join(day.records)
        path = trial.folder / "odd.dbn"
        line = ("publish", "--bus", held.directory, "--resume", *OPTIONS)
        if kind == "fifo":
            end = os.open(fifo, os.O_RDWR)
            try:
                os.write(end, content[:4096])
                done = trial.run(*line, "--source", f"dbn:{fifo}")
            finally:
                os.close(end)
        elif kind == "pipe":
            read_end, write_end = os.pipe()
            os.write(write_end, content[:4096])
            os.close(write_end)
            done = trial.run(*line, "--source", "dbn:-", stdin=read_end)
            os.close(read_end)
        else:
            source = {"directory": trial.folder, "nothing": trial.folder / "nothing",
                      "device": "/dev/zero"}.get(kind, path)
            path.write_bytes(b"" if kind == "empty" else content[:len(day.metadata) // 2])
            done = trial.run(*line, "--source", f"dbn:{source}")
        if done.code != USAGE and (done.code == 0 or kind in ("fifo", "pipe")):
            trial.found(f"`publish --resume` from a {kind} ended with {done.code}")
