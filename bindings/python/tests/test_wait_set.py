"""Waits for several sources on one thread."""

import os
import select
import signal
import socket
import threading
import time

import pytest

import lapwing
from ends import pair
from lapwing import SourceKind
from quotes import follower, publisher, python, quotes

LONG = 30  # seconds: ends a hang


@pytest.fixture
def buses(tmp_path):
    """Two publishers and their subscribers, which have nothing to read."""
    opened = [publisher(tmp_path / name) for name in "ab"]
    subscribers = [lapwing.Subscriber(tmp_path / name, end_at_close=True) for name in "ab"]
    for subscriber in subscribers:
        while subscriber.read().kind != "caught-up":
            pass
    with opened[0], opened[1], subscribers[0], subscribers[1]:
        yield *opened, *subscribers


@pytest.fixture
def waits():
    with lapwing.WaitSet() as waits:
        yield waits


def test_the_bus_that_has_something_is_ready(buses, waits):
    a, b, of_a, of_b = buses
    waits.add(of_a, "a")
    waits.add(of_b)
    with pytest.raises(lapwing.WouldBlock):
        waits.wait(0)
    with pytest.raises(lapwing.TimedOut):
        waits.wait(0.01)
    b.publish(quotes(1, 1))
    ready = waits.wait(LONG)
    assert ready.source is ready.token is of_b and ready.kind is SourceKind.SUBSCRIBER
    assert waits.wait(LONG).source is of_b  # nothing was read yet
    assert of_b.read(timeout=0).first == 1
    a.publish(quotes(1, 1))
    ready = waits.wait(LONG)
    assert ready.source is of_a and ready.token == "a"


def test_the_iteration_ends_when_no_source_is_left(buses, waits):
    names = dict(zip(buses[2:], "ab", strict=True))
    for subscriber, name in names.items():
        waits.add(subscriber, name)
    for opened in buses[:2]:
        opened.publish(quotes(1, 3))
        opened.close()
    rows = dict.fromkeys("ab", 0)
    for ready in waits:
        try:
            item = ready.source.read(timeout=0)
        except lapwing.Closed:
            waits.remove(ready.source)
            continue
        if isinstance(item, lapwing.Records):
            rows[ready.token] += len(item)
    assert rows == {"a": 3, "b": 3} and len(waits) == 0


def test_a_source_that_is_closed_leaves_the_set(buses, waits):
    for subscriber in buses[2:]:
        waits.add(subscriber)
    assert len(waits) == 2
    buses[2].close()
    assert len(waits) == 1
    with pytest.raises(lapwing.WouldBlock):
        waits.wait(0)
    with pytest.raises(lapwing.NotFound):
        waits.remove(buses[2])
    waits.remove(buses[3])
    assert len(waits) == 0 and list(waits) == []
    waits.add(buses[3])  # again
    with pytest.raises(lapwing.Misuse):
        waits.add(buses[3])


def test_channels_and_listeners_are_ready(tmp_path, ends, waits):
    producer, consumer = ends
    waits.add(producer, bytes=16)
    ready = waits.wait(LONG)
    assert (ready.source, ready.kind) == (producer, SourceKind.PRODUCER)
    waits.remove(producer)
    with pytest.raises(lapwing.InvalidArgument):
        waits.add(producer, bytes=10**9)
    with pytest.raises(lapwing.InvalidArgument, match="not a producer"):
        waits.add(consumer, bytes=1)
    waits.add(consumer)
    producer.send(b"1")
    ready = waits.wait(LONG)
    assert (ready.source, ready.kind) == (consumer, SourceKind.CONSUMER)
    waits.remove(consumer)
    server, client = pair(tmp_path / "calls", lapwing.Duplex, lapwing.Duplex)
    with server, client, lapwing.Listener(tmp_path / "other") as listener:
        waits.add(server)
        client.send(b"hello")
        assert waits.wait(LONG).kind is SourceKind.DUPLEX
        waits.remove(server)
        waits.add(listener)
        thread = threading.Thread(
            target=lambda: lapwing.Producer.connect(tmp_path / "other", timeout=LONG).close()
        )
        thread.start()
        assert waits.wait(LONG)[:2] == (listener, listener)
        listener.accept(lapwing.Consumer, timeout=LONG).close()
        thread.join()


def test_timers_are_ready_at_their_times(waits):
    once = waits.add_timer(0.0, "once")
    never = waits.add_timer(None)
    ready = waits.wait(LONG)
    assert ready == (once, "once", SourceKind.TIMER, 1, 0)
    with pytest.raises(lapwing.WouldBlock):
        waits.wait(0)
    waits.set_timer(never, 0.001, every=0.001)
    for _ in range(3):
        assert waits.wait(LONG).source is never
    waits.set_timer(never, None)
    time.sleep(0.005)
    with pytest.raises(lapwing.WouldBlock):
        waits.wait(0)
    waits.remove(once)
    with pytest.raises(lapwing.NotFound):
        waits.set_timer(once, 0.0)


def test_descriptors_are_ready(waits):
    mine, other = socket.socketpair()
    with mine, other:
        waits.add_fd(mine, "socket")
        waits.add_fd(other.fileno(), events=select.POLLOUT)
        ready = waits.wait(LONG)
        assert ready.source == other.fileno() and ready.kind is SourceKind.FD
        assert ready.events & select.POLLOUT
        waits.remove(other.fileno())
        other.send(b"1")
        ready = waits.wait(LONG)
        assert (ready.source, ready.token) == (mine, "socket") and ready.events == select.POLLIN
        waits.remove(mine)


def test_a_wait_releases_the_gil_and_is_interrupted(buses, waits):
    waits.add(buses[2])
    threading.Timer(0.05, waits.interrupt).start()
    with pytest.raises(lapwing.Interrupted):
        waits.wait(LONG)


def test_no_other_thread_uses_a_source_during_a_wait(buses, waits):
    subscriber = buses[2]
    waits.add(subscriber)
    raised = []

    def use():
        while True:
            try:
                subscriber.inspect()
            except lapwing.Misuse:
                break
            time.sleep(0.001)
        for call in (subscriber.destroy, subscriber.read, waits.destroy, waits.wait):
            try:
                call()
            except lapwing.Misuse:
                raised.append(call.__name__)
        waits.interrupt()

    thread = threading.Thread(target=use)
    thread.start()
    with pytest.raises(lapwing.Interrupted):
        waits.wait(LONG)
    thread.join()
    assert raised == ["destroy", "read", "destroy", "wait"]
    assert subscriber.inspect().records == 0


def test_ctrl_c_ends_a_wait(tmp_path):
    program = """
import signal, sys, lapwing
signal.signal(signal.SIGINT, signal.default_int_handler)
with lapwing.Subscriber(sys.argv[1]) as subscriber, lapwing.WaitSet() as waits:
    waits.add(subscriber)
    while waits.wait():
        print(subscriber.read(), flush=True)
"""
    with publisher(tmp_path / "bus"):
        process = python(program, str(tmp_path / "bus"))
        while process.stdout.readline() != "caught-up 0\n":
            pass
        time.sleep(0.3)  # until the wait has begun; the signal also works earlier
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=LONG)
    assert "KeyboardInterrupt" in errors and process.returncode == -signal.SIGINT, errors


def test_a_source_that_only_the_set_has_lives(bus, waits):
    waits.add(follower(bus), "bus")
    ready = waits.wait(LONG)
    with ready.source as subscriber:
        assert subscriber.read(timeout=0).kind == "session"
    assert len(waits) == 0


def test_a_forked_child_gets_forked(buses, waits):
    waits.add(buses[2])
    child = os.fork()
    if child == 0:
        try:
            waits.wait(0)
        except lapwing.Forked:
            os._exit(0)
        finally:
            os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
    buses[0].publish(quotes(1, 1))
    assert waits.wait(LONG).source is buses[2]


def test_what_cannot_be_waited_for_is_refused(waits, bus):
    with lapwing.History(bus) as history:
        for wrong in (history, None, 5, "bus"):
            with pytest.raises(TypeError, match="^source is"):
                waits.add(wrong)
    for wrong in ("1", None, 1.5):
        with pytest.raises(TypeError, match="^fd is"):
            waits.add_fd(wrong)
    with pytest.raises(lapwing.InvalidArgument):
        waits.add_fd(10**6)
    with pytest.raises(lapwing.InvalidArgument, match="wait is"):
        lapwing.WaitSet(wait="spin")
    with pytest.raises(TypeError, match="timer is"):
        waits.set_timer(5, 0.0)
