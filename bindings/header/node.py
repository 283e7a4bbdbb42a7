"""This module generates abi.ts, with the constants, structs and functions for Node.js."""

import re

TYPES = {  # the kind of a field and its type in TypeScript; other structs have interfaces
    "char": ("text", "string"), "uint8_t": ("u8", "number"), "uint16_t": ("u16", "number"),
    "int32_t": ("i32", "number"), "uint32_t": ("u32", "number"), "int64_t": ("i64", "bigint"),
    "uint64_t": ("u64", "bigint"), "size_t": ("size", "number"),
    "lapwing_id": ("lapwing_id", "string"),
}
# The fields whose numbers have names in JavaScript, and the enumerations with those names.
NAMED = {
    "lapwing_publisher_info.settled": "lapwing_settled",
    "lapwing_publisher_info.journal_state": "lapwing_journal_state",
    "lapwing_event.kind": "lapwing_event_kind",
    "lapwing_event.cause": "lapwing_cause",
}
TRUTHS = r"(is|has)_\w+|fillable"  # boolean fields
NO_INTERFACE = r"\w+_(id|batch|view|message|reply|request|error|schema|field|options|event|ready)"

TEXT = """\
// Written by bindings/header/emit.py from lapwing.h. Do not edit.

export interface LayoutField {{
  readonly name: string; // in JavaScript
  readonly offset: number;
  readonly kind: string; // u32, text, pointer …, or the name of a struct
  readonly count?: number; // of letters
  readonly names?: Readonly<Record<number, string>>;
  readonly isTruth?: true;
}}
export interface Layout {{
  readonly bytes: number;
  readonly fields: Readonly<Record<string, LayoutField>>;
}}

export const constants = {{
{constants}}} as const;

export const layouts = {{
{layouts}}} as const satisfies Record<string, Layout>;

{interfaces}// The result, then the parameters, as koffi names them.
export const functions = {{
{functions}}} as const;
export type FunctionName = keyof typeof functions;
"""


def camel(name):
    return re.sub(r"_(\w)", lambda found: found[1].upper(), name)


def interface(struct):
    return camel(struct.removeprefix("lapwing"))


def struct_texts(struct, enums):
    """Returns the layout of a struct and its interface."""
    layout, members = "", ""
    for field in struct.fields:
        key = f"{struct.name}.{field.name}"
        name = "type" if key == "lapwing_event.kind" else camel(field.name)
        kind, type_ = TYPES.get(field.type) or (field.type, interface(field.type))
        if field.stars:
            kind, type_ = "pointer", "bigint"
        more = f", count: {field.count}" if field.count and kind == "text" else ""
        if key in NAMED:
            enum = enums[NAMED[key]]
            words = [(value, member.removeprefix(enum.prefix).lower().replace("_", "-"))
                     for member, value in enum.members]
            more = ", names: { " + ", ".join(f"{value}: '{word}'" for value, word in words) + " }"
            type_ = "".join(f"'{word}' | " for _, word in words) + "''"
        elif re.fullmatch(TRUTHS, field.name):
            more, type_ = ", isTruth: true", "boolean"
        layout += (f"      {field.name}: {{ name: '{name}', offset: {field.offset}, "
                   f"kind: '{kind}'{more} }},\n")
        if field.name not in ("struct_size", "reserved"):
            members += f"  readonly {name}: {type_};\n"
    layout = f"    bytes: {struct.size},\n    fields: {{\n{layout}    }},\n"
    return (f"  {struct.name}: {{\n{layout}  }},\n",
            f"export interface {interface(struct.name)} {{\n{members}}}\n\n")


def koffi_type(value):
    return "'str'" if value.kind == "text" else "'void *'" if value.stars else f"'{value.type}'"


def function_text(function):
    parameters = ", ".join(map(koffi_type, function.parameters))
    return f"  {function.name}: [{koffi_type(function.result)}, [{parameters}]],\n"


def emit(header):
    members = [member for enum in header.enums for member in enum.members]
    enums = {enum.name: enum for enum in header.enums}
    texts = {struct.name: struct_texts(struct, enums) for struct in header.structs}
    return TEXT.format(
        constants="".join(f"  {name}: {value},\n" for name, value in members + header.constants),
        layouts="".join(layout for layout, _ in texts.values()),
        interfaces="".join(members for name, (_, members) in texts.items()
                           if not re.fullmatch(NO_INTERFACE, name)),
        functions="".join(map(function_text, header.functions)))
