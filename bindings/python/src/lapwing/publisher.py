"""Writes a bus."""

from __future__ import annotations

import os
from typing import Literal

from . import _native
from ._arguments import duration_ns, flags_of, number_of, text_of, timeout_ns
from ._handle import Handle, opened
from .schema import Schema

_ON_LAG = {"wait": 1, "shed": 2}
_ON_FAILURE = {"continue": 1, "stop": 2}

CLOSE_SECONDS = 10.0


class Publisher(Handle[_native.Publisher]):
    """The one process that writes a bus.

        with lapwing.Publisher("./quotes", description=quotes) as publisher:
            publisher.publish(rows)         # a structured array, or bytes

    `with` closes the session at its end, and destroys the publisher at once after an exception.
    """

    _closes_after_an_exception = False

    def __init__(
        self,
        directory: str | os.PathLike[str],
        *,
        name: str = "",
        schema: str = "",
        description: Schema | str = "",
        record_bytes: int = 0,
        capacity: int = 0,
        ring_directory: str | os.PathLike[str] = "",
        journal: bool = True,
        journal_directory: str | os.PathLike[str] = "",
        segment_bytes: int = 0,
        sync_interval: float | None = None,
        retain_bytes: int = 0,
        retain_age: float | None = None,
        on_lag: Literal["wait", "shed"] = "wait",
        on_failure: Literal["continue", "stop"] = "continue",
        metadata: bytes = b"",
        resume: bool = False,
        source_id: int = 0,
        source_offset: int = 0,
        huge_pages: bool = False,
        group: int | None = None,
        timeout: float | None = 0,
    ) -> None:
        """Takes the bus, and waits at most `timeout` seconds for another publisher to end.

        description    a Schema or its text; record_bytes and schema follow from it
        record_bytes   8 to 4,088; 0: the description's, else 56
        capacity       slots, a power of two; 0: what fits, up to 1,048,576
        sync_interval  seconds; None: 0.01; math.inf: on request only
        retain_age     seconds; None: no limit
        on_lag         the journal is a whole ring behind: "wait" for the disk, or "shed" it
        on_failure     the journal has failed: "continue" live, or "stop"
        group          a gid whose members may read
        """
        flags = flags_of(
            journal=(not journal, 1),
            huge_pages=(huge_pages, 2),
            resume=(resume, 4),
            group=(group is not None, 8),
        )
        self._handle = opened(
            lambda: _native.Publisher(
                directory=text_of(directory),
                name=name,
                schema=schema,
                description=description.text if isinstance(description, Schema) else description,
                record_bytes=record_bytes,
                capacity=capacity,
                ring_directory=text_of(ring_directory),
                journal_directory=text_of(journal_directory),
                segment_bytes=segment_bytes,
                sync_interval_ns=duration_ns(sync_interval),
                retain_bytes=retain_bytes,
                retain_age_ns=duration_ns(retain_age),
                on_lag=number_of("on_lag", on_lag, _ON_LAG),
                on_failure=number_of("on_failure", on_failure, _ON_FAILURE),
                metadata=metadata,
                source_id=source_id,
                source_offset=source_offset,
                flags=flags,
                group=group or 0,
                timeout_ns=timeout_ns(timeout),
            ),
            timeout,
        )

    def publish(self, records: object, timeout: float | None = None) -> int:
        """Publishes in order, and returns the sequence of the last record.

        `records` is an array of one dimension whose items are records, or any contiguous memory
        of whole records. It is copied into the ring. Waits only for the journal, when that is a
        whole ring behind. Error.last says how far a call came that failed.
        """
        return self._handle.publish(records, timeout_ns(timeout))

    def flush(self, timeout: float | None = None) -> int:
        """Waits until everything published is durable, and returns how far it is."""
        return self._handle.flush(timeout_ns(timeout))

    def inspect(self) -> _native.PublisherInfo:
        return self._handle.inspect()

    def close(self, timeout: float | None = CLOSE_SECONDS) -> None:
        """Ends the session: everything durable, the end recorded. It can be called again.

        timed-out: a thread of the library's goes on with it, and a later close says how it ended.
        """
        if self.is_open:
            self._handle.close(timeout_ns(timeout))
            self._is_closed = True
