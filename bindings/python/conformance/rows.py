"""The bytes of rows and messages, their digests, and the answer lines for items."""

from __future__ import annotations

import numpy as np

import lapwing
from steps import Answers, bit, ok

_OFFSET = 0xCBF29CE484222325
_PRIME = 0x100000001B3
_MASK = 2**64 - 1


def row(number: int, size: int) -> bytes:
    """The bytes of record `number`, or its first `size` bytes for a short message."""
    head = number.to_bytes(8, "little")
    return (head + bytes((number + index) % 256 for index in range(8, size)))[:size]


def rows(first: int, count: int, size: int) -> np.ndarray:
    together = b"".join(row(number, size) for number in range(first, first + count))
    return np.frombuffer(together, np.dtype(f"V{size}"))


class Digest:
    """64-bit FNV-1a."""

    def __init__(self) -> None:
        self._value = _OFFSET

    def add(self, more: bytes) -> Digest:
        value = self._value
        for byte in more:
            value = (value ^ byte) * _PRIME & _MASK
        self._value = value
        return self

    def __str__(self) -> str:
        return f"{self._value:016x}"


def digest(data: bytes) -> Digest:
    return Digest().add(data)


class Run:
    """The rows between two events, answered on one line regardless of batch boundaries."""

    def __init__(self, is_conflated: bool) -> None:
        self._is_conflated = is_conflated
        self._kind = ""
        self._begin()

    def _begin(self) -> None:
        self._count = self._first = self._last = self._row_bytes = self._conflated = 0
        self._digest = Digest()

    def add(self, item: lapwing.Records | lapwing.State) -> Answers:
        """Adds the rows. If their kind or size differs, returns the line of the ended run."""
        kind = "records" if isinstance(item, lapwing.Records) else "state"
        ended = []
        if self._count and (kind, item.rows.itemsize) != (self._kind, self._row_bytes):
            ended = self.end()
        if isinstance(item, lapwing.Records):
            self._first = self._first or item.first
            self._last = item.last
            if item.conflated is not None:
                self._conflated += int(item.conflated.sum())
        self._kind = kind
        self._row_bytes = item.rows.itemsize
        self._count += len(item)
        self._digest.add(item.rows.tobytes())
        return ended

    def end(self) -> Answers:
        if not self._count:
            return []
        pairs: dict[str, object] = {}
        if self._kind == "records":
            pairs = {"first": self._first, "last": self._last}
        pairs |= {"count": self._count, "row_bytes": self._row_bytes, "digest": self._digest}
        if self._kind == "records" and self._is_conflated:
            pairs["conflated"] = self._conflated
        line = ok(self._kind, **pairs)
        self._begin()
        return line


def event_line(event: lapwing.Event) -> Answers:
    pairs: dict[str, object] = {"kind": event.kind, "sequence": event.sequence}
    if event.kind in ("gap", "lost"):
        pairs |= {"first": event.first, "last": event.last, "cause": event.cause}
        pairs["fillable"] = bit(event.fillable)
    if event.kind in ("session", "reset"):
        pairs |= {"record_bytes": event.record_bytes, "schema": event.schema_name}
    if event.kind == "snapshot-complete":
        pairs["entries"] = event.state_entries
    return ok("event", **pairs)


def item_lines(item: lapwing.Item, is_conflated: bool = False) -> Answers:
    if isinstance(item, lapwing.Event):
        return event_line(item)
    run = Run(is_conflated)
    return run.add(item) + run.end()
