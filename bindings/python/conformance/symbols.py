"""Steps about symbols."""

from __future__ import annotations

import lapwing
from steps import Answers, Step, ok, opened, result, step


def mapping_text(mapping: lapwing.SymbolMapping) -> str:
    return ":".join(map(str, mapping))


@step("symbols.open")
def _(step: Step) -> Answers:
    return step.make(lapwing.Symbols(step.text("directory")))


@step("symbols.find")
def _(step: Step) -> Answers:
    instrument = opened(step).find(step.text("symbol"), step.number("utc_ns"))
    return ok(instrument=instrument) if instrument is not None else [result("not-found")]


@step("symbols.name")
def _(step: Step) -> Answers:
    mapping = opened(step).name(step.number("instrument"), step.number("utc_ns"))
    return ok(mapping=mapping_text(mapping)) if mapping else [result("not-found")]


@step("symbols.list")
def _(step: Step) -> Answers:
    return ok(mappings=",".join(map(mapping_text, opened(step).list())))
