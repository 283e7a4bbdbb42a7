#!/usr/bin/env python3
"""Checks the English of documents, public headers, help, messages and comments.

    prose.py [--max N] [FILE…]    check the tracked files, or only FILE…
    prose.py --summary [FILE…]    count findings by rule and by kind of text
    prose.py --required           check the files that must have no error (REQUIRED)
    prose.py --commits RANGE      check the subjects of commits, for example main..HEAD
    prose.py --count              count some words in product code and documents, without tests
    prose.py --sample N [--seed S]  draw N sentences of five words or more, without tests

A finding is `FILE:LINE: error|advice: RULE: text -> suggestion`. Findings in comments of product
code and tests are advice. Words that are sometimes right are advice in every file. `prose_text.py`
extracts the prose from a file.
Exit: 0 at most N errors (default: 0), 1 more errors, 2 wrong usage, 77 not a git work tree.
"""

import argparse
import random
import re
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from prose_text import blocks, kind_of

ROOT = Path(__file__).resolve().parents[1]
ERROR_KINDS = ("document", "header", "help", "message", "package")
WORDS_MAX, WORDS_MEANT = 30, 25
SUBJECT_MAX = 60
# A test checks these. Add files once they have no errors left.
REQUIRED = re.compile(
    r"(README|CONTRIBUTING|CHANGELOG|SECURITY|SUPPORT|CODE_OF_CONDUCT)\.md|(docs|include)/.*"
    r"|(bindings/\w+|bench)/README\.md|\.github/.*\.md")
# "if there is none" is good English, and `is None` is Python.
COUNTED = ("[Nn]obody", "stands", "told", "goes on", "(?<!there )is none", "(?<!there )are none", "[Ww]hoever")

# Patterns and their replacements. "there is no" and "there is none" are good English.
WORDS = {
    r"nobody": "no process, no reader, no user: name it",
    r"who(so)?ever": "name the subject",
    r"(?<!there )(?<!there\n)is\s+no(?! (longer|more|less|fewer)\b)": "is not a",
    r"(?<!there )(?<!there\n)are\s+no(?! (longer|more|less|fewer)\b)": "are not",
    r"(?<!there )(?<!there\n)is\s+none": "is not",
    r"(?<!there )(?<!there\n)are\s+none": "are not",
    r"stands?(?! still)": "is, is in, contains, means",
    r"tells?|told": "reports, returns, shows",
    r"goes\s+on|go\s+on|went\s+on|going\s+on": "continues",
    r"gives?\s+way|gave\s+way": "is evicted, makes room",
    r"gives?\s+up|gave\s+up|given\s+up": "stops, abandons",
    r"lies": "is, is in",
    r"in\s+vain": "without a result",
    r"history\s+that\s+is\s+gone": "discarded journal",
    r"people": "operators, users",
    r"persons?": "operator, user",
    r"board": "dashboard",
    r"rooms": "folders",
}
# Often right, for example in "64-bit words" and "in place".
WORDS_OF_ADVICE = {
    r"says|said|asks|knows": "machines do not speak: prints, returns, reports, queries, contains",
    r"places?": "client slot, queue rank",
    r"looks?": "polls, checks",
    r"words": "message",
    r"house": "lint",
}
HEADLESS = r"[\"'(\[]*(Whoever|Whatever|What|Who|That which|Those (that|who|which|whose))\b"
TRAILING = r",\s+(too|likewise|also|besides|alone)(?=[.;:!?)]|\s*$)"
SENTENCE_END = re.compile(r"(?<!\be\.g)(?<!\bi\.e)(?<!\betc)(?<!\bvs)(?<!\bcf)[.!?][\"')\]]*\s+")


@dataclass(frozen=True)
class Finding:
    path: str
    line: int
    kind: str
    level: str
    rule: str
    text: str
    suggestion: str

    def __str__(self):
        place = f"{self.path}:{self.line}: {self.level}: {self.rule}"
        return f"{place}: {self.text} -> {self.suggestion}"


def sentences(text):
    """(offset, sentence) of each."""
    start = 0
    for end in SENTENCE_END.finditer(text):
        yield start, text[start:end.end()].rstrip()
        start = end.end()
    if text[start:].strip():
        yield start, text[start:].rstrip()


def around(text, start, end):
    """The match and up to three neighbours on each side, in one line."""
    before = re.search(r"(\S+\s+){0,3}\S*\Z", text[:start])[0]
    behind = re.match(r"\S*(\s+\S+){0,3}", text[end:])[0]
    return " ".join((before + text[start:end] + behind).split())


def findings_of_text(text, form):
    """(offset, is_advice, rule, text, suggestion) of each finding in a block."""
    for words, is_advice in ((WORDS, False), (WORDS_OF_ADVICE, True)):
        for pattern, suggestion in words.items():
            for match in re.finditer(rf"(?<![\w-])({pattern})(?![\w-])", text, re.I):
                yield match.start(), is_advice, "word", around(text, *match.span()), suggestion
    for match in re.finditer(TRAILING, text):
        shown = around(text, *match.span())
        yield match.start(), False, "trailing", shown, f"leave out `{match[1]}`"
    for offset, sentence in sentences(text):
        shown = " ".join(sentence.split()[:8])
        count = len(re.findall(r"\S*\w\S*", sentence))
        if count > WORDS_MAX:
            yield (offset, False, "long", f"{count} words: {shown} …",
                   f"split it: at most {WORDS_MEANT} words")
        # A heading or a cell is a label, unless it ends as a sentence does.
        if (form != "text" and sentence[-1] not in ".;") or sentence.endswith(":"):
            continue
        if sentence.startswith("Of "):
            suggestion = "begin with the thing: `Record size in bytes.`"
            yield offset, False, "of", f"{shown} …", suggestion
        if re.match(HEADLESS, sentence) and not sentence.endswith("?"):
            yield offset, False, "headless", f"{shown} …", "make a noun the subject"


def findings(path, text):
    """The findings of one file."""
    found = []
    for block in blocks(path, text):
        for offset, is_advice, rule, shown, suggestion in findings_of_text(block.text, block.form):
            level = "error" if block.kind in ERROR_KINDS and not is_advice else "advice"
            line = block.line_at(offset)
            found.append(Finding(path, line, block.kind, level, rule, shown, suggestion))
    return sorted(found, key=lambda finding: finding.line)


def git(*arguments):
    command = ("git", "-C", ROOT, *arguments)
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def texts(paths):
    """(path, text) of the files that can contain prose."""
    for path in paths:
        if kind_of(path) is not None and (ROOT / path).exists():
            yield path, current((ROOT / path).read_text(encoding="utf-8"), path)


def current(text, path):
    """The text without the older sections of a changelog, which are not rewritten."""
    sections = list(re.finditer(r"^## ", text, re.M)) if path.endswith("CHANGELOG.md") else []
    return text[:sections[1].start()] if len(sections) > 1 else text


def findings_of_subjects(subjects):
    """The findings of lines `COMMIT SUBJECT`."""
    for line in subjects:
        commit, subject = line.split(" ", 1)
        if len(subject) > SUBJECT_MAX:
            yield Finding(commit, 1, "commit", "error", "subject",
                          f"{len(subject)} characters: {subject}", f"at most {SUBJECT_MAX}")
        if not re.match(r"[\w./, -]+: \S", subject):
            yield Finding(commit, 1, "commit", "error", "subject", f"no area: {subject}",
                          "`area: what is done`")


def print_counts():
    """Counts of COUNTED, to compare two commits."""
    left_out = re.compile(r"^tests/|^tools/prose\.py$")
    counted = [text for path, text in texts(git("ls-files").splitlines())
               if kind_of(path) != "test" and not left_out.search(path)]
    total = 0
    for word in COUNTED:
        count = sum(len(re.findall(rf"\b{word}\b", text)) for text in counted)
        total += count
        print(f"{word:20} {count:5}")
    print(f"{'sum':20} {total:5}")


def print_sample(count, seed):
    """Sentences drawn at random, for a reader to judge. The same seed always draws the same
    sentences."""
    found = []
    for path, text in texts(git("ls-files").splitlines()):
        for block in blocks(path, text):
            if block.kind in (*ERROR_KINDS, "comment") and block.form == "text":
                found += [f"{path}:{block.numbers[0]}: {' '.join(sentence.split())}"
                          for _, sentence in sentences(block.source)
                          if len(re.findall(r"\S*\w\S*", sentence)) >= 5]
    print(*random.Random(seed).sample(found, count), sep="\n")


def print_summary(found):
    """A table: a row for each kind of text, a column for each rule."""
    counts = Counter((finding.kind, finding.level, finding.rule) for finding in found)
    rules = ("word", "headless", "of", "long", "trailing")
    print(f"{'':18}" + "".join(f"{rule:>10}" for rule in rules))
    for level in ("error", "advice"):
        for kind in sorted({key[0] for key in counts if key[1] == level}):
            row = "".join(f"{counts[kind, level, rule]:10}" for rule in rules)
            print(f"{level:7}{kind:11}{row}")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--max", type=int, default=0, metavar="N")
    parser.add_argument("--commits", metavar="RANGE")
    parser.add_argument("--count", action="store_true")
    parser.add_argument("--required", action="store_true")
    parser.add_argument("--sample", type=int, metavar="N")
    parser.add_argument("--seed", type=int, default=1, metavar="S")
    parser.add_argument("--summary", action="store_true")
    parser.add_argument("files", nargs="*", metavar="FILE")
    options = parser.parse_args()
    if not (ROOT / ".git").exists() and not options.files:
        print("SKIPPED: this is not a git work tree")
        return 77
    if options.count:
        print_counts()
        return 0
    if options.sample:
        print_sample(options.sample, options.seed)
        return 0
    if options.commits:
        found = list(findings_of_subjects(
            git("log", "--no-merges", "--format=%h %s", options.commits).splitlines()))
    else:
        named = [Path(name).resolve().relative_to(ROOT).as_posix() for name in options.files]
        paths = named or git("ls-files").splitlines()
        if options.required:
            paths = [path for path in paths if REQUIRED.fullmatch(path)]
        found = [finding for path, text in texts(paths) for finding in findings(path, text)]
    if options.summary:
        print_summary(found)
    else:
        print(*found, sep="\n", end="\n" if found else "")
    errors = sum(finding.level == "error" for finding in found)
    print(f"{errors} errors, {len(found) - errors} advice")
    return 0 if errors <= options.max else 1


if __name__ == "__main__":
    sys.exit(main())
