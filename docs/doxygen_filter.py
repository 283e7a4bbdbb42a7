#!/usr/bin/env python3
"""Converts a header or a page for Doxygen, and prints it.

    doxygen_filter.py HEADER|PAGE

Headers have plain comments: `//` above or behind a declaration. Doxygen reads only `///` and `///<`. The
comment at the head of a header becomes that of the file. Indented text in a comment becomes a block of code.
Line numbers are approximate.

A page (.md) loses its relative links, because Doxygen's output does not contain the other pages.
"""

import re
import sys

WHOLE = re.compile(r"^(\s*)//(?!/)( ?)(.*)$")
BEHIND = re.compile(r'^(\s*[^\s/}#](?:[^"/]|"[^"]*"|/(?!/))*?)//(?!/) ?(.*)$')
CODE_INDENT = "  "  # beyond the one space after //
LINK = re.compile(r"\[([^\[\]]+)\]\((?![a-z]+:)[^()\s]+\)")


def escape(text):
    """Escapes the characters that are special for Doxygen, except in backquotes."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(part if part.startswith("`") else re.sub(r"([<>#@\\%])", r"\\\1", part)
                   for part in parts)


def filtered(lines):
    """The lines of a header, as Doxygen should see them."""
    behind_column = None  # column of a comment at the end of the previous line
    in_code = False
    for number, line in enumerate(lines):
        whole = WHOLE.match(line)
        if whole and "NOLINT" not in line:
            indent, text = whole[1], whole[3]
            if len(indent) == behind_column:
                yield f"{indent}///< {escape(text)}"
                continue
            behind_column = None
            if number == 0:
                yield "/// @file"
            is_code = text.startswith(CODE_INDENT)
            if is_code and not in_code:
                yield f"{indent}/// @code"
            elif in_code and not is_code and text:
                yield f"{indent}/// @endcode"
            in_code = is_code or (in_code and not text)
            yield f"{indent}/// {text if in_code else escape(text)}"
            continue
        if in_code:
            yield "/// @endcode"
            in_code = False
        behind = BEHIND.match(line)
        if behind and "NOLINT" not in line:
            behind_column = len(behind[1])
            yield f"{behind[1]}///< {escape(behind[2])}"
        else:
            behind_column = None
            yield line


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        text = file.read()
    print(LINK.sub(r"\1", text) if sys.argv[1].endswith(".md") else "\n".join(filtered(text.split("\n"))))


if __name__ == "__main__":
    main()
