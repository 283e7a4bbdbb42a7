// Items: rows and events have a `type`, and each type of event has its own members.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import test from 'node:test';
import { Batch, Books, Subscriber } from 'lapwing';
import { folder, publisherOf, readUntil, records, ROW_BYTES } from './buses.mjs';

const COMMON = ['type', 'sequence', 'text', 'journalId', 'sessionId'];
const batchOf = () => new Batch({ rows: 64, rowBytes: ROW_BYTES });

test('A session has the members of a session, and no others', async (t) => {
  const directory = join(folder(t), 'bus');
  await publisherOf(t, directory, { schemaName: 'kv16' });
  const subscriber = Subscriber.open({ directory, start: 'oldest' });
  t.after(() => subscriber.destroy());
  const session = await readUntil('session', subscriber, batchOf());
  const { type, sequence, recordBytes, schemaName, isDescribed, isFiltered, isFirstSession } = session;
  assert.deepEqual(
    { type, sequence, recordBytes, schemaName, isDescribed, isFiltered, isFirstSession },
    { type: 'session', sequence: 1n, recordBytes: 16, schemaName: 'kv16', isDescribed: true, isFiltered: false, isFirstSession: true },
  );
  assert.deepEqual(Object.keys(session),
    [...COMMON, 'recordBytes', 'schemaName', 'isDescribed', 'isFiltered', 'isFirstSession']);
  assert.match(`${session}`, /^session 1/);
  const caughtUp = await readUntil('caught-up', subscriber, batchOf());
  assert.deepEqual(Object.keys(caughtUp), COMMON);
  assert.match(`${caughtUp}`, /^caught-up 0/);
});

for (const [onGap, isSkipped] of [['fill', false], ['skip', true]]) {
  test(`A gap has its range and its cause, and prints as one line: ${onGap}`, async (t) => {
    const directory = join(folder(t), 'bus');
    const publisher = await publisherOf(t, directory);
    const subscriber = Subscriber.open({ directory, onGap });
    t.after(() => subscriber.destroy());
    await readUntil('caught-up', subscriber, batchOf());
    await publisher.publish(records(1, 20_000)); // laps the ring, which has 4,096 slots
    await publisher.flush();
    const gap = await readUntil('gap', subscriber, batchOf());
    assert.deepEqual(Object.keys(gap), [...COMMON, 'cause', 'first', 'last', 'resume', 'fillable', 'isSkipped']);
    assert.deepEqual([gap.cause, gap.first, gap.fillable, gap.isSkipped], ['lapped', 1n, true, isSkipped]);
    assert.ok(gap.last > 10_000n && gap.resume === gap.last + 1n, `${gap}`);
    assert.ok(`${gap}`.startsWith(`gap 1..${gap.last} lapped fillable`), `${gap}`);
    const { first } = await readUntil('records', subscriber, batchOf());
    assert.equal(first, isSkipped ? gap.resume : 1n);
  });
}

test('Books refuse what is not an item', () => {
  const books = new Books();
  for (const wrong of [undefined, null, {}, { type: 'gap' }, 'gap', new Uint8Array(8)]) {
    assert.throws(() => books.take(wrong), { code: 'invalid-argument', message: /Give what a read or an iteration returned/ });
  }
  books.destroy();
});
