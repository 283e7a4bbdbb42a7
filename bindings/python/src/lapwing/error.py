"""The one error of this package."""

from __future__ import annotations


class Error(Exception):
    """A call failed: what happened, where, and what to do next.

    `name` is the stable name of `number`: "timed-out", "no-bus" … `errno` is that of the system
    call that failed; 0: none did. What else the call says is in the attributes below, or None.
    """

    last: int | None = None
    """publish: the sequence of the last record that was published; 0: none was"""
    sent: int | None = None
    """send: how many messages were sent"""
    durable: int | None = None
    """flush: how far the journal is durable"""
    row_bytes: int | None = None
    """too-small: what a row takes"""
    call: int | None = None
    """finish, finish_any: the call that ended without an answer; 0: none has ended"""

    def __init__(self, number: int, name: str, message: str, errno: int = 0) -> None:
        super().__init__(number, name, message, errno)
        self.number = number
        self.name = name
        self.message = message
        self.errno = errno

    def __str__(self) -> str:
        return f"{self.message or self.name} [{self.name}]"


Error.__module__ = "lapwing"


def invalid(message: str) -> Error:
    """An error of this package's own about an argument."""
    return Error(1, "invalid-argument", message)


def misuse(message: str) -> Error:
    """An error of this package's own about a call that cannot be right."""
    return Error(29, "misuse", message)
