"""Listens at a path and accepts channels."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from . import _native
from ._arguments import text_of, timeout_ns, whole
from ._handle import Handle, opened
from .channel import Channel, Role, SideOptions, side_options
from .error import wrong_type

if TYPE_CHECKING:
    from typing_extensions import Unpack  # in typing since Python 3.11


class Listener(Handle[_native.Listener]):
    """Serves one peer after another.

        with lapwing.Listener("./orders.sock") as listener:
            consumer = listener.accept(lapwing.Consumer)
    """

    def __init__(self, path: str | os.PathLike[str], *, peer_uid: int | None = None) -> None:
        """Listens at `path`.

        peer_uid  the only user to accept; None: this user and root
        """
        self._handle = _native.listen(text_of(path), _uid(peer_uid))

    @classmethod
    def take_over(
        cls,
        path: str | os.PathLike[str],
        *,
        peer_uid: int | None = None,
        timeout: float | None = None,
    ) -> Listener:
        """Replaces the listener at `path`, as soon as the old one calls accept() or tend()."""
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
        """Waits for the next peer. `role` is this side's class: Producer, Consumer or Duplex.

        The options are those of lapwing.channel.side_options(). Raises closed after a successor has
        taken over.
        """
        if not (isinstance(role, type) and issubclass(role, Channel) and role is not Channel):
            raise wrong_type("role", role, "one of: Producer, Consumer, Duplex")
        handle = self._handle.accept(
            role=role.role, timeout_ns=timeout_ns(timeout), **side_options(**options)
        )
        return role(handle)

    def tend(self) -> None:
        """Drops silent clients and lets a successor take over. Call it while serving a peer."""
        self._handle.tend()

    def fileno(self) -> int:
        """Returns a descriptor that is readable when the call made last, accept() or tend(), has
        work to do. Returns -1 after a successor has taken over.
        """
        return self._handle.fileno()


def _uid(peer_uid: int | None) -> int | None:
    return None if peer_uid is None else whole("peer_uid", peer_uid, 2**32 - 1)
