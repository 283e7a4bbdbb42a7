"""The log's lines, of the whole process: those of publishers. By default they are dropped."""

from __future__ import annotations

import os
import threading
import traceback
from collections.abc import Callable, Iterator

from . import _native
from .error import WouldBlock, wrong_type

_END = b"\0\n"  # no line is this


class _Delivery:
    """A pipe from the library's threads to one of Python's, which calls the function."""

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
                except Exception:  # the function's own; the next line may fare better
                    traceback.print_exc()

    def end(self) -> None:
        """Delivers what is in the pipe. The library does not write into it any more."""
        if os.getpid() != self._process:  # a forked child: the pipe and the thread are the parent's
            os.close(self._write_end)
            return
        os.set_blocking(self._write_end, True)
        os.write(self._write_end, _END)
        os.close(self._write_end)
        if threading.current_thread() is not self._thread:
            self._thread.join()


_delivery: _Delivery | None = None


def to(function: Callable[[str], object] | None) -> None:
    """Calls `function` with each line, in a thread of its own: `logging.getLogger("bus").info`.

    None: lines are dropped again, once those before are delivered. A forked child's lines go to
    the parent's function.
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
    """The oldest line of the queue, and how many were dropped since the last call.

    Raises would-block: there is none.
    """
    return _native.log_read()


def lines() -> Iterator[str]:
    """Empties the queue."""
    while True:
        try:
            line, _ = read()
        except WouldBlock:
            return
        yield line
