// Helpers for the tests: temporary folders, publishers, and child processes.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Publisher, Schema } from 'lapwing';

export const ROW_BYTES = 16;
export const HANG_MS = 30_000; // only ends a hang; no test checks durations

const REMOVALS_MAX = 500;

/** Creates a folder that is removed after the test. A publisher's threads may still write to it briefly. */
export function folder(test) {
  const path = mkdtempSync(join(tmpdir(), 'lw-node-'));
  test.after(async () => {
    for (let attempt = 1; ; ++attempt) {
      try {
        return rmSync(path, { recursive: true, force: true });
      } catch (error) {
        if (error.code !== 'ENOTEMPTY' || attempt === REMOVALS_MAX) throw error;
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
    }
  });
  return path;
}

/** Opens a publisher for a bus with a small ring. It is destroyed after the test. */
export async function publisherOf(test, directory, options = {}) {
  const publisher = await Publisher.open({ directory, recordBytes: ROW_BYTES, capacity: 4096, ...options });
  test.after(() => publisher.destroy());
  return publisher;
}

/** Returns `count` contiguous records. Each contains its number twice, as uint64, counted from `from`. */
export function records(from, count) {
  return new Uint8Array(BigUint64Array.from({ length: 2 * count }, (_, i) => BigInt(from + (i >> 1))).buffer);
}

/** Reads into `batch` until an item of that type arrives, and returns it. */
export async function readUntil(type, subscriber, batch) {
  for (;;) {
    const item = await subscriber.read(batch, { timeout: HANG_MS });
    if (item.type === type) return item;
  }
}

/** Creates DBN metadata (version 2) for a feed with the mappings [[symbol, id, start date, end date], …]. */
export function metadataOf(mappings) {
  const SYMBOL_BYTES = 71;
  const u32 = (value) => Buffer.from(Uint32Array.of(value).buffer);
  const text = (words, bytes) => Buffer.concat([Buffer.from(words)], bytes);
  const body = Buffer.concat([
    text('TEST.FEED', 16), Buffer.from([0xff, 0xff]), // a mix of schemas
    Buffer.alloc(24), Buffer.from([1, 0, 0]), // no times, no limit; raw symbols map to instruments
    Buffer.from([SYMBOL_BYTES, 0]), Buffer.alloc(53), u32(0), u32(0), u32(0), u32(0),
    u32(mappings.length),
    ...mappings.flatMap(([symbol, id, start, end]) =>
      [text(symbol, SYMBOL_BYTES), u32(1), u32(start), u32(end), text(String(id), SYMBOL_BYTES)]),
  ]);
  return Buffer.concat([Buffer.from('DBN\x02'), u32(body.length), body]);
}

const TICK = 250_000_000n;
const LAST = 0x80; // last record of a venue event

/** Creates dbn.mbo orders for one book: bids below 100, asks above, ids from 1. */
export function orders(sides) {
  const mbo = Schema.named('dbn.mbo');
  return Buffer.concat(sides.map(([side, ticks, size], index) => mbo.encode({
    length: 14, rtype: 160, publisher_id: 1, instrument_id: 7, ts_event: 1n, order_id: BigInt(index + 1),
    price: 100_000_000_000n + BigInt(ticks) * TICK, size, flags: LAST, channel_id: 0, action: 'A', side, ts_recv: 1n,
    ts_in_delta: 0, sequence: index + 1,
  })));
}

/** Runs a script in Node.js. Its path is relative to this folder. */
export function start(script, ...words) {
  const path = fileURLToPath(new URL(script, import.meta.url));
  const child = spawn(process.execPath, [path, ...words], { stdio: ['ignore', 'pipe', 'pipe'] });
  child.out = '';
  child.err = '';
  child.stdout.on('data', (data) => (child.out += data));
  child.stderr.on('data', (data) => (child.err += data));
  child.end = once(child, 'close');
  return child;
}

/** Waits for the child and returns its exit code. Kills it if it hangs. */
export async function ended(child) {
  const timer = setTimeout(() => child.kill('SIGKILL'), HANG_MS);
  const [code, signal] = await child.end;
  clearTimeout(timer);
  return code ?? signal;
}

/** Waits until the child has printed the words. */
export async function printed(child, words) {
  while (!child.out.includes(words)) {
    if (child.exitCode !== null) throw new Error(`it ended with ${child.exitCode}: ${child.err}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
