"""Steps about wait sets."""

from __future__ import annotations

import lapwing
from steps import Answers, Step, ok, opened, step


def seconds(step: Step, key: str) -> float | None:
    return None if step.text(key) == "never" else step.number(key) / 1000


@step("set.open")
def _(step: Step) -> Answers:
    return step.make(lapwing.WaitSet(**step.words("wait")))


@step("set.add")
def _(step: Step) -> Answers:
    step.used().add(step.used("source"), step.number("token"), bytes=step.number("bytes"))
    return ok()


@step("set.add-timer")
def _(step: Step) -> Answers:
    timer = step.used().add_timer(
        seconds(step, "in_ms"), step.number("token"), every=step.number("every_ms") / 1000
    )
    step.keep(timer)
    return ok()


@step("set.set-timer")
def _(step: Step) -> Answers:
    step.used().set_timer(
        step.used("timer"), seconds(step, "in_ms"), every=step.number("every_ms") / 1000
    )
    return ok()


@step("set.remove")
def _(step: Step) -> Answers:
    step.used().remove(step.used("source"))
    return ok()


@step("set.wait")
def _(step: Step) -> Answers:
    ready = opened(step).wait(step.timeout())
    return ok(kind=ready.kind, token=ready.token)
