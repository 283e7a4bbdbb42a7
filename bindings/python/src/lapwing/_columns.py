"""Converts data frame columns to record fields, by name and without loss."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from .error import Error, invalid, wrong_type

if TYPE_CHECKING:
    from .schema import Field

_FLOAT_WHOLE_MAX = 2**53  # a float64 can represent every whole number up to this one
_NS_OF_UNIT = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}


def of(frame: Any) -> dict[str, np.ndarray]:
    """Returns the columns of a frame by name, as one-dimensional arrays."""
    if isinstance(frame, Mapping):
        return _named({name: frame[name] for name in frame})
    if isinstance(frame, np.ndarray):
        if frame.dtype.names is None or frame.ndim != 1:
            raise invalid(
                f"the frame is an array of {frame.dtype} and shape {frame.shape}, which has no "
                "columns. Give a structured array of one dimension, or a dict of columns"
            )
        return _named({name: frame[name] for name in frame.dtype.names})
    if hasattr(frame, "column_names") and hasattr(frame, "column"):  # pyarrow
        names = list(frame.column_names)
        columns = {name: frame.column(index) for index, name in enumerate(names)}
    elif hasattr(frame, "columns") and hasattr(frame, "__getitem__"):  # pandas, Polars
        names = list(frame.columns)
        columns = {name: frame[name] for name in dict.fromkeys(names)}
    else:
        raise wrong_type(
            "frame", frame, "a DataFrame, a pyarrow Table, a structured array or a dict of columns"
        )
    if twice := sorted({str(name) for name in names if names.count(name) > 1}):
        raise invalid(f"the frame has column {twice[0]} twice. Remove one")
    return _named(columns)


def _named(columns: Mapping[Any, Any]) -> dict[str, np.ndarray]:
    for name in columns:
        if not isinstance(name, str):
            raise invalid(f"the frame has the column {name!r}. Give names that are texts")
    return {name: _array(name, column) for name, column in columns.items()}


def _array(name: str, column: Any) -> np.ndarray:
    absent = getattr(column, "null_count", 0)  # an attribute in pyarrow, a method in Polars
    if absent := absent() if callable(absent) else absent:
        raise invalid(
            f"column {name} has {absent} absent values. Fill or remove them: an absent price is "
            "lapwing.schema.PRICE_NONE, an absent time is UTC_NS_NONE"
        )
    if isinstance(getattr(column, "dtype", None), np.dtype) or not hasattr(column, "to_numpy"):
        if isinstance(column, np.ma.MaskedArray) and np.ma.is_masked(column):
            raise invalid(f"column {name} has masked values. Fill or remove them")
        array = _of_list(column) if isinstance(column, (list, tuple)) else np.asarray(column)
    elif getattr(getattr(column, "dtype", None), "tz", None) is not None:  # pandas times
        array = column.dt.tz_convert(None).to_numpy()
    elif hasattr(column, "buffers"):  # a pyarrow Array; a ChunkedArray copies anyway
        array = column.to_numpy(zero_copy_only=False)
    else:
        array = column.to_numpy()
    if array.ndim != 1 and not (array.ndim == 2 and array.dtype == np.uint8):
        raise invalid(f"column {name} has the shape {array.shape}. Give one value a row")
    return array


def _of_list(column: Any) -> np.ndarray:
    """Keeps whole numbers whole. NumPy would convert large and negative ones to floats."""
    if all(isinstance(value, int) for value in column):
        return np.array(column, dtype=object)
    return np.asarray(column)


def converted(field: Field, column: np.ndarray) -> np.ndarray:
    """Converts the column to the field's type. Raises InvalidArgument if a value would change."""
    if column.dtype.kind == "M":
        column = _utc_ns(field, column)
    if field.type in ("char", "text"):
        return _texts(field, column)
    if field.type == "bytes":
        return _bytes(field, column)
    if column.dtype.kind == "O":
        column = _numbers(field, column)
    if column.dtype.kind not in "biufO":
        raise _refused(field, f"is of {column.dtype}, and the field is {field.type}")
    target = np.dtype(field.format)
    if target.kind == "f":
        return _floats(field, column, target)
    if column.dtype.kind == "f":
        _check_whole(field, column)
    limits = np.iinfo(target)
    _check_each(
        field, column, _within(column, limits.min, limits.max), f"does not fit into {field.type}"
    )
    return column.astype(target)


def _within(column: np.ndarray, least: int, most: int) -> np.ndarray:
    """Checks each number against the range. Exact for signed, unsigned and object columns."""
    if column.dtype.kind == "f":  # whole numbers up to 2^53, so float limits are exact enough
        return (column >= float(least)) & (column <= float(most))
    if column.dtype.kind == "O":
        return np.array([least <= value <= most for value in column.tolist()], bool)
    own = np.iinfo(column.dtype) if column.dtype.kind in "iu" else np.iinfo(np.uint8)
    good = np.ones(len(column), bool)
    if own.min < least:
        good &= column >= least
    if own.max > most:
        good &= column <= most
    return good


def _utc_ns(field: Field, column: np.ndarray) -> np.ndarray:
    if field.unit != "utc_ns":
        raise _refused(field, f"has times, and the field's unit is {field.unit}")
    _check_each(field, column, ~np.isnat(column), "is not a time")
    unit, step = np.datetime_data(column.dtype)
    if unit not in _NS_OF_UNIT:
        column, unit, step = column.astype("M8[s]"), "s", 1
    scale = _NS_OF_UNIT[unit] * step
    numbers = column.astype(np.int64)
    if scale == 1:
        return numbers
    limit = (2**63 - 1) // scale
    _check_each(field, column, np.abs(numbers) <= limit, "is out of the range of ns since 1970")
    return numbers * scale


def _numbers(field: Field, column: np.ndarray) -> np.ndarray:
    """Checks that all values are whole numbers, of any size."""
    for row, value in enumerate(column.tolist()):
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
            raise _refused(
                field, f"has {value!r} in row {row}, and the field is {field.type}"
            )
    return column


def _check_whole(field: Field, column: np.ndarray) -> None:
    _check_each(field, column, np.isfinite(column), "is not a number")
    _check_each(field, column, column == np.floor(column), "is not a whole number")
    good = np.abs(column) <= _FLOAT_WHOLE_MAX
    _check_each(field, column, good, "is a float beyond 2^53, which has lost its last digits")


def _floats(field: Field, column: np.ndarray, target: np.dtype) -> np.ndarray:
    try:
        with np.errstate(over="ignore"):
            made = column.astype(target)
    except OverflowError:
        raise _refused(field, f"has a number that does not fit into {field.type}") from None
    if column.dtype.kind == "f":
        same = (made == column) | (np.isnan(made) & np.isnan(column))
    else:
        pairs = zip(made.tolist(), column.tolist(), strict=True)
        same = np.array([one == other for one, other in pairs], bool)
    _check_each(field, column, same, f"has more digits than {field.type}")
    return made


def _texts(field: Field, column: np.ndarray) -> np.ndarray:
    if column.dtype.kind == "S":
        texts = column.tolist()
    elif column.dtype.kind in "UOT":
        texts = [_encoded(field, row, value) for row, value in enumerate(column.tolist())]
    else:
        raise _refused(field, f"is of {column.dtype}, and the field is text")
    for row, text in enumerate(texts):
        if len(text) > field.bytes:
            raise _refused(
                field, f"has {text!r} in row {row}, which is longer than {field.bytes} bytes"
            )
    return np.array(texts, f"S{field.bytes}")


def _encoded(field: Field, row: int, value: Any) -> bytes:
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, bytes):
        return value
    raise _refused(field, f"has {value!r} in row {row}, and the field is text")


def _bytes(field: Field, column: np.ndarray) -> np.ndarray:
    kind = f"V{field.bytes}"
    if column.dtype.kind == "V" and column.dtype.fields is None and column.ndim == 1:
        if column.dtype.itemsize == field.bytes:
            return column
    elif column.ndim == 2 and column.shape[1] == field.bytes:
        return np.ascontiguousarray(column).view(kind)[:, 0]
    elif column.dtype.kind in "SO" and column.ndim == 1:
        values = column.tolist()
        for row, value in enumerate(values):  # noqa: B007 (the error below names the row)
            if not isinstance(value, bytes) or len(value) > field.bytes:
                break
            if column.dtype.kind == "O" and len(value) != field.bytes:
                break
        else:
            padded = b"".join(value.ljust(field.bytes, b"\0") for value in values)
            return np.frombuffer(padded, kind)
        raise _refused(field, f"has {value!r} in row {row}, not {field.bytes} bytes")
    raise _refused(field, f"is of {column.dtype}, and the field is {field.bytes} bytes")


def _check_each(field: Field, column: np.ndarray, good: np.ndarray, why: str) -> None:
    if not good.all():
        row = int(np.argmin(good))
        raise _refused(field, f"has {column[row]} in row {row}, which {why}")


def _refused(field: Field, why: str) -> Error:
    hint = ""
    if field.unit == "price":
        hint = ". Prices are whole numbers of 1e-9: numpy.rint(price * 1e9).astype('int64')"
    elif field.unit == "utc_ns":
        hint = ". Times are whole ns since 1970, UTC, or datetime64"
    return invalid(f"column {field.name} {why}{hint}")
