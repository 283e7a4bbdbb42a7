"""The journal by sequence, with a publisher or without."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any, Union, overload

import numpy as np

from . import _native
from ._arguments import text_of, whole
from ._handle import Handle
from ._native import Event
from .error import Error
from .records import Records, dtype_of
from .schema import Schema, described, row_check

# What map() answers where read() has the rows, or the event that says why there are none.
_READ_INSTEAD = ("would-block", "not-permitted", "not-found", "pruned", "damaged", "unsupported")
_NOT_FOUND = 24

ROWS = 65536


class MappedRows(Records):
    """Rows of a finished segment where they are: strided, read-only. They outlive the history.

    The memory is given back with the last array of it, or by close(). In a forked child it is not
    mapped.
    """

    __slots__ = ("_view",)

    def __init__(self, view: _native.View, schema: Schema | None) -> None:
        self._view = view
        super().__init__(self._mapped(dtype_of(schema, view.row_bytes)), view.first, schema)

    def _mapped(self, dtype: np.dtype) -> np.ndarray:
        view = memoryview(self._view)  # it counts; ndarray() alone makes none
        memory = np.frombuffer(view, np.uint8)
        strides = (self._view.stride_bytes,)
        return np.ndarray((self._view.count,), dtype, buffer=memory, strides=strides)

    def close(self) -> None:
        """Gives the memory back now. misuse: another array of it is alive."""
        dtype = self.rows.dtype
        self.rows = np.empty(0, dtype)
        try:
            self._view.unmap()
        except Error:
            if self._view.is_open:
                self.rows = self._mapped(dtype)
            raise


class History(Handle[_native.History]):
    """Rows by sequence: history[a:b] has the records a to b - 1.

    It disturbs no publisher, and never waits.
    """

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
        """What the journal has now: oldest, archived, durable."""
        return self._handle.inspect()

    def read(self, first: int, rows: int = ROWS) -> Union[Records, Event]:
        """A copy of rows from `first` on, or one event "lost". would-block: it is not there yet."""
        return self.read_into(np.empty(whole("rows", rows), self.dtype), first)

    def read_into(self, memory: Any, first: int) -> Union[Records, Event]:
        """The same into writable, contiguous memory, of which the rows are a view.

        record-size: the memory is an array whose fields differ from those of the records.
        """
        _, count, start, row_bytes, _, event = self._handle.read(whole("first", first), memory)
        if event is not None:
            return event
        rows = np.frombuffer(memory, dtype_of(self._schema, row_bytes), count)
        return Records(rows, start, self._schema)

    def map(self, first: int, last: int) -> MappedRows:
        """The rows `first` to `last` without a copy, as far as the segment of `first` goes.

        would-block: the segment still grows; not-permitted: others may write to the file. read()
        has the rows then.
        """
        view = self._handle.map(whole("first", first), whole("last", last))
        return MappedRows(view, self._schema)

    def find_time(self, utc_ns: int) -> int:
        """From which sequence to read, so that nothing published at or after `utc_ns` is missed."""
        return self._handle.find_time(whole("utc_ns", utc_ns))

    def chunks(
        self, first: int | None = None, end: int | None = None
    ) -> Iterator[Union[Records, Event]]:
        """The records from `first` (None: the oldest) to `end` - 1 (None: the newest), in order.

        Finished segments are mapped, the growing one is read. An event stands for what is lost.
        """
        info = self.inspect()
        next_row = info.oldest if first is None else first
        stop = info.archived + 1 if end is None else end
        maps = True
        while next_row < stop:
            item: Union[Records, Event]
            try:
                item = self._piece(next_row, stop, maps)
            except Error as error:
                if error.name == "would-block":
                    return  # it is not there yet
                raise
            if isinstance(item, Event):
                next_row = item.last + 1
            else:
                maps = isinstance(item, MappedRows)  # behind a growing segment there is none
                next_row = item.last + 1
            yield item

    def _piece(self, first: int, stop: int, maps: bool) -> Union[Records, Event]:
        if maps:
            try:
                return self.map(first, stop - 1)
            except Error as error:
                if error.name not in _READ_INSTEAD:
                    raise
        return self.read(first, min(ROWS, stop - first))

    def __iter__(self) -> Iterator[Union[Records, Event]]:
        return self.chunks()

    @overload
    def __getitem__(self, key: slice) -> Records: ...

    @overload
    def __getitem__(self, key: int) -> np.void: ...

    def __getitem__(self, key: Union[slice, int]) -> Union[Records, np.void]:
        """history[a:b]: as far as the journal goes, read-only. history[n]: one record.

        A range within one finished segment is a view, without a copy; other ranges are copied
        together: chunks() does without. not-found: some of the range is lost.
        """
        if not isinstance(key, slice):
            return self[key : key + 1].rows[0]
        if key.step not in (None, 1):
            raise ValueError("history[a:b] has no step; slice the rows: history[a:b].rows[::step]")
        pieces = []
        for item in self.chunks(key.start, key.stop):
            if isinstance(item, Event):
                raise Error(
                    _NOT_FOUND,
                    "not-found",
                    f"the records {item.first} to {item.last} are lost ({item.cause}). "
                    "History.chunks() yields what is around them",
                )
            pieces.append(item)
        if len(pieces) == 1 and isinstance(pieces[0], MappedRows):
            return pieces[0]
        if not pieces:
            rows = np.empty(0, self.dtype)
        else:
            rows = np.concatenate([piece.rows for piece in pieces])
        rows.flags.writeable = False
        return Records(rows, pieces[0].first if pieces else key.start or 0, self._schema)
