"""Writes a bus."""

from __future__ import annotations

import os
from typing import Any, Literal

from . import _native
from ._arguments import (
    flags_of,
    number_of,
    optional_ns,
    text,
    text_of,
    timeout_ns,
    truth,
    whole,
)
from ._handle import Handle, opened
from .error import wrong_type
from .schema import Schema, described, row_check, text_of_schema

_ON_LAG = {"wait": 1, "shed": 2}
_ON_FAILURE = {"continue": 1, "stop": 2}

OPEN_SECONDS = 10.0
CLOSE_SECONDS = 10.0

_UINT32_MAX = 2**32 - 1


class Publisher(Handle[_native.Publisher]):
    """The one process that writes a bus.

        with lapwing.Publisher("./quotes", schema=quotes) as publisher:
            publisher.publish(rows)         # a structured array, or bytes

    At the end of a `with` block the session is closed. After an exception the publisher is
    destroyed immediately, without closing the session.
    """

    _closes_after_an_exception = False

    def __init__(
        self,
        directory: str | os.PathLike[str],
        *,
        name: str = "",
        schema_name: str = "",
        schema: Schema | str = "",
        record_bytes: int = 0,
        capacity: int = 0,
        ring_directory: str | os.PathLike[str] = "",
        journal: bool = True,
        journal_directory: str | os.PathLike[str] = "",
        segment_bytes: int = 64 * 1024 * 1024,
        sync_interval: float | None = 0.01,
        retain_bytes: int = 0,
        retain_age: float | None = None,
        on_journal_lag: Literal["wait", "shed"] = "wait",
        on_journal_failure: Literal["continue", "stop"] = "continue",
        metadata: bytes = b"",
        restamped: bool = False,
        resume: bool = False,
        source_id: int = 0,
        source_offset: int = 0,
        huge_pages: bool = False,
        group: int | None = None,
        timeout: float | None = OPEN_SECONDS,
    ) -> None:
        """Opens the bus for writing.

        Waits at most `timeout` seconds for another publisher to end; 0 does not wait. The kernel
        may hold the lock of a killed publisher for up to 0.1 s.

        schema         a Schema or its text, which determines record_bytes and schema_name
        schema_name    name of a schema that Lapwing ships, or of records without a schema
        record_bytes   8 to 4,088; 0: the schema's size, or 56 without a schema
        capacity       slots, a power of two. 0: as many as fit, up to 1,048,576
        segment_bytes  size of a journal file, a power of two.
        sync_interval  seconds between syncs of the journal; None: only on request, by flush()
        retain_bytes   journal size above which the oldest segments are removed; 0: no limit
        retain_age     a segment whose newest record is older, in seconds, is removed; None: never
        on_journal_lag         if the journal is a whole ring behind: "wait" for the disk, or "shed"
                               the journal
        on_journal_failure     if the journal has failed: "continue" live, or "stop"
        restamped      publish times in the records are this publisher's, not the feed's
        group          gid of a group whose members may read the bus
        """
        flags = flags_of(
            journal=(not truth("journal", journal), 1),
            huge_pages=(huge_pages, 2),
            resume=(resume, 4),
            group=(group is not None, 8),
            restamped=(restamped, 16),
        )
        options: dict[str, Any] = {
            "directory": text_of(directory, "directory"),
            "name": text("name", name),
            "schema_name": text("schema_name", schema_name),
            "schema": text_of_schema("schema", schema),
            "record_bytes": whole("record_bytes", record_bytes, _UINT32_MAX),
            "capacity": whole("capacity", capacity),
            "ring_directory": text_of(ring_directory, "ring_directory"),
            "journal_directory": text_of(journal_directory, "journal_directory"),
            "segment_bytes": whole("segment_bytes", segment_bytes),
            "sync_interval_ns": optional_ns("sync_interval", sync_interval, "on request"),
            "retain_bytes": whole("retain_bytes", retain_bytes),
            "retain_age_ns": optional_ns("retain_age", retain_age, "never"),
            "on_journal_lag": number_of("on_journal_lag", on_journal_lag, _ON_LAG),
            "on_journal_failure": number_of("on_journal_failure", on_journal_failure, _ON_FAILURE),
            "metadata": _bytes_of("metadata", metadata),
            "source_id": whole("source_id", source_id),
            "source_offset": whole("source_offset", source_offset),
            "flags": flags,
            "group": 0 if group is None else whole("group", group, _UINT32_MAX),
            "timeout_ns": timeout_ns(timeout),
        }
        self._handle = opened(lambda: _native.Publisher(**options), timeout)
        self._handle.check_rows(row_check(described(options["directory"])))

    def publish(self, records: object, timeout: float | None = None) -> int:
        """Publishes records in order and returns the sequence of the last one.

        `records` is a one-dimensional array of records, or contiguous bytes of whole records. It
        is copied into the ring. An array with fields must have the names, types and offsets of the
        bus's records. Schema.rows(frame) creates such an array from columns. The call waits only if
        the journal is a whole ring behind. After a failed call, Error.last is the last published
        sequence. Raises record-size if the fields or the record size differ from those of the bus.
        """
        return self._handle.publish(records, timeout_ns(timeout))

    def flush(self, timeout: float | None = None) -> int:
        """Waits until everything published is durable, and returns the last durable sequence."""
        return self._handle.flush(timeout_ns(timeout))

    def inspect(self) -> _native.PublisherInfo:
        return self._handle.inspect()

    def close(self, timeout: float | None = CLOSE_SECONDS) -> None:
        """Makes everything durable and records the end of the session. May be called again.

        After timed-out, a library thread continues, and a later close() returns the result.
        """
        if self.is_open:
            self._handle.close(timeout_ns(timeout))
            self._is_closed = True


def _bytes_of(option: str, value: bytes) -> bytes:
    if not isinstance(value, bytes):
        raise wrong_type(option, value, "bytes")
    return value
