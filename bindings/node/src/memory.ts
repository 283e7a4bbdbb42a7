// Memory that C reads and writes: structs by their layout, addresses, and views of foreign memory.
//
// An ArrayBuffer's memory does not move and exists as long as the ArrayBuffer does. An address in a struct is therefore
// valid as long as the buffer is referenced.
import koffi from 'koffi';
import { layouts, type FunctionName, type Layout } from './abi.js';
import { invalid } from './failure.js';
import { native } from './library.js';
import { checkText, shown } from './options.js';

const libc = koffi.load(null);
const memmove = libc.func('memmove', 'uint64_t', ['void *', 'void *', 'size_t']);

/** Returns the address of `memory`, or 0n if it is empty. */
export function addressOf(memory: ArrayBufferView): bigint {
  return memory.byteLength === 0 ? 0n : BigInt(memmove(memory, memory, 0));
}

const OWNER = Symbol('owner');

/** Returns a view of the memory at an address. The view keeps `owner` alive, and nothing else. */
export function foreign(address: bigint, bytes: number, owner?: object): Uint8Array {
  if (bytes === 0) return new Uint8Array(0);
  return new Uint8Array(Object.assign(koffi.view(address, bytes), { [OWNER]: owner }));
}

/** Copies the first `bytes` bytes of `from` to foreign memory. */
export function copyTo(address: bigint, from: Uint8Array, bytes: number): void {
  if (bytes > 0) memmove(address, from, bytes);
}

/** Returns a copy of foreign memory. */
export function copied(address: bigint, bytes: number): Buffer {
  const copy = Buffer.allocUnsafeSlow(bytes);
  if (bytes > 0) memmove(copy, address, bytes);
  return copy;
}

const utf8 = new TextDecoder();

/** Decodes a fixed-size text field, up to its first zero byte. */
export function textAt(view: DataView, offset: number, bytes: number): string {
  const field = new Uint8Array(view.buffer, view.byteOffset + offset, bytes);
  const end = field.indexOf(0);
  return utf8.decode(end < 0 ? field : field.subarray(0, end));
}

const ID_BYTES = layouts.lapwing_id.bytes;

function idAt(view: DataView, offset: number): string {
  return Buffer.from(view.buffer, view.byteOffset + offset, ID_BYTES).toString('hex');
}

/** Returns the fields of a struct as an object, without struct_size and reserved. */
export function decoded(layout: Layout, view: DataView, base = 0): Record<string, unknown> {
  const result: Record<string, unknown> = {};
  for (const [cName, { name, offset, kind, count, names, isTruth }] of Object.entries(layout.fields)) {
    if (cName === 'struct_size' || cName === 'reserved') continue;
    const at = base + offset;
    if (kind === 'text') result[name] = textAt(view, at, count!);
    else if (kind === 'lapwing_id') result[name] = idAt(view, at);
    else if (kind in layouts) result[name] = decoded(layouts[kind as keyof typeof layouts], view, at);
    else {
      const value = numberAt(view, at, kind);
      if (names) result[name] = names[value as number] ?? '';
      else result[name] = isTruth ? value !== 0 : value;
    }
  }
  return result;
}

export function numberAt(view: DataView, at: number, kind: string): number | bigint {
  switch (kind) {
    case 'u8': return view.getUint8(at);
    case 'u16': return view.getUint16(at, true);
    case 'u32': return view.getUint32(at, true);
    case 'i32': return view.getInt32(at, true);
    case 'i64': return view.getBigInt64(at, true);
    case 'size': return Number(view.getBigUint64(at, true));
    default: return view.getBigUint64(at, true); // u64, pointer
  }
}

const LARGEST: Readonly<Record<string, bigint>> = { u16: 2n ** 16n - 1n, u32: 2n ** 32n - 1n, i32: 2n ** 31n - 1n, i64: 2n ** 63n - 1n };

/** Throws unless the value is a whole number that fits into the field. */
export function checkNumber(name: string, kind: string, value: unknown): asserts value is number | bigint {
  const most = LARGEST[kind] ?? 2n ** 64n - 1n;
  const least = kind.startsWith('i') ? -most - 1n : 0n;
  const isWhole = typeof value === 'bigint' || (typeof value === 'number' && Number.isInteger(value));
  if (!isWhole || value < least || value > most) {
    throw invalid(`${name} is ${shown(value)}. Give a whole number from ${least} to ${most}`);
  }
}

/** A value for a field of an option struct. */
export type Settable = number | bigint | string | Uint8Array | undefined;

/** A struct or an array of structs. Initially zero, except for struct_size. */
export class Struct {
  readonly bytes: Uint8Array;
  readonly view: DataView;
  readonly #layout: Layout;
  readonly #held: Uint8Array[] = []; // memory that its pointers refer to

  constructor(layout: Layout, count = 1) {
    this.#layout = layout;
    this.bytes = new Uint8Array(new ArrayBuffer(layout.bytes * count));
    this.view = new DataView(this.bytes.buffer);
    if (layout.fields['struct_size']) this.view.setUint32(0, layout.bytes, true);
  }

  /** Sets fields by their C names. undefined keeps the default. Keeps strings and bytes alive. */
  set(fields: Readonly<Record<string, Settable>>, index = 0): this {
    for (const [name, value] of Object.entries(fields)) {
      if (value === undefined) continue;
      const { name: option, offset, kind } = this.#layout.fields[name]!;
      const at = index * this.#layout.bytes + offset;
      if (kind === 'pointer' && typeof value !== 'bigint') {
        if (value instanceof Uint8Array) {
          this.#point(at, value);
        } else {
          checkText(option, value);
          this.#point(at, Buffer.from(`${value}\0`));
        }
        continue;
      }
      checkNumber(option, kind, value);
      if (kind === 'u16') this.view.setUint16(at, Number(value), true);
      else if (kind === 'u32') this.view.setUint32(at, Number(value), true);
      else this.view.setBigUint64(at, BigInt.asUintN(64, BigInt(value)), true);
    }
    return this;
  }

  #point(at: number, memory: Uint8Array): void {
    this.#held.push(memory);
    this.view.setBigUint64(at, addressOf(memory), true);
  }

  read(index = 0): Record<string, unknown> {
    return decoded(this.#layout, this.view, index * this.#layout.bytes);
  }

  number(name: string): number {
    return Number(this.#at(name));
  }

  bigint(name: string): bigint {
    return BigInt(this.#at(name));
  }

  #at(name: string): number | bigint {
    const { offset, kind } = this.#layout.fields[name]!;
    return numberAt(this.view, offset, kind);
  }
}

/** Returns options with the library's defaults, which the function `init` sets. */
export function defaultOptions(layout: Layout, init: FunctionName): Struct {
  const struct = new Struct(layout);
  native[init](struct.bytes, layout.bytes);
  return struct;
}

/** A 64-bit number that a call sets through a pointer: uint64_t *, size_t *, or a pointer to a handle. */
export class Cell {
  readonly bytes = new Uint8Array(new ArrayBuffer(8));
  readonly #value = new BigUint64Array(this.bytes.buffer);
  get value(): bigint {
    return this.#value[0]!;
  }
  set value(value: bigint) {
    this.#value[0] = value;
  }
}

/** Returns an array of strings for C, which keeps the strings alive. */
export function stringList(strings: readonly string[]): Uint8Array & { held?: unknown } {
  const held = strings.map((string) => Buffer.from(`${string}\0`));
  const pointers = new BigUint64Array(held.map(addressOf));
  return Object.assign(new Uint8Array(pointers.buffer), { held });
}

/** Converts an id of 32 hexadecimal digits to bytes. */
export function idBytes(id: string): Uint8Array {
  const bytes = Buffer.from(id, 'hex');
  if (bytes.length !== ID_BYTES) throw new TypeError(`'${id}' is not an id of ${2 * ID_BYTES} hexadecimal digits`);
  return bytes;
}
