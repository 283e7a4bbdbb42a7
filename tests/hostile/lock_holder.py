"""A process of another user that holds every lock it can get on files in some directories."""

import fcntl
import os
import pathlib
import signal
import struct
import threading
import time

F_OFD_SETLK, F_OFD_SETLKW = 37, 38  # Linux only; Python has no names for them
WHOLE_FILE = struct.pack("hhqqi4x", fcntl.F_RDLCK, os.SEEK_SET, 0, 0, 0)
AGAIN_SECONDS = 0.005

LOCKS = {
    "F_SETLK": lambda fd: fcntl.lockf(fd, fcntl.LOCK_SH | fcntl.LOCK_NB),
    "F_SETLKW": lambda fd: fcntl.lockf(fd, fcntl.LOCK_SH),
    "F_OFD_SETLK": lambda fd: fcntl.fcntl(fd, F_OFD_SETLK, WHOLE_FILE),
    "F_OFD_SETLKW": lambda fd: fcntl.fcntl(fd, F_OFD_SETLKW, WHOLE_FILE),
    "flock shared": lambda fd: fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB),
    "flock exclusive": lambda fd: fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB),
    "flock exclusive, waiting": lambda fd: fcntl.flock(fd, fcntl.LOCK_EX),
    "lease of readers": lambda fd: fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_RDLCK),
}
WAITING = ("F_SETLKW", "F_OFD_SETLKW", "flock exclusive, waiting")


def become(uid, gid, groups=()):
    """For a child: drops all privileges."""
    os.setgroups(groups)
    os.setresgid(gid, gid, gid)
    os.setresuid(uid, uid, uid)


def _below(directories):
    for directory in directories:
        for top, _, files in os.walk(directory):
            yield top
            for name in files:
                yield os.path.join(top, name)


def _take(lock, fd):
    try:
        LOCKS[lock](fd)
    except OSError:
        pass  # held by another process, or not accessible


def _hold(directories, locks):
    """Repeatedly opens all accessible files, and locks each once. Never returns."""
    known = set()
    while True:
        for path in _below(directories):
            try:
                status = os.stat(path, follow_symlinks=False)
                if (status.st_dev, status.st_ino) in known:
                    continue
                fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
            except OSError:
                continue
            known.add((status.st_dev, status.st_ino))
            for lock in locks:
                if lock in WAITING:
                    threading.Thread(target=_take, args=(lock, fd), daemon=True).start()
                else:
                    _take(lock, fd)
        time.sleep(AGAIN_SECONDS)


class LockHolder:
    """A context in which that process runs. `locks` are names in LOCKS."""

    def __init__(self, directories, locks, uid, gid, groups=()):
        self._directories, self._locks = list(map(str, directories)), locks
        self._user = uid, gid, groups
        self.process = 0

    def __enter__(self):
        self.process = os.fork()
        if self.process == 0:
            try:
                become(*self._user)
                _hold(self._directories, self._locks)
            finally:
                os._exit(1)  # must never return into its parent's code
        return self

    def __exit__(self, *_):
        os.kill(self.process, signal.SIGKILL)
        os.waitpid(self.process, 0)

    def holds(self, path):
        """True if the kernel lists a lock on the file that this process holds or waits for. For
        locks on open file descriptions, the kernel lists no process."""
        inode = f":{os.stat(path).st_ino} "
        locks = pathlib.Path("/proc/locks").read_text().splitlines()
        return any(inode in line and (f" {self.process} " in line
                                      or "OFDLCK" in line and " READ " in line) for line in locks)
