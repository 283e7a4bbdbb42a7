#!/usr/bin/env python3
"""Tests every pair of languages: one publishes or sends, the other reads.

    bindings/cross.py

Prints `bus: N of N digests equal` and `channel: N of N exact`, where N is the square of the number
of languages that are built. Exit: 0 all are equal, 1 at least one is not.
"""

import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "conformance" / "bindings"))

import run as conformance  # noqa: E402

ROW_BYTES = 56
ROWS = 20_000
MESSAGES = 1000


def fnv(data):
    value = 0xCBF29CE484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return f"{value:016x}"


def row(number):
    """Row `number` of the conformance scenarios."""
    return number.to_bytes(8, "little") + bytes((number + k) % 256 for k in range(8, ROW_BYTES))


def ask(driver, step):
    answer = driver.ask(step)
    if not answer[-1].startswith("ok"):
        raise RuntimeError(f"{driver.language}: `{step}`: {answer[-1]}")
    return answer


class Pair:
    """Two drivers in one temporary directory. Both end when it is deleted."""

    def __init__(self, one, other):
        self.directory = tempfile.TemporaryDirectory(prefix="lw-", dir="/tmp")
        self.drivers = [conformance.Driver(one, self.directory.name),
                        conformance.Driver(other, self.directory.name)]

    def __enter__(self):
        return self.drivers

    def __exit__(self, *_):
        for driver in self.drivers:
            driver.kill()
        self.directory.cleanup()


def over_a_bus(publisher_language, subscriber_language):
    """The subscriber's digest of all rows."""
    with Pair(publisher_language, subscriber_language) as (publisher, subscriber):
        ask(publisher, f"publisher.open as=p directory=bus record_bytes={ROW_BYTES} capacity=65536")
        ask(subscriber, "subscriber.open as=s directory=bus start=oldest end_at_close=1")
        ask(publisher, f"publisher.publish on=p from=1 count={ROWS} timeout_ms=forever")
        ask(publisher, "publisher.close on=p timeout_ms=forever")
        lines = ask(subscriber, "subscriber.read-all on=s until=closed timeout_ms=20000")
        runs = [line.split("digest=")[1].split()[0] for line in lines if line.startswith("ok records")]
        return runs[0] if len(runs) == 1 else f"{len(runs)} runs"


def over_a_channel(producer_language, consumer_language):
    """The digests of the messages, in order."""
    with Pair(producer_language, consumer_language) as (producer, consumer):
        ask(consumer, "listener.open as=l path=c.sock")
        ask(consumer, "begin a listener.accept on=l as=c role=consumer timeout_ms=20000")
        ask(producer, "channel.connect as=p path=c.sock role=producer timeout_ms=20000")
        ask(consumer, "end a")
        ask(producer, f"channel.send on=p n=1 count={MESSAGES} bytes={ROW_BYTES} type=1 timeout_ms=20000")
        messages = []
        while len(messages) < MESSAGES:
            answer = ask(consumer, "channel.peek on=c max=256 timeout_ms=20000")[0]
            count = int(answer.split("count=")[1].split()[0])
            messages += answer.split("messages=")[1].split(",")
            ask(consumer, f"channel.release on=c count={count}")
        return messages


def main():
    languages = conformance.built_languages()
    digest = fnv(b"".join(map(row, range(1, ROWS + 1))))
    messages = [f"1:{ROW_BYTES}:{fnv(row(n))}" for n in range(1, MESSAGES + 1)]
    wrong = []
    good = {"bus": 0, "channel": 0}
    for one in languages:
        for other in languages:
            for what, found, wanted in (("bus", over_a_bus, digest), ("channel", over_a_channel, messages)):
                try:
                    is_good = found(one, other) == wanted
                except RuntimeError as error:
                    is_good = False
                    print(error)
                good[what] += is_good
                if not is_good:
                    wrong.append(f"{what}: {one} to {other}")
    print("\n".join(wrong), end="\n" if wrong else "")
    print(f"bus: {good['bus']} of {len(languages) ** 2} digests equal")
    print(f"channel: {good['channel']} of {len(languages) ** 2} exact")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
