"""Waiting for a descriptor in asyncio."""

from __future__ import annotations

import asyncio


async def readable(fd: int, seconds: float | None = None) -> None:
    """Returns when `fd` is readable, or after that time. One task at a time waits for one."""
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
