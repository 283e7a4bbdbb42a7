#!/usr/bin/env python3
"""Each language with each: one publishes or sends, the other one reads, on the records of a real feed.

    bindings/cross.py [FILE.mbo.dbn.zst]     by default an ES session below LAPWING_TEST_DATA

Prints `bus: N of N digests equal` and `channel: N of N exact`, N being the square of the number of
languages that are built. Exit: 0 all are, 1 one is not, 2 no such file.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "conformance" / "bindings"))

import run as conformance  # noqa: E402

MBO_BYTES = 56
CHANNEL_MESSAGES = 1000


def fnv(data):
    value = 0xCBF29CE484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return f"{value:016x}"


def ask(driver, step):
    answer = driver.ask(step)
    if not answer[-1].startswith("ok"):
        raise RuntimeError(f"{driver.language}: `{step}`: {answer[-1]}")
    return answer


class Pair:
    """Two drivers in one directory, which end with it."""

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


def over_a_bus(publisher_language, subscriber_language, rows):
    """The digest that the subscriber has of all rows."""
    with Pair(publisher_language, subscriber_language) as (publisher, subscriber):
        ask(publisher, "publisher.open as=p directory=bus schema_name=dbn.mbo record_bytes=56 capacity=65536")
        ask(subscriber, "subscriber.open as=s directory=bus start=oldest end_at_close=1")
        ask(publisher, f"publisher.publish on=p file={rows} timeout_ms=forever")
        ask(publisher, "publisher.close on=p timeout_ms=forever")
        lines = ask(subscriber, "subscriber.read-all on=s until=closed timeout_ms=20000")
        runs = [line.split("digest=")[1].split()[0] for line in lines if line.startswith("ok records")]
        return runs[0] if len(runs) == 1 else f"{len(runs)} runs"


def over_a_channel(producer_language, consumer_language, rows):
    """The digests of the messages, in their order."""
    with Pair(producer_language, consumer_language) as (producer, consumer):
        ask(consumer, "listener.open as=l path=c.sock")
        ask(consumer, "begin a listener.accept on=l as=c role=consumer timeout_ms=20000")
        ask(producer, "channel.connect as=p path=c.sock role=producer timeout_ms=20000")
        ask(consumer, "end a")
        ask(producer, f"channel.send on=p file={rows} bytes={MBO_BYTES} type=1 timeout_ms=20000")
        messages = []
        while len(messages) < CHANNEL_MESSAGES:
            answer = ask(consumer, "channel.peek on=c max=256 timeout_ms=20000")[0]
            count = int(answer.split("count=")[1].split()[0])
            messages += answer.split("messages=")[1].split(",")
            ask(consumer, f"channel.release on=c count={count}")
        return messages


def main():
    data = os.environ.get("LAPWING_TEST_DATA", "")
    feed = Path(sys.argv[1] if len(sys.argv) > 1 else Path(data, "esh4-glbx-mdp3-20231224.mbo.dbn.zst"))
    if not feed.is_file():
        print(f"cross: there is no file {feed}; give one, or set LAPWING_TEST_DATA", file=sys.stderr)
        return 2
    languages = conformance.built_languages()
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        dbn = subprocess.run(["zstd", "-dc", str(feed)], check=True, capture_output=True).stdout
        data = dbn[8 + int.from_bytes(dbn[4:8], "little"):]  # behind the metadata
        rows, few = Path(folder, "rows"), Path(folder, "few")
        rows.write_bytes(data)
        few.write_bytes(data[:CHANNEL_MESSAGES * MBO_BYTES])
        digest = fnv(data)
        messages = [f"1:{MBO_BYTES}:{fnv(data[i * MBO_BYTES:(i + 1) * MBO_BYTES])}"
                    for i in range(CHANNEL_MESSAGES)]
        equal = exact = 0
        for one in languages:
            for other in languages:
                for what, found, wanted in (("bus", over_a_bus, digest), ("channel", over_a_channel, messages)):
                    try:
                        good = found(one, other, rows if what == "bus" else few) == wanted
                    except RuntimeError as error:
                        good = False
                        print(error)
                    equal += what == "bus" and good
                    exact += what == "channel" and good
                    if not good:
                        wrong.append(f"{what}: {one} to {other}")
    print("\n".join(wrong), end="\n" if wrong else "")
    print(f"bus: {equal} of {len(languages) ** 2} digests equal")
    print(f"channel: {exact} of {len(languages) ** 2} exact")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
