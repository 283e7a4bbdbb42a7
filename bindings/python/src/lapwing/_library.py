"""Loads liblapwing from LAPWING_LIBRARY, or else from the package, or else from the system."""

import os
from pathlib import Path

from . import _native

NAME = "liblapwing.so.1"


def _path() -> str:
    if chosen := os.environ.get("LAPWING_LIBRARY"):
        return chosen
    own = Path(__file__).with_name(NAME)
    return str(own) if own.exists() else NAME


LIBRARY = _path()
_abi = _native.load(LIBRARY)
ABI = (_abi >> 16, _abi & 0xFFFF)
"""(major, minor) of the library's interface."""
