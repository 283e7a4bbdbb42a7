"""The two ends of a channel."""

from __future__ import annotations

import threading

import lapwing


def pair(path, mine, others, **options):
    """Returns (the end that listens, the end that connects)."""
    with lapwing.Listener(path) as listener:
        connected = []
        thread = threading.Thread(
            target=lambda: connected.append(others.connect(path, timeout=10, **options))
        )
        thread.start()
        accepted = listener.accept(mine, timeout=10)
        thread.join()
    return accepted, connected[0]
