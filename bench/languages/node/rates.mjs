// The rates of the package. See README.md in bench/languages. Waits retry immediately on this thread, because the
// package's waits would each take a turn of the event loop.
import { getHeapStatistics, GCProfiler } from 'node:v8';
import { Batch, Consumer, LapwingError, Listener, Producer, Publisher, Subscriber } from 'lapwing';

const RECORD_BYTES = 56;
const MESSAGE_BYTES = 32;
const MESSAGE_TYPE = 1;
const PUBLISHED_CAPACITY = 1 << 20;
const ECHO_CAPACITY = 4096;
const BLOCK = 1000; // round trips
const RETRY_MS = 10_000;
const NS_PER_MS = 1e6;

const given = Object.fromEntries(process.argv.slice(3).map((word) => word.split('=')));
const text = (key) => given[key];
const number = (key) => Number(given[key]);

const median = (values) => values.sort((a, b) => a - b)[values.length >> 1];

function nsOf(work) {
  const began = performance.now();
  work();
  return (performance.now() - began) * NS_PER_MS;
}

/** The median time of the passes, in ns per record. `pass` returns its time in ns. One more pass is a warm-up. */
function medianPassNs(pass) {
  const records = number('records');
  const each = Array.from({ length: number('passes') + 1 }, () => pass(records) / records);
  return median(each.slice(1));
}

/** The ns per round trip in the median block. The first block is a warm-up. */
function medianRoundTripNs(roundTrip) {
  const block = () => {
    for (let trip = 0; trip < BLOCK; ++trip) roundTrip();
  };
  const each = Array.from({ length: number('count') / BLOCK }, () => nsOf(block) / BLOCK);
  return median(each.slice(1));
}

const usedOf = ({ heapStatistics }) => heapStatistics.usedHeapSize;

/** The bytes that V8 allocates during `work`: the growth of its heap plus the collected bytes. */
function allocatedBy(work) {
  const profiler = new GCProfiler();
  profiler.start();
  const before = getHeapStatistics().used_heap_size;
  work();
  const after = getHeapStatistics().used_heap_size;
  const { statistics } = profiler.stop();
  return statistics.reduce((sum, { beforeGC, afterGC }) => sum + usedOf(beforeGC) - usedOf(afterGC), after - before);
}

const subscriberOf = (directory) =>
  Subscriber.open({ directory, start: 'oldest', onGap: 'skip', wait: 'busy', reattachMs: RETRY_MS });

const publisherOf = (directory, capacity) =>
  Publisher.open({ directory, recordBytes: RECORD_BYTES, capacity, noJournal: true });

function readAll(subscriber, batch, records) {
  for (let got = 0; got < records;) if (subscriber.tryRead(batch)) got += batch.count;
}

function read() {
  const batch = new Batch({ rows: number('rows'), rowBytes: RECORD_BYTES });
  const garbage = [];
  const ns = medianPassNs((records) => {
    const subscriber = subscriberOf(text('directory'));
    let took;
    garbage.push(allocatedBy(() => {
      took = nsOf(() => readAll(subscriber, batch, records));
    }));
    subscriber.destroy();
    return took;
  });
  const allocated = garbage.slice(1).reduce((sum, bytes) => sum + bytes, 0);
  const records = number('records') * number('passes');
  return `ns=${ns.toFixed(3)} garbage=${(allocated / records).toFixed(3)}`;
}

const events = new Batch({ rows: 1, rowBytes: RECORD_BYTES });

function takeOne(subscriber, record) {
  for (;;) {
    try {
      if (subscriber.tryReadOne(record) !== undefined) return;
    } catch (error) {
      if (!(error instanceof LapwingError && error.code === 'event-due')) throw error;
      subscriber.tryRead(events);
    }
  }
}

function take() {
  const record = new Uint8Array(RECORD_BYTES);
  const ns = medianPassNs((records) => {
    const subscriber = subscriberOf(text('directory'));
    const took = nsOf(() => {
      for (let got = 0; got < records; ++got) takeOne(subscriber, record);
    });
    subscriber.destroy();
    return took;
  });
  return `ns=${ns.toFixed(3)}`;
}

async function publishBy(rows) {
  const records = new Uint8Array(rows * RECORD_BYTES).fill(1);
  const publisher = await publisherOf(text('directory'), PUBLISHED_CAPACITY);
  const ns = medianPassNs((count) => nsOf(() => {
    for (let done = 0; done < count; done += rows) publisher.tryPublish(records);
  }));
  publisher.destroy();
  return `ns=${ns.toFixed(3)}`;
}

/** One bus in each direction: this side's publisher, and a subscriber of the other side's bus. */
async function openBothWays() {
  const publisher = await publisherOf(text('out'), ECHO_CAPACITY);
  const subscriber = subscriberOf(text('in')); // waits for the other bus
  const record = new Uint8Array(RECORD_BYTES);
  return {
    publish: () => publisher.tryPublish(record),
    take: () => takeOne(subscriber, record),
    destroy: () => [subscriber, publisher].forEach((handle) => handle.destroy()),
  };
}

async function echo() {
  const ways = await openBothWays();
  for (let left = number('count'); left > 0; --left) {
    ways.take();
    ways.publish();
  }
  ways.destroy();
  return '';
}

async function ping() {
  const ways = await openBothWays();
  const ns = medianRoundTripNs(() => {
    ways.publish();
    ways.take();
  });
  ways.destroy();
  return `ns=${ns.toFixed(1)}`;
}

const bytes = new Uint8Array(MESSAGE_BYTES);

function send(producer) {
  let claim;
  do claim = producer.tryClaim(MESSAGE_BYTES);
  while (claim === undefined);
  claim.payload.set(bytes);
  claim.commit(MESSAGE_TYPE);
}

function receive(consumer) {
  let messages;
  do messages = consumer.tryPeek(1);
  while (messages.length === 0);
  bytes.set(messages[0].payload);
  consumer.release(1);
}

async function channelEcho() {
  const listener = Listener.open(text('path'));
  const consumer = await listener.accept('consumer', { wait: 'busy' });
  const producer = await listener.accept('producer', { wait: 'busy' });
  for (let left = number('count'); left > 0; --left) {
    receive(consumer);
    send(producer);
  }
  await producer.drain().catch(() => undefined); // the other side may end after the last message
  [consumer, producer, listener].forEach((handle) => handle.destroy());
  return '';
}

async function channelPing() {
  const options = { wait: 'busy', retryMs: RETRY_MS, timeout: Infinity };
  const producer = await Producer.connect(text('path'), options);
  const consumer = await Consumer.connect(text('path'), options);
  const ns = medianRoundTripNs(() => {
    send(producer);
    receive(consumer);
  });
  [producer, consumer].forEach((handle) => handle.destroy());
  return `ns=${ns.toFixed(1)}`;
}

const rates = {
  read,
  take,
  publish: () => publishBy(number('rows')),
  'publish-one': () => publishBy(1),
  echo,
  ping,
  'channel-echo': channelEcho,
  'channel-ping': channelPing,
};

console.log(await rates[process.argv[2]]());
process.exit(0);
