"""Programs whose CLOCK_MONOTONIC and CLOCK_BOOTTIME have an offset.

    with time_namespace.of(1_000_000):
        trial.start(…)  # its clocks are ahead by this many seconds

This process and its other children keep their clocks. The process must have only one thread.
"""

import contextlib
import ctypes
import os
import pathlib

CLONE_NEWTIME = 0x80
OFFSETS = pathlib.Path("/proc/self/timens_offsets")

_libc = ctypes.CDLL(None, use_errno=True)


def _checked(result):
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


@contextlib.contextmanager
def of(seconds):
    """Applies to children started inside it. 0: the same clocks. Raises OSError."""
    if seconds == 0:
        yield
        return
    own = os.open("/proc/self/ns/time", os.O_RDONLY | os.O_CLOEXEC)
    try:
        _checked(_libc.unshare(CLONE_NEWTIME))
        OFFSETS.write_text(f"monotonic {seconds} 0\nboottime {seconds} 0\n", encoding="ascii")
        yield
    finally:
        _checked(_libc.setns(own, CLONE_NEWTIME))
        os.close(own)
