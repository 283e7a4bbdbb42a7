"""Threads, signals, forks and finalizers."""

import gc
import multiprocessing
import os
import signal
import textwrap
import threading
import time

import pytest

import lapwing
from quotes import follower, publisher, python, quotes


@pytest.fixture
def idle(tmp_path):
    """A subscriber that has nothing to read, and its publisher."""
    with publisher(tmp_path / "bus") as opened:
        with lapwing.Subscriber(tmp_path / "bus", wait="park") as subscriber:
            while subscriber.read().kind != "caught-up":
                pass
            yield subscriber, opened


def wait_until_waiting(subscriber):
    """Returns when another thread is inside a call."""
    while True:
        try:
            subscriber.inspect()
        except lapwing.Error as error:
            assert error.name == "misuse"
            return
        time.sleep(0.001)


def in_thread(call):
    """Starts the call in a thread. After join(), `outcome` has its result or error name."""
    outcome = []

    def run():
        try:
            outcome.append(call())
        except lapwing.Error as error:
            outcome.append(error.name)

    thread = threading.Thread(target=run)
    thread.start()
    return thread, outcome


def test_the_gil_is_released_while_a_read_waits(idle):
    subscriber, opened = idle
    thread, outcome = in_thread(subscriber.read)
    wait_until_waiting(subscriber)
    opened.publish(quotes(1, 1))  # not reached if the wait holds the GIL
    thread.join()
    assert outcome[0].first == 1


def test_a_call_that_overlaps_a_wait_is_misuse(idle):
    subscriber, opened = idle
    thread, _ = in_thread(subscriber.read)
    wait_until_waiting(subscriber)
    for call in (subscriber.read, subscriber.position, subscriber.destroy):
        with pytest.raises(lapwing.Misuse):
            call()
    opened.publish(quotes(1, 1))
    thread.join()


def test_interrupt_ends_the_wait_once(idle):
    subscriber, opened = idle
    thread, outcome = in_thread(subscriber.read)
    wait_until_waiting(subscriber)
    subscriber.interrupt()
    thread.join()
    assert outcome == ["interrupted"]
    opened.publish(quotes(1, 1))
    assert subscriber.read().first == 1


def test_an_interrupt_before_the_wait_ends_it(idle):
    subscriber, _ = idle
    subscriber.interrupt()
    with pytest.raises(lapwing.Interrupted):
        subscriber.read()


# Needed if the tests themselves run with SIGINT ignored.
SIGINT_RAISES = """
import signal, sys
import lapwing
signal.signal(signal.SIGINT, signal.default_int_handler)
"""
WAITS = {
    "read": """
        subscriber = lapwing.Subscriber(sys.argv[1], wait="park")
        while True:
            subscriber.read()
            print("waiting", flush=True)
        """,
    "read_one": """
        import numpy
        subscriber = lapwing.Subscriber(sys.argv[1], wait="park")
        while subscriber.read().kind != "caught-up": pass
        print("waiting", flush=True)
        subscriber.read_one(numpy.zeros(24, "u1"))
        """,
    "accept": """
        listener = lapwing.Listener(sys.argv[1] + "/listener.sock")
        print("waiting", flush=True)
        listener.accept(lapwing.Consumer)
        """,
    "connect": """
        print("waiting", flush=True)
        lapwing.Consumer.connect(sys.argv[1] + "/nobody.sock", retry=1000.0)
        """,
    "publisher": """
        print("waiting", flush=True)
        lapwing.Publisher(sys.argv[1], timeout=60)
        """,
}


@pytest.mark.parametrize("wait", WAITS)
def test_ctrl_c_ends_a_wait(tmp_path, wait):
    with publisher(tmp_path / "bus"):
        process = python(SIGINT_RAISES + textwrap.dedent(WAITS[wait]), str(tmp_path / "bus"))
        assert process.stdout.readline() == "waiting\n"
        time.sleep(0.3)  # until the wait has begun; the signal also works earlier
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=30)
    assert "KeyboardInterrupt" in errors, errors
    assert process.returncode == -signal.SIGINT


def test_a_wait_goes_on_after_a_handler_that_returns(idle):
    subscriber, opened = idle
    handled = []
    before = signal.signal(signal.SIGUSR1, lambda *_: handled.append(1))

    def signal_and_publish():
        for _ in range(3):
            time.sleep(0.05)
            os.kill(os.getpid(), signal.SIGUSR1)
        while len(handled) < 3:  # the handler runs while the main thread still waits
            time.sleep(0.001)
        opened.publish(quotes(1, 1))

    thread = threading.Thread(target=signal_and_publish)
    thread.start()
    try:
        assert subscriber.read(timeout=30).first == 1
    finally:
        thread.join()
        signal.signal(signal.SIGUSR1, before)
    assert len(handled) == 3


def in_child(subscriber, results):
    try:
        subscriber.read(timeout=0)
    except lapwing.Error as error:
        results.put(error.name)
    subscriber.destroy()


def test_a_forked_child_gets_forked_and_the_parent_notices_nothing(idle):
    subscriber, opened = idle
    fork = multiprocessing.get_context("fork")
    results = fork.Queue()
    child = fork.Process(target=in_child, args=(subscriber, results))
    child.start()
    assert results.get(timeout=30) == "forked"
    child.join()
    assert child.exitcode == 0
    opened.publish(quotes(1, 1))
    assert subscriber.read().first == 1


def test_an_object_that_was_forgotten_is_freed_with_a_warning(tmp_path):
    forgotten = publisher(tmp_path / "bus")
    with pytest.warns(ResourceWarning, match="Publisher.* was not closed"):
        del forgotten
        gc.collect()
    publisher(tmp_path / "bus", timeout=30).destroy()  # the bus is free again


def test_every_call_of_a_destroyed_object_is_misuse(bus):
    subscriber = follower(bus)
    subscriber.destroy()
    assert not subscriber.is_open
    for call in (subscriber.read, subscriber.inspect, subscriber.position, subscriber.fileno):
        with pytest.raises(lapwing.Misuse):
            call()
    subscriber.destroy()


def test_with_ends_the_session_at_its_end_and_not_after_an_exception(tmp_path):
    with publisher(tmp_path / "good"):
        pass
    with publisher(tmp_path / "good") as again:
        assert again.inspect().settled == "continued"
    with pytest.raises(ZeroDivisionError), publisher(tmp_path / "bad") as opened:
        raise ZeroDivisionError
    assert not opened.is_open
