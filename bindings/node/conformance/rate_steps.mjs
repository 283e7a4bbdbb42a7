// How fast the package is: the contract's section "Rates". What waits asks again at once, in this thread:
// a wait of the package would be a turn of the event loop.
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

const median = (values) => values.sort((a, b) => a - b)[values.length >> 1];

function nsOf(work) {
  const began = performance.now();
  work();
  return (performance.now() - began) * NS_PER_MS;
}

/** The median of what passes take, in ns a record; `pass` returns the ns of one. One more warms up. */
function medianPassNs(step, pass) {
  const records = step.number('records');
  const each = Array.from({ length: step.number('passes') + 1 }, () => pass(records) / records);
  return median(each.slice(1));
}

/** ns a round trip of the median block; the first one warms up. */
function medianRoundTripNs(step, roundTrip) {
  const block = () => {
    for (let trip = 0; trip < BLOCK; ++trip) roundTrip();
  };
  const each = Array.from({ length: step.number('count') / BLOCK }, () => nsOf(block) / BLOCK);
  return median(each.slice(1));
}

const usedOf = ({ heapStatistics }) => heapStatistics.usedHeapSize;

/** Bytes that V8 allocates for a work: what its heap grows by, and what is collected meanwhile. */
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

function read(step) {
  const batch = new Batch({ rows: step.number('rows'), rowBytes: RECORD_BYTES });
  const garbage = [];
  const ns = medianPassNs(step, (records) => {
    const subscriber = subscriberOf(step.text('directory'));
    let took;
    garbage.push(allocatedBy(() => {
      took = nsOf(() => readAll(subscriber, batch, records));
    }));
    subscriber.destroy();
    return took;
  });
  const allocated = garbage.slice(1).reduce((sum, bytes) => sum + bytes, 0);
  const records = step.number('records') * step.number('passes');
  return `ok ns=${ns.toFixed(3)} garbage=${(allocated / records).toFixed(3)}`;
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

function take(step) {
  const record = new Uint8Array(RECORD_BYTES);
  const ns = medianPassNs(step, (records) => {
    const subscriber = subscriberOf(step.text('directory'));
    const took = nsOf(() => {
      for (let got = 0; got < records; ++got) takeOne(subscriber, record);
    });
    subscriber.destroy();
    return took;
  });
  return `ok ns=${ns.toFixed(3)}`;
}

async function publishBy(step, rows) {
  const records = new Uint8Array(rows * RECORD_BYTES).fill(1);
  const publisher = await publisherOf(step.text('directory'), PUBLISHED_CAPACITY);
  const ns = medianPassNs(step, (count) => nsOf(() => {
    for (let done = 0; done < count; done += rows) publisher.tryPublish(records);
  }));
  publisher.destroy();
  return `ok ns=${ns.toFixed(3)}`;
}

/** A bus each way: this side's publisher, and its subscriber of the other one's. */
async function openBothWays(step) {
  const publisher = await publisherOf(step.text('out'), ECHO_CAPACITY);
  const subscriber = subscriberOf(step.text('in')); // waits for the other bus, as for a publisher that restarts
  const record = new Uint8Array(RECORD_BYTES);
  return {
    publish: () => publisher.tryPublish(record),
    take: () => takeOne(subscriber, record),
    destroy: () => [subscriber, publisher].forEach((handle) => handle.destroy()),
  };
}

async function echo(step) {
  const ways = await openBothWays(step);
  for (let left = step.number('count'); left > 0; --left) {
    ways.take();
    ways.publish();
  }
  ways.destroy();
  return 'ok';
}

async function ping(step) {
  const ways = await openBothWays(step);
  const ns = medianRoundTripNs(step, () => {
    ways.publish();
    ways.take();
  });
  ways.destroy();
  return `ok ns=${ns.toFixed(1)}`;
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

async function channelEcho(step) {
  const listener = Listener.open(step.text('path'));
  const consumer = await listener.accept('consumer', { wait: 'busy' });
  const producer = await listener.accept('producer', { wait: 'busy' });
  for (let left = step.number('count'); left > 0; --left) {
    receive(consumer);
    send(producer);
  }
  await producer.drain().catch(() => undefined); // the other side may have ended behind the last message
  [consumer, producer, listener].forEach((handle) => handle.destroy());
  return 'ok';
}

async function channelPing(step) {
  const options = { wait: 'busy', retryMs: RETRY_MS, timeout: Infinity };
  const producer = await Producer.connect(step.text('path'), options);
  const consumer = await Consumer.connect(step.text('path'), options);
  const ns = medianRoundTripNs(step, () => {
    send(producer);
    receive(consumer);
  });
  [producer, consumer].forEach((handle) => handle.destroy());
  return `ok ns=${ns.toFixed(1)}`;
}

export const rateSteps = {
  'rate.read': read,
  'rate.take': take,
  'rate.publish': (step) => publishBy(step, step.number('rows')),
  'rate.publish-one': (step) => publishBy(step, 1),
  'rate.echo': echo,
  'rate.ping': ping,
  'rate.channel-echo': channelEcho,
  'rate.channel-ping': channelPing,
};
