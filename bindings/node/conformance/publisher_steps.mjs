import { Publisher } from 'lapwing';
import { given, Handles, writeRecord } from './step.mjs';

const publishers = new Handles();

function rowsOf(step, bytes) {
  const count = step.number('count');
  const rows = new Uint8Array(count * bytes);
  const from = step.bigint('from');
  for (let row = 0; row < count; ++row) writeRecord(rows, row * bytes, from + BigInt(row), bytes);
  return rows;
}

export const publisherSteps = {
  'publisher.open': async (step) =>
    publishers.put(step, await Publisher.open(given({
      directory: step.text('directory'),
      schemaName: step.text('schema_name'),
      schema: step.text('schema'),
      recordBytes: step.number('record_bytes'),
      capacity: step.number('capacity'),
      segmentBytes: step.number('segment_bytes'),
      retainBytes: step.number('retain_bytes'),
      sourceId: step.bigint('source_id'),
      noJournal: step.isOn('no_journal'),
      resume: step.isOn('resume'),
    }), step.wait)),
  'publisher.publish': async (step) => {
    let last;
    try {
      const publisher = publishers.of(step);
      const bytes = step.number('bytes', publisher.recordBytes);
      last = await publisher.publish(rowsOf(step, bytes), { recordBytes: bytes, ...step.wait });
    } catch (error) {
      throw Object.assign(error, { more: ` last=${error.last ?? 0}` });
    }
    return `ok last=${last}`;
  },
  'publisher.flush': async (step) => `ok durable=${await publishers.of(step).flush(step.wait)}`,
  'publisher.inspect': (step) => {
    const info = publishers.of(step).inspect();
    return `ok record_bytes=${info.recordBytes} first=${info.first} head=${info.head} ` +
      `settled=${info.settled} journal=${info.journalState} source_offset=${info.sourceOffset} ` +
      `void=${info.voidFirst}-${info.voidLast}`;
  },
  'publisher.close': async (step) => {
    await publishers.of(step).close(step.wait);
    return 'ok';
  },
  'publisher.interrupt': (step) => {
    publishers.of(step).interrupt();
    return 'ok';
  },
  'publisher.destroy': (step) => publishers.destroy(step),
};
