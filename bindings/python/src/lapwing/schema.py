"""What a record is: its fields, and the NumPy dtype that they make (docs/records.md)."""

from __future__ import annotations

import json
import os
from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from . import _native
from ._arguments import text_of
from .error import invalid

# By the numbers of lapwing.h; the first type has the number 1.
TYPES = (
    "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    "float32", "float64", "char", "text", "bytes",
)  # fmt: skip
UNITS = ("plain", "price", "utc_ns", "flags")
ROLES = ("data", "time", "key", "publish_time", "spare")

PRICE_NONE = 2**63 - 1
UTC_NS_NONE = 2**64 - 1


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
        """Of the field in a NumPy dtype."""
        if self.type in ("char", "text"):
            return f"S{self.bytes}"
        if self.type == "bytes":
            return f"V{self.bytes}"
        return np.dtype(self.type).newbyteorder("<").str


@dataclass(frozen=True)
class Schema:
    """A description of records.

    Schema.of_bus("./es").dtype        # what a publisher in any language has described
    Schema.shipped("dbn.mbo").dtype    # one that Lapwing knows
    """

    name: str
    version: int
    record_bytes: int
    fields: tuple[Field, ...]
    text: str
    """The description in JSON: a publisher's `description`, a subscriber's `expect`."""
    hash: int = 0
    """0: not known"""

    @classmethod
    def of_bus(cls, directory: str | os.PathLike[str]) -> Schema:
        return cls._of(*_native.schema_fields(text_of(directory), ""))

    @classmethod
    def shipped(cls, name: str) -> Schema:
        """"dbn.mbo", "kv16" …, the newest version; or "orders", the entries of that fold."""
        return cls._of(*_native.schema_fields("", name))

    @classmethod
    def _of(cls, name, version, record_bytes, hash, text, rows) -> Schema:
        fields = tuple(
            Field(field, offset, size, TYPES[kind - 1], UNITS[unit], ROLES[role])
            for field, offset, size, kind, unit, role in rows
        )
        return cls(name, version, record_bytes, fields, text, hash)

    @classmethod
    def describe(
        cls,
        name: str,
        dtype: np.dtype,
        *,
        version: int = 1,
        time: str = "",
        keys: Collection[str] = (),
        prices: Collection[str] = (),
        utc_ns: Collection[str] = (),
        flags: Collection[str] = (),
        spare: Collection[str] = (),
    ) -> Schema:
        """Describes a structured dtype of one's own; the arguments name fields of it."""
        names, members = dtype.names, dtype.fields
        if names is None or members is None:
            raise invalid(f"{dtype} has no fields; describe a structured dtype")
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
        text = _text(name, version, dtype.itemsize, fields)
        return cls(name, version, dtype.itemsize, tuple(fields), text)

    @cached_property
    def dtype(self) -> np.dtype:
        """Structured, of record_bytes, little-endian. Prices and times stay integers."""
        return np.dtype(
            {
                "names": [field.name for field in self.fields],
                "formats": [field.format for field in self.fields],
                "offsets": [field.offset for field in self.fields],
                "itemsize": self.record_bytes,
            }
        )


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
