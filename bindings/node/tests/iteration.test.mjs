// An iteration continues after a timeout, an abort or a lost race, and loses nothing.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import test from 'node:test';
import { Duplex, Listener, Producer, Publisher, Subscriber } from 'lapwing';
import { ended, folder, HANG_MS, publisherOf, records, ROW_BYTES, start } from './buses.mjs';

const wait = { timeout: HANG_MS };

async function pair(t, role, Other) {
  const path = join(folder(t), 'c.sock');
  const listener = Listener.open(path);
  const both = await Promise.all([listener.accept(role, wait), Other.connect(path, wait)]);
  listener.destroy();
  t.after(() => both.forEach((handle) => handle.destroy()));
  return both;
}

/** Each function opens an iteration over the numbers that `send` sends. `waits` are its options. */
const SOURCES = {
  'a subscriber': async (t, waits) => {
    const directory = join(folder(t), 'bus');
    const publisher = await publisherOf(t, directory);
    const subscriber = Subscriber.open({ directory, start: 'oldest', endAtClose: true });
    t.after(() => subscriber.destroy());
    const items = subscriber.items({ rows: 1, ...waits });
    for (let item; item?.type !== 'caught-up'; ) ({ value: item } = await items.next());
    return {
      iteration: items,
      send: async (n) => publisher.tryPublish(records(n, 1)),
      number: (item) => Number(item.first),
      close: () => publisher.close(),
      rest: 1, // the event closed
    };
  },
  'a consumer': async (t, waits) => {
    const [consumer, producer] = await pair(t, 'consumer', Producer);
    return {
      iteration: consumer.messages(waits),
      send: (n) => producer.send({ type: n, payload: new Uint8Array(8) }, wait),
      number: ({ type }) => type,
      close: () => producer.close(),
      rest: 0,
    };
  },
  'a duplex': async (t, waits) => {
    const [server, client] = await pair(t, 'duplex', Duplex);
    return {
      iteration: server.requests(waits),
      send: (n) => client.send({ type: n, payload: new Uint8Array(8) }, wait),
      number: ({ type }) => type,
      close: () => client.close(),
      rest: 0,
    };
  },
};

async function atEnd({ iteration, close, rest }) {
  await close();
  let count = 0;
  for await (const item of iteration) count += item === undefined ? 0 : 1;
  assert.equal(count, rest);
  assert.deepEqual(await iteration.next(), { done: true, value: undefined });
}

for (const [name, open] of Object.entries(SOURCES)) {
  test(`A timeout does not end the iteration: ${name}`, async (t) => {
    const source = await open(t, { timeout: 20 });
    for (let n = 1; n <= 3; ++n) {
      await assert.rejects(source.iteration.next(), { code: 'timed-out' });
      await source.send(n);
      let result;
      while (result === undefined) { // on a loaded machine, the item may take more than one timeout
        result = await source.iteration.next().catch((error) => assert.equal(error.code, 'timed-out'));
      }
      assert.equal(source.number(result.value), n);
    }
    await atEnd(source);
  });

  test(`The promise that lost a race has the item: ${name}`, async (t) => {
    const source = await open(t, {});
    const got = [];
    let next = source.iteration.next();
    for (let n = 1; n <= 5; ++n) {
      const late = Symbol('late');
      const first = await Promise.race([next, new Promise((resolve) => setTimeout(resolve, 5, late))]);
      assert.equal(first, late);
      await source.send(n);
      got.push(source.number((await next).value));
      next = source.iteration.next();
    }
    assert.deepEqual(got, [1, 2, 3, 4, 5]);
    await source.close();
    for (let left = source.rest; left > 0; --left) {
      assert.equal((await next).done, false);
      next = source.iteration.next();
    }
    assert.equal((await next).done, true);
  });

  test(`Calls of next() side by side get one item each, in order: ${name}`, async (t) => {
    const source = await open(t, {});
    const nexts = [1, 2, 3].map(() => source.iteration.next());
    for (const n of [1, 2, 3]) await source.send(n);
    assert.deepEqual((await Promise.all(nexts)).map(({ value }) => source.number(value)), [1, 2, 3]);
    await source.iteration.return();
    assert.deepEqual(await source.iteration.next(), { done: true, value: undefined });
  });
}

test('Two buses and a timer take turns in one thread', async (t) => {
  const directories = ['a', 'b'].map((name) => join(folder(t), name));
  const publishers = await Promise.all(directories.map((directory) => publisherOf(t, directory)));
  const seen = [];
  let caughtUp = 0;
  const follow = async (directory, name) => {
    const subscriber = Subscriber.open({ directory, endAtClose: true });
    t.after(() => subscriber.destroy());
    for await (const item of subscriber) {
      if (item.type === 'caught-up') ++caughtUp;
      if (item.type === 'records') seen.push(`${name}${item.first}`);
    }
    seen.push(`${name} closed`);
  };
  const followed = Promise.all(directories.map((directory, index) => follow(directory, 'ab'[index])));
  let ticks = 0;
  const timer = setInterval(() => ++ticks, 1);
  t.after(() => clearInterval(timer));
  while (caughtUp < 2) await new Promise(setImmediate);
  const expected = [];
  for (let n = 1; n <= 5; ++n) {
    for (const [index, publisher] of publishers.entries()) {
      publisher.tryPublish(records(n, 1));
      expected.push(`${'ab'[index]}${n}`);
      while (seen.length < expected.length) await new Promise(setImmediate); // neither bus blocks the other
    }
  }
  assert.deepEqual(seen, expected);
  assert.ok(ticks > 0, 'void: the timer had no turn');
  for (const publisher of publishers) await publisher.close();
  await followed;
  assert.deepEqual(seen.slice(-2).sort(), ['a closed', 'b closed']);
});

test('An abort ends the wait for an item, and a later iteration has it', async (t) => {
  const directory = join(folder(t), 'bus');
  const publisher = await publisherOf(t, directory);
  const subscriber = Subscriber.open({ directory, start: 'oldest' });
  t.after(() => subscriber.destroy());
  const controller = new AbortController();
  const items = subscriber.items({ signal: controller.signal });
  for (let item; item?.type !== 'caught-up'; ) ({ value: item } = await items.next());
  const next = items.next();
  setImmediate(() => controller.abort());
  await assert.rejects(next, { name: 'AbortError' });
  publisher.tryPublish(records(1, 1));
  await assert.rejects(items.next(), { name: 'AbortError' }); // stays aborted, but has not ended
  assert.equal((await subscriber[Symbol.asyncIterator]().next()).value.first, 1n);
});

test('A message at which a loop was left is released, and the next loop has those after it', async (t) => {
  const [consumer, producer] = await pair(t, 'consumer', Producer);
  for (const type of [1, 2, 3]) await producer.send({ type, payload: new Uint8Array(8) }, wait);
  for await (const message of consumer) {
    if (message.type === 2) break;
  }
  assert.equal((await consumer.receive(wait)).type, 3);
});

test('A busy readOne() that was aborted too late keeps its record', async (t) => {
  const directory = join(folder(t), 'bus');
  const publisher = await publisherOf(t, directory);
  const subscriber = Subscriber.open({ directory, start: 'oldest', wait: 'busy' });
  t.after(() => subscriber.destroy());
  for await (const item of subscriber) if (item.type === 'caught-up') break;
  const record = new Uint8Array(ROW_BYTES);
  let late = 0;
  for (let n = 1; n <= 100; ++n) {
    const controller = new AbortController();
    const reading = subscriber.readOne(record, { signal: controller.signal });
    publisher.tryPublish(records(n, 1));
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5); // lets the read end in its thread
    controller.abort();
    let sequence;
    try {
      sequence = await reading;
      ++late;
    } catch (error) {
      assert.equal(error.name, 'AbortError');
      sequence = await subscriber.readOne(record, wait);
    }
    assert.equal(sequence, BigInt(n));
  }
  assert.ok(late > 0, 'void: no abort came too late');
});

test('The next publisher starts at once after a kill, by default', async (t) => {
  const directory = join(folder(t), 'bus');
  for (let round = 0; round < 10; ++round) {
    const child = start('killed.mjs', directory);
    assert.equal(await ended(child), 'SIGKILL', child.err);
  }
  const publisher = await Publisher.open({ directory, recordBytes: 8, capacity: 4096 });
  t.after(() => publisher.destroy());
  await assert.rejects(Publisher.open({ directory, recordBytes: 8 }, { timeout: 0 }), { code: 'in-use' });
});
