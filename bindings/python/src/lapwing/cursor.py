"""A stored position from which a program resumes after a restart."""

from __future__ import annotations

import os
from typing import NamedTuple

from . import _native
from ._arguments import flags_of, text_of, timeout_ns, whole
from ._handle import Handle, opened
from ._native import Position
from .error import wrong_type

OPEN_SECONDS = 1.0


class Commit(NamedTuple):
    position: Position
    output_bytes: int
    output_file: int


class Cursor(Handle[_native.Cursor]):
    """Stores in a file how far a program has processed a bus, and where its output ended."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        durable: bool = False,
        timeout: float | None = OPEN_SECONDS,
    ) -> None:
        """Locks the file, and creates it if it is missing.

        Waits at most `timeout` seconds for another cursor to release the lock; 0 does not wait.

        durable: commits survive a power cut. Each commit costs a sync.
        """
        is_durable = flags_of(durable=(durable, 1)) != 0
        options = (text_of(path), is_durable, timeout_ns(timeout))
        self._handle = opened(lambda: _native.Cursor(*options), timeout)

    def position(self) -> Commit:
        """Returns the last commit. Raises not-found if there is none."""
        return Commit(*self._handle.position())

    def commit(self, position: Position, output_bytes: int = 0, output_file: int = 0) -> None:
        """Records that everything up to `position` has been processed. `output_bytes` is the length
        of the output at that point, and `output_file` the number of its file. A position from a
        subscriber that has delivered nothing has no effect.
        """
        if not isinstance(position, Position):
            raise wrong_type("position", position, "a Position: subscriber.position()")
        self._handle.commit(
            position, whole("output_bytes", output_bytes), whole("output_file", output_file)
        )
