"""Maps symbols to instruments by date."""

from __future__ import annotations

import builtins
import os
from typing import NamedTuple

from . import _native
from ._arguments import Time, text, text_of, utc_ns, whole
from ._handle import Handle

_UINT32_MAX = 2**32 - 1
_LATEST_NS = 2**63 - 1  # after the last date of every mapping


class SymbolMapping(NamedTuple):
    """Maps `symbol` to the instrument from `start_date` until the day before `end_date`."""

    symbol: str
    instrument_id: int
    start_date: int
    """UTC, YYYYMMDD"""
    end_date: int
    """UTC, YYYYMMDD, exclusive"""


class Symbols(Handle[_native.Symbols]):
    """The symbols of a feed, from its DBN metadata. A feed without metadata has no symbols.

        symbols = lapwing.Symbols("./es")
        symbols.find("ESH4", time)      # 17077

    Times are ns since 1970, UTC, or a datetime with a time zone. If there is no time, or it is
    outside all of a symbol's dates, the mapping with the latest start date is used.
    """

    def __init__(self, directory: str | os.PathLike[str]) -> None:
        """Reads the symbols that the bus's last publisher stored. The publisher need not be
        running.

        Raises NoBus if there is no bus.
        """
        self._handle = _native.Symbols(text_of(directory, "directory"))

    def find(self, symbol: str, time: Time | None = None) -> int | None:
        """Returns the instrument of a symbol, or None if the symbol is unknown."""
        return self._handle.find(text("symbol", symbol), _ns(time))

    def name(self, instrument_id: int, time: Time | None = None) -> SymbolMapping | None:
        """Returns the mapping of an instrument, or None if the instrument is unknown."""
        row = self._handle.name(whole("instrument_id", instrument_id, _UINT32_MAX), _ns(time))
        return None if row is None else SymbolMapping(*row)

    def list(self) -> builtins.list[SymbolMapping]:
        """Returns all mappings, sorted by symbol, then by date."""
        return [SymbolMapping(*row) for row in self._handle.list()]


def _ns(time: Time | None) -> int:
    return _LATEST_NS if time is None else utc_ns("time", time)
