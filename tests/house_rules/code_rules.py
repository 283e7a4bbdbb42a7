"""Rules about C++: includes, restricted functions, and the structure of files.

Each rule is a generator of findings over a tree. Its docstring states the rule.
"""

import re
import shutil
import subprocess
import tempfile
from pathlib import Path

LAYER_USES = {
    "include": set(),
    "proto": {"proto"},
    "os": {"os", "proto"},
    "bus": {"bus", "os", "proto"},
    "channel": {"channel", "os", "proto"},
    "snapshot": {"snapshot", "os", "proto"},
    "publisher": {"publisher", "bus", "snapshot", "os", "proto"},
    "subscribers": {"subscribers", "bus", "snapshot", "os", "proto"},
    "wait_set": {"wait_set", "subscribers", "channel", "os", "proto"},
    "relay": {"relay", "publisher", "subscribers", "bus", "snapshot", "os", "proto"},
    "monitor": {"monitor", "subscribers", "bus", "channel", "snapshot", "os", "proto"},
    "cli": {"cli", "monitor", "publisher", "subscribers", "bus", "channel", "snapshot", "os", "proto"},
    "bindings": {"bindings", "publisher", "subscribers", "bus", "channel", "snapshot", "os", "proto"},
}
EXTERNAL_IN_QUOTES = ("absl/",)

ATOMICS_FILES = {
    "include/lapwing/detail/atomic_word.h", "include/lapwing/detail/attention_word.h",
    "include/lapwing/detail/channel_words.h", "include/lapwing/detail/slot_words.h",
    "os/busy_flag.h", "os/thread_words.h", "proto/ring_counters.h", "proto/ring_words.h",
}
ATOMICS = (
    r"\bstd::atomic|\batomic_ref\b|\b__atomic_|\b__sync_|\batomic_(thread|signal)_fence\b"
    r"|#\s*include\s*<atomic>"
)
ASM_FILES = {
    "include/lapwing/detail/atomic_word.h", "include/lapwing/detail/slot_words.h",
    "proto/slot_form.h",
}

# Only the kernel layer and the pacer may wait on a clock. All other code waits for events.
CLOCK_WAITERS = {"os/kernel.cc", "publisher/feeds/pacer.cc"}
SLEEPS = r"\b(sleep_for|sleep_until|usleep|nanosleep|clock_nanosleep|sleep)\s*\("

# Headers of libraries that only some programs link, and the files that may include them.
EXTERNAL_HEADERS = {
    r"<liburing": re.compile(r"^os/uring_\w+\.(h|cc)$"),
    r"<nats[/.]": re.compile(r"^(relay/nats/\w+|testing/nats_client)\.(h|cc)$"),
    r"<rocksdb/": re.compile(r"^subscribers/checkpointer/state_\w+\.(h|cc)$"),
}

STYLE_FILE = Path(__file__).resolve().parents[2] / ".clang-format"
FORMATTED_BY_HAND = {"proto/ring_layout.h", "testing/abi_dump.cc", "include/lapwing.h"}
C_HEADERS = {"include/lapwing.h"}

NO_FUNCTION = re.compile(r"\s*(namespace|struct|class|enum|union|extern)\b|.*= \{$")
FUNCTION_LINES_MAX = 80
FILE_LINES_MAX = 500


def include_directions(tree):
    """include/lapwing <- proto <- os <- bus, channel, snapshot <- publisher, subscribers <- wait_set, relay, monitor,
    cli, bindings."""
    for source in tree.cpp():
        if source.is_of_another_runtime:
            continue
        allowed = LAYER_USES.get(source.layer)
        tests = {"testing", "tests"} if source.is_test else set()
        for line, match in source.search(r'^\s*#\s*include\s*"([^"]+)"', source.code_with_strings):
            path = match[1]
            if path.startswith(EXTERNAL_IN_QUOTES):
                continue
            if path.startswith("lapwing/") or path == "lapwing.h":
                path = f"include/{path}"
            if path not in tree:
                yield source.finding(line, f'"{path}" is not a file of this tree')
            elif allowed is not None and path.split("/")[0] not in allowed | tests | {"include"}:
                yield source.finding(line, f"{source.layer} does not know {path.split('/')[0]}")


def public_headers_by_name(tree):
    """A header of include/ is included as "lapwing/…", as its users do."""
    for source in tree.cpp():
        for line, match in source.search(r'^\s*#\s*include\s*(["<][^">]+[">])',
                                         source.code_with_strings):
            path = match[1][1:-1]
            in_brackets = match[1][0] == "<" and path.startswith("lapwing/")
            if in_brackets or path.startswith(("include/", "../", "./")):
                yield source.finding(line, f'{match[1]}: write "lapwing/…" for a public header, and the path '
                                           "from the root for any other")


def atomics_in_one_file(tree):
    """Every atomic access in the library is in the file of its protocol."""
    for source in tree.library():
        if source.path not in ATOMICS_FILES:
            for line, match in source.search(ATOMICS, source.code):
                yield source.finding(line, f"'{match[0].strip()}' belongs in one of {', '.join(sorted(ATOMICS_FILES))}")


def asm_in_the_slot(tree):
    """asm and volatile are used only for the words of a slot and the pause in a spin loop."""
    for source in tree.library():
        if source.path not in ASM_FILES:
            for line, match in source.search(r"\b(asm|volatile)\b", source.code):
                yield source.finding(line, f"'{match[0]}' in library code; see include/lapwing/detail/slot_words.h")


def no_sleeps(tree):
    """Library code waits for events, not for a fixed time."""
    for source in tree.library():
        if source.path not in CLOCK_WAITERS:
            for line, match in source.search(SLEEPS, source.code):
                yield source.finding(line, f"{match[1]} in library code; wait for the event itself")


def external_headers(tree):
    """Only the archiver's write queue includes liburing, only the store includes RocksDB, and only
    relay/nats includes libnats."""
    for source in tree.cpp():
        for pattern, allowed in EXTERNAL_HEADERS.items():
            if not allowed.match(source.path) and not source.path.startswith("bench/"):
                for line, _ in source.search(r"^\s*#\s*include\s*" + pattern):
                    yield source.finding(line, f"{pattern[1:]} only in {allowed.pattern}")


def directories_by_a_disk(tree):
    """Directories are listed through a Disk, so that no forked child keeps a descriptor for
    them."""
    for source in tree.library():
        if source.layer not in {"os", "monitor", "cli"}:
            for line, match in source.search(r"\b(\w*directory_iterator|f?d?opendir)\b", source.code):
                yield source.finding(line, f"{match[1]} in library code; Disk::list (os/io.h) does it")


def no_exceptions_of_ours(tree):
    """Errors are values: library code throws nothing."""
    for source in tree.library():
        for line, _ in source.search(r"\bthrow\b", source.code):
            yield source.finding(line, "return a status of make_error instead of throwing")


def formatting(tree):
    """C++ is formatted by clang-format, except the three files with tables."""
    formatter = shutil.which("clang-format-19")
    files = [source for source in tree.cpp() if source.path not in FORMATTED_BY_HAND]
    if formatter is None:
        print("SKIPPED: formatting was not checked: clang-format-19 is not installed")
        return
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(STYLE_FILE, folder)
        for source in files:
            path = Path(folder, source.path)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(source.text, encoding="utf-8")
        done = subprocess.run([formatter, "--dry-run", *(source.path for source in files)],
                              cwd=folder, capture_output=True, text=True, check=False)
    first = {}
    for path, line in re.findall(r"^([^\s:]+):(\d+):\d+: (?:warning|error):", done.stderr, re.M):
        first.setdefault(path, int(line))
    for path, line in first.items():
        yield tree[path].finding(line, f"not as clang-format leaves it: clang-format-19 -i {path}")


def one_definition(tree):
    """A name means one type, because the linker merges two types with the same name."""
    places = {}
    for source in tree.library():
        namespaces = []
        for number, line in enumerate(source.text.splitlines(), 1):
            opened = re.match(r"namespace\s*([\w:]*)\s*\{", line)
            if opened:
                namespaces.append(opened[1])
            elif line.startswith("}  // namespace") and namespaces:
                namespaces.pop()
            defined = re.match(r"(?:struct|class)\s+(?:alignas\([^)]*\)\s*)?(\w+)(?![\w<]|::|.*;)", line)
            if defined and "" not in namespaces:
                places.setdefault("::".join([*namespaces, defined[1]]), []).append((source, number))
    for name, found in places.items():
        for source, number in found[1:]:
            yield source.finding(number, f"{name} is defined in {found[0][0].path}, too")


def include_guards(tree):
    """A header has #pragma once exactly once."""
    for source in tree.cpp():
        if source.path in C_HEADERS:
            continue
        if source.path.endswith(".h") and source.text.count("#pragma once\n") != 1:
            yield source.finding(1, "#pragma once stands once in a header")


def header_form(tree):
    """A header starts with a comment about its non-obvious facts."""
    for source in tree.cpp():
        if source.path in C_HEADERS:
            continue
        if source.path.endswith(".h") and not re.match(r"//[^\n]*\n(//[^\n]*\n)*#pragma",
                                                       source.text):
            yield source.finding(1, "a header starts with a comment, then has #pragma once")


def short_functions(tree):
    """A function in the library has at most about 70 lines."""
    for source in tree.library():
        lines = source.code.split("\n")
        start = {}
        for number, line in enumerate(lines, 1):
            indent = len(line) - len(line.lstrip())
            if line.rstrip().endswith("{") and indent <= 2 and not NO_FUNCTION.match(line):
                start[indent] = number
            elif re.match(r"\s*\}", line) and indent in start:
                length = number - start.pop(indent) + 1
                if length > FUNCTION_LINES_MAX:
                    message = f"a function of {length} lines; split it by what it does"
                    yield source.finding(number - length + 1, message)


def short_files(tree):
    """A file in the library is short enough to read in one sitting."""
    for source in tree.library():
        length = source.text.count("\n")
        if length > FILE_LINES_MAX:
            yield source.finding(1, f"{length} lines; a file has at most {FILE_LINES_MAX}")


def one_header_has_all(tree):
    """include/lapwing/lapwing.h includes every public header."""
    everything = "include/lapwing/lapwing.h"
    for source in tree if everything in tree else ():
        name = source.path.removeprefix("include/")
        if re.fullmatch(r"lapwing/\w+\.h", name) and source.path != everything:
            if f'#include "{name}"' not in tree[everything].text:
                yield source.finding(1, f"{everything} does not include it")


RULES = [
    one_header_has_all,
    include_directions,
    public_headers_by_name,
    atomics_in_one_file,
    asm_in_the_slot,
    no_sleeps,
    external_headers,
    directories_by_a_disk,
    no_exceptions_of_ours,
    one_definition,
    include_guards,
    formatting,
]
ADVICE = [header_form, short_functions, short_files]
