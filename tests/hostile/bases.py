"""Bus directories to damage: created once, and restored for each trial.

They are always at the same path, `work/bus`, because a bus stores the path of its journal. The bus
with a killed publisher is created anew each time, because its ring belongs to the files next to it.
"""

import fcntl
import json
import os
import pathlib
import shutil
import struct
import subprocess

import bus_files
import expected_records

RECORDS = 2500  # per session; with the segments below, three files of each kind
SEGMENT = ("--segment-bytes", "64K", "--capacity", "4096")
GROUP = 61_100
F_OFD_SETLKW = 38  # Linux only; Python has no name for it


class Bus:
    """A bus in place: its directory, its expected records, and its ring's directory."""

    def __init__(self, folder, name, schema, expected):
        self.folder, self.name, self.schema, self.expected = folder, name, schema, expected
        self.directory = folder / "bus"
        self.journal = self.directory / "journal"
        self.recording = folder / "recording.dbn"
        self.fold = "latest" if schema == "kv16" else "orders"

    def description(self):
        return json.loads((self.directory / "bus.json").read_text())

    def files(self):
        """{kind: paths} of the existing files, including rings and recordings."""
        kinds = {}

        def add(kind, path):
            kinds.setdefault(kind, []).append(path)

        for path in sorted(self.directory.rglob("*")):
            relative = path.relative_to(self.directory)
            if path.is_dir():
                continue
            if "state" in relative.parts:
                add("store " + path.name.split("-")[0].lstrip("0123456789"), path)
            elif path.suffix in (".jnl", ".sum", ".idx", ".ckpt"):
                add(path.suffix[1:], path)
            elif ".cut-" in path.name:
                add("cut", path)
            elif path.name == "publisher.lock":
                whose = "journal" if "journal" in relative.parts else "bus"
                add(f"lock of the {whose}", path)
            else:
                add(path.name, path)
        for path in sorted(self.folder.glob("recording.dbn*")):
            add("recording" + path.name.removeprefix("recording.dbn"), path)
        for path in self.rings():
            add("ring", path)
        return kinds

    def rings(self):
        """The ring files in this bus's own directories in shared memory."""
        return sorted(pathlib.Path("/dev/shm").glob("lapwing-*/bus-*/*.ring"))


class Bases:
    """Creates the bases in `work`, keeps copies, and puts one in place for a trial."""

    NAMES = ("clean", "killed", "cut", "failed", "group", "kv16")

    def __init__(self, scratch, new_trial):
        """new_trial() returns a Trial that runs in scratch/work."""
        self.scratch, self.work = scratch, scratch / "work"
        self.kept = scratch / "bases"
        self.kept.mkdir()
        self.new_trial = new_trial
        self._feeds = {}
        self._buses = {}

    def feed(self, schema, seed=1, count=RECORDS):
        """A feed with known records. Synthetic records are read from a separate bus."""
        key = schema, seed, count
        if key not in self._feeds:
            self._feeds[key] = (self._kv16 if schema == "kv16" else self._synthetic)(seed, count)
        return self._feeds[key]

    def _kv16(self, seed, count):
        seed *= 1_000_000
        return expected_records.Feed(f"kv16:records={count},seed={seed}",
                                     expected_records.kv16_content(seed, count))

    def _synthetic(self, seed, count):
        source = f"synthetic:records={count},seed={seed},instruments=3"
        trial = self.new_trial()
        bus, file = trial.folder / "feed", trial.folder / "feed.dbn"
        self.sure(trial.run("publish", "--bus", bus, "--source", source))
        shown = self.sure(trial.run("tail", "--bus", bus, "--from", "start", "--until-closed",
                                    "--format", "json"))
        self.sure(trial.run("export", "--bus", bus, "--out", file))
        contents = [line[line.index(b",") + 1:] for line in shown.out.splitlines()
                    if line.startswith(b'{"seq"')]
        data = file.read_bytes()
        records = expected_records.dbn_records(data)
        if not len(contents) == len(records) == count:
            raise RuntimeError(f"{source} gave {len(contents)} lines and {len(records)} records")
        shutil.rmtree(bus)
        file.unlink()
        return expected_records.Feed(source, contents, records, data[:-sum(map(len, records))])

    @staticmethod
    def sure(outcome):
        """The outcome of a command that must succeed."""
        if outcome.code != 0:
            raise RuntimeError(f"{outcome.command} ended with {outcome.code}:\n"
                               f"{outcome.err.decode(errors='replace')}")
        return outcome

    def publish(self, trial, bus, seed, *options, count=RECORDS, new_history=False):
        """Publishes a feed to its end, and notes its session."""
        feed = self.feed(bus.schema, seed, count)
        done = self.sure(trial.run("publish", "--bus", bus.directory, "--source", feed.source,
                                   *SEGMENT, "--summary", *options))
        bus.expected.add_session(json.loads(done.out.splitlines()[-1])["first"], feed, new_history)

    def publish_on(self, trial, bus, seed, *options, count=RECORDS, book=None):
        """Starts a publisher that keeps running, and waits until it has published the feed. Notes
        the session, or that many of its records."""
        feed = self.feed(bus.schema, seed, count)
        first = bus.expected.published + 1
        publisher = trial.start("publish", "--bus", bus.directory, "--source", feed.source,
                                *SEGMENT, "--linger", "600s", *options)
        self.until_head(trial, bus, first + count - 1, publisher)
        bus.expected.add_session(first, feed, count=book)
        return publisher

    @staticmethod
    def until_head(trial, bus, head, publisher):
        """Waits until the bus's head has reached `head`."""
        said = len(trial.said)

        def is_there():
            done = trial.start("info", "--json", "--bus", bus.directory).outcome()
            ring = json.loads(done.out)["ring"] if done.code == 0 else None
            return not publisher.alive() or ring and ring["head"] >= head
        trial.until(f"record {head} to be published", is_there)
        del trial.said[said:]
        if not publisher.alive():
            raise RuntimeError(f"the publisher ended: {publisher.outcome().err.decode()}")

    def publish_and_kill(self, trial, bus, seed, *options, **keywords):
        """Publishes a feed of which little is durable, and kills the publisher. The kernel
        completes writes that it has started, and holds the publisher's lock until then."""
        self.publish_on(trial, bus, seed, "--sync-interval", "on-request", *options, **keywords).kill()
        path = bus.journal / "sessions"
        if path.exists():  # a bus may have no journal, or one elsewhere
            with open(path, "r+b") as sessions:
                lock = struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 0, 0)
                fcntl.fcntl(sessions, F_OFD_SETLKW, lock)

    def _extras(self, trial, bus):
        self.sure(trial.run("checkpoint", "--bus", bus.directory, "--fold", bus.fold,
                            "--until-closed"))
        if bus.schema != "kv16":
            self.sure(trial.run("record", "--bus", bus.directory, "--from", "start", "--out",
                                bus.recording, "--until-closed"))

    def _make(self, name, trial):
        schema = "kv16" if name in ("kv16", "failed") else "dbn.mbo"
        bus = Bus(trial.folder, name, schema, expected_records.Expected())
        if name == "killed":
            bus.schema = trial.rng.choice(("kv16", "dbn.mbo"))
            bus.fold = "latest" if bus.schema == "kv16" else "orders"
            self.publish_and_kill(trial, bus, 1)
            return bus
        group = ("--group", str(GROUP)) if name == "group" else ()
        self.publish(trial, bus, 1, *group)
        if name == "failed":
            self.shed(trial, bus)
            self.publish(trial, bus, 2, new_history=True)
            return bus
        self._extras(trial, bus)
        if name == "cut":
            self.publish_and_kill(trial, bus, 2, book=0)
            for ring in bus.rings():
                ring.unlink()
        self.publish(trial, bus, 3, *group)
        if name == "cut":  # which of the session's records are durable is known only now
            self._book_cut_session(trial, bus)
        return bus

    def shed(self, trial, bus):
        """A session whose journal fails immediately, because the disk is too slow."""
        done = trial.start("publish", "--bus", bus.directory, "--source",
                           "kv16:records=600000,seed=77000000", "--capacity", "2048",
                           "--on-journal-lag", "shed").outcome()
        if done.code != 6:
            raise RuntimeError(f"no journal was shed: exit code {done.code}")

    def _book_cut_session(self, trial, bus):
        done = self.sure(trial.run("info", "--json", "--bus", bus.directory))
        session = json.loads(done.out)["sessions"][1]
        bus.expected.add_session(session["first"], self.feed(bus.schema, 2),
                                 count=session["last"] - session["first"] + 1)

    def make_all(self):
        for name in self.NAMES:
            if name == "killed":
                continue
            clear(self.work)
            trial = self.new_trial()
            bus = self._make(name, trial)
            self._buses[name] = bus
            for log in [*self.work.glob("*.out"), *self.work.glob("*.err")]:
                log.unlink()
            copy_folder(self.work, self.kept / name)
            wrong = bus_files.wrong_sums(bus)
            if wrong:
                raise RuntimeError(f"other sums than the program's, of base {name}: {wrong}")

    def place(self, name, trial):
        """Creates the base in the trial's folder, which must be empty."""
        if name == "killed":
            return self._make(name, trial)
        copy_folder(f"{self.kept / name}/.", trial.folder)
        model = self._buses[name]
        bus = Bus(trial.folder, name, model.schema, model.expected.copy())
        return bus


def copy_folder(source, target, at_rest=True):
    """Copies with modes, owners, times, links and holes, like `cp -a`. If a process is still
    writing, a file may disappear before it is copied."""
    done = subprocess.run(["cp", "-a", "--sparse=always", str(source), str(target)],
                          capture_output=True, text=True, check=False)
    if done.returncode != 0 and (at_rest or "No such file" not in done.stderr):
        raise RuntimeError(f"cp: {done.stderr}")


def clear(work):
    """Removes all files of the trials, including those in shared memory."""
    shared = pathlib.Path("/dev/shm")
    for path in [*shared.iterdir(), *shared.glob("lapwing-*/*")]:
        if path.is_dir() and not path.is_symlink():
            if not path.name.startswith(("lapwing-", "sentinel-")):
                shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink()
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()
    os.chmod(work, 0o755)
