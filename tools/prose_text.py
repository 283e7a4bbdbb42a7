"""Extracts the prose of documents, comments, docstrings and messages.

`blocks(path, text)` yields every paragraph, list item, heading and table cell as a Block. It skips
code blocks. Inline code, URLs and quoted text each become one word.
"""

import io
import re
import textwrap
import tokenize
from dataclasses import dataclass

SCRIPTS = (".go", ".ts", ".mts", ".js", ".mjs")
SLASHES = (".h", ".hpp", ".c", ".cc", ".rs", ".java", ".kt", ".cs", ".css", *SCRIPTS)
HASHES = (".sh", ".cmake", ".toml", ".yml", ".yaml", "CMakeLists.txt", "Containerfile", "/driver")
GENERATED = re.compile(
    r"^(tests/golden|bench/results)/|^docs/reference/commands\.md$"
    r"|^bindings/rust/lapwing-sys/src/bindings\.rs$")
TESTS = re.compile(r"(^|/)(tests?|testing|conformance|fuzz|bench)/|_test\.|_fuzz\.|\.test\.")
PACKAGES = re.compile(
    r"^bindings/(python/src/lapwing|rust/lapwing(-sys)?/src|(java|kotlin)/src/main"
    r"|(node|csharp)/src)/|^bindings/go/\w+\.(go|h|c)$")

TOKEN = re.compile(
    r'(?P<comment>//[^\n]*|/\*.*?\*/)|"""(?:.*?)"""|r(?P<h>#*)".*?"(?P=h)|"(?:\\.|[^"\\\n])*"'
    r"|'(?:\\[^\n]{1,8}?|[^'\\\n])'", re.S)
SCRIPT_TOKEN = re.compile(  # for SCRIPTS
    r"(?P<comment>//[^\n]*|/\*.*?\*/)|`[^`]*`|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.S)
MESSAGE_CALL = re.compile(r"\b(make_error|system_error|log_entry|LogEntry|log_?|say|fail)\s*[({]")
ESCAPES = {"n": "\n", "t": " "}

FENCE = re.compile(r"```+|~~~+|<pre>|<code>$|>>> ")
ITEM = re.compile(r"\s*([-*]|\d+[.)])\s+")
TAG = re.compile(r"@(return|see|brief)\b|@(param|throws)\s+\w+|<(summary|param|returns)\b[^>]*>")
MASKS = [  # markup, and its replacement
    (re.compile(r"``[^`]+``|`[^`]+`|\{@\w+[^}]*\}|<c>.*?</c>|<see[^>]*/>", re.S), "CODE"),
    (re.compile(r"!?\[([^]]*)\]\([^)]*\)"), r"\1"),
    (re.compile(r"\b[a-z+]+://\S+"), "URL"),
    (re.compile(r"<!--.*?-->|</?[a-z][^>]*>", re.S), ""),
    (re.compile(r'"[^"]{1,120}"'), "QUOTE"),
    (re.compile(r"\*+(?=\S)|(?<=\S)\*+"), ""),
]


@dataclass(frozen=True)
class Block:
    kind: str  # document, header, help, message, package, comment, string or test
    form: str  # text, heading or cell
    numbers: list  # the line number of each line of `text`
    text: str  # without markup
    source: str

    def line_at(self, offset):
        return self.numbers[self.text.count("\n", 0, offset)]


def kind_of(path):
    """The kind of a document or of a file's comments. None if the file is not checked."""
    if GENERATED.search(path):
        return None
    if path.endswith(".md"):
        return "document"
    if not path.endswith((".py", *SLASHES, *HASHES)):
        return None
    if TESTS.search(path):
        return "test"
    if path.startswith("include/"):
        return "header"
    return "package" if PACKAGES.search(path) else "comment"


def masked(text):
    """The text without its markup, with the same number of lines."""
    for pattern, word in MASKS:
        text = pattern.sub(lambda match: match.expand(word) if "\\" in word else
                           word + "\n" * match[0].count("\n"), text)
    return text


def paragraphs(kind, lines, code_indent):
    """The blocks of (number, line) pairs. Lines indented by `code_indent` or more are code."""
    block, form, fenced, item_indent = [], "text", None, 0
    is_document = code_indent == 4

    def flush():
        nonlocal block, form
        source = "\n".join(line for _, line in block)
        text = masked(source)
        if re.search(r"[A-Za-z]{2}", text):
            yield Block(kind, form, [number for number, _ in block], text, source)
        block, form = [], "text"

    for number, line in lines:
        stripped = line.strip()
        indent = len(line) - len(line.lstrip())
        if fenced:
            fenced = None if fenced in stripped else fenced
        elif fence := FENCE.match(stripped):
            yield from flush()
            if not fence[0].startswith(">>>"):
                closes = {"<pre>": "</pre>", "<code>": "</code>"}.get(fence[0], fence[0])
                fenced = None if closes in stripped[len(fence[0]):] else closes
        elif not stripped:
            yield from flush()
        elif indent >= item_indent + code_indent and (is_document or not ITEM.match(line)):
            yield from flush()
        elif stripped.startswith("|"):
            yield from flush()
            for cell in re.split(r"(?<!\\)\|", re.sub(r"`[^`]*`", "CODE", stripped))[1:]:
                block, form = [(number, cell.strip())], "cell"
                yield from flush()
        elif stripped.startswith("#") and is_document:
            yield from flush()
            block, form, item_indent = [(number, stripped.lstrip("# "))], "heading", 0
            yield from flush()
        else:
            item, tag = ITEM.match(line), TAG.match(stripped)
            column = re.search(r"(?<=\S) {3,}(?=\S)", line)  # "term     its meaning"
            if item or tag or column:
                yield from flush()
            if item:
                item_indent, line = len(item[0]), line[len(item[0]):]
            elif tag:
                line = stripped[len(tag[0]):]
            elif column:
                line = line[column.end():]
            elif indent < item_indent and not block:
                item_indent = 0
            block.append((number, line.strip()))
    yield from flush()


def joined(comments):
    """The (number, line) pairs of each comment, from (number, column, is_behind_code, lines)."""
    group, last_number, last_column = [], None, None
    for number, column, is_behind, lines in comments:
        if is_behind or number != last_number or column != last_column:
            yield group
            group = []
        group = group + list(enumerate(lines, number))
        last_number, last_column = number + len(lines), column
    yield group


def comment_lines(comment):
    """The lines of a `//` or `/* */` comment without these marks."""
    if comment.startswith("//"):
        return [re.sub(r"^//[/!]?<? ?", "", comment)]
    body = re.sub(r"^/\*+ ?|\s*\*+/$", "", comment)
    first, _, rest = body.partition("\n")
    if re.search(r"^(?!\s*\*)\s*\S", rest, re.M):
        rest = textwrap.dedent(rest)
    rest = re.sub(r"^[ \t]*\* ?", "", rest, flags=re.M)
    return [re.sub(r"-{3,}", "", line) for line in [first, *rest.split("\n")]]


def slash_comments(text, tokens):
    for match in tokens:
        if match["comment"]:
            start = text.rfind("\n", 0, match.start()) + 1
            yield (text.count("\n", 0, match.start()) + 1, match.start() - start,
                   bool(text[start:match.start()].strip()), comment_lines(match[0]))


def hash_comments(text):
    for number, line in enumerate(text.split("\n"), 1):
        match = re.search(r"(^|\s)#(?!!) ?(.*)", line)
        if match:
            yield number, match.start(), bool(line[:match.start()].strip()), [match[2]]


def python_comments(text):
    """Comments and docstrings. A string at the start of a statement is a docstring."""
    starts = (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)
    before = tokenize.NEWLINE
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        number, column = token.start
        if token.type == tokenize.COMMENT and not token.string.startswith("#!"):
            is_behind = bool(token.line[:column].strip())
            yield number, column, is_behind, [re.sub("^#:? ?", "", token.string)]
        elif token.type == tokenize.STRING and before in starts:
            body = re.sub(r'^\w*("""|\'\'\'|["\'])|("""|\'\'\'|["\'])$', "", token.string)
            first, _, rest = body.partition("\n")
            yield number, column, True, [first, *textwrap.dedent(rest).split("\n")]
        if token.type not in (tokenize.NL, tokenize.COMMENT):
            before = token.type


def literal_lines(text, literals, blanked):
    """The (number, line) pairs of one message. Expressions between its literals become X."""
    lines, behind = [], None
    for match in literals:
        between = blanked[behind:match.start()].strip() if behind else ""
        if re.search(r"[?:](?!:)", between.replace("::", "")):
            lines.append((0, ""))  # the other branch of a condition
        elif between.strip(", ") and lines:
            lines[-1] = (lines[-1][0], lines[-1][1] + "X")
        value = re.sub(r"\\(.)", lambda escape: ESCAPES.get(escape[1], escape[1]), match[0][1:-1])
        number = text.count("\n", 0, match.start()) + 1
        lines += [(number, line) for line in value.removesuffix("\n").split("\n")]
        if value.endswith("\n\n"):
            lines.append((number, ""))
        behind = match.end()
    return lines


def cpp_literals(path, text, tokens):
    """(kind, lines) of each message: all literals of a MESSAGE_CALL, or adjacent other literals."""
    literals = [match for match in tokens if match[0].startswith('"')]
    blanked = TOKEN.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)
    rest = "help" if path.startswith("cli/") else "string"
    end = 0
    for call in MESSAGE_CALL.finditer(blanked):
        if call.start() < end:
            continue
        depth, end = 1, call.end()
        while depth and end < len(blanked):
            depth += {"(": 1, "{": 1, ")": -1, "}": -1}.get(blanked[end], 0)
            end += 1
        inside = [match for match in literals if call.end() <= match.start() < end]
        literals = [match for match in literals if match not in inside]
        yield "message", literal_lines(text, inside, blanked)
    group = []
    for match in literals:
        if group and blanked[group[-1].end():match.start()].strip():
            yield rest, literal_lines(text, group, blanked)
            group = []
        group.append(match)
    yield rest, literal_lines(text, group, blanked)


def blocks(path, text):
    """The blocks of one file."""
    kind = kind_of(path)
    if kind is None:
        return
    if kind == "document":
        yield from paragraphs(kind, enumerate(text.split("\n"), 1), 4)
        return
    if path.endswith(".py"):
        comments = python_comments(text)
    elif path.endswith(HASHES):
        comments = hash_comments(text)
    else:
        pattern = SCRIPT_TOKEN if path.endswith(SCRIPTS) else TOKEN
        tokens = list(pattern.finditer(text))
        comments = slash_comments(text, tokens)
        if path.endswith((".h", ".cc")) and kind != "test":
            for kind_of_literal, lines in cpp_literals(path, text, tokens):
                yield from paragraphs(kind_of_literal, lines, 2)
    for lines in joined(comments):
        yield from paragraphs(kind, lines, 2)
