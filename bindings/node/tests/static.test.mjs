// Compiles the examples, the programs in README.md and types.mts with tsc --strict and checkJs. Then runs the compiled
// programs from README.md and the TypeScript example; examples.test.mjs runs the other examples.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test, { before } from 'node:test';
import { fileURLToPath } from 'node:url';
import { folder, metadataOf, publisherOf } from './buses.mjs';

const MAIN_LOOP_LINES_MAX = 15;
const ROOT = fileURLToPath(new URL('..', import.meta.url));
const PROGRAMS = join(ROOT, 'programs'); // extracted from README.md
const COMPILED = join(ROOT, 'compiled');
const TSC = join(ROOT, 'node_modules/.bin/tsc');
const OPTIONS = [
  '--strict', '--allowJs', '--checkJs', '--module', 'nodenext', '--target', 'es2022', '--types', 'node', '--pretty', 'false',
  '--noEmitOnError', '--rootDir', '.', '--outDir', COMPILED,
];
const programs = [...readFileSync(join(ROOT, 'README.md'), 'utf8').matchAll(/^```js\n(.*?)^```$/gms)].map(([, text]) => text);

let answer = ''; // what tsc reports

before(() => {
  for (const path of [PROGRAMS, COMPILED]) rmSync(path, { recursive: true, force: true });
  mkdirSync(PROGRAMS);
  programs.forEach((text, index) => writeFileSync(join(PROGRAMS, `readme_${index + 1}.mjs`), text));
  const files = ['examples', 'programs'].flatMap((name) => readdirSync(join(ROOT, name)).map((file) => join(name, file)));
  assert.ok(files.some((file) => file.endsWith('.mts')) && files.some((file) => file.endsWith('.mjs')));
  const { stdout, status } = spawnSync(TSC, [...OPTIONS, ...files, 'tests/types.mts'], { cwd: ROOT, encoding: 'utf8' });
  answer = status === 0 ? '' : stdout || `tsc ended with ${status}`;
});

test('tsc --strict accepts the examples, the programs of README.md, and types.mts', () => {
  assert.equal(answer, '');
});

test('The main loop of README.md has at most 15 lines, and a branch each for the end and for events', () => {
  const lines = programs[0].trimEnd().split('\n');
  const first = lines.findIndex((line) => line.includes('Subscriber.open('));
  assert.ok(first > 0 && lines.at(-1) === '}', programs[0]);
  assert.ok(lines.length - first <= MAIN_LOOP_LINES_MAX, `${lines.length - first} lines`);
  assert.deepEqual(programs[0].match(/\bcase '.*?'|\bdefault\b/g), ["case 'records'", "case 'closed'", 'default']);
});

/** Publishes quotes to a bus with the example publish.mjs. */
const publish = (here, name, count) =>
  execFileSync(process.execPath, [join(ROOT, 'examples/publish.mjs'), join(here, name), String(count)]);

const run = (program, here, ...words) =>
  execFileSync(process.execPath, [join(COMPILED, program), ...words], { cwd: here, encoding: 'utf8' });

test('two_buses.mts follows two buses in one thread', (t) => {
  const here = folder(t);
  publish(here, 'a', 20);
  publish(here, 'b', 30);
  const printed = run('examples/two_buses.mjs', here, './a', './b');
  for (const line of ['./a: session 1', './b: session 1', './a: closed 20', './b: closed 30']) {
    assert.ok(printed.includes(line), printed);
  }
  assert.match(printed, /^20 and 30 quotes; the best bid is 4507\.25, of \.\/b$/m);
});

test('Each program of README.md runs', async (t) => {
  const here = folder(t);
  publish(here, 'quotes', 20);
  publish(here, 'trades', 10);
  const es = await publisherOf(t, join(here, 'es'), { metadata: metadataOf([['ESH4', 7, 20240101, 20250101]]) });
  await es.close();
  const printed = programs.map((_, index) => run(`programs/readme_${index + 1}.mjs`, here));
  const [main, errors, twoBuses, batches, symbols] = printed;
  assert.equal(programs.length, 5);
  const lines = main.trimEnd().split('\n');
  assert.match(lines[0], /^session 1/);
  assert.equal(lines.filter((line) => /^\d+n \d+n$/.test(line)).length, 20);
  assert.ok(lines.includes('20n 4504750000000n'));
  assert.equal(lines.at(-1), 'the publisher closed the bus after record 20');
  assert.match(errors, /\nno item for a second\n$/);
  assert.match(twoBuses, /^\.\/quotes 20 records from 1n$/m);
  assert.match(twoBuses, /^\.\/trades 10 records from 1n$/m);
  assert.equal(batches, 'the highest bid is 4504750000000n\n');
  assert.equal(symbols, '7\nESH4\nESH4 20240101 20250101\n');
});
