// Steps that misuse the package in the ways a JavaScript program could: the contract's section "Misuse".
import {
  Batch, Books, Cursor, History, LapwingError, Listener, Producer, Publisher, Subscriber,
} from 'lapwing';
import { recordOf } from './step.mjs';

const ROW_BYTES = 16;
const BATCH_ROWS = 16;
const RING_RECORDS = 4096;
const DROPPED_RECORDS = 1000;
const WAIT_MS = 200;
const EXIT_CODE = 7;
const limit = { timeout: 10_000 };
const message = { type: 1, payload: recordOf(1n, ROW_BYTES) };

/** Returns the code or name of the error with which a call fails, or 'ok'. */
async function answerOf(call) {
  try {
    await call();
    return 'ok';
  } catch (error) {
    return error instanceof LapwingError ? error.code : error.name;
  }
}

const turn = () => new Promise(setImmediate);
const batchOfRows = () => new Batch({ rows: BATCH_ROWS, rowBytes: ROW_BYTES });

const openPublisher = (directory) =>
  Publisher.open({ directory, recordBytes: ROW_BYTES, capacity: RING_RECORDS }, limit);

async function openChannel() {
  const listener = Listener.open('own.sock');
  const [consumer, producer] = await Promise.all([
    listener.accept('consumer', limit), Producer.connect('own.sock', limit),
  ]);
  return { listener, consumer, producer };
}

async function openOneOfEach(directory) {
  return {
    publisher: await openPublisher('own'),
    subscriber: Subscriber.open({ directory, start: 'oldest' }),
    cursor: await Cursor.open('own.cursor', limit),
    history: await History.open(directory),
    books: new Books(),
    ...await openChannel(),
  };
}

async function closeTwice(handles) {
  for (const handle of handles) {
    await handle.close?.(limit);
    await handle.close?.(limit);
    handle.destroy();
    handle.destroy();
  }
}

async function usedAfter(step) {
  const handles = await openOneOfEach(step.text('directory'));
  const { publisher, subscriber, cursor, history, books, listener, producer, consumer } = handles;
  const position = subscriber.position();
  await closeTwice(Object.values(handles));
  const calls = [
    () => publisher.publish(message.payload),
    () => subscriber.read(batchOfRows()),
    () => cursor.commit(position),
    () => history.read(1n, batchOfRows()),
    () => books.take(batchOfRows()),
    () => listener.accept('consumer'),
    () => producer.send(message),
    () => consumer.peek(1),
  ];
  const answers = new Set();
  for (const call of calls) answers.add(await answerOf(call));
  return `ok kinds=${calls.length} answers=${[...answers].sort().join(',')}`;
}

async function readUntilItFails(subscriber, options) {
  for (const batch = batchOfRows(); ;) await subscriber.read(batch, options);
}

async function twoReads(step) {
  const subscriber = Subscriber.open({ directory: step.text('directory') });
  const first = answerOf(() => readUntilItFails(subscriber));
  let second;
  do {
    await turn();
    second = await answerOf(() => readUntilItFails(subscriber, { timeout: 0 }));
  } while (second === 'would-block');
  subscriber.interrupt();
  const answer = `ok second=${second} first=${await first}`;
  subscriber.destroy();
  return answer;
}

async function exitInWait(step) {
  void readUntilItFails(Subscriber.open({ directory: step.text('directory'), wait: 'busy' })); // on another thread
  await new Promise((resolve) => setTimeout(resolve, WAIT_MS));
  process.exit(EXIT_CODE);
}

let dropped;

async function openDropped(step) {
  dropped = await openPublisher(step.text('directory'));
  await dropped.publish(new Uint8Array(DROPPED_RECORDS * ROW_BYTES), limit);
  return 'ok';
}

/** Drops the publisher and waits for the warning that follows its destruction by the garbage collector. */
async function drop() {
  let isDestroyed = false;
  process.once('warning', () => (isDestroyed = true));
  const began = performance.now();
  dropped = undefined;
  while (!isDestroyed) {
    globalThis.gc();
    await turn();
  }
  return `ok ms=${Math.round(performance.now() - began)}`;
}

export const misuseSteps = {
  'misuse.used-after': usedAfter,
  'misuse.two-threads': twoReads,
  'misuse.wait': (step) => readUntilItFails(Subscriber.open({ directory: step.text('directory') })),
  'misuse.exit-in-wait': exitInWait,
  'misuse.open-dropped': openDropped,
  'misuse.drop': drop,
};
