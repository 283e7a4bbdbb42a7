"""Other users' forged buses: directories, announcements and rings without a publisher.

The template comes from a publisher run by the program under test. Everything else is forged from it
with valid sums, so that a monitor treats the forgery as a bus until it reads the changed data.
"""

import json
import os
import pathlib
import struct
import time

import bus_files
from xxh3 import xxh3_64

SHARED = pathlib.Path("/dev/shm")
CAPACITY = 2048
RECORDS = 300
DIRECTORY_DEVICE, DIRECTORY_INODE = 216, 224  # of the ring's header
PID_NAMESPACE, TIME_NAMESPACE = 240, 248
RING_RUNNING = 1


class Template:
    """The description and the ring of a publisher's bus without a journal."""

    def __init__(self, trial):
        directory = trial.folder / "template"
        publisher = trial.start("publish", "--bus", directory, "--source",
                                f"kv16:records={RECORDS},seed=3", "--journal", "none",
                                "--capacity", CAPACITY, "--linger", "600s")
        description = directory / "bus.json"
        trial.until("a template's bus.json", description.exists)
        self.description = json.loads(description.read_text())
        ring = pathlib.Path(self.description["ring_path"])
        trial.until("a template's records", lambda: self._head_of(ring) >= RECORDS)
        self.ring = ring.read_bytes()
        publisher.kill()

    @staticmethod
    def _head_of(ring):
        at = bus_files.RING_WORDS["head"]
        return struct.unpack_from("<Q", ring.read_bytes(), at)[0] if ring.exists() else 0


def shared_directory(uid, suffix=""):
    """/dev/shm/lapwing-UID with that suffix, created if it is missing."""
    path = SHARED / f"lapwing-{uid}{suffix}"
    if not path.exists():
        path.mkdir(mode=0o755)
        os.chown(path, uid, uid)
    return path


def announcement_text(directory, name, ring_path="", pid=1, started_ns=None):
    return json.dumps({"directory": str(directory), "name": name, "ring_path": str(ring_path),
                       "publisher_pid": pid,
                       "started_wall_ns": time.time_ns() if started_ns is None else started_ns})


def hash_of(directory):
    return f"{xxh3_64(os.fsencode(str(directory))):016x}"


def announce(uid, directory, name, suffix="", **fields):
    """An announcement of that user. Returns its path."""
    path = shared_directory(uid, suffix) / f"{hash_of(directory)}.bus"
    path.write_text(announcement_text(directory, name, **fields), encoding="utf-8")
    path.chmod(0o644)
    os.chown(path, uid, uid)
    return path


class ForgedBus:
    """Creates a bus directory, its ring and its announcement, all owned by that user.

    header: fields of the ring's header. description: fields of bus.json; None removes one.
    """

    def __init__(self, template, uid, directory, rng, name="bus", header=None, description=None):
        self.uid, self.directory, self.name = uid, pathlib.Path(directory), name
        self.session_id, self.journal_id = rng.randbytes(16), rng.randbytes(16)
        self._make_directory()
        home = shared_directory(uid) / f"bus-{hash_of(self.directory)}"
        home.mkdir(mode=0o755)
        os.chown(home, uid, uid)
        self.ring = home / f"{self.session_id.hex()}.ring"
        self.socket = self.directory / "control.sock"
        self.description = template.description | {
            "name": name, "ring_path": str(self.ring), "journal_root": "", "closed": False,
            "session_id": self.session_id.hex(), "journal_id": self.journal_id.hex()}
        self._make_ring(template, header or {})
        self._describe(description or {})
        announce(uid, self.directory, name, ring_path=self.ring, pid=os.getpid())

    def _make_directory(self):
        self.directory.mkdir(parents=True)
        for path in (self.directory, self.directory.parent):
            path.chmod(0o755)
            os.chown(path, self.uid, self.uid)

    def _make_ring(self, template, header):
        content = bytearray(template.ring)
        status = self.directory.stat()
        struct.pack_into("<QQ", content, DIRECTORY_DEVICE, status.st_dev, status.st_ino)
        struct.pack_into("<QQ", content, PID_NAMESPACE, os.stat("/proc/self/ns/pid").st_ino,
                         os.stat("/proc/self/ns/time").st_ino)
        fields = {"session_id": self.session_id, "journal_id": self.journal_id,
                  "bus_name": self.name.encode()[:63], "publisher_pid": os.getpid()} | header
        for field, value in fields.items():
            bus_files.put(content, 0, bus_files.RING, field, value)
        bus_files.seal_page(content)
        struct.pack_into("<Q", content, bus_files.RING_WORDS["heartbeat"], time.monotonic_ns())
        struct.pack_into("<Q", content, bus_files.RING_WORDS["state"], RING_RUNNING)
        self.ring.write_bytes(content)
        self.ring.chmod(0o644)
        os.chown(self.ring, self.uid, self.uid)

    def _describe(self, changes):
        fields = self.description | changes
        path = self.directory / "bus.json"
        path.write_text(json.dumps({key: value for key, value in fields.items()
                                    if value is not None}), encoding="utf-8")
        path.chmod(0o644)
        os.chown(path, self.uid, self.uid)
