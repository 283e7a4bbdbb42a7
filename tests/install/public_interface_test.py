#!/usr/bin/env python3
"""Compiles every public header, and every C++ example in README.md and docs/, like a user's
compiler: separately, with only the public headers, and with warnings as errors."""

import concurrent.futures
import os
import re
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = ("README.md", *(str(path.relative_to(ROOT)) for path in sorted((ROOT / "docs").rglob("*.md"))))
FLAGS = ["-std=c++20", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only"]


COMPILERS = [name for name in ("g++", "clang++-19") if os.path.exists(f"/usr/bin/{name}")]
LAUNCHER = ["ccache"] if shutil.which("ccache") else []
JOBS = len(os.sched_getaffinity(0))


def compile_alone(compiler, source):
    """The compiler's messages for a source; empty if there are none."""
    # The paths are the same in every clone, so that clones share ccache.
    done = subprocess.run([*LAUNCHER, compiler, *FLAGS, "-Iinclude", os.path.relpath(source, ROOT)], cwd=ROOT,
                          env={**os.environ, "CCACHE_NOHASHDIR": "true"}, capture_output=True,
                          text=True, check=False)
    return "" if done.returncode == 0 else done.stderr


def snippets(document):
    """(line, text) of each block marked as C++."""
    text = (ROOT / document).read_text(encoding="utf-8")
    for match in re.finditer(r"^```cpp\n(.*?)^```", text, re.M | re.S):
        yield text.count("\n", 0, match.start()) + 2, match[1]


class PublicInterface(unittest.TestCase):
    def setUp(self):
        build = Path(os.environ.get("LAPWING_BUILD_DIR", ROOT / "build"))
        self.folder = build / "public_interface" / self._testMethodName
        self.folder.mkdir(parents=True, exist_ok=True)
        self.addCleanup(shutil.rmtree, self.folder)

    def check(self, texts):
        """Compiles each text, by name, with each compiler, in parallel on all cores."""
        with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
            said = {}
            for number, (name, text) in enumerate(texts.items()):
                source = self.folder / f"source{number}.cc"
                source.write_text(text, encoding="utf-8")
                for compiler in COMPILERS:
                    said[name, compiler] = pool.submit(compile_alone, compiler, source)
            for (name, compiler), result in said.items():
                with self.subTest(name=name, compiler=compiler):
                    self.assertEqual(result.result(), "")

    def test_every_snippet_compiles(self):
        texts = {f"{document}:{line}": f'#line {line} "{document}"\n{text}'
                 for document in DOCUMENTS for line, text in snippets(document)}
        self.assertGreaterEqual(len(texts), 12)
        self.check(texts)

    def test_every_header_compiles_alone_and_twice(self):
        headers = sorted((ROOT / "include").rglob("*.h"))
        self.assertGreaterEqual(len(headers), 20)
        names = [header.relative_to(ROOT / "include") for header in headers]
        self.check({name: f'#include "{name}"\n#include "{name}"\n' for name in names})


if __name__ == "__main__":
    sys.exit(unittest.main())
