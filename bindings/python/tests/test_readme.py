"""What README.md shows works."""

import re
from pathlib import Path

import numpy

import lapwing

README = Path(__file__).parents[1] / "README.md"


def test_the_ten_lines_run_as_they_stand(bus, capsys):
    (program,) = re.findall(r"```python\n(.*?)```", README.read_text(), re.S)
    assert '"./es"' in program
    exec(program.replace('"./es"', repr(str(bus))), {})
    assert "1 " in capsys.readouterr().out


def test_the_frame_is_published_by_its_columns(tmp_path):
    (program,) = re.findall(r"```py\n(.*?)```", README.read_text(), re.S)
    assert '"./quotes"' in program
    directory = tmp_path / "quotes"
    exec(program.replace('"./quotes"', repr(str(directory))), {"lapwing": lapwing, "numpy": numpy})
    with lapwing.History(directory) as history:
        assert history[1].tolist() == (1704205800000000000, 100_000_000_000, 101_000_000_000)
