"""A position that survives the process."""

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
    """Keeps in a file how far a program has processed a bus, and where its own output ended."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        durable: bool = False,
        timeout: float | None = OPEN_SECONDS,
    ) -> None:
        """Takes the file's lock, and waits at most `timeout` seconds for another cursor to end.

        Makes the file if it is missing. 0 does not wait.

        durable: no power cut takes a commit back. It costs a sync each.
        """
        is_durable = flags_of(durable=(durable, 1)) != 0
        options = (text_of(path), is_durable, timeout_ns(timeout))
        self._handle = opened(lambda: _native.Cursor(*options), timeout)

    def position(self) -> Commit:
        """The last commit. Raises not-found: nothing was committed yet."""
        return Commit(*self._handle.position())

    def commit(self, position: Position, output_bytes: int = 0, output_file: int = 0) -> None:
        """Everything up to `position` is processed, and the output ended there: its length and the
        number of its file. A position of a subscriber that has delivered nothing changes nothing.
        """
        if not isinstance(position, Position):
            raise wrong_type("position", position, "a Position: subscriber.position()")
        self._handle.commit(
            position, whole("output_bytes", output_bytes), whole("output_file", output_file)
        )
