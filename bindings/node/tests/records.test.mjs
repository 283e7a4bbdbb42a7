import assert from 'node:assert/strict';
import { join } from 'node:path';
import test from 'node:test';
import { Batch, Books, History, NO_PRICE, Schema, Subscriber } from 'lapwing';
import { folder, HANG_MS, orders, publisherOf, readUntil, records, ROW_BYTES } from './buses.mjs';

const wait = { timeout: HANG_MS };
const SIGNAL = JSON.stringify({
  name: 'desk.signal', version: 3, record_bytes: 48, fields: [
    { name: 'ts', type: 'uint64', offset: 0, unit: 'utc_ns', role: 'time' },
    { name: 'instrument', type: 'uint32', offset: 8, role: 'key' },
    { name: 'weight', type: 'float32', offset: 12 },
    { name: 'fair', type: 'float64', offset: 16 },
    { name: 'side', type: 'char', offset: 24 },
    { name: 'venue', type: 'text', offset: 25, bytes: 7 },
    { name: 'delta', type: 'int16', offset: 33 },
    { name: 'price', type: 'int64', offset: 35, unit: 'price' },
    { name: 'pad', type: 'bytes', offset: 43, bytes: 5, role: 'spare' },
  ],
});
const signal = {
  ts: 2n ** 64n - 1n, instrument: 7, weight: 0.5, fair: -1e300, side: 'B', venue: 'XCME', delta: -2,
  price: -(2n ** 63n),
};

test('A struct of one\'s own is described by its bus: names, types, units, roles', async (t) => {
  const directory = join(folder(t), 'bus');
  const publisher = await publisherOf(t, directory, { recordBytes: undefined, schema: SIGNAL });
  const schema = Schema.of(directory);
  assert.deepEqual([schema.name, schema.version, schema.recordBytes], ['desk.signal', 3, 48]);
  assert.deepEqual(schema.field('price'), { name: 'price', offset: 35, bytes: 8, type: 'int64', unit: 'price', role: 'data' });
  assert.deepEqual(JSON.parse(schema.text).name, 'desk.signal');
  assert.deepEqual(schema.decode(schema.encode(signal)), signal);
  assert.equal(schema.value(schema.encode(signal), 'venue'), 'XCME');

  const count = 3;
  for (let n = 0; n < count; ++n) publisher.tryPublish(schema.encode({ ...signal, instrument: n, price: BigInt(n) }));
  const subscriber = Subscriber.open({ directory, start: 'oldest', expect: schema });
  const batch = new Batch({ rows: 8, rowBytes: 48 });
  await readUntil('records', subscriber, batch);
  assert.deepEqual(schema.column(batch, 'instrument'), Uint32Array.of(0, 1, 2)); // aligned
  assert.deepEqual(schema.column(batch, 'price'), BigInt64Array.of(0n, 1n, 2n)); // not aligned
  assert.deepEqual(schema.column(batch, 'side'), Uint8Array.of(66, 66, 66));
  const reused = new BigUint64Array(8);
  assert.equal(schema.column(batch, 'ts', reused).buffer, reused.buffer);
  assert.throws(() => schema.column(batch, 'venue'), { code: 'invalid-argument' });
  subscriber.destroy();
});

test('An instrument is a symbol as a string, or a number', async (t) => {
  const directory = join(folder(t), 'bus');
  const publisher = await publisherOf(t, directory, { recordBytes: undefined, schema: SIGNAL });
  const schema = Schema.of(directory);
  for (let n = 0; n < 6; ++n) publisher.tryPublish(schema.encode({ ...signal, instrument: n % 3 }));
  for (const one of [2, 2n, 'id:2']) {
    const subscriber = Subscriber.open({ directory, start: 'oldest', instruments: [one] });
    const batch = new Batch({ rows: 8, rowBytes: 48, sequences: true });
    await readUntil('records', subscriber, batch);
    assert.deepEqual([...schema.column(batch, 'instrument')], [2, 2]);
    subscriber.destroy();
  }
  for (const symbol of ['2', '005930']) {
    const subscriber = Subscriber.open({ directory, start: 'oldest', instruments: [symbol] });
    await assert.rejects(subscriber.read(new Batch({ rows: 1 }), wait), { code: 'not-found' });
    subscriber.destroy();
  }
  for (const wrong of [-1, 1.5, 2 ** 60, null, {}]) {
    assert.throws(() => Subscriber.open({ directory, instruments: [wrong] }), { code: 'invalid-argument' });
  }
});

test('Records of another schema than the expected one end a subscriber', async (t) => {
  const directory = join(folder(t), 'bus');
  await publisherOf(t, directory, { recordBytes: undefined, schema: SIGNAL });
  const subscriber = Subscriber.open({ directory, expect: Schema.named('dbn.mbo') });
  await assert.rejects(subscriber.read(new Batch({ rows: 1 }), wait), { code: 'record-size' });
  subscriber.destroy();
});

test('The schemas that Lapwing ships are known by name', () => {
  const mbo = Schema.named('dbn.mbo');
  assert.equal(mbo.recordBytes, 56);
  assert.equal(mbo.field('price').unit, 'price');
  assert.equal(mbo.field('instrument_id').role, 'key');
  assert.notEqual(mbo.hash, Schema.named('kv16').hash);
  assert.throws(() => Schema.named('dbn.nothing'), { code: 'not-found' });
});

test('Books are built from batches: tops, levels, orders', async (t) => {
  const directory = join(folder(t), 'bus');
  const publisher = await publisherOf(t, directory, { recordBytes: undefined, schemaName: 'dbn.mbo' });
  publisher.tryPublish(orders([['B', -1, 5], ['B', -1, 3], ['B', -2, 4], ['A', 2, 9]]));
  await publisher.close();
  const books = new Books();
  const subscriber = Subscriber.open({ directory, start: 'oldest', endAtClose: true });
  for await (const item of subscriber) books.take(item);
  const key = { publisherId: 1, instrumentId: 7 };
  assert.deepEqual(books.list(), [{ instrumentId: 7, publisherId: 1 }]);
  const book = books.find(key);
  assert.deepEqual(book.bid, { price: 99_750_000_000n, size: 8n, orders: 2 });
  assert.deepEqual(book.ask, { price: 100_500_000_000n, size: 9n, orders: 1 });
  assert.deepEqual([book.isSettled, book.isStale, book.orders, book.sequence], [true, false, 4n, 4n]);
  assert.deepEqual([book.bidLevels, book.askLevels], [2n, 1n]);
  assert.deepEqual(books.levels(key, 'bid').map(({ size }) => size), [8n, 4n]);
  assert.deepEqual(books.levels(key, 'bid', { from: 1, max: 1 }), [{ price: 99_500_000_000n, size: 4n, orders: 1 }]);
  assert.deepEqual(books.orders(key, 'bid', 0).map(({ orderId, size }) => [orderId, size]), [[1n, 5], [2n, 3]]);
  assert.throws(() => books.orders(key, 'ask', 1), { code: 'not-found' });
  assert.equal(books.find({ publisherId: 1, instrumentId: 8 }), undefined);
  assert.equal(NO_PRICE, 0x7fffffffffffffffn);
  const info = books.inspect();
  assert.deepEqual([info.books, info.orders, info.sequence], [1n, 4n, 4n]);
  books.destroy();
  assert.throws(() => books.inspect(), { code: 'misuse' });
});

test('Books refuse a batch twice, and keep what they have', async (t) => {
  const directory = join(folder(t), 'bus');
  const publisher = await publisherOf(t, directory, { recordBytes: undefined, schemaName: 'dbn.mbo' });
  publisher.tryPublish(orders([['B', -1, 5]]));
  await publisher.close();
  const books = new Books();
  const subscriber = Subscriber.open({ directory, start: 'oldest', endAtClose: true });
  let refusals = 0;
  for await (const item of subscriber) {
    books.take(item);
    if (item.type !== 'records') continue;
    assert.throws(() => books.take(item), { code: 'misuse' });
    ++refusals;
  }
  assert.equal(refusals, 1);
  assert.equal(books.inspect().orders, 1n);
  books.destroy();
});

test('The journal is read and mapped by sequence, also without a publisher', async (t) => {
  const directory = join(folder(t), 'bus');
  const rows = 100_000; // more than fit into a segment
  const publisher = await publisherOf(t, directory, { segmentBytes: 1 << 20, capacity: 1 << 17 });
  for (let from = 1; from <= rows; from += 10_000) await publisher.publish(records(from, 10_000));
  await publisher.close();
  const history = await History.open(directory);
  const info = history.inspect();
  assert.deepEqual([info.recordBytes, info.oldest, info.archived], [ROW_BYTES, 1n, BigInt(rows)]);
  const batch = new Batch({ rows: 3, rowBytes: ROW_BYTES });
  await history.read(7n, batch);
  assert.deepEqual(batch.rows, records(7, 3));
  assert.ok((await history.findTime(0n)) >= 1n);
  await assert.rejects(history.read(BigInt(rows + 1), batch), { code: 'would-block' });

  const view = history.map(2n, BigInt(rows));
  history.destroy(); // the view stays valid
  assert.ok(view.count > 0 && view.count < rows);
  assert.equal(view.first, 2n);
  assert.deepEqual(view.copyRows(), records(2, view.count));
  assert.deepEqual(view.row(5), records(7, 1));
  assert.throws(() => view.row(view.count), { code: 'invalid-argument' });
  const { unsafeBytes } = view;
  const at = 5 * view.strideBytes;
  assert.deepEqual(unsafeBytes.slice(at, at + ROW_BYTES), records(7, 1));
  view.unmap();
  assert.throws(() => view.unsafeBytes, { code: 'misuse' });
  assert.throws(() => view.row(0), { code: 'misuse' });
  view.unmap();
});

test('A record that would not be what it says is refused by the name of its field', async (t) => {
  const directory = join(folder(t), 'bus');
  await publisherOf(t, directory, { recordBytes: undefined, schema: SIGNAL });
  const schema = Schema.of(directory);
  const wrong = {
    ts: [-1n, 2n ** 64n, 1.5, 2 ** 60, '1', null], instrument: [-1, 2 ** 32, 1.5, '1', Number.NaN],
    weight: ['1', 1n, null], fair: ['1', true], side: ['', 'no', '\u20ac', 66], venue: ['longer than it', 5],
    delta: [-32769, 32768, 0.5], price: [-(2n ** 63n) - 1n, 2n ** 63n, 100.25, '100'], pad: [new Uint8Array(6), 'text'],
  };
  for (const [name, values] of Object.entries(wrong)) {
    for (const value of values) {
      assert.throws(() => schema.encode({ ...signal, [name]: value }), (error) => {
        assert.equal(error.code, 'invalid-argument', error.stack);
        assert.match(error.message, new RegExp(`^field ${name} of desk.signal `));
        return true;
      });
    }
  }
  assert.throws(() => schema.encode({ ...signal, prize: 1n }), /has no field 'prize'. Its fields are: ts, instrument/);
  const { price, delta, ...rest } = signal;
  assert.throws(() => schema.encode(rest), /has no delta, price, which desk.signal needs/);
  assert.equal(schema.encode({ ...signal, pad: new Uint8Array(5) }).length, 48); // spare fields are optional
});
