"""Checks the allocations of the batch path."""

import tracemalloc

import numpy as np

from quotes import QUOTE, follower, publisher, quotes

ROWS = 4096
BATCHES = 64
OBJECTS_BYTES_MAX = 4096  # an item, an array's head, a few numbers; nothing for each record


def test_a_batch_into_reused_memory_allocates_nothing_for_a_record(tmp_path):
    with publisher(tmp_path / "bus", capacity=ROWS * BATCHES * 2) as opened:
        with follower(tmp_path / "bus") as subscriber:
            while subscriber.read().kind != "caught-up":
                pass
            opened.publish(quotes(1, ROWS * BATCHES))
            memory = np.zeros(ROWS, QUOTE)
            subscriber.read_into(memory)
            taken = 0
            tracemalloc.start()
            try:
                before, _ = tracemalloc.get_traced_memory()
                tracemalloc.reset_peak()
                for _ in range(BATCHES - 1):
                    taken += len(subscriber.read_into(memory))
                after, peak = tracemalloc.get_traced_memory()
            finally:
                tracemalloc.stop()
    assert taken > ROWS, "void: the batches were empty"
    assert peak - before < OBJECTS_BYTES_MAX
    assert after - before < OBJECTS_BYTES_MAX
