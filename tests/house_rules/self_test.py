#!/usr/bin/env python3
"""Tests that each lint rule can fail: it finds nothing in a good tree and something in each bad
one, and every rule has such a test."""

import subprocess
import tempfile
import unittest
from pathlib import Path

import build_rules as build
import check
import code_rules as code
import link_rules as link
import proto_rules as proto
import text_rules as text
from tree import Tree, without_comments

ROOT = Path(__file__).resolve().parents[2]
HEADER = "// A thing. Thread safety: none.\n#pragma once\n"
LAYOUT = (
    "struct A {\n  std::uint32_t x;\n  std::uint32_t y[2];\n};\n"
    "static_assert(sizeof(A) == 12);\nstatic_assert(offsetof(A, y) == 4);\n"
    "enum class E : std::uint8_t { kOne = 1, kTwo };\n"
    "inline constexpr std::uint64_t kLimit = 7;\n"
)
GOLDEN = (
    "struct A size 12 align 4\nfield A.x 0 4 u32\nfield A.y 4 8 u32[2]\n"
    "enum E 1\nvalue E.kOne 1\nvalue E.kTwo 2\nconstant kLimit 7\n"
)
TABLE = (
    "#### `A`\n\n| 0 | 4 | `x` | u32 | first |\n| 4 | 8 | `y` | u32[2] | second |\n"
    "## Error numbers\n| 1 | `no-bus` | none |\n"
)
LONG_FUNCTION = "void f() {\n" + "  g();\n" * code.FUNCTION_LINES_MAX + "}\n"
TAB = "<details><summary>Go</summary>\n\n```go\na := 1\n```\n\n</details>\n"
CPP_LOOP = "```cpp\n  auto bus = lapwing::Subscriber::open({{}});\n  for (;;) {{\n{}  }}\n}}\n```\n"
RENAMED = "| old | new | where |\n| --- | --- | --- |\n| `oldName`, `OlderName` | `newName` | Go |\n"
MARKER = "TO" + "DO"
REGISTRY = "https:/" + "/py" + "pi.org/simple"
ELSEWHERE = "https:/" + "/example.invalid/x"
MACHINE_PATH = "/ho" + "me/someone/lapwing"


def golden(headers, lines):
    return {"proto/a.h": HEADER + headers, "tests/golden/abi.golden": lines}


def documented(table):
    return {"tests/golden/abi.golden": GOLDEN + "error 1 no-bus\n", "docs/reference/file-formats.md": table}


def listed(cmake, source="bus/a.cc"):
    return {source: "int a;\n", "bus/CMakeLists.txt": cmake}


# rule: (trees without findings, trees with a finding)
CASES = {
    code.include_directions: (
        [
            {"proto/p.h": HEADER, "bus/a.cc": '#include "proto/p.h"\n#include "absl/x.h"\n'},
            {"tests/t.h": HEADER, "bus/a_test.cc": '#include "tests/t.h"\n'},
            {"publisher/p.h": HEADER, "relay/r.cc": '#include "publisher/p.h"\n'},
        ],
        [
            {"tests/t.h": HEADER, "bus/a.cc": '#include "tests/t.h"\n'},
            {"proto/p.h": HEADER, "include/lapwing/l.h": HEADER + '#include "proto/p.h"\n'},
            {"bus/b.h": HEADER, "proto/p.cc": '#include "bus/b.h"\n'},
            {"snapshot/s.h": HEADER, "bus/b.cc": '#include "snapshot/s.h"\n'},
            {"bus/b.h": HEADER, "snapshot/s.cc": '#include "bus/b.h"\n'},
            {"publisher/p.h": HEADER, "subscribers/s.cc": '#include "publisher/p.h"\n'},
            {"subscribers/s.h": HEADER, "publisher/p_test.cc": '#include "subscribers/s.h"\n'},
            {"cli/c.h": HEADER, "publisher/p.cc": '#include "cli/c.h"\n'},
            {"cli/c.h": HEADER, "monitor/m.cc": '#include "cli/c.h"\n'},
            {"publisher/p.h": HEADER, "monitor/m.cc": '#include "publisher/p.h"\n'},
            {"monitor/m.h": HEADER, "subscribers/s.cc": '#include "monitor/m.h"\n'},
            {"relay/r.h": HEADER, "publisher/p.cc": '#include "relay/r.h"\n'},
            {"monitor/m.h": HEADER, "relay/r.cc": '#include "monitor/m.h"\n'},
            {"bus/a.cc": '#include "bus/nowhere.h"\n'},
        ],
    ),
    code.public_headers_by_name: (
        [
            {"bus/a.cc": '#include "lapwing/l.h"\n#include <liburing.h>\n'},
            {"bus/a.cc": '// not "include/lapwing/l.h"\nint a;\n'},
        ],
        [
            {"bus/a.cc": '#include "include/lapwing/l.h"\n'},
            {"bus/a.cc": '#include "../include/lapwing/l.h"\n'},
            {"include/lapwing/a.h": HEADER + '#include "./b.h"\n'},
            {"bus/a.cc": "#include <lapwing/l.h>\n"},
        ],
    ),
    code.atomics_in_one_file: (
        [
            {"include/lapwing/detail/slot_words.h": "std::atomic<int> a;\n"},
            {"bus/a_test.cc": "std::atomic<int> a;\n", "tests/t.cc": "std::atomic<int> a;\n"},
            {"bus/a.cc": "// std::atomic is not used here\nint atomic_count;\n"},
        ],
        [
            {"bus/a.cc": "std::atomic<int> a;\n"},
            {"bus/a.cc": "std::atomic_ref<int> a(b);\n"},
            {"proto/ring_layout.h": "#include <atomic>\n"},
            {"publisher/a.h": "__atomic_load_n(&a, 5);\n"},
            {"subscribers/a.cc": "atomic_thread_fence(x);\n"},
            {"proto/slot_form.h": "std::atomic<int> a;\n"},
        ],
    ),
    code.asm_in_the_slot: (
        [{"proto/slot_form.h": 'asm volatile("");\n', "bus/a_test.cc": "volatile int a;\n"}],
        [{"cli/a.cc": 'asm("mfence");\n'}, {"bus/a.h": "volatile int a;\n"}],
    ),
    code.one_definition: (
        [
            {"bus/a.h": HEADER + "namespace lapwing {\nstruct A;\nstruct A {\n};\n}  // namespace lapwing\n",
             "bus/b.cc": "namespace lapwing {\nstruct A::State {\n};\nnamespace {\nstruct A {\n};\n}  // namespace\n}  // namespace lapwing\n",
             "cli/c.h": HEADER + "namespace lapwing::cli {\nstruct A {\n};\n}  // namespace lapwing\n"},
        ],
        [
            {"bus/a.h": HEADER + "namespace lapwing {\nstruct A {\n};\n}  // namespace lapwing\n",
             "bus/b.h": HEADER + "namespace lapwing {\nclass A : B {\n};\n}  // namespace lapwing\n"},
        ],
    ),
    code.no_sleeps: (
        [
            {"os/kernel.cc": "clock_nanosleep(CLOCK_MONOTONIC, 0, &t, nullptr);\n"},
            {"bus/a.cc": 'say("do not sleep(1)");  // usleep(1)\n'},
            {"bus/a_test.cc": "usleep(1);\n"},
        ],
        [
            {"bus/a.cc": "std::this_thread::sleep_for(x);\n"},
            {"snapshot/a.cc": "usleep(10);\n"},
            {"cli/a.cc": "sleep(1);\n"},
        ],
    ),
    code.external_headers: (
        [
            {"os/uring_write_queue.cc": "#include <liburing.h>\n"},
            {"subscribers/checkpointer/state_files.cc": "#include <rocksdb/db.h>\n"},
            {"relay/nats/connection.cc": "#include <nats/nats.h>\n"},
        ],
        [
            {"snapshot/archive/archiver.cc": "#include <liburing.h>\n"},
            {"subscribers/subscriber.cc": "#include <rocksdb/db.h>\n"},
            {"subscribers/checkpointer/checkpointer.cc": "#include <rocksdb/db.h>\n"},
            {"relay/message.cc": "#include <nats/nats.h>\n"},
        ],
    ),
    code.directories_by_a_disk: (
        [
            {"os/posix_io.cc": "fdopendir(1);\n"},
            {"bus/a_test.cc": "std::filesystem::directory_iterator(a);\n"},
        ],
        [
            {"publisher/a.cc": "for (std::filesystem::recursive_directory_iterator entry(a);;) f();\n"},
            {"bus/a.cc": "DIR* a = opendir(b);\n"},
        ],
    ),
    code.no_exceptions_of_ours: (
        [{"bus/a.cc": "int a;  // Boost may throw\n", "bus/a_test.cc": "throw 1;\n"}],
        [{"bus/a.cc": "void f() { throw 1; }\n"}],
    ),
    code.include_guards: (
        [{"bus/a.h": HEADER}, {"bus/a.cc": "int a;\n"}],
        [{"bus/a.h": "// A thing.\nint a;\n"}, {"bus/a.h": HEADER + "#pragma once\n"}],
    ),
    code.formatting: (
        [{"bus/a.cc": "int a;\n"}, {"proto/ring_layout.h": HEADER + "int   a;\n"}],
        [{"bus/a.cc": "int  a;\n"}, {"bus/a.h": HEADER + "void f() {  }\n"}],
    ),
    code.header_form: (
        [{"bus/a.h": HEADER}, {"bus/a.h": "// Layout.\n// No behaviour.\n#pragma once\n"}],
        [{"bus/a.h": "#pragma once\nint a;\n"}],
    ),
    code.short_functions: (
        [{"bus/a.cc": "void f() {\n  g();\n}\n" * 50}, {"bus/a_test.cc": LONG_FUNCTION}],
        [
            {"bus/a.cc": LONG_FUNCTION},
            {"bus/a.h": "class A {\n  " + LONG_FUNCTION.replace("\n}", "\n  }") + "};\n"},
        ],
    ),
    code.short_files: (
        [{"bus/a.cc": "int a;\n" * code.FILE_LINES_MAX}],
        [{"bus/a.cc": "int a;\n" * (code.FILE_LINES_MAX + 1)}],
    ),
    build.sources_are_listed: (
        [
            listed("lapwing_library(lapwing_bus SOURCES a.cc)\n"),
            listed("lapwing_library(b SOURCES sub/a.cc)\n", source="bus/sub/a.cc"),
        ],
        [
            listed("lapwing_library(lapwing_bus SOURCES b.cc)\n"),
            listed("# lapwing_library(lapwing_bus SOURCES a.cc)\n"),
            listed("lapwing_library(lapwing_bus SOURCES aa.cc)\n"),
        ],
    ),
    build.nothing_is_globbed: (
        [{"bus/CMakeLists.txt": "file(READ a b)\n"}],
        [{"bus/CMakeLists.txt": "file(GLOB_RECURSE sources *.cc)\n"}],
    ),
    build.link_directions: (
        [
            {
                "bus/CMakeLists.txt": "lapwing_library(lapwing_bus SOURCES a.cc)\n",
                "publisher/CMakeLists.txt": "lapwing_library(p SOURCES a.cc DEPENDS lapwing_bus)\n",
            }
        ],
        [
            {
                "bus/CMakeLists.txt": "lapwing_library(lapwing_bus SOURCES a.cc)\n",
                "snapshot/CMakeLists.txt": f"{command}(s DEPENDS lapwing_bus)\n",
            }
            for command in ("lapwing_library", "lapwing_test", "target_link_libraries")
        ],
    ),
    build.external_libraries: (
        [
            {
                "CMakeLists.txt": "pkg_check_modules(URING REQUIRED IMPORTED_TARGET liburing)\n",
                "os/CMakeLists.txt": "lapwing_library(lapwing_uring DEPENDS liburing)\n",
            }
        ],
        [
            {"bus/CMakeLists.txt": "lapwing_library(lapwing_bus DEPENDS PkgConfig::URING)\n"},
            {"cli/CMakeLists.txt": "target_link_libraries(lapwing PRIVATE RocksDB::rocksdb)\n"},
            {"cli/CMakeLists.txt": "target_link_libraries(lapwing PRIVATE PkgConfig::ROCKSDB)\n"},
            {"relay/CMakeLists.txt": "lapwing_library(lapwing_relay DEPENDS PkgConfig::NATS)\n"},
        ],
    ),
    proto.golden_is_complete: (
        [golden(LAYOUT, GOLDEN), golden("struct WordMoves {\n  int a;\n};\n", GOLDEN)],
        [
            golden(LAYOUT + "struct B {\n  int z;\n};\n", GOLDEN),
            golden(LAYOUT + "struct alignas(64) B { int z; };\n", GOLDEN),
            golden(LAYOUT.replace("};\n", "  int z;\n};\n", 1), GOLDEN),
            golden(LAYOUT.replace("kTwo", "kTwo, kThree"), GOLDEN),
            golden(LAYOUT + "inline constexpr char kName[] = {1};\n", GOLDEN),
            golden(LAYOUT + "inline constexpr int kNew = 1;\n", GOLDEN),
            golden(LAYOUT + "constexpr int kNew{1};\n", GOLDEN),
            golden(LAYOUT + "enum class F { kA };\n", GOLDEN),
            golden(LAYOUT, GOLDEN.replace("field A.x 0 4 u32\n", "")),
            {"proto/a.h": HEADER + LAYOUT},
        ],
    ),
    proto.layouts_are_asserted: (
        [golden(LAYOUT, GOLDEN)],
        [
            golden(LAYOUT.replace("offsetof(A, y)", "offsetof(A, x)"), GOLDEN),
            golden(LAYOUT.replace("sizeof(A)", "sizeof(int)"), GOLDEN),
        ],
    ),
    proto.formats_are_documented: (
        [documented(TABLE)],
        [
            documented(""),
            documented(TABLE.replace("| 4 | 8 |", "| 4 | 4 |")),
            documented(TABLE.replace("`A`", "`B`")),
            documented(TABLE.replace("u32[2]", "i32[2]")),
            documented(TABLE.replace("| 1 | `no-bus`", "| 2 | `no-bus`")),
            documented(TABLE + "| 12 | 4 | `z` | u32 | new |\n"),
        ],
    ),
    code.one_header_has_all: (
        [{"include/lapwing/lapwing.h": HEADER + '#include "lapwing/a.h"\n',
          "include/lapwing/a.h": HEADER, "include/lapwing/detail/b.h": HEADER}],
        [{"include/lapwing/lapwing.h": HEADER, "include/lapwing/a.h": HEADER}],
    ),
    text.text_form: (
        [{"bus/a.cc": "int a;\n", "docs/a.md": "long " * 50 + "\n"}],
        [
            {"bus/a.cc": "int a;"},
            {"bus/a.cc": "int a;\n\n"},
            {"bus/a.cc": "int a;  \n"},
            {"bus/a.cc": "\tint a;\n"},
            {"deploy/a.sh": "x" * (text.COLUMNS_MAX + 1) + "\n"},
        ],
    ),
    text.no_markers: (
        [{"docs/a.md": f"A {MARKER}S list is another word.\n"}],
        [{"bus/a.cc": f"// {MARKER}: later\n"}, {"docs/a.md": f"{MARKER}\n"}],
    ),
    text.no_machine_paths: (
        [{"deploy/a.sh": "cd /dev/shm; ls /tmp/x; ls $build/root/a\n"}],
        [{"docs/a.md": f"see {MACHINE_PATH}\n"}],
    ),
    text.no_registry_hosts: (
        [{"docs/a.md": "From PyPI or crates.io; see https://databento.com/docs\n"}],
        [{"deploy/a.sh": f"curl {REGISTRY}\n"}, {"docs/a.md": ELSEWHERE + "\n"}],
    ),
    text.no_old_names: (
        [{"CHANGELOG.md": RENAMED, "docs/a.md": "`newName`, `on-oldName`, `oldNames`\n"}],
        [{"CHANGELOG.md": RENAMED, "docs/a.md": "`oldName`\n"},
         {"CHANGELOG.md": RENAMED, "bindings/go/a.go": "x.OlderName = 1\n"}],
    ),
    text.loops_are_short: (
        [{"README.md": TAB}, {"README.md": CPP_LOOP.format("    read();\n" * 9)}],
        [{"README.md": TAB.replace("a := 1", "a := 1\n" * 16)},
         {"README.md": CPP_LOOP.format("    read();\n" * 10)}],
    ),
    text.tabs_are_the_packages_own: (
        [{"README.md": TAB, "bindings/go/README.md": "```go\na := 1\n```\n"}],
        [{"README.md": TAB, "bindings/go/README.md": "```go\na := 2\n```\n"}],
    ),
    text.documents_exist: (
        [
            {"docs/a.md": "A plain page.\n", "bus/a.h": "// See docs/a.md.\n"},
            {"bench/README.md": "A page.\n", "bench/a.cc": "// See README.md.\n"},
        ],
        [{"bus/a.h": "// See docs/a.md.\n"}, {"bus/a.h": "// as STYLE.md says\n"}],
    ),
    text.no_stray_files: (
        [
            {"bindings/rust/Cargo.lock": "[[package]]\n", "bus/lock_file.cc": "int a;\n"},
            {"bindings/python/py.typed": "", "tools/__init__.py": ""},
        ],
        [
            {"build.lock": "1\n"},
            {"bindings/node/yarn.lock": "1\n"},
            {"bus/a.cc.orig": "int a;\n"},
            {"bus/a.cc.rej": "int a;\n"},
            {"tools/__pycache__/a.pyc": "1\n"},
            {"bus/a.cc~": "int a;\n"},
            {"bus/.a.cc.swp": "1\n"},
            {"bus/#a.cc#": "int a;\n"},
            {"bus/a.cc": ""},
            {"docs/__init__.md": ""},
        ],
    ),
    link.links_lead_somewhere: (
        [
            {"README.md": "# A\n\n[a](docs/b.md#two--words), [c](docs/) and [d](#a)\n",
             "docs/b.md": "# B\n\n## Two & `words`\n\n[up](../README.md) [web](https://a.example/x#y)\n"},
            {"a.md": "`[x](nowhere.md)`\n\n```c\n[x](nowhere.md)\n```\n\n    [x](nowhere.md)\n"},
            {"a.md": "# A\n\n## A\n\n[second](#a-1), [b][r]\n\n[r]: a.md\n"},
        ],
        [
            {"a.md": "[x](b.md)\n"},
            {"a.md": "[x](b.md#c)\n", "b.md": "# B\n\n```sh\n# c\n```\n"},
            {"a.md": "# A\n\n[x](#b)\n"},
            {"docs/a.md": "[x](../../a.md)\n", "a.md": "# A\n"},
            {"a.md": "![x](b.png)\n"},
            {"a.md": "[x][b]\n"},
            {"a.md": "[x][b]\n\n[b]: nowhere.md\n"},
        ],
    ),
    link.pages_are_listed: (
        [
            {"docs/index.md": "[a](a.md#x)\n", "docs/a.md": "# X\n", "README.md": "# A\n"},
            {"docs/explanation/adr/README.md": "[1](0001-a.md)\n", "docs/explanation/adr/0001-a.md": "# 1. A\n"},
        ],
        [
            {"docs/index.md": "[a](a.md)\n", "docs/b/c.md": "# X\n"},
            {"docs/explanation/adr/README.md": "# A\n", "docs/explanation/adr/0001-a.md": "# 1. A\n"},
        ],
    ),
    text.file_names: (
        [{"bus/ring_file.h": HEADER}],
        [
            {"bus/RingFile.h": HEADER},
            {"bus/ring.hpp": HEADER},
            {"bus/util.h": HEADER},
            {"common/ring.h": HEADER},
        ],
    ),
}


class EachRule(unittest.TestCase):
    def test_has_a_proof_that_it_can_fail(self):
        self.assertEqual(set(CASES), set(check.RULES + check.ADVICE))

    def test_finds_nothing_in_a_good_tree(self):
        for rule, (good, _) in CASES.items():
            self.assertTrue(good)
            for files in good:
                with self.subTest(rule=rule.__name__, files=files):
                    self.assertEqual([str(finding) for finding in rule(Tree(files))], [])

    def test_finds_something_in_each_bad_tree(self):
        for rule, (_, bad) in CASES.items():
            self.assertTrue(bad)
            for files in bad:
                with self.subTest(rule=rule.__name__, files=files):
                    self.assertNotEqual(list(rule(Tree(files))), [])


class ThePiecesBelow(unittest.TestCase):
    def test_a_finding_names_the_line(self):
        tree = Tree({"bus/a.cc": "// one\n\nint a;\nusleep(1);\n"})
        self.assertEqual([finding.line for finding in code.no_sleeps(tree)], [4])

    def test_comments_go_and_lines_stay(self):
        text_with = 'a; // b "c\n/* d\n e */ f = "g // h"; i = 1\'000; j = \'k\';\n'
        self.assertEqual(
            without_comments(text_with), 'a;        \n    \n      f = ""; i = 1\'000; j = "";\n'
        )

    def test_what_git_tracks_is_known_also_if_it_is_no_text(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in ("a.orig", "b.pyc", "c.rej"):
                Path(folder, name).write_text("1\n", encoding="utf-8")
            subprocess.run(["git", "init", "--quiet", folder], check=True)
            subprocess.run(["git", "-C", folder, "add", "--force", "a.orig", "b.pyc"], check=True)
            found = list(text.no_stray_files(Tree.load(folder)))
        self.assertEqual([finding.path for finding in found], ["a.orig", "b.pyc"])

    def test_the_tree_is_read_and_the_headers_of_proto_are_understood(self):
        tree = Tree.load(ROOT)
        found = [entry for header in proto.headers(tree) for entry in proto.declarations(header)]
        kinds = [kind for _, kind, _, _ in found]
        self.assertGreater(kinds.count("struct"), 20)
        self.assertGreater(kinds.count("enum"), 10)
        self.assertGreater(kinds.count("constant"), 30)
        members = {name: members for _, _, name, members in found}
        self.assertEqual(members["SumEntry"], ["sum", "count", "check"])
        self.assertEqual(members["RingState"], ["kRunning", "kClosed"])


if __name__ == "__main__":
    unittest.main()
