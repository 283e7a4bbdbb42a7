"""Rules about every text file: its format, its name, and forbidden text.

The forbidden words are assembled from parts, so that this file does not contain them.
"""

import re

from tree import Finding

COLUMNS_MAX = 100
CODE = (".h", ".cc", ".py", ".sh", ".cmake", ".rs", "CMakeLists.txt", ".ci/run")
NOT_OURS = ("LICENSE", "Cargo.lock")

MARKERS = r"\b(" + "|".join(["TO" + "DO", "FIX" + "ME", "XX" + "X", "HA" + "CK"]) + r")\b"

# Absolute paths that exist only on one machine.
MACHINE_PATHS = "|".join(
    re.escape("/" + folder) for folder in ["root/", "home/", "work/", "Users/", "tmp/lw"]
)

# Links to documents are allowed. Package registries are accessed through their clients' settings.
DOCUMENTATION_HOSTS = {
    "code.kx.com",
    "docs.kx.com",
    "docs.nats.io",
    "kafka.apache.org",
    "redis.io",
    "www.apache.org",
    "www.contributor-covenant.org",
    "www.debian.org",  # in the format of debian/copyright
    "databento.com",
    "docs.rs",
    "en.cppreference.com",
    "github.com",
    "keepachangelog.com",
    "man7.org",
    "semver.org",
    "www.w3.org",  # in the format of every SVG
    "www.kernel.org",
    "www.open-std.org",
}
# This machine, a placeholder, and names that cannot be registered (RFC 2606).
RESERVED_HOSTS = re.compile(r"localhost|HOST|127(\.0\.0\.1)?|([\w-]+\.)+example")
REGISTRY_HOSTS = "|".join(
    re.escape(".".join(parts))
    for parts in [
        ("pypi", "org"), ("pythonhosted", "org"), ("index", "crates.io"), ("static", "crates.io"),
        ("deb", "debian.org"), ("security", "debian.org"), ("proxy", "golang.org"),
        ("registry", "npmjs.org"), ("repo1", "maven.org"), ("api", "nuget.org"),
    ]
)

DOCUMENTS = r"\b(docs|bench|tests)/[\w./-]+\.(md|golden)\b|\b(README|CHANGELOG)\.md\b"
TABS = r"<details><summary>(.+?)</summary>\n\n```\w+\n((?:(?!```).*\n)*)```"
LOOP_LINES = {"C++": 12, "Python": 8}  # lines from the open to the end of the loop; others: LOOP_LINES_MAX
LOOP_LINES_MAX = 15
OPENS_SUBSCRIBER = r"SubscriberOptions\b(?!,)|[sS]ubscriber(\.|::)?[oO]pen\b|Subscriber\(|open(ing)?Subscriber\b|OpenSubscriber\b"
TEN_LINES = r"bindings/\w+/README\.md|docs/reference/c\.md"
OUTSIDE_DOCUMENTS = r"\b(DESIGN|STYLE)(\.md| \d+)\b"

# Replaces another project's header, and must have its name.
CATCH2_NAME = "testing/catch2_v3/catch2/catch.hpp"
# Files that tools and editors leave behind.
STRAY = re.compile(r"(.*\.(lock|orig|rej|pyc|pyo|bak|swp|tmp)|.*~|\.?#.*|\.DS_Store)")
LOCKS = {"Cargo.lock"}
EMPTY_ON_PURPOSE = {"py.typed", "__init__.py"}
NAMELESS_ROOMS = {"util", "utils", "common", "misc", "helpers"}


def is_code(source):
    return source.path.endswith(CODE)


def text_form(tree):
    """A file ends with one newline. Code has no tabs, trailing blanks, or lines above 100."""
    for source in tree:
        if source.text and not source.text.endswith("\n"):
            yield source.finding(source.text.count("\n") + 1, "the last line has no newline")
        if source.text.endswith("\n\n"):
            yield source.finding(source.text.count("\n"), "the file ends with an empty line")
        if not is_code(source):
            continue
        for number, line in enumerate(source.text.split("\n"), 1):
            if len(line) > COLUMNS_MAX:
                yield source.finding(number, f"{len(line)} columns; at most {COLUMNS_MAX}")
            if line != line.rstrip():
                yield source.finding(number, "trailing blanks")
            if "\t" in line:
                yield source.finding(number, "a tab")


def no_markers(tree):
    """Remaining work is an issue, not a comment."""
    for source in tree:
        if source.name not in NOT_OURS:
            for line, match in source.search(MARKERS):
                yield source.finding(line, f"'{match[1]}': do it, or leave it out")


def no_machine_paths(tree):
    """The tree can be built and tested anywhere: it contains no path that exists only on one
    machine."""
    for source in tree:
        for line, match in source.search(r"(?<![\w.$}])(" + MACHINE_PATHS + ")"):
            yield source.finding(line, f"'{match[1]}' exists on one machine only")


def no_registry_hosts(tree):
    """Packages come through a registry's own client: no file contains the registry's host or
    another URL."""
    for source in tree:
        if source.name in NOT_OURS:
            continue
        for line, match in source.search(REGISTRY_HOSTS):
            yield source.finding(line, f"'{match[0]}' is a registry's host")
        for line, match in source.search(r"\b[a-z+]+://(?:[^\s/\"']*@)?([\w.-]+)"):
            if match[1] not in DOCUMENTATION_HOSTS and not RESERVED_HOSTS.fullmatch(match[1]):
                yield source.finding(line, f"'{match[1]}' is not one of the documentation hosts")


def file_names(tree):
    """C++ files are lower_case.h and .cc, and no folder is named util."""
    for source in tree:
        parts = source.path.split("/")
        if re.search(r"\.(hpp|cpp|cxx|hh|c\+\+)$", source.name) and source.path != CATCH2_NAME:
            yield source.finding(1, "C++ files end in .h and .cc")
        if source.is_cpp and not re.fullmatch(r"[a-z0-9_]+\.(h|cc)", source.name):
            yield source.finding(1, "a C++ file is named in lower case with underscores")
        for part in NAMELESS_ROOMS.intersection([*parts[:-1], parts[-1].split(".")[0]]):
            yield source.finding(1, f"'{part}' says nothing; name the file after what it holds")


def no_stray_files(tree):
    """git tracks no files left behind by tools, and no empty files without a purpose."""
    for path, size in tree.sizes.items():
        name = path.rsplit("/", 1)[-1]
        if STRAY.fullmatch(name) and name not in LOCKS:
            yield Finding(path, 1, f"a tool left this behind: git rm --cached {path}")
        elif size == 0 and name not in EMPTY_ON_PURPOSE:
            yield Finding(path, 1, f"this is empty: git rm {path}")


def documents_exist(tree):
    """A document that is referred to is in the tree under that name."""
    for source in tree:
        if source.path.startswith("tests/house_rules/"):
            continue
        for line, match in source.search(DOCUMENTS):
            folders = [source.path[: slash.end()] for slash in re.finditer("/", source.path)]
            if not any(folder + match[0] in tree for folder in ["", *folders]):
                yield source.finding(line, f"there is no {match[0]}")
        for line, match in source.search(OUTSIDE_DOCUMENTS):
            yield source.finding(line, f"'{match[0]}' is not a document of this tree")


def tabs_are_the_packages_own(tree):
    """A language's ten lines in README.md are also in that language's own document."""
    if "README.md" not in tree:
        return
    readme = tree["README.md"]
    own = ["\n".join(line.strip() for line in source.text.split("\n"))
           for source in tree if re.fullmatch(TEN_LINES, source.path)]
    for line, match in readme.search(TABS):
        lines = "\n".join(code.strip() for code in match[2].split("\n"))
        if not any(lines in text for text in own):
            yield readme.finding(line, f"the lines of {match[1]} are in no document of a language")


def loops_are_short(tree):
    """A language's loop in README.md is short, from the open to the end of the loop."""
    if "README.md" not in tree:
        return
    readme = tree["README.md"]
    loops = [(line, match[1], match[2]) for line, match in
             readme.search(TABS)]
    loops += [(line, "C++", match[0]) for line, match in
              readme.search(r"^.*lapwing::Subscriber::open\(.*\n(?:.*\n)*?  \}$")]
    for line, language, code in loops:
        lines = [text for text in code.split("\n") if text.strip()]
        first = next((i for i, text in enumerate(lines) if re.search(OPENS_SUBSCRIBER, text)), 0)
        margin = re.match(r"\s*", lines[first])[0]  # a less indented line closes a function
        count = sum(text.startswith(margin) for text in lines[first:])
        limit = LOOP_LINES.get(language, LOOP_LINES_MAX)
        if count > limit:
            yield readme.finding(line, f"the loop of {language} takes {count} lines; at most {limit}")


def no_old_names(tree):
    """A name in the first column of the changelog's tables of renamed names occurs nowhere else."""
    if "CHANGELOG.md" not in tree:
        return
    rows = re.findall(r"^\| ((?:`[^`|]+`(?:, )?)+) \| `[^|]+ \| [^|]+ \|$", tree["CHANGELOG.md"].text, re.M)
    old = {name for row in rows for name in re.findall(r"`([^`]+)`", row)}
    if not old:
        return
    pattern = r"(?<![\w-])(" + "|".join(sorted(map(re.escape, old), key=len, reverse=True)) + r")(?![\w-])"
    for source in tree:
        if source.path != "CHANGELOG.md":
            for line, match in source.search(pattern):
                yield source.finding(line, f"'{match[1]}' has another name now: see CHANGELOG.md")


RULES = [no_old_names, loops_are_short, tabs_are_the_packages_own, documents_exist, no_markers, no_machine_paths, no_registry_hosts, file_names, no_stray_files]
ADVICE = [text_form]
