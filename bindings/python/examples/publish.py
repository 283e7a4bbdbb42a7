"""Publishes quotes in batches, with their schema. Readers in any language can use the fields.

    publish.py ./quotes 1000000
    lapwing tail --bus ./quotes --from oldest
"""

import sys
import time

import numpy as np

import lapwing

QUOTE = np.dtype([("time", "<u8"), ("instrument", "<u4"), ("size", "<u4"), ("price", "<i8")])
SCHEMA = lapwing.Schema.describe(
    "desk.quote", QUOTE, time="time", keys=["instrument"], prices=["price"]
)
BATCH = 4096


def publish(bus: str, count: int) -> None:
    quotes = np.zeros(BATCH, QUOTE)
    quotes["instrument"] = np.arange(BATCH) % 8
    quotes["size"] = 100
    with lapwing.Publisher(bus, schema=SCHEMA) as publisher:
        last = 0
        for first in range(0, count, BATCH):
            batch = quotes[: count - first]
            batch["time"] = time.time_ns()
            batch["price"] = (4500 + first + np.arange(len(batch))) * 1_000_000_000
            last = publisher.publish(batch)
        durable = publisher.flush()
        print(f"published up to {last}, durable up to {durable}")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: publish.py BUS COUNT")
    publish(sys.argv[1], int(sys.argv[2]))
