"""The conformance driver for the Python package. It reads steps and writes answers.

tests/conformance/bindings/README.md in the source tree specifies them.
"""

from __future__ import annotations

import sys
import threading

import lapwing
from steps import OPERATIONS, Answers, Step, result


class Running:
    """A step that runs on another thread: `begin NAME STEP…`, `end NAME`."""

    def __init__(self, line: str) -> None:
        self._answers: Answers = []
        self._thread = threading.Thread(target=self._run, args=(line,), daemon=True)
        self._thread.start()

    def _run(self, line: str) -> None:
        self._answers = answers_to(line)

    def end(self) -> Answers:
        self._thread.join()
        return self._answers


running: dict[str, Running] = {}


def answers_to(line: str) -> Answers:
    operation, _, rest = line.partition(" ")
    if operation == "begin":
        name, _, begun = rest.partition(" ")
        running[name] = Running(begun)
        return ["ok"]
    if operation == "end":
        return running.pop(rest).end()
    take = OPERATIONS.get(operation)
    if take is None:
        return ["unsupported-step"]
    try:
        return take(Step(rest))
    except lapwing.Error as error:
        return [result(error.name)]


def main() -> int:
    for line in sys.stdin:
        for answer in answers_to(line.rstrip("\n")):
            print(answer)
        print(".", flush=True)
    return 0


if __name__ == "__main__":
    # These modules register their operations.
    import buses  # noqa: F401
    import channels  # noqa: F401
    import misuse  # noqa: F401

    sys.exit(main())
