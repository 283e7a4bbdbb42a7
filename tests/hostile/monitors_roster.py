"""roster.json: crafted, truncated, huge, with forged pids, as another kind of file, or in a copied
or moved directory; and missing subscribers that are forgotten.

The publisher always starts, every live subscriber re-attaches, and `--forget-all` removes all
missing ones.
"""

import json
import os
import shutil
import signal
import socket
import time

import control_frames as frames
import good_user
from bases import copy_folder

ROUNDS = 2
EXTRAS_MAX = 3
ROSTER_SECONDS = 2.5  # written within a second; a subscriber is missing 2 s after a start
ROSTER_BYTES_MAX = 2 << 20
NAME_MAX = 63  # maximum bytes of a name in a frame
ILL = 1  # exit code of `health` for problems
NUMBERS = (0, 1, -1, 1.5, 1 << 31, (1 << 32) - 1, 1 << 32, (1 << 64) - 1, 1 << 64)
WRONG_TYPES = (None, "x", [], {}, True, -1, 1 << 70)
FORGOTTEN = ("good", "nobody", "", "x" * 300, "extra-0", "\x1b[31m", "ü", "--all")


def rosters(scene):
    return _Rosters(scene).run()


class _Rosters:
    def __init__(self, scene):
        self.scene, self.rng, self.good = scene, scene.rng, scene.good
        self.trial = scene.trial
        self.roster = self.good.directory / "roster.json"
        self.extras = {}

    def run(self):
        good = self.good
        good.start_bus()
        good.start_monitors(serve=self.rng.random() < 0.5)
        for number in range(self.rng.randint(1, EXTRAS_MAX)):
            self.extras[f"extra-{number}"] = good.subscribe(f"extra-{number}")
        good.until_listed(*self.extras)
        good.watch(0)
        good.is_steady = False
        good.states = {"running", "gone", "silent", "closed", "unreadable", "stopped"}
        for _ in range(ROUNDS):
            self._restart()
            self._forget()
        if self.rng.random() < 0.4:
            self._copy()
        good.watch(0)
        for extra in self.extras.values():
            self.trial.check(extra, stop_after=0)
        return True

    # A restart

    def _restart(self):
        """Ends the publisher, sometimes changes the roster, and starts the next one."""
        self.good.watch(ROSTER_SECONDS)  # forgotten subscribers are no longer in the file
        is_killed = self.rng.random() < 0.7
        if is_killed:
            self.good.publisher.kill()
        else:
            self.trial.check(self.good.publisher, stop_after=0)
        gone = self._kill_one_extra() if self.rng.random() < 0.4 else None
        is_own = self.roster.is_file() and not self.roster.is_symlink()
        is_crafted = self.rng.random() < 0.8
        if is_crafted:
            self.trial.note(f"roster.json: {self._craft()}")
        if not self._publish():
            return
        self._live_are_attached()
        if is_own and not is_crafted:
            self._rest_is_missing({gone} if is_killed and gone else set())

    def _kill_one_extra(self):
        if not self.extras:
            return None
        name = self.rng.choice(sorted(self.extras))
        self.extras.pop(name).kill()
        self.trial.note(f"the subscriber {name} is killed after the publisher's end")
        return name

    def _publish(self):
        self.good.publish()
        publisher = self.good.publisher
        self.trial.until("a publisher's answer", lambda: self.good.listed() is not None
                         or not publisher.alive())
        if publisher.alive():
            return True
        words = publisher.outcome().err.decode(errors="replace")[-300:]
        self.trial.found(f"a publisher did not start beside this roster.json: {words}")
        return False

    def _live(self):
        return {good_user.SUBSCRIBER, *self.extras}

    def _live_are_attached(self):
        self.good.until_listed(*self._live())

    def _missing(self):
        return {one["name"] for one in self.good.listed() or () if one["state"] == "missing"}

    def _rest_is_missing(self, expected):
        """Checks that a publisher's own roster contains exactly the killed subscribers."""
        self.good.watch(ROSTER_SECONDS)
        missing = self._missing()
        if missing != expected:
            self.trial.found(f"missing are {sorted(missing)}, not {sorted(expected)}")
        code = ILL if expected else 0
        self.trial.until(f"`health` to end with {code} while {len(expected)} are missing",
                         lambda: self._health() == code)

    def _health(self):
        time.sleep(good_user.LISTED_SECONDS)
        return self.good.run("health", "--bus", self.good.directory).code

    # Changes of the roster

    def _craft(self):
        """Changes the file. Returns a description of the change."""
        kind = self.rng.choice(("text", "text", "object", "entries", "entries", "file"))
        content = self.roster.read_bytes() if self.roster.is_file() else b"{}"
        if kind == "file":
            return self._craft_file()
        if kind == "text":
            what, content = self._craft_text(content)
        else:
            craft = self._craft_object if kind == "object" else self._craft_entries
            try:
                roster = json.loads(content)
                what = craft(roster)
                content = json.dumps(roster).encode(errors="surrogateescape")
            except (ValueError, KeyError, IndexError):
                return "left as it is"  # by an earlier change
        self._put(content)
        return what

    def _put(self, content):
        if self.roster.is_dir() and not self.roster.is_symlink():
            self.roster.rmdir()
        self.roster.unlink(missing_ok=True)
        self.roster.write_bytes(content)
        self.roster.chmod(0o600)
        os.chown(self.roster, self.good.uid, self.good.uid)

    def _craft_text(self, content):
        cut = self.rng.randrange(len(content))
        texts = {f"cut to {cut} bytes": content[:cut], "empty": b"", "null": b"null",
                 "a list": b"[]", "an empty object": b"{}", "nested lists": b"[" * 1_000_000,
                 "nested objects": b'{"a":' * 400_000, "no UTF-8": b"\xff" + content,
                 "zeros": bytes(len(content)), "twice": content * 2,
                 "as large as allowed": content.ljust(ROSTER_BYTES_MAX),
                 "too large": content.ljust(ROSTER_BYTES_MAX + 1), "huge": bytes(64 << 20)}
        what = self.rng.choice(sorted(texts))
        return what, texts[what]

    def _craft_object(self, roster):
        field = self.rng.choice(sorted(roster))
        value = self.rng.choice({
            "boot_id": ("0" * 32, "x", 1), "closed": (True, False, 1),
            "subscribers": (None, {}, [1])}.get(field, NUMBERS))
        roster[field] = value
        return f"{field} is {value!r}"

    def _craft_entries(self, roster):
        """Entries with other pids, numbers, names, types or times, or many entries."""
        rng, entries = self.rng, roster["subscribers"]
        entry = dict(rng.choice(entries))
        kind = rng.choice(("pid", "number", "type", "name", "many", "twice", "time", "lacks"))
        if kind == "pid":
            pid = rng.choice((0, 1, os.getpid(), self.good.subscriber.process.pid, (1 << 32) - 1))
            entry |= {"pid": pid, "name": "forged", "process_start": rng.choice((0, 1, 1 << 63))}
        elif kind == "number":
            field = rng.choice(("position", "records", "lost", "wait", "on_gap"))
            entry[field] = rng.choice(NUMBERS)
        elif kind == "type":
            entry[rng.choice(sorted(entry))] = rng.choice(WRONG_TYPES)
        elif kind == "name":
            entry["name"] = rng.choice(("", "x" * 1000, "\x1b[31m\n", "\ud800", "\x00good",
                                        "ü" * 40))
        elif kind == "time":
            now = time.time_ns()
            wall = rng.choice((0, now - 10**18, now + 10**18, (1 << 63) - 1, (1 << 64) - 1))
            entry |= {"name": "of another time", "connected_wall_ns": wall,
                      "reported_wall_ns": wall, "missing_since_wall_ns": wall}
        elif kind == "lacks":
            del entry[rng.choice(sorted(entry))]
        count = rng.choice((1023, 1025, 4000)) if kind == "many" else 1
        entries.extend(entry | {"name": f"many-{n}"} if kind == "many" else entry
                       for n in range(count))
        return f"{count} more with another {kind}"

    def _craft_file(self):
        """Another kind of file with that name."""
        kind = self.rng.choice(("FIFO", "directory", "link", "device", "loop", "unreadable",
                                "of another user", "removed"))
        self._put(b"{}")
        if kind == "unreadable":
            self.roster.chmod(0)
        elif kind == "of another user":
            os.chown(self.roster, 65_534, 65_534)
        else:
            self.roster.unlink()
        if kind == "FIFO":
            os.mkfifo(self.roster, 0o600)
        elif kind == "directory":
            self.roster.mkdir()
        elif kind in ("link", "device", "loop"):
            self.roster.symlink_to({"link": self.good.directory / "bus.json", "device": "/dev/zero",
                                    "loop": self.roster}[kind])
        return f"is {kind}"

    # Forgetting

    def _forget(self):
        """Any name may be forgotten. Live subscribers stay attached."""
        at = ("--bus", self.good.directory)
        self.good.watch(ROSTER_SECONDS)  # those that have not returned are missing by now
        for name in self.rng.sample(FORGOTTEN, 2):
            missing = self._missing()
            done = self.good.run("subscribers", *at, f"--forget={name}")
            if done.code == 0 and name[:NAME_MAX] not in missing:
                self.trial.found(f"`subscribers --forget={name}` ended with 0: it was not missing")
        if self.rng.random() < 0.5:
            self._forget_in_frames()
        done = self.trial.run("subscribers", *at, "--forget-all",
                              before_exec=self.scene.user(self.scene.attackers(1)[0]))
        if done.code == 0:
            self.trial.found("`subscribers --forget-all` of another user ended with 0")
        done = self.good.run("subscribers", *at, "--forget-all")
        missing = self._missing()
        if done.code != 0 or missing:
            self.trial.found(f"`subscribers --forget-all` ended with {done.code} and left "
                             f"{len(missing)} missing")
        self._live_are_attached()

    def _forget_in_frames(self):
        """Sends requests that no command sends."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as connection:
            connection.settimeout(1)
            frame = frames.frame("Forget", tag=1, all=self.rng.choice((0, 2, (1 << 32) - 1)),
                                 name=self.rng.choice((b"", b"\xff" * 64, b"x" * 64)))
            hello = frames.frame("Hello", abi=1, role=frames.TOOL, min_version=1,
                                 version=self.rng.choice((1, 3, 4)))
            packets = [hello, frame, frame[:self.rng.randrange(1, 96)], frame + bytes(1000), frame]
            try:
                connection.connect(str(self.good.directory / "control.sock"))
                for packet in packets if self.rng.random() < 0.7 else packets[1:]:
                    connection.send(packet)
                connection.recv(frames.BYTES_MAX)
            except OSError:
                pass  # it may be disconnected because of this

    # A copy

    def _copy(self):
        """Starts publishers in a copy and in a moved copy, next to the original."""
        copy = self.good.home / "copy"
        self.good.publisher.signal(signal.SIGSTOP)
        copy_folder(self.good.directory, copy, at_rest=False)
        self.good.publisher.signal(signal.SIGCONT)
        if self.rng.random() < 0.5:
            copy = copy.rename(self.good.home / "moved")
        self.trial.note(f"a publisher starts in the directory {copy.name}")
        publisher = self.good.start("publish", "--bus", copy, "--source", "kv16:records=100",
                                    "--segment-bytes", "64K", "--linger", "600s")
        at = ("--bus", copy)
        self.trial.until("the copy's publisher", lambda: not publisher.alive() or self.good.start(
            "subscribers", *at).outcome().code == 0)
        if not publisher.alive():
            words = publisher.outcome().err.decode(errors="replace")[-300:]
            self.trial.found(f"a publisher did not start in a copy: {words}")
            return
        self.good.run("subscribers", *at, "--forget-all")
        publisher.signal(signal.SIGTERM)
        if self.trial.check(publisher).code != 0:
            self.trial.found("the publisher of a copy did not close")
        shutil.rmtree(copy)
