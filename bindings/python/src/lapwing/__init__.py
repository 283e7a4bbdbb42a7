"""Lapwing: a shared-memory broadcast bus for market data on one Linux machine.

    with lapwing.Subscriber("./es", start=lapwing.Start.oldest()) as subscriber:
        for item in subscriber:
            match item:
                case lapwing.Records(): print(item.first, item.rows["price"].mean())
                case lapwing.Event(kind="gap"): print("missing", item.first, item.last)

Durations and timeouts are seconds. A timeout of None waits forever, and one of 0 does not wait. For
an option None is no limit. Times are ns since 1970, UTC. Prices are integers in units of 1e-9.
Failures raise `lapwing.Error`.

One thread at a time uses an object. Waits release the GIL, and Ctrl-C ends them.
"""

from ._library import ABI, LIBRARY  # first: everything else calls the library

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
    error_name,
    version,
)
from .books import Books
from .channel import Consumer, Duplex, Producer, Reply, Request
from .cursor import Commit, Cursor
from .error import Error
from .history import History, MappedRows
from .listener import Listener
from .publisher import Publisher
from .records import Item, Records, State
from .schema import Field, Schema
from .subscriber import Start, Subscriber

__version__ = "0.2.0"

__all__ = [
    "ABI",
    "LIBRARY",
    "Ages",
    "Book",
    "Books",
    "BooksInfo",
    "ChannelInfo",
    "Commit",
    "Consumer",
    "Cursor",
    "Duplex",
    "Error",
    "Event",
    "Field",
    "History",
    "HistoryInfo",
    "Item",
    "Level",
    "Listener",
    "MappedRows",
    "Message",
    "Position",
    "Producer",
    "Publisher",
    "PublisherInfo",
    "Records",
    "Reply",
    "Request",
    "Schema",
    "Start",
    "State",
    "Subscriber",
    "SubscriberInfo",
    "error_name",
    "log",
    "version",
]
