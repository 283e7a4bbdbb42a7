"""Buses from earlier releases: how they are stored, and how a program's results are read.

A version folder contains <name>.tar.zst, each with one bus directory and its recordings, and
expected.json: the results of the original program, by name. Values that depend on the time, the
machine or a program's feed are omitted.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "end_to_end"))

import harness  # noqa: E402

MORE_RECORDS = 100  # added by the current publisher
SOURCES = {"kv16": "kv16:keys=50", "dbn.mbo": "synthetic:seed=3"}
FOLDS = ("latest", "orders")
QUIET = ("--until-closed", "--reattach", "0", "--format", "none", "--summary")
NOT_KEPT = ("control.sock", "*.lock", "state")  # gone with its process, or part of a store


def version_folders():
    """The folders of all stored versions."""
    return sorted(path.parent for path in HERE.glob("*/expected.json"))


def pack(folder, name, archive):
    """Writes the bus folder/name into an archive with maximum compression."""
    excluded = [f"--exclude={pattern}" for pattern in NOT_KEPT]
    tar = subprocess.run(
        ["tar", "--create", "--sparse", "--sort=name", "--owner=0", "--group=0", "--numeric-owner",
         "--directory", folder, *excluded, name], check=True, capture_output=True).stdout
    subprocess.run(["zstd", "-q", "-f", "-19", "-o", archive, "-"], check=True, input=tar)


def unpack(archive, folder):
    """Unpacks an archive. Returns the bus directory, which belongs to the current user."""
    tar = subprocess.run(["zstd", "-q", "-d", "-c", archive], check=True, capture_output=True)
    subprocess.run(["tar", "--extract", "--no-same-owner", "--directory", folder], check=True,
                   input=tar.stdout)
    bus = pathlib.Path(folder, archive.name.removesuffix(".tar.zst"))
    # The ring belonged to root, and another user cannot check whether it still exists.
    description = bus / "bus.json"
    text = description.read_text(encoding="utf-8")
    description.write_text(text.replace("/lapwing-0/", f"/lapwing-{os.getuid()}/"),
                           encoding="utf-8")
    return bus


def only(values, *names):
    return {name: values[name] for name in names if name in values}


class Reading:
    """The results of the program LAPWING_BIN for one bus."""

    def __init__(self, bus, scratch):
        self.bus = bus
        self.scratch = scratch
        self.recording = bus / "recording"

    def run(self, *arguments, bus=None):
        """The exit code and the standard output of a command on the bus."""
        command = [harness.program(), arguments[0], "--bus", bus or self.bus, *arguments[1:]]
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True,
                              timeout=harness.HANG_SECONDS, check=False)
        self.said = done.stderr
        return done.returncode, done.stdout

    def lines(self, *arguments, bus=None):
        """The exit code and the JSON lines of a command on the bus."""
        code, out = self.run(*arguments, bus=bus)
        return code, [json.loads(line) for line in out.splitlines() if line.startswith("{")]

    def info(self):
        return json.loads(self.run("info", "--json")[1])

    def everything(self):
        """All results that can be read without changing the bus."""
        read = {"sessions": self.sessions(), "verify": self.verify(), "tail": self.tail(),
                "export": self.export(), "states": self.states()}
        if self.info()["schema"] == "dbn.mbo":
            read["book"] = self.book()
        if self.recording.is_dir():
            read["recordings"] = self.recordings()
        return read

    def sessions(self):
        return [only(session, "first", "last", "end", "void")
                for session in self.info()["sessions"]]

    def verify(self):
        code, out = self.run("verify", "--json")
        found = json.loads(out)
        journals = [only(journal, "oldest", "durable", "records", "damaged", "voids",
                         "void_records") for journal in found["journals"]]
        return {"exit": code, "clean": found["clean"], "journals": journals}

    def tail(self, *options, bus=None):
        code, (summary,) = self.lines("tail", "--from", "start", *QUIET, *options, bus=bus)
        return {"exit": code, **only(summary, "records", "first", "last", "gaps", "lost",
                                     "duplicates", "out_of_order", "digest")}

    def export(self):
        """The records of a DBN file exported from the bus, if it can be exported as DBN."""
        out = self.scratch / "export.dbn"
        code, _ = self.run("export", "--out", out)
        if not out.exists():
            return {"exit": code}
        return {"exit": code, **only(self.published_again([out]), "records", "digest")}

    def published_again(self, files):
        """The records of a bus to which the DBN files are published, one after another."""
        bus = self.scratch / "again"
        for file in files:
            code, _ = self.run("publish", "--source", f"dbn:{file}", bus=bus)
            if code != 0:
                raise AssertionError(f"{file} cannot be published: {self.said}")
        read = self.tail(bus=bus)
        shutil.rmtree(bus)
        return read

    def states(self):
        read = {}
        for fold in FOLDS:
            if (self.bus / "checkpoint" / fold).is_dir():
                code, (state,) = self.lines("state", "--fold", fold, "--json")
                read[fold] = {"exit": code, **only(state, "as_of", "entries", "digest")}
                read[fold]["skipped"] = len(state["skipped"])
        return read

    def book(self):
        code, lines = self.lines("book", "--json", "--summary")
        return {"exit": code, **only(lines[-1], "sequence", "digest", "orders", "stale")}

    def recordings(self):
        whole = self.recording / "whole.dbn.zst"
        parts = sorted(self.recording.glob("parts.*.dbn"))
        return {"whole": only(self.published_again([whole]), "records", "digest"),
                "parts": {"files": len(parts),
                          **only(self.published_again(parts), "records", "digest")}}

    def record(self):
        """Starts or continues both recordings."""
        self.recording.mkdir(exist_ok=True)
        start = ("record", "--from", "start", "--until-closed")
        for options in (("--out", self.recording / "whole.dbn.zst"),
                        ("--out", self.recording / "parts.dbn", "--rotate-bytes", "64K")):
            code, _ = self.run(*start, *options)
            if code != 0:
                raise AssertionError(f"record ended with {code}: {self.said}")

    def continued(self):
        """Changes the bus with the current publisher and readers, and returns their results.

        Digests cover only the existing records, because the current feed may differ.
        """
        before = self.tail()
        source = SOURCES[self.info()["schema"]]
        code, _ = self.run("publish", "--source", f"{source},records={MORE_RECORDS}")
        read = {"exit": code, "sessions": self.sessions(), "verify": self.verify()}
        read["tail"] = self.tail()
        del read["tail"]["digest"]
        if before["records"] > 0:
            old = self.tail("--count", before["records"])
            read["old_records_are_there"] = old["digest"] == before["digest"]
        folds = list(self.states())
        for fold in folds:
            self.run("checkpoint", "--fold", fold, "--until-closed")
        read["states"] = {fold: state["as_of"] for fold, state in self.states().items()}
        if self.recording.is_dir():
            self.record()
            read["recordings"] = {name: files["records"]
                                  for name, files in self.recordings().items()}
        return read
