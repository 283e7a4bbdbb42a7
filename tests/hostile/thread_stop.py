"""Stops one thread of another process with ptrace, which no signal can do, and continues it."""

import ctypes
import os

PTRACE_SEIZE, PTRACE_INTERRUPT, PTRACE_DETACH = 0x4206, 0x4207, 17
WALL = 0x40000000

_libc = ctypes.CDLL(None, use_errno=True)
_libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
_libc.ptrace.restype = ctypes.c_long


def _ptrace(request, thread):
    if _libc.ptrace(request, thread, None, None) == -1:
        raise OSError(ctypes.get_errno(), f"ptrace of thread {thread}")


def threads_of(process):
    """The thread ids of a process: the main thread first."""
    return sorted(int(name) for name in os.listdir(f"/proc/{process}/task"))


class Stopped:
    """A context in which one thread is stopped while the others of its process continue."""

    def __init__(self, thread):
        self.thread = thread

    def __enter__(self):
        _ptrace(PTRACE_SEIZE, self.thread)
        _ptrace(PTRACE_INTERRUPT, self.thread)
        os.waitpid(self.thread, WALL)
        return self

    def __exit__(self, *_):
        _ptrace(PTRACE_DETACH, self.thread)
