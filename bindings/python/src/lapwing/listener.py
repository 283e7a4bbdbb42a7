"""Serves the other ends of channels at a path."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from . import _native
from ._arguments import text_of, timeout_ns, whole
from ._handle import Handle, opened
from .channel import Channel, Role, SideOptions, side_options
from .error import wrong_type

if TYPE_CHECKING:
    from typing_extensions import Unpack  # typing has it from Python 3.11 on


class Listener(Handle[_native.Listener]):
    """Serves one peer after another.

        with lapwing.Listener("./orders.sock") as listener:
            consumer = listener.accept(lapwing.Consumer)
    """

    def __init__(self, path: str | os.PathLike[str], *, peer_uid: int | None = None) -> None:
        """peer_uid: only that user is served; None: this user and root."""
        self._handle = _native.listen(text_of(path), _uid(peer_uid))

    @classmethod
    def take_over(
        cls,
        path: str | os.PathLike[str],
        *,
        peer_uid: int | None = None,
        timeout: float | None = None,
    ) -> Listener:
        """Takes the place of the one that listens there now, once that one accepts or tends."""
        listener = cls.__new__(cls)
        options = (text_of(path), _uid(peer_uid), timeout_ns(timeout))
        listener._handle = opened(lambda: _native.take_over(*options), timeout)
        return listener

    def accept(
        self,
        role: type[Role],
        *,
        timeout: float | None = None,
        **options: Unpack[SideOptions],
    ) -> Role:
        """The next peer's channel, on which this side is a Producer, a Consumer or a Duplex.

        The options are those of lapwing.channel.side_options(). closed: handed over.
        """
        if not (isinstance(role, type) and issubclass(role, Channel) and role is not Channel):
            raise wrong_type("role", role, "one of: Producer, Consumer, Duplex")
        handle = self._handle.accept(
            role=role.role, timeout_ns=timeout_ns(timeout), **side_options(**options)
        )
        return role(handle)

    def tend(self) -> None:
        """For while a peer is served: drops silent clients, lets a successor take over."""
        self._handle.tend()

    def fileno(self) -> int:
        """Readable when the last call, accept or tend, has something to do. -1: handed over."""
        return self._handle.fileno()


def _uid(peer_uid: int | None) -> int | None:
    return None if peer_uid is None else whole("peer_uid", peer_uid, 2**32 - 1)
