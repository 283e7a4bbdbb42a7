"""Steps that misuse the package in the ways a Python program could."""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NoReturn

import lapwing
from rows import rows
from steps import Answers, Step, ok, step

RECORD_BYTES = 16
SECONDS = 10.0

Call = Callable[[], Any]


def name_of(call: Call) -> str:
    """The name of the error that `call` raises, Lapwing's or Python's, or "ok"."""
    try:
        call()
    except lapwing.Error as error:
        return error.name
    except Exception as error:
        return type(error).__name__
    return "ok"


def names_of(calls: Iterable[Call]) -> str:
    """The distinct results of the calls, sorted."""
    return ",".join(sorted({name_of(call) for call in calls}))


def own_publisher(directory: str = "own") -> lapwing.Publisher:
    return lapwing.Publisher(directory, record_bytes=RECORD_BYTES)


# ---- one object of each kind


class OneOfEach(contextlib.ExitStack):
    """One open object of each kind. All are closed at the end of the `with` block."""

    def __init__(self, directory: str) -> None:
        super().__init__()
        self.listener = self.enter_context(lapwing.Listener("own.sock"))
        with ThreadPoolExecutor(1) as pool:
            connecting = pool.submit(lapwing.Producer.connect, "own.sock", timeout=SECONDS)
            accepted = self.listener.accept(lapwing.Consumer, timeout=SECONDS)
            self.producer = self.enter_context(connecting.result())
        self.consumer = self.enter_context(accepted)
        self.publisher = self.enter_context(own_publisher())
        self.subscriber = self.enter_context(
            lapwing.Subscriber(directory, start=lapwing.Start.oldest())
        )
        self.cursor = self.enter_context(lapwing.Cursor("own.cursor"))
        self.history = self.enter_context(lapwing.History(directory))
        self.books = self.enter_context(lapwing.Books())

    def __iter__(self) -> Iterator[Any]:
        yield from (self.publisher, self.subscriber, self.cursor, self.history)
        yield from (self.books, self.listener, self.producer, self.consumer)

    def calls(self) -> list[Call]:
        """One call on each object."""
        nowhere = lapwing.Position(bytes(40))
        return [
            self.publisher.inspect,
            lambda: self.subscriber.read(timeout=0),
            lambda: self.cursor.commit(nowhere),
            self.history.inspect,
            self.books.inspect,
            self.listener.tend,
            lambda: self.producer.send(b"", timeout=0),
            lambda: self.consumer.peek(timeout=0),
        ]


@step("misuse.used-after")
def _(step: Step) -> Answers:
    with OneOfEach(step.text("directory")) as each:
        for one in each:
            one.close()
    for one in each:
        one.close()
    return ok(kinds=len(list(each)), answers=names_of(each.calls()))


# ---- two threads, two processes


@step("misuse.two-threads")
def _(step: Step) -> Answers:
    with lapwing.Subscriber(step.text("directory")) as subscriber:
        while subscriber.read().kind != "caught-up":
            pass

        def wait() -> str:
            # The other thread may be inside a call when this one starts.
            while (name := name_of(subscriber.read)) == "misuse":
                pass
            return name

        with ThreadPoolExecutor(1) as pool:
            first = pool.submit(wait)
            while (second := name_of(lambda: subscriber.read(timeout=0))) == "would-block":
                time.sleep(0.001)
            subscriber.interrupt()
            return ok(second=second, first=first.result())


def in_child(each: OneOfEach, said: int) -> NoReturn:
    """Never returns: the code after the fork is only for the parent."""
    try:
        os.write(said, names_of(each.calls()).encode())
        for one in each:
            one.destroy()
        os._exit(0)
    finally:
        os._exit(1)


def said_by_child(each: OneOfEach) -> str:
    reads, writes = os.pipe()
    child = os.fork()
    if child == 0:
        in_child(each, writes)
    os.close(writes)
    with open(reads) as pipe:
        names = pipe.read()
    _, status = os.waitpid(child, 0)
    return f"status-{status}" if status else names


@step("misuse.forked")
def _(step: Step) -> Answers:
    with OneOfEach(step.text("directory")) as each:
        each.subscriber.read(timeout=SECONDS)  # attaches to the bus
        child = said_by_child(each)
        each.publisher.publish(rows(1, 1, RECORD_BYTES))
        each.subscriber.read(timeout=SECONDS)
        each.producer.send(b"message", timeout=SECONDS)
        (message,) = each.consumer.peek(timeout=SECONDS)
        parent = "ok" if bytes(message) == b"message" else "changed"
        each.consumer.release()
    return ok(child=child, parent=parent)


# ---- ends


def wait_without_end(step: Step) -> None:
    with lapwing.Subscriber(step.text("directory")) as subscriber:
        for _ in subscriber:
            pass


@step("misuse.wait")
def _(step: Step) -> Answers:
    signal.signal(signal.SIGINT, signal.default_int_handler)  # in case the shell ignores SIGINT
    wait_without_end(step)
    return ok()


@step("misuse.exit-in-wait")
def _(step: Step) -> Answers:
    threading.Thread(target=wait_without_end, args=(step,), daemon=True).start()
    time.sleep(0.2)
    sys.exit(7)


# The publisher that misuse.drop releases. No step has named it.
to_drop: list[lapwing.Publisher] = []


@step("misuse.open-dropped")
def _(step: Step) -> Answers:
    publisher = own_publisher(step.text("directory"))
    publisher.publish(rows(1, 1000, RECORD_BYTES))
    to_drop.append(publisher)
    return ok()


@step("misuse.drop")
def _(_step: Step) -> Answers:
    dropped = weakref.ref(to_drop[0])
    started = time.monotonic_ns()
    to_drop.clear()
    gc.collect()
    assert dropped() is None, "it was not collected"
    return ok(ms=(time.monotonic_ns() - started) // 1_000_000)
