// What a record is: its fields, and records as objects and columns. No code is written for a struct of
// one's own: its description comes from the bus.
import { constants, layouts } from './abi.js';
import type { Batch } from './batch.js';
import { check, errorMemory, invalid } from './error.js';
import { native } from './library.js';
import { Struct, textAt } from './memory.js';

export type FieldType =
  | 'int8' | 'int16' | 'int32' | 'int64' | 'uint8' | 'uint16' | 'uint32' | 'uint64'
  | 'float32' | 'float64' | 'char' | 'text' | 'bytes';
export type FieldUnit = 'plain' | 'price' | 'utc_ns' | 'flags';
export type FieldRole = 'data' | 'time' | 'key' | 'publish_time' | 'spare';

export interface Field {
  readonly name: string;
  /** Of its first byte in the record. */
  readonly offset: number;
  readonly bytes: number;
  readonly type: FieldType;
  /** price: 1e-9, the largest value: none. utc_ns: ns since 1970, the largest value: none. */
  readonly unit: FieldUnit;
  readonly role: FieldRole;
}

/** int64 and uint64: bigint. Other numbers: number. char and text: string. bytes: a copy. */
export type FieldValue = number | bigint | string | Uint8Array;
export type Column =
  | Int8Array | Int16Array | Int32Array | BigInt64Array | Uint8Array | Uint16Array | Uint32Array
  | BigUint64Array | Float32Array | Float64Array;

interface Access {
  read(view: DataView, at: number, bytes: number): FieldValue;
  write(view: DataView, at: number, bytes: number, value: any): void;
  column?: new (count: number) => Column;
}

function bytesAt(view: DataView, at: number, bytes: number): Uint8Array {
  return new Uint8Array(view.buffer, view.byteOffset + at, bytes);
}

function writeBytes(view: DataView, at: number, bytes: number, value: Uint8Array): void {
  if (value.length > bytes) throw invalid(`${value.length} bytes do not fit into a field of ${bytes}`);
  bytesAt(view, at, bytes).fill(0).set(value);
}

const ACCESS: Readonly<Record<FieldType, Access>> = {
  int8: { read: (v, at) => v.getInt8(at), write: (v, at, _, x) => v.setInt8(at, x), column: Int8Array },
  int16: { read: (v, at) => v.getInt16(at, true), write: (v, at, _, x) => v.setInt16(at, x, true), column: Int16Array },
  int32: { read: (v, at) => v.getInt32(at, true), write: (v, at, _, x) => v.setInt32(at, x, true), column: Int32Array },
  int64: { read: (v, at) => v.getBigInt64(at, true), write: (v, at, _, x) => v.setBigInt64(at, BigInt(x), true), column: BigInt64Array },
  uint8: { read: (v, at) => v.getUint8(at), write: (v, at, _, x) => v.setUint8(at, x), column: Uint8Array },
  uint16: { read: (v, at) => v.getUint16(at, true), write: (v, at, _, x) => v.setUint16(at, x, true), column: Uint16Array },
  uint32: { read: (v, at) => v.getUint32(at, true), write: (v, at, _, x) => v.setUint32(at, x, true), column: Uint32Array },
  uint64: { read: (v, at) => v.getBigUint64(at, true), write: (v, at, _, x) => v.setBigUint64(at, BigInt(x), true), column: BigUint64Array },
  float32: { read: (v, at) => v.getFloat32(at, true), write: (v, at, _, x) => v.setFloat32(at, x, true), column: Float32Array },
  float64: { read: (v, at) => v.getFloat64(at, true), write: (v, at, _, x) => v.setFloat64(at, x, true), column: Float64Array },
  char: {
    read: (view, at) => String.fromCharCode(view.getUint8(at)),
    write: (view, at, _, value: string) => view.setUint8(at, value.charCodeAt(0)),
    column: Uint8Array,
  },
  text: { read: textAt, write: (view, at, bytes, value: string) => writeBytes(view, at, bytes, Buffer.from(value)) },
  bytes: { read: (view, at, bytes) => bytesAt(view, at, bytes).slice(), write: writeBytes },
};

const TYPES = Object.keys(ACCESS) as FieldType[]; // in the order of LAPWING_INT8 and so on
const UNITS: readonly FieldUnit[] = ['plain', 'price', 'utc_ns', 'flags'];
const ROLES: readonly FieldRole[] = ['data', 'time', 'key', 'publish_time', 'spare'];

const viewOf = (memory: Uint8Array) =>
  new DataView(memory.buffer, memory.byteOffset, memory.byteLength);

export class Schema {
  readonly name: string;
  readonly version: number;
  /** Bytes of a record. */
  readonly recordBytes: number;
  /** Equal for equal descriptions; never 0n. */
  readonly hash: bigint;
  /** In the order of their offsets. */
  readonly fields: readonly Field[];
  /** The description in JSON, names of values included: what `description` and `expect` take. */
  readonly text: string;
  readonly #byName: ReadonlyMap<string, Field>;

  private constructor(directory: string | null, name: string | null) {
    const struct = new Struct(layouts.lapwing_schema);
    const ask = (fields: Struct | null, fieldsMax: number, text: Uint8Array | null) =>
      native.lapwing_schema_fields(
        directory, name, struct.bytes, fields?.bytes ?? null, fieldsMax, text, text?.length ?? 0,
        errorMemory.bytes,
      ) as number;
    const result = ask(null, 0, null);
    if (result !== constants.TOO_SMALL) check(result);
    const count = struct.number('field_count');
    const fields = new Struct(layouts.lapwing_field, count);
    const text = new Uint8Array(new ArrayBuffer(struct.number('text_bytes')));
    check(ask(fields, count, text));
    const { name: ownName, version, recordBytes, hash } = struct.read();
    this.name = ownName as string;
    this.version = version as number;
    this.recordBytes = recordBytes as number;
    this.hash = hash as bigint;
    this.text = textAt(viewOf(text), 0, text.length);
    this.fields = Array.from({ length: count }, (_, index) => {
      const raw = fields.read(index) as { name: string; offset: number; bytes: number; type: number; unit: number; role: number };
      return { ...raw, type: TYPES[raw.type - 1]!, unit: UNITS[raw.unit]!, role: ROLES[raw.role]! };
    });
    this.#byName = new Map(this.fields.map((field) => [field.name, field]));
  }

  /** Of the records of a bus. */
  static of(directory: string): Schema {
    return new Schema(directory, null);
  }

  /** One that Lapwing ships ('dbn.mbo', 'kv16' …), or 'orders', the entries of that fold. */
  static named(name: string): Schema {
    return new Schema(null, name);
  }

  field(name: string): Field {
    const field = this.#byName.get(name);
    if (!field) throw invalid(`${this.name} has no field '${name}'`);
    return field;
  }

  /** A record as an object. Spare fields are left out. */
  decode(row: Uint8Array): Record<string, FieldValue> {
    this.#checkSize(row);
    const view = viewOf(row);
    const record: Record<string, FieldValue> = {};
    for (const { name, offset, bytes, type, role } of this.fields) {
      if (role !== 'spare') record[name] = ACCESS[type].read(view, offset, bytes);
    }
    return record;
  }

  /** One field of a record. */
  value(row: Uint8Array, name: string): FieldValue {
    this.#checkSize(row);
    const { offset, bytes, type } = this.field(name);
    return ACCESS[type].read(viewOf(row), offset, bytes);
  }

  /** A record of an object; what it does not have is zero. `into`: recordBytes bytes to reuse. */
  encode(record: Readonly<Record<string, FieldValue>>, into?: Uint8Array): Uint8Array {
    const row = into ?? new Uint8Array(this.recordBytes);
    this.#checkSize(row);
    row.fill(0);
    const view = viewOf(row);
    for (const [name, value] of Object.entries(record)) {
      const { offset, bytes, type } = this.field(name);
      ACCESS[type].write(view, offset, bytes, value);
    }
    return row;
  }

  /**
   * [batch.count], a copy of one field of all rows: BigInt64Array of int64 and so on; a char as a
   * Uint8Array. `into`: a column of the same type, at least as long, to reuse.
   */
  column<C extends Column = Column>(batch: Batch, name: string, into?: C): C {
    const { offset, bytes, type } = this.field(name);
    const { column: Type, read } = ACCESS[type];
    if (!Type) throw invalid(`'${name}' is ${type}, of which there is no column`);
    const { count, rowBytes, memory } = batch;
    if (rowBytes !== this.recordBytes) {
      throw invalid(`the rows have ${rowBytes} bytes, and records of ${this.name} ${this.recordBytes}`);
    }
    const column = (into ?? new Type(count)) as any;
    if (!(column instanceof Type) || column.length < count) {
      throw invalid(`the column of '${name}' is a ${Type.name} of at least ${count}`);
    }
    if (offset % bytes === 0 && rowBytes % bytes === 0) {
      // The field is aligned in every row: an array over all of them has it at equal distances.
      const source = new (Type as any)(memory.buffer, 0, (count * rowBytes) / bytes) as any;
      const stride = rowBytes / bytes;
      for (let row = 0, at = offset / bytes; row < count; ++row, at += stride) column[row] = source[at];
    } else {
      const view = viewOf(memory);
      const numberOf = (at: number): any =>
        type === 'char' ? view.getUint8(at) : read(view, at, bytes);
      for (let row = 0; row < count; ++row) column[row] = numberOf(row * rowBytes + offset);
    }
    return (column.length === count ? column : column.subarray(0, count)) as C;
  }

  #checkSize(row: Uint8Array): void {
    if (row.length < this.recordBytes) {
      throw invalid(`a record of ${this.name} has ${this.recordBytes} bytes, and this row ${row.length}`);
    }
  }
}
