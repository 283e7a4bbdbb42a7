"""A class for each error number, and error messages without names from the native layer."""

import copy
import errno
import inspect
import os
import pickle
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

import lapwing
from ends import pair
from lapwing import error, words
from quotes import SCHEMA, follower, publisher, quotes

HEADER = (Path(__file__).parents[3] / "include" / "lapwing.h").read_text()


def words_of(enumerator):
    """The members of an enum of the header, as words."""
    return {
        found.lower().replace("_", "-")
        for found in re.findall(rf"\bLAPWING_{enumerator}_(\w+) = [0-9]+", HEADER)
    }


def test_every_error_number_has_a_class_of_its_name():
    numbers = set(map(int, re.findall(r"LAPWING_ERROR_\w+ = ([0-9]+)", HEADER)))
    assert set(error.CLASSES) == numbers and len(numbers) == 35
    for number, each in error.CLASSES.items():
        assert (each.number, each.name) == (number, lapwing.error_name(number))
        assert each.__name__ == "".join(part.capitalize() for part in each.name.split("-"))
        assert getattr(lapwing, each.__name__) is each and each.__name__ in lapwing.__all__
        assert issubclass(each, lapwing.Error) and each.__doc__


def test_an_error_is_also_python_s_own_where_there_is_one():
    for each, builtin in (
        (lapwing.TimedOut, TimeoutError), (lapwing.NotPermitted, PermissionError),
        (lapwing.WouldBlock, BlockingIOError), (lapwing.InvalidArgument, ValueError),
        (lapwing.NoSpace, OSError), (lapwing.Refused, ConnectionRefusedError),
    ):  # fmt: skip
        assert issubclass(each, builtin)


def test_a_call_raises_the_class_of_its_number(bus, tmp_path):
    with pytest.raises(lapwing.NoBus) as raised:
        lapwing.History(tmp_path / "nothing")
    assert str(tmp_path / "nothing") in raised.value.message
    with follower(bus) as subscriber:
        subscriber.read()
        with pytest.raises(lapwing.TooSmall) as raised:
            subscriber.read_into(bytearray(1))
        assert raised.value.row_bytes == 24
        for _ in subscriber:
            pass
        with pytest.raises(lapwing.Closed):
            subscriber.read()
    (tmp_path / "file").write_bytes(b"of another kind" * 10)
    with pytest.raises(lapwing.NotALapwingFile) as raised:
        lapwing.Cursor(tmp_path / "file")
    assert raised.value.errno == 0


def test_a_failed_system_call_has_its_errno(tmp_path):
    with pytest.raises(lapwing.NotFound) as raised:
        lapwing.Cursor(tmp_path / "nothing" / "cursor")
    assert raised.value.errno == errno.ENOENT


@pytest.mark.parametrize("each", [*error.CLASSES.values(), lapwing.Error])
def test_an_error_can_be_pickled_and_copied(each):
    for number in (0, 5):
        made = each("what, why", number)
        made.last = 7
        for again in (pickle.loads(pickle.dumps(made)), copy.copy(made)):
            assert type(again) is each and str(again) == str(made)
            assert (again.message, again.errno, again.last) == ("what, why", number, 7)


def test_a_number_of_a_newer_library_is_an_error_with_its_name(tmp_path):
    source = """
        #include <lapwing.h>
        #include <stdlib.h>
        const char *lapwing_version(uint32_t *abi) { if (abi) *abi = 1u << 16; return "9"; }
        const char *lapwing_error_name(lapwing_result code) { return code == 99 ? "newer" : "ok"; }
        lapwing_result lapwing_books_create(lapwing_books **books, lapwing_error *error) {
          return 99;
        }
    """
    made = ("version", "error_name", "books_create")
    rest = [name for name in lapwing._native.function_names() if name[8:] not in made]
    source += "".join(f"void fake_{name}(void) __asm__(\"{name}\");" for name in rest)
    source += "".join(f"void fake_{name}(void) {{ abort(); }}" for name in rest)
    library = tmp_path / "libfake.so"
    include = Path(__file__).parents[3] / "include"
    subprocess.run(
        ["cc", "-shared", "-fPIC", "-w", f"-I{include}", "-x", "c", "-", "-o", library],
        input=source, text=True, check=True,
    )  # fmt: skip
    program = """
import lapwing, pickle
try:
    lapwing.Books()
except lapwing.Error as error:
    again = pickle.loads(pickle.dumps(error))
    print(type(error) is lapwing.Error, error.number, error.name, again.name, error)
"""
    done = subprocess.run(
        [os.sys.executable, "-c", program],
        env=os.environ | {"LAPWING_LIBRARY": str(library)}, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.stdout == "True 99 newer newer newer [newer]\n", done.stderr


# ---- fixed words


@pytest.mark.parametrize(
    ("enum", "enumerator"),
    [
        (words.EventKind, "EVENT"), (words.Cause, "CAUSE"), (words.Settled, "SETTLED"),
        (words.JournalState, "JOURNAL_STATE"), (words.ChannelRole, "CHANNEL_ROLE"),
        (words.SourceKind, "SOURCE"),
    ],
)  # fmt: skip
def test_an_enum_has_every_word_of_the_header(enum, enumerator):
    assert {member.value for member in enum} == words_of(enumerator)


def test_words_are_texts_and_members(bus):
    with follower(bus) as subscriber:
        session = subscriber.read()
    assert session.kind is lapwing.EventKind.SESSION and session.kind == "session"
    assert f"{session.kind}" == str(session.kind) == "session" and session.cause is None
    with publisher(bus) as opened:
        info = opened.inspect()
    assert info.settled is lapwing.Settled.CONTINUED and info.journal is lapwing.JournalState.GOOD


# ---- events


def events_of_a_gap(tmp_path):
    with publisher(tmp_path / "gap", capacity=2048) as opened:
        with lapwing.Subscriber(tmp_path / "gap") as subscriber:
            session = subscriber.read()
            subscriber.read()
            opened.publish(quotes(1, 6000))
            return session, subscriber.read()


def test_an_event_is_a_line(tmp_path):
    session, gap = events_of_a_gap(tmp_path)
    assert str(session) == "session 1"
    line = f"gap {gap.sequence}, 1 to {gap.last} lapped"
    assert str(gap) == (f"{line}: {gap.text}" if gap.text else line)
    assert "\n" not in str(gap)


def test_events_and_infos_can_be_pickled_and_copied(tmp_path):
    session, gap = events_of_a_gap(tmp_path)
    with lapwing.History(tmp_path / "gap") as history:
        info = history.inspect()
    for each in (session, gap, info):
        for again in (pickle.loads(pickle.dumps(each)), copy.copy(each), copy.deepcopy(each)):
            assert type(again) is type(each) and repr(again) == repr(each)
    with pytest.raises(ValueError, match="by another release"):
        lapwing.Event.__new__(lapwing.Event).__setstate__(b"short")
    position = lapwing.Position(bytes(range(40)))
    assert pickle.loads(pickle.dumps(position)) == copy.copy(position) == position


# ---- a wrong argument of any method

UNCHECKED = {"self", "cls", "kind", "error", "trace", "options", "args", "kwargs", "number"}
SHOWN = ("incompatible", "_native", "nanobind", "Invoked with", "arguments are supported")


def objects(tmp_path):
    """One open object of each class that has methods."""
    bus = tmp_path / "bus"
    opened = publisher(bus)
    opened.publish(quotes(1, 10))
    opened.flush()
    consumer, producer = pair(tmp_path / "socket", lapwing.Consumer, lapwing.Producer)
    server, client = pair(tmp_path / "calls", lapwing.Duplex, lapwing.Duplex)
    yield from (opened, follower(bus), lapwing.History(bus), lapwing.Books(), consumer, producer)
    yield from (server, client, lapwing.Cursor(tmp_path / "cursor"), lapwing.WaitSet())
    yield from (lapwing.Listener(tmp_path / "other"), lapwing.Symbols(bus), SCHEMA)
    yield lapwing.Records(quotes(1, 2), 1, SCHEMA)


GOOD = {  # arguments of the right types, for the parameters that are not under test
    "records": quotes(1, 1), "memory": np.zeros(4, "V24"), "record": bytearray(24), "rows": 1,
    "payload": b"", "messages": [], "bytes": 8, "type": 0, "max": 1, "count": 0, "call": 1,
    "request": lapwing.Request(1, 0, b""), "code": 1, "text": "", "first": 1, "last": 2,
    "time": 1, "position": lapwing.Position(bytes(40)), "key": (1, 1), "side": "B",
    "symbol": "ESH4", "instrument_id": 1, "item": lapwing.State(np.zeros(0, "V56")), "fd": 0,
    "after": None, "source": 0, "role": lapwing.Consumer, "frame": {}, "name": "price", "timer": None,
}  # fmt: skip


def test_a_wrong_argument_of_any_method_is_named_in_plain_words(tmp_path):
    tried = 0
    for each in objects(tmp_path):
        methods = [
            (name, getattr(each, name))
            for name in dir(type(each))
            if not name.startswith("_") and inspect.isfunction(getattr(type(each), name))
        ]
        for name, method in methods:
            if name in ("destroy", "close", "interrupt", "remove") or name.endswith("_async"):
                continue
            parameters = inspect.signature(method).parameters
            needed = {
                key: GOOD[key] for key, one in parameters.items()
                if one.default is inspect.Parameter.empty and key not in UNCHECKED
            }  # fmt: skip
            if "timeout" in parameters:
                needed["timeout"] = 0
            for key in parameters.keys() - UNCHECKED - {"token", "self"}:
                with pytest.raises((TypeError, KeyError, lapwing.Error)) as raised:
                    result = method(**needed | {key: object()})
                    list(result)  # runs a generator
                message = str(raised.value)
                assert raised.type is TypeError, (each, name, key, message)
                assert key in message or "a slice" in message, (each, name, key, message)
                assert not any(word in message for word in SHOWN), message
                tried += 1
        if isinstance(each, lapwing._handle.Handle):
            each.destroy()
    assert tried > 60, "void: too few arguments were tried"
