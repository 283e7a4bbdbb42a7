"""Waits in asyncio. A non-blocking call is repeated when its descriptor becomes readable.

There is no suspension point between taking an item and returning it, so cancelling loses nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Generic, TypeVar

from ._arguments import timeout_ns
from .error import Closed, Misuse, TimedOut, WouldBlock

Taken = TypeVar("Taken")


async def readable(fd: int, seconds: float | None = None) -> None:
    """Returns when `fd` is readable, or after `seconds`. Only one task may wait for `fd`."""
    loop = asyncio.get_running_loop()
    ready = loop.create_future()

    def note() -> None:
        if not ready.done():
            ready.set_result(None)

    loop.add_reader(fd, note)
    try:
        await asyncio.wait((ready,), timeout=seconds)
    finally:
        loop.remove_reader(fd)
        ready.cancel()


class Waiter:
    """Waits for one object. Only one task at a time may wait."""

    def __init__(self) -> None:
        self._is_waiting = False

    async def take(
        self,
        take: Callable[[], Taken],
        prepare: Callable[[], int | None],
        timeout: float | None = None,
        interval: float | None = None,
    ) -> Taken:
        """Calls `take` until it does not raise would-block, and returns its result.

        `prepare` returns the descriptor to wait for, or None to try again at once. If `interval` is
        given, the descriptor does not signal everything, so the call is repeated after this time.
        """
        if self._is_waiting:
            raise Misuse("another task waits for this object. One task at a time may wait")
        is_bounded = timeout_ns(timeout) > 0
        ends = asyncio.get_running_loop().time() + (timeout or 0)
        self._is_waiting = True
        try:
            while True:
                try:
                    return take()
                except WouldBlock:
                    if timeout == 0:
                        raise
                fd = prepare()
                if fd is None:
                    continue
                left = ends - asyncio.get_running_loop().time() if is_bounded else None
                if left is not None and left <= 0:
                    raise TimedOut("nothing arrived before the timeout")
                times = [time for time in (left, interval) if time is not None]
                await readable(fd, min(times, default=None))
        finally:
            self._is_waiting = False


class Items(Iterator[Taken], Generic[Taken]):
    """An iteration that ends at `closed`. After any other error, the next call tries again."""

    def __init__(self, take: Callable[[], Taken]) -> None:
        self._take = take

    def __iter__(self) -> Items[Taken]:
        return self

    def __next__(self) -> Taken:
        try:
            return self._take()
        except Closed:
            raise StopIteration from None


class AsyncItems(AsyncIterator[Taken], Generic[Taken]):
    """The same for `async for`. Cancelling a wait, for example by a timeout, does not end the
    iteration and loses no item.
    """

    def __init__(self, wait: Callable[[], Awaitable[Taken]]) -> None:
        self._wait = wait
        self._has_taken = False

    def __aiter__(self) -> AsyncItems[Taken]:
        return self

    async def __anext__(self) -> Taken:
        if self._has_taken:  # lets other tasks run even if items are always available
            self._has_taken = False
            await asyncio.sleep(0)
        try:
            taken = await self._wait()
        except Closed:
            raise StopAsyncIteration from None
        self._has_taken = True
        return taken
