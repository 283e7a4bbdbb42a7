"""`async for` with the event loop's readers."""

import asyncio
import os

import pytest

import lapwing
from quotes import follower, publisher, quotes


def test_a_subscriber_is_read_beside_other_tasks(tmp_path):
    async def read(subscriber):
        return [item async for item in subscriber]

    async def publish(opened):
        for n in range(1, 6):
            await asyncio.sleep(0.01)
            opened.publish(quotes(n, 1))
        opened.close()

    async def both():
        with publisher(tmp_path / "bus") as opened:
            with follower(tmp_path / "bus") as subscriber:
                items, _ = await asyncio.gather(read(subscriber), publish(opened))
                return items

    items = asyncio.run(asyncio.wait_for(both(), 30))
    rows = [row for item in items if isinstance(item, lapwing.Records) for row in item.rows]
    assert [row["price"] for row in rows] == [1, 2, 3, 4, 5]
    assert isinstance(items[0], lapwing.Event) and items[0].kind == "session"


def test_a_consumer_is_read_beside_other_tasks(ends):
    producer, consumer = ends

    async def receive():
        return [bytes(message) async for message in consumer]

    async def send():
        for n in range(3):
            await asyncio.sleep(0.01)
            producer.send(bytes([n]))
        producer.close()

    async def both():
        return (await asyncio.gather(receive(), send()))[0]

    assert asyncio.run(asyncio.wait_for(both(), 30)) == [b"\x00", b"\x01", b"\x02"]


def test_a_duplex_serves_beside_other_tasks(duplexes):
    server, client = duplexes

    async def serve():
        async for request in server:
            server.reply(request, request.payload * 2)

    def ask():
        replies = [client.call(b"a", timeout=10).payload, client.call(b"b", timeout=10).payload]
        client.close()
        return replies

    async def both():
        return (await asyncio.gather(asyncio.to_thread(ask), serve()))[0]

    assert asyncio.run(asyncio.wait_for(both(), 30)) == [b"aa", b"bb"]


# ---- cancelled waits

NEVER = 30  # seconds: ends a hang


async def cancelled_while_waiting(awaitable):
    """Starts a task and cancels it while it waits."""
    task = asyncio.ensure_future(awaitable)
    for _ in range(3):
        await asyncio.sleep(0)
    assert not task.done(), "void: it did not wait"
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def test_a_cancelled_wait_does_not_end_the_iteration(tmp_path):
    async def main():
        with publisher(tmp_path / "bus") as opened, follower(tmp_path / "bus") as subscriber:
            items = aiter(subscriber)
            while getattr(await anext(items), "kind", "") != "caught-up":
                pass
            for n in range(1, 6):
                await cancelled_while_waiting(anext(items))
                opened.publish(quotes(n, 1))
                item = await asyncio.wait_for(anext(items), NEVER)
                assert item.first == n and item.rows["price"].tolist() == [n]
            opened.close()
            rest = [item async for item in items]
            assert [item.kind for item in rest] == ["closed"]
            with pytest.raises(StopAsyncIteration):
                await anext(items)

    asyncio.run(main())


def test_a_cancellation_that_comes_with_the_item_loses_nothing(tmp_path):
    """The task is cancelled after its descriptor became readable and before it runs again."""

    async def main():
        with publisher(tmp_path / "bus") as opened, follower(tmp_path / "bus") as subscriber:
            items = aiter(subscriber)
            while getattr(await anext(items), "kind", "") != "caught-up":
                pass
            loop = asyncio.get_running_loop()
            got, cancellations = [], 0
            for n in range(1, 51):
                task = asyncio.ensure_future(anext(items))
                for _ in range(3):
                    await asyncio.sleep(0)
                opened.publish(quotes(n, 1))
                readable = loop.create_future()
                fd = os.dup(subscriber.fileno())
                loop.add_reader(fd, lambda: readable.done() or readable.set_result(None))
                await readable
                loop.remove_reader(fd)
                os.close(fd)
                task.cancel()
                try:
                    got += (await task).rows["price"].tolist()
                except asyncio.CancelledError:
                    cancellations += 1
            while len(got) < 50:
                got += (await asyncio.wait_for(anext(items), NEVER)).rows["price"].tolist()
            assert got == list(range(1, 51))
            assert cancellations > 0, "void: each item was there first"

    asyncio.run(main())


def test_a_read_has_a_timeout_and_can_be_made_again(tmp_path):
    async def main():
        with publisher(tmp_path / "bus") as opened, follower(tmp_path / "bus") as subscriber:
            while getattr(await subscriber.read_async(), "kind", "") != "caught-up":
                pass
            for timeout, name in ((0, "would-block"), (0.01, "timed-out")):
                with pytest.raises(lapwing.Error) as raised:
                    await subscriber.read_async(timeout=timeout)
                assert raised.value.name == name
            with pytest.raises(lapwing.Error, match="timeout is -1"):
                await subscriber.read_async(timeout=-1)
            opened.publish(quotes(1, 8))
            assert len(await subscriber.read_async(rows=3, timeout=NEVER)) == 3
            assert len(await subscriber.read_async(timeout=NEVER)) == 5

    asyncio.run(main())


def test_a_subscriber_that_conflates_is_read_until_a_timeout(tmp_path):
    async def main():
        options = {"conflate": True, "conflate_interval": 0.01}
        with publisher(tmp_path / "bus") as opened:
            with follower(tmp_path / "bus", **options) as subscriber:
                opened.publish(quotes(1, 8))
                rows = 0
                while rows < 4:
                    item = await subscriber.read_async(timeout=NEVER)
                    rows += len(item) if isinstance(item, lapwing.Records) else 0

    asyncio.run(main())


def test_two_tasks_do_not_wait_for_one_object(tmp_path, ends, duplexes):
    async def main():
        with publisher(tmp_path / "bus"), follower(tmp_path / "bus") as subscriber:
            while getattr(await subscriber.read_async(), "kind", "") != "caught-up":
                pass
            waits = [subscriber.read_async, ends[1].peek_async, duplexes[0].next_async]
            for wait in waits:
                first = asyncio.ensure_future(wait())
                await asyncio.sleep(0)
                with pytest.raises(lapwing.Misuse, match="another task waits"):
                    await wait()
                first.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await first

    asyncio.run(main())


def test_a_cancelled_wait_of_a_consumer_loses_no_message(ends):
    producer, consumer = ends

    async def main():
        messages = aiter(consumer)
        for n in range(5):
            await cancelled_while_waiting(anext(messages))
            producer.send(bytes([n]))
            assert bytes(await asyncio.wait_for(anext(messages), NEVER)) == bytes([n])
        producer.send(b"last")
        held = await consumer.peek_async(8, NEVER)
        assert [bytes(message) for message in held] == [b"\x04", b"last"]
        producer.close()
        assert [bytes(message) async for message in messages] == [b"last"]
        with pytest.raises(lapwing.Closed):
            await consumer.peek_async(timeout=NEVER)

    asyncio.run(main())


def test_a_message_of_which_a_view_is_alive_does_not_end_the_iteration(ends):
    producer, consumer = ends
    producer.send(b"1")
    producer.send(b"2")

    async def main():
        messages = aiter(consumer)
        view = memoryview(await anext(messages))
        with pytest.raises(lapwing.Misuse):
            await anext(messages)
        view.release()
        assert bytes(await anext(messages)) == b"2"

    asyncio.run(main())


def test_a_cancelled_wait_of_a_duplex_loses_no_request(duplexes):
    server, client = duplexes

    async def main():
        requests = aiter(server)
        for n in range(5):
            await cancelled_while_waiting(anext(requests))
            client.send(bytes([n]))
            assert (await asyncio.wait_for(anext(requests), NEVER)).payload == bytes([n])
        with pytest.raises(lapwing.TimedOut):
            await server.next_async(timeout=0.01)
        client.close()
        assert [request async for request in requests] == []

    asyncio.run(main())


# ---- the same without asyncio, where a timeout once looked like a close


def test_an_iteration_continues_after_a_timeout_and_an_interrupt(bus, tmp_path, ends, duplexes):
    with publisher(tmp_path / "own") as opened, follower(tmp_path / "own") as subscriber:
        while getattr(subscriber.read(), "kind", "") != "caught-up":
            pass
        items = subscriber.items(timeout=0.01)
        for _ in range(2):
            with pytest.raises(lapwing.Error, match="timed-out"):
                next(items)
        opened.publish(quotes(1, 1))
        assert next(items).first == 1
    producer, consumer = ends
    server, client = duplexes
    for source, send, received in (
        (consumer, producer.send, lambda message: bytes(message)),
        (server, client.send, lambda request: request.payload),
    ):
        iteration = iter(source)
        source.interrupt()
        with pytest.raises(lapwing.Error, match="interrupted"):
            next(iteration)
        send(b"after it")
        assert received(next(iteration)) == b"after it"
