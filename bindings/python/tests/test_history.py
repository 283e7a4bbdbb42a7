"""The journal by sequence."""

import gc

import numpy as np
import pytest

import lapwing
from quotes import QUOTE, publisher, quotes

SEGMENT_BYTES = 1 << 20
SEGMENT_ROWS = SEGMENT_BYTES // 32  # a slot is a stamp and a quote
ROWS = 2 * SEGMENT_ROWS + 1000


@pytest.fixture
def history(tmp_path):
    """Of a journal of two finished segments and a growing one."""
    with publisher(tmp_path / "bus", segment_bytes=SEGMENT_BYTES) as opened:
        opened.publish(quotes(1, ROWS))
        opened.flush()
        with lapwing.History(tmp_path / "bus") as history:
            yield history


def test_a_slice_of_a_finished_segment_is_a_strided_read_only_view(history):
    records = history[10:20]
    assert isinstance(records, lapwing.MappedRows)
    assert records.first == 10
    assert records.rows.dtype == QUOTE
    assert not records.rows.flags.owndata and not records.rows.flags.writeable
    assert records.rows.strides == (32,)
    assert np.array_equal(records.rows, quotes(10, 10))
    with pytest.raises(ValueError, match="read-only"):
        records.rows["price"][0] = 1


def test_a_view_outlives_its_history(history):
    column = history[10:20].column("price")
    history.destroy()
    gc.collect()
    assert column.tolist() == list(range(10, 20))


def test_a_view_that_is_closed_early_needs_its_arrays_to_be_gone(history):
    view = history.map(1, 5)
    column = view.column("price")
    with pytest.raises(lapwing.Error) as raised:
        view.close()
    assert raised.value.name == "misuse" and column[0] == 1 and view.rows["price"][0] == 1
    del column
    view.close()
    with pytest.raises(lapwing.Error) as raised:
        view.close()
    assert raised.value.name == "misuse"


def test_a_slice_over_several_pieces_is_one_read_only_array(history):
    records = history[SEGMENT_ROWS - 10 : ROWS + 1]
    assert np.array_equal(records.rows, quotes(SEGMENT_ROWS - 10, ROWS - SEGMENT_ROWS + 11))
    assert not records.rows.flags.writeable


def test_a_slice_ends_where_the_journal_does(history):
    assert history[ROWS - 1 : ROWS + 500].last == ROWS
    assert len(history[ROWS + 5 : ROWS + 9]) == 0
    assert len(history[:11]) == 10 and len(history[ROWS:]) == 1


def test_a_slice_of_the_growing_segment_is_exact(history):
    assert np.array_equal(history[ROWS - 50 : ROWS - 40].rows, quotes(ROWS - 50, 10))


def test_one_record_is_an_index(history):
    assert history[77]["price"] == 77


def test_chunks_have_everything_once_and_copy_only_what_grows(history):
    chunks = list(history)
    assert [type(chunk).__name__ for chunk in chunks] == ["MappedRows", "MappedRows", "Records"]
    together = np.concatenate([chunk.rows for chunk in chunks])
    assert np.array_equal(together, quotes(1, ROWS))


def test_reading_beyond_the_journal_would_block(history):
    with pytest.raises(lapwing.Error) as raised:
        history.read(ROWS + 1)
    assert raised.value.name == "would-block"


def test_what_was_pruned_is_an_event_and_not_a_shorter_array(tmp_path):
    with publisher(
        tmp_path / "bus", segment_bytes=SEGMENT_BYTES, retain_bytes=SEGMENT_BYTES
    ) as opened:
        for first in range(1, 6 * SEGMENT_ROWS, SEGMENT_ROWS):
            opened.publish(quotes(first, SEGMENT_ROWS))
            opened.flush()
    with lapwing.History(tmp_path / "bus") as history:
        oldest = history.inspect().oldest
        assert oldest > 1, "void: nothing was pruned"
        lost = next(history.chunks(1))
        assert (lost.kind, lost.first, lost.cause) == ("lost", 1, "pruned")
        with pytest.raises(lapwing.Error, match="History.chunks"):
            history[1:oldest]


def test_a_time_is_found(history):
    found = history.find_time(int(history[1000]["time"]))
    assert 1 <= found <= 1000
