#!/usr/bin/env python3
"""Tests tools/prose.py: each rule with bad and good sentences, and the extraction of prose."""

import unittest

import prose
from prose_text import blocks


def rules(text, path="a.md"):
    """The (level, rule) of each finding."""
    return [(finding.level, finding.rule) for finding in prose.findings(path, text)]


class Rules(unittest.TestCase):
    """Each rule has sentences that break it and sentences that keep it."""

    def breaks(self, rule, sentences, level="error"):
        for sentence in sentences:
            with self.subTest(sentence=sentence):
                self.assertEqual(rules(sentence + "\n"), [(level, rule)])

    def keeps(self, sentences):
        for sentence in sentences:
            with self.subTest(sentence=sentence):
                self.assertEqual(rules(sentence + "\n"), [])

    def test_words(self):
        self.breaks("word", [
            "The slot that nobody reads is reused.", "It wakes whoever waits.",
            "A packet is no frame.", "A packet that is\nno frame.", "Two of them are no frames.",
            "The name is none.", "They are none.", "The number stands in the head.",
            "It is told the number.", "The journal goes on.",
            "The oldest entry gives way.", "It gives up the claim.", "The file lies in a folder.",
            "It shows the problems to people."])
        self.keeps([
            "No reader uses the slot.", "There is no default.", "`nullopt` if there is none.",
            "The bus is no longer open.", "A stand-alone program.", "It makes a personal copy."])

    def test_words_that_may_be_right_are_advice(self):
        self.breaks("word", ["The header says how long it is.", "A place in the queue."], "advice")

    def test_headless_clauses(self):
        self.breaks("headless", [
            "What is beyond is merged.", "Who parks is woken.",
            "It starts. That which is left ends.", "Those that wait are woken."])
        self.keeps(["What is a bus?", "It returns what it read.", "# What is not stopped",
                    "What a reviewer checks:", "| What it does | 1 |"])

    def test_of_first(self):
        self.breaks("of", ["Of a record, in bytes.", "It has a size. Of a state it is 0."])
        self.keeps(["Record size in bytes.", "The size of a record."])

    def test_long_sentences(self):
        self.breaks("long", ["word " * 30 + "end.", "word\n" * 30 + "end."])
        self.keeps(["word " * 29 + "end.", ("word " * 20 + "end. ") * 2, "word e.g. this."])

    def test_trailing_words(self):
        self.breaks("trailing", [
            f"It has a name, {word}." for word in ("too", "likewise", "also", "besides", "alone")])
        self.breaks("trailing", ["It has a name, too"])
        self.keeps(["It has a name, too many slots, and a head.", "It also has a name."])

    def test_subjects_of_commits(self):
        found = list(prose.findings_of_subjects([
            "1234567 docs: reword the page", "1234568 bench, tools: count lines",
            "1234569 Reword the page", "123456a docs: " + "x" * 55]))
        self.assertEqual([(finding.path, finding.text.split(":")[0]) for finding in found],
                         [("1234569", "no area"), ("123456a", "61 characters")])


class Text(unittest.TestCase):
    """Extraction of prose, for each kind of file."""

    def texts(self, path, text):
        return [" ".join(block.text.split()) for block in blocks(path, text)]

    def test_code_in_a_document_is_skipped(self):
        self.assertEqual(rules("```\nnobody\nstands\n```\n\n    - nobody stands\n    # told\n\n"
                               "Use `nobody`, \"stands\".\n\n- See [this](nobody.md).\n\n"
                               "      nobody stands\n"), [])

    def test_paragraphs_items_headings_and_cells_are_separate(self):
        text = ("# A head\nOne\ntwo.\n- an item\n  of two lines\n- another\n\n"
                "| a cell | `code` | more |\n| --- | --- | --- |\n")
        self.assertEqual(self.texts("a.md", text), [
            "A head", "One two.", "an item of two lines", "another", "a cell", "CODE", "more"])

    def test_lines_are_counted(self):
        finding, = prose.findings("a.md", "# Head\n\nA line.\nIt is\ntold.\n")
        self.assertEqual(str(finding),
                         "a.md:5: error: word: line. It is told. -> reports, returns, shows")

    def test_comments_of_every_language(self):
        for name, comment in {
            "include/lapwing/a.h": "int a;  // Nobody reads\n        // it.\n",
            "include/a.h": "/* Nobody reads\n * it. */\n",
            "bindings/java/src/main/java/A.java": "/**\n * Nobody reads\n * it.\n */\n",
            "bindings/rust/lapwing/src/a.rs": "/// Nobody reads\n/// it.\nfn f<'a>() {}\n",
            "bindings/go/a.go": "// Nobody reads\n// it.\nvar a = `// b\n// c`\n",
            "bindings/node/src/a.ts": "/** Nobody reads it. */\nconst a = '// b';\n",
            "bindings/csharp/src/A.cs": "/// <summary>Nobody reads it.</summary>\n",
            "bindings/python/src/lapwing/a.py":
                'def f():\n    """Nobody reads\n    it.\n    """\n    return "stands"\n',
        }.items():
            with self.subTest(name=name):
                self.assertEqual(self.texts(name, comment), ["Nobody reads it."])
                self.assertEqual(rules(comment, name), [("error", "word")])

    def test_code_in_a_comment_is_skipped(self):
        text = "// One.\n//\n//     nobody = 1;\n//\n// Two.\n"
        self.assertEqual(self.texts("include/lapwing/a.h", text), ["One.", "Two."])
        text = "/// One.\n///\n/// ```\n/// nobody\n/// ```\n"
        self.assertEqual(self.texts("bindings/rust/lapwing/src/a.rs", text), ["One."])

    def test_a_list_of_terms_has_a_block_for_each(self):
        text = "// NAME       the name\n// LONGER     the longer name\n"
        self.assertEqual(self.texts("include/lapwing/a.h", text), ["the name", "the longer name"])

    def test_comments_behind_code_are_one_each(self):
        text = "int a;  // one\nint b;  // two\n"
        self.assertEqual(self.texts("include/lapwing/a.h", text), ["one", "two"])

    def test_other_comments_are_advice(self):
        for name in ("bus/a.cc", "bus/a_test.cc", "deploy/a.sh", "tools/a.py"):
            sign = "//" if name.endswith(".cc") else "#"
            self.assertEqual(rules(f"{sign} Nobody reads it.\n", name), [("advice", "word")], name)

    def test_help_is_read(self):
        text = ('const char a[] =\n    "Show a bus that\\n"\n    "nobody reads.\\n\\n"\n'
                '    "  lapwing nobody\\n\\n"\n    "More.";\n')
        self.assertEqual(self.texts("cli/a.cc", text), ["Show a bus that nobody reads.", "More."])
        self.assertEqual(rules(text, "cli/a.cc"), [("error", "word")])

    def test_messages_are_read_whole(self):
        text = ('return make_error(Errc::kA, absl::StrCat("the file ", path(x), " is"\n'
                '                  " no frame: ", why ? "one" : "two"));\nf("and this");\n')
        kinds = [(block.kind, " ".join(block.text.split())) for block in blocks("bus/a.cc", text)]
        self.assertEqual(kinds, [("message", "the file X is no frame:"), ("message", "one"),
                                 ("message", "two"), ("string", "and this")])
        self.assertEqual(rules(text, "bus/a.cc"), [("error", "word")])

    def test_older_sections_of_a_changelog_are_skipped(self):
        text = "# Changelog\n\n## 2\n\nNew.\n\n## 1\n\nOld.\n"
        self.assertEqual(prose.current(text, "CHANGELOG.md"), "# Changelog\n\n## 2\n\nNew.\n\n")
        self.assertEqual(prose.current(text, "README.md"), text)


if __name__ == "__main__":
    unittest.main()
