// Shared parts of all steps: parsing, named handles, rows and digests.
import { LapwingError } from 'lapwing';

const NOT_FOUND = 24;
const MISUSE = 29;

export class Step {
  #values = new Map();

  constructor(line) {
    const [operation, ...words] = line.split(' ');
    this.operation = operation;
    for (const word of words) {
      const equals = word.indexOf('=');
      this.#values.set(word.slice(0, equals), decodeURIComponent(word.slice(equals + 1)));
    }
  }

  has(key) {
    return this.#values.has(key);
  }

  text(key) {
    return this.#values.get(key);
  }

  number(key, missing) {
    return this.has(key) ? Number(this.text(key)) : missing;
  }

  bigint(key, missing) {
    return this.has(key) ? BigInt(this.text(key)) : missing;
  }

  list(key) {
    return this.has(key) ? this.text(key).split(',') : undefined;
  }

  isOn(key) {
    return this.number(key, 0) !== 0;
  }

  get timeout() {
    return this.text('timeout_ms') === 'forever' ? Infinity : this.number('timeout_ms', 0);
  }

  get wait() {
    return { timeout: this.timeout };
  }
}

/** Returns the options without those that are undefined. */
export function given(options) {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
}

/** Handles by their names in the scenario. */
export class Handles {
  #handles = new Map();

  put(step, handle) {
    this.#handles.set(step.text('as'), handle);
    return 'ok';
  }

  named(name) {
    const handle = this.#handles.get(name);
    if (handle === undefined) throw new LapwingError(MISUSE, `nothing is called ${name}`);
    return handle;
  }

  of(step) {
    return this.named(step.text('on'));
  }

  destroy(step, end = (handle) => handle.destroy()) {
    end(this.of(step));
    this.#handles.delete(step.text('on'));
    return 'ok';
  }
}

/** Writes record n, of `bytes` bytes, at `offset` in `into`. */
export function writeRecord(into, offset, n, bytes) {
  const head = Buffer.alloc(8);
  head.writeBigUInt64LE(n);
  const low = Number(n % 256n);
  for (let k = 0; k < bytes; ++k) into[offset + k] = k < 8 ? head[k] : (low + k) % 256;
}

export function recordOf(n, bytes) {
  const record = new Uint8Array(bytes);
  writeRecord(record, 0, n, bytes);
  return record;
}

/** 64-bit FNV-1a, in 32-bit halves, because a bigint multiplication for each byte is slow. */
export class Digest {
  #high = 0xcbf29ce4;
  #low = 0x84222325;

  add(bytes) {
    let [high, low] = [this.#high, this.#low];
    for (const byte of bytes) {
      low = (low ^ byte) >>> 0;
      // Multiply by 2^40 + 0x1b3.
      const product = low * 0x1b3;
      high = (Math.imul(high, 0x1b3) + Math.floor(product / 2 ** 32) + (low << 8)) >>> 0;
      low = product >>> 0;
    }
    [this.#high, this.#low] = [high, low];
    return this;
  }

  get text() {
    return [this.#high, this.#low].map((half) => half.toString(16).padStart(8, '0')).join('');
  }
}

/** The error that C returns in cases where this package returns undefined. */
export const notFound = () => new LapwingError(NOT_FOUND, 'there is none');

export const digestOf = (bytes) => new Digest().add(bytes).text;
export const bit = (truth) => (truth ? 1 : 0);
