"""Converts arguments for the C interface: times to ns, words to numbers, options to flags.

Each function checks one argument and names it in the error.
"""

from __future__ import annotations

import datetime
import operator
import os
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from .error import invalid, wrong_type

FOREVER = -1

Time = int | datetime.datetime | np.datetime64
"""ns since 1970, UTC; a datetime with a time zone; or a numpy.datetime64, in UTC"""

_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)

WAIT = {"busy": 1, "backoff": 2, "park": 3}

_NS_MAX = 2**63 - 1
_NUMBERS = (int, float, np.integer, np.floating)


def _is_number(value: object) -> bool:
    return isinstance(value, _NUMBERS) and not isinstance(value, bool)


def _ns(seconds: float) -> int:
    """Converts to ns. A positive time is at least 1, since 0 is special. Infinity is FOREVER."""
    if seconds == 0:
        return 0
    return max(1, round(seconds * 1e9)) if seconds * 1e9 < _NS_MAX else FOREVER


def timeout_ns(seconds: float | None) -> int:
    """Converts a timeout to ns. None waits forever, 0 does not wait."""
    if seconds is None:
        return FOREVER
    if not _is_number(seconds):
        raise wrong_type("timeout", seconds, "seconds: 0 does not wait, None waits without end")
    if seconds >= 0:
        return _ns(seconds)
    raise invalid(
        f"timeout is {seconds!r}, which is not a time. Give seconds: 0 does not wait, None waits "
        "without end"
    )


def duration_ns(option: str, seconds: float) -> int:
    if not _is_number(seconds):
        raise wrong_type(option, seconds, "seconds")
    if 0 <= seconds * 1e9 < _NS_MAX:
        return _ns(seconds)
    raise invalid(f"{option} is {seconds!r}, which is not a duration. Give seconds")


def optional_ns(option: str, seconds: float | None, none: str) -> int:
    """Converts to ns. None means no limit; `none` describes this in error messages."""
    if seconds is None:
        return FOREVER
    if not _is_number(seconds):
        raise wrong_type(option, seconds, f"seconds, or None: {none}")
    if seconds >= 0:
        return _ns(seconds)
    raise invalid(
        f"{option} is {seconds!r}, which is not a duration. Give seconds, or None: {none}"
    )


def number_of(option: str, value: str, numbers: Mapping[str, int]) -> int:
    if not isinstance(value, str):
        raise wrong_type(option, value, f"one of: {', '.join(numbers)}")
    if value in numbers:
        return numbers[value]
    raise invalid(f"{option} is {value!r}; it can be: {', '.join(numbers)}")


def whole(option: str, value: int, most: int = 2**64 - 1) -> int:
    """Checks that the value is a whole number from 0 to `most`."""
    number = index(option, value)
    if 0 <= number <= most:
        return number
    raise invalid(f"{option} is {value!r}. Give an int from 0 to {most:,}")


def index(option: str, value: int) -> int:
    """Converts an int, or an object with __index__, to an int."""
    try:
        if not isinstance(value, (bool, np.bool_)):
            return operator.index(value)
    except TypeError:
        pass
    raise wrong_type(option, value, "an int")


def utc_ns(option: str, time: Time) -> int:
    """Converts a time to ns since 1970. A datetime needs a time zone; a datetime64 is in UTC."""
    if isinstance(time, np.datetime64):
        if np.isnat(time):
            raise invalid(f"{option} is NaT. Give a time")
        return whole(option, int(time.astype("M8[ns]").astype(np.int64)))
    if not isinstance(time, datetime.datetime):
        return whole(option, time)
    if time.tzinfo is None:
        raise invalid(f"{option} is {time}, without a time zone. Add tzinfo=datetime.timezone.utc")
    passed = time - _EPOCH
    seconds = passed.days * 86400 + passed.seconds
    nanoseconds: int = getattr(time, "nanosecond", 0)  # only pandas.Timestamp has it
    return whole(option, (seconds * 10**6 + passed.microseconds) * 1000 + nanoseconds)


def truth(option: str, value: bool) -> bool:
    if not isinstance(value, (bool, np.bool_)):
        raise wrong_type(option, value, "True or False")
    return bool(value)


def flags_of(**flags: tuple[bool, int]) -> int:
    """Returns the sum of the bits whose options are true."""
    return sum(bit for option, (value, bit) in flags.items() if truth(option, value))


def text(option: str, value: str) -> str:
    if not isinstance(value, str):
        raise wrong_type(option, value, "a str")
    return _whole_text(option, value)


def text_of(path: str | os.PathLike[str], option: str = "path") -> str:
    if not isinstance(path, (str, os.PathLike)):
        raise wrong_type(option, path, "a path: a str or a pathlib.Path")
    return _whole_text(option, os.fsdecode(os.fspath(path)))


def _whole_text(option: str, value: str) -> str:
    if "\0" in value:  # C would truncate the text there
        raise invalid(f"{option} is {value!r}, and a text must not contain NUL. Remove it")
    return value


def check_list(option: str, values: Iterable[Any], *kinds: type) -> None:
    """Checks that `values` is an iterable of values of these kinds, and not a single text."""
    names = " or ".join(kind.__name__ for kind in kinds)
    if isinstance(values, (str, bytes)):
        raise TypeError(
            f"{option} is {values!r}, a single text, whose letters would be the list. "
            f"Give a list: {option}=[{values!r}]"
        )
    if not isinstance(values, Iterable):
        raise wrong_type(option, values, f"a list of {names}")
    for value in values:
        if not isinstance(value, kinds) or isinstance(value, bool):
            raise TypeError(f"{option} contains {value!r}. Give a list of {names}")
