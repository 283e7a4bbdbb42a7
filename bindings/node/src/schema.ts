// The schema of a record: its fields, and conversions of records to objects and columns. The schemas of your own
// structs are read from the bus.
import { constants, layouts } from './abi.js';
import type { Batch } from './batch.js';
import { check, errorMemory, invalid, isLapwingError } from './error.js';
import { native } from './library.js';
import { Struct, textAt } from './memory.js';
import { checkBytes, checkText, shown } from './options.js';

export type FieldType =
  | 'int8' | 'int16' | 'int32' | 'int64' | 'uint8' | 'uint16' | 'uint32' | 'uint64'
  | 'float32' | 'float64' | 'char' | 'text' | 'bytes';
export type FieldUnit = 'plain' | 'price' | 'utc_ns' | 'flags';
export type FieldRole = 'data' | 'time' | 'key' | 'publish_time' | 'spare';

export interface Field {
  readonly name: string;
  /** Offset of its first byte in the record. */
  readonly offset: number;
  readonly bytes: number;
  readonly type: FieldType;
  /** price: units of 1e-9. utc_ns: ns since 1970. For both, the largest value means absent. */
  readonly unit: FieldUnit;
  readonly role: FieldRole;
}

/** int64 and uint64: bigint. Other numbers: number. char and text: string. bytes: a copied Uint8Array. */
export type FieldValue = number | bigint | string | Uint8Array;
export type Column =
  | Int8Array | Int16Array | Int32Array | BigInt64Array | Uint8Array | Uint16Array | Uint32Array
  | BigUint64Array | Float32Array | Float64Array;

interface Access {
  read(view: DataView, at: number, bytes: number): FieldValue;
  /** If the value does not fit, throws the reason and writes nothing. */
  write(view: DataView, at: number, bytes: number, value: unknown): void;
  column?: new (count: number) => Column;
}

function bytesAt(view: DataView, at: number, bytes: number): Uint8Array {
  return new Uint8Array(view.buffer, view.byteOffset + at, bytes);
}

function writeBytes(view: DataView, at: number, bytes: number, value: Uint8Array): void {
  if (value.length > bytes) throw invalid(`has ${value.length} bytes, and the field has room for ${bytes}`);
  bytesAt(view, at, bytes).fill(0).set(value);
}

function textGiven(value: unknown): string {
  if (typeof value !== 'string') throw invalid(`is ${shown(value)}. Give a string`);
  return value;
}

/** Access to whole numbers of up to 32 bits, as `number`. */
function small(bits: number, isSigned: boolean, kind: string, column: Access['column']): Access {
  const least = isSigned ? -(2 ** (bits - 1)) : 0;
  const most = 2 ** (isSigned ? bits - 1 : bits) - 1;
  const [get, set] = [`get${kind}`, `set${kind}`] as [keyof DataView, keyof DataView];
  return {
    read: (view, at) => (view[get] as any)(at, true),
    write: (view, at, _, value) => {
      const number = typeof value === 'bigint' ? Number(value) : value;
      if (!Number.isInteger(number) || (number as number) < least || (number as number) > most) {
        throw invalid(`is ${shown(value)}. Give a whole number from ${least} to ${most}`);
      }
      (view[set] as any)(at, number, true);
    },
    column,
  };
}

/** Access to whole numbers of 64 bits, as `bigint`. */
function large(isSigned: boolean, kind: string, column: Access['column']): Access {
  const least = isSigned ? -(2n ** 63n) : 0n;
  const most = 2n ** (isSigned ? 63n : 64n) - 1n;
  const [get, set] = [`get${kind}`, `set${kind}`] as [keyof DataView, keyof DataView];
  return {
    read: (view, at) => (view[get] as any)(at, true),
    write: (view, at, _, value) => {
      // A number beyond 2^53 is not exact.
      const isWhole = typeof value === 'bigint' || Number.isSafeInteger(value);
      if (!isWhole || (value as bigint) < least || (value as bigint) > most) {
        throw invalid(`is ${shown(value)}. Give a bigint from ${least} to ${most}`);
      }
      (view[set] as any)(at, BigInt(value as bigint), true);
    },
    column,
  };
}

function float(kind: string, column: Access['column']): Access {
  const [get, set] = [`get${kind}`, `set${kind}`] as [keyof DataView, keyof DataView];
  return {
    read: (view, at) => (view[get] as any)(at, true),
    write: (view, at, _, value) => {
      if (typeof value !== 'number') throw invalid(`is ${shown(value)}. Give a number`);
      (view[set] as any)(at, value, true);
    },
    column,
  };
}

const ACCESS: Readonly<Record<FieldType, Access>> = {
  int8: small(8, true, 'Int8', Int8Array),
  int16: small(16, true, 'Int16', Int16Array),
  int32: small(32, true, 'Int32', Int32Array),
  int64: large(true, 'BigInt64', BigInt64Array),
  uint8: small(8, false, 'Uint8', Uint8Array),
  uint16: small(16, false, 'Uint16', Uint16Array),
  uint32: small(32, false, 'Uint32', Uint32Array),
  uint64: large(false, 'BigUint64', BigUint64Array),
  float32: float('Float32', Float32Array),
  float64: float('Float64', Float64Array),
  char: {
    read: (view, at) => String.fromCharCode(view.getUint8(at)),
    write: (view, at, _, value) => {
      const letter = textGiven(value);
      if (letter.length !== 1 || letter.charCodeAt(0) > 0xff) throw invalid(`is ${shown(value)}. Give one letter`);
      view.setUint8(at, letter.charCodeAt(0));
    },
    column: Uint8Array,
  },
  text: { read: textAt, write: (view, at, bytes, value) => writeBytes(view, at, bytes, Buffer.from(textGiven(value))) },
  bytes: {
    read: (view, at, bytes) => bytesAt(view, at, bytes).slice(),
    write: (view, at, bytes, value) => {
      if (!(value instanceof Uint8Array)) throw invalid(`is ${shown(value)}. Give a Uint8Array`);
      writeBytes(view, at, bytes, value);
    },
  },
};

const TYPES = Object.keys(ACCESS) as FieldType[]; // in the order of the LAPWING_TYPE_ constants
const UNITS: readonly FieldUnit[] = ['plain', 'price', 'utc_ns', 'flags'];
const ROLES: readonly FieldRole[] = ['data', 'time', 'key', 'publish_time', 'spare'];

const viewOf = (memory: Uint8Array) =>
  new DataView(memory.buffer, memory.byteOffset, memory.byteLength);

/** Fills in a schema as lapwing_schema_fields does, and writes errors to errorMemory. */
type Fill = (
  schema: Uint8Array, fields: Uint8Array | null, fieldsMax: number, text: Uint8Array | null, textBytesMax: number,
) => number;

function fillBy(directory: string | null, name: string | null): Fill {
  return (...out) => native.lapwing_schema_fields(directory, name, ...out, errorMemory.bytes);
}

export class Schema {
  readonly name: string;
  readonly version: number;
  /** Record size in bytes. */
  readonly recordBytes: number;
  /** Equal for equal schemas, and never 0n. */
  readonly hash: bigint;
  /** Ordered by offset. */
  readonly fields: readonly Field[];
  /** The schema in JSON, with the names of values. The options `schema` and `expect` accept it. */
  readonly text: string;
  readonly #byName: ReadonlyMap<string, Field>;

  private constructor(fill: Fill) {
    const struct = new Struct(layouts.lapwing_schema);
    const result = fill(struct.bytes, null, 0, null, 0);
    if (result !== constants.ERROR_TOO_SMALL) check(result);
    const count = struct.number('field_count');
    const fields = new Struct(layouts.lapwing_field, count);
    const text = new Uint8Array(new ArrayBuffer(struct.number('text_bytes')));
    check(fill(struct.bytes, fields.bytes, count, text, text.length));
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

  /** Returns the current schema of a bus. For the records that a subscriber reads, use Subscriber.schema. */
  static of(directory: string): Schema {
    checkText('directory', directory);
    return new Schema(fillBy(directory, null));
  }

  /** Returns a schema that Lapwing ships ('dbn.mbo', 'kv16' …), or 'orders' for the entries of that fold. */
  static named(name: string): Schema {
    checkText('name', name);
    return new Schema(fillBy(null, name));
  }

  /** @internal Returns the schema that `fill` fills in, or undefined if there is no schema. */
  static filledBy(fill: Fill): Schema | undefined {
    try {
      return new Schema(fill);
    } catch (error) {
      if (isLapwingError(error, 'not-found')) return undefined;
      throw error;
    }
  }

  field(name: string): Field {
    const field = this.#byName.get(name);
    if (!field) throw invalid(`${this.name} has no field '${name}'`);
    return field;
  }

  /** Converts a record to an object, without its spare fields. */
  decode(row: Uint8Array): Record<string, FieldValue> {
    this.#checkSize(row);
    const view = viewOf(row);
    const record: Record<string, FieldValue> = {};
    for (const { name, offset, bytes, type, role } of this.fields) {
      if (role !== 'spare') record[name] = ACCESS[type].read(view, offset, bytes);
    }
    return record;
  }

  /** Returns one field of a record. */
  value(row: Uint8Array, name: string): FieldValue {
    this.#checkSize(row);
    const { offset, bytes, type } = this.field(name);
    return ACCESS[type].read(viewOf(row), offset, bytes);
  }

  /**
   * Creates a record from an object, which must have all fields except the spare ones, and no other names. Throws if a
   * value does not fit into its field. `into` is memory to reuse, of recordBytes bytes.
   */
  encode(record: Readonly<Record<string, FieldValue>>, into?: Uint8Array): Uint8Array {
    const row = into ?? new Uint8Array(this.recordBytes);
    this.#checkSize(row);
    const names = Object.keys(record);
    const unknown = names.find((name) => !this.#byName.has(name));
    if (unknown !== undefined) {
      throw invalid(`${this.name} has no field '${unknown}'. Its fields are: ${[...this.#byName.keys()].join(', ')}`);
    }
    const missing = this.fields.filter(({ name, role }) => role !== 'spare' && record[name] === undefined);
    if (missing.length > 0) {
      throw invalid(`the record has no ${missing.map(({ name }) => name).join(', ')}, which ${this.name} needs. Add it`);
    }
    row.fill(0);
    const view = viewOf(row);
    for (const name of names) {
      const { offset, bytes, type } = this.#byName.get(name)!;
      try {
        ACCESS[type].write(view, offset, bytes, record[name]);
      } catch (error) {
        throw isLapwingError(error, 'invalid-argument') ? invalid(`field ${name} of ${this.name} ${error.message}`) : error;
      }
    }
    return row;
  }

  /**
   * Copies one field of all rows to an array of length batch.count: a BigInt64Array for int64 and so
   * on, a Uint8Array for char. `into` is a column of the same type, at least as long, to reuse.
   */
  column<C extends Column = Column>(batch: Batch, name: string, into?: C): C {
    const { offset, bytes, type } = this.field(name);
    const { column: Type, read } = ACCESS[type];
    if (!Type) throw invalid(`'${name}' is ${type}, which cannot be a column`);
    const { count, rowBytes, memory } = batch;
    if (rowBytes !== this.recordBytes) {
      throw invalid(`the rows have ${rowBytes} bytes, and records of ${this.name} ${this.recordBytes}`);
    }
    const column = (into ?? new Type(count)) as any;
    if (!(column instanceof Type) || column.length < count) {
      throw invalid(`the column of '${name}' is a ${Type.name} of at least ${count}`);
    }
    if (offset % bytes === 0 && rowBytes % bytes === 0) {
      // The field is aligned in every row, so it is at a fixed stride in a typed array over all rows.
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
    checkBytes('row', row);
    if (row.length < this.recordBytes) {
      throw invalid(`a record of ${this.name} has ${this.recordBytes} bytes, and this row ${row.length}`);
    }
  }
}

/** Returns the text of a schema option, or undefined if it is not set. */
export function textOf(option: string, schema: unknown): string | undefined {
  if (schema === undefined) return undefined;
  if (schema instanceof Schema) return schema.text;
  if (typeof schema === 'string' && schema.trimStart().startsWith('{')) return schema;
  const hint = typeof schema === 'string' ? `: Schema.named(${shown(schema)})` : '';
  throw invalid(`${option} is ${shown(schema)}. Give a Schema, or its text in JSON${hint}`);
}
