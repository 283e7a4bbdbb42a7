"""Rules about shared layouts: assertions and tests/golden/abi.golden pin each of them."""

import re

from tree import Finding, without_comments

GOLDEN = "tests/golden/abi.golden"
FORMATS = (
    "docs/reference/file-formats.md", "docs/reference/wire-format.md", "docs/reference/dbn.md",
    "docs/explanation/channel-protocol.md")
# The part of the shared definitions that users see as well.
PUBLIC_AGREEMENT = {
    f"include/lapwing/{name}.h"
    for name in ("dbn", "detail/channel_layout", "detail/channel_words",
                 "detail/memory_layout", "detail/slot_layout", "detail/slot_words", "error", "gap",
                 "journal_state", "kv16", "order_entry", "sequence")
}

# Types used in proto/ that no two processes share.
NOT_LAYOUTS = {
    "ChannelBarrier", "Durations", "ErrorName", "FrameLength", "FrameSize", "JournalCondition",
    "RecordSchema", "SchemaLabel", "Settlement", "SlotForm", "SlotProtocol", "SlotRead",
    "SlotReadResult", "WordMoves",
}
# Tables that have one line per row in the golden file, and sizes that no two processes share.
NOT_CONSTANTS = {"kClientStateNames", "kErrorNames", "kHotSizes", "kJournalStateNames",
                 "kRecordSchemas"}
FILLERS = ("reserved", "padding")
# In the golden file, but without a format of their own.
UNSHARED = {"Gap", "Id128", "PaddedWord"}


def strip_bodies(text):
    """A struct's body without the function bodies and initialisers inside it."""
    while True:
        shorter = re.sub(r"\{[^{}]*\}", ";", text)
        if shorter == text:
            return text
        text = shorter


def fields_of(body):
    for statement in strip_bodies(body).split(";"):
        if "(" in statement or re.search(r"\b(static|friend|using)\b", statement):
            continue
        match = re.search(r"[\w:>]\s+(\w+)\s*(\[[^\]]*\])?\s*(=.*)?$", statement.strip(), re.S)
        if match:
            yield match[1]


def declarations(source):
    """(line, kind, name, members) of every struct, enum and constant declared in a header."""
    code = without_comments(source.text)
    struct = r"^struct\s+(?:alignas\([^)]*\)\s*)?(\w+)[^;{]*\{(?s:(.*?))(?:^|\s)\};"
    for line, match in source.search(struct, code):
        yield line, "struct", match[1], list(fields_of(match[2]))
    for line, match in source.search(r"^enum\s+class\s+(\w+)[^{;]*\{([^}]*)\}", code):
        members = [part.split("=")[0].strip() for part in match[2].split(",")]
        yield line, "enum", match[1], [member for member in members if member]
    constant = r"^(?:inline\s+)?constexpr\s[^=;(]*?\b(k\w+)(\[\])?\s*[={]"
    for line, match in source.search(constant, code):
        yield line, "constant", match[1], []


def headers(tree):
    for source in tree:
        of_proto = source.layer == "proto" and source.path.endswith(".h")
        if of_proto or source.path in PUBLIC_AGREEMENT:
            yield source


def golden_is_complete(tree):
    """tests/golden/abi.golden contains all shared structs, enums and constants."""
    golden = set()
    if GOLDEN in tree:
        for line in tree[GOLDEN].text.split("\n"):
            golden.add(tuple(line.split()[:2]))
    member_kind = {"struct": "field", "enum": "value"}
    for source in headers(tree):
        for line, kind, name, members in declarations(source):
            if name in NOT_LAYOUTS | NOT_CONSTANTS:
                continue
            wanted = [(kind, name)]
            wanted += [(member_kind[kind], f"{name}.{member}") for member in members]
            for entry in wanted:
                if entry not in golden:
                    message = f"{' '.join(entry)} is missing from {GOLDEN}; see testing/abi_dump.cc"
                    yield source.finding(line, message)


def layouts_are_asserted(tree):
    """Assertions next to a shared struct check its size and every offset."""
    for source in headers(tree):
        code = without_comments(source.text)
        if "offsetof" not in code:
            continue
        for line, kind, name, members in declarations(source):
            if kind != "struct" or name in NOT_LAYOUTS:
                continue
            if f"sizeof({name})" not in code:
                yield source.finding(line, f"no static_assert on sizeof({name})")
            for member in members[1:]:
                if not member.startswith(FILLERS) and f"offsetof({name}, {member})" not in code:
                    yield source.finding(line, f"no static_assert on offsetof({name}, {member})")


def formats_are_documented(tree):
    """docs/reference/file-formats.md has a table for each shared struct and error in GOLDEN."""
    if GOLDEN not in tree:
        return
    text = "\n".join(tree[path].text for path in FORMATS if path in tree)
    rows = set()
    struct = None
    for line in text.split("\n"):
        heading = re.match(r"#+ `?(\w+)`?$", line)
        struct = heading[1] if heading else struct
        if row := re.match(r"\| (\d+) \| (\d+) \| `(\w+)` \| (\S+) \|", line):
            rows.add(f"field {struct}.{row[3]} {row[1]} {row[2]} {row[4]}")
        elif row := re.match(r"\| (\d+) \| `([\w-]+)` \|", line):
            rows.add(f"error {row[1]} {row[2]}")
    stated = {
        line
        for line in tree[GOLDEN].text.split("\n")
        if line.startswith(("field ", "error ")) and line.split()[1].split(".")[0] not in UNSHARED
    }
    for line in sorted(stated - rows):
        yield Finding(FORMATS[0], 1, f"no table row for `{line}`")
    for line in sorted(rows - stated):
        yield Finding(FORMATS[0], 1, f"the row for `{line}` is not what {GOLDEN} says")


RULES = [golden_is_complete, layouts_are_asserted, formats_are_documented]
