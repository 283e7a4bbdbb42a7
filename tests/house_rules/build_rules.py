"""Rules about the build: sources are listed, layers link downwards."""

import re

from code_rules import LAYER_USES

# External libraries that only one target may link.
LINKED_BY = {
    r"PkgConfig::URING|\bliburing\b|\buring\b": {"lapwing_uring", "headers_compile_alone", "lapwing_package"},
    r"RocksDB::|PkgConfig::ROCKSDB|\brocksdb\b": {"lapwing_checkpointer", "lapwing_checkpoints_package"},
    r"PkgConfig::(LIB)?NATS|\blibnats\b": {"lapwing_relay_nats"},
    r"OpenSSL::": {"lapwing_http", "lapwing_relay_nats"},
    r"prometheus-cpp::": {"lapwing_metrics"},
}
FINDERS = {"find_package", "pkg_check_modules", "find_library", "find_path"}


def commands(source):
    """Each (line, command, arguments) in a CMake file, without comments."""
    text = re.sub(r"#[^\n]*", lambda match: " " * len(match[0]), source.text)
    for match in re.finditer(r"^\s*(\w+)\s*\(([^()]*)\)", text, re.M):
        line = text.count("\n", 0, match.start(1)) + 1
        yield line, match[1].lower(), match[2].split()


def sources_are_listed(tree):
    """Every .cc is listed in a CMakeLists.txt of its folder or of a parent folder."""
    for source in tree.cpp():
        if not source.path.endswith(".cc") or source.is_of_another_runtime:
            continue
        parts = source.path.split("/")
        for depth in range(len(parts) - 1, -1, -1):
            lists = "/".join(parts[:depth] + ["CMakeLists.txt"])
            relative = "/".join(parts[depth:])
            if lists in tree and any(
                argument.removeprefix("${PROJECT_SOURCE_DIR}/") in (relative, source.path)
                for _, _, arguments in commands(tree[lists])
                for argument in arguments
            ):
                break
        else:
            if source.path not in "".join(lists.text for lists in tree.cmake()):
                yield source.finding(1, "no CMakeLists.txt lists this source")


def nothing_is_globbed(tree):
    """Sources are listed, not searched for. The only exception checks every header."""
    for source in tree.cmake():
        for line, command, arguments in commands(source):
            globs = command == "file" and arguments[:1] and arguments[0].startswith("GLOB")
            if globs and source.path != "cmake/HeadersCompileAlone.cmake":
                yield source.finding(line, "list the sources instead of globbing them")


def link_directions(tree):
    """A layer's targets link only targets of the layers that it may include."""
    layer_of = {}
    for source in tree.cmake():
        for _, command, arguments in commands(source):
            if command in ("lapwing_library", "add_library") and arguments:
                layer_of[arguments[0]] = source.layer
    for source in tree.cmake():
        allowed = LAYER_USES.get(source.layer)
        if not allowed or source.name != "CMakeLists.txt":
            continue
        for line, command, arguments in commands(source):
            if command not in ("lapwing_library", "lapwing_test", "target_link_libraries"):
                continue
            for argument in arguments:
                layer = layer_of.get(argument)
                if layer in LAYER_USES and layer not in allowed:
                    message = f"{source.layer} does not link {argument} of {layer}"
                    yield source.finding(line, message)


def external_libraries(tree):
    """Only the write queue links liburing, the checkpointer RocksDB, the server OpenSSL, and the
    relay's transport libnats."""
    for source in tree.cmake():
        for line, command, arguments in commands(source):
            if command in FINDERS or not arguments or source.layer == "bench":
                continue
            for pattern, targets in LINKED_BY.items():
                if re.search(pattern, " ".join(arguments[1:])) and arguments[0] not in targets:
                    allowed = " or ".join(sorted(targets))
                    yield source.finding(line, f"{arguments[0]} links what only {allowed} may")


RULES = [sources_are_listed, nothing_is_globbed, link_directions, external_libraries]
