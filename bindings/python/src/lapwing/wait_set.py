"""Waits for several buses, channels, listeners, descriptors and timers on one thread."""

from __future__ import annotations

import select
from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

from . import _native
from ._arguments import WAIT, duration_ns, number_of, optional_ns, timeout_ns, whole
from ._handle import Handle
from .channel import Channel, Producer, Wait
from .error import NotFound, invalid, wrong_type
from .listener import Listener
from .subscriber import Subscriber
from .words import SourceKind

_UINT32_MAX = 2**32 - 1
_INT32_MAX = 2**31 - 1
# Indexed by the numbers in lapwing.h.
_KINDS = {
    1: SourceKind.SUBSCRIBER,
    2: SourceKind.CONFLATED,
    4: SourceKind.CONSUMER,
    5: SourceKind.PRODUCER,
    6: SourceKind.DUPLEX,
    7: SourceKind.LISTENER,
    8: SourceKind.FD,
    9: SourceKind.TIMER,
}


class HasFileno(Protocol):
    def fileno(self) -> int: ...


Source = Subscriber | Channel | Listener


class Timer:
    """A timer of a wait set, returned by add_timer()."""


class Ready(NamedTuple):
    """A source that is ready. Nothing was read from it: call it with timeout=0."""

    source: Any
    """the object that was added, a Timer, or a descriptor"""
    token: Any
    """the token passed to add, or the source if there was none"""
    kind: SourceKind
    expirations: int
    """a timer's expirations since it was last ready"""
    events: int
    """a descriptor's events, as in select.poll"""


class _Member(NamedTuple):
    source: Any
    token: Any

    def is_there(self) -> bool:
        """Returns False if the object was destroyed, which removed it from the set."""
        return not isinstance(self.source, Handle) or self.source.is_open


class WaitSet(Handle[_native.WaitSet]):
    """Waits until one of several sources is ready.

        with lapwing.WaitSet() as waits:
            waits.add(es)               # subscribers, channels, listeners
            waits.add(nq)
            for ready in waits:         # until the set is empty
                item = ready.source.read(timeout=0)

    A source with more items stays ready. A source that has ended stays ready until remove().
    Sources take turns. An object that `with` or destroy() closes leaves the set. During a wait,
    calls on a source from other threads raise misuse. interrupt() ends the wait. In asyncio, use a
    task for each source instead of a set.
    """

    def __init__(self, *, wait: Wait = "backoff") -> None:
        """Opens an empty set. `wait` has the same meaning as for a subscriber. A subscriber with
        wait="busy" can only join a set with wait="busy".
        """
        self._members: dict[int, _Member] = {}
        self._handle = _native.WaitSet(number_of("wait", wait, WAIT))

    def add(self, source: Source, token: Any = None, *, bytes: int = 0) -> None:
        """Adds a subscriber, a channel or a listener.

        bytes  a producer is ready when there is room for a message of this size

        Raises misuse if the source is already in a set, and limit if the set has 127 sources.
        """
        size = whole("bytes", bytes)
        if not isinstance(source, (Subscriber, Channel, Listener)):
            raise wrong_type("source", source, "a Subscriber, a channel or a Listener")
        if size and not isinstance(source, Producer):
            raise invalid(f"bytes is {bytes}, and the source is not a producer. Leave it out")
        number = self._handle.add(source._handle, size)
        self._keep(number, source, token)

    def add_fd(
        self, fd: int | HasFileno, token: Any = None, *, events: int = select.POLLIN
    ) -> None:
        """Adds a descriptor, or an object that has one. Remove it before you close it.

        events  select.POLLIN, POLLOUT, POLLPRI, POLLRDHUP
        """
        descriptor: Any = fd.fileno() if hasattr(fd, "fileno") else fd
        number = self._handle.add_fd(
            whole("fd", descriptor, _INT32_MAX), whole("events", events, _UINT32_MAX)
        )
        self._keep(number, fd, token)

    def add_timer(self, after: float | None, token: Any = None, *, every: float = 0.0) -> Timer:
        """Adds a timer that is ready after `after` seconds, and then every `every` seconds.

        after  None: not until set_timer()
        every  0: once
        """
        timer = Timer()
        self._keep(self._handle.add_timer(*_times(after, every)), timer, token)
        return timer

    def set_timer(self, timer: Timer, after: float | None, *, every: float = 0.0) -> None:
        """Sets a timer again, or stops it if `after` is None."""
        times = _times(after, every)
        if not isinstance(timer, Timer):
            raise wrong_type("timer", timer, "a Timer: add_timer() returns one")
        self._handle.set_timer(self._number_of(timer), *times)

    def remove(self, source: Source | Timer | int | HasFileno) -> None:
        """Removes a source. Raises not-found if it is not in the set."""
        number = self._number_of(source)
        self._handle.remove(number)
        del self._members[number]

    def wait(self, timeout: float | None = None) -> Ready:
        """Returns the next source that is ready. Raises would-block, timed-out or interrupted."""
        number, kind, expirations, events = self._handle.wait(timeout_ns(timeout))
        member = self._members[number]
        token = member.source if member.token is None else member.token
        return Ready(member.source, token, _KINDS[kind], expirations, events)

    def __iter__(self) -> Iterator[Ready]:
        while len(self) > 0:
            yield self.wait()

    def __len__(self) -> int:
        """Returns the number of sources."""
        for number in [n for n, member in self._members.items() if not member.is_there()]:
            del self._members[number]
        return len(self._members)

    def destroy(self) -> None:
        super().destroy()
        self._members.clear()

    def _keep(self, number: int, source: Any, token: Any) -> None:
        self._members[number] = _Member(source, token)

    def _number_of(self, source: Any) -> int:
        for number, member in self._members.items():
            same = member.source is source or (isinstance(source, int) and member.source == source)
            if same and member.is_there():
                return number
        raise NotFound("the source is not in the set. Add it first")


def _times(after: float | None, every: float) -> tuple[int, int]:
    return optional_ns("after", after, "not until set_timer()"), duration_ns("every", every)
