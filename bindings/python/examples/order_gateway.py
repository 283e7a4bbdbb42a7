"""Executes each order exactly once; this example writes it to a file. See order_strategy.py.

    order_gateway.py ./orders.sock ./orders.txt

An order is released once it is in the file. The program ends when a strategy closes its channel.
"""

import os
import struct
import sys

import lapwing

ORDER = struct.Struct("<16sQqII")  # journal, sequence, price, size, instrument
NEW_ORDER = 1  # the type of its message


class OrderFile:
    """A file with one line for each executed order. The gateway has no other state."""

    def __init__(self, path: str) -> None:
        self._file = open(path, "ab+")
        self._file.seek(0)
        lines = self._file.read()
        # Drop the unfinished line of a killed run. Its order was not released and is sent again.
        whole = lines.rfind(b"\n") + 1
        self._file.truncate(whole)
        self._last: dict[str, int] = {}  # last sequence of each journal
        for line in lines[:whole].decode().splitlines():
            journal, sequence = line.split()[:2]
            self._last[journal] = int(sequence)

    def add(self, messages: list[lapwing.Message]) -> None:
        """Writes the new orders. They are on disk when it returns."""
        for message in messages:
            if message.type != NEW_ORDER or len(message) != ORDER.size:
                continue
            journal_id, sequence, price, size, instrument = ORDER.unpack(bytes(message))
            journal = journal_id.hex()
            if sequence > self._last.get(journal, 0):
                self._last[journal] = sequence
                self._file.write(f"{journal} {sequence} {instrument} {price} {size}\n".encode())
        self._file.flush()
        os.fdatasync(self._file.fileno())


def serve(strategy: lapwing.Consumer, file: OrderFile) -> None:
    while True:
        messages = strategy.peek(64)
        file.add(messages)
        strategy.release(len(messages))


def run(path: str, file_path: str) -> None:
    file = OrderFile(file_path)
    with lapwing.Listener(path) as listener:
        while True:
            with listener.accept(lapwing.Consumer) as strategy:
                try:
                    serve(strategy, file)
                except lapwing.Closed:
                    return
                except lapwing.PeerGone:
                    print("the strategy has ended; waiting for the next", file=sys.stderr)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: order_gateway.py SOCKET FILE")
    run(*sys.argv[1:])
