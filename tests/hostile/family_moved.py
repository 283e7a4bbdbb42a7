"""Copied, renamed and moved buses; locks, sockets and files that are removed while they are in use;
publishers that are killed and restarted meanwhile.

Records once delivered to a subscriber keep their sequences, and can be read again.
"""

import os
import shutil
import time

import bases
import expected_records
import use_bus

NAME = "moved"
WEIGHT = 4
TRIALS_MIN = 10
RENAMED_SECONDS = 0.5
RENAMED_SECONDS_MAX = 1.0  # if it takes longer by chance, the trial is void


class Family:
    def __init__(self, world):
        self.world = world
        self.bases = world.bases

    def trial(self, trial):
        cases = (self.copy_of_the_dead, self.locks_removed, self.prepared_files_gone,
                 self.sessions_gone, self.renamed_for_a_moment, self.failed_at_its_end,
                 self.copy_of_the_living, self.killed_and_restarted, self.moved_for_good,
                 self.sessions_gone_while_running, self.socket_or_ring_removed)
        return cases[trial.number % len(cases)](trial)

    def _bus(self, trial, name="bus"):
        bus = bases.Bus(trial.folder, name, trial.rng.choice(("kv16", "dbn.mbo")),
                        expected_records.Expected())
        bus.fold = "latest" if bus.schema == "kv16" else "orders"
        bus.directory = trial.folder / name
        return bus

    def _copy(self, trial, bus):
        """A copy of the bus's current directory, even while it is in use."""
        other = bases.Bus(trial.folder, "copy", bus.schema, bus.expected.copy())
        other.directory = trial.folder / "copy"
        bases.copy_folder(bus.directory, other.directory, at_rest=False)
        trial.note(f"cp -a {bus.directory.name} copy")
        return other

    def _ring_must_stay(self, trial, bus, when):
        if not bus.rings():
            trial.found(f"the original's ring was removed {when}")

    def copy_of_the_dead(self, trial):
        """A publisher on a copy does not use the ring of the killed original."""
        bus = self._bus(trial)
        self.bases.publish_and_kill(trial, bus, 1)
        use_bus.Use(trial, bus, self.bases).tail()  # now a subscriber has received everything
        copy = self._copy(trial, bus)
        on_copy = use_bus.Use(trial, copy, self.bases)
        on_copy.publisher()
        self._ring_must_stay(trial, bus, "by a publisher on a copy")
        on_copy.tail()
        self._goes_on_with_everything(trial, bus)
        return True

    def _goes_on_with_everything(self, trial, bus):
        """The next publisher recovers all published records, and readers lose nothing."""
        use = use_bus.Use(trial, bus, self.bases)
        first = use.publisher()
        published = bus.expected.published - use_bus.MORE
        if first not in (None, published + 1):
            trial.found(f"subscribers had been given {published} records, and the next session "
                        f"begins at {first}")
        outcome = use.tail()
        if b'"event":"lost"' in outcome.out or outcome.code != 0:
            trial.found(f"records that subscribers had been given are lost: exit code "
                        f"{outcome.code}")
        use.readers()

    def copy_of_the_living(self, trial):
        """The same while the original is running, whether idle or writing."""
        bus = self._bus(trial)
        publisher = self.bases.publish_on(trial, bus, 1, *trial.rng.choice(
            ((), ("--sync-interval", "on-request"))))
        follower = trial.start("tail", "--bus", bus.directory, "--from", "start", "--format",
                               "json", "--until-closed", "--summary")
        copy = self._copy(trial, bus)
        on_copy = use_bus.Use(trial, copy, self.bases)
        on_copy.publisher()
        self._ring_must_stay(trial, bus, "while its publisher lives, by one on a copy")
        on_copy.tail()
        if trial.rng.random() < 0.5:
            publisher.kill()
            follower.kill()
        else:
            ended = trial.check(publisher, stop_after=0)
            if ended.code != 0:
                trial.found(f"the original's publisher ended with {ended.code}")
            self._whole(trial, bus, trial.check(follower), "the original's follower")
        self._goes_on_with_everything(trial, bus)
        return True

    @staticmethod
    def _whole(trial, bus, outcome, who):
        for fault in expected_records.TailCheck(bus.expected).read(outcome):
            trial.found(f"{who}: {fault}")
        if outcome.code != 0:
            trial.found(f"{who} ended with {outcome.code}")

    def locks_removed(self, trial):
        """A second publisher is refused before it writes anything, with or without lock files."""
        bus = self._bus(trial)
        publisher = self.bases.publish_on(trial, bus, 1)
        removed = [bus.directory / "publisher.lock", bus.journal / "publisher.lock"]
        if trial.rng.random() < 0.5:
            removed.append(bus.directory / "control.sock")
        for path in removed:
            path.unlink()
        trial.note(f"removed under a publisher: {[path.name for path in removed]}")
        feed = self.bases.feed(bus.schema, 2, use_bus.MORE)
        second = trial.run("publish", "--bus", bus.directory, "--source", feed.source)
        if second.code == 0:
            trial.found("a second publisher ran beside the first")
        self._ring_must_stay(trial, bus, "by a second publisher")
        ended = trial.check(publisher, stop_after=0)
        if ended.code != 0:
            trial.found(f"the first publisher ended with {ended.code}")
        if trial.run("verify", "--bus", bus.directory).code != 0:
            trial.found("a second publisher damaged the journal of the first")
        self._goes_on_with_everything(trial, bus)
        return True

    def prepared_files_gone(self, trial):
        """A prepared, empty segment is missing when the publisher stops."""
        bus = self._bus(trial)
        publisher = self.bases.publish_on(trial, bus, 1)
        use = use_bus.Use(trial, bus, self.bases)
        slots = 65536 // (32 if bus.schema == "kv16" else 64)
        # Only in the journal's own folder, because schemas and metadata are stored next to it.
        unused = [path for path in bus.journal.glob("*/*")
                  if path.name == "retention"
                  or path.suffix in (".jnl", ".sum", ".idx")
                  and int(path.stem) * slots >= bus.expected.published]
        if not unused:
            publisher.kill()
            return False
        for path in trial.rng.sample(unused, trial.rng.randint(1, len(unused))):
            path.unlink()
            trial.note(f"removed {path.name}, in which no record is")
        if trial.check(publisher, stop_after=0).code != 0:
            trial.found("a publisher did not close for want of a file without records")
        use.tail()
        self._goes_on_with_everything(trial, bus)
        return True

    def sessions_gone(self, trial):
        """A journal without its log is damaged, not absent."""
        bus = self.bases.place(trial.rng.choice(("clean", "kv16", "cut", "killed")), trial)
        for name in ("sessions", "sessions.copy"):
            (bus.journal / name).unlink()
        trial.note(f"base {bus.name}: both copies of sessions removed")
        use = use_bus.Use(trial, bus, self.bases)
        use.readers()
        use.publisher()
        if trial.run("repair", "--bus", bus.directory).code == 0:
            use.may_begin_anew = True
            use.publisher()
            use.tail()
        return True

    def sessions_gone_while_running(self, trial):
        bus = self._bus(trial)
        publisher = self.bases.publish_on(trial, bus, 1)
        for name in ("sessions", "sessions.copy"):
            (bus.journal / name).unlink()
        trial.note("both copies of sessions removed under a publisher")
        ended = trial.check(publisher, stop_after=0)
        if ended.code == 0 and b"sessions" not in ended.err:
            trial.found("a publisher whose log was removed closed with 0, and said nothing of it")
        use = use_bus.Use(trial, bus, self.bases)
        use.readers()
        use.publisher()
        return True

    def renamed_for_a_moment(self, trial):
        """Readers of a bus that is renamed for half a second lose nothing."""
        bus = self._bus(trial)
        publisher = self.bases.publish_on(trial, bus, 1, count=60_000 if bus.schema == "kv16"
                                          else bases.RECORDS)
        away = trial.folder / "away"
        os.rename(bus.directory, away)
        os.rename(away, bus.directory)
        follower = trial.start("tail", "--bus", bus.directory, "--from", "start", "--format",
                               "json", "--until-closed", "--summary")
        trial.until("a first record", lambda: follower.out_path.stat().st_size > 0
                    or not follower.alive())
        begun = time.monotonic()
        os.rename(bus.directory, away)
        time.sleep(RENAMED_SECONDS)  # part of the test, not a wait
        os.rename(away, bus.directory)
        took = time.monotonic() - begun
        trial.note(f"the bus's directory renamed for {took:.2f} s")
        trial.until("the follower to have everything", lambda: not follower.alive()
                    or b'{"event":"caught-up"' in follower.out_path.read_bytes())
        ended = trial.check(publisher, stop_after=0)
        outcome = trial.check(follower)
        if took > RENAMED_SECONDS_MAX:
            return False
        self._whole(trial, bus, outcome, "a follower meanwhile")
        if ended.code == 0:
            self._goes_on_with_everything(trial, bus)
        else:
            trial.found(f"the publisher ended with {ended.code}")
        return True

    def moved_for_good(self, trial):
        """A directory that is moved while it is in use contains everything at its new path."""
        bus = self._bus(trial)
        publisher = self.bases.publish_on(trial, bus, 1)
        bus.directory.rename(trial.folder / "moved")
        bus.directory = trial.folder / "moved"
        trial.note("the bus's directory moved under its publisher")
        if trial.rng.random() < 0.5:
            publisher.kill()
        else:
            trial.check(publisher, stop_after=0)
        use = use_bus.Use(trial, bus, self.bases)
        use.publisher()
        use.tail()
        use.verify()
        return True

    def failed_at_its_end(self, trial):
        """A bus whose last session has failed: every reader ends."""
        bus = self.bases.place("kv16", trial)
        self.bases.shed(trial, bus)
        trial.note("the last session's journal has failed")
        use = use_bus.Use(trial, bus, self.bases, trusted=False)
        use.tail()
        use.state()
        use.verify()
        use.info()
        use.may_begin_anew = True
        use.publisher()
        return True

    def killed_and_restarted(self, trial):
        """A continuous subscriber receives every record of killed publishers once."""
        bus = self._bus(trial)
        feed = self.bases.feed(bus.schema, 3, 8000 if bus.schema == "kv16" else bases.RECORDS)
        bus.expected.add_session(1, feed)
        source = ("publish", "--bus", bus.directory, "--source", feed.source, "--resume",
                  *bases.SEGMENT, "--pace", "20000")
        follower = trial.start("tail", "--bus", bus.directory, "--from", "start", "--format",
                               "json", "--until-closed", "--summary", "--reattach", "60s")
        for _ in range(3):
            publisher = trial.start(*source, "--sync-interval",
                                    trial.rng.choice(("on-request", "10ms")))
            seen = follower.out_path.stat().st_size
            trial.until("a record more", lambda now=publisher, then=seen: not now.alive()
                        or follower.out_path.stat().st_size > then + 4096)
            if not publisher.alive():
                break
            publisher.kill()
            if trial.rng.random() < 0.4:
                shutil.rmtree(bus.directory / "checkpoint", ignore_errors=True)
                for lock in bus.directory.rglob("publisher.lock"):
                    lock.unlink()
        trial.run(*source, "--linger", "1s")
        self._whole(trial, bus, trial.check(follower), "a follower throughout")
        use_bus.Use(trial, bus, self.bases).tail()
        return True

    def socket_or_ring_removed(self, trial):
        """A removed socket or ring is detected, and the records in the journal remain."""
        bus = self._bus(trial)
        publisher = self.bases.publish_on(trial, bus, 1)
        what = trial.rng.choice(("socket", "ring", "ring's directory", "bus.json"))
        if what == "socket":
            (bus.directory / "control.sock").unlink()
        elif what == "bus.json":
            (bus.directory / "bus.json").unlink()
        else:
            shutil.rmtree(bus.rings()[0].parent) if "'" in what else bus.rings()[0].unlink()
        trial.note(f"removed under a publisher: {what}")
        trial.run("tail", "--bus", bus.directory, "--from", "start", "--reattach", "0",
                  "--count", "10", "--format", "none")
        trial.check(publisher, stop_after=0)
        self._goes_on_with_everything(trial, bus)
        return True
