"""The journal by sequence."""

import datetime
import gc

import numpy as np
import pytest

import lapwing
from quotes import QUOTE, publisher, quotes

SEGMENT_BYTES = 1 << 20
SEGMENT_ROWS = SEGMENT_BYTES // 32  # a slot contains a stamp and a quote
ROWS = 2 * SEGMENT_ROWS + 1000


@pytest.fixture
def history(tmp_path):
    """The history of a journal with two finished segments and a growing one."""
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
    with pytest.raises(lapwing.WouldBlock):
        history.read(ROWS + 1)


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


def test_indices_are_sequences_and_negative_ones_count_from_the_newest(history):
    assert len(history) == ROWS
    assert history[1]["price"] == 1 and history[-1]["price"] == ROWS
    assert history[-ROWS]["price"] == 1 and history[np.int64(-2)]["price"] == ROWS - 1
    for piece, first, last in (
        (history[-3:], ROWS - 2, ROWS), (history[:-3], 1, ROWS - 3), (history[-5:-2], ROWS - 4, ROWS - 2),
        (history[-2 * ROWS : 4], 1, 3), (history[0:3], 1, 2), (history[ROWS - 1 :], ROWS - 1, ROWS),
    ):  # fmt: skip
        assert (piece.first, piece.last) == (first, last)
        assert piece.rows["price"][[0, -1]].tolist() == [first, last]
    assert len(history[5:5]) == len(history[-1:2]) == len(history[10**9 :]) == 0


def test_an_index_that_is_not_a_record_says_which_there_are(history):
    for wrong in (0, ROWS + 1, -ROWS - 1, 10**30):
        with pytest.raises(IndexError, match=f"index {wrong} is not a record: .* 1 to {ROWS}"):
            history[wrong]
    for wrong in ("1", 1.5, None, True):
        with pytest.raises(TypeError, match="^index is"):
            history[wrong]
    for wrong in (slice("1", None), slice(None, 1.5)):
        with pytest.raises(TypeError, match="^a slice is"):
            history[wrong]
    with pytest.raises(ValueError, match="no step"):
        history[::2]
    with pytest.raises(TypeError):
        reversed(history)


def test_a_journal_that_was_pruned_has_a_length_and_a_last_record(tmp_path):
    with publisher(
        tmp_path / "bus", segment_bytes=SEGMENT_BYTES, retain_bytes=SEGMENT_BYTES
    ) as opened:
        for first in range(1, 6 * SEGMENT_ROWS, SEGMENT_ROWS):
            opened.publish(quotes(first, SEGMENT_ROWS))
            opened.flush()
    with lapwing.History(tmp_path / "bus") as history:
        info = history.inspect()
        assert len(history) == info.archived - info.oldest + 1 and info.oldest > 1
        assert history[-len(history)]["price"] == info.oldest
        assert history[-(10**9) :].first == info.oldest
        with pytest.raises(IndexError, match=f"{info.oldest} to {info.archived}"):
            history[1]


def test_a_time_is_a_number_or_a_date(history):
    second = 1_704_205_800
    moment = datetime.datetime.fromtimestamp(second, datetime.timezone.utc)
    expected = history.find_time(second * 10**9)
    for time in (moment, np.datetime64(second, "s"), np.int64(second * 10**9)):
        assert history.find_time(time) == expected
        assert lapwing.Start.time(time) == lapwing.Start.time(second * 10**9)
    for wrong in (datetime.datetime(2024, 1, 2), np.datetime64("NaT"), -1):
        with pytest.raises(lapwing.InvalidArgument, match="^time is"):
            history.find_time(wrong)
