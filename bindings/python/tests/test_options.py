"""Each option of each call: a wrong word, a wrong type and an unknown name are errors.

The options are those of the signatures, so a new option is tried too.
"""

import inspect

import pytest

import lapwing
from lapwing.channel import side_options

NAN = float("nan")
NUMBERS = [-1, 1.5, "1", True, 2**64]
DURATIONS = [-1, -0.5, 0, NAN, "1", True, [1]]
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
    if annotation == "float | None":
        return DURATIONS
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
                opened.take(bytearray(24), timeout=wrong)


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
