// Reads lists of unknown length into an array that grows until they fit.
import { constants, type Layout } from './abi.js';
import { check } from './error.js';
import { Cell, Struct } from './memory.js';

export const LIST_ROOM = 64;

/** Returns the first `count` structs of an array. */
export function listed<T>(rows: Struct, count: number): T[] {
  return Array.from({ length: count }, (_, index) => rows.read(index) as unknown as T);
}

/** Returns the whole list. `read` writes at most `max` structs, and writes the total number to `count`. */
export function readAll<T>(
  layout: Layout,
  read: (rows: Uint8Array, max: number, count: Uint8Array) => number,
): T[] {
  const count = new Cell();
  for (let max = LIST_ROOM; ; max = Number(count.value)) {
    const rows = new Struct(layout, max);
    const result = read(rows.bytes, max, count.bytes);
    if (result === constants.ERROR_TOO_SMALL) continue;
    check(result);
    return listed<T>(rows, Number(count.value));
  }
}
