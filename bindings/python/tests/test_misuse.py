"""Misuse is refused. Nothing crashes, hangs or changes silently."""

import gc
import os
import signal
import textwrap
import time
import warnings

import numpy as np
import pytest

import driving
import lapwing
from quotes import QUOTE, follower, publisher, python, quotes


@pytest.fixture
def folder(tmp_path):
    """The driver's folder. `../bus` is an open bus with 100 records of 16 bytes."""
    with lapwing.Publisher(tmp_path / "bus", record_bytes=16) as opened:
        opened.publish(np.zeros(100, "V16"))
        opened.flush()
        (tmp_path / "driver").mkdir()
        yield tmp_path / "driver"


ANSWERS = {
    "misuse.used-after directory=../bus": "ok kinds=8 answers=misuse",
    "misuse.two-threads directory=../bus": "ok second=misuse first=interrupted",
    "misuse.forked directory=../bus": "ok child=forked parent=ok",
    "misuse.open-dropped directory=dropped": "ok",
}


def test_the_driver_says_how_each_misuse_ends(folder):
    answers = driving.drive(folder, ANSWERS)
    assert [answer for (answer,) in answers] == list(ANSWERS.values())


def test_a_publisher_that_is_dropped_does_not_make_its_finalizer_wait(folder):
    steps = ["misuse.open-dropped directory=dropped", "misuse.drop"]
    ((opened,), (dropped,)) = driving.drive(folder, steps)
    assert opened == "ok"
    assert int(dropped.removeprefix("ok ms=")) < 1000


def test_a_program_ends_while_a_thread_waits(folder):
    process = driving.start(folder, ["misuse.exit-in-wait directory=../bus"])
    _, errors = process.communicate(timeout=30)
    assert (process.returncode, errors) == (7, "")


def test_ctrl_c_ends_a_wait_of_the_driver(folder):
    process = driving.start(folder, ["library.version", "misuse.wait directory=../bus"])
    while process.stdout.readline() != ".\n":
        pass
    time.sleep(0.3)  # until the wait has begun
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == -signal.SIGINT and "KeyboardInterrupt" in errors


# ---- the interpreter ends while other threads are running

THREADS = {
    "read": "subscriber.read()",
    "poll": "suppressed(subscriber.read, timeout=0)",
    "read_one": "suppressed(subscriber.read_one, record)",
}
EXIT = """
import sys, threading, time
import lapwing

def suppressed(call, *arguments, **options):
    try:
        call(*arguments, **options)
    except lapwing.Error as error:
        if error.name == "event-due":
            subscriber.read()

def work():
    while True:
        {call}

record = bytearray(24)
subscriber = lapwing.Subscriber(sys.argv[1], wait="busy", on_gap="skip")
threading.Thread(target=work, daemon=True).start()
time.sleep(0.05)
sys.exit(7)
"""


@pytest.mark.parametrize("call", THREADS)
def test_a_program_ends_while_a_daemon_thread_reads_a_busy_bus(tmp_path, call):
    program = EXIT.format(call=THREADS[call])
    with publisher(tmp_path / "bus", journal=False) as opened:
        for _ in range(5):
            process = python(program, str(tmp_path / "bus"))
            while process.poll() is None:
                opened.publish(quotes(1, 1))
            _, errors = process.communicate()
            assert (process.returncode, errors) == (7, "")


def test_a_program_ends_with_everything_open_and_says_nothing(bus, tmp_path):
    program = """
    import sys, lapwing
    publisher = lapwing.Publisher(sys.argv[2], record_bytes=16)
    publisher.publish(bytes(1600))
    subscriber = lapwing.Subscriber(sys.argv[1], start=lapwing.Start.oldest())
    item = subscriber.read()
    history = lapwing.History(sys.argv[1])
    rows = history[1:10]
    books = lapwing.Books()
    listener = lapwing.Listener(sys.argv[2] + "/listener.sock")
    sys.exit(7)
    """
    process = python(textwrap.dedent(program), str(bus), str(tmp_path / "own"))
    _, errors = process.communicate(timeout=30)
    assert (process.returncode, errors) == (7, "")


# ---- closing


def test_what_was_closed_can_be_closed_again_and_forgotten(tmp_path, ends):
    with publisher(tmp_path / "bus") as opened:
        opened.close()
    opened.close()
    forgotten = publisher(tmp_path / "other")
    forgotten.close()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        del forgotten
        gc.collect()
    producer, consumer = ends
    for end in (producer, consumer):
        end.close()
        end.close()
        end.destroy()
        end.close()


def test_a_child_that_leaves_a_with_ends_as_it_wants(tmp_path, ends):
    with publisher(tmp_path / "bus") as opened:
        child = os.fork()
        if child == 0:
            try:
                with opened, ends[0], ends[1]:
                    pass
                os._exit(0)
            finally:
                os._exit(1)
        assert os.waitpid(child, 0)[1] == 0
        assert opened.publish(quotes(1, 1)) == 1


@pytest.mark.filterwarnings("ignore:.*was not closed:ResourceWarning")
def test_a_view_of_a_channel_that_was_forgotten_can_be_read(ends):
    producer, consumer = ends
    producer.send(b"12345678")
    view = memoryview(consumer.peek()[0])
    forgotten = lapwing.Consumer(consumer._handle)
    del forgotten
    gc.collect()
    assert bytes(view) == b"12345678"
    view.release()


# ---- memory


def test_a_claim_that_has_ended_does_not_send_the_next_one(ends):
    producer, consumer = ends
    first = producer.claim(8)
    second = producer.claim(16)
    for call in (first.commit, first.abort):
        with pytest.raises(lapwing.Misuse, match="the claim has ended"):
            call()
    with second.view() as memory:
        memory[:] = bytes(16)
    second.commit()
    assert [len(message) for message in consumer.peek(8)] == [16]


def test_a_read_of_no_rows_is_refused(bus):
    with follower(bus) as subscriber:
        subscriber.read()
        for count in (0, -1):
            with pytest.raises(lapwing.InvalidArgument, match="rows is"):
                subscriber.read(rows=count)
        assert subscriber.read(rows=1).first == 1


def test_memory_that_cannot_be_written_is_refused(bus):
    with follower(bus) as subscriber:
        for memory in (bytes(100), np.zeros(100, "u1")[::2]):
            with pytest.raises((BufferError, ValueError)):
                subscriber.read_into(memory)
        assert subscriber.read().kind == "session"


def test_arrays_of_objects_are_refused(bus, tmp_path):
    objects = np.zeros(24, object)
    with follower(bus) as subscriber:
        subscriber.read()
        for call in (subscriber.read_into, subscriber.read_one):
            with pytest.raises(lapwing.Error, match="holds Python objects"):
                call(objects)
    with lapwing.Publisher(tmp_path / "own", record_bytes=8, journal=False) as opened:
        with pytest.raises(lapwing.Error, match="holds Python objects"):
            opened.publish(objects)
    assert list(objects) == [0] * 24


COLUMN = np.zeros(64, "u8")


@pytest.mark.parametrize(
    "columns",
    [
        {"sequences": np.zeros(64, "u4")},
        {"conflated": bytearray(64 * 8)},
        {"sequences": np.zeros(65 * 8, "u1")[1:-7].view("u8")},
        {"sequences": np.zeros(0, "u8"), "conflated": COLUMN},
    ],
    ids=["of 4 bytes", "of bytes", "misaligned", "empty"],
)
def test_a_column_of_another_kind_is_refused(bus, columns):
    with follower(bus) as subscriber:
        subscriber.read()
        with pytest.raises(lapwing.InvalidArgument):
            subscriber.read_into(np.zeros(64, QUOTE), **columns)


def test_books_refuse_columns_that_are_shorter_than_the_rows():
    rows = np.zeros(4, "V56")
    item = lapwing.Records(rows, 1, None, COLUMN[:2], COLUMN[:4], is_sparse=True)
    with lapwing.Books() as books:
        with pytest.raises(lapwing.InvalidArgument, match="fewer numbers"):
            books.take(item)


def test_an_error_that_is_cut_within_a_letter_is_still_an_error(tmp_path):
    for shift in range(4):
        directory = tmp_path / ("a" * shift + "\u00e9" * 100) / ("\u20ac" * 80) / ("\u20ac" * 80)
        with pytest.raises(lapwing.NoBus):
            lapwing.History(directory)
