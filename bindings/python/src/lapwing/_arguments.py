"""What the package's arguments are in the C interface: ns, numbers for words, flags."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping

from .error import invalid

FOREVER = -1

WAIT = {"busy": 1, "backoff": 2, "park": 3}


def timeout_ns(seconds: float | None) -> int:
    """None, or infinity: without end."""
    if not seconds:
        return FOREVER if seconds is None else 0
    if seconds == math.inf:
        return FOREVER
    return max(0, round(seconds * 1e9))


def duration_ns(seconds: float | None) -> int:
    """None: the option's default."""
    return 0 if seconds is None else timeout_ns(seconds)


def number_of(option: str, value: str, numbers: Mapping[str, int]) -> int:
    try:
        return numbers[value]
    except KeyError:
        words = ", ".join(numbers)
        raise invalid(f"{option} is {value!r}; it can be: {words}") from None


def flags_of(**flags: tuple[bool, int]) -> int:
    return sum(bit for is_set, bit in flags.values() if is_set)


def text_of(path: str | os.PathLike[str]) -> str:
    return os.fspath(path)
