"""A dbn.mbo bus for the tests."""

from __future__ import annotations

import numpy as np

import lapwing

PUBLISHER, INSTRUMENT = 1, 7
LAST = 0x80
PRICE = 1_000_000_000
START_NS = 1_704_205_800 * PRICE


def records(*orders: tuple[bytes, bytes, int, int, int]) -> np.ndarray:
    """Creates records from (action, side, price, size, order id)."""
    rows = np.zeros(len(orders), lapwing.Schema.shipped("dbn.mbo").dtype)
    rows["length"] = rows.itemsize // 4
    rows["rtype"] = 160
    rows["publisher_id"] = PUBLISHER
    rows["instrument_id"] = INSTRUMENT
    rows["flags"] = LAST
    rows["ts_event"] = rows["ts_recv"] = START_NS
    for row, (action, side, price, size, order_id) in zip(rows, orders, strict=True):
        row["action"], row["side"] = action, side
        row["price"], row["size"], row["order_id"] = price * PRICE, size, order_id
    return rows


# The best bid is 99, the best ask 101; then a better bid, which is cancelled again.
ORDERS = (
    (b"A", b"B", 99, 10, 1),
    (b"A", b"B", 99, 5, 2),
    (b"A", b"B", 98, 7, 3),
    (b"A", b"A", 101, 4, 4),
    (b"A", b"B", 100, 1, 5),
    (b"C", b"B", 100, 1, 5),
)


def publish(directory) -> None:
    with lapwing.Publisher(directory, schema_name="dbn.mbo", record_bytes=56) as publisher:
        publisher.publish(records(*ORDERS))
