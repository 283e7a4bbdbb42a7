"""The items of a subscriber: records, state from a checkpoint, or an event."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from . import _arrow
from ._arguments import text
from ._native import Event
from .error import invalid
from .schema import Schema

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow


class _Rows:
    """Rows of one session, size and kind."""

    __slots__ = ("rows", "schema")

    rows: np.ndarray
    """shape (n,); structured if the records have a schema, otherwise V<record_bytes>"""
    schema: Schema | None
    """None if the bus has no schema"""

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        name = self.schema.name if self.schema else self.rows.dtype
        return f"{type(self).__name__}({len(self)} of {name})"

    def column(self, name: str) -> np.ndarray:
        """Returns one field of all rows, shape (n,), for DLPack (`numpy.from_dlpack`, `torch.…`).

        It is a view if the row size is a multiple of the field size, and otherwise a copy.
        """
        names = self.rows.dtype.names or ()
        if text("name", name) not in names:
            raise invalid(f"name is {name!r}; the columns are: {', '.join(names) or 'none'}")
        column = self.rows[name]
        if column.strides[0] % column.itemsize:
            return np.ascontiguousarray(column)
        return column

    def to_arrow(self, *, prices: _arrow.Prices = "int") -> pyarrow.RecordBatch:
        """Copies the rows to a RecordBatch. The rows need a schema. Requires pyarrow.

        Absent prices and times become null, times become timestamps, and spare bytes are omitted.
        prices  "int": units of 1e-9; "float": float64, which rounds; "decimal": exact
        """
        return _arrow.record_batch(self.rows, self.schema, prices)

    def to_polars(self, *, prices: _arrow.Prices = "int") -> polars.DataFrame:
        """Returns the columns of to_arrow() as a Polars frame. Requires polars and pyarrow."""
        return _arrow.polars_frame(self.rows, self.schema, prices)

    def to_pandas(self, *, prices: _arrow.Prices = "int") -> pandas.DataFrame:
        """Returns the columns of to_arrow() as a pandas frame. Requires pandas and pyarrow."""
        return _arrow.pandas_frame(self.rows, self.schema, prices)


class Records(_Rows):
    """Records in order."""

    __slots__ = ("_sequences", "conflated", "first", "is_sparse")
    __match_args__ = ("rows", "first")

    first: int
    """sequence of the first row"""
    conflated: np.ndarray | None
    """uint64, shape (n,): how many older records each row replaces; None if the
    subscriber does not conflate"""
    is_sparse: bool
    """records between two rows may be missing: other instruments or conflated records"""

    def __init__(
        self,
        rows: np.ndarray,
        first: int,
        schema: Schema | None = None,
        sequences: np.ndarray | None = None,
        conflated: np.ndarray | None = None,
        is_sparse: bool = False,
    ) -> None:
        self.rows = rows
        self.first = first
        self.schema = schema
        self._sequences = sequences
        self.conflated = conflated
        self.is_sparse = is_sparse

    @property
    def sequences(self) -> np.ndarray:
        """the sequence of each row: uint64, shape (n,)"""
        if self._sequences is not None:
            return self._sequences
        return np.arange(self.first, self.first + len(self.rows), dtype=np.uint64)

    @property
    def last(self) -> int:
        """sequence of the last row"""
        return int(self.sequences[-1]) if self.is_sparse else self.first + len(self.rows) - 1


class State(_Rows):
    """State entries. Discard the previous state when the first entries of a new one arrive."""

    __slots__ = ()
    __match_args__ = ("rows",)

    def __init__(self, rows: np.ndarray, schema: Schema | None = None) -> None:
        self.rows = rows
        self.schema = schema


Item = Records | State | Event
"""The items that a subscriber yields. A history yields records and events."""


def dtype_of(schema: Schema | None, row_bytes: int) -> np.dtype:
    return np.dtype(f"V{row_bytes}") if schema is None else schema.dtype
