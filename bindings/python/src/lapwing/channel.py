"""Messages to one other process, with backpressure, and calls with replies."""

from __future__ import annotations

import contextlib
import os
from collections.abc import AsyncIterator, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypedDict, TypeVar

from . import _native
from ._arguments import (
    WAIT,
    flags_of,
    number_of,
    optional_ns,
    text as checked_text,
    text_of,
    timeout_ns,
    truth,
    whole,
)
from ._event_loop import AsyncItems, Items, Waiter
from ._handle import Handle, opened
from ._native import Message
from .error import Misuse, wrong_type

if TYPE_CHECKING:
    from typing_extensions import Unpack  # in typing since Python 3.11

Role = TypeVar("Role", bound="Channel")
Wait = Literal["busy", "backoff", "park"]

_UINT32_MAX = 2**32 - 1
_PAIRS = "(payload, type) pairs: [(payload, 1)]"


class SideOptions(TypedDict, total=False):
    """The options of side_options(), for type checkers."""

    name: str
    capacity: int
    message_bytes_max: int
    call_window: int
    wait: Wait
    aligned: bool
    huge_pages: bool
    numa_node: int | None
    membarrier: bool
    late_replies: bool


def side_options(
    *,
    name: str = "",
    capacity: int = 1024 * 1024,
    message_bytes_max: int = 65536,
    call_window: int = 64,
    wait: Wait = "backoff",
    aligned: bool = False,
    huge_pages: bool = False,
    numa_node: int | None = None,
    membarrier: bool = True,
    late_replies: bool = False,
) -> dict[str, Any]:
    """Options of one side of a channel. Sizes apply to the messages that it sends.

    name               name of this side, shown by `lapwing info`
    capacity           bytes, a power of two
    message_bytes_max  size limit of one message
    call_window        limit on accepted unanswered calls, and on untaken one-way messages
    wait               "busy" spins, "backoff" spins, yields and sleeps, "park" sleeps at once
    aligned            align payloads to 64 bytes; otherwise to 16, and payloads of 49 to 56
                       bytes to 8
    numa_node          allocate this side's memory on this node, or fail
    membarrier         False: use a fence for each message instead of a system call
    late_replies       deliver replies that arrive after the end of their call, marked as late
    """
    return {
        "name": checked_text("name", name),
        "capacity": whole("capacity", capacity),
        "message_bytes_max": whole("message_bytes_max", message_bytes_max, _UINT32_MAX),
        "call_window": whole("call_window", call_window, _UINT32_MAX),
        "wait": number_of("wait", wait, WAIT),
        "numa_node": 0 if numa_node is None else whole("numa_node", numa_node, _UINT32_MAX),
        "flags": flags_of(
            aligned=(aligned, 1),
            huge_pages=(huge_pages, 2),
            numa_node=(numa_node is not None, 4),
            membarrier=(not truth("membarrier", membarrier), 16),
            late_replies=(late_replies, 32),
        ),
    }


class Channel(Handle[_native.Channel]):
    """The base of a producer, a consumer and a duplex."""

    role: int

    def __init__(self, handle: _native.Channel) -> None:
        self._handle = handle
        self._waiter = Waiter()

    @classmethod
    def connect(
        cls: type[Role],
        path: str | os.PathLike[str],
        *,
        timeout: float | None = None,
        retry: float | None = 0.0,
        peer_uid: int | None = None,
        **options: Unpack[SideOptions],
    ) -> Role:
        """Connects to the listener at `path`. The options are those of side_options().

        retry     seconds to retry while there is no listener; None: until the timeout
        peer_uid  connect only to this user's listener
        """
        one_side = side_options(**options)
        one_side["flags"] |= 8 if peer_uid is not None else 0
        one_side |= {
            "path": text_of(path),
            "role": cls.role,
            "peer_uid": 0 if peer_uid is None else whole("peer_uid", peer_uid, _UINT32_MAX),
            "retry_ns": optional_ns("retry", retry, "forever"),
            "timeout_ns": timeout_ns(timeout),
        }
        return cls(opened(lambda: _native.connect(**one_side), timeout))

    def arm(self, bytes: int = 0) -> bool:
        """Prepares fileno() for an event loop. Call it before the loop sleeps.

        Returns True if nothing has arrived or, for a producer, if there is no room for `bytes`.
        fileno() then becomes readable when that may have changed. False: try at once.
        """
        return self._handle.arm(bytes)

    def fileno(self) -> int:
        """Returns the descriptor for an event loop, to be used after arm(), or -1 if closed."""
        return self._handle.fileno()

    def inspect(self) -> _native.ChannelInfo:
        return self._handle.inspect()

    def close(self) -> None:
        """Ends the channel and notifies the other side at once. Messages stay valid."""
        if self.is_open:
            self._handle.close()
            self._is_closed = True

    def _armed(self) -> int | None:
        return self.fileno() if self.arm() else None


class Claim:
    """Channel memory for one message. `with` yields it as a writable memoryview.

        with producer.claim(8, type=1) as memory:
            memory[:] = struct.pack("<Q", 7)    # sent at the end, but not after an exception
    """

    def __init__(self, channel: _native.Channel, memory: _native.ClaimedMemory, type: int) -> None:
        self._channel = channel
        self._memory = memory
        self._type = type
        self._view: memoryview | None = None

    def __len__(self) -> int:
        return len(self._memory)

    def view(self) -> memoryview:
        """Returns a view of the memory. Release it before commit()."""
        return memoryview(self._memory)

    def commit(self, bytes: int | None = None) -> None:
        """Sends the first `bytes`, or all of it. Raises misuse if a view of the memory is alive."""
        self._check_open()
        self._channel.commit(len(self) if bytes is None else bytes, self._type)

    def abort(self) -> None:
        """Ends the claim without sending a message."""
        self._check_open()
        self._channel.abort()

    def _check_open(self) -> None:
        """Checks that this is the channel's newest claim, which its calls would act on."""
        if not self._memory.is_open:
            raise Misuse("the claim has ended: by commit, abort, another claim or destroy()")

    def __enter__(self) -> memoryview:
        self._view = self.view()
        return self._view

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        assert self._view is not None
        with contextlib.suppress(BufferError):  # an array uses the view: commit() raises misuse
            self._view.release()
        if not self._memory.is_open:
            return  # committed or aborted inside the block
        if kind is None:
            self.commit()
        else:
            self.abort()


class Producer(Channel):
    """Sends messages. When the channel is full, it waits for the consumer."""

    role = 1

    def claim(self, bytes: int, type: int = 0, timeout: float | None = None) -> Claim:
        """Returns room for a message of up to `bytes`, until commit, abort or the next claim."""
        number = whole("type", type, _UINT32_MAX)
        return Claim(self._handle, self._handle.claim(bytes, timeout_ns(timeout)), number)

    def send(self, payload: object, type: int = 0, timeout: float | None = None) -> None:
        """Copies one message into the channel."""
        self._handle.send(payload, type, timeout_ns(timeout))

    def send_many(
        self, messages: Iterable[tuple[object, int]], timeout: float | None = None
    ) -> int:
        """Sends (payload, type) pairs. After a failure, Error.sent counts the sent messages."""
        return self._handle.send_many(_pairs(messages), timeout_ns(timeout))

    def drain(self, timeout: float | None = None) -> None:
        """Waits until the consumer has released everything."""
        self._handle.drain(timeout_ns(timeout))


class Consumer(Channel):
    """Receives messages without copying. Iterating yields each message and releases it afterwards:

        for message in consumer:
            handle(message.type, bytes(message))

    The iteration ends when the producer has closed the channel. If you leave it early, the current
    message is not released. Releasing a message that has a live view (a memoryview, an array)
    raises misuse.
    """

    role = 2

    def peek(self, max: int = 1, timeout: float | None = None) -> list[Message]:
        """Borrows up to `max` messages, starting with the oldest unreleased one.

        They are in the producer's memory. Copy them with bytes() before you validate them.
        """
        return self._handle.peek(max, timeout_ns(timeout))

    def release(self, count: int = 1) -> None:
        """Releases the first `count` messages. Raises misuse if one of them has a live view."""
        self._handle.release(count)

    async def peek_async(self, max: int = 1, timeout: float | None = None) -> list[Message]:
        """peek() for asyncio. A cancelled wait loses no message: the next peek returns it."""
        return await self._waiter.take(lambda: self.peek(max, timeout=0), self._armed, timeout)

    def __iter__(self) -> Iterator[Message]:
        return Items(_NextMessage(self).take)

    def __aiter__(self) -> AsyncIterator[Message]:
        following = _NextMessage(self)
        return AsyncItems(lambda: self._waiter.take(lambda: following.take(0), self._armed))


class _NextMessage:
    """Releases the last message of an iteration and takes the next one."""

    def __init__(self, consumer: Consumer) -> None:
        self._consumer = consumer
        self._is_held = False

    def take(self, timeout: float | None = None) -> Message:
        if self._is_held:
            self._consumer.release()
            self._is_held = False
        (message,) = self._consumer.peek(timeout=timeout)
        self._is_held = True
        return message


class Request(NamedTuple):
    """A call from the other side. If `call` is 0, it is a one-way message, which has no answer."""

    call: int
    type: int
    payload: bytes


class Reply(NamedTuple):
    """The reply to a call. If it is an error, the payload is the error's text."""

    call: int
    type: int
    payload: bytes
    is_error: bool
    code: int
    """the code of an error, defined by the server"""
    is_late: bool
    """the reply arrived after the call had ended"""


class Duplex(Channel):
    """Calls and one-way messages in both directions. Iterating yields the other side's requests:

        for request in duplex:
            duplex.reply(request, struct.pack("<Q", 49), type=2)

    Payloads are copied. Only one thread may use a duplex at a time. To serve and to call on
    different threads, use two duplexes.
    """

    role = 3

    def call(self, payload: object, type: int = 0, timeout: float | None = None) -> Reply:
        """Starts a call and waits for its reply. Raises timed-out if none arrives in time."""
        return self.finish(self.start(payload, type, timeout))

    def start(self, payload: object, type: int = 0, timeout: float | None = None) -> int:
        """Starts a call and returns its number. The reply must arrive within the timeout."""
        return self._handle.start(payload, type, timeout_ns(timeout))

    def finish(self, call: int) -> Reply:
        """Waits for the reply to that call, until the call's own timeout.

        Raises misuse if there is no such call.
        """
        return Reply(*self._handle.finish(call))

    def finish_any(self, timeout: float | None = None) -> Reply:
        """Waits for the next call to end, or for a late reply.

        After an error, Error.call is the call that ended without an answer, or 0 if none did.
        """
        return Reply(*self._handle.finish_any(timeout_ns(timeout)))

    def cancel(self, call: int) -> None:
        """Ends a call without a reply."""
        self._handle.cancel(call)

    def send(self, payload: object, type: int = 0, timeout: float | None = None) -> None:
        """Sends a one-way message."""
        self._handle.send(payload, type, timeout_ns(timeout))

    def send_many(
        self, messages: Iterable[tuple[object, int]], timeout: float | None = None
    ) -> int:
        """Sends (payload, type) pairs. After a failure, Error.sent counts the sent messages."""
        return self._handle.send_many(_pairs(messages), timeout_ns(timeout))

    def next(self, timeout: float | None = None) -> Request:
        """Returns the next call or one-way message from the other side."""
        return Request(*self._handle.next(timeout_ns(timeout)))

    def reply(
        self,
        request: Request,
        payload: object = b"",
        type: int = 0,
        timeout: float | None = None,
    ) -> None:
        """Answers a call that next() returned, in any order. Raises misuse if already answered."""
        self._handle.reply(_call_of(request), payload, type, False, 0, timeout_ns(timeout))

    def reply_error(
        self, request: Request, code: int, text: str, timeout: float | None = None
    ) -> None:
        """Answers a call with an error. This program defines the meaning of `code`."""
        words = checked_text("text", text).encode()
        self._handle.reply(_call_of(request), words, 0, True, code, timeout_ns(timeout))

    async def next_async(self, timeout: float | None = None) -> Request:
        """next() for asyncio. A cancelled wait loses no request: the next wait returns it."""
        return await self._waiter.take(lambda: self.next(timeout=0), self._armed, timeout)

    def __iter__(self) -> Iterator[Request]:
        return Items(self.next)

    def __aiter__(self) -> AsyncIterator[Request]:
        return AsyncItems(self.next_async)


def _call_of(request: Request) -> int:
    if not isinstance(request, Request):
        raise wrong_type("request", request, "a Request: duplex.next()")
    return request.call


def _pairs(messages: Iterable[tuple[object, int]]) -> list[tuple[object, int]]:
    if isinstance(messages, (str, bytes, bytearray, memoryview)):
        raise wrong_type("messages", messages, _PAIRS)
    try:
        pairs = list(messages)
    except TypeError:
        raise wrong_type("messages", messages, _PAIRS) from None
    for pair in pairs:
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise TypeError(f"messages contains {pair!r}. Give {_PAIRS}")
    return pairs
