#!/usr/bin/env python3
"""Prints a variant of a C header, as another version would have it.

    header_variant.py HEADER --remove STRUCT.FIELD     without that field
    header_variant.py HEADER --add STRUCT.FIELD        with one more field, of 8 bytes, at the end

Both options may be given several times. Exit: 0, or 2 if a field does not exist.
"""

import argparse
import re
import sys
from pathlib import Path


def body_of(text, struct):
    found = re.search(rf"typedef struct {struct} \{{.*?\n\}} {struct};", text, re.S)
    if not found:
        sys.exit(f"header_variant: there is no struct {struct}")
    return found


def replaced(text, found, body):
    return text[:found.start()] + body + text[found.end():]


def with_initialiser(text, struct, change):
    """The header with the last value of the struct's LAPWING_…_INIT replaced by change()."""
    macro = rf"(#define {struct.upper()}_INIT \\\n.*?)(, [^,{{}}]+)(\}}\n)"
    return re.sub(macro, lambda found: found[1] + change(found[2]) + found[3], text, count=1, flags=re.S)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("header", type=Path)
    parser.add_argument("--remove", action="append", default=[])
    parser.add_argument("--add", action="append", default=[])
    options = parser.parse_args()
    text = options.header.read_text(encoding="utf-8")
    for name in options.remove:
        struct, field = name.split(".")
        found = body_of(text, struct)
        body, count = re.subn(rf"\n  [^;\n]*\b{field}(\[\d+\])?;[^\n]*(\n[^;\n]*\*/)?", "", found[0], count=1)
        if count == 0:
            print(f"header_variant: there is no field {name}", file=sys.stderr)
            return 2
        text = replaced(text, found, body)
        text = with_initialiser(text, struct, lambda last: "")  # the last field is removed
    for name in options.add:
        struct, field = name.split(".")
        found = body_of(text, struct)
        text = replaced(text, found, re.sub(r"\n\} ", f"\n  uint64_t {field};\n}} ", found[0]))
        text = with_initialiser(text, struct, lambda last: last + ", 0")
    print(text, end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
