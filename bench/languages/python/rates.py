"""The rates of Python. See README.md in the parent folder."""

from __future__ import annotations

import contextlib
import math
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import lapwing

RECORD_BYTES = 56
MESSAGE_BYTES = 32
ROUND_TRIPS = 1000  # per block
CAPACITY = 1 << 20
SECONDS = 10.0  # maximum wait for the other side

ns = time.monotonic_ns

RATES: dict[str, Callable[[Step], str]] = {}


class Step:
    """The arguments of a rate: key=value."""

    def __init__(self, words: list[str]) -> None:
        self._values = dict(word.split("=", 1) for word in words)

    def text(self, key: str) -> str:
        return self._values[key]

    def number(self, key: str) -> int:
        return int(self.text(key))


def rate(name: str) -> Callable[[Callable[[Step], str]], Callable[[Step], str]]:
    def add(function: Callable[[Step], str]) -> Callable[[Step], str]:
        RATES[name] = function
        return function

    return add


def follower(directory: str, **options: Any) -> lapwing.Subscriber:
    return lapwing.Subscriber(directory, start="oldest", on_gap="skip", wait="busy", **options)


def publisher_at(directory: str, capacity: int) -> lapwing.Publisher:
    return lapwing.Publisher(
        directory, record_bytes=RECORD_BYTES, capacity=capacity, journal=False
    )


def median_pass(step: Step, timed: Callable[[], int]) -> str:
    """The ns per record of the median pass, each run by timed(). The first is a warm-up."""
    passes = [timed() for _ in range(step.number("passes") + 1)]
    return f"{statistics.median_high(passes[1:]) / step.number('records'):.3f}"


def median_round_trip(step: Step, round_trip: Callable[[], None]) -> str:
    """The ns per round trip in the median block. The first block is a warm-up."""
    blocks = []
    for _ in range(step.number("count") // ROUND_TRIPS):
        started = ns()
        for _ in range(ROUND_TRIPS):
            round_trip()
        blocks.append(ns() - started)
    return f"{statistics.median_high(blocks[1:]) / ROUND_TRIPS:.1f}"


# ---- reading


@rate("read")
def _(step: Step) -> str:
    records = step.number("records")
    memory = np.empty(step.number("rows") * RECORD_BYTES, np.uint8)

    def read() -> int:
        with follower(step.text("directory")) as subscriber:
            left = records
            started = ns()
            while left > 0:
                item = subscriber.read_into(memory)
                if isinstance(item, lapwing.Records):
                    left -= len(item.rows)
            return ns() - started

    # The interpreter counts current allocations, not past ones, so there is no counter of garbage.
    return f"ns={median_pass(step, read)} garbage=-"


@rate("take")
def _(step: Step) -> str:
    records = step.number("records")
    record = bytearray(RECORD_BYTES)

    def take() -> int:
        with follower(step.text("directory")) as subscriber:
            left = records
            started = ns()
            while left > 0:
                try:
                    subscriber.read_one(record)
                    left -= 1
                except lapwing.EventDue:
                    subscriber.read(rows=1, timeout=0)
            return ns() - started

    return f"ns={median_pass(step, take)}"


# ---- data frames


@rate("to-arrow")
def _(step: Step) -> str:
    """Converts dbn.mbp-1 records to an Arrow batch, and copies them, alternately.

    copy: the time of the copy divided by the time of the batch, in the median pass.
    """
    schema = lapwing.Schema.shipped("dbn.mbp-1")
    rows = np.zeros(step.number("records"), schema.dtype)
    rows["action"], rows["side"] = b"T", b"B"
    records = lapwing.Records(rows, 1, schema)
    batches, ratios = [], []
    for _ in range(step.number("passes") + 1):  # the first is a warm-up
        started = ns()
        records.to_arrow()
        made = ns()
        rows.copy()
        batches.append(made - started)
        ratios.append((ns() - made) / batches[-1])
    per_record = statistics.median(batches[1:]) / len(rows)
    return f"ns={per_record:.3f} copy={statistics.median(ratios[1:]):.3f}"


# ---- publishing


def publishing(step: Step, records: object, calls: int) -> str:
    with publisher_at(step.text("directory"), CAPACITY) as publisher:

        def publish() -> int:
            started = ns()
            for _ in range(calls):
                publisher.publish(records)
            return ns() - started

        return f"ns={median_pass(step, publish)}"


@rate("publish")
def _(step: Step) -> str:
    batch = np.zeros(step.number("rows"), f"V{RECORD_BYTES}")
    return publishing(step, batch, math.ceil(step.number("records") / len(batch)))


@rate("publish-one")
def _(step: Step) -> str:
    return publishing(step, bytes(RECORD_BYTES), step.number("records"))


# ---- there and back, over two buses


class BothWays:
    """This side's publisher, and its subscriber of the other side's bus."""

    def __init__(self, publisher: lapwing.Publisher, subscriber: lapwing.Subscriber) -> None:
        self._publisher = publisher
        self._subscriber = subscriber
        self._record = bytearray(RECORD_BYTES)

    def publish(self) -> None:
        self._publisher.publish(self._record)

    def take(self) -> None:
        while True:
            try:
                self._subscriber.read_one(self._record)
                return
            except lapwing.EventDue:
                self._subscriber.read(rows=1, timeout=0)


@contextlib.contextmanager
def both_ways(step: Step) -> Iterator[BothWays]:
    with publisher_at(step.text("out"), 4096) as publisher:
        with follower(step.text("in"), reattach=SECONDS) as subscriber:
            yield BothWays(publisher, subscriber)


@rate("echo")
def _(step: Step) -> str:
    with both_ways(step) as ways:
        for _ in range(step.number("count")):
            ways.take()
            ways.publish()
    return ""


@rate("ping")
def _(step: Step) -> str:
    with both_ways(step) as ways:

        def round_trip() -> None:
            ways.publish()
            ways.take()

        return f"ns={median_round_trip(step, round_trip)}"


# ---- there and back, over two channels


@rate("channel-echo")
def _(step: Step) -> str:
    with (
        lapwing.Listener(step.text("path")) as listener,
        listener.accept(lapwing.Consumer, wait="busy") as consumer,
        listener.accept(lapwing.Producer, wait="busy") as producer,
    ):
        for _ in range(step.number("count")):
            (message,) = consumer.peek()
            producer.send(message)  # claims, writes and commits in one call
            consumer.release()
        with contextlib.suppress(lapwing.Error):  # the other side may close first
            producer.drain()
    return ""


@rate("channel-ping")
def _(step: Step) -> str:
    path = step.text("path")
    with (
        lapwing.Producer.connect(path, wait="busy", retry=SECONDS) as producer,
        lapwing.Consumer.connect(path, wait="busy", retry=SECONDS) as consumer,
    ):
        payload = bytes(MESSAGE_BYTES)

        def round_trip() -> None:
            producer.send(payload)
            (message,) = consumer.peek()
            bytes(message)
            consumer.release()

        return f"ns={median_round_trip(step, round_trip)}"


if __name__ == "__main__":
    print(RATES[sys.argv[1]](Step(sys.argv[2:])))
