import { Batch, Books, Cursor, Start, Subscriber } from 'lapwing';
import { bit, Digest, digestOf, given, Handles, notFound } from './step.mjs';

const ROW_BYTES_MAX = 4096;
const BOOK_ROW_BYTES_MAX = 64;
const READ_ALL_ROWS = 64;
const BOOKS_ROWS = 64;

const subscribers = new Handles();
const cursors = new Handles();
const books = new Handles();
const positions = new Map();

export function batchOf(rows, bytes = rows * ROW_BYTES_MAX) {
  return new Batch({ rows, bytes, sequences: true, conflated: true });
}

/** The rows between two events, regardless of batch boundaries. */
class Run {
  #type = '';
  #digest = new Digest();
  #count = 0;

  add(batch) {
    if (batch.count === 0) return;
    if (this.#count === 0) [this.#type, this.first] = [batch.type, batch.type === 'records' ? batch.sequence(0) : 0n];
    if (batch.type === 'records') this.last = batch.sequence(batch.count - 1);
    this.isSparse = batch.isSparse;
    this.rowBytes = batch.rowBytes;
    this.conflated = batch.conflated.reduce((sum, one) => sum + one, this.conflated ?? 0n);
    this.#count += batch.count;
    this.#digest.add(batch.rows);
  }

  get lines() {
    if (this.#count === 0) return [];
    const rows = `count=${this.#count} row_bytes=${this.rowBytes} digest=${this.#digest.text}`;
    if (this.#type === 'state') return [`ok state ${rows}`];
    const conflated = this.isSparse ? ` conflated=${this.conflated}` : '';
    return [`ok records first=${this.first} last=${this.last} ${rows}${conflated}`];
  }
}

function eventLine(event) {
  let text = `ok event kind=${event.type} sequence=${event.sequence}`;
  if (['gap', 'lost'].includes(event.type)) {
    text += ` first=${event.first} last=${event.last} cause=${event.cause} fillable=${bit(event.fillable)}`;
  }
  if (['session', 'reset'].includes(event.type)) {
    text += ` record_bytes=${event.recordBytes} schema=${event.schemaName}`;
  }
  if (event.type === 'snapshot-complete') text += ` entries=${event.stateEntries}`;
  return text;
}

export function itemLine(item) {
  if (!(item instanceof Batch)) return eventLine(item);
  const run = new Run();
  run.add(item);
  return run.lines[0];
}

function startOf(step) {
  const value = step.bigint('value');
  switch (step.text('start')) {
    case 'oldest': return Start.oldest();
    case 'snapshot': return Start.snapshot();
    case 'sequence': return Start.sequence(value);
    case 'time': return Start.time(value);
    case 'after': return Start.after(positions.get(step.text('position')));
    default: return Start.live();
  }
}

const rowBytesOf = (subscriber) => subscriber.inspect().recordBytes || ROW_BYTES_MAX;

async function readAll(step) {
  const subscriber = subscribers.of(step);
  const batch = batchOf(READ_ALL_ROWS);
  const lines = [];
  let run = new Run();
  for (;;) {
    let item;
    try {
      item = await subscriber.read(batch, step.wait);
    } catch (error) {
      throw Object.assign(error, { lines: [...lines, ...run.lines] });
    }
    if (item === batch) {
      run.add(batch);
      continue;
    }
    lines.push(...run.lines, eventLine(item));
    run = new Run();
    if (item.type === step.text('until')) return [...lines, 'ok'].join('\n');
  }
}

export const subscriberSteps = {
  'subscriber.open': (step) => {
    const conflate = step.has('conflate_ms') && { intervalMs: step.number('conflate_ms') };
    return subscribers.put(step, Subscriber.open(given({
      directory: step.text('directory'),
      start: startOf(step),
      fold: step.text('fold'),
      expect: step.text('expect'),
      instruments: step.list('instruments'),
      onGap: step.text('on_gap'),
      wait: step.text('wait'),
      endAtClose: step.isOn('end_at_close'),
      reattachMs: step.number('reattach_ms'),
      staleAfterMs: step.number('stale_after_ms'),
      behindRecords: step.number('behind_records'),
      conflate,
    })));
  },
  'subscriber.read': async (step) => {
    const subscriber = subscribers.of(step);
    const rows = step.number('rows');
    const batch = batchOf(rows, step.number('bytes') ?? rows * rowBytesOf(subscriber));
    try {
      return itemLine(await subscriber.read(batch, step.wait));
    } catch (error) {
      if (error.code === 'too-small') error.more = ` row_bytes=${error.rowBytes}`;
      throw error;
    }
  },
  'subscriber.read-all': readAll,
  'subscriber.take': async (step) => {
    const subscriber = subscribers.of(step);
    const record = new Uint8Array(step.number('bytes') ?? rowBytesOf(subscriber));
    const sequence = await subscriber.readOne(record, step.wait);
    return `ok sequence=${sequence} digest=${digestOf(record)}`;
  },
  'subscriber.inspect': (step) => {
    const info = subscribers.of(step).inspect();
    return `ok record_bytes=${info.recordBytes} schema=${info.schemaName} records=${info.records} ` +
      `first=${info.first} last=${info.last} gaps=${info.gaps} lost=${info.lost} ` +
      `filled=${info.filled} sessions=${info.sessions} filtered=${info.filtered} ` +
      `conflated=${info.conflated}`;
  },
  'subscriber.position': (step) => {
    const position = subscribers.of(step).position(step.bigint('sequence', 0n));
    positions.set(step.text('as'), position);
    return `ok sequence=${position.sequence}`;
  },
  'subscriber.fd': async (step) =>
    `ok readable=${bit(await subscribers.of(step).readable(step.wait))}`,
  'subscriber.interrupt': (step) => {
    subscribers.of(step).interrupt();
    return 'ok';
  },
  'subscriber.destroy': (step) => subscribers.destroy(step),

  'cursor.open': async (step) =>
    cursors.put(step, await Cursor.open(step.text('path'), { durable: step.isOn('durable'), ...step.wait })),
  'cursor.position': (step) => {
    const committed = cursors.of(step).position();
    if (committed === undefined) throw notFound();
    positions.set(step.text('as'), committed.position);
    const { bytes, file } = committed.output;
    return `ok sequence=${committed.position.sequence} bytes=${bytes} file=${file}`;
  },
  'cursor.commit': async (step) => {
    const output = { bytes: step.bigint('bytes', 0n), file: step.bigint('file', 0n) };
    await cursors.of(step).commit(positions.get(step.text('position')), output);
    return 'ok';
  },
  'cursor.destroy': (step) => cursors.destroy(step),

  'books.create': (step) => books.put(step, new Books()),
  'books.follow': async (step) => {
    const batch = batchOf(BOOKS_ROWS, BOOKS_ROWS * BOOK_ROW_BYTES_MAX);
    let item;
    do {
      item = await subscribers.named(step.text('from')).read(batch, step.wait);
      books.of(step).take(item);
    } while (item.type !== step.text('until'));
    return 'ok';
  },
  'books.inspect': (step) => {
    const info = books.of(step).inspect();
    return `ok sequence=${info.sequence} books=${info.books} orders=${info.orders} ` +
      `settled=${bit(info.isSettled)} loading=${bit(info.isLoading)} ` +
      `digest=${info.digest.toString(16).padStart(16, '0')}`;
  },
  'books.destroy': (step) => books.destroy(step),
};
