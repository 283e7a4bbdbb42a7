"""External effects on running processes: threads and processes are stopped, a control group takes
memory away, the journal's disk is unmounted, a burst follows idleness, and a peer overwrites its
channel's memory.
"""

import os
import signal
import time

import bases
import confinement
import expected_records
import memory_group
import thread_stop
import use_bus

NAME = "stalls"
WEIGHT = 3
TRIALS_MIN = 7
IDLE_SECONDS_MAX = 300
STALL_SECONDS = 0.3


class Family:
    def __init__(self, world):
        self.world, self.bases = world, world.bases
        self._said = set()

    def trial(self, trial):
        cases = (self.thread_stopped, self.disk_unmounted, self.reader_stopped,
                 self.idle_then_burst, self.scribbling_peer, self.little_memory,
                 self.thread_stopped, self.publisher_stopped)
        return cases[trial.number % len(cases)](trial)

    def _skip_once(self, what):
        """Returns False for a trial that does not count. The reason is reported once."""
        if what not in self._said:
            self._said.add(what)
            print(f"SKIPPED: {what}", flush=True)
        return False

    def _bus(self, trial, schema="kv16"):
        bus = bases.Bus(trial.folder, "bus", schema, expected_records.Expected())
        bus.fold = "latest" if schema == "kv16" else "orders"
        return bus

    def _flow(self, trial, count, pace):
        """A bus with a running publisher and its follower."""
        bus = self._bus(trial)
        feed = self.bases.feed("kv16", 4, count)
        bus.expected.add_session(1, feed)
        publisher = trial.start("publish", "--bus", bus.directory, "--source", feed.source,
                                *bases.SEGMENT, "--pace", pace)
        follower = self._follower(trial, bus)
        trial.until("a first record", lambda: follower.out_path.stat().st_size > 0
                    or not follower.alive())
        return bus, publisher, follower

    @staticmethod
    def _follower(trial, bus):
        return trial.start("tail", "--bus", bus.directory, "--from", "start", "--format", "json",
                           "--until-closed", "--summary", "--wait",
                           trial.rng.choice(("park", "backoff", "busy")))

    def _all_there(self, trial, bus, publisher, follower):
        """Checks that both end properly, and that the follower received every record once."""
        for who, process in (("the publisher", publisher), ("the follower", follower)):
            outcome = trial.check(process)
            if outcome.code != 0:
                trial.found(f"{who} ended with {outcome.code}")
            if process is follower:
                for fault in expected_records.TailCheck(bus.expected).read(outcome):
                    trial.found(f"the follower: {fault}")
        use_bus.Use(trial, bus, self.bases).tail()

    def thread_stopped(self, trial):
        """Stops one thread of a publisher, or of its follower, for a while."""
        bus, publisher, follower = self._flow(trial, 20_000, 20_000)
        victim = trial.rng.choice((publisher, publisher, follower))
        try:
            threads = thread_stop.threads_of(victim.process.pid)
            index = trial.rng.randrange(len(threads))
            trial.note(f"thread {index} of {len(threads)} of `{victim.command[1]}` stopped")
            with thread_stop.Stopped(threads[index]):
                time.sleep(STALL_SECONDS)  # part of the test
        except PermissionError:
            return self._skip_once("stalls: ptrace is not allowed: no single thread was stopped")
        except (ProcessLookupError, FileNotFoundError):
            return False  # it had already ended
        self._all_there(trial, bus, publisher, follower)
        return True

    def publisher_stopped(self, trial):
        bus, publisher, follower = self._flow(trial, 20_000, 20_000)
        publisher.signal(signal.SIGSTOP)
        late = self._follower(trial, bus)
        time.sleep(STALL_SECONDS)
        publisher.signal(signal.SIGCONT)
        trial.note("the publisher stopped while another follower joins")
        self._all_there(trial, bus, publisher, follower)
        self._all_there(trial, bus, publisher, late)
        return True

    def reader_stopped(self, trial):
        """Stops a follower until it is lapped several times."""
        bus, publisher, follower = self._flow(trial, 40_000, 100_000)
        follower.signal(signal.SIGSTOP)
        trial.until("the publisher's end", lambda: not publisher.alive())
        follower.signal(signal.SIGCONT)
        trial.note("the follower stopped until the publisher had ended")
        self._all_there(trial, bus, publisher, follower)
        return True

    def disk_unmounted(self, trial):
        """Unmounts the journal's disk while a publisher runs, and mounts it again later."""
        disk, bus = trial.folder / "disk", self._bus(trial)
        bus.directory = trial.folder / "mounted" / "bus"
        for folder in (disk, bus.directory.parent):
            folder.mkdir()
        confinement.mount("tmpfs", str(disk), "tmpfs", options="size=64m,mode=700")
        mounted = str(bus.directory.parent)
        confinement.mount(str(disk), mounted, flags=0x1000)  # MS_BIND
        ring = ("--ring-dir", "/dev/shm") if trial.rng.random() < 0.5 else ()
        try:
            feed = self.bases.feed("kv16", 5, 20_000)
            publisher = trial.start("publish", "--bus", bus.directory, "--source", feed.source,
                                    *bases.SEGMENT, "--pace", "20000", "--linger", "600s", *ring)
            self.bases.until_head(trial, bus, 3000, publisher)
            follower = self._follower(trial, bus)
            confinement.unmount(mounted, lazy=True)
            trial.note("the journal's disk unmounted under a publisher and its follower")
            trial.run("info", "--bus", bus.directory)
            time.sleep(STALL_SECONDS)
            trial.check(publisher, stop_after=trial.rng.choice((0, 1.0)))
            trial.check(follower, stop_after=0.2)
            confinement.mount(str(disk), mounted, flags=0x1000)
            bus.expected.add_session(1, feed)
            trial.run("verify", "--bus", bus.directory)
            outcome = trial.run("tail", "--bus", bus.directory, "--from", "start", "--reattach",
                                "0", "--format", "json", "--summary", "--until-closed")
            check = expected_records.TailCheck(bus.expected)
            for fault in check.read(outcome):
                if "nothing was said of" not in fault:  # it did not publish all of the feed
                    trial.found(f"after the disk is back: {fault}")
            trial.run("publish", "--bus", bus.directory, "--source", "kv16:records=10", *ring)
        finally:
            for process in trial.live:
                process.kill()
            confinement.unmount(mounted, lazy=True)
            confinement.unmount(str(disk), lazy=True)
        return True

    def idle_then_burst(self, trial):
        """Publishes nothing for a while, then everything at once."""
        feed = self.bases.feed("dbn.mbo", 1, bases.RECORDS)
        bus = self._bus(trial, "dbn.mbo")
        read_end, write_end = os.pipe()
        publisher = trial.start("publish", "--bus", bus.directory, "--source", "dbn:-",
                                "--capacity", "1024", "--segment-bytes", "64K", stdin=read_end)
        os.close(read_end)
        with os.fdopen(write_end, "wb") as source:
            source.write(feed.metadata + b"".join(feed.records[:10]))
            source.flush()
            self.bases.until_head(trial, bus, 10, publisher)
            bus.expected.add_session(1, feed)
            followers = [trial.start("tail", "--bus", bus.directory, "--from", "start", "--format",
                                     "json", "--until-closed", "--summary", "--wait", wait)
                         for wait in ("park", "backoff", "park")]
            for follower in followers:
                trial.until("ten records", lambda one=follower: not one.alive()
                            or one.out_path.read_bytes().count(b'{"seq"') >= 10)
            idle = max(0.5, min(IDLE_SECONDS_MAX, trial.seconds_left() / 4))
            trial.note(f"idle for {idle:.1f} s before a burst")
            time.sleep(idle)
            source.write(b"".join(feed.records[10:]))
        for follower in followers:
            self._all_there(trial, bus, publisher, follower)
        return True

    def little_memory(self, trial):
        """A control group with little memory: a command may fail only if the kernel kills it."""
        limit = trial.rng.choice((3, 6, 10, 16, 24, 40)) << 20
        try:
            group = memory_group.MemoryGroup(trial.folder, f"{os.getppid()}-{trial.number}", limit)
        except (OSError, confinement.Unconfinable) as reason:
            return self._skip_once(f"stalls: no control group for memory: {reason}")
        try:
            bus = self._bus(trial, "dbn.mbo")
            self.bases.publish(trial, bus, 1)
            trial.note(f"a control group of {limit >> 20} MiB")
            for line in (("checkpoint", "--fold", "orders", "--until-closed"),
                         ("tail", "--from", "start", "--until-closed", "--format", "none"),
                         ("verify",),
                         ("publish", "--source", "synthetic:records=20000,seed=9")):
                kills = group.kills()
                process = trial.start(line[0], "--bus", bus.directory, *line[1:],
                                      before_exec=group.join)
                if process.outcome().code != -signal.SIGKILL or group.kills() == kills:
                    trial.check(process)
            trial.run("publish", "--bus", bus.directory, "--source", "synthetic:records=10,seed=8")
            done = trial.run("verify", "--bus", bus.directory)
            if done.code != 0:
                trial.found(f"verify ended with {done.code} after little memory")
        finally:
            for process in trial.live:
                process.kill()
            group.remove()
        return True

    def scribbling_peer(self, trial):
        """Overwrites the memory of one side of a channel. The other side must survive."""
        socket, rng = trial.folder / "x.sock", trial.rng
        keep = rng.random() < 0.5
        receiver = trial.start("pipe", "--listen", socket, "--summary", *(("--keep",) * keep))
        read_end, write_end = os.pipe()
        sender = trial.start("pipe", "--connect", socket, "--retry", "30s", "--capacity", "64K",
                             "--max-message", "4K", stdin=read_end)
        os.close(read_end)
        victim = rng.choice((sender, receiver))
        trial.note(f"the channel memory of `{victim.command[2]}` overwritten")
        with os.fdopen(write_end, "wb") as source:
            source.write(b"x" * 1000)
            source.flush()
            trial.until("the first bytes", lambda: receiver.out_path.stat().st_size >= 1000
                        or not receiver.alive())
            for _ in range(40):
                if not (sender.alive() and receiver.alive()):
                    break
                self._scribble(victim.process.pid, rng)
                try:
                    source.write(rng.randbytes(rng.choice((1, 100, 4000))))
                    source.flush()
                except BrokenPipeError:
                    break
        other = sender if victim is receiver else receiver
        trial.check(other, stop_after=0.3)
        trial.check(victim, stop_after=0.1)
        return True

    @staticmethod
    def _scribble(process, rng):
        """Overwrites words of the shared memory that the process itself may write."""
        with open(f"/proc/{process}/maps", encoding="ascii", errors="replace") as maps:
            regions = [line.split()[0] for line in maps
                       if "memfd:" in line and " rw-s " in line]
        if not regions:
            return
        begin, end = (int(text, 16) for text in rng.choice(regions).split("-"))
        at = rng.choice((begin, begin + 4096, begin + 8192))
        at = min(at + 8 * rng.randrange(64), end - 8)
        with open(f"/proc/{process}/mem", "r+b", buffering=0) as memory:
            memory.seek(at)
            memory.write(rng.choice((bytes(8), b"\xff" * 8, rng.randbytes(8),
                                     (1 << 63).to_bytes(8, "little"), b"\x01" + bytes(7))))
