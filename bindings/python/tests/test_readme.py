"""What README.md shows works."""

import re
from pathlib import Path

README = Path(__file__).parents[1] / "README.md"


def test_the_ten_lines_run_as_they_stand(bus, capsys):
    (program,) = re.findall(r"```python\n(.*?)```", README.read_text(), re.S)
    assert '"./es"' in program
    exec(program.replace('"./es"', repr(str(bus))), {})
    assert "1 " in capsys.readouterr().out
