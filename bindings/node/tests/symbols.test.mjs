// Maps symbols to instruments by date.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import test from 'node:test';
import { Symbols } from 'lapwing';
import { folder, metadataOf, publisherOf } from './buses.mjs';

const NS_PER_MS = 1_000_000n;
const utcNs = (day) => BigInt(Date.parse(`${day}T12:00:00Z`)) * NS_PER_MS;

/** Opens the symbols of a bus whose feed has these mappings, or has no metadata if `mappings` is undefined. */
async function symbolsOf(t, mappings) {
  const directory = join(folder(t), 'bus');
  await publisherOf(t, directory, mappings ? { metadata: metadataOf(mappings) } : {});
  const symbols = await Symbols.open(directory);
  t.after(() => symbols.destroy());
  return symbols;
}

test('A symbol stands for an instrument by date, and an instrument has a symbol by date', async (t) => {
  const symbols = await symbolsOf(t, [
    ['ES.c.0', 7, 20240101, 20240301], ['ES.c.0', 8, 20240301, 20240601], ['NQ.c.0', 9, 20240101, 20250101],
  ]);
  assert.equal(symbols.find('ES.c.0', utcNs('2024-02-29')), 7);
  assert.equal(symbols.find('ES.c.0', utcNs('2024-03-01')), 8); // an end date is exclusive
  assert.equal(symbols.find('ES.c.0', utcNs('2030-01-01')), 8); // outside all dates, the last mapping is used
  assert.equal(symbols.find('ES', utcNs('2024-02-29')), undefined);
  assert.deepEqual(symbols.name(7, utcNs('2024-02-29')), {
    symbol: 'ES.c.0', instrumentId: 7, startDate: 20240101, endDate: 20240301,
  });
  assert.equal(symbols.name(77, utcNs('2024-02-29')), undefined);
  assert.deepEqual(symbols.list().map(Object.values), [
    ['ES.c.0', 7, 20240101, 20240301], ['ES.c.0', 8, 20240301, 20240601], ['NQ.c.0', 9, 20240101, 20250101],
  ]);
});

test('All mappings are listed, however many there are', async (t) => {
  const many = Array.from({ length: 1000 }, (_, n) => [`S${String(n).padStart(4, '0')}`, n + 1, 20240101, 20250101]);
  const symbols = await symbolsOf(t, many);
  assert.deepEqual(symbols.list().map(Object.values), many);
});

test('A feed without metadata has no symbols', async (t) => {
  const symbols = await symbolsOf(t);
  assert.deepEqual(symbols.list(), []);
  assert.equal(symbols.find('ESH4', 0n), undefined);
});

test('Arguments of symbols are checked, and symbols that were destroyed are misuse', async (t) => {
  const symbols = await symbolsOf(t);
  const refused = { code: 'invalid-argument' };
  for (const wrong of [undefined, null, -1n, 1.5, '0', 2n ** 64n, new Date()]) {
    assert.throws(() => symbols.find('ESH4', wrong), refused);
    assert.throws(() => symbols.name(1, wrong), refused);
  }
  for (const wrong of [undefined, null, -1, 1.5, '1', 2 ** 32]) assert.throws(() => symbols.name(wrong, 0n), refused);
  for (const wrong of [undefined, null, 5, 'a\0b']) {
    assert.throws(() => symbols.find(wrong, 0n), refused);
    await assert.rejects(Symbols.open(wrong), refused);
  }
  symbols.destroy();
  for (const call of [() => symbols.find('ESH4', 0n), () => symbols.name(1, 0n), () => symbols.list()]) {
    assert.throws(call, { code: 'misuse' });
  }
});
