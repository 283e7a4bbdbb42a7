"""Tests other users' access to a bus: the group may read it, and no other user may write to it.

Needs root to become other users. Reports what it skips otherwise.
"""

import ctypes
import errno
import fcntl
import mmap
import os
import pathlib
import signal
import sys
import threading
import unittest

import harness

OWNER_UID, MEMBER_UID, STRANGER_UID = 61_001, 61_002, 61_003
OWNER_GID, BUS_GID, STRANGER_GID = 61_001, 61_100, 61_003
PROT_WRITE = 2
FALLOC_PUNCH_HOLE = 0x02 | 0x01


def attempt(action):
    """The name of the errno that an action fails with, or "ok"."""
    try:
        action()
        return "ok"
    except OSError as error:
        return errno.errorcode[error.errno]


def punch_hole(fd):
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.fallocate(fd, FALLOC_PUNCH_HOLE, ctypes.c_long(0), ctypes.c_long(4096)) != 0:
        raise OSError(ctypes.get_errno(), "fallocate")


def replace(path):
    """Renames the user's own file over `path`, on the same file system."""
    shared = "/dev/shm" if path.startswith("/dev/shm/") else "/tmp"
    own = os.path.join(shared, f"lapwing-attack-{os.getpid()}")
    os.close(os.open(own, os.O_CREAT | os.O_RDWR, 0o600))
    try:
        os.rename(own, path)
    finally:
        os.unlink(own)


def make_writable(fd):
    """Tries to make a read-only mapping writable with mprotect."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    address = libc.mmap(None, ctypes.c_size_t(4096), mmap.PROT_READ, mmap.MAP_SHARED, fd,
                        ctypes.c_long(0))
    if libc.mprotect(ctypes.c_void_p(address), ctypes.c_size_t(4096),
                     mmap.PROT_READ | PROT_WRITE) != 0:
        raise OSError(ctypes.get_errno(), "mprotect")


@unittest.skipUnless(os.geteuid() == 0, "SKIPPED: needs root to become other users")
class Access(harness.BusTest):
    """A bus with an unprivileged owner and a group."""

    def setUp(self):
        super().setUp()
        os.chmod(self.folder, 0o777)
        self.bus = str(self.folder / "bus")
        self.publisher = self.start(
            "publish", "publish", "--source", "synthetic:records=20000", "--pace", "20000",
            "--group", BUS_GID, "--linger", "600s",
            user=OWNER_UID, group=OWNER_GID, extra_groups=[BUS_GID])
        self.until_head(20_000)
        info = self.info()
        self.ring = info["ring"]["path"]
        self.journal = str(next(pathlib.Path(info["journal_root"]).glob("*/*.jnl")))

    def as_user(self, uid, gid, groups, actions):
        """Runs the named actions as that user in a child. Returns {name: errno or ok}."""
        read_end, write_end = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(read_end)
            os.setgroups(groups)
            os.setresgid(gid, gid, gid)
            os.setresuid(uid, uid, uid)
            said = "\n".join(f"{name}={attempt(action)}" for name, action in actions.items())
            os.write(write_end, said.encode())
            os._exit(0)
        os.close(write_end)
        with os.fdopen(read_end) as answers:
            said = dict(line.split("=") for line in answers.read().splitlines())
        os.waitpid(child, 0)
        return said

    def attacks(self):
        """All actions on the ring and the journal that a reader must not be able to perform."""
        def with_reader(path, action):
            def run():
                fd = os.open(path, os.O_RDONLY)
                try:
                    action(fd)
                finally:
                    os.close(fd)
            return run

        actions = {}
        for what, path in (("ring", self.ring), ("journal", self.journal)):
            def writable_map(fd):
                mmap.mmap(fd, 4096, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE)
            actions[f"{what} open for writing"] = lambda p=path: os.open(p, os.O_RDWR)
            actions[f"{what} truncate"] = lambda p=path: os.truncate(p, 0)
            actions[f"{what} ftruncate"] = with_reader(path, lambda fd: os.ftruncate(fd, 0))
            actions[f"{what} writable map"] = with_reader(path, writable_map)
            actions[f"{what} mprotect"] = with_reader(path, make_writable)
            actions[f"{what} punch hole"] = with_reader(path, punch_hole)
            actions[f"{what} remove"] = lambda p=path: os.unlink(p)
            actions[f"{what} replace"] = lambda p=path: replace(p)
            actions[f"{what} chmod"] = lambda p=path: os.chmod(p, 0o666)
        actions["directory new file"] = lambda: os.open(self.bus + "/x", os.O_CREAT | os.O_RDWR)
        return actions

    def test_a_member_of_the_group_reads_everything(self):
        follower = self.start("member", "tail", "--from", "start", "--count", "20000", "--format",
                              "none", "--summary", user=MEMBER_UID, group=MEMBER_UID,
                              extra_groups=[BUS_GID])
        self.assertEqual(follower.wait(), 0, follower.err())
        self.assertEqual(follower.summary()["records"], 20_000)

    def test_a_member_of_the_group_reads_the_checkpoints(self):
        self.start("checkpoint", "checkpoint", "--fold", "latest", "--every", 10_000,
                   user=OWNER_UID, group=OWNER_GID, extra_groups=[BUS_GID])
        folder = pathlib.Path(self.bus) / "checkpoint" / "latest"
        self.until("a checkpoint", lambda: list(folder.glob("*.ckpt")))
        member = {"user": MEMBER_UID, "group": MEMBER_UID, "extra_groups": [BUS_GID]}
        state = self.run_to_end("state", "state", "--fold", "latest", "--limit", 1, **member)
        self.assertTrue(state.out())
        stranger = {"user": STRANGER_UID, "group": STRANGER_GID, "extra_groups": []}
        refused = self.start("refused", "state", "--fold", "latest", **stranger)
        self.assertNotEqual(refused.wait(), 0)

    def test_a_member_of_the_group_changes_nothing(self):
        said = self.as_user(MEMBER_UID, MEMBER_UID, [BUS_GID], self.attacks())
        refused = {"EACCES", "EPERM", "EBADF", "EINVAL"}
        for what, answer in said.items():
            self.assertIn(answer, refused, f"{what}: {answer}")
        print("\nmember: " + ", ".join(f"{what} {answer}" for what, answer in said.items()))

    def test_the_owner_does_not_open_the_ring_for_writing_by_mistake(self):
        said = self.as_user(OWNER_UID, OWNER_GID, [BUS_GID],
                            {"open": lambda: os.open(self.ring, os.O_RDWR),
                             "read": lambda: os.open(self.ring, os.O_RDONLY)})
        self.assertEqual(said, {"open": "EACCES", "read": "ok"})

    def test_outside_the_group_nothing_opens(self):
        said = self.as_user(
            STRANGER_UID, STRANGER_GID, [],
            {"ring": lambda: os.open(self.ring, os.O_RDONLY),
             "journal": lambda: os.open(self.journal, os.O_RDONLY),
             "bus.json": lambda: os.open(self.bus + "/bus.json", os.O_RDONLY),
             "socket": lambda: os.stat(self.bus + "/control.sock")})
        self.assertEqual(set(said.values()), {"EACCES"}, said)
        stranger = self.start("stranger", "tail", "--from", "start", "--reattach", "1s",
                              user=STRANGER_UID, group=STRANGER_GID, extra_groups=[])
        self.assertNotEqual(stranger.wait(), 0)
        self.assertIn("ermi", stranger.err())


@unittest.skipUnless(os.geteuid() == 0, "SKIPPED: needs root to become other users")
class Locks(harness.BusTest):
    """A group member locks every file that it can open. The bus starts, and its cursors open."""

    OWNER = {"user": OWNER_UID, "group": OWNER_GID, "extra_groups": [BUS_GID]}

    def setUp(self):
        super().setUp()
        os.chmod(self.folder, 0o777)

    def publish(self, name, **keywords):
        return self.run_to_end(name, "publish", "--source", "synthetic:records=100", "--group",
                               BUS_GID, **self.OWNER, **keywords)

    def lock_as_member(self, paths):
        """A group member's process that holds, or waits for, every lock that it can get."""
        ready, holder = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(ready)
            os.setgroups([BUS_GID])
            os.setresgid(MEMBER_UID, MEMBER_UID, MEMBER_UID)
            os.setresuid(MEMBER_UID, MEMBER_UID, MEMBER_UID)
            opened = 0
            for path in paths:
                try:
                    fd = os.open(path, os.O_RDONLY)
                except OSError:
                    continue
                opened += 1
                for lock in (lambda f=fd: fcntl.flock(f, fcntl.LOCK_EX),
                             lambda f=fd: fcntl.lockf(f, fcntl.LOCK_SH)):
                    threading.Thread(target=lock, daemon=True).start()
            os.write(holder, bytes([opened]))
            signal.pause()
            os._exit(0)
        os.close(holder)
        self.addCleanup(os.waitpid, child, 0)
        self.addCleanup(os.kill, child, signal.SIGKILL)
        with os.fdopen(ready, "rb") as answer:
            return child, answer.read(1)[0]

    def waits_for(self, child, path):
        """True if the kernel lists a lock on the file that the process holds or waits for."""
        inode = f":{os.stat(path).st_ino} "
        with open("/proc/locks", encoding="ascii") as locks:
            return any(f" {child} " in line and inode in line for line in locks)

    def test_read_locks_on_every_file_keep_no_publisher_out(self):
        self.publish("first")
        publisher = self.start("killed", "publish", "--source", "synthetic:records=100",
                               "--group", BUS_GID, "--linger", "600s", **self.OWNER)
        self.until_head(200)
        files = [path for path in pathlib.Path(self.bus).rglob("*") if path.is_file()]
        files.append(pathlib.Path(self.info()["ring"]["path"]))
        sessions = pathlib.Path(self.bus) / "journal" / "sessions"
        child, opened = self.lock_as_member(files)
        self.assertGreater(opened, 5)
        self.until("the member to wait for sessions", lambda: self.waits_for(child, sessions))
        publisher.kill()
        self.publish("third")
        self.assertTrue(self.waits_for(child, sessions), "the lock was given up: the test is void")
        reader = self.run_to_end("tail", "tail", "--from", "start", "--until-closed", "--format",
                                 "none", "--summary")
        self.assertEqual(reader.summary()["records"], 300)

    def test_a_lock_file_that_was_open_to_the_group_keeps_no_publisher_out(self):
        self.publish("first")
        locks = [pathlib.Path(self.bus, place, "publisher.lock") for place in ("", "journal")]
        for lock in locks:
            lock.chmod(0o644)
        child, opened = self.lock_as_member(locks)
        self.assertEqual(opened, 2)
        for lock in locks:
            self.until(f"{lock} to be locked", lambda path=lock: self.waits_for(child, path))
        self.publish("second")
        for lock in locks:
            self.assertEqual(lock.stat().st_mode & 0o777, 0o600)


if __name__ == "__main__":
    sys.exit(unittest.main(verbosity=2))
