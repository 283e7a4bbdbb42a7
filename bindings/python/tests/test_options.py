"""For each option of each call, a wrong type is a TypeError and a wrong value invalid-argument.

The options are read from the signatures, so a new option is tested automatically.
"""

import ctypes
import inspect
import struct

import numpy as np
import pytest

import lapwing
from lapwing.channel import side_options

NAN = float("nan")
NUMBERS = ([1.5, "1", True], [-1, 2**64])  # wrong types, wrong values
DURATIONS = (["1", True, [1]], [-1, -0.5, NAN])
ABOVE_ZERO = {"sync_interval", "retain_age", "stale_after", "behind_time", "conflate_interval"}
WRONG = {  # indexed by annotation
    "str": ([5, b"text", None, ["text"]], ["a\0b"]),
    "str | os.PathLike[str]": ([5, None, ["."]], ["a\0b"]),
    "int": NUMBERS,
    "int | None": NUMBERS,
    "bool": ([1, 0, "no", "", None], []),
    "bytes": (["text", None, 5], []),
    "Collection[str]": (["ts", b"ts", 5, [5]], []),
    "Collection[str | int]": (["ESH4", b"ESH4", 5, [1.5], [None], [True]], [[-1]]),
    "Schema | str": ([5, None, ["text"], {"name": "x"}], []),
    "Start | StartWord": ([5, None, lapwing.Start.oldest], ["old", "after", ""]),
    "np.dtype[Any]": ([[("a", "<u8")], "<u8", None], [np.dtype("<u8")]),
    "Wait": ([None, 1, ["busy"]], ["bsuy", "Busy", ""]),
}
TIMES = {"timeout"}  # 0 is valid, and None waits forever
NOT_TRIED = {"self", "cls", "options"}


def wrong_types_and_values(parameter):
    annotation = parameter.annotation
    if parameter.name in TIMES:
        return DURATIONS
    if annotation in ("float", "float | None"):
        types, values = DURATIONS
        zero = [0] if parameter.name in ABOVE_ZERO else []
        return types + ([None] if annotation == "float" else []), values + zero
    if annotation.startswith("Literal["):
        words = [word.strip(" \"'") for word in annotation[len("Literal[") : -1].split(",")]
        return [None, 1, [words[0]]], [words[0].capitalize(), words[0][:-1], ""]
    return WRONG[annotation]  # if this fails, add wrong values for the new annotation


def wrong(parameter):
    """Yields (a wrong argument, its error)."""
    types, values = wrong_types_and_values(parameter)
    yield from ((each, TypeError) for each in types)
    yield from ((each, lapwing.InvalidArgument) for each in values)


def connect(**options):
    return lapwing.Producer.connect(**{"path": "nobody.sock", "timeout": 0} | options)


def describe(**options):
    given = {"name": "test.x", "dtype": np.dtype([("ts", "<u8"), ("px", "<i8")])}
    return lapwing.Schema.describe(**given | options)


def publisher(**options):
    return lapwing.Publisher(**{"directory": "bus", "record_bytes": 16} | options)


def subscriber(**options):
    return lapwing.Subscriber(**{"directory": "bus"} | options)


def cursor(**options):
    return lapwing.Cursor(**{"path": "cursor"} | options)


def listener(**options):
    return lapwing.Listener(**{"path": "listener.sock"} | options)


CALLS = {
    publisher: lapwing.Publisher.__init__,
    subscriber: lapwing.Subscriber.__init__,
    cursor: lapwing.Cursor.__init__,
    listener: lapwing.Listener.__init__,
    describe: lapwing.Schema.describe,
    connect: lapwing.Producer.connect,
}
CASES = [
    (call, name, *case)
    for call, signature in CALLS.items()
    for name, parameter in inspect.signature(signature).parameters.items()
    if name not in NOT_TRIED
    for case in wrong(parameter)
] + [
    (connect, name, *case)
    for name, parameter in inspect.signature(side_options).parameters.items()
    for case in wrong(parameter)
]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("call", "name", "wrong", "error"),
    CASES,
    ids=[f"{c.__name__}-{n}-{str(w)[:20]!r}" for c, n, w, _ in CASES],
)
def test_a_wrong_value_is_refused_by_the_option_s_name(folder, call, name, wrong, error):
    with pytest.raises(error, match=name):
        call(**{name: wrong})
    assert list(folder.iterdir()) == []  # nothing was created


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.__name__)
def test_an_unknown_name_is_refused(call):
    with pytest.raises(TypeError, match="on_gapp"):
        call(on_gapp="stop")


@pytest.mark.parametrize(
    ("call", "name"),
    [(publisher, "on_journal_lag"), (publisher, "on_journal_failure"), (subscriber, "on_gap"), (connect, "wait")],
)
def test_a_wrong_word_is_answered_with_the_words(call, name):
    with pytest.raises(lapwing.Error, match="it can be: "):
        call(**{name: "Stop"})


def test_a_start_in_words_is_answered_with_the_starts():
    for start in (lapwing.Start.sequence, lapwing.Start.time):
        with pytest.raises(lapwing.InvalidArgument, match="Start"):
            start(-1)
        for wrong in ("5", 1.5, None, True):
            with pytest.raises(TypeError, match="Start"):
                start(wrong)
    with pytest.raises(TypeError, match=r"subscriber\.position\(\)"):
        lapwing.Start.after(5)


def test_a_start_is_a_value_or_a_word(bus):
    for start, first in (("oldest", 1), (lapwing.Start.oldest(), 1), (lapwing.Start.sequence(7), 7)):
        with subscriber(directory=bus, start=start, end_at_close=True) as opened:
            items = list(opened)
        assert next(item.first for item in items if isinstance(item, lapwing.Records)) == first
    for start in ("live", lapwing.Start.live(), None):
        with subscriber(directory=bus, **{"start": start} if start else {}) as opened:
            items = [opened.read(timeout=30) for _ in range(2)]
        assert not any(isinstance(item, lapwing.Records) for item in items)
    with subscriber(directory=bus, start="snapshot", end_at_close=True) as opened:
        assert "no-snapshot" in [getattr(item, "kind", "") for item in opened]


def test_timeouts_of_reads_are_checked(bus):
    with subscriber(directory=bus) as opened:
        for wrong, error in (
            (-1, lapwing.InvalidArgument), (NAN, lapwing.InvalidArgument), ("1", TypeError),
        ):  # fmt: skip
            with pytest.raises(error, match="timeout"):
                opened.read(timeout=wrong)
            with pytest.raises(error, match="timeout"):
                opened.read_one(bytearray(24), timeout=wrong)


def library_defaults(function, layout):
    """Returns the fields of the options that the library's `function` fills in."""
    memory = ctypes.create_string_buffer(struct.calcsize(layout))
    getattr(ctypes.CDLL(lapwing.LIBRARY), function)(memory, ctypes.c_uint32(len(memory)))
    return struct.unpack(layout, memory)


def python_defaults(signature, names, nanoseconds=()):
    """Returns the defaults of a signature, with seconds as ns and None as -1."""
    defaults = {name: each.default for name, each in inspect.signature(signature).parameters.items()}
    values = [defaults[name] for name in names]
    return [
        -1 if value is None else round(value * 1e9) if name in nanoseconds else value
        for name, value in zip(names, values, strict=True)
    ]


def test_the_defaults_are_those_of_the_library():
    made = library_defaults("lapwing_publisher_options_init", "IIPPPPIIQPPQqQqIIPNQQ")
    names = ("segment_bytes", "sync_interval", "retain_bytes", "retain_age")
    times = ("sync_interval", "retain_age")
    assert list(made[11:15]) == python_defaults(lapwing.Publisher, names, times)
    assert made[15:17] == (1, 1)  # "wait" and "continue"

    made = library_defaults("lapwing_subscriber_options_init", "IIPPIIIIQ16s16sQPPPNqqqqqII")
    times = ("reattach", "flush_timeout", "stale_after", "behind_time", "conflate_interval")
    names = (*times, "conflate_keys_max", "measure_every")
    assert list(made[16:23]) == python_defaults(lapwing.Subscriber, names, times)
    assert made[5:8] == (1, 2, 0)  # "fill", "backoff", behind_records

    made = library_defaults("lapwing_channel_options_init", "IIPQIIIIIIq")
    names = ("capacity", "message_bytes_max", "call_window")
    assert list(made[3:6]) == python_defaults(side_options, names)
    assert made[6] == 2  # "backoff"
    assert [made[10]] == python_defaults(lapwing.Producer.connect, ["retry"], ["retry"])


def test_none_is_no_limit(folder):
    lasting = ("reattach", "flush_timeout", "stale_after", "behind_time")
    subscriber(**dict.fromkeys(lasting)).close()
    with publisher(sync_interval=None, retain_age=None, restamped=True) as opened:
        assert opened.publish(bytes(16)) == 1
        assert opened.flush() == 1
    with lapwing.Listener("listener.sock") as listening:
        with pytest.raises((lapwing.NoBus, lapwing.TimedOut)):
            connect(path="absent.sock", retry=None, timeout=0.05)
        assert listening.is_open


def test_a_role_or_a_side_that_is_not_one_is_refused():
    with lapwing.Listener("listener.sock") as opened:
        for wrong in ("Consumer", lapwing.Book, lapwing.channel.Channel, None):
            with pytest.raises(TypeError, match="Producer, Consumer, Duplex"):
                opened.accept(wrong, timeout=0)
    with lapwing.Books() as books:
        for wrong, error in (
            ("bid", ValueError), (b"X", ValueError), (1, TypeError), (None, TypeError),
        ):  # fmt: skip
            for call in (books.levels, books.orders):
                with pytest.raises(error, match=r"side is .*Side\.BID.*Side\.ASK"):
                    call((1, 1), wrong)
