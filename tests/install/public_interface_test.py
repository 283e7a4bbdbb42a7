#!/usr/bin/env python3
"""Compiles every public header, and every C++ example of README.md and docs/*.md, as a user's
compiler would: alone, with the public headers and no others, warnings as errors."""

import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = ("README.md", *(f"docs/{path.name}" for path in sorted((ROOT / "docs").glob("*.md"))))
FLAGS = ["-std=c++20", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only"]


COMPILERS = [name for name in ("g++", "clang++-19") if os.path.exists(f"/usr/bin/{name}")]


def compile_alone(compiler, source):
    """What the compiler has to say of it; empty: nothing."""
    done = subprocess.run([compiler, *FLAGS, f"-I{ROOT}/include", source], capture_output=True,
                          text=True, check=False)
    return "" if done.returncode == 0 else done.stderr


def snippets(document):
    """(line, text) of each block that is marked as C++."""
    text = (ROOT / document).read_text(encoding="utf-8")
    for match in re.finditer(r"^```cpp\n(.*?)^```", text, re.M | re.S):
        yield text.count("\n", 0, match.start()) + 2, match[1]


class PublicInterface(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def check(self, name, text):
        source = Path(self.folder.name, "source.cc")
        source.write_text(text, encoding="utf-8")
        for compiler in COMPILERS:
            with self.subTest(name=name, compiler=compiler):
                self.assertEqual(compile_alone(compiler, source), "")

    def test_every_snippet_compiles(self):
        found = 0
        for document in DOCUMENTS:
            for line, text in snippets(document):
                found += 1
                self.check(f"{document}:{line}", f'#line {line} "{document}"\n{text}')
        self.assertGreaterEqual(found, 12)

    def test_every_header_compiles_alone_and_twice(self):
        headers = sorted((ROOT / "include").rglob("*.h"))
        self.assertGreaterEqual(len(headers), 20)
        for header in headers:
            name = header.relative_to(ROOT / "include")
            self.check(name, f'#include "{name}"\n#include "{name}"\n')


if __name__ == "__main__":
    sys.exit(unittest.main())
