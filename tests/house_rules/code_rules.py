"""Rules about C++: who includes whom, who may touch what, how a file is built up.

Each rule is a generator of findings over a tree; its docstring is the rule as a sentence.
"""

import re

LAYER_USES = {
    "proto": {"proto"},
    "bus": {"bus", "proto"},
    "snapshot": {"snapshot", "proto"},
    "publisher": {"publisher", "bus", "snapshot", "proto"},
    "subscribers": {"subscribers", "bus", "snapshot", "proto"},
    "cli": {"cli", "publisher", "subscribers", "bus", "snapshot", "proto"},
    "bindings": {"bindings", "publisher", "subscribers", "bus", "snapshot", "proto"},
}
EXTERNAL_IN_QUOTES = ("absl/",)

ATOMICS_FILE = "proto/shared_words.h"
ATOMICS = (
    r"\bstd::atomic|\batomic_ref\b|\b__atomic_|\b__sync_|\batomic_(thread|signal)_fence\b"
    r"|#\s*include\s*<atomic>"
)
ASM_FILES = {ATOMICS_FILE, "proto/slot_form.h"}

# Waiting on a clock is the kernel seam's and the pacer's work; everything else waits for an event.
CLOCK_WAITERS = {"bus/kernel.cc", "publisher/feeds/pacer.cc"}
SLEEPS = r"\b(sleep_for|sleep_until|usleep|nanosleep|clock_nanosleep|sleep)\s*\("

# Headers of libraries that only some programs link, and the files that may see them.
EXTERNAL_HEADERS = {
    r"<liburing": re.compile(r"^snapshot/uring_\w+\.(h|cc)$"),
    r"<rocksdb/": re.compile(r"^subscribers/checkpointer/state_\w+\.(h|cc)$"),
}

NO_FUNCTION = re.compile(r"\s*(namespace|struct|class|enum|union|extern)\b|.*= \{$")
FUNCTION_LINES_MAX = 80
FILE_LINES_MAX = 500


def include_directions(tree):
    """proto <- bus, snapshot <- publisher, subscribers <- cli, bindings; siblings never meet."""
    for source in tree.cpp():
        allowed = LAYER_USES.get(source.layer)
        tests = {"tests"} if source.is_test else set()
        for line, match in source.search(r'^\s*#\s*include\s*"([^"]+)"', source.code_with_strings):
            path = match[1]
            if path.startswith(EXTERNAL_IN_QUOTES):
                continue
            if path not in tree:
                yield source.finding(line, f'"{path}" is not a file of this tree')
            elif allowed and path.split("/")[0] not in allowed | tests:
                yield source.finding(line, f"{source.layer} does not know {path.split('/')[0]}")


def atomics_in_one_file(tree):
    """Every atomic access of the library is in proto/shared_words.h."""
    for source in tree.library():
        if source.path != ATOMICS_FILE:
            for line, match in source.search(ATOMICS, source.code):
                yield source.finding(line, f"'{match[0].strip()}' belongs in {ATOMICS_FILE}")


def asm_in_the_slot(tree):
    """asm and volatile are for the words of a slot alone: proto/shared_words.h and slot_form.h."""
    for source in tree.library():
        if source.path not in ASM_FILES:
            for line, match in source.search(r"\b(asm|volatile)\b", source.code):
                yield source.finding(line, f"'{match[0]}' in library code; see {ATOMICS_FILE}")


def no_sleeps(tree):
    """Library code waits for events, not for time to pass."""
    for source in tree.library():
        if source.path not in CLOCK_WAITERS:
            for line, match in source.search(SLEEPS, source.code):
                yield source.finding(line, f"{match[1]} in library code; wait for the event itself")


def external_headers(tree):
    """liburing is seen by the archiver's write queue alone, RocksDB by the store alone."""
    for source in tree.cpp():
        for pattern, allowed in EXTERNAL_HEADERS.items():
            if not allowed.match(source.path) and not source.path.startswith("bench/"):
                for line, _ in source.search(r"^\s*#\s*include\s*" + pattern):
                    yield source.finding(line, f"{pattern[1:]} only in {allowed.pattern}")


def no_exceptions_of_ours(tree):
    """Errors are values: library code throws nothing."""
    for source in tree.library():
        for line, _ in source.search(r"\bthrow\b", source.code):
            yield source.finding(line, "return a status of make_error instead of throwing")


def header_form(tree):
    """A header starts with its contract, then has #pragma once; the contract speaks of threads."""
    for source in tree.cpp():
        if not source.path.endswith(".h"):
            continue
        contract = re.match(r"(//[^\n]*\n)+", source.text)
        if not contract:
            yield source.finding(1, "a header starts with a comment: its contract")
        elif not source.is_test and not re.search(r"[Tt]hread|No behaviour", contract[0]):
            yield source.finding(1, "the contract says nothing on threads (or 'No behaviour')")
        rest = source.text[contract.end() if contract else 0 :]
        if not rest.startswith("#pragma once\n") or source.text.count("#pragma once") != 1:
            yield source.finding(1, "#pragma once stands once, right below the contract")


def short_functions(tree):
    """A function of the library has about 70 lines at most."""
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
    """A file of the library stays readable in one sitting."""
    for source in tree.library():
        length = source.text.count("\n")
        if length > FILE_LINES_MAX:
            yield source.finding(1, f"{length} lines; a file has at most {FILE_LINES_MAX}")


RULES = [
    include_directions,
    atomics_in_one_file,
    asm_in_the_slot,
    no_sleeps,
    external_headers,
    no_exceptions_of_ours,
    header_form,
    short_functions,
    short_files,
]
