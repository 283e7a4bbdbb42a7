"""The base of all objects. `with` or destroy() frees them; so does the collector, with a
warning."""

from __future__ import annotations

import contextlib
import threading
import warnings
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from . import _native
from .error import Error, Forked

Native = TypeVar("Native", bound=_native.Handle)
Self = TypeVar("Self", bound="Handle[Any]")


class Handle(Generic[Native]):
    """A library object. Only one thread may use it at a time; any thread may call interrupt()."""

    _handle: Native
    _is_closed = False  # close() was called, but not destroy() yet
    _closes_after_an_exception = True

    @property
    def is_open(self) -> bool:
        """False after the object was destroyed."""
        return self._handle.is_open

    def interrupt(self) -> None:
        """Ends the current wait with `interrupted`, or the next wait if there is none."""
        self._handle.interrupt()

    def destroy(self) -> None:
        """Frees everything immediately, without waiting."""
        self._handle.destroy()

    def close(self) -> None:
        """The same as destroy()."""
        self.destroy()

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if not self.is_open:
            return
        try:
            if kind is None or self._closes_after_an_exception:
                self.close()
        except Forked:
            pass  # in a child, open objects belong to the parent
        finally:
            self.destroy()

    def __del__(self) -> None:
        handle = getattr(self, "_handle", None)
        if handle is None or not handle.is_open:
            return
        if not self._is_closed:
            warnings.warn(f"{self!r} was not closed", ResourceWarning, source=self, stacklevel=2)
        with contextlib.suppress(Error):  # memory with a live view is freed with the last view
            handle.destroy()


def opened(open_handle: Callable[[], Native], timeout: float | None) -> Native:
    """Returns the result of an open that may wait. Ctrl-C ends the wait.

    These calls cannot be interrupted in the library, so the main thread runs them on another
    thread. If a signal ends the wait here, the handle that the other thread gets is freed.
    """
    if timeout == 0 or threading.current_thread() is not threading.main_thread():
        return open_handle()
    opening = _Opening(open_handle)
    thread = threading.Thread(target=opening.run, name="lapwing-open", daemon=True)
    thread.start()
    try:
        thread.join()
    except BaseException:
        opening.abandon()
        raise
    return opening.result()


class _Opening(Generic[Native]):
    def __init__(self, open_handle: Callable[[], Native]) -> None:
        self._open_handle = open_handle
        self._lock = threading.Lock()
        self._is_abandoned = False
        self._handle: Native | None = None
        self._error: BaseException | None = None

    def run(self) -> None:
        try:
            handle = self._open_handle()
        except BaseException as error:  # raised again by result()
            self._error = error
            return
        with self._lock:
            self._handle = handle
            if self._is_abandoned:
                handle.destroy()

    def abandon(self) -> None:
        with self._lock:
            self._is_abandoned = True
            if self._handle is not None:
                self._handle.destroy()

    def result(self) -> Native:
        if self._error is not None:
            raise self._error
        assert self._handle is not None
        return self._handle
