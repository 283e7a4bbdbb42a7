"""Turns records from a bus into orders, each executed exactly once even if a process is killed.

    order_strategy.py ./es ./strategy.cursor ./orders.sock

This is examples/exactly_once in Python. An order's id is the journal and sequence of the record
that caused it. The cursor is committed after the gateway has released every order up to that
position. A killed strategy therefore decides and sends the other orders again, with the same ids.
"""

import struct
import sys

import lapwing

ORDER = struct.Struct("<16sQqII")  # journal, sequence, price, size, instrument
NEW_ORDER = 1  # the type of its message
LARGE = 8
PATIENCE = 60.0  # seconds


def decide(journal: bytes, records: lapwing.Records) -> list[tuple[bytes, int]]:
    """Returns a buy order for every large bid."""
    rows = records.rows
    large = (rows["action"] == b"A") & (rows["side"] == b"B") & (rows["size"] >= LARGE)
    return [
        (ORDER.pack(journal, sequence, int(row["price"]), 1, int(row["instrument_id"])), NEW_ORDER)
        for sequence, row in zip(records.sequences[large].tolist(), rows[large], strict=True)
    ]


def follow(bus: str, cursor: lapwing.Cursor, gateway: lapwing.Producer) -> None:
    """Runs until the bus is closed. Raises PeerGone or Closed if the gateway has ended."""
    with lapwing.Subscriber(
        bus,
        name="strategy",
        start=lapwing.Start.resume(cursor, "oldest"),
        end_at_close=True,
        reattach=None,
    ) as subscriber:
        for item in subscriber:
            match item:
                case lapwing.Records():
                    position = subscriber.position()
                    gateway.send_many(decide(position.journal_id, item))
                    gateway.drain()
                    cursor.commit(position)
                case lapwing.Event(kind=lapwing.EventKind.LOST):
                    sys.exit(f"{item}: a person decides what now")


def run(bus: str, cursor_path: str, path: str) -> None:
    with lapwing.Cursor(cursor_path, timeout=10.0) as cursor:
        while True:
            with lapwing.Producer.connect(path, retry=PATIENCE, timeout=PATIENCE) as gateway:
                try:
                    return follow(bus, cursor, gateway)
                except (lapwing.PeerGone, lapwing.Closed):
                    print("the gateway has ended; connecting again", file=sys.stderr)


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit("usage: order_strategy.py BUS CURSOR SOCKET")
    run(*sys.argv[1:])
