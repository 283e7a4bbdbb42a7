"""Confines the program under test, so that it can only write to one folder.

`run_confined(folder, body)` runs body() in a child with separate namespaces for mounts (everything
is read-only except the folder and a new tmpfs on /dev/shm), processes (they all end with body()),
network and System V objects. /dev contains a few harmless devices and no disk.

The body starts with check_confinement(), which checks that writes elsewhere fail. Raises
Unconfinable if the kernel or the user's rights do not allow it.
"""

import ctypes
import errno
import os
import signal
import stat
import struct
import sys

CLONE_NEWNS, CLONE_NEWIPC, CLONE_NEWPID, CLONE_NEWNET = 0x20000, 0x8000000, 0x20000000, 0x40000000
MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_RDONLY, MS_REC, MS_PRIVATE = 2, 4, 8, 1, 0x4000, 0x40000
SYS_OPEN_TREE, SYS_MOVE_MOUNT, SYS_MOUNT_SETATTR = 428, 429, 442  # the same on all architectures
OPEN_TREE_CLONE, MOVE_MOUNT_F_EMPTY_PATH, MOUNT_ATTR_RDONLY = 1, 4, 1
AT_FDCWD, AT_RECURSIVE = -100, 0x8000
PR_SET_PDEATHSIG, PR_CAPBSET_DROP = 1, 24
# Capabilities that could break the confinement: mount, modules, raw I/O, reboot, clock, device
# nodes.
DROPPED_CAPABILITIES = (21, 16, 17, 22, 25, 27)
UNCONFINABLE_STATUS = 78

DEVICES = {"null": (1, 3), "zero": (1, 5), "full": (1, 7), "random": (1, 8), "urandom": (1, 9)}

_libc = ctypes.CDLL(None, use_errno=True)


class Unconfinable(Exception):
    """Says why confinement is not possible here."""


def _checked(what, result):
    if result == -1:
        number = ctypes.get_errno()
        raise Unconfinable(f"{what}: {os.strerror(number)}")
    return result


def _syscall(what, number, *arguments):
    return _checked(what, _libc.syscall(ctypes.c_long(number), *arguments))


def mount(source, target, kind=None, flags=0, options=None):
    """mount(2). Raises Unconfinable."""
    def as_bytes(text):
        return None if text is None else os.fsencode(text)
    _checked(f"mount {target}", _libc.mount(as_bytes(source), as_bytes(target), as_bytes(kind),
                                            ctypes.c_ulong(flags), as_bytes(options)))


def unmount(target, lazy=False):
    """umount2(2). Raises Unconfinable."""
    _checked(f"umount {target}", _libc.umount2(os.fsencode(target), 2 if lazy else 0))


def drop_capabilities():
    """For a child before its exec: there, root cannot mount, create devices, or set the clock."""
    for number in DROPPED_CAPABILITIES:
        _libc.prctl(PR_CAPBSET_DROP, number, 0, 0, 0)


def _make_read_only_but(folder):
    """Makes all mounts read-only, and mounts the folder again, writable."""
    mount(None, "/", flags=MS_REC | MS_PRIVATE)
    own = _syscall("open_tree", SYS_OPEN_TREE, AT_FDCWD, os.fsencode(folder),
                   ctypes.c_uint(OPEN_TREE_CLONE | os.O_CLOEXEC))
    attributes = struct.pack("<4Q", MOUNT_ATTR_RDONLY, 0, 0, 0)
    _syscall("mount_setattr", SYS_MOUNT_SETATTR, AT_FDCWD, b"/", ctypes.c_uint(AT_RECURSIVE),
             attributes, ctypes.c_size_t(len(attributes)))
    _syscall("move_mount", SYS_MOVE_MOUNT, own, b"", AT_FDCWD, os.fsencode(folder),
             ctypes.c_uint(MOVE_MOUNT_F_EMPTY_PATH))
    os.close(own)


def _make_devices():
    mount("tmpfs", "/dev", "tmpfs", MS_NOSUID | MS_NOEXEC, "mode=755,size=64k")
    for name, (major, minor) in DEVICES.items():
        os.mknod(f"/dev/{name}", stat.S_IFCHR | 0o666, os.makedev(major, minor))
        os.chmod(f"/dev/{name}", 0o666)
    os.symlink("/proc/self/fd", "/dev/fd")
    os.mkdir("/dev/shm")
    mount("tmpfs", "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777,size=512m")
    mount(None, "/dev", flags=MS_RDONLY | MS_NOSUID | MS_NOEXEC | 0x20)  # MS_REMOUNT


def _set_up(folder):
    _make_read_only_but(folder)
    _make_devices()
    mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC)


def _made(name):
    os.close(os.open(name, os.O_CREAT | os.O_WRONLY))
    return name


def check_confinement(elsewhere):
    """Raises AssertionError if a file can be created or a mode changed in one of these directories,
    or if a disk has a name."""
    for directory in elsewhere:
        name = os.path.join(directory, f".lapwing-hostile-{os.getpid()}")
        for what, attempt in (
                ("made a file in", lambda: os.unlink(_made(name))),
                ("changed the mode of", lambda: os.chmod(directory, os.stat(directory).st_mode)),
                ("renamed", lambda: os.rename(directory, name))):
            try:
                attempt()
            except OSError as error:
                if error.errno in (errno.EROFS, errno.ENOENT, errno.EBUSY, errno.EXDEV,
                                   errno.EINVAL):
                    continue
            raise AssertionError(f"not confined: {what} {directory}")
    for name in os.listdir("/dev"):
        if stat.S_ISBLK(os.lstat(f"/dev/{name}").st_mode):
            raise AssertionError(f"not confined: /dev/{name} is a disk")


def _first_process(folder, body):
    """The first process of its namespace. When it ends, the kernel ends all others there."""
    status = 1
    try:
        _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        _set_up(folder)
        status = body()
    except Unconfinable as reason:
        print(f"SKIPPED: no confinement here: {reason}", flush=True)
        status = UNCONFINABLE_STATUS
    except BaseException:  # this process must never return into its parent's code
        sys.excepthook(*sys.exc_info())
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def run_confined(folder, body):
    """Runs body() in a child that is confined to the folder. Returns its status."""
    if sys.platform != "linux" or os.geteuid() != 0:
        raise Unconfinable("needs root, to mount everything else read-only")
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child == 0:
        _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        flags = CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWPID | CLONE_NEWNET
        if _libc.unshare(flags) == -1:
            print(f"SKIPPED: no confinement here: unshare: {os.strerror(ctypes.get_errno())}",
                  flush=True)
            os._exit(UNCONFINABLE_STATUS)
        first = os.fork()
        if first == 0:
            _first_process(folder, body)
        os._exit(os.waitstatus_to_exitcode(os.waitpid(first, 0)[1]) & 0xFF)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status == UNCONFINABLE_STATUS:
        raise Unconfinable("see above")
    return status
