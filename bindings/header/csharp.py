"""This module generates Native.cs, with the enumerations, structs and functions for C#."""

import sys

SCALARS = {
    "char": "byte", "uint8_t": "byte", "uint16_t": "ushort", "int32_t": "int", "uint32_t": "uint",
    "int64_t": "long", "uint64_t": "ulong", "size_t": "UIntPtr",
}
ENUMS = {  # the public enumerations: the name and the summary
    "lapwing_result": ("ErrorCode", "The reason why a call failed."),
    "lapwing_type": ("FieldType", "The type of a field: see docs/reference/records.md."),
    "lapwing_unit": ("FieldUnit", "The unit of the number in a field."),
    "lapwing_role": ("FieldRole", "The role of a field."),
    "lapwing_on_journal_lag":
        ("OnJournalLag", "What publish does if the journal is a whole ring behind."),
    "lapwing_on_journal_failure":
        ("OnJournalFailure", "What publish does after the journal has failed."),
    "lapwing_settled": ("Settled", "How a start settled the previous session."),
    "lapwing_journal_state": ("JournalState", "The state of a publisher's journal."),
    "lapwing_batch_kind": ("BatchKind", "The kind of a batch that a read returns."),
    "lapwing_event_kind": ("EventKind", "The kind of an event: see docs/reference/events.md."),
    "lapwing_cause": ("GapCause", "The reason why records are missing."),
    "lapwing_start": ("StartKind", "Where a subscriber begins."),
    "lapwing_on_gap": ("OnGap", "What a subscriber does at a gap."),
    "lapwing_wait": ("WaitStrategy", "How a call waits."),
    "lapwing_channel_role": ("ChannelRole", "The role of one end of a channel."),
    "lapwing_source_kind": ("SourceKind", "The kind of a source in a wait set."),
}
HEAD = """\
// Written by bindings/header/emit.py from lapwing.h. Do not edit.
using System;
using System.Runtime.InteropServices;

namespace Lapwing
{
"""


def pascal(name):
    return "".join(part.capitalize() for part in name.split("_")).replace("Uint", "UInt")


def block(head, lines):
    body = "".join(f"        {line}\n" if line else "\n" for line in lines)
    return f"    {head}\n    {{\n{body}    }}\n"


def enum_text(enum):
    if enum.name not in ENUMS:
        sys.exit(f"emit.py: {enum.name} has no name in C#. Add one in bindings/header/csharp.py.")
    name, about = ENUMS[enum.name]
    lines = []
    for member, value in enum.members:
        own = pascal(member.removeprefix(enum.prefix))
        lines.append(f"{'Descriptor' if own == 'Fd' else own} = {value},")
    return block(f"/// <summary>{about}</summary>\n    public enum {name}", lines)


def field_text(field):
    type_ = "IntPtr" if field.stars else SCALARS.get(field.type, field.type)
    if field.count:
        return f"public fixed {type_} {field.name}[{field.count}];"
    return f"public {type_} {'@' if field.name == 'event' else ''}{field.name};"


def struct_text(struct):
    head = f"[StructLayout(LayoutKind.Sequential)]\n    internal unsafe struct {struct.name}"
    return block(head, map(field_text, struct.fields))


def parameter_text(parameter):
    type_ = SCALARS.get(parameter.type, parameter.type) + "*" * parameter.stars
    if parameter.kind == "handle":
        handle = pascal(parameter.type.removeprefix("lapwing_")) + "Handle"
        type_ = handle if parameter.stars == 1 else "ref IntPtr"
    elif parameter.kind:
        type_ = {"text": "byte[]", "callback": "IntPtr"}[parameter.kind]
    return f"{type_} {parameter.name}"


def function_lines(function):
    type_ = "IntPtr" if function.result.stars else SCALARS.get(function.result.type, "void")
    parameters = ", ".join(map(parameter_text, function.parameters))
    return ["", "[DllImport(Library)]",
            f"internal static extern {type_} {function.name}({parameters});"]


def emit(header):
    flags = [member for enum in header.enums if not enum.name for member in enum.members]
    native = ['internal const string Library = "liblapwing.so.1";', ""]
    for name, value in header.constants + flags:
        native.append(f"internal const uint {pascal(name)} = {value};")
    for function in header.functions:
        native += function_lines(function)
    blocks = [enum_text(enum) for enum in header.enums if enum.name]
    blocks += map(struct_text, header.structs)
    blocks.append(block("internal static unsafe class Native", native))
    return HEAD + "\n".join(blocks) + "}\n"
