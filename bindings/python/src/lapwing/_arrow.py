"""Converts rows to an Arrow record batch or to a data frame of Polars or pandas.

Each column is gathered from the rows block by block. A block fits into the processor's cache, so
the rows are read from memory once instead of once for each column.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ._arguments import number_of
from .error import invalid
from .schema import PRICE_NONE, UTC_NS_NONE, Field, Schema

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

Prices = Literal["int", "float", "decimal"]

_PRICES = {"int": 0, "float": 1, "decimal": 2}
_BLOCK_BYTES = 256 * 1024
_PRICE_SCALE = 9
_PRICE_DIGITS = 19
_INT32_MAX = 2**31 - 1


def record_batch(
    rows: np.ndarray, schema: Schema | None, prices: Prices = "int"
) -> pyarrow.RecordBatch:
    """Returns a column for each field except spare ones. The fields' metadata contains the
    units."""
    import pyarrow

    number_of("prices", prices, _PRICES)
    if schema is None:
        raise invalid(
            "these records have no schema, so their columns are unknown. Publish them with a schema"
        )
    fields = [field for field in schema.fields if field.role != "spare"]
    columns = _gathered(rows, fields)
    arrays = [_array(pyarrow, field, columns[field.name], prices) for field in fields]
    described = [
        pyarrow.field(field.name, array.type, metadata={"unit": field.unit, "role": field.role})
        for field, array in zip(fields, arrays, strict=True)
    ]
    return pyarrow.RecordBatch.from_arrays(arrays, schema=pyarrow.schema(described))


def polars_frame(
    rows: np.ndarray, schema: Schema | None, prices: Prices = "int"
) -> polars.DataFrame:
    import polars

    frame = polars.from_arrow(record_batch(rows, schema, prices))
    assert isinstance(frame, polars.DataFrame)
    return frame


def pandas_frame(
    rows: np.ndarray, schema: Schema | None, prices: Prices = "int"
) -> pandas.DataFrame:
    """Returns a frame. Integer prices become Int64, since int64 cannot represent absent values."""
    import pandas

    batch = record_batch(rows, schema, prices)
    frame = batch.to_pandas()
    assert schema is not None
    for field in schema.fields if prices == "int" else ():
        if field.unit == "price" and field.role != "spare":
            column = np.ascontiguousarray(rows[field.name])
            frame[field.name] = pandas.arrays.IntegerArray(column, column == PRICE_NONE)
    return frame


def _gathered(rows: np.ndarray, fields: list[Field]) -> dict[str, np.ndarray]:
    columns = {field.name: np.empty(len(rows), rows.dtype[field.name]) for field in fields}
    step = max(1, _BLOCK_BYTES // max(1, rows.strides[0]))
    for first in range(0, len(rows), step):
        block = rows[first : first + step]
        for name, column in columns.items():
            column[first : first + step] = block[name]
    return columns


def _array(pyarrow: Any, field: Field, column: np.ndarray, prices: Prices) -> pyarrow.Array:
    if field.unit == "utc_ns":
        kind = pyarrow.timestamp("ns", tz="UTC")
        return _of_memory(pyarrow, kind, column, column == UTC_NS_NONE)
    if field.unit == "price":
        absent = column == PRICE_NONE
        if prices == "float":
            return _of_memory(pyarrow, pyarrow.float64(), column / 10**_PRICE_SCALE, absent)
        if prices == "decimal":
            kind = pyarrow.decimal128(_PRICE_DIGITS, _PRICE_SCALE)
            return _of_memory(pyarrow, kind, np.stack((column, column >> 63), axis=1), absent)
        return _of_memory(pyarrow, pyarrow.int64(), column, absent)
    if field.type in ("char", "text"):
        return _texts(pyarrow, column)
    if field.type == "bytes":
        return _of_memory(pyarrow, pyarrow.binary(field.bytes), column)
    return pyarrow.array(column)


def _of_memory(
    pyarrow: Any, kind: pyarrow.DataType, values: np.ndarray, absent: np.ndarray | None = None
) -> pyarrow.Array:
    """Returns an array of type `kind` in the memory of `values`."""
    has_values = None
    if absent is not None and absent.any():
        has_values = pyarrow.py_buffer(np.packbits(~absent, bitorder="little"))
    memory = pyarrow.py_buffer(np.ascontiguousarray(values).view(np.uint8))
    return pyarrow.Array.from_buffers(kind, len(values), [has_values, memory])


def _texts(pyarrow: Any, column: np.ndarray) -> pyarrow.Array:
    """Converts a column of dtype S to texts. A text ends at its first zero byte."""
    size = column.itemsize
    letters = column.view(np.uint8).reshape(len(column), size)
    if letters.size and letters.max() >= 0x80:  # not ASCII, and possibly not UTF-8
        decoded = [text.split(b"\0")[0].decode("utf-8", "replace") for text in column.tolist()]
        return pyarrow.array(decoded, pyarrow.string())
    kind = pyarrow.string()
    number: np.dtype[np.int32] | np.dtype[np.int64] = np.dtype(np.int32)
    if letters.size > _INT32_MAX:
        kind, number = pyarrow.large_string(), np.dtype(np.int64)
    if letters.all():
        offsets = np.arange(0, letters.size + 1, size, dtype=number)
    else:
        is_text = np.logical_and.accumulate(letters != 0, axis=1)
        offsets = np.zeros(len(column) + 1, number)
        np.cumsum(np.count_nonzero(is_text, axis=1), out=offsets[1:])
        letters = letters[is_text]
    buffers = [None, pyarrow.py_buffer(offsets), pyarrow.py_buffer(letters.reshape(-1))]
    return pyarrow.Array.from_buffers(kind, len(column), buffers)
