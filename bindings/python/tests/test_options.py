"""Each option of each call: a wrong word, a wrong type and an unknown name are errors.

The options are those of the signatures, so a new option is tried too.
"""

import ctypes
import inspect
import struct

import pytest

import lapwing
from lapwing.channel import side_options

NAN = float("nan")
NUMBERS = [-1, 1.5, "1", True, 2**64]
DURATIONS = [-1, -0.5, NAN, "1", True, [1]]
ABOVE_ZERO = {"sync_interval", "retain_age", "stale_after", "behind_time", "conflate_interval"}
WRONG = {  # by annotation
    "str": [5, b"text", None, ["text"], "a\0b"],
    "str | os.PathLike[str]": [5, None, ["."], "a\0b"],
    "int": NUMBERS,
    "int | None": NUMBERS,
    "bool": [1, 0, "no", "", None],
    "bytes": ["text", None, 5],
    "Collection[str]": ["ts", b"ts", 5, [5]],
    "Collection[str | int]": ["ESH4", b"ESH4", 5, [1.5], [None], [True]],
    "Schema | str": [5, None, ["text"], {"name": "x"}],
    "Start": ["oldest", 5, None],
    "np.dtype": [[("a", "<u8")], "<u8", None],
    "Wait": ["bsuy", "Busy", "", None, 1, ["busy"]],
}
TIMES = {"timeout"}  # 0 is a value, and None is without end
NOT_TRIED = {"self", "cls", "options"}


def wrong_values(parameter):
    if parameter.name in TIMES:
        return [-1, NAN, "1", True, [1]]
    annotation = parameter.annotation
    if annotation in ("float", "float | None"):
        zero = [0] if parameter.name in ABOVE_ZERO else []
        return DURATIONS + zero + ([None] if annotation == "float" else [])
    if annotation.startswith("Literal["):
        words = [word.strip(" \"'") for word in annotation[len("Literal[") : -1].split(",")]
        return [words[0].capitalize(), words[0][:-1], "", None, 1, [words[0]]]
    return WRONG[annotation]  # a new kind of option needs wrong values


def connect(**options):
    return lapwing.Producer.connect(**{"path": "nobody.sock", "timeout": 0} | options)


def describe(**options):
    import numpy as np

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
    (call, name, wrong)
    for call, signature in CALLS.items()
    for name, parameter in inspect.signature(signature).parameters.items()
    if name not in NOT_TRIED
    for wrong in wrong_values(parameter)
] + [
    (connect, name, wrong)
    for name, parameter in inspect.signature(side_options).parameters.items()
    for wrong in wrong_values(parameter)
]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("call", "name", "wrong"), CASES, ids=[f"{c.__name__}-{n}-{w!r}" for c, n, w in CASES]
)
def test_a_wrong_value_is_refused_by_the_option_s_name(folder, call, name, wrong):
    with pytest.raises(lapwing.Error, match=name) as raised:
        call(**{name: wrong})
    assert raised.value.name == "invalid-argument"
    assert list(folder.iterdir()) == []  # before anything is made


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
    with pytest.raises(lapwing.Error, match=r"Start\.oldest\(\)"):
        subscriber(start="oldest")
    for start in (lapwing.Start.sequence, lapwing.Start.time):
        for wrong in (-1, "5", 1.5, None, True):
            with pytest.raises(lapwing.Error, match="Start") as raised:
                start(wrong)
            assert raised.value.name == "invalid-argument"
    with pytest.raises(lapwing.Error, match=r"subscriber\.position\(\)"):
        lapwing.Start.after(5)


def test_timeouts_of_reads_are_checked(bus):
    with subscriber(directory=bus) as opened:
        for wrong in (-1, NAN, "1"):
            with pytest.raises(lapwing.Error, match="timeout"):
                opened.read(timeout=wrong)
            with pytest.raises(lapwing.Error, match="timeout"):
                opened.read_one(bytearray(24), timeout=wrong)


def library_defaults(function, layout):
    """The fields of the options that a function of the library fills in."""
    memory = ctypes.create_string_buffer(struct.calcsize(layout))
    getattr(ctypes.CDLL(lapwing.LIBRARY), function)(memory, ctypes.c_uint32(len(memory)))
    return struct.unpack(layout, memory)


def python_defaults(signature, names, nanoseconds=()):
    """Those of a signature: seconds as ns, None as -1."""
    defaults = {name: each.default for name, each in inspect.signature(signature).parameters.items()}
    values = [defaults[name] for name in names]
    return [
        -1 if value is None else round(value * 1e9) if name in nanoseconds else value
        for name, value in zip(names, values)
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
        with pytest.raises(lapwing.Error) as raised:
            connect(path="absent.sock", retry=None, timeout=0.05)
        assert raised.value.name in ("no-bus", "timed-out")
        assert listening.is_open


def test_a_role_or_a_side_that_is_not_one_is_refused():
    with lapwing.Listener("listener.sock") as opened:
        for wrong in ("Consumer", lapwing.Book, lapwing.channel.Channel, None):
            with pytest.raises(lapwing.Error, match="Producer, Consumer, Duplex"):
                opened.accept(wrong, timeout=0)
    with lapwing.Books() as books:
        for wrong in ("bid", b"B", 1, None):
            with pytest.raises(lapwing.Error, match="it can be: B, A"):
                books.levels(1, 1, wrong)
            with pytest.raises(lapwing.Error, match="it can be: B, A"):
                books.orders(1, 1, wrong)
