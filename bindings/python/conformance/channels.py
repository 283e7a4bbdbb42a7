"""Steps for channels and their listeners."""

from __future__ import annotations

from typing import Any

import lapwing
from rows import digest, row
from steps import Answers, Step, bit, ok, opened, result, step

ROLES = {"producer": lapwing.Producer, "consumer": lapwing.Consumer, "duplex": lapwing.Duplex}

# The library's call numbers. The driver numbers calls from 1: its call n is calls[n - 1].
calls: list[int] = []


def number_of(call: int) -> int:
    """The driver's number for the library's `call`, or 0 if `call` is 0."""
    return calls.index(call) + 1 if call else 0


def call_of(number: int) -> int:
    """The library's number for the driver's call `number`, or an unused number if it is unknown."""
    return calls[number - 1] if number <= len(calls) else 2**64 - 1


def side(step: Step, *roles: type[lapwing.channel.Channel]) -> Any:
    """The step's channel. Raises Misuse if its role, not one of `roles`, lacks the method."""
    channel = step.used()
    if not isinstance(channel, roles):
        raise lapwing.Misuse("a channel of this role cannot do that")
    return channel


def side_options(step: Step) -> dict[str, Any]:
    return {
        "late_replies": step.flag("late_replies"),
        **step.given("capacity", "message_bytes_max", "call_window"),
    }


# ---- listener


@step("listener.open")
def _(step: Step) -> Answers:
    return step.make(lapwing.Listener(step.text("path")))


@step("listener.take-over")
def _(step: Step) -> Answers:
    return step.make(lapwing.Listener.take_over(step.text("path"), timeout=step.timeout()))


@step("listener.accept")
def _(step: Step) -> Answers:
    role = ROLES[step.text("role")]
    return step.make(step.used().accept(role, timeout=step.timeout(), **side_options(step)))


@step("listener.tend")
def _(step: Step) -> Answers:
    step.used().tend()
    return ok()


# ---- both sides


@step("channel.connect")
def _(step: Step) -> Answers:
    role = ROLES[step.text("role")]
    return step.make(role.connect(step.text("path"), timeout=step.timeout(), **side_options(step)))


@step("channel.arm")
def _(step: Step) -> Answers:
    return ok(armed=bit(step.used().arm(step.number("bytes"))))


@step("channel.inspect")
def _(step: Step) -> Answers:
    info = step.used().inspect()
    return ok(
        role=info.role,
        message_bytes_max=info.message_bytes_max,
        sent=info.sent,
        received=info.received,
        released=info.released,
        late=info.late_replies,
    )


@step("channel.close")
def _(step: Step) -> Answers:
    opened(step).close()
    return ok()


# ---- messages


@step("channel.write")
def _(step: Step) -> Answers:
    size = step.number("bytes")
    claim = side(step, lapwing.Producer).claim(
        step.number("claim", size), step.number("type"), timeout=step.timeout()
    )
    with claim.view() as memory:
        payload = row(step.number("n"), size)[: len(memory)]
        memory[: len(payload)] = payload
    claim.commit(size)
    return ok()


@step("channel.abort")
def _(step: Step) -> Answers:
    side(step, lapwing.Producer).claim(step.number("bytes"), timeout=step.timeout()).abort()
    return ok()


@step("channel.send")
def _(step: Step) -> Answers:
    first, size = step.number("n"), step.number("bytes")
    count = step.number("count", 1)
    messages = [(row(n, size), step.number("type")) for n in range(first, first + count)]
    try:
        producer = side(step, lapwing.Producer, lapwing.Duplex)
        return ok(sent=producer.send_many(messages, step.timeout()))
    except lapwing.Error as error:
        return [result(error.name, sent=error.sent or 0)]


@step("channel.drain")
def _(step: Step) -> Answers:
    side(step, lapwing.Producer).drain(step.timeout())
    return ok()


@step("channel.peek")
def _(step: Step) -> Answers:
    messages = side(step, lapwing.Consumer).peek(step.number("max"), step.timeout())
    described = ",".join(
        f"{message.type}:{len(message)}:{digest(bytes(message))}" for message in messages
    )
    return ok(count=len(messages), messages=described)


@step("channel.release")
def _(step: Step) -> Answers:
    side(step, lapwing.Consumer).release(step.number("count"))
    return ok()


# ---- calls


@step("channel.start")
def _(step: Step) -> Answers:
    payload = row(step.number("n"), step.number("bytes"))
    call = side(step, lapwing.Duplex).start(payload, step.number("type"), step.timeout())
    calls.append(call)
    return ok(call=len(calls))


@step("channel.finish")
def _(step: Step) -> Answers:
    duplex = side(step, lapwing.Duplex)
    number = step.number("call")
    reply = duplex.finish(call_of(number)) if number else duplex.finish_any(step.timeout())
    return ok(
        call=number_of(reply.call),
        error=bit(reply.is_error),
        late=bit(reply.is_late),
        code=reply.code,
        type=reply.type,
        bytes=len(reply.payload),
        digest=digest(reply.payload),
    )


@step("channel.cancel")
def _(step: Step) -> Answers:
    side(step, lapwing.Duplex).cancel(call_of(step.number("call")))
    return ok()


@step("channel.next")
def _(step: Step) -> Answers:
    request = side(step, lapwing.Duplex).next(step.timeout())
    step.keep(request)
    return ok(
        call=bit(request.call != 0),
        type=request.type,
        bytes=len(request.payload),
        digest=digest(request.payload),
    )


@step("channel.reply")
def _(step: Step) -> Answers:
    duplex = side(step, lapwing.Duplex)
    request = step.used("call")
    if "error" in step:
        duplex.reply_error(request, step.number("error"), step.text("text"), step.timeout())
    else:
        payload = row(step.number("n"), step.number("bytes"))
        duplex.reply(request, payload, step.number("type"), step.timeout())
    return ok()
