"""The source tree for the rules: paths, text, and code without comments and strings."""

import os
import re
import subprocess
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

# Folders that contain no files of this project.
PRUNED = re.compile(r"^(\.git|\.cache|\.venv|__pycache__|target|build(-.*)?)$")
BINARY = (".zst", ".png", ".pyc", ".bin")

LAYERS = ("include", "proto", "os", "bus", "channel", "snapshot", "publisher", "subscribers", "wait_set", "relay", "monitor", "cli", "bindings")

# Comments, string and character literals of C++. This project's code does not use raw strings.
_COMMENT_OR_LITERAL = re.compile(
    r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])\'(?:\\.|[^\'\\\n])+\'', re.S
)


@dataclass(frozen=True)
class Finding:
    path: str
    line: int
    message: str

    def __str__(self):
        return f"{self.path}:{self.line}: {self.message}"


def without_comments(text, keep_strings=False):
    """C++ with every comment (and literal) replaced by blanks on the same lines."""

    def blank(match):
        found = match[0]
        if found.startswith(("//", "/*")):
            return re.sub(r"[^\n]", " ", found)
        return found if keep_strings else '""'

    return _COMMENT_OR_LITERAL.sub(blank, text)


@dataclass(frozen=True)
class Source:
    path: str
    text: str

    @property
    def layer(self):
        return self.path.split("/")[0]

    @property
    def name(self):
        return self.path.rsplit("/", 1)[-1]

    @property
    def is_cpp(self):
        return self.path.endswith((".h", ".cc"))

    @property
    def is_test(self):
        """foo_test.cc next to the code, or any file in testing/ and tests/."""
        return self.layer in ("testing", "tests") or self.path.endswith("_test.cc")

    @property
    def is_of_another_runtime(self):
        """C++ on top of the C interface that Python or Go builds by its own rules."""
        return self.layer == "bindings" and not self.path.startswith("bindings/c/")

    @property
    def is_library(self):
        return (self.is_cpp and self.layer in LAYERS and not self.is_test
                and not self.is_of_another_runtime)

    @cached_property
    def code(self):
        return without_comments(self.text)

    @cached_property
    def code_with_strings(self):
        return without_comments(self.text, keep_strings=True)

    def search(self, pattern, text=None):
        """(line, match) for every match of `pattern` in `text`, by default in the whole file."""
        text = self.text if text is None else text
        for match in re.finditer(pattern, text, re.M):
            yield text.count("\n", 0, match.start()) + 1, match

    def finding(self, line, message):
        return Finding(self.path, line, message)


def tracked_sizes(root):
    """The size of each file tracked by git, by path; None if the root is not in a repository."""
    listed = subprocess.run(["git", "-C", root, "ls-files", "-z"], capture_output=True, text=True,
                            check=False)
    if listed.returncode != 0:
        return None
    return {path: Path(root, path).stat().st_size
            for path in listed.stdout.split("\0") if path and Path(root, path).is_file()}


class Tree:
    """Every text file below a root, by path with forward slashes. Also the paths of binary files,
    and the sizes of tracked files."""

    def __init__(self, files, sizes=None, binaries=()):
        self.files = {path: Source(path, text) for path, text in sorted(files.items())}
        if sizes is None:
            sizes = {path: len(text) for path, text in files.items()}
        self.sizes = sizes
        self.binaries = frozenset(binaries)

    @classmethod
    def load(cls, root):
        files, binaries = {}, set()
        for folder, folders, names in os.walk(root):
            folders[:] = [name for name in folders if not PRUNED.match(name)]
            for name in names:
                path = Path(folder, name)
                if name == ".git" or path.is_symlink():
                    continue
                relative = path.relative_to(root).as_posix()
                if name.endswith(BINARY):
                    binaries.add(relative)
                else:
                    files[relative] = path.read_text(encoding="utf-8")
        return cls(files, tracked_sizes(root), binaries)

    def __iter__(self):
        return iter(self.files.values())

    def __contains__(self, path):
        return path in self.files

    def __getitem__(self, path):
        return self.files[path]

    @cached_property
    def paths(self):
        """The paths of all files and their folders, and "" for the root."""
        files = {*self.files, *self.binaries}
        return {"", *files, *(path[: slash.start()] for path in files for slash in re.finditer("/", path))}

    def cpp(self):
        return (source for source in self if source.is_cpp)

    def library(self):
        return (source for source in self if source.is_library)

    def cmake(self):
        return (s for s in self if s.name == "CMakeLists.txt" or s.path.endswith(".cmake"))
