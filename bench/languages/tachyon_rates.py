"""The round trip with Tachyon's package for Python: the same two rates as Lapwing's.

    channel-echo path=P count=N      listens at P and P.back, and returns each message
    channel-ping path=P count=N      prints `ns=…` per round trip in the median block

Both sides spin, like Lapwing's with the wait strategy "busy".
"""

import statistics
import sys
import time
from collections.abc import Callable

import tachyon

MESSAGE_BYTES = 32
CAPACITY = 1 << 20
ROUND_TRIPS = 1000  # per block
SECONDS = 10.0  # maximum wait for the other side


def spinning(bus: tachyon.Bus) -> tachyon.Bus:
    bus.set_polling_mode(1)
    return bus


def connected(path: str) -> tachyon.Bus:
    until = time.monotonic() + SECONDS
    while True:
        try:
            return spinning(tachyon.Bus.connect(path))
        except (OSError, tachyon.TachyonError):
            if time.monotonic() > until:
                raise
            time.sleep(0.001)


def received(bus: tachyon.Bus) -> bytes:
    with bus.recv_zero_copy() as message, memoryview(message) as payload:
        return payload.tobytes()


def echo(path: str, count: int) -> str:
    with spinning(tachyon.Bus.listen(path, CAPACITY)) as to, spinning(tachyon.Bus.listen(f"{path}.back", CAPACITY)) as back:
        for _ in range(count):
            back.send(received(to), 1)
        time.sleep(0.1)  # the peer must read the last message before its memory is removed
    return ""


def ping(path: str, count: int) -> str:
    payload = bytes(MESSAGE_BYTES)
    blocks = []
    with connected(path) as to, connected(f"{path}.back") as back:
        for _ in range(count // ROUND_TRIPS):
            started = time.monotonic_ns()
            for _ in range(ROUND_TRIPS):
                to.send(payload, 1)
                received(back)
            blocks.append(time.monotonic_ns() - started)
    return f"ns={statistics.median_high(blocks[1:]) / ROUND_TRIPS:.1f}"


RATES: dict[str, Callable[[str, int], str]] = {"channel-echo": echo, "channel-ping": ping}

if __name__ == "__main__":
    given = dict(pair.split("=", 1) for pair in sys.argv[2:])
    print(RATES[sys.argv[1]](given["path"], int(given["count"])))
