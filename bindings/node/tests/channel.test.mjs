import assert from 'node:assert/strict';
import { join } from 'node:path';
import test from 'node:test';
import { CallError, Consumer, Duplex, Listener, Producer } from 'lapwing';
import { folder, HANG_MS } from './buses.mjs';

const wait = { timeout: HANG_MS };
const text = (words) => Buffer.from(words);
const message = (type, words) => ({ type, payload: text(words) });
const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

/** Returns the ends of a channel, [connected, accepted]. The accepting end has the role `role`. */
async function pair(t, Connecting, role, options = {}) {
  const path = join(folder(t), 'c.sock');
  const listener = Listener.open(path);
  const [accepted, connected] = await Promise.all([
    listener.accept(role, { ...options, ...wait }),
    Connecting.connect(path, { ...options, ...wait }),
  ]);
  t.after(() => [accepted, connected, listener].forEach((handle) => handle.destroy()));
  return [connected, accepted];
}

test('Messages arrive in order, as copies, and are released', async (t) => {
  const [producer, consumer] = await pair(t, Producer, 'consumer');
  assert.equal(await producer.send([message(1, 'one'), message(2, ''), message(3, 'three')]), 3);
  const messages = await consumer.peek(8, wait);
  assert.deepEqual(messages.map(({ type, payload }) => [type, payload.toString()]), [[1, 'one'], [2, ''], [3, 'three']]);
  consumer.release(2);
  assert.equal((await consumer.receive(wait)).payload.toString(), 'three');
  assert.throws(() => consumer.release(1), { code: 'misuse' });
  await producer.drain(wait);
  assert.deepEqual(consumer.tryPeek(1), []);
  assert.deepEqual([producer.inspect().sent, consumer.inspect().received], [3n, 3n]);
  assert.deepEqual([producer.inspect().role, consumer.inspect().role], ['producer', 'consumer']);
});

test('A message is written in place, and its memory is not given out after the commit', async (t) => {
  const [producer, consumer] = await pair(t, Producer, 'consumer');
  const claim = await producer.claim(16, wait);
  claim.payload.set(text('in place'));
  claim.commit(9, 8);
  assert.throws(() => claim.payload, { code: 'misuse' });
  assert.throws(() => claim.commit(9), { code: 'misuse' });
  producer.tryClaim(4).abort();
  const received = await consumer.receive(wait);
  assert.deepEqual([received.type, received.payload.toString()], [9, 'in place']);
});

test('A wait for a message does not block the event loop, and a message ends it', async (t) => {
  const [producer, consumer] = await pair(t, Producer, 'consumer');
  const receive = consumer.receive(wait);
  await pause(20);
  assert.equal(producer.trySend(message(1, 'late')), 1);
  assert.equal((await receive).payload.toString(), 'late');
  await assert.rejects(consumer.peek(1, { timeout: 0 }), { code: 'would-block' });
  await assert.rejects(consumer.peek(1, { timeout: 20 }), { code: 'timed-out' });
});

test('A producer waits for room, and a failure says how many were sent', async (t) => {
  const options = { capacity: 4096, messageBytesMax: 1024 };
  const [producer, consumer] = await pair(t, Producer, 'consumer', options);
  const messages = Array.from({ length: 16 }, (_, i) => ({ type: i, payload: new Uint8Array(1024) }));
  const error = await producer.send(messages, { timeout: 20 }).catch((thrown) => thrown);
  assert.equal(error.code, 'timed-out');
  assert.ok(error.sent > 0 && error.sent < 16);
  const rest = producer.send(messages.slice(error.sent), wait);
  for (let i = 0; i < 16; ++i) assert.equal((await consumer.receive(wait)).type, i);
  assert.equal(await rest, 16 - error.sent);
});

test('A message with a live view is not released', async (t) => {
  const [producer, consumer] = await pair(t, Producer, 'consumer');
  await producer.send([message(1, 'viewed'), message(2, 'second')]);
  const [first, second] = await consumer.unsafePeek(2, wait);
  assert.equal(Buffer.from(first.payload).toString(), 'viewed');
  assert.throws(() => consumer.release(1), /message 0 .* has a live view/);
  first.done();
  assert.throws(() => first.payload, { code: 'misuse' });
  consumer.release(1);
  assert.equal(Buffer.from(second.payload).toString(), 'second');
  second.done();
  consumer.release(1);
});

test('An iteration over messages ends when the producer closes', async (t) => {
  const [producer, consumer] = await pair(t, Producer, 'consumer');
  await producer.send(['a', 'b', 'c'].map((words) => message(1, words)));
  producer.close();
  const words = [];
  for await (const { payload } of consumer) words.push(payload.toString());
  assert.deepEqual(words, ['a', 'b', 'c']);
  assert.ok(consumer.fd >= 0);
  consumer.close();
  assert.equal(consumer.fd, -1);
});

test('A server that is not there, and a listener that is there already, are errors', async (t) => {
  const path = join(folder(t), 'c.sock');
  await assert.rejects(Duplex.connect(path, { timeout: 0 }), { code: 'no-bus' });
  const listener = Listener.open(path);
  assert.throws(() => Listener.open(path), { code: 'in-use' });
  await assert.rejects(listener.accept('duplex', { timeout: 20 }), { code: 'timed-out' });
  listener.tend();
  listener.interrupt();
  await assert.rejects(listener.accept('duplex', wait), { code: 'interrupted' });
  const controller = new AbortController();
  const accept = listener.accept('duplex', { signal: controller.signal });
  setTimeout(() => controller.abort(), 10);
  await assert.rejects(accept, { name: 'AbortError' });
  listener.destroy();
});

test('A successor takes a listener over', async (t) => {
  const path = join(folder(t), 'c.sock');
  const old = Listener.open(path);
  const takeOver = Listener.takeOver(path, wait);
  await assert.rejects(old.accept('consumer', wait), { code: 'closed' });
  const listener = await takeOver;
  const [consumer, producer] = await Promise.all([listener.accept('consumer', wait), Producer.connect(path, wait)]);
  await producer.send(message(5, 'served'));
  assert.equal((await consumer.receive(wait)).type, 5);
  [old, listener, consumer, producer].forEach((handle) => handle.destroy());
});

test('Many calls are under way at once, and are answered in any order', async (t) => {
  const [client, server] = await pair(t, Duplex, 'duplex');
  const serve = (async () => {
    const held = [];
    for await (const request of server) {
      held.push(request);
      if (held.length < 8) continue;
      for (const { call, payload } of held.reverse()) await server.reply(call, { type: 2, payload });
    }
  })();
  const words = Array.from({ length: 8 }, (_, i) => `call ${i}`);
  const replies = await Promise.all(words.map((one) => client.call(message(1, one), wait)));
  assert.deepEqual(replies.map(({ payload }) => payload.toString()), words);
  client.close();
  await serve;
});

test('Calls wait for room in the window of the other side, while replies arrive', async (t) => {
  const [client, server] = await pair(t, Duplex, 'duplex', { callWindow: 1 });
  const serve = (async () => {
    for await (const { call, payload } of server) {
      await pause(5);
      await server.reply(call, { type: 2, payload });
    }
  })();
  const words = Array.from({ length: 6 }, (_, i) => `call ${i}`);
  const replies = await Promise.all(words.map((one) => client.call(message(1, one), wait)));
  assert.deepEqual(replies.map(({ payload }) => payload.toString()), words);
  client.close();
  await serve;
});

test('Both sides call each other at once', async (t) => {
  const [a, b] = await pair(t, Duplex, 'duplex');
  const serve = async (duplex) => {
    for await (const { call, payload } of duplex) await duplex.reply(call, { type: 2, payload: payload.reverse() });
  };
  const servers = [serve(a), serve(b)];
  const [one, two] = await Promise.all([a.call(message(1, 'abc'), wait), b.call(message(1, 'xyz'), wait)]);
  assert.deepEqual([one.payload.toString(), two.payload.toString()], ['cba', 'zyx']);
  a.close();
  await Promise.all(servers);
});

test('A call ends with the server\'s error, its own timeout, or an abort', async (t) => {
  const [client, server] = await pair(t, Duplex, 'duplex', { lateReplies: true });
  const failing = client.call(message(1, 'x'), wait);
  const request = await server.next(wait);
  await server.replyError(request.call, 77, 'no such instrument');
  await assert.rejects(failing, (error) => error instanceof CallError && error.code === 77 && error.message === 'no such instrument');
  await assert.rejects(server.reply(request.call, message(2, '')), { code: 'misuse' });

  await assert.rejects(client.call(message(1, 'slow'), { timeout: 30 }), { code: 'timed-out' });
  const late = await server.next(wait);
  await server.reply(late.call, message(2, 'too late'));
  const reply = await client.finishAny(wait);
  assert.deepEqual([reply.isLate, reply.payload.toString()], [true, 'too late']);

  const controller = new AbortController();
  const aborted = client.call(message(1, 'x'), { signal: controller.signal });
  setTimeout(() => controller.abort(), 20);
  await assert.rejects(aborted, { name: 'AbortError' });
});

test('Calls are started, finished and cancelled by hand', async (t) => {
  const [client, server] = await pair(t, Duplex, 'duplex');
  const [one, two, three] = [
    await client.start(message(1, 'one'), wait),
    await client.start(message(1, 'two'), wait),
    await client.start(message(1, 'three'), wait),
  ];
  for (let i = 0; i < 3; ++i) {
    const { call, payload } = await server.next(wait);
    if (payload.toString() !== 'three') await server.reply(call, { type: 2, payload });
  }
  assert.equal((await client.finish(two)).payload.toString(), 'two');
  assert.equal((await client.finishAny(wait)).call, one);
  await client.cancel(three);
  await assert.rejects(client.finish(three), { code: 'misuse' });
  await assert.rejects(client.cancel(three), { code: 'misuse' });
  await assert.rejects(client.finish(two, { timeout: 5 }), { code: 'invalid-argument' }); // start() sets the timeout
});

test('A closed channel has no descriptor, and a destroyed one refuses to be asked', async (t) => {
  const [client] = await pair(t, Duplex, 'duplex');
  assert.ok(client.fd >= 0);
  client.close();
  assert.equal(client.fd, -1);
  client.destroy();
  assert.throws(() => client.fd, { code: 'misuse' });
});

test('One-way messages are not answered', async (t) => {
  const [client, server] = await pair(t, Duplex, 'duplex');
  assert.equal(await client.send([message(4, 'note'), message(5, 'more')], wait), 2);
  const note = await server.next(wait);
  assert.deepEqual([note.call, note.type, note.payload.toString()], [0n, 4, 'note']);
  assert.equal((await server.next(wait)).type, 5);
  assert.equal(server.arm(), true);
  await client.send(message(6, ''), wait);
  client.close();
  assert.equal((await server.next(wait)).type, 6);
  await assert.rejects(server.next(wait), { code: 'closed' });
});

test('A producer cannot consume, and a channel that was destroyed is misuse', async (t) => {
  const [consumer, producer] = await pair(t, Consumer, 'producer');
  assert.ok(producer instanceof Producer);
  assert.equal(producer.arm(16), false); // there is room
  consumer.destroy();
  assert.throws(() => consumer.inspect(), { code: 'misuse' });
  await assert.rejects(consumer.peek(1, wait), { code: 'misuse' });
  await producer.send(message(1, 'x'), wait).catch(() => undefined);
  await assert.rejects(producer.drain(wait), (error) => ['closed', 'peer-gone'].includes(error.code));
});
