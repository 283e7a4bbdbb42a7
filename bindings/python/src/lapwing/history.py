"""Reads the journal by sequence. A publisher may be running, but need not be."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any, overload

import numpy as np

from . import _native
from ._arguments import Time, index, text_of, utc_ns, whole
from ._handle import Handle
from ._native import Event
from .error import (
    Damaged,
    Error,
    NotFound,
    NotPermitted,
    Pruned,
    Unsupported,
    WouldBlock,
    invalid,
)
from .records import Records, dtype_of
from .schema import Schema, described, row_check

# After these errors of map(), read() returns the rows, or an event with the reason for a loss.
_READ_INSTEAD = (WouldBlock, NotPermitted, NotFound, Pruned, Damaged, Unsupported)

ROWS = 65536


class MappedRows(Records):
    """Mapped rows of a finished segment: strided and read-only. They may outlive the history.

    The memory is unmapped with the last array that uses it, or by close(). It is not mapped in a
    forked child.
    """

    __slots__ = ("_view",)

    def __init__(self, view: _native.View, schema: Schema | None) -> None:
        self._view = view
        super().__init__(self._mapped(dtype_of(schema, view.row_bytes)), view.first, schema)

    def _mapped(self, dtype: np.dtype) -> np.ndarray:
        view = memoryview(self._view)  # counted as a view, unlike a buffer passed to ndarray()
        memory = np.frombuffer(view, np.uint8)
        strides = (self._view.stride_bytes,)
        return np.ndarray((self._view.count,), dtype, buffer=memory, strides=strides)

    def close(self) -> None:
        """Unmaps the memory now. Raises misuse if another array uses it."""
        dtype = self.rows.dtype
        self.rows = np.empty(0, dtype)
        try:
            self._view.unmap()
        except Error:
            if self._view.is_open:
                self.rows = self._mapped(dtype)
            raise


class History(Handle[_native.History]):
    """Records by sequence, or counted back from the newest.

        history[1000]       the record with sequence 1000; sequences begin at 1
        history[1000:2000]  the records 1000 to 1999
        history[-1]         the newest record
        history[-500:]      the newest 500
        len(history)        the number of records

    It does not disturb the publisher and never waits.
    """

    __reversed__ = None  # the indices are not 0 to len() - 1

    def __init__(self, directory: str | os.PathLike[str]) -> None:
        self._directory = text_of(directory, "directory")
        self._handle = _native.History(self._directory)
        self._schema: Schema | None = None
        info = self.inspect()
        schema = described(self._directory)
        if schema is not None and (schema.name, schema.record_bytes) == (
            info.schema_name,
            info.record_bytes,
        ):
            self._schema = schema
        self._handle.check_rows(row_check(self._schema))

    @property
    def schema(self) -> Schema | None:
        return self._schema

    @property
    def dtype(self) -> np.dtype:
        return dtype_of(self._schema, self.inspect().record_bytes)

    def inspect(self) -> _native.HistoryInfo:
        """Returns the current bounds of the journal: oldest, archived, durable."""
        return self._handle.inspect()

    def read(self, first: int, rows: int = ROWS) -> Records | Event:
        """Returns a copy of rows from `first`, or an event "lost". Raises would-block if `first`
        is not in the journal yet.
        """
        return self.read_into(np.empty(whole("rows", rows), self.dtype), first)

    def read_into(self, memory: Any, first: int) -> Records | Event:
        """The same, but the rows are a view of `memory`, which must be writable and contiguous.

        Raises record-size if it is an array whose fields differ from those of the records.
        """
        _, count, start, row_bytes, _, event = self._handle.read(whole("first", first), memory)
        if event is not None:
            return event
        rows = np.frombuffer(memory, dtype_of(self._schema, row_bytes), count)
        return Records(rows, start, self._schema)

    def map(self, first: int, last: int) -> MappedRows:
        """Maps the rows `first` to `last` without a copy, up to the end of `first`'s segment.

        Raises would-block if the segment is still growing, and not-permitted if others may write to
        the file. In both cases, use read().
        """
        view = self._handle.map(whole("first", first), whole("last", last))
        return MappedRows(view, self._schema)

    def find_time(self, time: Time) -> int:
        """Returns the sequence from which to read every record published at or after `time`."""
        return self._handle.find_time(utc_ns("time", time))

    def chunks(
        self, first: int | None = None, end: int | None = None
    ) -> Iterator[Records | Event]:
        """Yields the records from `first` (None: the oldest) to `end` - 1 (None: the newest).

        Finished segments are mapped; the growing one is copied. An event reports lost records.
        """
        info = self.inspect()
        next_row = info.oldest if first is None else whole("first", first)
        stop = info.archived + 1 if end is None else whole("end", end)
        maps = True
        while next_row < stop:
            item: Records | Event
            try:
                item = self._piece(next_row, stop, maps)
            except WouldBlock:
                return  # not in the journal yet
            if isinstance(item, Event):
                next_row = item.last + 1
            else:
                maps = isinstance(item, MappedRows)  # no segment follows the growing one
                next_row = item.last + 1
            yield item

    def _piece(self, first: int, stop: int, maps: bool) -> Records | Event:
        if maps:
            try:
                return self.map(first, stop - 1)
            except _READ_INSTEAD:
                pass
        return self.read(first, min(ROWS, stop - first))

    def __iter__(self) -> Iterator[Records | Event]:
        return self.chunks()

    def __len__(self) -> int:
        """Returns the current number of records, from the oldest to the newest."""
        info = self.inspect()
        return max(0, info.archived + 1 - info.oldest)

    @overload
    def __getitem__(self, key: slice) -> Records: ...

    @overload
    def __getitem__(self, key: int) -> np.void: ...

    def __getitem__(self, key: slice | int) -> Records | np.void:
        """history[a:b] and history[n]: see the class. Records are read-only.

        A range within one finished segment is a view; other ranges are copied into one array.
        chunks() does not copy. Raises IndexError if there is no such record, and not-found if part
        of the range is lost.
        """
        if not isinstance(key, slice):
            return self._record(index("index", key))
        if key.step not in (None, 1):
            raise invalid("history[a:b] has no step. Slice the rows: history[a:b].rows[::step]")
        first, end = self._bound(key.start), self._bound(key.stop)
        pieces = []
        for item in self.chunks(first, end):
            if isinstance(item, Event):
                raise NotFound(
                    f"the records {item.first} to {item.last} are lost ({item.cause}). "
                    "History.chunks() yields the records around them"
                )
            pieces.append(item)
        if len(pieces) == 1 and isinstance(pieces[0], MappedRows):
            return pieces[0]
        if not pieces:
            rows = np.empty(0, self.dtype)
        else:
            rows = np.concatenate([piece.rows for piece in pieces])
        rows.flags.writeable = False
        return Records(rows, pieces[0].first if pieces else first or 0, self._schema)

    def _record(self, number: int) -> np.void:
        info = self.inspect()
        sequence = number if number >= 0 else info.archived + 1 + number
        if not info.oldest <= sequence <= info.archived:
            raise IndexError(
                f"index {number} is not a record: the journal has {info.oldest} to {info.archived}. "
                "Sequences begin at 1; negative ones count from the newest"
            )
        record: np.void = self[sequence : sequence + 1].rows[0]
        return record

    def _bound(self, bound: int | None) -> int | None:
        """Converts a bound to a sequence, at least 1. A negative one counts back from the newest,
        at most to the oldest.
        """
        if bound is None:
            return None
        number = index("a slice", bound)
        if number >= 0:
            return max(number, 1)
        info = self.inspect()
        return max(info.archived + 1 + number, info.oldest)
