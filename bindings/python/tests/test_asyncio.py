"""async for, by the event loop's readers."""

import asyncio

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
