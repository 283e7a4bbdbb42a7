#!/usr/bin/env python3
"""Writes docs/reference/commands.md from the help text of the program `lapwing`.

    commands.py PROGRAM             print the page
    commands.py PROGRAM --update    write it to docs/reference/commands.md

tests/end_to_end/commands_page_test.py compares the page with the program.
Exit: 0 done, 1 the program is not built, or its help has an unknown form.
"""

import argparse
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import built

PAGE = Path(__file__).resolve().parents[1] / "docs" / "reference" / "commands.md"
NAME_BYTES = 30  # column where the text of an option begins
EXIT_CODES = "Exit codes:\n"
COMMON = ("--help", "--log")  # options of every command

HEAD = """# Commands

The program `lapwing` publishes, reads, checks and shows buses and channels. This page contains the help of each
command, as `lapwing COMMAND --help` prints it. `man lapwing-COMMAND` shows the same. The text is generated: change it
in `cli/`, then run `tools/commands.py build/release/lapwing --update`.

{commands}

## All commands

{options}

- A DURATION is a number with a unit: ns, us, ms, s, m, h or d, for example `250ms` or `1h30m`. 0 needs no unit.
- [Exit codes](exit-codes.md) have the same meaning for all commands.
- [Configuration](configuration.md) describes the files that `--config` reads.
"""


@dataclass(frozen=True)
class Option:
    name: str  # --log {text,json}
    default: str  # a value, "required" or nothing
    about: str


@dataclass(frozen=True)
class Help:
    about: str
    usage: str
    options: list
    rest: list  # paragraphs: examples and remarks


def help_of(program, *command):
    done = subprocess.run([program, *command, "--help"], capture_output=True, text=True, check=True)
    return done.stdout


def marked(text):
    """Plain text as Markdown: options and names as code, pages as links, others escaped."""
    def plain(part):
        part = re.sub(r"([*<>\[\]|\\])", r"\\\1", part)
        part = re.sub(r"(?<![\w-])(--[a-z][a-z-]*|\w+_\w+)", r"`\1`", part)
        return re.sub(r"docs/reference/([\w-]+)\.md", r"[\1](\1.md)", part)
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(part if part.startswith("`") else plain(part) for part in parts)


def option_of(spec, about):
    """Parses an option from its two columns, for example `--log TEXT:{text,json}=text`."""
    match = re.fullmatch(
        r"(?P<names>\S+)(?: (?P<value>[^\s=]+))??(?:=(?P<default>\S+))?(?P<required> REQUIRED)?"
        r"(?P<many> \.\.\.)?(?: Excludes: (?P<excludes>\S+(?: \S+)*?))?(?: Needs: (?P<needs>\S+))?", spec)
    if match is None:
        sys.exit(f"commands: {spec!r} is not an option of a known form. Extend option_of.")
    value = re.sub(r"^\w+:(?=\{)|:NONNEGATIVE$", "", match["value"] or "")
    name = " ".join(filter(None, [match["names"].replace(",--", ", --"), value])) + (" …" if match["many"] else "")
    name = " or ".join(f"`{part}`" for part in name.split("|"))
    if match["excludes"]:
        about += "; not with " + ", ".join(match["excludes"].split())
    if match["needs"]:
        about += f"; needs {match['needs']}"
    default = "required" if match["required"] else f"`{match['default']}`" if match["default"] else ""
    return Option(name, default, marked(about))


def options_of(lines):
    """The options in a list: if a name is too long for its column, its text is on the next line."""
    lines = [line.encode() for line in lines]  # the program counts bytes, not characters
    options = []
    for line, after in zip(lines, [*lines[1:], b"--"], strict=True):
        if line.startswith(b" " * NAME_BYTES):
            options[-1][1] += line.decode().strip()
        elif after.startswith(b" " * NAME_BYTES):
            options.append([line.decode().strip(), ""])
        else:
            options.append([part.decode().strip() for part in (line[:NAME_BYTES], line[NAME_BYTES:])])
    return [option_of(*option) for option in options]


def parsed(text):
    """The parts of a help text, without its exit codes."""
    text = text.split(EXIT_CODES)[0]
    about, usage, rest = re.fullmatch(r"(.*?)\nUsage: (.*?)\n\n(.*)", text, re.S).groups()
    lines, paragraphs = [], []
    for paragraph in rest.strip("\n").split("\n\n"):
        first, *others = paragraph.split("\n")
        if first in ("Positionals:", "Options:"):
            lines += others
        else:
            paragraphs.append(paragraph)
    return Help(" ".join(about.split("\n")), usage, options_of(lines), paragraphs)


def table(options):
    rows = [f"| {option.name} | {option.default} | {option.about} |" for option in options]
    return "\n".join(["| option | default | meaning |", "| --- | --- | --- |", *rows])


def block(lines):
    return "\n".join("    " + line.removeprefix("  ") if line else "" for line in lines)


def is_common(option):
    return any(name in option.name for name in COMMON)


def section(command, text):
    options = [option for option in text.options if not is_common(option)]
    parts = [f"## {command}", marked(text.about), block([text.usage])]
    parts += [table(options)] if options else []
    for paragraph in text.rest:
        lines = paragraph.split("\n")
        parts.append(block(lines) if lines[0].startswith("  ") else marked(paragraph))
    return "\n\n".join(parts) + "\n"


def page_of(program):
    listed = help_of(program).split("Subcommands:\n")[1].split("\n\n")[0]
    commands = re.findall(r"^  ([a-z]+)", listed, re.M)
    helps = {command: parsed(help_of(program, command)) for command in commands}
    common = {tuple(option for option in text.options if is_common(option)) for text in helps.values()}
    if len(common) != 1:
        sys.exit(f"commands: the options {', '.join(COMMON)} differ between commands. Leave them out of COMMON.")
    index = "\n".join(["| command | what it does |", "| --- | --- |", *(
        f"| [{command}](#{command}) | {marked(text.about)} |" for command, text in helps.items())])
    head = HEAD.format(commands=index, options=table(common.pop()))
    return "\n".join([head, *(section(*item) for item in helps.items())])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--update", action="store_true")
    options = parser.parse_args()
    built.need("commands", options.program)
    page = page_of(options.program)
    if options.update:
        PAGE.write_text(page, encoding="utf-8")
    else:
        print(page, end="")


if __name__ == "__main__":
    main()
