#!/usr/bin/env python3
"""Prints the largest classes of the product: data members and functions, from clang's syntax trees.

    tools/classes.py [--build DIR] [--top N]

Reads the compile commands of a configured build (default: build/release). Needs python3-clang-19.
Structs without functions, such as values and options, are omitted. Exit: 0 no class has more than
20 data members or 40 functions, 1 a class has more, 2 wrong usage.
"""

import argparse
import collections
import json
import pathlib
import re
import shlex
import subprocess
import sys

sys.path.append("/usr/lib/python3/dist-packages")  # Debian's packages, for any python3
from clang import cindex

ROOT = pathlib.Path(__file__).resolve().parents[1]
PRODUCT = ("include", "proto", "os", "bus", "channel", "snapshot", "publisher", "subscribers", "monitor",
           "cli", "wait_set", "bindings/c")
MEMBERS_MAX, FUNCTIONS_MAX = 20, 40
CLASSES = (cindex.CursorKind.CLASS_DECL, cindex.CursorKind.STRUCT_DECL, cindex.CursorKind.CLASS_TEMPLATE)
FUNCTIONS = (cindex.CursorKind.CXX_METHOD, cindex.CursorKind.CONSTRUCTOR, cindex.CursorKind.DESTRUCTOR,
             cindex.CursorKind.CONVERSION_FUNCTION, cindex.CursorKind.FUNCTION_TEMPLATE)
Size = collections.namedtuple("Size", "members functions place")


def product_path(cursor):
    """The path, relative to the root, of a product class; None for other classes."""
    file = cursor.location.file
    path = pathlib.Path(file.name).resolve() if file else None
    if path is None or not path.is_relative_to(ROOT):
        return None
    name = str(path.relative_to(ROOT))
    is_test = re.search(r"_test\.(cc|h)$|_fuzz\.cc$|(^|/)fuzz/", name)
    return name if name.startswith(tuple(f"{folder}/" for folder in PRODUCT)) and not is_test else None


def collect(cursor, scope, sizes):
    for child in cursor.get_children():
        if child.kind == cindex.CursorKind.NAMESPACE:
            collect(child, scope, sizes)
        elif child.kind in CLASSES and child.is_definition():
            name = f"{scope}{child.spelling}"
            path = product_path(child)
            kinds = [part.kind for part in child.get_children()]
            functions = sum(kind in FUNCTIONS for kind in kinds)
            if path and functions:
                members = kinds.count(cindex.CursorKind.FIELD_DECL)
                sizes[name, path] = Size(members, functions, f"{path}:{child.location.line}")
            collect(child, f"{name}::", sizes)


def arguments_of(command):
    """The options for the preprocessor and the language."""
    words = shlex.split(command)
    return [word for i, word in enumerate(words)
            if word.startswith(("-I", "-D", "-std")) or words[i - 1] == "-isystem" or word == "-isystem"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "release")
    parser.add_argument("--top", type=int, default=10)
    options = parser.parse_args()
    commands = options.build / "compile_commands.json"
    if not commands.is_file():
        parser.error(f"{commands} does not exist; configure first: cmake --preset release")
    system = subprocess.run(["clang++-19", "-print-resource-dir"], capture_output=True, text=True,
                            check=True).stdout.strip()
    index, sizes = cindex.Index.create(), {}
    for entry in json.loads(commands.read_text(encoding="utf-8")):
        target = re.search(r"CMakeFiles/([^/]+)\.dir/", entry["command"])
        if target is None or not re.fullmatch(r"lapwing(_[a-z_]+)?", target[1]) or "bench" in target[1]:
            continue
        unit = index.parse(entry["file"], [*arguments_of(entry["command"]), "-I", f"{system}/include"],
                           options=cindex.TranslationUnit.PARSE_SKIP_FUNCTION_BODIES)
        errors = [str(d) for d in unit.diagnostics if d.severity >= cindex.Diagnostic.Error]
        if errors:
            sys.exit(f"classes.py: {entry['file']} cannot be parsed: {errors[0]}")
        collect(unit.cursor, "", sizes)
    largest = sorted(sizes.items(), key=lambda item: -max(item[1].members / MEMBERS_MAX,
                                                          item[1].functions / FUNCTIONS_MAX))
    print("members  functions  class")
    for (name, _), size in largest[:options.top]:
        print(f"{size.members:7}  {size.functions:9}  {name}  {size.place}")
    over = [name for (name, _), size in largest
            if size.members > MEMBERS_MAX or size.functions > FUNCTIONS_MAX]
    print(f"{len(sizes)} classes, {len(over)} over the limit of {MEMBERS_MAX} members or "
          f"{FUNCTIONS_MAX} functions")
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
