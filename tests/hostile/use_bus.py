"""Uses a bus after harm: every reader, a publisher and a repair, with the rules for them.

Readers change nothing. Every record that they return equals the one published with its sequence,
and no sequence is skipped silently. A publisher continues after the last published record, or
refuses to start. It begins again at 1 only if the journal had failed or was repaired.
"""

import json

import bases
import bus_files
import expected_records

MORE = 40  # records per session published after the harm


class Use:
    def __init__(self, trial, bus, makers, trusted=True):
        """trusted: the files contain what Lapwing wrote, or have wrong sums. Crafted files have
        valid sums, so for them only endings and bystanders are checked."""
        self.trial, self.bus, self.makers, self.trusted = trial, bus, makers, trusted
        self.may_begin_anew = False
        self.check_recording = True
        self.voids = []
        self._sessions = 0

    def _known_gone(self):
        """Ranges removed by retention, or recorded as removed by `repair`, in any journal."""
        folders = [path for path in self.bus.journal.glob("*") if path.is_dir()] \
            if self.bus.journal.is_dir() else []
        if not folders:
            return [(1, 1 << 62)]  # there is no journal any more
        oldest = max(map(bus_files.retained_from, folders))
        return [(1, oldest - 1)] if oldest > 1 else []

    def _find_voids(self):
        """The voids that `info` reports."""
        done = self.trial.run("info", "--json", "--bus", self.bus.directory)
        if done.code == 0:
            self.voids = [tuple(session["void"]) for session in json.loads(done.out)["sessions"]
                          if "void" in session]

    def all(self):
        """Runs everything, in an order that differs between trials."""
        self.readers()
        steps = [self.followers, self.publisher]
        self.trial.rng.shuffle(steps)
        for step in steps:
            step()
        self.tail()
        if self.trial.rng.random() < 0.5:
            self.repair()
            self.publisher()
            self.readers()

    def readers(self):
        ring_folders = sorted({ring.parent for ring in self.bus.rings()})
        report = self.trial.unchanged([self.bus.directory, *ring_folders])
        steps = [self.verify, self.info, self.tail, self.export, self.state, self.book]
        self.trial.rng.shuffle(steps)
        for step in steps:
            step()
        report("a command that only reads")

    def verify(self):
        return self.trial.run("verify", "--bus", self.bus.directory,
                              *self.trial.rng.choice(((), ("--json",))))

    def info(self):
        self.trial.run("info", "--bus", self.bus.directory,
                       *self.trial.rng.choice(((), ("--json",))))

    def tail(self):
        outcome = self.trial.run("tail", "--bus", self.bus.directory, "--from", "start",
                                 "--until-closed", "--reattach", "0", "--format", "json",
                                 "--summary")
        if self.trusted:
            check = expected_records.TailCheck(self.bus.expected,
                                               self._known_gone() + self.voids)
            for fault in check.read(outcome):
                self.trial.found(f"`tail --from start`: {fault}")
        return outcome

    def export(self):
        if self.bus.schema == "kv16":
            return
        out = self.bus.folder / "exported.dbn"
        outcome = self.trial.run("export", "--bus", self.bus.directory, "--out", out, "--summary")
        if self.trusted and out.exists():
            self._check_file("export", out, outcome)

    def _check_file(self, who, out, outcome):
        for fault in expected_records.check_file(self.bus.expected, out.read_bytes(), outcome):
            self.trial.found(f"`{who}`: {fault}")

    def state(self):
        self.trial.run("state", "--bus", self.bus.directory,
                       *self.trial.rng.choice(((), ("--fold", self.bus.fold, "--entries"),
                                               ("--json",))))

    def book(self):
        if self.bus.schema != "kv16":
            self.trial.run("book", "--bus", self.bus.directory, "--reattach", "0")

    def followers(self):
        """Commands that keep their own files about the bus."""
        self.trial.run("checkpoint", "--bus", self.bus.directory, "--fold", self.bus.fold,
                       "--until-closed", "--reattach", "0")
        if self.bus.schema == "kv16":
            return
        outcome = self.trial.run("record", "--bus", self.bus.directory, "--from", "start", "--out",
                                 self.bus.recording, "--until-closed", "--reattach", "0")
        if self.trusted and self.check_recording and self.bus.recording.is_file():
            self._check_file("record", self.bus.recording, outcome)

    def publisher(self):
        """Starts a new session. Returns its first sequence, or None if it did not start."""
        self._sessions += 1
        feed = self.makers.feed(self.bus.schema, 900 + self._sessions, MORE)
        outcome = self.trial.run("publish", "--bus", self.bus.directory, "--source", feed.source,
                                 *bases.SEGMENT, "--summary")
        lines = [line for line in outcome.out.splitlines() if line.startswith(b"{")]
        summary = json.loads(lines[-1]) if lines else {}
        if not summary.get("records"):
            if outcome.code == 0:
                self.trial.found("`publish` ended with 0 and published nothing")
            return None
        first = summary["first"]
        published = self.bus.expected.published
        if self.trusted and first != 1 and first <= published:
            self.trial.found(f"`publish` gave sequence {first} to another record: {published} "
                             "records were published before")
        if self.trusted and first == 1 and published and not self.may_begin_anew:
            self.trial.found("`publish` began a new history at 1, though the journal had not "
                             "failed")
        self.bus.expected.add_session(first, feed, new_history=first == 1)
        self._find_voids()
        self.may_begin_anew = False
        return first

    def repair(self):
        outcome = self.trial.run("repair", "--bus", self.bus.directory)
        self.may_begin_anew = True
        return outcome
