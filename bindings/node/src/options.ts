// Checks options. The error for an unknown name, an unknown word or a wrong type lists the valid values.
import { invalid } from './failure.js';

const listed = (names: readonly string[]) => names.join(', ');

/** Formats a value for an error message. */
export function shown(value: unknown): string {
  if (typeof value === 'string') return `'${value}'`;
  if (typeof value === 'bigint') return `${value}n`;
  if (Array.isArray(value)) return 'an array';
  return typeof value === 'object' && value !== null ? `a ${value.constructor?.name ?? 'object'}` : String(value);
}

/** Throws if `options` has a name that is not in `names`. `call` is the function that takes them. */
export function checkNames(call: string, options: object, names: readonly string[]): void {
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw invalid(`${call} takes options as an object, not ${shown(options)}`);
  }
  for (const name in options) {
    if (!names.includes(name)) throw invalid(`${call} has no option '${name}'. It can be: ${listed(names)}`);
  }
}

/** Returns the number of a word, or undefined if the option is not set. */
export function wordOf(option: string, value: unknown, numbers: Readonly<Record<string, number>>): number | undefined {
  if (value === undefined) return undefined;
  if (typeof value === 'string' && Object.hasOwn(numbers, value)) return numbers[value]!;
  throw invalid(`${option} is ${shown(value)}. It can be: ${listed(Object.keys(numbers).map((word) => `'${word}'`))}`);
}

/** Returns `bit` if the flag is true, and 0 otherwise. */
export function flagOf(option: string, value: unknown, bit: number): number {
  if (value !== undefined && typeof value !== 'boolean') {
    throw invalid(`${option} is ${shown(value)}. It can be: true, false`);
  }
  return value ? bit : 0;
}

export function checkText(option: string, value: unknown): asserts value is string {
  if (typeof value !== 'string') throw invalid(`${option} is ${shown(value)}. Give a string`);
  if (value.includes('\0')) throw invalid(`${option} is ${shown(value)}, and a text must not contain NUL. Remove it`);
}

/** Throws unless the value is a Uint8Array. Elements of another array would be counted as bytes. */
export function checkBytes(what: string, value: unknown): asserts value is Uint8Array {
  if (value instanceof Uint8Array) return;
  const hint = ArrayBuffer.isView(value) ? ': new Uint8Array(array.buffer, array.byteOffset, array.byteLength)' : '';
  throw invalid(`${what} is ${shown(value)}. Give a Uint8Array or a Buffer${hint}`);
}

export const WAIT_NAMES = ['timeout', 'signal'] as const;

export function checkSignal(value: unknown): void {
  if (value !== undefined && !(value instanceof AbortSignal)) {
    throw invalid(`signal is ${shown(value)}. Give the signal of an AbortController`);
  }
}
