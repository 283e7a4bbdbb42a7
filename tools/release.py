#!/usr/bin/env python3
"""Sets and checks the version in every file that contains it, and drafts release notes.

    release.py VERSION [--date YYYY-MM-DD]    set the version and the date (default: today, UTC)
    release.py --check                        verify that all files have one version and one date
    release.py --notes                        print the notes for the newest version in CHANGELOG.md

The version in CMakeLists.txt is the reference. PLACES lists the texts that must match it.
--check also reports each other line that contains the version, unless KEPT matches it.
See docs/releasing.md for all steps of a release.
Exit: 0 done, 1 a check failed, 2 wrong usage.
"""

import argparse
import datetime
import email.utils
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FULL, SHORT = r"(\d+\.\d+\.\d+)", r"(\d+\.\d+)"  # 0.2.0 and 0.2
POM = r"<artifactId>lapwing(?:-kotlin)?</artifactId>\n\s*<version>"
REFERENCE = ("CMakeLists.txt", rf"project\(lapwing VERSION {FULL}")
DATE = ("CMakeLists.txt", r"set\(LAPWING_RELEASE_DATE (\d{4}-\d\d-\d\d)\)")

# Each pattern has one group, the version, and matches at least once in its file.
PLACES = [
    REFERENCE,
    ("SECURITY.md", rf"\| {SHORT} \| yes"),
    ("README.md", rf"!\[Version: {FULL}\]"),
    ("README.md", rf"^Lapwing {SHORT} is not published"),
    ("README.md", rf"find_package\(lapwing {SHORT}"),
    ("README.md", rf"^Version {FULL}\."),
    ("bindings/csharp/src/Library.cs", rf'release of the library, "{FULL}"'),
    ("bindings/java/README.md", POM + FULL),
    ("bindings/java/pom.xml", POM + FULL),
    ("bindings/java/src/main/java/lapwing/Lapwing.java", rf'release, such as "{FULL}"'),
    ("bindings/kotlin/pom.xml", POM + FULL),
    ("bindings/node/package.json", rf'^  "version": "{FULL}"'),
    ("bindings/node/src/library.ts", rf'release of the library, "{FULL}"'),
    ("bindings/python/pyproject.toml", rf'^version = "{FULL}"'),
    ("bindings/python/src/lapwing/__init__.py", rf'^__version__ = "{FULL}"'),
    ("bindings/rust/Cargo.lock", rf'^name = "lapwing[\w-]*"\nversion = "{FULL}"'),
    ("bindings/rust/Cargo.toml", rf'^version = "{FULL}"'),
    ("bindings/rust/Cargo.toml", rf'^lapwing[\w-]* = .* version = "{FULL}"'),
    ("bindings/rust/lapwing/src/lib.rs", rf"`{FULL}` for example"),
    ("cli/help/manual_page.h", rf'version;  // "{FULL}"'),
    ("cli/version.h", rf'"(?:lapwing )?{FULL}[ "]'),
    ("docs/faq.md", rf"^The answers describe Lapwing {FULL}"),
    ("docs/how-to/checkpoint-state.md", rf"find_package\(lapwing {SHORT}"),
    ("docs/how-to/run-in-a-container.md", rf"lapwing:{FULL}"),
    ("docs/images/version.svg", rf"[> ]{FULL}[<\"]"),
    ("docs/reference/cpp.md", rf"find_package\(lapwing {SHORT}"),
    ("docs/tutorial/2-your-own-records.md", rf"find_package\(lapwing {SHORT}"),
    ("docs/versions.md", rf"^\| {SHORT} \| fixes"),
    ("include/lapwing.h", rf'^/\* Returns the release, "{FULL}"'),
    ("tests/install/consumer/CMakeLists.txt", rf"find_package\(lapwing {SHORT}"),
]
# Texts that contain a version and keep it: history, and versions of other things.
KEPT = re.compile(
    r"^(CHANGELOG\.md|debian/(changelog|liblapwing1\.symbols)|.*\.lock|bench/.*"
    r"|tests/version_test\.py|tools/release(_test)?\.py|.*requirements.*\.txt"
    r"|bindings/rust/lapwing-sys/src/lib\.rs|docs/explanation/comparison\.md):"
    r"|\b([Bb]efore|[Ff]rom|[Ss]ince|began with) \d+\.\d+\.\d+")


class Tree:
    """The tracked files below a root."""

    def __init__(self, root):
        self.root = Path(root)

    def read(self, path):
        return (self.root / path).read_text(encoding="utf-8")

    def write(self, path, text):
        (self.root / path).write_text(text, encoding="utf-8")

    def version(self):
        path, pattern = REFERENCE
        return re.search(pattern, self.read(path))[1]

    def lines_with(self, version):
        """`FILE:LINE:TEXT` of each line with that version."""
        pattern = rf"(^|[^0-9.]){re.escape(version)}($|[^0-9.]|\.($|[^0-9]))"
        done = subprocess.run(["git", "-C", self.root, "grep", "-nIE", pattern],
                              capture_output=True, text=True, check=False)
        if done.returncode > 1:
            sys.exit(f"release: git grep failed: {done.stderr.strip()}. Use a git work tree.")
        return done.stdout.splitlines()


def numbers(version):
    return [int(part) for part in version.split(".")]


def in_form(pattern, version):
    """The version in the form that a pattern matches: 0.2.0 or 0.2."""
    return version if FULL in pattern else version.rsplit(".", 1)[0]


def newest_section(changelog):
    """(title, body) of the newest section that is not `Unreleased`."""
    for part in re.split(r"^## ", changelog, flags=re.M)[1:]:
        title, _, body = part.partition("\n")
        if title.strip() != "Unreleased":
            return title.strip(), body
    return "none", ""


def faults(tree):
    """A message for each text that does not agree with the reference."""
    version = tree.version()
    explained = set()
    for path, pattern in PLACES:
        text = tree.read(path)
        found = list(re.finditer(pattern, text, re.M))
        if not found:
            yield f"{path}: contains no version as {pattern}. Correct PLACES in tools/release.py."
        for match in found:
            line = text.count("\n", 0, match.start(1)) + 1
            explained.add(f"{path}:{line}")
            if match[1] != in_form(pattern, version):
                yield (f"{path}:{line}: has version {match[1]}, not {in_form(pattern, version)}. "
                       f"Run tools/release.py {version}.")
    title, _ = newest_section(tree.read("CHANGELOG.md"))
    if title != version:
        yield f"CHANGELOG.md: its newest version is {title}, not {version}. Add a section."
    packaged = re.match(rf"lapwing \({FULL}\).*?^ -- .*?>  (.*?)$", tree.read("debian/changelog"),
                        re.M | re.S)
    day = re.search(DATE[1], tree.read(DATE[0]))[1]
    if packaged is None or packaged[1] != version:
        yield f"debian/changelog: its newest entry is not {version}. Add an entry."
    elif email.utils.parsedate_to_datetime(packaged[2]).date().isoformat() != day:
        yield f"debian/changelog: its newest entry is not of {day}, the date in {DATE[0]}."
    for found in tree.lines_with(version):
        path, line, _ = found.split(":", 2)
        if f"{path}:{line}" not in explained and not KEPT.search(found):
            yield (f"{path}:{line}: contains {version}, which this script does not set. "
                   "Add it to PLACES or KEPT in tools/release.py.")


def set_version(tree, version, date):
    """Writes the version and the date into every file."""
    changelog = tree.read("CHANGELOG.md")
    if newest_section(changelog)[0] != version:
        if "\n## Unreleased\n" not in changelog:
            sys.exit(f"release: CHANGELOG.md has no section `## {version}` or `## Unreleased`. "
                     "Write it first.")
        tree.write("CHANGELOG.md", changelog.replace("\n## Unreleased\n", f"\n## {version}\n", 1))
    for path, pattern in PLACES:
        text = tree.read(path)
        for match in reversed(list(re.finditer(pattern, text, re.M))):
            text = text[:match.start(1)] + in_form(pattern, version) + text[match.end(1):]
        tree.write(path, text)
    path, pattern = DATE
    text = tree.read(path)
    match = re.search(pattern, text)
    tree.write(path, text[:match.start(1)] + date.isoformat() + text[match.end(1):])
    packaged = tree.read("debian/changelog")
    if not packaged.startswith(f"lapwing ({version})"):
        maintainer = re.search(r"^ -- (.*?>)", packaged, re.M)[1]
        noon = datetime.datetime.combine(date, datetime.time(12), datetime.UTC)
        tree.write("debian/changelog",
                   f"lapwing ({version}) unstable; urgency=medium\n\n"
                   f"  * New release. CHANGELOG.md lists its changes.\n\n"
                   f" -- {maintainer}  {email.utils.format_datetime(noon)}\n\n{packaged}")


def joined_lines(text):
    """The text with one line for each paragraph and item, because release pages keep line
    breaks."""
    lines = []
    for line in text.split("\n"):
        continues = lines and lines[-1] and line and not re.match(r"(- |\||#|```|    )", line)
        if continues and not re.match(r"(\||#|```)", lines[-1]):
            lines[-1] += " " + line.strip()
        else:
            lines.append(line)
    return "\n".join(lines)


def notes(tree):
    """A draft of the release page."""
    version, body = newest_section(tree.read("CHANGELOG.md"))
    day = re.search(DATE[1], tree.read(DATE[0]))[1]
    body = re.sub(r"^###", "##", joined_lines(body.strip()), flags=re.M)
    return (f"# Lapwing {version}\n\nReleased on {day}. See `docs/versions.md` before you upgrade. "
            f"Verify downloads with `sha256sum --check SHA256SUMS`.\n\n{body}\n")


def main(arguments):
    parser = argparse.ArgumentParser(prog="release.py", description=__doc__,
                                     formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("version", nargs="?", metavar="VERSION")
    parser.add_argument("--date", type=datetime.date.fromisoformat, metavar="YYYY-MM-DD",
                        default=datetime.datetime.now(datetime.UTC).date())
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--notes", action="store_true")
    parser.add_argument("--root", type=Path, default=ROOT, help="the source tree (default: this)")
    options = parser.parse_args(arguments)
    tree = Tree(options.root)
    if (options.version is not None) + options.check + options.notes != 1:
        parser.error("give VERSION, --check or --notes")
    if options.notes:
        print(notes(tree), end="")
        return 0
    if options.version is not None:
        if not re.fullmatch(FULL, options.version):
            parser.error(f"{options.version} is not a version. Write three numbers, such as 1.0.0.")
        if numbers(options.version) < numbers(tree.version()):
            parser.error(f"{options.version} is older than {tree.version()}, the current version.")
        set_version(tree, options.version, options.date)
    found = list(faults(tree))
    print(*found, sep="\n", end="\n" if found else "")
    print(f"{len(PLACES)} places checked, version {tree.version()}, {len(found)} faults")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
