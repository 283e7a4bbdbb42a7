"""Other users on the machine lock files that they can read, and take names that a bus needs.

The bus belongs to an unprivileged user and has a group. Its publisher is killed and restarted.
Readers get exactly the published records, and no files of other users are followed or changed.
"""

import contextlib
import json
import os
import pathlib
import shutil
import socket

import bases
import bus_files
import expected_records
import lock_holder
import use_bus
from xxh3 import xxh3_64

NAME = "other users"
WEIGHT = 3
TRIALS_MIN = 6
OWNER, MEMBER, STRANGER = 61_001, 61_002, 61_009
GROUP = bases.GROUP
SHARED = pathlib.Path("/dev/shm")
RECORDS = 300
DECOYS_MAX = 40


def user(uid, *groups):
    """For a child before its exec."""
    return lambda: lock_holder.become(uid, uid, list(groups))


class Family:
    def __init__(self, world):
        self.world, self.bases = world, world.bases
        for schema in ("kv16", "dbn.mbo"):  # as root, who may create the bus needed for this
            for seed in (1, 2, 3):
                self.bases.feed(schema, seed, RECORDS)
            for seed in range(901, 905):
                self.bases.feed(schema, seed, use_bus.MORE)

    def trial(self, trial):
        self._clear()
        os.chown(trial.folder, OWNER, OWNER)
        trial.become = user(OWNER, GROUP)
        try:
            cases = (self.locks, self.names_taken, self.locks, self.ring_directory_taken)
            return cases[trial.number % len(cases)](trial)
        finally:
            trial.end()
            self._clear()

    @staticmethod
    def _clear():
        """Removes the files of this family's users from shared memory."""
        for path in SHARED.iterdir():
            if path.lstat().st_uid in (OWNER, MEMBER, STRANGER):
                if path.is_dir() and not path.is_symlink():
                    shutil.rmtree(path)
                else:
                    path.unlink()

    def _bus(self, trial):
        bus = bases.Bus(trial.folder, "bus", trial.rng.choice(("kv16", "dbn.mbo")),
                        expected_records.Expected())
        bus.fold = "latest" if bus.schema == "kv16" else "orders"
        return bus, ("--group", str(GROUP))

    def _exact(self, trial, bus, who, groups=(GROUP,)):
        """A reader of that user gets every record."""
        done = trial.run("tail", "--bus", bus.directory, "--from", "start", "--until-closed",
                         "--reattach", "0", "--format", "json", "--summary",
                         before_exec=user(who, *groups))
        faults = expected_records.TailCheck(bus.expected).read(done)
        faults += [f"ended with {done.code}"] if done.code != 0 else []
        for fault in faults:
            trial.found(f"a reader of user {who}: {fault}")

    def _publish(self, trial, bus, seed, *options):
        """Runs a publisher, which must start, to its end."""
        feed = self.bases.feed(bus.schema, seed, RECORDS)
        done = trial.run("publish", "--bus", bus.directory, "--source", feed.source, *bases.SEGMENT,
                         "--summary", *options)
        if done.code != 0:
            trial.found(f"a publisher ended with {done.code} while others held locks or names: "
                        + done.err.decode(errors="replace")[-300:])
            return False
        first = json.loads(done.out.splitlines()[-1])["first"]
        if first != bus.expected.published + 1:
            trial.found(f"a publisher began at {first} after {bus.expected.published} records")
        bus.expected.add_session(first, feed)
        return True

    # Locks

    def locks(self, trial):
        """Locks all files and directories, before or while a publisher runs."""
        rng = trial.rng
        bus, options = self._bus(trial)
        if rng.random() < 0.6:
            self._publish(trial, bus, 1, *options)
        locks = rng.sample(sorted(lock_holder.LOCKS), rng.choice((1, 2, len(lock_holder.LOCKS))))
        who, groups = rng.choice(((MEMBER, [GROUP]), (MEMBER, [GROUP]), (STRANGER, [])))
        widened = rng.random() < 0.2
        trial.note(f"user {who} holds {', '.join(locks)}" + ", also of the lock files" * widened)
        with contextlib.ExitStack() as held:
            holder = lock_holder.LockHolder([trial.folder, SHARED], locks, who, who, groups)
            begun_before = rng.random() < 0.5
            if begun_before:
                held.enter_context(holder)
            publisher = self.bases.publish_on(trial, bus, 2, *options, count=RECORDS)
            if widened:
                for lock in bus.directory.rglob("publisher.lock"):
                    lock.chmod(0o644)
            if not begun_before:
                held.enter_context(holder)
            sessions = bus.journal / "sessions"
            if who == MEMBER and {"F_SETLKW", "F_OFD_SETLKW", "flock exclusive"} & set(locks):
                trial.until("the locks to be held", lambda: holder.holds(sessions))
            publisher.kill()
            at = ("--bus", bus.directory)
            others = [trial.start("checkpoint", *at, "--fold", bus.fold, "--until-closed"),
                      trial.start("tail", *at, "--from", "start", "--until-closed", "--format",
                                  "none")]
            if self._publish(trial, bus, 3, *options):
                self._exact(trial, bus, rng.choice((OWNER, MEMBER)))
            for process in others:
                if trial.check(process, stop_after=1).code not in (0, 5):
                    trial.found(f"`{trial.shown(process.command)}` ended with {process.ended.code}")
            self._tools(trial, bus)
        return True

    def _tools(self, trial, bus):
        """Commands that write their own files next to the bus, while others hold locks."""
        record = ("record", "--bus", bus.directory, "--from", "start", "--out", bus.recording,
                  "--until-closed")
        for line in (("verify", "--bus", bus.directory), ("repair", "--bus", bus.directory),
                     ("checkpoint", "--bus", bus.directory, "--fold", bus.fold,
                      "--until-closed"),
                     *([record] * 2 if bus.schema != "kv16" else [])):
            done = trial.run(*line)
            if done.code != 0:
                shown = trial.shown(done.command)
                trial.found(f"`{shown}` ended with {done.code} while others held locks")
        self._strangers(trial, bus)

    @staticmethod
    def _strangers(trial, bus):
        """A user outside the group reads nothing."""
        for line in (("tail", "--from", "start", "--until-closed"), ("info",), ("verify",)):
            done = trial.run(*line, "--bus", bus.directory, before_exec=user(STRANGER))
            if done.code == 0 or b'{"seq"' in done.out:
                trial.found(f"a stranger's `{line[0]}` ended with {done.code}")

    # Names

    def _take(self, trial, path, what):
        """Puts a stranger's file at that name. Returns what must not change."""
        other = self.world.sentinels.directory
        if what == "directory":
            path.mkdir(mode=0o777)
            path.chmod(0o777)
            (path / "kept.ring").write_text("kept\n")
            (path / "bus-0000000000000000").mkdir(mode=0o777)
        elif what == "FIFO":
            os.mkfifo(path, 0o666)
        elif what == "file":
            path.write_text("kept\n")
        elif what == "socket":
            with socket.socket(socket.AF_UNIX) as listener:
                listener.bind(str(path))
        else:
            path.symlink_to({"link": other, "link to nothing": SHARED / "made-through-a-link",
                             "link to a file": self.world.sentinels.file,
                             "link to the owner's": trial.folder}[what])
        os.lchown(path, STRANGER, STRANGER)
        trial.note(f"{path} is a stranger's {what}")
        return path

    KINDS = ("directory", "directory", "file", "FIFO", "socket", "link", "link to nothing",
             "link to a file", "link to the owner's")

    def names_taken(self, trial):
        """A stranger owns the directory in shared memory, and others with similar names."""
        rng = trial.rng
        bus, options = self._bus(trial)
        if rng.random() < 0.3:
            options = ()
        name = f"lapwing-{OWNER}" + (f"-{GROUP}" if options else "")
        taken = [self._take(trial, SHARED / name, rng.choice(self.KINDS))]
        for n in range(rng.randrange(DECOYS_MAX)):
            taken.append(self._take(trial, SHARED / f"{name}.{n:06}", rng.choice(self.KINDS)))
        report = trial.unchanged(taken)
        lost = False
        for seed in (1, 2):
            publisher = self.bases.publish_on(trial, bus, seed, *options, count=RECORDS)
            buses = trial.run("buses", "--json")
            if str(bus.directory).encode() not in buses.out:
                trial.found("`buses` does not find the bus")
            publisher.kill()
            lost = rng.random() < 0.25
            if lost:
                break
        if lost:
            self._logged_out(trial, bus, name, taken)
        elif self._publish(trial, bus, 3, *options):
            self._exact(trial, bus, OWNER, (GROUP,))
        report("a bus of another user")
        if (SHARED / "made-through-a-link").exists():
            trial.found("a link of a stranger was followed")
        return True

    def _logged_out(self, trial, bus, name, taken):
        """The owner's directories are removed, as at a logout, and others take their names, with
        other files or with a copy of the ring whose records are changed."""
        own = [path for path in SHARED.glob(f"{name}*") if path not in taken]
        report = self._forge_ring(trial, bus) if trial.rng.random() < 0.5 else None
        if report is None:
            for path in own:
                shutil.rmtree(path)
            report = trial.unchanged(
                [self._take(trial, path, trial.rng.choice(self.KINDS)) for path in own])
        trial.note("the ring is gone: what was not durable is lost")
        use = use_bus.Use(trial, bus, self.bases)
        use.tail()
        if use.publisher() is None:
            trial.found("a publisher did not start after others had taken its directories' names")
        use.tail()
        report("a bus of another user")

    @staticmethod
    def _forge_ring(trial, bus):
        """A group member replaces the ring with a copy that has other records."""
        ring, = bus.rings()
        content = bytearray(ring.read_bytes())
        slot_bytes = bus_files.get(content, 0, bus_files.RING, "slot_bytes")
        for at in range(2 * bus_files.PAGE, len(content), slot_bytes):
            if any(content[at:at + 8]):
                content[at + 16] ^= 1
        shutil.rmtree(ring.parent.parent)
        ring.parent.mkdir(parents=True)
        ring.write_bytes(content)
        for path in (ring, ring.parent, ring.parent.parent):
            os.chown(path, MEMBER, GROUP)
            path.chmod(0o755 if path.is_dir() else 0o444)
        trial.note(f"{ring} is a member's, with other records")
        return trial.unchanged([ring.parent.parent])

    def ring_directory_taken(self, trial):
        """With `--ring-dir` in shared memory, a stranger can take the name of the ring's directory.
        Starts are refused until the name is free."""
        rng = trial.rng
        bus, options = self._bus(trial)
        options += ("--ring-dir", str(SHARED))
        home = SHARED / f"bus-{xxh3_64(str(bus.directory).encode()):016x}"
        taken = [self._take(trial, home, rng.choice(self.KINDS))]
        report = trial.unchanged(taken)
        feed = self.bases.feed(bus.schema, 1, RECORDS)
        for _ in range(2):
            done = trial.run("publish", "--bus", bus.directory, "--source", feed.source,
                             *bases.SEGMENT, *options)
            if done.code == 0:
                trial.found("a publisher has put its ring into a directory of another user")
        report("a publisher that was refused")
        if home.is_dir() and not home.is_symlink():
            shutil.rmtree(home)
        else:
            home.unlink()
        if self._publish(trial, bus, 2, *options):
            self._exact(trial, bus, OWNER)
        return True
