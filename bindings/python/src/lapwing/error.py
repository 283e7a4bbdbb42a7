"""One exception class for each error number. All derive from `lapwing.Error`."""

from __future__ import annotations

from . import _native


class Error(Exception):
    """A failed call. The message states what failed, why, and what to do next.

    except lapwing.Closed: …                # one error
    except lapwing.Error as error: …        # every error

    The class of the error "timed-out" is `lapwing.TimedOut`, and so on for every name in
    docs/reference/c.md. `last`, `sent`, `durable`, `row_bytes` and `call` are numbers that some
    calls add, or None.
    """

    number: int = 0
    """the number in lapwing.h"""
    name: str = "unknown"
    """the stable name of `number`: "timed-out", "no-bus" …"""

    last: int | None = None
    """publish: the sequence of the last published record, or 0 if none was published"""
    sent: int | None = None
    """send: how many messages were sent"""
    durable: int | None = None
    """flush: how far the journal is durable"""
    row_bytes: int | None = None
    """too-small: the size of a row"""
    call: int | None = None
    """finish, finish_any: the call that ended without an answer, or 0 if none did"""

    errno: int
    """the errno of the failed system call, or 0 if none failed"""

    def __init__(self, message: str = "", errno: int = 0) -> None:
        super().__init__()
        self.args = (message, errno) if errno else (message,)
        self.message = message
        self.errno = errno

    def __str__(self) -> str:
        return f"{self.message or self.name} [{self.name}]"


class InvalidArgument(Error, ValueError):
    """The arguments contradict each other or a stated limit."""

    number, name = 1, "invalid-argument"


class NoBus(Error):
    """There is no bus in this directory, or no channel at this path."""

    number, name = 2, "no-bus"


class InUse(Error):
    """Another process holds this bus, journal, path or cursor."""

    number, name = 3, "in-use"


class NotPermitted(Error, PermissionError):  # type: ignore[misc]
    """The kernel or an ownership check refused the operation."""

    number, name = 4, "not-permitted"


class NoSpace(Error, OSError):  # type: ignore[misc]
    """The disk or the tmpfs is full."""

    number, name = 5, "no-space"


class System(Error, OSError):  # type: ignore[misc]
    """Another system call failed: see `errno`."""

    number, name = 6, "system"


class Damaged(Error):
    """Stored bytes differ from those that were written."""

    number, name = 7, "damaged"


class AbiMismatch(Error):
    """The other side has a different version of the interface."""

    number, name = 8, "abi-mismatch"


class NotALapwingFile(Error):
    """There is another kind of file at this path."""

    number, name = 9, "not-a-lapwing-file"


class JournalFailed(Error):
    """A write or sync of the journal failed."""

    number, name = 10, "journal-failed"


class NoJournal(Error):
    """This bus has no journal."""

    number, name = 11, "no-journal"


class Pruned(Error):
    """The journal no longer has that sequence."""

    number, name = 12, "pruned"


class TimedOut(Error, TimeoutError):  # type: ignore[misc]
    """The timeout passed while the call waited."""

    number, name = 13, "timed-out"


class PublisherGone(Error):
    """The publisher ended without closing."""

    number, name = 14, "publisher-gone"


class Refused(Error, ConnectionRefusedError):  # type: ignore[misc]
    """The other side refused the connection."""

    number, name = 15, "refused"


class Protocol(Error):
    """The other side violates the protocol."""

    number, name = 16, "protocol"


class BadInput(Error):
    """Bytes do not follow their format."""

    number, name = 17, "bad-input"


class RecordSize(Error):
    """Records of this size or type do not fit this bus."""

    number, name = 18, "record-size"


class PathTooLong(Error):
    """A path exceeds what a socket or a frame can carry."""

    number, name = 19, "path-too-long"


class Closed(Error):
    """The other side closed cleanly, and everything has been delivered."""

    number, name = 20, "closed"


class Reset(Error):
    """A stored position belongs to a journal that was discarded."""

    number, name = 21, "reset"


class Unsupported(Error):
    """This kernel, container or file system does not support the operation."""

    number, name = 22, "unsupported"


class Limit(Error):
    """A named limit is exhausted."""

    number, name = 23, "limit"


class NotFound(Error):
    """A file, schema, sequence or book does not exist."""

    number, name = 24, "not-found"


class StoppedAtGap(Error):
    """There was a gap, and the subscriber is configured to stop at one."""

    number, name = 25, "stopped-at-gap"


class PeerGone(Error):
    """The other side of a channel ended without closing."""

    number, name = 26, "peer-gone"


class Corrupt(Error):
    """The other side of a channel wrote invalid bytes."""

    number, name = 27, "corrupt"


class WouldBlock(Error, BlockingIOError):  # type: ignore[misc]
    """Nothing is available now, and the call may not wait."""

    number, name = 28, "would-block"


class Misuse(Error):
    """The call is invalid in this state and had no effect."""

    number, name = 29, "misuse"


class Interrupted(Error):
    """interrupt() ended the wait."""

    number, name = 30, "interrupted"


class TooSmall(Error):
    """The memory is smaller than a row or message. Nothing was consumed."""

    number, name = 31, "too-small"


class NoMemory(Error, MemoryError):
    """Memory could not be allocated."""

    number, name = 32, "no-memory"


class Forked(Error):
    """The object belongs to the parent of this forked process."""

    number, name = 33, "forked"


class EventDue(Error):
    """An event precedes the next record: call read()."""

    number, name = 34, "event-due"


class NoAnswer(Error):
    """The publisher did not answer the join."""

    number, name = 35, "no-answer"


CLASSES: dict[int, type[Error]] = {each.number: each for each in Error.__subclasses__()}
"""The classes by number. Other numbers raise an Error whose `number` and `name` are set."""

for _each in (Error, *CLASSES.values()):
    _each.__module__ = "lapwing"


def error_name(number: int) -> str:
    """Returns the name of an error number, for example "timed-out", or "unknown"."""
    if isinstance(number, bool) or not isinstance(number, int):
        raise wrong_type("number", number, "an int")
    return _native.error_name(number) if -(2**31) <= number < 2**31 else "unknown"


def invalid(message: str) -> InvalidArgument:
    """Returns an error about an argument's value, for checks in this package."""
    return InvalidArgument(message)


def wrong_type(option: str, value: object, wanted: str) -> TypeError:
    """Returns an error about an argument's type. `wanted` describes the right one."""
    is_short = isinstance(value, (str, bytes, int, float, type(None))) and len(repr(value)) < 80
    shown = repr(value) if is_short else f"of {type(value).__name__}"
    return TypeError(f"{option} is {shown}. Give {wanted}")
