"""Rows as an Arrow record batch or a Polars frame, where these packages are installed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .error import invalid
from .schema import PRICE_NONE, UTC_NS_NONE, Field, Schema

if TYPE_CHECKING:
    import polars
    import pyarrow


def record_batch(rows: np.ndarray, schema: Schema | None) -> pyarrow.RecordBatch:
    """A column for each field but the spare ones. Units are in the fields' metadata."""
    import pyarrow

    if schema is None:
        raise invalid("these records have no schema, so their columns are unknown. Publish them with a schema")
    fields = [field for field in schema.fields if field.role != "spare"]
    arrays = [_array(pyarrow, field, np.ascontiguousarray(rows[field.name])) for field in fields]
    described = [
        pyarrow.field(field.name, array.type, metadata={"unit": field.unit, "role": field.role})
        for field, array in zip(fields, arrays)
    ]
    return pyarrow.RecordBatch.from_arrays(arrays, schema=pyarrow.schema(described))


def data_frame(rows: np.ndarray, schema: Schema | None) -> polars.DataFrame:
    import polars

    frame = polars.from_arrow(record_batch(rows, schema))
    assert isinstance(frame, polars.DataFrame)
    return frame


def _array(pyarrow, field: Field, column: np.ndarray):
    if field.unit == "utc_ns":
        times = pyarrow.array(column.view("M8[ns]"), mask=column == UTC_NS_NONE)
        return times.cast(pyarrow.timestamp("ns", tz="UTC"))
    if field.unit == "price":
        return pyarrow.array(column, mask=column == PRICE_NONE)
    if field.type in ("char", "text"):
        return pyarrow.array(np.char.decode(column, "utf-8", "replace"), type=pyarrow.string())
    if field.type == "bytes":
        memory = pyarrow.py_buffer(column.tobytes())
        kind = pyarrow.binary(field.bytes)
        return pyarrow.Array.from_buffers(kind, len(column), [None, memory])
    return pyarrow.array(column)
