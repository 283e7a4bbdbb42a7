#!/usr/bin/env node
// Writes src/abi.ts from the C header: the layout of each struct, the constants, and the signature of
// each function. `generate.mjs --check` compares it with the header and writes nothing.
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const arguments_ = process.argv.slice(2).filter((word) => word !== '--check');
const headerPath = arguments_[0] ?? join(here, '../../include/lapwing.h');
const outPath = arguments_[1] ?? join(here, 'src/abi.ts');

// Of C types: bytes, and what JavaScript has for them.
const SCALARS = {
  uint8_t: [1, 'u8', 'number'],
  uint16_t: [2, 'u16', 'number'],
  uint32_t: [4, 'u32', 'number'],
  int32_t: [4, 'i32', 'number'],
  lapwing_result: [4, 'i32', 'number'],
  uint64_t: [8, 'u64', 'bigint'],
  int64_t: [8, 'i64', 'bigint'],
  size_t: [8, 'size', 'number'],
};

// Numbers that have names, and numbers that are truths.
const NAMED = {
  'lapwing_publisher_info.settled': 'SETTLED',
  'lapwing_publisher_info.journal_state': 'JOURNAL_STATE',
  'lapwing_event.kind': 'EVENT',
  'lapwing_event.cause': 'CAUSE',
};
const TRUTHS = /^(is_|has_)|^fillable$/;
const RENAMED = { 'lapwing_event.kind': 'type' };
const NO_INTERFACE = /_(id|batch|view|message|reply|request|error|schema|field|options|event|ready)$/;

function parse(header) {
  const text = header
    .replace(/\/\*[^]*?\*\//g, ' ')
    .replace(/\\\n/g, ' ')
    .replace(/^#.*$/gm, '')
    .replace(/\s+/g, ' ');
  for (const [, name] of text.matchAll(/typedef uint32_t (\w+);/g)) SCALARS[name] = SCALARS.uint32_t;
  const enums = [...text.matchAll(/enum \{([^}]*)\}/g)].map(([, body]) =>
    [...body.matchAll(/LAPWING_(\w+) = (\d+)/g)].map(([, name, value]) => [name, Number(value)]));
  const constants = Object.fromEntries(enums.flat());
  for (const [, name, value] of header.matchAll(/^#define LAPWING_(ABI_\w+) (\d+)/gm)) {
    constants[name] = Number(value);
  }
  const structs = new Map();
  for (const [, name, body] of text.matchAll(/typedef struct (\w+) \{([^}]*)\}/g)) {
    const fields = [];
    for (const declaration of body.split(';').map((part) => part.trim()).filter(Boolean)) {
      const [, type, stars, field, count] = declaration.match(/^(.*?)\s*(\*?)\s*(\w+)(?:\[(\d+)\])?$/);
      fields.push({ type: stars || type.includes('*') ? 'pointer' : type, field, count: count && Number(count) });
    }
    structs.set(name, fields);
  }
  const functions = [];
  for (const [, result, name, list] of text.matchAll(/LAPWING_API(?:_V)? (.*?)(lapwing_\w+)\(([^)]*)\);/g)) {
    functions.push({ name, result: result.trim(), parameters: list.split(',').map((part) => part.trim()) });
  }
  return { constants, enums, structs, functions };
}

// Offsets as the C compilers of Linux on 64-bit processors lay them out.
function layOut(structs) {
  const laidOut = new Map();
  const of = (name) => {
    if (laidOut.has(name)) return laidOut.get(name);
    let end = 0;
    let alignment = 1;
    const fields = structs.get(name).map(({ type, field, count }) => {
      let bytes, align, kind;
      if (type === 'pointer') [bytes, align, kind] = [8, 8, 'pointer'];
      else if (type === 'char') [bytes, align, kind] = [1, 1, 'text'];
      else if (type in SCALARS) [bytes, kind] = SCALARS[type], align = bytes;
      else ({ bytes, alignment: align } = of(type)), kind = type;
      const offset = Math.ceil(end / align) * align;
      end = offset + bytes * (count ?? 1);
      alignment = Math.max(alignment, align);
      return { field, offset, kind, count };
    });
    const layout = { fields, alignment, bytes: Math.ceil(end / alignment) * alignment };
    laidOut.set(name, layout);
    return layout;
  };
  for (const name of structs.keys()) of(name);
  return laidOut;
}

const camel = (name) => name.replace(/_(\w)/g, (_, letter) => letter.toUpperCase());
const pascal = (name) => camel(`_${name.replace(/^lapwing_/, '')}`);
const nameOf = (struct, field) => RENAMED[`${struct}.${field}`] ?? camel(field);
const wordOf = (name) => name.toLowerCase().replaceAll('_', '-');

function named(enums, prefix) {
  return enums
    .find(([[first]]) => first.startsWith(`${prefix}_`))
    .map(([name, value]) => [value, wordOf(name.slice(prefix.length + 1))]);
}

function typeScriptType(struct, { field, kind, count }, enums) {
  const key = `${struct}.${field}`;
  if (key in NAMED) return named(enums, NAMED[key]).map(([, word]) => `'${word}'`).join(' | ') + " | ''";
  if (TRUTHS.test(field)) return 'boolean';
  if (kind === 'text' || kind === 'lapwing_id') return 'string';
  if (kind === 'pointer') return 'bigint';
  if (kind === 'size') return 'number';
  const scalar = Object.values(SCALARS).find(([, name]) => name === kind);
  if (count) throw new Error(`${key}: an array of ${kind} has no type here`);
  return scalar ? scalar[2] : pascal(kind);
}

function koffiType(parameter) {
  if (/^const char \*\w*$/.test(parameter)) return 'str';
  if (parameter.includes('*')) return 'void *';
  const type = parameter.split(' ')[0];
  if (type === 'lapwing_result') return 'int32_t';
  if (type === 'lapwing_log_fn') return 'void *';
  if (SCALARS[type] === SCALARS.uint32_t) return 'uint32_t';
  return type;
}

function generate(header) {
  const { constants, enums, structs, functions } = parse(header);
  const layouts = layOut(structs);
  const lines = [
    '// Written by generate.mjs from lapwing.h. Do not edit.',
    '',
    'export interface LayoutField {',
    '  readonly name: string; // in JavaScript',
    '  readonly offset: number;',
    '  readonly kind: string; // u32, text, pointer …, or the name of a struct',
    '  readonly count?: number; // of letters',
    '  readonly names?: Readonly<Record<number, string>>;',
    '  readonly isTruth?: true;',
    '}',
    'export interface Layout {',
    '  readonly bytes: number;',
    '  readonly fields: Readonly<Record<string, LayoutField>>;',
    '}',
    '',
    'export const constants = {',
    ...Object.entries(constants).map(([name, value]) => `  ${name}: ${value},`),
    '} as const;',
    '',
    'export const layouts = {',
  ];
  for (const [name, { fields, bytes }] of layouts) {
    lines.push(`  ${name}: {`, `    bytes: ${bytes},`, '    fields: {');
    for (const field of fields) {
      const key = `${name}.${field.field}`;
      const parts = [`name: '${nameOf(name, field.field)}'`, `offset: ${field.offset}`, `kind: '${field.kind}'`];
      if (field.count && field.kind === 'text') parts.push(`count: ${field.count}`);
      if (key in NAMED) {
        const pairs = named(enums, NAMED[key]).map(([value, word]) => `${value}: '${word}'`);
        parts.push(`names: { ${pairs.join(', ')} }`);
      } else if (TRUTHS.test(field.field)) {
        parts.push('isTruth: true');
      }
      lines.push(`      ${field.field}: { ${parts.join(', ')} },`);
    }
    lines.push('    },', '  },');
  }
  lines.push('} as const satisfies Record<string, Layout>;', '');
  for (const [name, { fields }] of layouts) {
    if (NO_INTERFACE.test(name)) continue;
    lines.push(`export interface ${pascal(name)} {`);
    for (const field of fields) {
      if (['struct_size', 'reserved'].includes(field.field)) continue;
      lines.push(`  readonly ${nameOf(name, field.field)}: ${typeScriptType(name, field, enums)};`);
    }
    lines.push('}', '');
  }
  lines.push('// The result, then the parameters, as koffi names them.', 'export const functions = {');
  for (const { name, result, parameters } of functions) {
    const types = parameters[0] === 'void' ? [] : parameters.map(koffiType);
    const list = types.map((type) => `'${type}'`).join(', ');
    lines.push(`  ${name}: ['${koffiType(result)}', [${list}]],`);
  }
  lines.push('} as const;', 'export type FunctionName = keyof typeof functions;', '');
  return lines.join('\n');
}

const text = generate(readFileSync(headerPath, 'utf8'));
if (!process.argv.includes('--check')) {
  writeFileSync(outPath, text);
} else if (readFileSync(outPath, 'utf8') !== text) {
  console.error('src/abi.ts is not what lapwing.h says: run generate.mjs, and mend what uses it');
  process.exit(1);
}
