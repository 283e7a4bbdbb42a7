import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { Batch, Cursor, LapwingError, Publisher, Start, Subscriber } from 'lapwing';
import { ended, folder, HANG_MS, publisherOf, readUntil, records, ROW_BYTES, start } from './buses.mjs';

const wait = { timeout: HANG_MS };
const code = (expected) => (error) => {
  assert.ok(error instanceof LapwingError, error);
  assert.equal(error.code, expected, error.message);
  return true;
};

/** Opens a subscriber and reads until it has caught up. */
async function caughtUp(test, directory, options = {}) {
  const subscriber = Subscriber.open({ directory, ...options });
  test.after(() => subscriber.destroy());
  await readUntil('caught-up', subscriber, new Batch({ rows: 64, rowBytes: ROW_BYTES }));
  return subscriber;
}

test('An iteration yields events and records in order, and ends at close', async (t) => {
  const directory = join(folder(t), 'bus');
  const publisher = await publisherOf(t, directory);
  assert.equal(publisher.recordBytes, ROW_BYTES);
  assert.equal(await publisher.publish(records(1, 10)), 10n);
  const subscriber = Subscriber.open({ directory, start: 'oldest', endAtClose: true });
  const events = [];
  const sequences = [];
  for await (const item of subscriber) {
    if (item.type === 'records') {
      assert.equal(item.rowBytes, ROW_BYTES);
      for (const { sequence, row } of item) {
        sequences.push(sequence);
        assert.deepEqual(row, records(Number(sequence), 1));
      }
      continue;
    }
    events.push(`${item}`.replace(/:.*/, ''));
    if (item.type !== 'caught-up') continue;
    assert.equal(await publisher.publish(records(11, 5)), 15n);
    await publisher.close();
  }
  assert.deepEqual(events, ['session 1', 'caught-up 10', 'closed 15']);
  assert.deepEqual(sequences, Array.from({ length: 15 }, (_, i) => BigInt(i + 1)));
  const { records: count, last } = subscriber.inspect();
  assert.deepEqual([count, last], [15n, 15n]);
  subscriber.destroy();
});

test('A start has the same name as in other languages, and is a plain value', async (t) => {
  const directory = join(folder(t), 'bus');
  const publisher = await publisherOf(t, directory);
  publisher.tryPublish(records(1, 10));
  await publisher.flush();
  const firstOf = async (start) => {
    const subscriber = Subscriber.open({ directory, start });
    t.after(() => subscriber.destroy());
    const { first } = await readUntil('records', subscriber, new Batch({ rows: 16, rowBytes: ROW_BYTES }));
    return first;
  };
  assert.equal(await firstOf(Start.oldest()), 1n);
  assert.equal(await firstOf(Start.sequence(7n)), 7n);
  assert.equal(await firstOf(Start.time(0n)), 1n);
  assert.deepEqual(
    [Start.live(), Start.oldest(), Start.snapshot(), Start.sequence(7n)], ['live', 'oldest', 'snapshot', { sequence: 7n }],
  );
});

test('Items own their memory: what was read before is not overwritten', async (t) => {
  const directory = join(folder(t), 'bus');
  const publisher = await publisherOf(t, directory);
  publisher.tryPublish(records(1, 40));
  await publisher.close();
  const subscriber = Subscriber.open({ directory, start: 'oldest', endAtClose: true });
  const items = [];
  for await (const item of subscriber.items({ rows: 8 })) if (item.type === 'records') items.push(item);
  assert.ok(items.length >= 5);
  assert.deepEqual(Buffer.concat(items.map(({ rows }) => rows)), Buffer.from(records(1, 40)));
});

test('A batch is filled again and again in the same memory', async (t) => {
  const directory = join(folder(t), 'bus');
  const publisher = await publisherOf(t, directory);
  const subscriber = await caughtUp(t, directory);
  const batch = new Batch({ rows: 4, rowBytes: ROW_BYTES, sequences: true });
  const { memory } = batch;
  publisher.tryPublish(records(1, 6));
  assert.equal(await subscriber.read(batch, wait), batch);
  assert.deepEqual([batch.type, batch.count, batch.first, batch.isSparse], ['records', 4, 1n, false]);
  assert.deepEqual(batch.sequences, BigUint64Array.of(1n, 2n, 3n, 4n));
  await subscriber.read(batch, wait);
  assert.deepEqual([batch.count, batch.first], [2, 5n]);
  assert.equal(batch.memory, memory);
  assert.deepEqual(batch.row(1), records(6, 1));
  assert.throws(() => batch.row(2), code('invalid-argument'));
});

test('A record is read alone, after the events before it', async (t) => {
  const directory = join(folder(t), 'bus');
  const publisher = await publisherOf(t, directory);
  const subscriber = Subscriber.open({ directory, start: 'oldest' });
  publisher.tryPublish(records(1, 1));
  const record = new Uint8Array(ROW_BYTES);
  await assert.rejects(subscriber.readOne(record, wait), { code: 'event-due', message: /event/ });
  await subscriber.read(new Batch({ rows: 1, rowBytes: ROW_BYTES }), wait);
  assert.equal(await subscriber.readOne(record, wait), 1n);
  assert.deepEqual(record, records(1, 1));
  subscriber.destroy();
});

/** Publishes one session of records whose second field is named `second`. */
async function publishPairs(directory, second) {
  const fields = ['first', second].map((name, index) => ({ name, type: 'uint64', offset: 8 * index }));
  const schema = JSON.stringify({ name: 'desk.pair', version: 1, record_bytes: 16, fields });
  const publisher = await Publisher.open({ directory, schema });
  publisher.tryPublish(records(1, 1));
  await publisher.close();
  publisher.destroy();
}

test('A bus that was replaced has its own schema', async (t) => {
  const directory = join(folder(t), 'bus');
  await publishPairs(directory, 'old');
  const subscriber = Subscriber.open({ directory, start: 'oldest' });
  t.after(() => subscriber.destroy());
  assert.throws(() => subscriber.schema, code('misuse')); // no session has been delivered
  const batch = new Batch({ rows: 1, rowBytes: ROW_BYTES });
  assert.equal((await subscriber.read(batch, wait)).type, 'session');
  rmSync(directory, { recursive: true });
  await publishPairs(directory, 'renamed');
  const second = () => subscriber.schema.fields[1].name;
  assert.equal(second(), 'old'); // the schema of the delivered records, not the one on disk
  while ((await subscriber.read(batch, wait)).type !== 'reset') assert.equal(second(), 'old');
  assert.equal(second(), 'renamed');
  await readUntil('records', subscriber, batch);
  assert.deepEqual(subscriber.schema.decode(batch.row(0)), { first: 1n, renamed: 1n });
});

test('Records that are not described have no schema', async (t) => {
  const directory = join(folder(t), 'bus');
  await publisherOf(t, directory);
  const subscriber = await caughtUp(t, directory);
  assert.equal(subscriber.schema, undefined);
});

test('Ages are of the records that were chosen', async (t) => {
  const directory = join(folder(t), 'bus');
  const fields = [
    { name: 'key', type: 'uint64', offset: 0 },
    { name: 'published', type: 'uint64', offset: 8, unit: 'utc_ns', role: 'publish_time' },
  ];
  const schema = JSON.stringify({ name: 'test.aged', version: 1, record_bytes: 16, fields });
  const publisher = await publisherOf(t, directory, { schema, restamped: true });
  const now = BigInt(Date.now()) * 1_000_000n;
  publisher.tryPublish(new Uint8Array(new BigUint64Array(200).fill(now).buffer));
  await publisher.close();
  const read = async (options) => {
    const subscriber = Subscriber.open({ directory, start: 'oldest', endAtClose: true, ...options });
    t.after(() => subscriber.destroy());
    for await (const item of subscriber) void item;
    return subscriber.ages();
  };
  const ages = await read({ measureEvery: 10, observes: true });
  assert.deepEqual([ages.count, ages.negative, ages.unstamped], [10n, 0n, 0n]);
  assert.ok(0n < ages.p50Ns && ages.p50Ns <= ages.p99Ns && ages.p99Ns <= ages.maxNs);
  assert.equal(await read({}), undefined);
});

test('Without records a read fails with would-block, or with timed-out after its timeout', async (t) => {
  const directory = join(folder(t), 'bus');
  await publisherOf(t, directory);
  const subscriber = await caughtUp(t, directory);
  const batch = new Batch({ rows: 1, rowBytes: ROW_BYTES });
  assert.equal(subscriber.tryRead(batch), undefined);
  assert.equal(subscriber.tryReadOne(new Uint8Array(ROW_BYTES)), undefined);
  await assert.rejects(subscriber.read(batch, { timeout: 0 }), code('would-block'));
  await assert.rejects(subscriber.read(batch, { timeout: 20 }), code('timed-out'));
});

for (const how of ['busy', 'backoff', 'park']) {
  test(`A wait does not block the event loop: ${how}`, async (t) => {
    const directory = join(folder(t), 'bus');
    const publisher = await publisherOf(t, directory);
    const subscriber = await caughtUp(t, directory, { wait: how });
    const batch = new Batch({ rows: 1, rowBytes: ROW_BYTES });
    const read = subscriber.read(batch, wait);
    for (let turn = 0; turn < 10; ++turn) await new Promise((resolve) => setTimeout(resolve, 1));
    publisher.tryPublish(records(1, 1));
    await read;
    assert.equal(batch.first, 1n);
  });
}

test('Sixteen subscribers wait at once, each for its own bus', async (t) => {
  const here = folder(t);
  const names = Array.from({ length: 16 }, (_, i) => join(here, `bus${i}`));
  const publishers = await Promise.all(names.map((name) => publisherOf(t, name)));
  const subscribers = await Promise.all(names.map((name) => caughtUp(t, name)));
  const batches = names.map(() => new Batch({ rows: 1, rowBytes: ROW_BYTES }));
  const reads = subscribers.map((subscriber, i) => subscriber.read(batches[i], wait));
  await new Promise((resolve) => setTimeout(resolve, 20));
  publishers.reverse().forEach((publisher) => publisher.tryPublish(records(1, 1)));
  await Promise.all(reads);
  assert.deepEqual(batches.map(({ first }) => first), names.map(() => 1n));
});

test('Timers have their turn while reads succeed without end', async (t) => {
  const directory = join(folder(t), 'bus');
  const publisher = await publisherOf(t, directory, { noJournal: true });
  const subscriber = await caughtUp(t, directory, { onGap: 'skip' });
  const batch = new Batch({ rows: 1, rowBytes: ROW_BYTES });
  let isOver = false;
  setTimeout(() => (isOver = true), 30);
  for (let n = 1; !isOver; ++n) {
    assert.ok(n < 10_000_000, 'the timer had no turn');
    publisher.tryPublish(records(n, 1));
    await subscriber.read(batch, wait);
    assert.equal(batch.first, BigInt(n));
  }
});

test('An abort that comes too late does not end the next wait', async (t) => {
  const directory = join(folder(t), 'bus');
  const publisher = await publisherOf(t, directory);
  const subscriber = await caughtUp(t, directory, { wait: 'busy' });
  const batch = new Batch({ rows: 1, rowBytes: ROW_BYTES });
  let late = 0;
  for (let n = 1; n <= 100; ++n) {
    const controller = new AbortController();
    const read = subscriber.read(batch, { signal: controller.signal });
    publisher.tryPublish(records(n, 1));
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5); // lets the read end in its thread
    controller.abort();
    try {
      await read;
      ++late;
    } catch (error) {
      assert.equal(error.name, 'AbortError');
      await subscriber.read(batch, wait);
    }
    assert.equal(batch.first, BigInt(n));
    await assert.rejects(subscriber.read(batch, { timeout: 2 }), code('timed-out'));
  }
  assert.ok(late > 0, 'void: no abort came too late');
});

for (const how of ['busy', 'park']) {
  test(`An AbortSignal ends a wait, and the next one is not affected: ${how}`, async (t) => {
    const directory = join(folder(t), 'bus');
    const publisher = await publisherOf(t, directory);
    const subscriber = await caughtUp(t, directory, { wait: how });
    const batch = new Batch({ rows: 1, rowBytes: ROW_BYTES });
    const controller = new AbortController();
    const read = subscriber.read(batch, { signal: controller.signal });
    setTimeout(() => controller.abort(), 20);
    await assert.rejects(read, { name: 'AbortError' });
    await assert.rejects(subscriber.read(batch, { signal: controller.signal }), { name: 'AbortError' });
    publisher.tryPublish(records(1, 1));
    assert.equal(await subscriber.read(batch, wait), batch);
  });

  test(`interrupt() ends the wait under way, or else the next one, once: ${how}`, async (t) => {
    const directory = join(folder(t), 'bus');
    await publisherOf(t, directory);
    const subscriber = await caughtUp(t, directory, { wait: how });
    const batch = new Batch({ rows: 1, rowBytes: ROW_BYTES });
    const read = subscriber.read(batch, wait);
    setTimeout(() => subscriber.interrupt(), 20);
    await assert.rejects(read, code('interrupted'));
    subscriber.interrupt();
    await assert.rejects(subscriber.read(batch, wait), code('interrupted'));
    await assert.rejects(subscriber.read(batch, { timeout: 20 }), code('timed-out'));
  });

  test(`A call beside a wait is misuse, and destroy() ends the wait: ${how}`, async (t) => {
    const directory = join(folder(t), 'bus');
    await publisherOf(t, directory);
    const subscriber = await caughtUp(t, directory, { wait: how });
    const batch = new Batch({ rows: 1, rowBytes: ROW_BYTES });
    const read = subscriber.read(batch, wait);
    await new Promise((resolve) => setTimeout(resolve, 20));
    assert.throws(() => subscriber.tryRead(batch), code('misuse'));
    assert.throws(() => subscriber.inspect(), code('misuse'));
    subscriber.destroy();
    await assert.rejects(read, (error) => ['misuse', 'interrupted'].includes(error.code));
    assert.throws(() => subscriber.inspect(), code('misuse'));
    subscriber.destroy();
  });
}

test('A descriptor becomes readable when a read may find something', async (t) => {
  const directory = join(folder(t), 'bus');
  const publisher = await publisherOf(t, directory);
  const subscriber = await caughtUp(t, directory);
  const batch = new Batch({ rows: 1, rowBytes: ROW_BYTES });
  assert.ok(subscriber.fd >= 0);
  assert.equal(subscriber.tryRead(batch), undefined);
  assert.equal(await subscriber.readable({ timeout: 20 }), false);
  publisher.tryPublish(records(1, 1));
  assert.equal(await subscriber.readable(wait), true);
  assert.equal(subscriber.tryRead(batch), batch);
});

for (const [how, wait, exit, said] of [
  ['exit', 'backoff', 7, 'waits\n'], ['exit', 'busy', 7, 'waits\n'],
  ['abort', 'backoff', 0, 'waits\nAbortError\n'], ['abort', 'busy', 0, 'waits\nAbortError\n'],
]) {
  test(`A process with a wait under way ends: ${how}, ${wait}`, async (t) => {
    const directory = join(folder(t), 'bus');
    await publisherOf(t, directory);
    const child = start('waiting.mjs', directory, how, wait);
    assert.equal(await ended(child), exit, child.err);
    assert.equal(child.out, said);
  });
}

test('A process ends while threads of the library run', async (t) => {
  // If the library were not pinned, a third of these would end with SIGSEGV.
  for (let round = 0; round < 10; ++round) {
    const child = start('ending.mjs', join(folder(t), 'bus'));
    assert.equal(await ended(child), 0, child.err);
  }
});

test('A position goes through a cursor, and the next subscriber continues after it', async (t) => {
  const here = folder(t);
  const directory = join(here, 'bus');
  const publisher = await publisherOf(t, directory);
  publisher.tryPublish(records(1, 10));
  const batch = new Batch({ rows: 4, rowBytes: ROW_BYTES });
  const first = Subscriber.open({ directory, start: 'oldest' });
  await readUntil('records', first, batch);
  const cursor = await Cursor.open(join(here, 'cursor'), { durable: true });
  assert.equal(cursor.position(), undefined);
  await cursor.commit(first.position(3n), { bytes: 48n, file: 2n });
  first.destroy();
  await assert.rejects(Cursor.open(join(here, 'cursor'), { timeout: 0 }), code('in-use'));
  cursor.destroy();

  const again = await Cursor.open(join(here, 'cursor'));
  const { position, output } = again.position();
  assert.deepEqual(output, { bytes: 48n, file: 2n });
  const stored = JSON.parse(JSON.stringify({ ...position, sequence: String(position.sequence) }));
  const second = Subscriber.open({ directory, start: Start.after({ ...stored, sequence: BigInt(stored.sequence) }) });
  await readUntil('records', second, batch);
  assert.equal(batch.first, 4n);
  second.destroy();
  again.destroy();
});

test('A row that does not fit is reported with its size, and nothing is consumed', async (t) => {
  const directory = join(folder(t), 'bus');
  const publisher = await publisherOf(t, directory);
  const subscriber = await caughtUp(t, directory);
  publisher.tryPublish(records(1, 1));
  const small = new Batch({ bytes: ROW_BYTES - 1 });
  await assert.rejects(subscriber.read(small, wait), (error) => error.rowBytes === ROW_BYTES && code('too-small')(error));
  const batch = new Batch({ rows: 1, rowBytes: ROW_BYTES });
  await subscriber.read(batch, wait);
  assert.equal(batch.first, 1n);
});

test('What is published is flushed, and a second publisher of the bus is refused', async (t) => {
  const directory = join(folder(t), 'bus');
  const publisher = await publisherOf(t, directory);
  await publisher.publish(records(1, 3));
  assert.equal(await publisher.flush(wait), 3n);
  const info = publisher.inspect();
  assert.deepEqual([info.first, info.head, info.durable, info.settled, info.journalState], [1n, 3n, 3n, 'fresh', 'good']);
  await assert.rejects(Publisher.open({ directory, recordBytes: ROW_BYTES }, { timeout: 0 }), code('in-use'));
});

test('Records of a size that is not the bus\'s are refused', async (t) => {
  const directory = join(folder(t), 'bus');
  const publisher = await publisherOf(t, directory);
  assert.throws(() => publisher.tryPublish(records(1, 1), { recordBytes: 8 }), code('record-size'));
  assert.throws(() => publisher.tryPublish(new Uint8Array(ROW_BYTES + 1)), code('invalid-argument'));
  await publisher.close();
  const error = await publisher.publish(records(1, 1)).catch((thrown) => thrown);
  assert.equal(error.code, 'closed');
  assert.equal(error.last, 0n);
});
