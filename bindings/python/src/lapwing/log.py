"""The log lines of all publishers in this process. By default they are dropped."""

from __future__ import annotations

import os
import threading
import traceback
from collections.abc import Callable, Iterator

from . import _native
from .error import WouldBlock, wrong_type

_END = b"\0\n"  # never a log line


class _Delivery:
    """A pipe from the library's threads to a Python thread that calls the function."""

    def __init__(self, function: Callable[[str], object]) -> None:
        self._function = function
        self._process = os.getpid()
        read_end, self._write_end = os.pipe()
        os.set_blocking(self._write_end, False)
        self._lines = os.fdopen(read_end, "rb")
        self._thread = threading.Thread(target=self._run, name="lapwing-log", daemon=True)
        self._thread.start()
        _native.log_set(self._write_end)

    def _run(self) -> None:
        with self._lines as lines:
            for line in lines:
                if line == _END:
                    return
                try:
                    self._function(line.decode(errors="replace").rstrip("\n"))
                except Exception:  # raised by the function; continue with the next line
                    traceback.print_exc()

    def end(self) -> None:
        """Delivers the lines in the pipe. The library must no longer write to it."""
        if os.getpid() != self._process:  # in a child, the pipe and the thread are the parent's
            os.close(self._write_end)
            return
        os.set_blocking(self._write_end, True)
        os.write(self._write_end, _END)
        os.close(self._write_end)
        if threading.current_thread() is not self._thread:
            self._thread.join()


_delivery: _Delivery | None = None


def to(function: Callable[[str], object] | None) -> None:
    """Calls `function`, for example `logging.getLogger("bus").info`, with each line.

    The calls are made on a separate thread. None delivers the pending lines and drops later ones. A
    forked child's lines go to the parent's function.
    """
    global _delivery
    if function is not None and not callable(function):
        raise wrong_type("function", function, "a function of one line, or None")
    _native.log_set(-1)
    _end_delivery()
    if function is not None:
        _delivery = _Delivery(function)


def to_queue() -> None:
    """Keeps the newest 256 lines for read() and lines()."""
    _native.log_queue()
    _end_delivery()


def _end_delivery() -> None:
    global _delivery
    if _delivery is not None:
        _delivery.end()
        _delivery = None


def read() -> tuple[str, int]:
    """Returns the oldest line in the queue, and how many lines were dropped since the last call.

    Raises would-block if the queue is empty.
    """
    return _native.log_read()


def lines() -> Iterator[str]:
    """Removes and yields the lines in the queue."""
    while True:
        try:
            line, _ = read()
        except WouldBlock:
            return
        yield line
