"""The fields of a record, and their NumPy dtype (docs/reference/records.md)."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from . import _columns, _native
from ._arguments import check_list, text, text_of, whole
from .error import Error, RecordSize, invalid, wrong_type

# Indexed by the numbers in lapwing.h; types start at number 1.
TYPES = (
    "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    "float32", "float64", "char", "text", "bytes",
)  # fmt: skip
UNITS = ("plain", "price", "utc_ns", "flags")
ROLES = ("data", "time", "key", "publish_time", "spare")

PRICE_NONE = 2**63 - 1
UTC_NS_NONE = 2**64 - 1

_UINT32_MAX = 2**32 - 1


@dataclass(frozen=True, slots=True)
class Field:
    name: str
    offset: int
    bytes: int
    type: str
    unit: str = "plain"
    role: str = "data"

    @property
    def format(self) -> str:
        """The field's type in a NumPy dtype."""
        if self.type in ("char", "text"):
            return f"S{self.bytes}"
        if self.type == "bytes":
            return f"V{self.bytes}"
        return np.dtype(self.type).newbyteorder("<").str


@dataclass(frozen=True)
class Schema:
    """The fields of records.

    Schema.of_bus("./es").dtype        # described by a publisher in any language
    Schema.shipped("dbn.mbo").dtype    # included in Lapwing
    """

    name: str
    version: int
    record_bytes: int
    fields: tuple[Field, ...]
    text: str
    """The schema in JSON, for a publisher's `schema` and a subscriber's `expect`."""
    hash: int = 0
    """0 if unknown"""

    @classmethod
    def of_bus(cls, directory: str | os.PathLike[str]) -> Schema:
        return cls._of(*_native.schema_fields(text_of(directory, "directory"), ""))

    @classmethod
    def shipped(cls, name: str) -> Schema:
        """Returns the newest version of an included schema: "dbn.mbo", "kv16" …, or "orders" for
        the entries of that fold.
        """
        return cls._of(*_native.schema_fields("", text("name", name)))

    @classmethod
    def _of(
        cls,
        name: str,
        version: int,
        record_bytes: int,
        hash: int,
        text: str,
        rows: list[tuple[str, int, int, int, int, int]],
    ) -> Schema:
        fields = tuple(
            Field(field, offset, size, TYPES[kind - 1], UNITS[unit], ROLES[role])
            for field, offset, size, kind, unit, role in rows
        )
        return cls(name, version, record_bytes, fields, text, hash)

    @classmethod
    def describe(
        cls,
        name: str,
        dtype: np.dtype[Any],
        *,
        version: int = 1,
        time: str = "",
        keys: Collection[str] = (),
        prices: Collection[str] = (),
        utc_ns: Collection[str] = (),
        flags: Collection[str] = (),
        spare: Collection[str] = (),
    ) -> Schema:
        """Describes a structured dtype. The other arguments name fields with a unit or role."""
        text("name", name)
        whole("version", version, _UINT32_MAX)
        text("time", time)
        for option, listed in (
            ("keys", keys), ("prices", prices), ("utc_ns", utc_ns), ("flags", flags),
            ("spare", spare),
        ):  # fmt: skip
            check_list(option, listed, str)
        names, members = getattr(dtype, "names", None), getattr(dtype, "fields", None)
        if names is None or members is None:
            wanted = "a structured one: numpy.dtype([('ts', '<u8'), ('bid', '<i8')])"
            if not isinstance(dtype, np.dtype):
                raise wrong_type("dtype", dtype, wanted)
            raise invalid(f"dtype is {dtype!r}, which has no fields. Give {wanted}")
        named = {time, *keys, *prices, *utc_ns, *flags, *spare} - {""}
        if unknown := sorted(named - set(names)):
            raise invalid(f"the dtype of {name!r} has no field {unknown[0]!r}")
        fields = []
        for field in sorted(names, key=lambda each: members[each][1]):
            kind, offset = members[field][:2]
            unit = "price" if field in prices else "flags" if field in flags else "plain"
            if field == time or field in utc_ns:
                unit = "utc_ns"
            role = "time" if field == time else "key" if field in keys else "data"
            role = "spare" if field in spare else role
            fields.append(Field(field, offset, kind.itemsize, _type_of(field, kind), unit, role))
        written = _text(name, version, dtype.itemsize, fields)
        return cls(name, version, dtype.itemsize, tuple(fields), written)

    @cached_property
    def dtype(self) -> np.dtype:
        """A structured little-endian dtype of record_bytes. Prices and times are integers."""
        return np.dtype(
            {
                "names": [field.name for field in self.fields],
                "formats": [field.format for field in self.fields],
                "offsets": [field.offset for field in self.fields],
                "itemsize": self.record_bytes,
            }
        )

    def rows(self, frame: Any) -> np.ndarray:
        """Creates an array for Publisher.publish from columns, which it finds by name.

            publisher.publish(schema.rows(frame))

        `frame` is a pandas or Polars DataFrame, a pyarrow Table or RecordBatch, a structured array,
        or a dict of columns. The order of the columns does not matter. Missing spare fields become
        zero. Values are converted only if the conversion is exact. Raises invalid-argument for an
        absent value, a fraction, a number out of range, or a missing or unknown column.
        """
        columns = _columns.of(frame)
        known = [field.name for field in self.fields]
        needed = [field.name for field in self.fields if field.role != "spare"]
        if missing := [name for name in needed if name not in columns]:
            raise invalid(f"the frame has no {_named(missing)}, which {self.name} needs. Add it")
        if unknown := [name for name in columns if name not in known]:
            raise invalid(
                f"the frame has {_named(unknown)}, which {self.name} does not have. Remove it; "
                f"the columns of {self.name} are {', '.join(needed)}"
            )
        lengths = {name: len(column) for name, column in columns.items()}
        count = next(iter(lengths.values()), 0)
        for name, length in lengths.items():
            if length != count:
                first = next(iter(lengths))
                raise invalid(
                    f"column {name} has {length} rows, and column {first} has {count}. "
                    "Give columns of one length"
                )
        made = np.zeros(count, self.dtype)
        for field in self.fields:
            if field.name in columns:
                made[field.name] = _columns.converted(field, columns[field.name])
        return made


def text_of_schema(option: str, schema: Schema | str) -> str:
    if isinstance(schema, Schema):
        return schema.text
    if isinstance(schema, str):
        return text(option, schema)
    raise wrong_type(option, schema, "a Schema or its text: Schema.describe(name, dtype, …)")


def _named(columns: list[str]) -> str:
    return f"column{'s' if len(columns) > 1 else ''} {', '.join(map(str, columns))}"


# ---- arrays passed to a call


def described(directory: str) -> Schema | None:
    """Returns the current schema of the bus's records, or None if there is none."""
    try:
        return Schema.of_bus(directory)
    except Error:  # not described, or just removed: treat rows as plain bytes
        return None


def row_check(*schemas: Schema | None) -> Callable[[object], None] | None:
    """Returns a function that refuses rows unless their fields match one of the schemas."""
    known = tuple(schema for schema in schemas if schema is not None)
    return partial(_check_rows, known) if known else None


def _check_rows(schemas: tuple[Schema, ...], memory: Any) -> None:
    """Raises record-size if the memory has fields that match none of the schemas."""
    dtype = _dtype_of(memory)
    if dtype is None:
        return
    why = [difference(schema, dtype) for schema in schemas]
    if all(why):
        raise RecordSize(
            f"these rows are not records of {schemas[0].name}: {why[0]}. Use Schema.rows(frame), "
            "which places columns by their names, or an array of Schema.dtype",
        )


def _dtype_of(memory: Any) -> np.dtype | None:
    """Returns the dtype of the memory, or None for plain bytes."""
    if isinstance(memory, (np.ndarray, np.generic)):
        dtype = memory.dtype
    else:
        try:
            with memoryview(memory) as view:
                if not view.format.startswith("T{"):
                    return None
                dtype = _dtype_of_view(view)
        except TypeError:  # not a buffer: the call itself refuses it
            return None
    is_plain = dtype.fields is None and (dtype.kind in "VSO" or dtype.itemsize == 1)
    return None if is_plain else dtype


def _dtype_of_view(view: memoryview) -> np.dtype:
    if isinstance(view.obj, (np.ndarray, np.generic)):
        return view.obj.dtype
    try:
        return np.asarray(view).dtype
    except (RuntimeError, ValueError) as error:
        raise invalid(
            f"the fields of this {type(view.obj).__name__} cannot be read ({error}). "
            "Use an array of Schema.dtype, or bytes"
        ) from None


def difference(schema: Schema, dtype: np.dtype) -> str:
    """Describes the first difference between dtype and schema. Returns "" if they match."""
    if dtype == schema.dtype:
        return ""
    members = dtype.fields
    if members is None:
        is_field = len(schema.fields) == 1 and _fits(dtype, schema.fields[0])
        return "" if is_field else f"they are of {dtype.name}, without fields"
    for field in schema.fields:
        if field.name not in members:
            if field.role == "spare":
                continue
            return f"they have no column {field.name}"
        kind, offset = members[field.name][:2]
        column = f"column {field.name} is"
        if offset != field.offset:
            return f"{column} at offset {offset}, and the bus has it at {field.offset}"
        if not _fits(kind, field):
            return f"{column} {kind.str}, and the bus has {field.format} ({field.type})"
    names = {field.name for field in schema.fields}
    for name in members:
        if name not in names:
            return f"column {name} is not a field of the bus"
    if dtype.itemsize != schema.record_bytes:
        return f"a row has {dtype.itemsize} bytes, and a record {schema.record_bytes}"
    return ""


def _fits(kind: np.dtype, field: Field) -> bool:
    if field.type == "bytes":
        return kind.itemsize == field.bytes and kind.base.kind in "Vu" and kind.base.fields is None
    return kind.subdtype is None and kind == np.dtype(field.format)


def _type_of(field: str, dtype: np.dtype) -> str:
    if dtype.name in TYPES and dtype.newbyteorder("<") == dtype:
        return dtype.name
    if dtype.kind == "S":
        return "char" if dtype.itemsize == 1 else "text"
    if dtype.kind == "V" and dtype.fields is None and dtype.subdtype is None:
        return "bytes"
    raise invalid(
        f"field {field!r} is {dtype}, which no record has: use little-endian integers, floats, "
        "S for text or V for bytes"
    )


def _text(name: str, version: int, record_bytes: int, fields: list[Field]) -> str:
    described = []
    for field in fields:
        one: dict[str, object] = {"name": field.name, "type": field.type, "offset": field.offset}
        if field.type in ("text", "bytes"):
            one["bytes"] = field.bytes
        if field.unit != "plain":
            one["unit"] = field.unit
        if field.role != "data":
            one["role"] = field.role
        described.append(one)
    whole = {"name": name, "version": version, "record_bytes": record_bytes, "fields": described}
    return json.dumps(whole, separators=(",", ":"))
