import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { Batch, Books, History, Listener, Producer, Subscriber } from 'lapwing';
import { ended, folder, HANG_MS, printed, publisherOf, readUntil, records, ROW_BYTES, start } from './buses.mjs';

const wait = { timeout: HANG_MS };
const COLLECTIONS = 10;
const SEGMENT_BYTES = 65536;

/** Collects garbage a few times and lets finalizers run. */
async function collect() {
  for (let round = 0; round < COLLECTIONS; ++round) {
    globalThis.gc();
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}

async function collectUntil(isOver) {
  for (const ends = performance.now() + HANG_MS; !isOver(); await collect()) {
    assert.ok(performance.now() < ends, 'it was not given back');
  }
}

/** Opens a history with a finished segment, which can be mapped. */
async function finishedHistory(t) {
  const directory = join(folder(t), 'bus');
  const publisher = await publisherOf(t, directory, { segmentBytes: SEGMENT_BYTES });
  await publisher.publish(records(1, 5000)); // more than fit into a segment
  await publisher.close();
  return [await History.open(directory), directory];
}

const mappings = (words) =>
  readFileSync('/proc/self/maps', 'utf8').split('\n').filter((line) => line.includes(words)).length;
const channels = () => mappings('lapwing-channel');

async function channel(t) {
  const path = join(folder(t), 'c.sock');
  const listener = Listener.open(path);
  const [consumer, producer] = await Promise.all([listener.accept('consumer', wait), Producer.connect(path, wait)]);
  listener.destroy();
  t.after(() => [consumer, producer].forEach((handle) => handle.destroy()));
  return [producer, consumer];
}

const message = (words) => ({ type: 1, payload: Buffer.from(words) });

for (const how of ['unmapped', 'forgotten']) {
  test(`Mapped memory stays while an array of it is in use, and goes after it: ${how}`, async (t) => {
    const [history, directory] = await finishedHistory(t);
    const warnings = [];
    const onWarning = ({ message }) => warnings.push(message);
    process.on('warning', onWarning);
    t.after(() => process.off('warning', onWarning));
    let bytes = (() => {
      const view = history.map(1n, 16n);
      const { unsafeBytes } = view;
      if (how === 'unmapped') view.unmap();
      return unsafeBytes.subarray(0, ROW_BYTES);
    })();
    history.destroy();
    await collect();
    assert.deepEqual(Uint8Array.from(bytes), records(1, 1));
    assert.ok(mappings(directory) > 0);
    bytes = undefined;
    await collectUntil(() => mappings(directory) === 0);
    await collect();
    assert.equal(warnings.filter((words) => /HistoryView/.test(words)).length, how === 'forgotten' ? 1 : 0);
  });
}

test('A view whose memory was not given out is unmapped at once', async (t) => {
  const [history, directory] = await finishedHistory(t);
  const view = history.map(1n, 16n);
  history.destroy();
  assert.ok(mappings(directory) > 0);
  view.unmap();
  assert.equal(mappings(directory), 0);
});

for (const how of ['destroyed', 'forgotten']) {
  test(`A borrowed message can be read while an array of it is in use: ${how}`, async (t) => {
    await collect();
    const before = channels();
    let bytes = await (async () => {
      const path = join(folder(t), 'c.sock');
      const listener = Listener.open(path);
      const [consumer, producer] = await Promise.all([listener.accept('consumer', wait), Producer.connect(path, wait)]);
      await producer.send(message('borrowed'));
      const [view] = await consumer.unsafePeek(1, wait);
      const { payload } = view;
      listener.destroy();
      if (how === 'destroyed') {
        consumer.destroy();
        assert.throws(() => view.payload, { code: 'misuse' });
        await assert.rejects(producer.drain(wait), (error) => ['closed', 'peer-gone'].includes(error.code));
      }
      producer.destroy();
      return payload.subarray();
    })();
    await collect();
    assert.equal(Buffer.from(bytes).toString(), 'borrowed');
    bytes = undefined;
    await collectUntil(() => channels() === before);
  });
}

test('What is written to a claim after its commit reaches nobody', async (t) => {
  const [producer, consumer] = await channel(t);
  const claim = await producer.claim(8, wait);
  const { payload } = claim;
  payload.set(Buffer.from('sent now'));
  claim.commit(1);
  payload.fill(0);
  assert.equal((await consumer.receive(wait)).payload.toString(), 'sent now');
  producer.destroy();
  payload.fill(0);
});

test('A commit of more than was claimed is refused, also where the memory was transferred', async (t) => {
  const [producer] = await channel(t);
  const claim = await producer.claim(8, wait);
  assert.throws(() => claim.commit(1, 9), { code: 'misuse' });
  assert.throws(() => claim.commit(1, -1), { code: 'misuse' });
  structuredClone(claim.payload.buffer, { transfer: [claim.payload.buffer] });
  assert.throws(() => claim.commit(1, 8), { code: 'misuse' });
  claim.abort();
});

test('A peek of no number of messages is refused', async (t) => {
  const [producer, consumer] = await channel(t);
  await producer.send(Array.from({ length: 64 }, () => message('one of many')));
  for (const max of [-1, Number.NaN]) assert.throws(() => consumer.tryPeek(max), { code: 'invalid-argument' });
  assert.equal(consumer.tryPeek(64).length, 64);
});

for (const memory of ['memory', 'sequences', 'conflated']) {
  test(`A batch is refused once its memory was transferred: ${memory}`, async (t) => {
    const directory = join(folder(t), 'bus');
    const publisher = await publisherOf(t, directory);
    publisher.tryPublish(records(1, 4));
    const subscriber = Subscriber.open({ directory, start: 'oldest' });
    t.after(() => subscriber.destroy());
    const batch = new Batch({ rows: 16, rowBytes: ROW_BYTES, sequences: true, conflated: true });
    await readUntil('records', subscriber, batch);
    const { buffer } = batch[memory];
    structuredClone(buffer, { transfer: [buffer] });
    assert.throws(() => subscriber.tryRead(batch), { code: 'misuse' });
    await assert.rejects(subscriber.read(batch, wait), { code: 'misuse' });
  });
}

test('A batch that another thread fills is refused elsewhere', async (t) => {
  const directory = join(folder(t), 'bus');
  const publisher = await publisherOf(t, directory);
  const [busy, other] = ['busy', 'backoff'].map((how) => Subscriber.open({ directory, wait: how }));
  const books = new Books();
  t.after(() => [busy, other, books].forEach((handle) => handle.destroy()));
  const batch = new Batch({ rows: 16, rowBytes: ROW_BYTES });
  await readUntil('caught-up', busy, batch);
  const read = busy.read(batch, wait);
  await assert.rejects(other.read(batch, wait), { code: 'misuse' });
  assert.throws(() => books.take(batch), { code: 'misuse' });
  publisher.tryPublish(records(1, 1));
  assert.deepEqual((await read).rows, records(1, 1));
  assert.equal((await other.read(batch, wait)).type, 'session');
});

test('Records may be overwritten as soon as publish() returns its promise', async (t) => {
  const directory = join(folder(t), 'bus');
  const publisher = await publisherOf(t, directory, { capacity: 2048 });
  const count = 200_000; // many times the ring's capacity
  const memory = records(1, count);
  const published = publisher.publish(memory, wait);
  memory.fill(0);
  assert.equal(await published, BigInt(count));
  assert.ok(publisher.inspect().journalStalls > 0n, 'void: the journal was never behind');
  await publisher.close();
  const history = await History.open(directory);
  const batch = new Batch({ rows: count, rowBytes: ROW_BYTES });
  for (let sequence = 1; sequence <= count; sequence += batch.count) {
    await history.read(BigInt(sequence), batch);
    assert.equal(Buffer.compare(batch.rows, records(sequence, batch.count)), 0);
  }
  history.destroy();
});

for (const how of ['busy', 'backoff']) {
  test(`SIGINT ends a process that waits without end: ${how}`, async (t) => {
    const directory = join(folder(t), 'bus');
    await publisherOf(t, directory);
    const child = start('waiting.mjs', directory, 'stay', how);
    await printed(child, 'waits');
    child.kill('SIGINT');
    assert.equal(await ended(child), 'SIGINT', child.err);
  });
}
