#!/usr/bin/env python3
"""Writes src/Native.cs from the C header: the structs, the enumerations and the functions.

    generate.py [--check] [HEADER]     --check compares, and writes nothing
"""

import re
import sys
from os.path import commonprefix
from pathlib import Path

HERE = Path(__file__).resolve().parent
OUT = HERE / "src" / "Native.cs"

SCALARS = {
    "uint8_t": "byte", "uint16_t": "ushort", "uint32_t": "uint", "int32_t": "int",
    "lapwing_result": "int", "uint64_t": "ulong", "int64_t": "long", "size_t": "UIntPtr",
    "char": "byte", "void": "void",
}
# The enumerations that programs see, by the name of the first member; the others are flags.
ENUMS = {
    "OK": ("ErrorCode", "Why a call failed."),
    "TYPE_INT8": ("FieldType", "Types of fields: docs/records.md."),
    "UNIT_PLAIN": ("FieldUnit", "What the number in a field counts."),
    "ROLE_DATA": ("FieldRole", "What a field is for."),
    "ON_JOURNAL_LAG_WAIT": ("OnJournalLag", "What publish does where the journal is a whole ring behind."),
    "ON_JOURNAL_FAILURE_CONTINUE": ("OnJournalFailure", "What publish does once the journal has failed."),
    "SETTLED_FRESH": ("Settled", "How a start settled the session before it."),
    "JOURNAL_STATE_NONE": ("JournalState", "Of a publisher."),
    "BATCH_NOTHING": ("BatchKind", "What a read has found."),
    "EVENT_GAP": ("EventKind", "Kinds of events: docs/events.md."),
    "CAUSE_LAPPED": ("GapCause", "Why records are missing."),
    "START_LIVE": ("StartKind", "Where a subscriber begins."),
    "ON_GAP_FILL": ("OnGap", "What a subscriber does at a gap."),
    "WAIT_BUSY": ("WaitStrategy", "How a call waits."),
    "CHANNEL_ROLE_PRODUCER": ("ChannelRole", "What an end of a channel does."),
    "SOURCE_SUBSCRIBER": ("SourceKind", "What a wait set waits for."),
}
RENAMED = {"FD": "Descriptor"}
KEYWORDS = {"event": "@event"}
HANDLES = ("publisher", "subscriber", "cursor", "history", "books", "listener", "channel",
           "symbols", "wait_set")


def pascal(name):
    return "".join(part.capitalize() for part in name.lower().split("_")).replace("Uint", "UInt")


def enum_text(first, members):
    name, about = ENUMS[first]
    common = commonprefix([member for member, _ in members])
    prefix = "ERROR_" if first == "OK" else common[: common.rindex("_") + 1]
    lines = [f"    /// <summary>{about}</summary>", f"    public enum {name}", "    {"]
    for member, value in members:
        own = member.removeprefix(prefix)
        lines.append(f"        {RENAMED.get(own) or pascal(own)} = {value},")
    return lines + ["    }", ""]


def field_text(declaration):
    type_, stars, name, count = re.fullmatch(
        r"(.*?)\s*(\**)\s*(\w+)(?:\[(\d+)\])?", declaration).groups()
    if "*" in type_ or stars:
        return f"public IntPtr {name};"
    if count:
        return f"public fixed byte {name}[{count}];"
    return f"public {SCALARS.get(type_, type_)} {KEYWORDS.get(name, name)};"


def parameter_text(parameter):
    if parameter == "void":
        return None
    type_, stars, name = re.fullmatch(r"(.*?)\s*(\**)\s*(\w+)", parameter).groups()
    type_ = type_.replace("const", "").strip()
    handle = type_.removeprefix("lapwing_")
    if type_ == "lapwing_log_fn":
        return f"IntPtr {name}"
    if handle in HANDLES and stars == "*":
        return f"{pascal(handle)}Handle {name}"
    if handle in HANDLES:
        return f"ref IntPtr {name}"
    if parameter.startswith("const char *"):
        return f"byte[] {name}"
    return f"{SCALARS.get(type_, type_)}{stars} {name}"


def function_text(result, name, parameters):
    shown = [text for text in map(parameter_text, parameters) if text]
    type_ = "IntPtr" if "char" in result else SCALARS[result]
    head = f"internal static extern {type_} {name}("
    return ["        [DllImport(Library)]", f"        {head}{', '.join(shown)});", ""]


def generate(header):
    text = re.sub(r"/\*.*?\*/", " ", header, flags=re.S)
    text = re.sub(r"\s+", " ", re.sub(r"^#(?:.*\\\n)*.*$", "", text, flags=re.M))
    for name in re.findall(r"typedef uint32_t (\w+);", text):
        SCALARS[name] = SCALARS["uint32_t"]
    lines = ["// Written by generate.py from lapwing.h. Do not edit.", "using System;",
             "using System.Runtime.InteropServices;", "", "namespace Lapwing", "{"]
    flags = [(name, value) for name, value in
             re.findall(r"^#define LAPWING_(ABI_\w+) (\d+)", header, flags=re.M)]
    for body in re.findall(r"enum \{([^}]*)\}", text):
        members = re.findall(r"LAPWING_(\w+) = (\d+)", body)
        if members[0][0] in ENUMS:
            lines += enum_text(members[0][0], members)
        else:
            flags += members
    for name, body in re.findall(r"typedef struct (\w+) \{([^}]*)\}", text):
        declarations = [field.strip() for field in body.split(";") if field.strip()]
        lines += ["    [StructLayout(LayoutKind.Sequential)]", f"    internal unsafe struct {name}",
                  "    {"]
        lines += [f"        {field_text(declaration)}" for declaration in declarations]
        lines += ["    }", ""]
    lines += ["    internal static unsafe class Native", "    {",
              '        internal const string Library = "liblapwing.so.1";', ""]
    lines += [f"        internal const uint {pascal(name)} = {value};" for name, value in flags]
    lines += [""]
    for result, name, parameters in re.findall(
            r"LAPWING_API(?:_V)? ([\w *]*?)(lapwing_\w+)\(([^)]*)\);", text):
        parts = [part.strip() for part in parameters.split(",")]
        lines += function_text(result.strip(), name, parts)
    lines[-1] = "    }"
    return "\n".join(lines + ["}", ""])


def main():
    words = [word for word in sys.argv[1:] if word != "--check"]
    header = Path(words[0]) if words else HERE.parents[1] / "include" / "lapwing.h"
    text = generate(header.read_text(encoding="utf-8"))
    if "--check" not in sys.argv:
        OUT.write_text(text, encoding="utf-8")
    elif OUT.read_text(encoding="utf-8") != text:
        print("src/Native.cs is not what lapwing.h says: run generate.py, and mend what uses it")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
