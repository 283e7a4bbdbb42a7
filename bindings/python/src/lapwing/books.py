"""Order books of a dbn.mbo bus."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from . import _native
from ._arguments import whole
from ._handle import Handle
from ._native import Event
from .error import invalid, wrong_type
from .records import Item, Records, State
from .schema import Schema, row_check
from .words import Side

_RECORDS, _STATE = 1, 2
_SCHEMAS = {_RECORDS: "dbn.mbo", _STATE: "orders"}
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


class BookKey(NamedTuple):
    """Identifies a book by the instrument and the publisher of its records."""

    instrument_id: int
    publisher_id: int


class Books(Handle[_native.Books]):
    """Maintains the books of all instruments from the items of one subscriber.

    Pass every item to take(), in order. Prices are integers in units of 1e-9. Use a book only while
    `Book.is_settled` is true and `Book.is_stale` is false.
    """

    def __init__(self) -> None:
        self._handle = _native.Books()
        self._dtypes: dict[int, np.dtype] = {}  # the last checked dtype of each kind

    def take(self, item: Item) -> None:
        """Applies an item. Raises misuse if it does not follow the last one, and record-size if its
        rows are not dbn.mbo. In both cases the books do not change.
        """
        if isinstance(item, Event):
            self._handle.take_event(item)
        elif isinstance(item, State):
            self._take(_STATE, item.rows)
        elif not isinstance(item, Records):
            raise wrong_type("item", item, "an item that a subscriber yields")
        elif item.is_sparse:
            self._take(_RECORDS, item.rows, item.first, item.sequences, item.conflated, True)
        else:
            self._take(_RECORDS, item.rows, item.first)

    def _take(
        self,
        kind: int,
        rows: np.ndarray,
        first: int = 0,
        sequences: np.ndarray | None = None,
        conflated: np.ndarray | None = None,
        is_sparse: bool = False,
    ) -> None:
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

    def list(self) -> list[BookKey]:
        """Returns the keys of all books, sorted by publisher, then by instrument."""
        count = self.inspect().books
        while True:
            keys = np.empty(max(count, 1), KEY)
            count = self._handle.list(keys)
            if count <= len(keys):
                columns = keys["instrument_id"], keys["publisher_id"]
                return list(map(BookKey, *(column[:count].tolist() for column in columns)))

    def find(self, key: BookKey | tuple[int, int]) -> _native.Book:
        """Returns the book of `key`. Raises not-found if it has no record yet."""
        return self._handle.find(*_checked(key))

    def levels(
        self,
        key: BookKey | tuple[int, int],
        side: Side | Literal["B", "A"],
        first: int = 0,
        count: int = 10,
    ) -> np.ndarray:
        """Returns up to `count` levels of a side, the best (0) first: dtype LEVEL, shape (n,)."""
        levels = np.empty(whole("count", count, _UINT32_MAX), LEVEL)
        written = self._handle.levels(
            *_checked(key), _letter(side), whole("first", first), levels
        )
        return levels[:written]

    def orders(
        self, key: BookKey | tuple[int, int], side: Side | Literal["B", "A"], level: int = 0
    ) -> np.ndarray:
        """Returns the orders of a level in queue order: dtype ORDER, shape (n,).

        Raises not-found if the level does not exist.
        """
        book, letter = _checked(key), _letter(side)
        count = 64
        while True:
            orders = np.empty(count, ORDER)
            count = self._handle.orders(*book, letter, whole("level", level), orders)
            if count <= len(orders):
                return orders[:count]


def _checked(key: BookKey | tuple[int, int]) -> tuple[int, int]:
    if not isinstance(key, tuple) or len(key) != 2:
        raise wrong_type("key", key, "a BookKey, or (instrument_id, publisher_id)")
    return (
        whole("instrument_id", key[0], _UINT32_MAX),
        whole("publisher_id", key[1], _UINT16_MAX),
    )


def _letter(side: Side | Literal["B", "A"]) -> str:
    if not isinstance(side, (str, bytes)):
        raise wrong_type("side", side, "Side.BID or Side.ASK")
    try:
        return Side(side).value
    except ValueError:
        raise invalid(f"side is {side!r}; it can be: Side.BID ('B'), Side.ASK ('A')") from None
