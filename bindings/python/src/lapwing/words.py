"""The fixed words in events, infos and books. Each member is a str: EventKind.GAP == "gap"."""

from __future__ import annotations

import sys

if sys.version_info >= (3, 11):
    from enum import StrEnum
else:
    from enum import Enum

    class StrEnum(str, Enum):
        __str__ = str.__str__


class EventKind(StrEnum):
    """The kind of an event. See docs/reference/events.md."""

    GAP = "gap"
    LOST = "lost"
    SESSION = "session"
    RESET = "reset"
    CAUGHT_UP = "caught-up"
    STALE = "stale"
    PUBLISHER_GONE = "publisher-gone"
    CLOSED = "closed"
    SNAPSHOT_COMPLETE = "snapshot-complete"
    NO_SNAPSHOT = "no-snapshot"
    BEHIND = "behind"
    LIVE = "live"


class Cause(StrEnum):
    """Why records are missing."""

    LAPPED = "lapped"
    SESSION = "session"
    VOID = "void"
    PRUNED = "pruned"
    DAMAGED = "damaged"
    NOT_RELAYED = "not-relayed"
    UPSTREAM = "upstream"


class Settled(StrEnum):
    """How a publisher's start settled the previous session."""

    FRESH = "fresh"
    CONTINUED = "continued"
    RECOVERED = "recovered"
    CUT = "cut"
    RESET = "reset"


class JournalState(StrEnum):
    NONE = "none"
    GOOD = "good"
    FAILED = "failed"
    SHED = "shed"


class ChannelRole(StrEnum):
    PRODUCER = "producer"
    CONSUMER = "consumer"
    DUPLEX = "duplex"


class SourceKind(StrEnum):
    """The kind of a source that a wait set found ready."""

    SUBSCRIBER = "subscriber"
    CONFLATED = "conflated"
    CONSUMER = "consumer"
    PRODUCER = "producer"
    DUPLEX = "duplex"
    LISTENER = "listener"
    FD = "fd"
    TIMER = "timer"


class Side(StrEnum):
    """A side of an order book. Side(row["side"]) accepts the letter in a record."""

    BID = "B"
    ASK = "A"

    @classmethod
    def _missing_(cls, value: object) -> Side | None:
        for side in cls:
            if isinstance(value, bytes) and value == side.value.encode():
                return side
        return None
