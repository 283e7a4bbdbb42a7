"""User programs pass `mypy --strict`, and it finds mistakes in them."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1]
README = PACKAGE / "README.md"
GOOD = """
import asyncio
from collections.abc import Iterator

import numpy as np

import lapwing


def kinds(bus: str) -> Iterator[lapwing.EventKind]:
    with lapwing.Subscriber(bus, start=lapwing.Start.sequence(7), on_gap="skip") as subscriber:
        try:
            for item in subscriber:
                if isinstance(item, lapwing.Event):
                    yield item.kind
        except lapwing.TimedOut as error:
            print(error.name, error.errno + 1)
        except TimeoutError:
            pass


async def count(bus: str) -> int:
    with lapwing.Subscriber(bus) as subscriber:
        return sum([len(item) async for item in subscriber if isinstance(item, lapwing.Records)])


def best(books: lapwing.Books) -> list[int]:
    prices: list[int] = []
    for key in books.list():
        book = books.find(key)
        if book.bid is not None:
            prices.append(book.bid.price)
        books.levels(key, lapwing.Side.BID, count=5)
    return prices


def last(bus: str) -> np.void:
    with lapwing.History(bus) as history, lapwing.Symbols(bus) as symbols:
        number: int | None = symbols.find("ESH4")
        print(number, len(history[-500:]))
        return history[-1]


def serve(path: str) -> None:
    with lapwing.Listener(path) as listener, listener.accept(lapwing.Duplex, wait="park") as duplex:
        for request in duplex:
            duplex.reply(request, request.payload)
"""
# Wrong lines, and the error that mypy reports for each.
WRONG = {
    'lapwing.Subscriber("es", on_gap="jump")': "arg-type",
    'lapwing.Subscriber("es", start="newest")': "arg-type",
    'lapwing.Producer.connect("p", wait="spin")': "typeddict-item|arg-type",
    'lapwing.Producer.connect("p", capcity=1)': "call-arg",
    'lapwing.Books().levels((1, 2), "bid")': "arg-type",
    'lapwing.History("es").lenght': "attr-defined",
    'lapwing.Symbols("es").find("ESH4") + 1': "operator",
}


def checked(folder, *files):
    """Returns the output of `mypy --strict`, or an empty text if it found nothing."""
    done = subprocess.run(
        [
            sys.executable, "-m", "mypy", "--strict", "--config-file", PACKAGE / "pyproject.toml",
            "--cache-dir", folder / "cache", *files,
        ],
        capture_output=True, text=True, check=False, cwd=folder,
    )  # fmt: skip
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return "" if done.returncode == 0 else done.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("types")


def test_the_examples_pass(folder):
    examples = list((PACKAGE / "examples").glob("*.py"))
    assert examples
    assert checked(folder, *examples) == ""


def test_the_programs_of_the_readme_and_others_pass(folder):
    programs = re.findall(r"```py(?:thon)?\n(.*?)```", README.read_text(), re.S)
    assert len(programs) == 2
    files = []
    for number, program in enumerate([*programs, GOOD]):
        files.append(folder / f"program{number}.py")
        files[-1].write_text("import numpy\nimport lapwing\n" + program)
    assert checked(folder, *files) == ""


def test_the_package_itself_passes(folder):
    assert checked(folder, "-p", "lapwing") == ""


def test_mistakes_are_found(folder):
    program = folder / "wrong.py"
    program.write_text("import lapwing\n" + "\n".join(WRONG) + "\n")
    said = checked(folder, program)
    for line, (mistake, code) in enumerate(WRONG.items(), 2):
        found = re.findall(rf"wrong.py:{line}: error: .*\[([a-z-]+)\]", said)
        assert found and re.fullmatch(code, found[0]), f"{mistake}\n{said}"
