"""Reads a bus at its own pace, from any position. Gaps are filled or reported."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Collection, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from . import _native
from ._arguments import (
    WAIT,
    Time,
    check_list,
    duration_ns,
    flags_of,
    number_of,
    optional_ns,
    text,
    text_of,
    timeout_ns,
    utc_ns,
    whole,
)
from ._event_loop import AsyncItems, Items, Waiter
from ._handle import Handle
from ._native import Event, Position
from .cursor import Cursor
from .error import NotFound, TooSmall, invalid, wrong_type
from .records import Item, Records, State, dtype_of
from .schema import Schema, row_check, text_of_schema

_ON_GAP = {"fill": 1, "skip": 2, "stop": 3, "snapshot": 4}
_STATE = 2
_Batch = tuple[int, int, int, int, bool, Event | None]
_NAMED_STARTS = {"live": 0, "oldest": 1, "snapshot": 4}
_STARTS = (
    "'live', 'oldest', 'snapshot', Start.sequence(n), Start.time(utc_ns), Start.after(position), "
    "Start.resume(cursor, otherwise)"
)
_UINT32_MAX = 2**32 - 1

ROWS = 4096

StartWord = Literal["live", "oldest", "snapshot"]


@dataclass(frozen=True)
class Start:
    """Where a subscriber starts. The words "live", "oldest" and "snapshot" are also accepted."""

    number: int
    value: int = 0
    position: Position | None = None

    @classmethod
    def live(cls) -> Start:
        """Starts with the next record that is published."""
        return cls(0)

    @classmethod
    def oldest(cls) -> Start:
        """Starts with the oldest retained record."""
        return cls(1)

    @classmethod
    def sequence(cls, sequence: int) -> Start:
        return cls(2, whole("Start.sequence", sequence))

    @classmethod
    def time(cls, time: Time) -> Start:
        """Starts at that publish time or slightly earlier: ns, UTC, or a datetime with a zone."""
        return cls(3, utc_ns("Start.time", time))

    @classmethod
    def snapshot(cls) -> Start:
        """Starts with the state of the newest checkpoint, then the records after it."""
        return cls(4)

    @classmethod
    def after(cls, position: Position) -> Start:
        if not isinstance(position, Position):
            raise wrong_type("Start.after", position, "a Position: subscriber.position()")
        return cls(5, position=position)

    @classmethod
    def resume(cls, cursor: Cursor, otherwise: Start | StartWord) -> Start:
        """Starts after the cursor's last commit, or at `otherwise` if there is none."""
        start = _start_of("otherwise", otherwise)
        if not isinstance(cursor, Cursor):
            raise wrong_type("cursor", cursor, "a Cursor")
        try:
            return cls.after(cursor.position().position)
        except NotFound:
            return start


def _start_of(option: str, start: Start | StartWord) -> Start:
    if isinstance(start, Start):
        return start
    if not isinstance(start, str):
        raise wrong_type(option, start, f"one of: {_STARTS}")
    if start not in _NAMED_STARTS:
        raise invalid(f"{option} is {start!r}; it can be: {_STARTS}")
    return Start(_NAMED_STARTS[start])


def _instrument_names(instruments: Collection[str | int]) -> list[str]:
    """Converts instruments to texts: symbols are unchanged, a number becomes id:N."""
    check_list("instruments", instruments, str, int, np.integer)
    negative = [each for each in instruments if not isinstance(each, str) and each < 0]
    if negative:
        raise invalid(f"instruments contains {negative[0]}. Give a symbol, or a number from 0")
    return [each if isinstance(each, str) else f"id:{int(each)}" for each in instruments]


class Subscriber(Handle[_native.Subscriber]):
    """Reads a bus. Iterating yields Records, State and Events in order.

        with lapwing.Subscriber("./es", start="oldest", end_at_close=True) as subscriber:
            for item in subscriber: …           # or: async for item in subscriber

    The first item is the event "session". The bus need not exist yet: reads wait for it. With
    `end_at_close`, the iteration ends when the bus is closed. Otherwise it waits for the next
    session.
    """

    def __init__(
        self,
        directory: str | os.PathLike[str],
        *,
        start: Start | StartWord = "live",
        name: str = "",
        on_gap: Literal["fill", "skip", "stop", "snapshot"] = "fill",
        wait: Literal["busy", "backoff", "park"] = "backoff",
        instruments: Collection[str | int] = (),
        fold: str = "",
        expect: Schema | str = "",
        end_at_close: bool = False,
        reattach: float | None = 30.0,
        flush_timeout: float | None = 10.0,
        stale_after: float | None = None,
        behind_records: int = 0,
        behind_time: float | None = None,
        conflate: bool = False,
        conflate_interval: float = 0.25,
        conflate_keys_max: int = 65536,
        measure_every: int = 0,
        observes: bool = False,
    ) -> None:
        """Checks the options and never waits.

        start              "live", "oldest", "snapshot", or a Start
        on_gap             "fill": read it from the journal; "skip": stay in the ring; "stop": end;
                           "snapshot": continue with the newest checkpoint's state
        wait               "busy" spins, "backoff" spins, yields and sleeps, "park" sleeps at once
        instruments        symbols as str, even if all digits ("005930"); numbers as int, or as
                           "id:5930"; empty: all
        expect             the schema that the records must match; empty: any
        reattach           seconds to wait for the bus or a publisher; None: forever
        flush_timeout      seconds that the publisher may take to answer the join; None: forever
        stale_after        seconds without a record until the event "stale"; None: never
        behind_records     records behind the publisher until the event "behind"; 0: no limit
        behind_time        seconds behind the publisher until the event "behind"; None: never
        conflate           deliver the newest record of each key, once per `conflate_interval` s
        conflate_keys_max  more keys end an interval early
        measure_every      measure the age of every Nth record, for ages(); 0: none
        observes           the program only displays records: docs/how-to/monitor.md
        """
        start = _start_of("start", start)
        names = _instrument_names(instruments)
        self._is_sparse = bool(conflate) or bool(instruments)
        self._interval = conflate_interval if conflate else None
        self._row_bytes = 0
        self._record_schema: Schema | None = None
        self._record_dtype = np.dtype("V1")  # until the event "session"
        self._order_schema: Schema | None = None
        self._memory = np.empty(0, np.uint8)
        self._waiter = Waiter()
        self._handle = _native.Subscriber(
            directory=text_of(directory, "directory"),
            name=text("name", name),
            start=start.number,
            start_value=start.value,
            start_position=start.position,
            on_gap=number_of("on_gap", on_gap, _ON_GAP),
            wait=number_of("wait", wait, WAIT),
            fold=text("fold", fold),
            expect=text_of_schema("expect", expect),
            instruments=names,
            reattach_ns=optional_ns("reattach", reattach, "forever"),
            flush_timeout_ns=optional_ns("flush_timeout", flush_timeout, "forever"),
            stale_after_ns=optional_ns("stale_after", stale_after, "never"),
            behind_records=whole("behind_records", behind_records, _UINT32_MAX),
            behind_time_ns=optional_ns("behind_time", behind_time, "never"),
            conflate_interval_ns=duration_ns("conflate_interval", conflate_interval),
            conflate_keys_max=whole("conflate_keys_max", conflate_keys_max, _UINT32_MAX),
            measure_every=whole("measure_every", measure_every, _UINT32_MAX),
            flags=flags_of(
                end_at_close=(end_at_close, 1), conflate=(conflate, 2), observes=(observes, 4)
            ),
        )

    # ---- reading

    def read(self, rows: int = ROWS, timeout: float | None = None) -> Item:
        """Returns the next item: up to `rows` rows in an array that owns its memory, or one event.

        Raises would-block or timed-out if nothing is available, and closed at the end.
        """
        if whole("rows", rows) < 1:
            raise invalid("rows is 0. Give the rows that a batch has room for, at least 1")
        sequences = np.empty(rows, np.uint64) if self._is_sparse else None
        conflated = np.empty(rows, np.uint64) if self._is_sparse else None
        while True:
            memory = self._memory_for(rows)
            try:
                result = self._handle.read(memory, sequences, conflated, timeout_ns(timeout))
            except TooSmall as error:
                if not error.row_bytes:
                    raise
                self._row_bytes = error.row_bytes  # state entries may be larger than records
                continue
            return self._item(memory, result, sequences, conflated, owns=True)

    def read_into(
        self,
        memory: Any,
        *,
        sequences: np.ndarray | None = None,
        conflated: np.ndarray | None = None,
        timeout: float | None = None,
    ) -> Item:
        """Like read(), but the rows are a view of `memory`, which must be writable and contiguous.

        Nothing is allocated per record. If the subscriber conflates or has instruments, the uint64
        columns receive each row's sequence and how many older records it replaces. Raises too-small
        if not even one row fits; Error.row_bytes is the required size. Raises record-size if the
        array's fields differ from those of the records.
        """
        result = self._handle.read(memory, sequences, conflated, timeout_ns(timeout))
        return self._item(memory, result, sequences, conflated, owns=False)

    def read_one(self, record: object, timeout: float | None = None) -> int:
        """Copies the next record into `record`, memory of the record's size, and returns its
        sequence.

        This is the fastest way to read one record. Raises event-due if an event precedes the
        record; read() returns the event. Raises record-size if the array's fields differ from the
        record's.
        """
        return self._handle.read_one(record, timeout_ns(timeout))

    def items(self, rows: int = ROWS, timeout: float | None = None) -> Iterator[Item]:
        """Iterates over items of up to `rows` rows. Waits at most `timeout` seconds for each.

        After timed-out or interrupted, the iteration can be continued.
        """
        return Items(lambda: self.read(rows, timeout))

    def __iter__(self) -> Iterator[Item]:
        return self.items()

    async def read_async(self, rows: int = ROWS, timeout: float | None = None) -> Item:
        """read() for asyncio. A cancelled wait loses nothing: the next read returns the item."""
        return await self._waiter.take(
            lambda: self.read(rows, timeout=0), self.fileno, timeout, self._interval
        )

    def __aiter__(self) -> AsyncIterator[Item]:
        return AsyncItems(self.read_async)

    # ---- state

    def inspect(self) -> _native.SubscriberInfo:
        return self._handle.inspect()

    def ages(self) -> _native.Ages:
        """Returns how old the records selected by measure_every were when they were delivered.

        Raises not-found if none was measured.
        """
        return self._handle.ages()

    @property
    def is_sparse(self) -> bool:
        """True if the subscriber conflates or has instruments: sequences are not consecutive."""
        return self._is_sparse

    @property
    def schema(self) -> Schema | None:
        """The schema as of the last event "session" or "reset"; None if not described."""
        return self._record_schema

    @property
    def dtype(self) -> np.dtype:
        """The dtype of a record. Valid after the event "session"."""
        return self._record_dtype

    def position(self, sequence: int = 0) -> Position:
        """Returns a position to store: after all delivered items, or after row `sequence` of the
        last item.
        """
        return self._handle.position(whole("sequence", sequence))

    def fileno(self) -> int:
        """Returns a descriptor for an event loop. After would-block, it becomes readable when a
        read may succeed.

        It costs a helper thread. If the subscriber conflates, also read at the end of each
        interval.
        """
        return self._handle.fileno()

    # ---- converting a batch to an item

    def _memory_for(self, rows: int) -> np.ndarray:
        size = rows * self._row_bytes
        if len(self._memory) < size:
            self._memory = np.empty(size, np.uint8)
        return self._memory[:size]

    def _item(
        self,
        memory: Any,
        result: _Batch,
        sequences: np.ndarray | None,
        conflated: np.ndarray | None,
        owns: bool,
    ) -> Item:
        kind, count, first, row_bytes, is_sparse, event = result
        if event is not None:
            self._enter(event)
            return event
        schema, dtype = self._record_schema, self._record_dtype
        if kind == _STATE or dtype.itemsize != row_bytes:
            schema = self._schema_of_state() if kind == _STATE else None
            if schema is not None and schema.record_bytes != row_bytes:
                schema = None
            dtype = dtype_of(schema, row_bytes)
        rows = np.frombuffer(memory, dtype, count)
        if owns:
            rows = rows.copy()
        if kind == _STATE:
            return State(rows, schema)
        if not self._is_sparse:
            return Records(rows, first, schema)
        column = None if sequences is None else sequences[:count]
        stands_for = None if conflated is None else conflated[:count]
        return Records(rows, first, schema, column, stands_for, is_sparse)

    def _enter(self, event: Event) -> None:
        if event.kind not in ("session", "reset"):
            return
        self._row_bytes = event.record_bytes
        self._record_schema = self._described()
        self._record_dtype = dtype_of(self._record_schema, event.record_bytes)
        orders = self._orders() if self._is_mbo() else None
        self._handle.check_rows(row_check(self._record_schema, orders))

    def _is_mbo(self) -> bool:
        return self._record_schema is not None and self._record_schema.name == "dbn.mbo"

    def _orders(self) -> Schema:
        """Returns the schema of the entries of the fold "orders"."""
        if self._order_schema is None:
            self._order_schema = Schema.shipped("orders")
        return self._order_schema

    def _schema_of_state(self) -> Schema | None:
        """Returns the schema of a state's entries. The entries of "latest" are records."""
        if self.inspect().fold != "orders":
            return self._record_schema
        return self._orders()

    def _described(self) -> Schema | None:
        """Returns the schema as of the event just delivered; on disk there may be another bus."""
        try:
            return Schema._of(*self._handle.schema())
        except NotFound:
            return None
