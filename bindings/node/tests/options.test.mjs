// For each option of each call, an unknown name, a wrong word and a wrong type are errors that list the valid values.
// The names are read from the types, so a new option is tested automatically.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { fileURLToPath } from 'node:url';
import { inspect } from 'node:util';
import { Batch, Books, Consumer, Cursor, Duplex, History, Listener, Producer, Publisher, Schema, Subscriber } from 'lapwing';
import { folder, publisherOf, records, ROW_BYTES } from './buses.mjs';

const SOURCE = fileURLToPath(new URL('../src/', import.meta.url));
const NUMBERS = [-1, 1.5, Number.NaN, '1', true, null, 2n ** 64n];
const DURATIONS = [-1, Number.NaN, '1', true, null, 1n];
const TEXTS = [5, null, ['text'], true, 'a\0b'];
const WRONG = {
  string: TEXTS,
  number: NUMBERS,
  bigint: NUMBERS,
  'number | bigint': NUMBERS,
  boolean: [0, 1, 'yes', null],
  Uint8Array: ['bytes', 5, [1], new BigUint64Array(1)],
  'Schema | string': [5, null, { name: 'x' }, '', 'dbn.mbo'],
  Start: ['oldset', '', 5, null, [], {}, { sequence: '1' }, { sequence: -1n }, { time: 1.5 }, { strat: 1n }, { after: null }],
  'readonly string[]': ['ESH4', 5, null, [null], [true]],
  'readonly (string | number | bigint)[]': ['ESH4', 5, null, [null], [true], [-1], [1.5], [-1n]],
  'boolean | { readonly intervalMs?: number; readonly keysMax?: number }':
    ['yes', 1, null, { interval: 5 }, { intervalMs: '5' }, { keysMax: -1 }, { keysMax: 1.5 }],
  AbortSignal: ['signal', {}, null, 5],
};

/** Returns the options of an interface as [name, type]. */
function optionsOf(name) {
  const sources = readdirSync(SOURCE).map((file) => readFileSync(join(SOURCE, file), 'utf8'));
  const found = sources.map((text) => text.match(new RegExp(`export interface ${name}\\b[^{]*\\{\\n(.*?)\\n\\}`, 's'))).find(Boolean);
  assert.ok(found, `there is no interface ${name}`);
  return [...found[1].matchAll(/^ {2}(?:readonly )?(\w+)\??: (.*);$/gm)].map(([, option, type]) => [option, type]);
}

function wrongValues(option, type) {
  if (option === 'timeout') return [-1, Number.NaN, '1', true, null, 1n];
  if (option.endsWith('Ms')) return DURATIONS;
  if (/^'\w+'( \| '\w+')*$/.test(type)) {
    const [word] = type.match(/\w+/);
    return [word[0].toUpperCase() + word.slice(1), word.slice(1), '', 1, true, null, [word], 'toString'];
  }
  assert.ok(WRONG[type], `give wrong values for options like ${option}: ${type}`);
  return WRONG[type];
}

const CALLS = {
  Publisher: ['PublisherOptions', (options) => Publisher.open({ directory: './nowhere/bus', ...options })],
  Subscriber: ['SubscriberOptions', (options) => Subscriber.open({ directory: './nowhere/bus', ...options })],
  Cursor: ['CursorOptions', (options) => Cursor.open('./nowhere/cursor', options)],
  'Publisher waits': ['WaitOptions', (options) => Publisher.open({ directory: './nowhere/bus' }, options)],
  'Cursor waits': ['WaitOptions', (options) => Cursor.open('./nowhere/cursor', options)],
  Batch: ['BatchOptions', (options) => new Batch({ rows: 1, ...options })],
  Listener: ['ListenerOptions', (options) => Listener.open('./nowhere/socket', options)],
  takeOver: ['ListenerOptions', (options) => Listener.takeOver('./nowhere/socket', { timeout: 0, ...options })],
  Producer: ['ChannelOptions', (options) => Producer.connect('./nowhere/socket', { timeout: 0, ...options })],
  Consumer: ['ChannelOptions', (options) => Consumer.connect('./nowhere/socket', { timeout: 0, ...options })],
  Duplex: ['WaitOptions', (options) => Duplex.connect('./nowhere/socket', { timeout: 0, ...options })],
};

const refused = (words) => (error) => {
  assert.equal(error.code, 'invalid-argument', error.stack);
  for (const word of words) assert.ok(error.message.includes(word), `'${error.message}' does not name ${word}`);
  return true;
};
const call = async (what, options) => what(options);

for (const [name, [types, open]] of Object.entries(CALLS)) {
  test(`Each wrong value of an option is refused, and named: ${name}`, async () => {
    const options = optionsOf(types);
    assert.ok(options.length > 0);
    for (const [option, type] of options) {
      for (const value of wrongValues(option, type)) {
        await assert.rejects(call(open, { [option]: value }), refused([option]), `${option}: ${inspect(value)}`);
      }
    }
  });

  test(`An unknown name is answered with the names: ${name}`, async () => {
    const names = optionsOf(types).map(([option]) => option);
    await assert.rejects(call(open, { onGapp: 'stop' }), refused(["'onGapp'", ...names]));
    await assert.rejects(call(open, { [names[0].toUpperCase()]: 1 }), refused(names));
  });
}

test('A wrong word is answered with the words', () => {
  const open = (options) => () => Subscriber.open({ directory: './nowhere/bus', ...options });
  assert.throws(open({ onGap: 'Stop' }), refused(["onGap is 'Stop'", "'fill', 'skip', 'stop', 'snapshot'"]));
  assert.throws(open({ wait: 'bsuy' }), refused(["'busy', 'backoff', 'park'"]));
  assert.throws(open({ start: 'oldset' }), refused(["start is 'oldset'", 'Start.live(), Start.oldest(), Start.snapshot(), Start.sequence(n)']));
  assert.throws(open({ instruments: 'ESH4' }), refused(["Give an array: ['ESH4']"]));
  assert.throws(open({ expect: 'dbn.mbo' }), refused(["Give a Schema, or its text in JSON: Schema.named('dbn.mbo')"]));
});

test('0 is 0: refused by the library if an option needs a time', async (t) => {
  const directory = join(folder(t), 'bus');
  const publisher = (options) => Publisher.open({ directory, recordBytes: ROW_BYTES, ...options });
  const subscriber = async (options) => Subscriber.open({ directory, ...options });
  await assert.rejects(publisher({ syncIntervalMs: 0 }), refused(['sync_interval is 0']));
  await assert.rejects(publisher({ retainAgeMs: 0 }), refused(['retain_age is 0']));
  await assert.rejects(subscriber({ staleAfterMs: 0 }), refused(['stale_after is 0']));
  await assert.rejects(subscriber({ behindTimeMs: 0 }), refused(['behind_time is 0']));
  await assert.rejects(subscriber({ conflate: { intervalMs: 0 } }), refused(['interval']));
  (await subscriber({ reattachMs: 0, flushTimeoutMs: 0 })).destroy();
});

test('Infinity is no limit', async (t) => {
  const directory = join(folder(t), 'bus');
  const limits = { reattachMs: Infinity, flushTimeoutMs: Infinity, staleAfterMs: Infinity, behindTimeMs: Infinity };
  Subscriber.open({ directory, ...limits }).destroy();
  const publisher = await publisherOf(t, directory, { syncIntervalMs: Infinity, retainAgeMs: Infinity });
  publisher.tryPublish(records(1, 1));
  assert.equal(await publisher.flush(), 1n); // on request
});

test('Waits of open handles check their options', async (t) => {
  const directory = join(folder(t), 'bus');
  const publisher = await publisherOf(t, directory);
  const subscriber = Subscriber.open({ directory });
  t.after(() => subscriber.destroy());
  const batch = new Batch({ rows: 1, rowBytes: ROW_BYTES });
  const path = join(folder(t), 'c.sock');
  const listener = Listener.open(path);
  const [consumer, producer] = await Promise.all([listener.accept('consumer'), Producer.connect(path)]);
  t.after(() => [listener, consumer, producer].forEach((handle) => handle.destroy()));
  const calls = {
    read: (options) => subscriber.read(batch, options),
    readOne: (options) => subscriber.readOne(new Uint8Array(ROW_BYTES), options),
    readable: (options) => subscriber.readable(options),
    items: (options) => subscriber.items(options).next(),
    publish: (options) => publisher.publish(records(1, 1), options),
    tryPublish: (options) => publisher.tryPublish(records(1, 1), options),
    flush: (options) => publisher.flush(options),
    accept: (options) => listener.accept('consumer', options),
    peek: (options) => consumer.peek(1, options),
    unsafePeek: (options) => consumer.unsafePeek(1, options),
    receive: (options) => consumer.receive(options),
    messages: (options) => consumer.messages(options).next(),
    claim: (options) => producer.claim(8, options),
    send: (options) => producer.send({ type: 1, payload: new Uint8Array(1) }, options),
    drain: (options) => producer.drain(options),
  };
  for (const [name, wait] of Object.entries(calls)) {
    await assert.rejects(call(wait, { timeot: 5 }), refused(["'timeot'", 'timeout', 'signal']), name);
    for (const timeout of [-1, '5', null]) await assert.rejects(call(wait, { timeout }), refused(['timeout']), name);
    await assert.rejects(call(wait, { signal: 'abort' }), refused(['signal']), name);
  }
  assert.equal(publisher.inspect().head, 0n);
  await assert.rejects(listener.accept('Consumer'), refused(["'producer', 'consumer', 'duplex'"]));
});

test('Records and payloads are bytes: elements of another array would be counted as bytes', async (t) => {
  const directory = join(folder(t), 'bus');
  const publisher = await publisherOf(t, directory);
  for (const wrong of [new BigUint64Array(16), new Float64Array(2), new ArrayBuffer(16), new DataView(new ArrayBuffer(16)), 'text', [1], null]) {
    assert.throws(() => publisher.tryPublish(wrong), refused(['records', 'Give a Uint8Array']));
    await assert.rejects(publisher.publish(wrong), refused(['records', 'Give a Uint8Array']));
  }
  assert.equal(publisher.tryPublish(Buffer.from(records(1, 1))), 1n);
});

test('Sides, paths and names are checked', async () => {
  const books = new Books();
  const key = { publisherId: 1, instrumentId: 1 };
  for (const side of ['Bid', 'B', 1, undefined]) {
    assert.throws(() => books.levels(key, side), refused(["'bid', 'ask'"]));
    assert.throws(() => books.orders(key, side, 0), refused(["'bid', 'ask'"]));
  }
  assert.throws(() => books.levels(key, 'bid', { form: 1 }), refused(["'form'", 'from, max']));
  books.destroy();
  for (const wrong of [5, null, undefined, 'a\0b']) {
    await assert.rejects(History.open(wrong), refused(['directory']));
    await assert.rejects(Cursor.open(wrong), refused(['path']));
    assert.throws(() => Schema.named(wrong), refused(['name']));
    assert.throws(() => Schema.of(wrong), refused(['directory']));
    assert.throws(() => Listener.open(wrong), refused(['path']));
  }
});
