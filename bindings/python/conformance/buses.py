"""Steps for buses: the library, publishers, subscribers, cursors, history, books."""

from __future__ import annotations

import select
from typing import Any

import numpy as np

import lapwing
from lapwing.schema import ROLES, TYPES, UNITS
from rows import Run, digest, event_line, item_lines, rows
from steps import Answers, Step, bit, ok, opened, result, step

ROW_BYTES_UNKNOWN = 4096
ROWS_PER_BATCH = 4096


# ---- library


@step("library.version")
def _(_step: Step) -> Answers:
    return ok(abi=f"{lapwing.ABI[0]}.{lapwing.ABI[1]}")


@step("library.errors")
def _(_step: Step) -> Answers:
    return ok(",".join(f"{number}={lapwing.error_name(number)}" for number in range(37)))


@step("library.schema")
def _(step: Step) -> Answers:
    if "directory" in step:
        schema = lapwing.Schema.of_bus(step.text("directory"))
    else:
        schema = lapwing.Schema.shipped(step.text("name"))
    fields = ",".join(
        f"{field.name}:{TYPES.index(field.type) + 1}:{field.offset}:{field.bytes}:"
        f"{UNITS.index(field.unit)}:{ROLES.index(field.role)}"
        for field in schema.fields
    )
    return ok(
        name=schema.name, version=schema.version, record_bytes=schema.record_bytes, fields=fields
    )


# ---- publisher


@step("publisher.open")
def _(step: Step) -> Answers:
    return step.make(
        lapwing.Publisher(
            step.text("directory"),
            schema_name=step.text("schema_name"),
            schema=step.text("schema"),
            record_bytes=step.number("record_bytes"),
            capacity=step.number("capacity"),
            journal=not step.flag("no_journal"),
            resume=step.flag("resume"),
            source_id=step.number("source_id"),
            retain_bytes=step.number("retain_bytes"),
            timeout=step.timeout(),
            **step.given("segment_bytes"),
        )
    )


@step("publisher.publish")
def _(step: Step) -> Answers:
    publisher = step.used()
    try:
        size = step.number("bytes") or publisher.inspect().record_bytes
        records = rows(step.number("from"), step.number("count"), size)
        return ok(last=publisher.publish(records, step.timeout()))
    except lapwing.Error as error:
        return [result(error.name, last=error.last or 0)]


@step("publisher.flush")
def _(step: Step) -> Answers:
    return ok(durable=step.used().flush(step.timeout()))


@step("publisher.inspect")
def _(step: Step) -> Answers:
    info = step.used().inspect()
    return ok(
        record_bytes=info.record_bytes,
        first=info.first,
        head=info.head,
        settled=info.settled,
        journal=info.journal,
        source_offset=info.source_offset,
        void=f"{info.void_first}-{info.void_last}",
    )


@step("publisher.close")
def _(step: Step) -> Answers:
    opened(step).close(step.timeout())
    return ok()


# ---- subscriber


def start_of(step: Step) -> lapwing.Start:
    start = step.text("start", "live")
    if start in ("sequence", "time"):
        return getattr(lapwing.Start, start)(step.number("value"))
    if start == "after":
        return lapwing.Start.after(step.used("position"))
    return getattr(lapwing.Start, start)()


def rows_of(info: Any) -> dict[str, object]:
    return {"record_bytes": info.record_bytes, "schema": info.schema_name}


def conflates(subscriber: lapwing.Subscriber) -> bool:
    return bool(subscriber.is_sparse)


@step("subscriber.open")
def _(step: Step) -> Answers:
    conflate = "conflate_ms" in step
    return step.make(
        lapwing.Subscriber(
            step.text("directory"),
            start=start_of(step),
            fold=step.text("fold"),
            expect=step.text("expect"),
            instruments=step.listed("instruments"),
            on_gap=step.text("on_gap", "fill"),
            wait=step.text("wait", "backoff"),
            end_at_close=step.flag("end_at_close"),
            conflate=conflate,
            **step.given(
                "behind_records",
                reattach="reattach_ms",
                stale_after="stale_after_ms",
                conflate_interval="conflate_ms",
            ),
        )
    )


def read_once(subscriber: lapwing.Subscriber, size: int, count: int, timeout) -> lapwing.Item:
    memory = np.empty(size, np.uint8)
    columns = {}
    if conflates(subscriber):
        columns = {name: np.empty(count, np.uint64) for name in ("sequences", "conflated")}
    return subscriber.read_into(memory, timeout=timeout, **columns)


@step("subscriber.read")
def _(step: Step) -> Answers:
    subscriber = step.used()
    count = step.number("rows")
    size = step.number("bytes")
    if not size:
        size = count * (subscriber.inspect().record_bytes or ROW_BYTES_UNKNOWN)
    try:
        item = read_once(subscriber, size, count, step.timeout())
    except lapwing.TooSmall as error:
        return [result(error.name, row_bytes=error.row_bytes)]
    return item_lines(item, conflates(subscriber))


@step("subscriber.read-all")
def _(step: Step) -> Answers:
    subscriber = step.used()
    run = Run(conflates(subscriber))
    answers: Answers = []
    while True:
        try:
            item = subscriber.read(ROWS_PER_BATCH, step.timeout())
        except lapwing.Error as error:
            return answers + run.end() + [result(error.name)]
        if not isinstance(item, lapwing.Event):
            answers += run.add(item)
            continue
        answers += run.end() + event_line(item)
        if item.kind == step.text("until"):
            return answers + ok()


@step("subscriber.take")
def _(step: Step) -> Answers:
    subscriber = step.used()
    record = bytearray(
        step.number("bytes") or subscriber.inspect().record_bytes or ROW_BYTES_UNKNOWN
    )
    sequence = subscriber.read_one(record, step.timeout())
    return ok(sequence=sequence, digest=digest(record))


@step("subscriber.inspect")
def _(step: Step) -> Answers:
    info = step.used().inspect()
    names = (
        "records", "first", "last", "gaps", "lost", "filled", "sessions", "filtered", "conflated",
    )  # fmt: skip
    return ok(**rows_of(info), **{name: getattr(info, name) for name in names})


@step("subscriber.position")
def _(step: Step) -> Answers:
    position = step.used().position(step.number("sequence"))
    step.keep(position)
    return ok(sequence=position.sequence)


@step("subscriber.fd")
def _(step: Step) -> Answers:
    poll = select.poll()
    poll.register(step.used().fileno(), select.POLLIN)
    timeout = step.timeout()
    return ok(readable=bit(bool(poll.poll(None if timeout is None else timeout * 1000))))


# ---- cursor


@step("cursor.open")
def _(step: Step) -> Answers:
    return step.make(
        lapwing.Cursor(step.text("path"), durable=step.flag("durable"), timeout=step.timeout())
    )


@step("cursor.position")
def _(step: Step) -> Answers:
    commit = step.used().position()
    step.keep(commit.position)
    return ok(
        sequence=commit.position.sequence, bytes=commit.output_bytes, file=commit.output_file
    )


@step("cursor.commit")
def _(step: Step) -> Answers:
    position = step.used("position")
    step.used().commit(position, step.number("bytes"), step.number("file"))
    return ok()


# ---- history


@step("history.open")
def _(step: Step) -> Answers:
    return step.make(lapwing.History(step.text("directory")))


@step("history.inspect")
def _(step: Step) -> Answers:
    info = step.used().inspect()
    return ok(
        **rows_of(info), oldest=info.oldest, archived=info.archived, durable=info.durable
    )


@step("history.read")
def _(step: Step) -> Answers:
    return item_lines(step.used().read(step.number("first"), step.number("rows")))


@step("history.find-time")
def _(step: Step) -> Answers:
    return ok(sequence=step.used().find_time(step.number("value")))


@step("history.map")
def _(step: Step) -> Answers:
    mapped = step.used().map(step.number("first"), step.number("last"))
    step.keep(mapped)
    return ok(
        first=mapped.first,
        count=len(mapped),
        row_bytes=mapped.rows.itemsize,
        digest=digest(mapped.rows.tobytes()),
    )


@step("history.unmap")
def _(step: Step) -> Answers:
    step.used().close()
    return ok()


# ---- books


@step("books.create")
def _(step: Step) -> Answers:
    return step.make(lapwing.Books())


@step("books.follow")
def _(step: Step) -> Answers:
    subscriber = step.used("from")
    while True:
        item = subscriber.read(ROWS_PER_BATCH, step.timeout())
        step.used().take(item)
        if isinstance(item, lapwing.Event) and item.kind == step.text("until"):
            return ok()


@step("books.inspect")
def _(step: Step) -> Answers:
    info = step.used().inspect()
    return ok(
        sequence=info.sequence,
        books=info.books,
        orders=info.orders,
        settled=bit(info.is_settled),
        loading=bit(info.is_loading),
        digest=f"{info.digest:016x}",
    )
