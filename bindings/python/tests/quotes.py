"""The records that the tests publish: quotes with a schema."""

from __future__ import annotations

import subprocess
import sys

import numpy as np

import lapwing

QUOTE = np.dtype([("time", "<u8"), ("instrument", "<u4"), ("size", "<u4"), ("price", "<i8")])
SCHEMA = lapwing.Schema.describe(
    "test.quote", QUOTE, time="time", keys=["instrument"], prices=["price"]
)


def quotes(first: int, count: int, instruments: int = 4) -> np.ndarray:
    """Quote n has the price n."""
    numbers = np.arange(first, first + count)
    rows = np.zeros(count, QUOTE)
    rows["time"] = numbers
    rows["instrument"] = numbers % instruments
    rows["price"] = numbers
    return rows


def publisher(directory, **options) -> lapwing.Publisher:
    return lapwing.Publisher(directory, schema=SCHEMA, **options)


def follower(directory, **options) -> lapwing.Subscriber:
    """Returns a subscriber that reads everything and ends when the bus is closed."""
    options = {"start": "oldest", "end_at_close": True} | options
    return lapwing.Subscriber(directory, **options)


def python(program: str, *arguments: str) -> subprocess.Popen:
    """Starts a Python process that can import the tests' modules."""
    return subprocess.Popen(
        [sys.executable, "-c", program, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=__file__.rpartition("/")[0],
    )
