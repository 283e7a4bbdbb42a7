import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { errorName, isLapwingError, LapwingError, Publisher, setLog, Subscriber, version } from 'lapwing';
import { constants } from '../dist/abi.js';
import { ended, folder, publisherOf, start } from './buses.mjs';

test('The library says its release and its interface', () => {
  assert.match(version.release, /^\d+\.\d+\.\d+/);
  assert.match(version.abi, /^1\.\d+$/);
});

test('Every number of an error has a name, and other numbers are unknown', () => {
  for (const [constant, number] of Object.entries(constants)) {
    if (!constant.startsWith('ERROR_')) continue;
    assert.equal(errorName(number), constant.slice('ERROR_'.length).toLowerCase().replaceAll('_', '-'));
  }
  assert.equal(errorName(13), 'timed-out');
  assert.equal(errorName(34), 'event-due');
  assert.equal(errorName(35), 'no-answer');
  assert.equal(errorName(36), 'unknown');
});

test('An error has its number, its name, errno and words', async (t) => {
  const directory = join(folder(t), 'missing', 'bus');
  const error = await Publisher.open({ directory, recordBytes: 7 }).catch((thrown) => thrown);
  assert.ok(error instanceof LapwingError);
  assert.equal(error.name, 'LapwingError');
  assert.equal(error.code, errorName(error.number));
  assert.equal(typeof error.errno, 'number');
  assert.ok(error.message.length > error.code.length, error.message);
});

test('isLapwingError accepts the codes that it is given, or any if none is given', () => {
  const timedOut = new LapwingError(13, 'nothing came');
  assert.equal(timedOut.code, 'timed-out');
  assert.equal(isLapwingError(timedOut), true);
  assert.equal(isLapwingError(timedOut, 'timed-out'), true);
  assert.equal(isLapwingError(timedOut, 'closed', 'timed-out'), true);
  assert.equal(isLapwingError(timedOut, 'closed'), false);
  for (const other of [new Error('timed-out'), { code: 'timed-out' }, undefined, null, 'timed-out']) {
    assert.equal(isLapwingError(other), false);
    assert.equal(isLapwingError(other, 'timed-out'), false);
  }
});

async function withLibrary(path, ...rest) {
  const before = process.env.LAPWING_LIBRARY;
  process.env.LAPWING_LIBRARY = path;
  const child = start('import_only.mjs', ...rest);
  process.env.LAPWING_LIBRARY = before;
  return [await ended(child), child.err];
}

for (const [abi, is] of [[0x20000, 'another major'], [0x00009, 'an older major']]) {
  test(`A library of ${is} is refused in words`, { skip: !existsSync('/usr/bin/cc') && 'no C compiler' }, async (t) => {
    const here = folder(t);
    const source = join(here, 'fake.c');
    const library = join(here, 'libfake.so');
    writeFileSync(source, `const char *lapwing_version(unsigned *abi) { *abi = ${abi}; return "9.9.9"; }\n`);
    execFileSync('/usr/bin/cc', ['-shared', '-fPIC', '-o', library, source]);
    const [code, said] = await withLibrary(library);
    assert.notEqual(code, 0);
    assert.match(said, /Lapwing 9\.9\.9 with the C interface \d+\.\d+; this package needs 1\.0/);
  });
}

test('A library that is missing is named, and what to do', async () => {
  const [code, said] = await withLibrary('/nowhere/liblapwing.so.1');
  assert.notEqual(code, 0);
  assert.match(said, /\/nowhere\/liblapwing\.so\.1 cannot be loaded.*LAPWING_LIBRARY/s);
});

test('The log of publishers reaches a function', async (t) => {
  const lines = [];
  setLog((line) => lines.push(line));
  t.after(() => setLog(undefined));
  const directory = join(folder(t), 'bus');
  await publisherOf(t, directory);
  setLog(undefined);
  assert.ok(lines.some((line) => /journal .* is written by/.test(line)), lines.join());
  const before = lines.length;
  await publisherOf(t, `${directory}2`);
  assert.equal(lines.length, before);
});

test('A handle that is forgotten is destroyed, with a warning', async (t) => {
  const directory = join(folder(t), 'bus');
  const warning = new Promise((resolve) => process.once('warning', resolve));
  (() => Subscriber.open({ directory }))();
  while (!(await Promise.race([warning, new Promise((resolve) => setTimeout(resolve, 20, false))]))) {
    globalThis.gc();
  }
  const { name, message } = await warning;
  assert.equal(name, 'LapwingWarning');
  assert.match(message, /subscriber was garbage-collected/);
});
