"""A position that survives the process."""

from __future__ import annotations

import os
from typing import NamedTuple

from . import _native
from ._arguments import text_of, timeout_ns
from ._handle import Handle, opened
from ._native import Position


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
        timeout: float | None = 0,
    ) -> None:
        """Takes the file's lock, for which it waits; makes the file if it is missing.

        durable: no power cut takes a commit back. It costs a sync each.
        """
        self._handle = opened(
            lambda: _native.Cursor(text_of(path), durable, timeout_ns(timeout)), timeout
        )

    def position(self) -> Commit:
        """The last commit. Raises not-found: nothing was committed yet."""
        return Commit(*self._handle.position())

    def commit(self, position: Position, output_bytes: int = 0, output_file: int = 0) -> None:
        """Everything up to `position` is processed, and the output ended there: its length and the
        number of its file. A position of a subscriber that has delivered nothing changes nothing.
        """
        self._handle.commit(position, output_bytes, output_file)
