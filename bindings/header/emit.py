#!/usr/bin/env python3
"""Generates the file with which a package calls the functions of lapwing.h.

    emit.py LANGUAGE [--header FILE] OUT     LANGUAGE: csharp, java, node

OUT is written only if its content differs, so that incremental builds stay fast.
Exit: 0 OUT matches the header, 1 the header has an unknown form, 2 wrong usage,
77 Python is too old.
"""

import argparse
import sys
from pathlib import Path

if sys.version_info < (3, 9):  # noqa: UP036
    print(f"Python 3.9 or newer; this machine has {sys.version.split()[0]}")
    sys.exit(77)

import csharp
import java
import node
from parse import Header

LANGUAGES = {"csharp": csharp, "java": java, "node": node}
HEADER = Path(__file__).resolve().parents[2] / "include" / "lapwing.h"


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("language", choices=LANGUAGES)
    parser.add_argument("--header", type=Path, default=HEADER)
    parser.add_argument("out", type=Path)
    options = parser.parse_args()
    header = Header(options.header.read_text(encoding="utf-8"))
    text = LANGUAGES[options.language].emit(header)
    if not options.out.exists() or options.out.read_text(encoding="utf-8") != text:
        options.out.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
