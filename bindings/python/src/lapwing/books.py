"""Order books of a bus of dbn.mbo."""

from __future__ import annotations

from typing import Literal

import numpy as np

from . import _native
from ._arguments import number_of, whole
from ._handle import Handle
from ._native import Event
from .error import invalid
from .records import Item, Records, State
from .schema import Schema, row_check

_RECORDS, _STATE = 1, 2
_SCHEMAS = {_RECORDS: "dbn.mbo", _STATE: "orders"}
_SIDES = {"B": 1, "A": 2}
_UINT16_MAX, _UINT32_MAX = 2**16 - 1, 2**32 - 1

KEY = np.dtype([("instrument_id", "<u4"), ("publisher_id", "<u2"), ("reserved", "<u2")])
LEVEL = np.dtype([("price", "<i8"), ("size", "<u8"), ("orders", "<u4"), ("reserved", "<u4")])
ORDER = np.dtype(
    [
        ("order_id", "<u8"),
        ("price", "<i8"),
        ("place", "<u8"),
        ("ts_recv", "<u8"),
        ("size", "<u4"),
        ("flags", "<u4"),
    ]
)

Side = Literal["B", "A"]


class Books(Handle[_native.Books]):
    """Takes every item of one subscriber, in order, and has the books of all instruments.

    Prices are integers in units of 1e-9. A book can be believed while `Book.is_settled` is true and
    `Book.is_stale` is false.
    """

    def __init__(self) -> None:
        self._handle = _native.Books()
        self._dtypes: dict[int, np.dtype] = {}  # that were checked last, by kind

    def take(self, item: Item) -> None:
        """misuse: the item does not follow the last one. record-size: its rows are none of dbn.mbo.
        Nothing is changed then.
        """
        if isinstance(item, Event):
            self._handle.take_event(item)
        elif isinstance(item, State):
            self._take(_STATE, item.rows)
        elif not isinstance(item, Records):
            raise invalid(f"the item is of {type(item).__name__}. Give what a subscriber yields")
        elif item.is_sparse:
            columns = (item.sequences, item.conflated, True)
            self._take(_RECORDS, item.rows, item.first, *columns)
        else:
            self._take(_RECORDS, item.rows, item.first)

    def _take(self, kind, rows, first=0, sequences=None, conflated=None, is_sparse=False) -> None:
        if rows.dtype is not self._dtypes.get(kind):
            check = row_check(Schema.shipped(_SCHEMAS[kind]))
            assert check is not None
            check(rows)
            self._dtypes[kind] = rows.dtype
        self._handle.take_rows(
            kind=kind,
            rows=np.ascontiguousarray(rows),
            first=first,
            row_bytes=rows.itemsize,
            sequences=sequences,
            conflated=conflated,
            is_sparse=is_sparse,
        )

    def inspect(self) -> _native.BooksInfo:
        return self._handle.inspect()

    def list(self) -> np.ndarray:
        """The keys of all books, by publisher, then by instrument: dtype KEY, shape (n,)."""
        count = self.inspect().books
        while True:
            keys = np.empty(max(count, 1), KEY)
            count = self._handle.list(keys)
            if count <= len(keys):
                return keys[:count]

    def find(self, publisher_id: int, instrument_id: int) -> _native.Book:
        """not-found: the instrument was not seen."""
        return self._handle.find(*_key(publisher_id, instrument_id))

    def levels(
        self, publisher_id: int, instrument_id: int, side: Side, first: int = 0, count: int = 10
    ) -> np.ndarray:
        """Levels of a side, the best (0) first: dtype LEVEL, shape (n,), n at most `count`."""
        number_of("side", side, _SIDES)
        levels = np.empty(whole("count", count, _UINT32_MAX), LEVEL)
        key = _key(publisher_id, instrument_id)
        written = self._handle.levels(*key, side, whole("first", first), levels)
        return levels[:written]

    def orders(
        self, publisher_id: int, instrument_id: int, side: Side, level: int = 0
    ) -> np.ndarray:
        """The orders of a level, the first in the queue first: dtype ORDER, shape (n,).

        not-found: there is no such level.
        """
        number_of("side", side, _SIDES)
        key = _key(publisher_id, instrument_id)
        count = 64
        while True:
            orders = np.empty(count, ORDER)
            count = self._handle.orders(*key, side, whole("level", level), orders)
            if count <= len(orders):
                return orders[:count]


def _key(publisher_id: int, instrument_id: int) -> tuple[int, int]:
    return (
        whole("publisher_id", publisher_id, _UINT16_MAX),
        whole("instrument_id", instrument_id, _UINT32_MAX),
    )
