#!/usr/bin/env python3
"""Prints the C interface as plain lines: every constant, struct, field and function of lapwing.h.

    bindings/c/golden.py                 compares lapwing.h with tests/golden/capi.golden
    bindings/c/golden.py --update        writes tests/golden/capi.golden
    bindings/c/golden.py --functions     prints the names of the functions
    bindings/c/golden.py --stubs         prints a C source with empty definitions of all functions
    bindings/c/golden.py --counted       prints a C++ source that counts calls and results (testing/counted_calls.h)
    … --header FILE                      reads another header

Names and types come from the header's text, which has a fixed form. Sizes, offsets and values come from the
C compiler (CC, by default cc). The declarations of Java, C# and Node.js come from the header (bindings/header).

Exit: 0 unchanged, 1 changed, 2 wrong usage, or a header in another form.
"""

import argparse
import difflib
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HEADER = ROOT / "include" / "lapwing.h"
GOLDEN = ROOT / "tests" / "golden" / "capi.golden"


@dataclass(frozen=True)
class Field:
    name: str
    type: str  # followed by an array's length: "char[32]"


@dataclass(frozen=True)
class Function:
    name: str
    result: str
    parameters: tuple  # of Field

    def signature(self):
        parameters = ", ".join(f"{parameter.type} {parameter.name}" for parameter in self.parameters)
        return f"{self.result} {self.name}({parameters or 'void'})".replace("* ", "*")


class Interface:
    """The declarations of a header, in order."""

    def __init__(self, text):
        code = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
        self.constants = re.findall(r"#define (LAPWING_(?:ABI_\w+|FOREVER)) ", code)
        for body in re.findall(r"\benum\s*\{([^}]*)\}", code):
            self.constants += re.findall(r"(LAPWING_\w+)\s*=", body)
        self.structs = {}
        for name, body, again in re.findall(r"typedef struct (\w+)\s*\{([^}]*)\}\s*(\w+);", code):
            if name != again:
                raise ValueError(f"struct {name} is called {again}")
            self.structs[name] = [field for line in body.split(";") if line.strip()
                                  for field in self.fields_of(line)]
        self.functions = [self.function_of(match) for match in re.finditer(
            r"LAPWING_API(?:_V)? ([^;()]*?)(\w+)\(([^;]*?)\);", code, re.S)]
        if not self.functions or not self.structs or not self.constants:
            raise ValueError("there is no function, no struct or no constant")

    @staticmethod
    def fields_of(line):
        declaration = " ".join(line.split())
        kind, _, names = declaration.rpartition(" ") if "," not in declaration else \
            re.match(r"(.*?)( )(\w+(?:, \w+)*)$", declaration).groups()
        for name in names.split(", "):
            stars = len(name) - len(name.lstrip("*"))
            length = re.search(r"(\[\w+\])$", name)
            bare = name.lstrip("*").split("[")[0]
            yield Field(bare, f"{kind}{' ' + '*' * stars if stars else ''}{length[1] if length else ''}")

    def function_of(self, match):
        result, name, parameters = (" ".join(part.split()) for part in match.groups())
        fields = [] if parameters == "void" else [
            field for part in parameters.split(", ") for field in self.fields_of(part)]
        return Function(name, result, tuple(fields))


def measured(interface, header):
    """Returns (values of constants, sizes of structs, (offset, size) of fields) from the compiler."""
    prints = [f'printf("%lld\\n", (long long){name});' for name in interface.constants]
    for struct, fields in interface.structs.items():
        prints.append(f'printf("%zu\\n", sizeof({struct}));')
        prints += [f'printf("%zu %zu\\n", offsetof({struct}, {field.name}), sizeof((({struct} *)0)->{field.name}));'
                   for field in fields]
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "measure.c")
        source.write_text(f'#include "{header}"\n#include <stdio.h>\nint main(void) {{\n' +
                          "\n".join(prints) + "\nreturn 0;\n}\n", encoding="utf-8")
        program = Path(folder, "measure")
        subprocess.run([os.environ.get("CC", "cc"), "-std=c11", str(source), "-o", str(program)], check=True)
        return iter(subprocess.run([str(program)], check=True, capture_output=True, text=True).stdout.split("\n"))


def lines_of(interface, header):
    numbers = measured(interface, header)
    yield "# The C interface, written by bindings/c/golden.py. docs/reference/abi-policy.md lists permitted changes."
    for name in interface.constants:
        yield f"constant {name} {next(numbers)}"
    for struct, fields in interface.structs.items():
        yield f"struct {struct} {next(numbers)}"
        for field in fields:
            offset, size = next(numbers).split()
            yield f"field {struct}.{field.name} {offset} {size} {field.type}"
    for function in interface.functions:
        yield f"function {function.signature()}"


def stubs(interface, header):
    yield f'#include "{header}"'
    for function in interface.functions:
        body = "" if function.result == "void" else " return 0; "
        yield f"{function.signature()} {{{body}}}"


def counted(interface):
    """Yields a wrapper for every function that counts the call and its result, and calls the library's function."""
    yield "// Written by bindings/c/golden.py."
    yield '#include "testing/counted_calls.h"'
    yield '#include "lapwing.h"'
    yield "namespace lapwing {"
    yield "const std::vector<std::string>& functions_of_the_interface() {"
    yield "  static const std::vector<std::string> names = {"
    yield "      " + ", ".join(f'"{function.name}"' for function in interface.functions) + "};"
    yield "  return names;"
    yield "}"
    yield "}  // namespace lapwing"
    for function in interface.functions:
        given = ", ".join(parameter.name for parameter in function.parameters)
        noted = {"lapwing_result": f"lapwing::note_result(called({given}))"}.get(
            function.result, f"called({given})")
        yield f'extern "C" {function.signature()} {{'
        yield f'  lapwing::note_call("{function.name}");'
        yield f'  static const auto called = lapwing::function_of_library<decltype(&{function.name})>("{function.name}");'
        yield f"  {'' if function.result == 'void' else 'return '}{noted};"
        yield "}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--header", type=Path, default=HEADER)
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--functions", action="store_true")
    parser.add_argument("--stubs", action="store_true")
    parser.add_argument("--counted", action="store_true")
    options = parser.parse_args()
    header = options.header.resolve()
    interface = Interface(header.read_text(encoding="utf-8"))
    if options.functions:
        print("\n".join(function.name for function in interface.functions))
        return 0
    if options.stubs:
        print("\n".join(stubs(interface, header)))
        return 0
    if options.counted:
        print("\n".join(counted(interface)))
        return 0
    now = list(lines_of(interface, header))
    if options.update:
        GOLDEN.write_text("\n".join(now) + "\n", encoding="utf-8")
        return 0
    before = GOLDEN.read_text(encoding="utf-8").splitlines()
    changes = [line for line in difflib.unified_diff(before, now, "tests/golden/capi.golden", header.name, lineterm="", n=0)]
    print("\n".join(changes) if changes else "unchanged")
    return 1 if changes else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except ValueError as error:
        print(f"golden.py: {error}", file=sys.stderr)
        sys.exit(2)
