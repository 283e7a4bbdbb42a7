"""Tutorials 2 and 4: their programs and commands, in order.

tests/install builds the C++ program of tutorial 2. Here the Python program takes its place.
"""

import json
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PROGRAMS = Path(os.environ.get("LAPWING_BUILD_DIR", ROOT / "build" / "release"))
SUBSCRIBERS = "lapwing subscribers --bus ./es"
HANG_SECONDS = 120


class Page:
    """A page of docs/tutorial, and a terminal in an empty directory."""

    def __init__(self, name, folder):
        text = (ROOT / "docs" / "tutorial" / name).read_text(encoding="utf-8")
        self.programs = re.findall(r"```python\n(.*?)```", text, re.S)
        self.commands = re.findall(r"^    ((?:lapwing|python|kill|wait|rm) .*)$", text, re.M)
        self.folder = folder
        path = f"{PROGRAMS}:{Path(sys.executable).parent}:{os.environ['PATH']}"
        self.environment = os.environ | {"PATH": path}

    def save(self, name):
        """Saves the next program on the page."""
        (self.folder / name).write_text(self.programs.pop(0))

    def next(self, beginning):
        """The next command on the page."""
        command = self.commands.pop(0)
        assert command.startswith(beginning), (beginning, command)
        return command

    def try_to_run(self, command):
        return subprocess.run(
            ["bash", "-c", command],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=HANG_SECONDS,
            check=False,
        )

    def run(self, command):
        done = self.try_to_run(command)
        assert done.returncode == 0, (command, done.stdout, done.stderr)
        return done.stdout

    @contextmanager
    def terminal(self, command):
        """Runs a command in another terminal, and presses Ctrl-C there at the end."""
        process = subprocess.Popen(
            command.split(), cwd=self.folder, env=self.environment, stderr=subprocess.DEVNULL
        )
        try:
            yield
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(HANG_SECONDS)

    def until(self, command, is_there):
        """Waits until a command succeeds and prints JSON that `is_there` accepts."""
        deadline = time.monotonic() + HANG_SECONDS
        while True:
            done = self.try_to_run(command)
            if done.returncode == 0 and is_there(json.loads(done.stdout)):
                return
            assert time.monotonic() < deadline, (command, done.stdout, done.stderr)
            time.sleep(0.05)


@pytest.fixture
def page(request, tmp_path):
    if not (PROGRAMS / "lapwing").exists():
        pytest.fail(f"{PROGRAMS}/lapwing is missing. Build it, or set LAPWING_BUILD_DIR")
    page = Page(request.param, tmp_path)
    yield page
    assert page.commands == [] and page.programs == []


@pytest.mark.parametrize("page", ["2-your-own-records.md"], indirect=True)
def test_your_own_records(page):
    page.next("lapwing info"), page.next("lapwing tail")  # of the C++ program's records
    page.save("publish_quotes.py")
    program = (page.folder / "publish_quotes.py").read_text()
    assert "4600" in program
    (page.folder / "first.py").write_text(program.replace("4600", "4500"))
    page.run("python first.py")
    assert page.run(page.next("python publish_quotes.py")) == "published up to 10\n"
    page.save("read_quotes.py")
    said = page.run(page.next("python read_quotes.py")).splitlines()
    assert said[:4] == [
        "session 1",
        "records 1 to 5, mean price 4502.0",
        "session 6",
        "records 6 to 10, mean price 4602.0",
    ]
    assert said[4] == "caught-up 10" and said[5].startswith("closed 10: session ")


def levels_of_program(said):
    """The three best levels of each side, as (side, price, size, orders)."""
    return re.findall(r"^([BA]) (\S+) (\d+) (\d+)$", said, re.M)


def levels_of_command(said):
    """The same levels, as printed by `lapwing book`."""
    sides = {"B": [], "A": []}
    number = r"\s+([\d.,]+)"
    for line in said.splitlines():
        if row := re.match(rf"^{number}{number}{number} \|{number}{number}{number}$", line):
            orders, size, bid, ask, ask_size, ask_orders = row.groups()
            sides["B"].append(("B", bid, size, orders))
            sides["A"].append(("A", ask, ask_size, ask_orders))
    return sides["B"] + sides["A"]


def as_numbers(levels):
    return [(side, float(price), int(size), int(orders)) for side, price, size, orders in levels]


@pytest.mark.parametrize("page", ["4-order-book-in-python.md"], indirect=True)
def test_an_order_book(page):
    page.save("book.py")
    with page.terminal(page.next("lapwing publish")):
        page.until(f"{SUBSCRIBERS} --json", lambda bus: bus["head"] == 100_000)
        shown = as_numbers(levels_of_command(page.run(page.next("lapwing book"))))
        assert len(shown) == 6
        said = page.run(page.next("python book.py"))
        assert re.match(r"session 1\nno-snapshot 1: .*\ncaught-up 100000\n[1-9]\d* changes", said)
        assert as_numbers(levels_of_program(said)) == shown

        checkpoint, kill, wait, state = (
            page.next(beginning) for beginning in ("lapwing checkpoint", "kill", "wait", "lapwing")
        )
        read = f"until {SUBSCRIBERS} --json | grep -q '\"position\": *100000'; do sleep 0.1; done"
        said = page.run("\n".join([checkpoint, read, kill, wait, state]))
        assert "as of       record 100000 of journal" in said
        said = page.run(page.next("python book.py"))
        start = r"session 100001\nsnapshot-complete 100000: .*\ncaught-up 100000\n0 changes"
        assert re.match(start, said)
        assert as_numbers(levels_of_program(said)) == shown

    program = (page.folder / "book.py").read_text()
    ends = re.compile(r"^ +if item\.kind == .*CAUGHT_UP:\n +break\n", re.M)
    assert len(ends.findall(program)) == 1
    (page.folder / "book.py").write_text(ends.sub("", program))
    publish = page.next("lapwing publish").replace("--pace 5000", "--pace 100000")
    follow, remove = "python book.py", page.next("rm")
    with page.terminal(publish):
        said = page.run(follow)
    end = r"^closed 200000: .*\n[1-9]\d* changes of the best prices, sequence 200000"
    assert re.search(end, said, re.M)
    page.run(remove)
