#!/usr/bin/env python3
"""Compiles every C++ example of README.md and docs/api.md as a user's compiler would: alone, with
the public headers and no others, warnings as errors."""

import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = ("README.md", "docs/api.md")
FLAGS = ["-std=c++20", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only"]


def snippets(document):
    """(line, text) of each block that is marked as C++."""
    text = (ROOT / document).read_text(encoding="utf-8")
    for match in re.finditer(r"^```cpp\n(.*?)^```", text, re.M | re.S):
        yield text.count("\n", 0, match.start()) + 2, match[1]


class Snippets(unittest.TestCase):
    def test_every_snippet_compiles_in_a_users_project(self):
        compilers = [name for name in ("g++", "clang++-19") if os.path.exists(f"/usr/bin/{name}")]
        found = 0
        with tempfile.TemporaryDirectory() as folder:
            for document in DOCUMENTS:
                for line, text in snippets(document):
                    found += 1
                    source = Path(folder, f"snippet{found}.cc")
                    source.write_text(f'#line {line} "{document}"\n{text}', encoding="utf-8")
                    for compiler in compilers:
                        with self.subTest(document=document, line=line, compiler=compiler):
                            done = subprocess.run(
                                [compiler, *FLAGS, f"-I{ROOT}/include", source],
                                capture_output=True, text=True, check=False)
                            self.assertEqual(done.returncode, 0, done.stderr)
        self.assertGreaterEqual(found, 4)


if __name__ == "__main__":
    sys.exit(unittest.main())
