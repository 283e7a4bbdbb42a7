"""Lapwing: a shared-memory broadcast bus for market data on one Linux machine.

    with lapwing.Subscriber("./es", start="oldest") as subscriber:
        for item in subscriber:
            match item:
                case lapwing.Records(): print(item.first, item.rows["price"].mean())
                case lapwing.Event(kind="gap"): print("missing", item.first, item.last)

Durations and timeouts are in seconds. A timeout of None waits forever, and a timeout of 0 does not
wait. For an option, None means no limit. Times are ns since 1970, UTC. Prices are integers in units
of 1e-9. Each error number has a class, for example `lapwing.Closed`. All derive from
`lapwing.Error`.

Only one thread may use an object at a time. Waits release the GIL, and Ctrl-C ends them.
"""

from ._library import ABI, LIBRARY  # first, because the other modules call the library

# isort: split
from . import log
from ._native import (
    Ages,
    Book,
    BooksInfo,
    ChannelInfo,
    Event,
    HistoryInfo,
    Level,
    Message,
    Position,
    PublisherInfo,
    SubscriberInfo,
    version,
)
from .books import BookKey, Books
from .channel import Channel, Consumer, Duplex, Producer, Reply, Request
from .cursor import Commit, Cursor
from .error import (
    AbiMismatch,
    BadInput,
    Closed,
    Corrupt,
    Damaged,
    Error,
    EventDue,
    Forked,
    Interrupted,
    InUse,
    InvalidArgument,
    JournalFailed,
    Limit,
    Misuse,
    NoAnswer,
    NoBus,
    NoJournal,
    NoMemory,
    NoSpace,
    NotALapwingFile,
    NotFound,
    NotPermitted,
    PathTooLong,
    PeerGone,
    Protocol,
    Pruned,
    PublisherGone,
    RecordSize,
    Refused,
    Reset,
    StoppedAtGap,
    System,
    TimedOut,
    TooSmall,
    Unsupported,
    WouldBlock,
    error_name,
)
from .history import History, MappedRows
from .listener import Listener
from .publisher import Publisher
from .records import Item, Records, State
from .schema import Field, Schema
from .subscriber import Start, Subscriber
from .symbols import SymbolMapping, Symbols
from .wait_set import Ready, Timer, WaitSet
from .words import Cause, ChannelRole, EventKind, JournalState, Settled, Side, SourceKind

__version__ = "0.2.0"

__all__ = [
    "ABI",
    "AbiMismatch",
    "Ages",
    "BadInput",
    "Book",
    "BookKey",
    "Books",
    "BooksInfo",
    "Cause",
    "Channel",
    "ChannelInfo",
    "ChannelRole",
    "Closed",
    "Commit",
    "Consumer",
    "Corrupt",
    "Cursor",
    "Damaged",
    "Duplex",
    "Error",
    "Event",
    "EventDue",
    "EventKind",
    "Field",
    "Forked",
    "History",
    "HistoryInfo",
    "InUse",
    "Interrupted",
    "InvalidArgument",
    "Item",
    "JournalFailed",
    "JournalState",
    "LIBRARY",
    "Level",
    "Limit",
    "Listener",
    "MappedRows",
    "Message",
    "Misuse",
    "NoAnswer",
    "NoBus",
    "NoJournal",
    "NoMemory",
    "NoSpace",
    "NotALapwingFile",
    "NotFound",
    "NotPermitted",
    "PathTooLong",
    "PeerGone",
    "Position",
    "Producer",
    "Protocol",
    "Pruned",
    "Publisher",
    "PublisherGone",
    "PublisherInfo",
    "Ready",
    "RecordSize",
    "Records",
    "Refused",
    "Reply",
    "Request",
    "Reset",
    "Schema",
    "Settled",
    "Side",
    "SourceKind",
    "Start",
    "State",
    "StoppedAtGap",
    "Subscriber",
    "SubscriberInfo",
    "SymbolMapping",
    "Symbols",
    "System",
    "TimedOut",
    "Timer",
    "TooSmall",
    "Unsupported",
    "WaitSet",
    "WouldBlock",
    "error_name",
    "log",
    "version",
]

for _value in (Ages, Book, BooksInfo, ChannelInfo, Event, HistoryInfo, Level, Message, Position, PublisherInfo, SubscriberInfo):
    _value.__module__ = "lapwing"  # for help() and pickle
