// The conformance driver for Node.js (tests/conformance/bindings/README.md). It uses only public interfaces.
import { createInterface } from 'node:readline';
import { errorName, LapwingError, Schema, version } from 'lapwing';
import { channelSteps } from './channel_steps.mjs';
import { historySteps } from './history_steps.mjs';
import { misuseSteps } from './misuse_steps.mjs';
import { publisherSteps } from './publisher_steps.mjs';
import { Step } from './step.mjs';
import { subscriberSteps } from './subscriber_steps.mjs';

const UNKNOWN = 36;
const COLLECTED_STEPS = 500; // collects garbage this often, so that growing memory means a leak
const types = ['', 'int8', 'int16', 'int32', 'int64', 'uint8', 'uint16', 'uint32', 'uint64',
  'float32', 'float64', 'char', 'text', 'bytes'];
const units = ['plain', 'price', 'utc_ns', 'flags'];
const roles = ['data', 'time', 'key', 'publish_time', 'spare'];

const librarySteps = {
  'library.version': () => `ok abi=${version.abi}`,
  'library.errors': () => {
    const names = Array.from({ length: UNKNOWN + 1 }, (_, number) => `${number}=${result(errorName(number))}`);
    return `ok ${names.join(',')}`;
  },
  'library.schema': (step) => {
    const directory = step.text('directory');
    const schema = directory === undefined ? Schema.named(step.text('name')) : Schema.of(directory);
    const fields = schema.fields.map(({ name, type, offset, bytes, unit, role }) =>
      [name, types.indexOf(type), offset, bytes, units.indexOf(unit), roles.indexOf(role)].join(':'));
    return `ok name=${schema.name} version=${schema.version} record_bytes=${schema.recordBytes} ` +
      `fields=${fields.join(',')}`;
  },
};

const steps = {
  ...librarySteps, ...publisherSteps, ...subscriberSteps, ...historySteps, ...channelSteps,
  ...misuseSteps,
};

function result(name) {
  if (!process.env.LAPWING_CONFORMANCE_BREAK) return name;
  return { 'timed-out': 'would-block', 'would-block': 'timed-out' }[name] ?? name;
}

/** Returns the answer to a step. If it failed, returns its lines so far, the error's name and more details. */
async function run(step) {
  const operation = steps[step.operation];
  if (!operation) return 'unsupported-step';
  try {
    return await operation(step);
  } catch (error) {
    if (!(error instanceof LapwingError)) throw error;
    return [...(error.lines ?? []), result(error.code) + (error.more ?? '')].join('\n');
  }
}

const begun = new Map();

function answer(line) {
  const [word, name] = line.split(' ', 2);
  if (word === 'end') return begun.get(name);
  if (word !== 'begin') return run(new Step(line));
  begun.set(name, run(new Step(line.slice(`begin ${name} `.length))));
  return 'ok';
}

let answered = 0;
for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(`${await answer(line)}\n.\n`);
  if (++answered % COLLECTED_STEPS === 0) globalThis.gc();
}
process.exit(0);
