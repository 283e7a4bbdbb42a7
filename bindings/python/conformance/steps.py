"""Steps, answers, and the objects that steps have named."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any
from urllib.parse import unquote

import lapwing

Answers = list[str]
Operation = Callable[["Step"], Answers]

OPERATIONS: dict[str, Operation] = {}
_NAMES: dict[str, Any] = {}

_SWAPPED = {"timed-out": "would-block", "would-block": "timed-out"}
_IS_BROKEN = bool(os.environ.get("LAPWING_CONFORMANCE_BREAK"))


class Step:
    """The `key=value` pairs of a step."""

    def __init__(self, pairs: str) -> None:
        self._values: dict[str, str] = {}
        for pair in pairs.split():
            key, _, value = pair.partition("=")
            self._values[key] = unquote(value)

    def __contains__(self, key: str) -> bool:
        return key in self._values

    def text(self, key: str, default: str = "") -> str:
        return self._values.get(key, default)

    def number(self, key: str, default: int = 0) -> int:
        return int(self._values.get(key, default))

    def flag(self, key: str) -> bool:
        return self.number(key) == 1

    def listed(self, key: str) -> list[str]:
        return self.text(key).split(",") if self.text(key) else []

    def given(self, *keys: str, **times: str) -> dict[str, Any]:
        """The given options that the step contains: numbers, and seconds from keys in ms."""
        options: dict[str, Any] = {key: self.number(key) for key in keys if key in self}
        seconds = {name: self.number(key) / 1000 for name, key in times.items() if key in self}
        return options | seconds

    def timeout(self) -> float | None:
        if self.text("timeout_ms") == "forever":
            return None
        return self.number("timeout_ms") / 1000

    def used(self, key: str = "on") -> Any:
        """The object with the name in `key`. Raises Misuse if no step has created it."""
        name = self.text(key)
        if name not in _NAMES:
            raise lapwing.Misuse(f"no step has made {name!r}")
        return _NAMES[name]

    def make(self, value: Any) -> Answers:
        _NAMES[self.text("as")] = value
        return ok()

    def keep(self, value: Any) -> None:
        _NAMES[self.text("as")] = value


def step(name: str) -> Callable[[Operation], Operation]:
    def add(operation: Operation) -> Operation:
        OPERATIONS[name] = operation
        return operation

    return add


def result(name: str, /, **pairs: object) -> str:
    if _IS_BROKEN:
        name = _SWAPPED.get(name, name)
    return " ".join([name, *(f"{key}={value}" for key, value in pairs.items())])


def ok(words: str = "", /, **pairs: object) -> Answers:
    return [result("ok" + (" " + words if words else ""), **pairs)]


def bit(value: bool) -> int:
    return 1 if value else 0


# ---- steps of every kind of object; `opened` checks, since Python ignores a second call


def opened(step: Step) -> Any:
    used = step.used()
    if not used.is_open:
        raise lapwing.Misuse("it was destroyed")
    return used


def interrupt(step: Step) -> Answers:
    opened(step).interrupt()
    return ok()


def destroy(step: Step) -> Answers:
    opened(step).destroy()
    return ok()


for _kind in (
    "publisher", "subscriber", "cursor", "history", "books", "listener", "channel",
):  # fmt: skip
    OPERATIONS[f"{_kind}.destroy"] = destroy
for _kind in ("publisher", "subscriber", "listener", "channel"):
    OPERATIONS[f"{_kind}.interrupt"] = interrupt
