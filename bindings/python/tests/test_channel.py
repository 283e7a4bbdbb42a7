"""Messages and calls between two ends in one process."""

import threading

import numpy as np
import pytest

import lapwing
from ends import pair


def test_messages_arrive_in_order_with_their_types(ends):
    producer, consumer = ends
    producer.send(b"first", type=7)
    assert producer.send_many([(b"second", 8), (b"", 9)]) == 2
    producer.close()
    assert [(m.type, bytes(m)) for m in consumer] == [(7, b"first"), (8, b"second"), (9, b"")]


def test_a_claim_is_written_in_place_and_sent_at_the_end(ends):
    producer, consumer = ends
    with producer.claim(4, type=3) as memory:
        memory[:] = b"abcd"
    (message,) = consumer.peek()
    assert (message.type, bytes(message)) == (3, b"abcd")


def test_a_claim_can_be_cut_or_aborted(ends):
    producer, consumer = ends
    claim = producer.claim(100)
    with claim.view() as memory:
        memory[:2] = b"ok"
    claim.commit(2)
    with pytest.raises(ZeroDivisionError), producer.claim(8):
        raise ZeroDivisionError
    producer.claim(8).abort()
    producer.close()
    assert [bytes(message) for message in consumer] == [b"ok"]


def test_a_payload_that_has_no_bytes_is_named(ends, duplexes):
    producer, _ = ends
    calls = (producer.send, duplexes[0].send, duplexes[1].start, lambda each: producer.send_many([(each, 1)]))
    for wrong in ("text", None, 5):
        for call in calls:
            with pytest.raises(TypeError, match="^payload is of .*bytes$"):
                call(wrong)
    claim = producer.claim(8)
    for wrong, error in (("8", TypeError), (None, TypeError), (-1, ValueError)):
        with pytest.raises(error, match="^bytes is"):
            producer.claim(wrong)
        with pytest.raises(error, match="^type is"):
            producer.send(b"", type=wrong)
    with pytest.raises(TypeError, match="^bytes is"):
        producer.claim(8).commit("8")
    with pytest.raises(lapwing.Misuse):
        claim.commit()


def test_a_claim_with_a_live_view_is_not_sent(ends):
    producer, consumer = ends
    claim = producer.claim(8)
    array = np.frombuffer(claim.view(), np.uint8)
    array[:] = 1
    with pytest.raises(lapwing.Misuse, match="a view of the claimed memory is alive"):
        claim.commit()
    del array
    claim.commit()
    with pytest.raises(BufferError):
        claim.view()
    assert bytes(consumer.peek()[0]) == b"\x01" * 8


def test_a_message_with_a_live_view_is_not_released(ends):
    producer, consumer = ends
    producer.send(b"12345678")
    (message,) = consumer.peek()
    array = np.frombuffer(message, np.uint8)
    with pytest.raises(lapwing.Error, match="a view of a message is alive") as raised:
        consumer.release()
    assert raised.value.name == "misuse" and consumer.inspect().received == 0
    del array
    consumer.release()
    assert consumer.inspect().received == 1


def test_a_message_is_read_only_and_gone_once_it_is_released(ends):
    producer, consumer = ends
    producer.send(b"12345678")
    (message,) = consumer.peek()
    with memoryview(message) as view:
        assert view.readonly and view.nbytes == len(message) == 8
    consumer.release()
    assert not message.is_open
    with pytest.raises(BufferError):
        memoryview(message)


def test_a_messages_bytes_go_through_dlpack(ends):
    producer, consumer = ends
    producer.send(b"\x01\x02\x03")
    (message,) = consumer.peek()
    taken = np.from_dlpack(message)
    assert taken.tolist() == [1, 2, 3] and not taken.flags.writeable
    with pytest.raises(lapwing.Error, match="a view of a message is alive"):
        consumer.release()
    del taken
    consumer.release()


def test_a_channel_with_a_live_view_is_closed_and_not_freed(ends):
    producer, consumer = ends
    producer.send(b"12345678")
    view = memoryview(consumer.peek()[0])
    with pytest.raises(lapwing.Error, match="a view of its memory is alive"):
        consumer.destroy()
    assert bytes(view) == b"12345678"
    with pytest.raises(lapwing.Error) as raised:
        producer.drain(timeout=10)
    assert raised.value.name in ("closed", "peer-gone")
    view.release()
    consumer.destroy()
    assert not consumer.is_open


def test_several_messages_are_borrowed_at_once(ends):
    producer, consumer = ends
    producer.send_many([(bytes([n]), n) for n in range(5)])
    assert [message.type for message in consumer.peek(10)] == [0, 1, 2, 3, 4]
    consumer.release(2)
    assert [message.type for message in consumer.peek(2)] == [2, 3]


def test_a_full_channel_says_how_many_were_sent(tmp_path):
    consumer, producer = pair(
        tmp_path / "socket",
        lapwing.Consumer,
        lapwing.Producer,
        capacity=4096,
        message_bytes_max=512,
    )
    with consumer, producer:
        with pytest.raises(lapwing.Error) as raised:
            producer.send_many([(bytes(512), 0)] * 100, timeout=0)
        assert raised.value.name == "would-block" and 0 < raised.value.sent < 100
        assert producer.inspect().sent == raised.value.sent
        assert producer.arm(512)


def test_a_call_has_a_reply_and_an_error_is_a_value(duplexes):
    server, client = duplexes

    def serve():
        for request in server:
            if request.type == 1:
                server.reply(request, request.payload[::-1], type=2)
            else:
                server.reply_error(request, 33, "no such type")

    thread = threading.Thread(target=serve)
    thread.start()
    good = client.call(b"abc", type=1, timeout=10)
    bad = client.call(b"abc", type=5, timeout=10)
    client.close()
    thread.join()
    assert (good.payload, good.type, good.is_error) == (b"cba", 2, False)
    assert (bad.payload, bad.code, bad.is_error) == (b"no such type", 33, True)


def test_several_calls_are_under_way_and_end_in_any_order(duplexes):
    server, client = duplexes
    started = [client.start(bytes([n]), type=n, timeout=10) for n in (1, 2, 3)]
    requests = [server.next(timeout=10) for _ in started]
    for request in reversed(requests):
        server.reply(request, b"", type=request.type * 10)
    ended = [client.finish_any(timeout=10) for _ in started]
    assert {reply.call for reply in ended} == set(started)
    assert sorted(reply.type for reply in ended) == [10, 20, 30]


def test_a_call_that_ends_without_a_reply_says_which(duplexes):
    _server, client = duplexes
    call = client.start(b"", timeout=0.01)
    with pytest.raises(lapwing.TimedOut):
        client.finish(call)
    cancelled = client.start(b"", timeout=10)
    client.cancel(cancelled)
    with pytest.raises(lapwing.Misuse):
        client.finish(cancelled)


def test_a_channel_that_was_closed_has_no_descriptor(duplexes):
    _server, client = duplexes
    assert client.fileno() >= 0
    client.close()
    assert client.fileno() == -1
    client.destroy()
    with pytest.raises(lapwing.Misuse):
        client.fileno()


def test_a_one_way_message_has_no_call(duplexes):
    server, client = duplexes
    client.send(b"hello", type=4)
    assert server.next(timeout=10) == lapwing.Request(0, 4, b"hello")


def test_a_listener_hands_over(tmp_path):
    with lapwing.Listener(tmp_path / "socket") as first:
        successor = []
        thread = threading.Thread(
            target=lambda: successor.append(
                lapwing.Listener.take_over(tmp_path / "socket", timeout=10)
            )
        )
        thread.start()
        with pytest.raises(lapwing.Error) as raised:
            first.accept(lapwing.Consumer, timeout=10)
        thread.join()
        assert raised.value.name == "closed" and first.fileno() == -1
    with successor[0] as second:
        assert second.fileno() >= 0
        second.tend()
