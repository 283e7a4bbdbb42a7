"""This module generates C.java: a number for each constant, a class for each struct, a method for
each function. The class of a struct has its layout and the offsets of its fields. Names lose
"lapwing_".
"""

import sys

# These calls are short and never wait. They run without a thread-state transition, which halves the
# cost of a call. Garbage collection waits until they return.
CRITICAL = {
    "version", "error_name", "publisher_interrupt", "subscriber_interrupt", "subscriber_position",
    "cursor_position", "books_find", "books_levels", "listener_fd", "listener_interrupt",
    "channel_commit", "channel_abort", "channel_release", "channel_fd", "channel_interrupt",
    "wait_set_interrupt",
}
# If the timeout is 0, these calls do not wait either. They are then called as NAME_now.
CRITICAL_NOW = {"publisher_publish", "subscriber_read_one", "channel_claim", "channel_peek"}

SCALARS = {  # the layout and the type
    "char": ("JAVA_BYTE", "byte"), "uint8_t": ("JAVA_BYTE", "byte"),
    "uint16_t": ("JAVA_SHORT", "short"), "int32_t": ("JAVA_INT", "int"),
    "uint32_t": ("JAVA_INT", "int"), "int64_t": ("JAVA_LONG", "long"),
    "uint64_t": ("JAVA_LONG", "long"), "size_t": ("JAVA_LONG", "long"),
}

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

/** Written by bindings/header/emit.py from lapwing.h. Do not edit. */
final class C {
  private C() {}

"""


def short(name):
    return name.removeprefix("lapwing_")


def wrapped(line):
    """Wraps the text to at most 100 columns, after commas."""
    if len(line) <= 100:
        return line
    at = line.rindex(", ", 0, 100) + 1
    return line[:at] + "\n" + wrapped("      " + line[at + 1:])


def java_type(value):
    if value.stars:
        return "ADDRESS", "MemorySegment"
    return SCALARS.get(value.type) or (f"C.{short(value.type)}.LAYOUT", "MemorySegment")


def member_text(field):
    layout, _ = java_type(field)
    if field.count:
        layout = f"sequenceLayout({field.count}, {layout})"
    return f'{layout}.withName("{field.name}")'


def struct_text(struct):
    members = ",\n        ".join(map(member_text, struct.fields))
    offsets = "".join(f"    static final long {field.name} = {field.offset};\n"
                      for field in struct.fields)
    return f"""
  static final class {short(struct.name)} {{
    static final StructLayout LAYOUT = structLayout(
        {members});
    static final long SIZE = {struct.size};
{offsets}  }}
"""


def function_text(function, variant, library_call):
    """Returns the class that makes the method handle on first use, and the method that calls it."""
    layouts = [java_type(one)[0] for one in function.parameters]
    descriptor, type_, returned = "ofVoid", "void", ""
    if function.result.type != "void":
        layout, type_ = java_type(function.result)
        descriptor, layouts, returned = "of", [layout, *layouts], f"return ({type_}) "
    declared = ", ".join(f"{java_type(one)[1]} {one.name}" for one in function.parameters)
    passed = ", ".join(one.name for one in function.parameters)
    described = wrapped(f"        FunctionDescriptor.{descriptor}({', '.join(layouts)}));")
    head = wrapped(f"  static {type_} {variant}({declared}) {{")
    call = wrapped(f"      {returned}Call_{variant}.HANDLE.invokeExact({passed});")
    return f"""
  private static final class Call_{variant} {{
    static final MethodHandle HANDLE = Library.{library_call}("{function.name}",
{described}
  }}

{head}
    try {{
{call}
    }} catch (Throwable e) {{
      throw Library.unexpected(e);
    }}
  }}
"""


def emit(header):
    functions = {short(function.name): function for function in header.functions}
    unknown = (CRITICAL | CRITICAL_NOW) - set(functions)
    if unknown:
        sys.exit(f"emit.py: the header has no function {', '.join(sorted(unknown))}. "
                 "Remove it from CRITICAL or CRITICAL_NOW in bindings/header/java.py.")
    members = [member for enum in header.enums for member in enum.members]
    numbers = [("int", header.constants), ("long", header.durations), ("int", members)]
    text = HEAD
    text += "".join(f"  static final {type_} {name} = {value};\n"
                    for type_, pairs in numbers for name, value in pairs)
    text += "".join(map(struct_text, header.structs))
    for name, function in functions.items():
        text += function_text(function, name, "critical" if name in CRITICAL else "call")
        if name in CRITICAL_NOW:
            text += function_text(function, name + "_now", "critical")
    return text + "}\n"
