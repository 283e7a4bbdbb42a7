#!/usr/bin/env python3
"""Writes C.java, Lapwing's C interface as Java sees it, from the C header.

    layouts.py lapwing.h > src/main/java/lapwing/C.java

For every enumerator an int, for every struct its layout and the offset of each field, for every
function a static method that calls it. Names are those of C without "lapwing_". The header is
regular, so regular expressions read it; what they do not understand ends the script with a message.
"""

import re
import sys

# Short calls that never wait: the thread does not change its state for them, which halves the cost
# of a call. A garbage collection waits until they return.
CRITICAL = {
    "version", "error_name", "publisher_interrupt", "subscriber_interrupt", "subscriber_position",
    "cursor_position", "books_find", "books_levels", "listener_fd", "listener_interrupt",
    "channel_commit", "channel_abort", "channel_release", "channel_fd", "channel_interrupt",
    "wait_set_interrupt",
}
# These wait, but with a timeout of 0 they do not: then they are called as NAME_now.
CRITICAL_NOW = {"publisher_publish", "subscriber_read_one", "channel_claim", "channel_peek"}

# C type: value layout, Java type, bytes.
SCALARS = {
    "char": ("JAVA_BYTE", "byte", 1), "uint8_t": ("JAVA_BYTE", "byte", 1),
    "uint16_t": ("JAVA_SHORT", "short", 2),
    "int32_t": ("JAVA_INT", "int", 4), "uint32_t": ("JAVA_INT", "int", 4),
    "lapwing_result": ("JAVA_INT", "int", 4),
    "int64_t": ("JAVA_LONG", "long", 8), "uint64_t": ("JAVA_LONG", "long", 8),
    "size_t": ("JAVA_LONG", "long", 8),
}
POINTER = ("ADDRESS", "MemorySegment", 8)

HEAD = """\
package lapwing;

import static java.lang.foreign.MemoryLayout.paddingLayout;
import static java.lang.foreign.MemoryLayout.sequenceLayout;
import static java.lang.foreign.MemoryLayout.structLayout;
import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.invoke.MethodHandle;

/** lapwing.h for Java. layouts.py writes this file: change the script or the header, not this. */
final class C {
  private C() {}
"""


def fail(message):
    sys.exit(f"layouts.py: {message}; teach the script or mend the header")


def short(name):
    return re.sub(r"^(lapwing|LAPWING)_", "", name)


def wrapped(line):
    """Lines of at most 100 columns, broken behind commas."""
    while len(line) > 100:
        at = line.rindex(", ", 0, 100) + 1
        yield line[:at]
        line = "      " + line[at + 1:]
    yield line


class Struct:
    def __init__(self, name, body, structs):
        self.name = name
        self.members = []  # layout in Java, name
        self.offsets = []  # name, offset
        self.bytes = 0
        self.align = 1
        for declaration in filter(None, (part.strip() for part in body.split(";"))):
            found = re.fullmatch(r"(.*?[\s*])(\w+)(?:\[(\d+)\])?", declaration, re.S)
            if not found:
                fail(f"cannot read '{declaration}' in {name}")
            self.add(found[1].strip(), found[2], int(found[3] or 0), structs)
        self.pad(self.align)

    def add(self, c_type, field, count, structs):
        if c_type in structs:
            inner = structs[c_type]
            layout, size, align = f"C.{inner.short}.LAYOUT", inner.bytes, inner.align
        else:
            layout, _, size = POINTER if c_type.endswith("*") else SCALARS.get(c_type) or fail(
                f"the type '{c_type}' of {self.name}.{field} is new")
            align = size
        if count:
            layout, size = f"sequenceLayout({count}, {layout})", size * count
        self.pad(align)
        self.members.append(f'{layout}.withName("{field}")')
        self.offsets.append((field, self.bytes))
        self.bytes += size
        self.align = max(self.align, align)

    def pad(self, align):
        gap = -self.bytes % align
        if gap:
            self.members.append(f"paddingLayout({gap})")
            self.bytes += gap

    @property
    def short(self):
        return short(self.name)

    def java(self):
        members = ",\n        ".join(self.members)
        yield f"\n  static final class {self.short} {{"
        yield f"    static final StructLayout LAYOUT = structLayout(\n        {members});"
        yield f"    static final long SIZE = {self.bytes};"
        for field, offset in self.offsets:
            yield f"    static final long {field} = {offset};"
        yield "  }"


def function(returns, name, parameters, structs):
    """The holder of the handle, made when it is first needed, and the method that calls it."""
    layouts, declared, passed = [], [], []
    for parameter in [] if parameters.strip() == "void" else re.split(r"\s*,\s*", parameters):
        found = re.fullmatch(r"(.*?[\s*])(\w+)", parameter.strip(), re.S)
        if not found:
            fail(f"cannot read the parameter '{parameter}' of {name}")
        c_type, argument = found[1].strip(), found[2]
        if c_type in structs:
            layout, java_type = f"C.{short(c_type)}.LAYOUT", "MemorySegment"
        elif c_type.endswith("*") or c_type == "lapwing_log_fn":
            layout, java_type, _ = POINTER
        else:
            layout, java_type, _ = SCALARS.get(c_type) or fail(f"'{c_type}' of {name} is new")
        layouts.append(layout)
        declared.append(f"{java_type} {argument}")
        passed.append(argument)
    if returns == "void":
        descriptor, java_type, cast = f"ofVoid({', '.join(layouts)})", "void", ""
    else:
        layout, java_type, _ = POINTER if returns.endswith("*") else SCALARS[returns]
        descriptor = f"of({', '.join([layout, *layouts])})"
        cast = f"return ({java_type}) "
    plain = short(name)
    variants = [(plain, plain in CRITICAL)]
    if plain in CRITICAL_NOW:
        variants.append((plain + "_now", True))
    for variant, critical in variants:
        made = "Library.critical" if critical else "Library.call"
        yield ""
        yield f"  private static final class Call_{variant} {{"
        yield f'    static final MethodHandle HANDLE = {made}("{name}",'
        yield from wrapped(f"        FunctionDescriptor.{descriptor});")
        yield "  }"
        yield ""
        yield from wrapped(f"  static {java_type} {variant}({', '.join(declared)}) {{")
        yield "    try {"
        yield from wrapped(
            f"      {cast}Call_{variant}.HANDLE.invokeExact({', '.join(passed)});")
        yield "    } catch (Throwable e) {"
        yield "      throw Library.unexpected(e);"
        yield "    }"
        yield "  }"


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    with open(sys.argv[1], encoding="utf-8") as header:
        text = re.sub(r"/\*.*?\*/", " ", header.read(), flags=re.S)
    for name in re.findall(r"typedef uint32_t (lapwing_\w+);", text):
        SCALARS[name] = SCALARS["uint32_t"]
    out = [HEAD]

    for name, number in re.findall(r"#define (LAPWING_ABI_\w+) (\d+)", text):
        out.append(f"  static final int {short(name)} = {number};")
    for name, number in re.findall(r"#define (LAPWING_\w+) INT64_C\((-?\d+)\)", text):
        out.append(f"  static final long {short(name)} = {number};")
    for body in re.findall(r"\benum \{(.*?)\};", text, re.S):
        for item in filter(None, (part.strip() for part in body.split(","))):
            found = re.fullmatch(r"(LAPWING_\w+) = (\d+)", item)
            if not found:
                fail(f"cannot read the enumerator '{item}'")
            out.append(f"  static final int {short(found[1])} = {found[2]};")

    structs = {}
    for name, body in re.findall(r"typedef struct (lapwing_\w+) \{(.*?)\} \1;", text, re.S):
        structs[name] = Struct(name, body, structs)
        out.extend(structs[name].java())

    found = re.findall(r"^LAPWING_API(?:_V)? ([\w ]+?\*?)\s*(lapwing_\w+)\(([^)]*)\);", text,
                       re.S | re.M)
    if len(found) != text.count("\nLAPWING_API"):
        fail(f"{len(found)} functions of {text.count(chr(10) + 'LAPWING_API')} were read")
    for returns, name, parameters in found:
        out.extend(function(returns.strip(), name, parameters, structs))
    unknown = (CRITICAL | CRITICAL_NOW) - {short(name) for _, name, _ in found}
    if unknown:
        fail(f"no such functions: {', '.join(sorted(unknown))}")
    out.append("}")
    print("\n".join(out))


if __name__ == "__main__":
    main()
