"""Starts on full file systems that have few pages or files left for the journal, the ring or both.

A start works, or fails with a message and leaves nothing behind that takes space. When there is
space again, a publisher starts, and no record is lost.
"""

import json
import os
import pathlib
import shutil

import bases
import confinement
import expected_records
import under_harm
import use_bus

NAME = "full starts"
WEIGHT = 3
TRIALS_MIN = 8
PAGE = 4096
ROOM = "size=64m,nr_inodes=4096"
REMOUNT = 0x20
PAGES_LEFT_MAX, FILES_LEFT_MAX = 120, 14
SEEDS_WITHOUT_ROOM, SEED_WITH_ROOM = (3, 4, 5), 9  # of the feeds for these starts
SHARED = pathlib.Path("/dev/shm")
SHARED_ROOM = "mode=1777,size=512m,nr_inodes=1m"
SHARED_FLAGS = confinement.MS_NOSUID | confinement.MS_NODEV


class Disk:
    """A tmpfs, which can be reduced to the size of its contents."""

    def __init__(self, path, room=ROOM, flags=0):
        self.path, self.room, self.flags = path, room, flags

    def mount(self):
        self.path.mkdir(mode=0o700)
        confinement.mount("tmpfs", str(self.path), "tmpfs", options=f"mode=700,{self.room}")
        return self

    def unmount(self):
        confinement.unmount(str(self.path), lazy=True)

    def _remount(self, options):
        confinement.mount("tmpfs", str(self.path), options=options, flags=REMOUNT | self.flags)

    def leave(self, pages, files):
        """Limits the pages or files that can be added. None: only `room` limits them."""
        found = os.statvfs(self.path)
        used_pages = (found.f_blocks - found.f_bfree) * found.f_bsize // PAGE
        used_files = found.f_files - found.f_ffree
        options = []
        if pages is not None:
            options.append(f"size={max(1, used_pages + pages) * PAGE}")  # 0 would mean no limit
        if files is not None:
            options.append(f"nr_inodes={used_files + files}")
        self._remount(",".join(options))

    def give_room(self):
        self._remount(self.room)


class Family:
    def __init__(self, world):
        self.world, self.bases = world, world.bases

    def trial(self, trial):
        rng = trial.rng
        disk, memory = Disk(trial.folder / "disk").mount(), None
        try:
            in_shared = rng.random() < 0.3
            memory = Disk(SHARED, SHARED_ROOM, SHARED_FLAGS) if in_shared \
                else Disk(trial.folder / "memory").mount()
            return self._starts(trial, disk, memory, in_shared)
        finally:
            trial.end()
            if memory:
                memory.give_room() if memory.path == SHARED else memory.unmount()
            self._keep(trial, disk)
            disk.unmount()

    @staticmethod
    def _keep(trial, disk):
        """Saves what a finding needs before the file system is unmounted."""
        if trial.findings:
            shutil.copytree(disk.path, trial.folder / "disk-kept", symlinks=True,
                            ignore=shutil.ignore_patterns("*.sock"))

    def _starts(self, trial, disk, memory, in_shared):
        rng = trial.rng
        bus = bases.Bus(trial.folder, "bus", rng.choice(("kv16", "dbn.mbo")),
                        expected_records.Expected())
        bus.directory = disk.path / "bus"
        bus.journal = bus.directory / "journal"
        bus.fold = "latest" if bus.schema == "kv16" else "orders"
        for seed in (*SEEDS_WITHOUT_ROOM, SEED_WITH_ROOM):  # creates the feeds first
            self.bases.feed(bus.schema, seed, use_bus.MORE)
        # A bus on a tmpfs has its ring next to it, unless it is placed elsewhere.
        options = ("--ring-dir", str(SHARED if in_shared else memory.path))
        before = rng.choice(("nothing", "closed", "killed", "killed", "closed, then killed"))
        count = rng.choice((1, 64, 300, 1024, 2048, 2500))
        if "closed" in before:
            self.bases.publish(trial, bus, 1, *options, count=count)
        if "killed" in before:
            self.bases.publish_and_kill(trial, bus, 2, *options, count=count)
        small = [rng.choice((disk, disk, memory))] if rng.random() < 0.8 else [disk, memory]
        for place in small:
            pages = rng.choice((rng.randrange(12), rng.randrange(PAGES_LEFT_MAX)))
            files = rng.randrange(FILES_LEFT_MAX)
            left = rng.choice(((pages, None), (pages, None), (None, files), (pages, files)))
            place.leave(*left)
            trial.note(f"{before} before; {place.path.name} has room for {left[0]} pages and "
                       f"{left[1]} files")
        use = use_bus.Use(trial, bus, self.bases)
        failed = self._start_repeatedly(trial, bus, memory, options)
        for place in small:
            place.give_room()
        self._start_with_room(trial, bus, memory, use, options)
        return failed  # a start that works immediately tests nothing

    def _rings(self, bus, memory):
        return [*memory.path.rglob("bus-*/*.ring"), *bus.directory.rglob("*.ring")]

    def _start_repeatedly(self, trial, bus, memory, options):
        """Starts publishers without space. Returns True if one failed."""
        rings = len(self._rings(bus, memory))
        sessions = len(under_harm.sessions_of(trial, bus)) if bus.directory.exists() else 0
        failures = 0
        for seed in SEEDS_WITHOUT_ROOM:
            feed = self.bases.feed(bus.schema, seed, use_bus.MORE)
            done = trial.run("publish", "--bus", bus.directory, "--source", feed.source,
                             *bases.SEGMENT, "--summary", *options)
            if done.code == 0:
                self._book(trial, bus, feed, done)
                break
            failures += 1
            now = self._rings(bus, memory)
            if len(now) > max(rings, 1):
                trial.found(f"{failures} starts that failed have left {len(now)} rings")
        if failures:
            added = len(under_harm.sessions_of(trial, bus)) - sessions
            if added > 1 + (failures < len(SEEDS_WITHOUT_ROOM)):
                trial.found(f"{failures} starts that failed have left {added} sessions")
        return failures > 0

    @staticmethod
    def _book(trial, bus, feed, done):
        first = json.loads(done.out.splitlines()[-1])["first"]
        if first <= bus.expected.published:
            trial.found(f"`publish` began at {first} after {bus.expected.published} records")
        bus.expected.add_session(first, feed)

    def _start_with_room(self, trial, bus, memory, use, options):
        feed = self.bases.feed(bus.schema, SEED_WITH_ROOM, use_bus.MORE)
        done = trial.run("publish", "--bus", bus.directory, "--source", feed.source, *bases.SEGMENT,
                         "--summary", *options)
        if done.code != 0:
            trial.found(f"with room, `publish` ended with {done.code}")
            return
        published = bus.expected.published
        self._book(trial, bus, feed, done)
        if bus.expected.published != published + use_bus.MORE:
            trial.found(f"with room, a session began behind {published + 1}: sequences were lost")
        rings = self._rings(bus, memory)
        if rings:
            trial.found(f"{len(rings)} rings are left after a clean close")
        if use.verify().code != 0:
            trial.found("`verify` finds damage after starts without room")
        if use.tail().code != 0:
            trial.found("`tail` reports a loss after starts without room")
        use.readers()
