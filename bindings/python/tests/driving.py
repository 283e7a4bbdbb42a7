"""Runs the conformance driver in the way the scenario runner does."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

DRIVER = Path(__file__).parents[1] / "conformance" / "driver.py"


def start(folder, steps, **environment) -> subprocess.Popen:
    """Starts a driver and writes all its steps."""
    process = subprocess.Popen(
        [sys.executable, DRIVER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=folder,
        env=os.environ | environment,
    )
    process.stdin.write("\n".join(steps) + "\n")
    process.stdin.close()
    process.stdin = None
    return process


def ended(process) -> list[list[str]]:
    """Waits for the driver and returns the answers to each step, as lists of lines."""
    output, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    answers = output.split("\n.\n")
    assert answers.pop() == ""
    return [answer.split("\n") for answer in answers]


def drive(folder, steps, **environment) -> list[list[str]]:
    return ended(start(folder, steps, **environment))
