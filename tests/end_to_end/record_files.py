"""An independent implementation of record files, written from docs/reference/file-formats.md."""

import json
import pathlib
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "hostile"))

from xxh3 import xxh3_64

MAGIC, VERSION = b"LPWREC1\0", 1
HEADER = struct.Struct("<8sIIIIQ32s56sQ")
CHECKED_BYTES = HEADER.size - 8  # all except the checksum
ALIGNMENT = 64
TYPES = {"int8": "b", "int16": "h", "int32": "i", "int64": "q", "uint8": "B", "uint16": "H",
         "uint32": "I", "uint64": "Q", "float32": "f", "float64": "d", "char": "c"}


class Damaged(Exception):
    """The file is not valid."""


def demand(condition, what):
    if not condition:
        raise Damaged(what)


def hash_of(text):
    """The hash of a description; 0 if there is none."""
    return (xxh3_64(text) or 1) if text else 0


def make(schema, record_bytes, records, text=b"", **other):
    """The content of a record file. `other` sets fields of the header."""
    first = -(-(HEADER.size + len(text)) // ALIGNMENT) * ALIGNMENT
    header = {"magic": MAGIC, "version": VERSION, "header_bytes": first,
              "record_bytes": record_bytes, "description_bytes": len(text),
              "schema_hash": hash_of(text), "schema": schema.encode().ljust(32, b"\0"), **other}
    checked = HEADER.pack(*header.values(), bytes(56), 0)[:CHECKED_BYTES]
    head = checked + struct.pack("<Q", xxh3_64(checked)) + text
    return head.ljust(first, b"\0") + records


class RecordFile:
    """The content of a raw record file with a verified head."""

    source = "file:-"  # for publishers that read it from a pipe

    def __init__(self, content):
        demand(len(content) >= HEADER.size, "no header")
        (magic, version, self.begin, self.record_bytes, description_bytes, self.schema_hash, schema,
         reserved, checksum) = HEADER.unpack_from(content)
        demand(magic == MAGIC and version == VERSION, "magic or version")
        demand(checksum == xxh3_64(content[:CHECKED_BYTES]), "checksum")
        demand(not any(reserved), "reserved")
        text_end = HEADER.size + description_bytes
        demand(self.begin == -(-text_end // ALIGNMENT) * ALIGNMENT, "header_bytes")
        demand(8 <= self.record_bytes <= 4088, "record_bytes")
        demand(not any(content[text_end:self.begin]), "zeros")
        text = content[HEADER.size:text_end]
        demand(self.schema_hash == hash_of(text), "schema_hash")
        self.content = content
        self.schema = schema.split(b"\0", 1)[0].decode()
        self.description = json.loads(text) if text else None
        if self.description:
            demand(self.description["name"] == self.schema, "name")
            demand(self.description["record_bytes"] == self.record_bytes, "record size")
        demand((len(content) - self.begin) % self.record_bytes == 0, "part of a record at the end")
        self.records = (len(content) - self.begin) // self.record_bytes

    def end_of(self, record):
        """The end of record number `record`, from 1."""
        return self.begin + record * self.record_bytes

    def rows(self):
        """Every record as a dictionary of its fields (numbers or text), without spare fields."""
        fields = [field for field in self.description["fields"] if field.get("role") != "spare"]
        return [{field["name"]: self._value(field, self.end_of(number)) for field in fields}
                for number in range(self.records)]

    def _value(self, field, record_at):
        at = record_at + field["offset"]
        if field["type"] in TYPES:
            (value,) = struct.unpack_from("<" + TYPES[field["type"]], self.content, at)
            return value.decode() if isinstance(value, bytes) else value
        content = self.content[at:at + field["bytes"]]
        return content.split(b"\0", 1)[0].decode() if field["type"] == "text" else content.hex()
