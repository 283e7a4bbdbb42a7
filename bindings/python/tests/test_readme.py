"""The programs in README.md work."""

import re
from pathlib import Path

import numpy

import lapwing

README = Path(__file__).parents[1] / "README.md"


LINES_MAX = 8  # from opening the subscriber to the end of the loop


def test_the_main_loop_runs_as_it_stands(bus, capsys):
    (program,) = re.findall(r"```python\n(.*?)```", README.read_text(), re.S)
    assert '"./es"' in program
    exec(program.replace('"./es"', repr(str(bus))), {})
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "session 1" and said[1].startswith("1 ") and said[-1].startswith("closed 100")


def test_the_main_loop_is_short():
    (program,) = re.findall(r"```python\n(.*?)```", README.read_text(), re.S)
    loop = program[program.index("with ") :].splitlines()
    assert len(loop) <= LINES_MAX


def test_the_frame_is_published_by_its_columns(tmp_path):
    (program,) = re.findall(r"```py\n(.*?)```", README.read_text(), re.S)
    assert '"./quotes"' in program
    directory = tmp_path / "quotes"
    exec(program.replace('"./quotes"', repr(str(directory))), {"lapwing": lapwing, "numpy": numpy})
    with lapwing.History(directory) as history:
        assert history[1].tolist() == (1704205800000000000, 100_000_000_000, 101_000_000_000)
