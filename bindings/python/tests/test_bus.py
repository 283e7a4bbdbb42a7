"""Publishing and subscribing: contents, form and order of the delivered items."""

import json
import os
import shutil
import signal
import time

import numpy as np
import pytest

import lapwing
from quotes import QUOTE, SCHEMA, follower, publisher, quotes


def kinds(items):
    return [
        item.kind if isinstance(item, lapwing.Event) else type(item).__name__ for item in items
    ]


def rows_of(items):
    return np.concatenate([item.rows for item in items if isinstance(item, lapwing.Records)])


def test_records_arrive_as_they_were_published(bus):
    with follower(bus) as subscriber:
        items = list(subscriber)
    assert np.array_equal(rows_of(items), quotes(1, 100))
    assert items[1].first == 1


def test_iterating_yields_events_in_their_place_and_ends_at_the_close(bus):
    with follower(bus) as subscriber:
        found = kinds(subscriber)
    assert found[0] == "session"
    assert "Records" in found and "caught-up" in found
    assert found.index("Records") < found.index("caught-up")


def test_rows_own_their_memory(bus):
    with follower(bus) as subscriber:
        records = [item for item in subscriber if isinstance(item, lapwing.Records)]
    for each in records:
        assert each.rows.flags.owndata and each.rows.flags.writeable


def test_a_described_struct_is_a_dtype_without_a_line_of_glue(bus):
    with follower(bus) as subscriber:
        next(iter(subscriber))
        assert subscriber.dtype == QUOTE
        assert subscriber.schema.fields == SCHEMA.fields


def test_records_that_nobody_described_are_bytes(tmp_path):
    with lapwing.Publisher(tmp_path / "bus", record_bytes=24, schema_name="mine") as opened:
        opened.publish(bytes(range(48)))
    with follower(tmp_path / "bus") as subscriber:
        rows = rows_of(subscriber)
    assert rows.dtype == np.dtype("V24")
    assert rows.tobytes() == bytes(range(48))


def test_an_array_of_another_record_size_is_refused(tmp_path):
    with publisher(tmp_path / "bus") as opened:
        with pytest.raises(lapwing.Error) as raised:
            opened.publish(np.zeros(4, "V16"))
        assert (raised.value.name, raised.value.last) == ("record-size", 0)
        with pytest.raises(lapwing.Error, match="not a whole number of records"):
            opened.publish(b"123")


def test_publish_returns_the_sequence_of_the_last_record(tmp_path):
    with publisher(tmp_path / "bus") as opened:
        assert opened.publish(quotes(1, 10)) == 10
        assert opened.publish(quotes(11, 1)[0]) == 11
        assert opened.publish(quotes(12, 2).tobytes()) == 13
        assert opened.flush() == 13
        info = opened.inspect()
    assert (info.first, info.head, info.durable) == (1, 13, 13)
    assert (info.settled, info.journal) == ("fresh", "good")


def test_a_publish_that_waits_for_the_journal_goes_on_where_it_was(tmp_path):
    count = 20_000
    with publisher(tmp_path / "bus", capacity=2048) as opened:
        assert opened.publish(quotes(1, count)) == count
        assert opened.inspect().journal_stalls > 0, "void: the journal was never a ring behind"
    with lapwing.History(tmp_path / "bus") as history:
        assert np.array_equal(history[:].rows, quotes(1, count))


def test_a_publish_that_may_not_wait_says_how_far_it_came(tmp_path):
    count = 20_000
    with publisher(tmp_path / "bus", capacity=2048) as opened:
        with pytest.raises(lapwing.WouldBlock) as raised:
            opened.publish(quotes(1, count), timeout=0)
        assert 0 < raised.value.last == opened.inspect().head < count


def test_read_into_gives_views_of_the_callers_memory(bus):
    memory = np.zeros(16, QUOTE)
    with follower(bus) as subscriber:
        assert subscriber.read_into(memory).kind == "session"
        records = subscriber.read_into(memory)
        assert len(records) == 16 and np.shares_memory(records.rows, memory)
        again = subscriber.read_into(memory)
    assert again.first == 17 and memory["price"][0] == 17


def test_memory_that_holds_no_row_says_what_one_takes(bus):
    with follower(bus) as subscriber:
        subscriber.read()
        with pytest.raises(lapwing.Error) as raised:
            subscriber.read_into(bytearray(10))
        assert (raised.value.name, raised.value.row_bytes) == ("too-small", QUOTE.itemsize)
        assert subscriber.read_into(bytearray(24)).first == 1


def test_read_one_copies_one_record_and_lets_no_event_pass(bus):
    record = np.zeros(1, QUOTE)
    with follower(bus) as subscriber:
        with pytest.raises(lapwing.EventDue) as raised:
            subscriber.read_one(record)
        assert "event" in raised.value.message
        subscriber.read()
        assert [subscriber.read_one(record) for _ in range(3)] == [1, 2, 3]
    assert record["price"][0] == 3


def pairs_of(field, directory):
    """Publishes one session of records whose second field is named `field`."""
    dtype = np.dtype([("first", "<u8"), (field, "<u8")])
    schema = lapwing.Schema.describe("desk.pair", dtype)
    with lapwing.Publisher(directory, schema=schema) as opened:
        opened.publish(np.array([(1, 2)], dtype))


class ReplacedAfterRead:
    """A subscriber's handle that replaces the bus right after the first read has returned."""

    def __init__(self, handle, replace):
        self._handle = handle
        self._replace = replace

    def read(self, *arguments):
        result = self._handle.read(*arguments)
        replace, self._replace = self._replace, lambda: None
        replace()
        return result

    def __getattr__(self, name):
        return getattr(self._handle, name)


def test_a_bus_that_was_replaced_has_its_own_schema(tmp_path):
    bus = tmp_path / "bus"

    def replace():
        shutil.rmtree(bus)
        pairs_of("renamed", bus)

    pairs_of("old", bus)
    with lapwing.Subscriber(bus, start=lapwing.Start.oldest()) as subscriber:
        subscriber._handle = ReplacedAfterRead(subscriber._handle, replace)
        assert subscriber.read().kind == "session"
        assert subscriber.dtype.names == ("first", "old")
        while getattr(subscriber.read(timeout=10), "kind", "") != "reset":
            assert subscriber.dtype.names == ("first", "old")
        assert subscriber.read(timeout=10).rows.dtype.names == ("first", "renamed")
        assert subscriber.schema.name == "desk.pair"


def test_ages_are_of_the_records_that_were_chosen(tmp_path):
    dtype = np.dtype([("time", "<u8"), ("published", "<u8")])
    text = json.loads(lapwing.Schema.describe("test.aged", dtype, utc_ns=["time", "published"]).text)
    text["fields"][1]["role"] = "publish_time"
    rows = np.zeros(100, dtype)
    rows["published"] = time.time_ns()
    with lapwing.Publisher(tmp_path / "bus", schema=json.dumps(text)) as opened:
        opened.publish(rows)
    with follower(tmp_path / "bus", measure_every=10, observes=True) as subscriber:
        list(subscriber)
        ages = subscriber.ages()
    assert ages.count == 10 and ages.negative == ages.unstamped == 0
    assert 0 < ages.p50_ns <= ages.p99_ns <= ages.max_ns < 60 * 10**9
    with follower(tmp_path / "bus") as subscriber:
        list(subscriber)
        with pytest.raises(lapwing.NotFound):
            subscriber.ages()


def test_a_gap_is_an_event_with_exact_bounds_and_is_filled(tmp_path):
    with publisher(tmp_path / "bus", capacity=2048) as opened:
        with lapwing.Subscriber(tmp_path / "bus") as subscriber:
            assert subscriber.read().kind == "session"
            assert subscriber.read().kind == "caught-up"
            opened.publish(quotes(1, 6000))
            match subscriber.read():
                case lapwing.Event(kind="gap", first=1, last=last, cause="lapped", fillable=True):
                    assert last > 2000
                case other:
                    raise AssertionError(other)
            received = []
            while sum(map(len, received)) < 6000:
                received.append(subscriber.read(timeout=10))
            assert np.array_equal(rows_of(received), quotes(1, 6000))
            assert subscriber.inspect().filled == last


def test_nothing_there_is_would_block_or_timed_out(tmp_path):
    with publisher(tmp_path / "bus"), lapwing.Subscriber(tmp_path / "bus") as subscriber:
        while subscriber.read().kind != "caught-up":
            pass
        for timeout, name in ((0, "would-block"), (0.0005, "timed-out"), (0.05, "timed-out")):
            with pytest.raises(lapwing.Error) as raised:
                subscriber.read(timeout=timeout)
            assert raised.value.name == name


def follower_of_instrument_1(bus):
    try:
        return follower(bus, instruments=[1])
    except lapwing.Error as error:
        if error.name == "unsupported":
            pytest.skip(f"this library has no such option: {error.message}")
        raise


def test_instruments_leave_rows_out_and_name_the_sequences(bus):
    with follower_of_instrument_1(bus) as subscriber:
        records = [item for item in subscriber if isinstance(item, lapwing.Records)]
    found = np.concatenate([each.sequences for each in records])
    assert np.array_equal(found, np.arange(1, 101, 4))
    assert np.array_equal(rows_of(records)["price"], found)
    assert all(each.is_sparse for each in records)


@pytest.mark.parametrize("one", [1, np.uint32(1), "id:1"])
def test_a_number_is_an_int_or_has_its_prefix(bus, one):
    with follower(bus, instruments=[one]) as subscriber:
        records = [item for item in subscriber if isinstance(item, lapwing.Records)]
    assert sum(len(each) for each in records) == 25


@pytest.mark.parametrize("name", ["ESH4", "1", "005930"])
def test_a_str_is_a_symbol_also_of_digits(bus, name):
    with follower(bus, instruments=[name]) as subscriber, pytest.raises(lapwing.Error) as raised:
        list(subscriber)
    assert raised.value.name == "not-found"
    assert f"instrument {name}: " in raised.value.message


@pytest.mark.parametrize("wrong", ["ESH4", b"1", [1.5], [None], [True], [-1]])
def test_what_is_not_a_list_of_instruments_is_refused(bus, wrong):
    error = lapwing.InvalidArgument if wrong == [-1] else TypeError
    with pytest.raises(error, match="^instruments "):
        follower(bus, instruments=wrong)


def test_conflated_rows_say_how_many_they_stand_for(bus):
    with follower(bus, conflate=True, conflate_interval=0.01) as subscriber:
        records = [item for item in subscriber if isinstance(item, lapwing.Records)]
    assert sum(len(each) for each in records) + sum(
        int(each.conflated.sum()) for each in records
    ) == 100
    assert len(rows_of(records)) < 100


def test_events_and_infos_show_what_they_have(bus):
    with follower(bus) as subscriber:
        assert repr(subscriber.read()).startswith(
            "Event(kind=<EventKind.SESSION: 'session'>, sequence=1, first=0, "
        )
        assert "record_bytes=24, schema_name='test.quote'" in repr(subscriber.inspect())
        assert repr(subscriber.read(rows=2)) == "Records(2 of test.quote)"


def test_a_batch_without_a_column_has_rows_that_follow_one_another(bus):
    with follower(bus, conflate=True, conflate_interval=0.01) as subscriber:
        subscriber.read()
        run = subscriber.read_into(bytearray(4096), timeout=10)
        assert not run.is_sparse
        assert list(run.sequences) == list(range(run.first, run.last + 1))


def test_a_position_is_bytes_and_is_continued(bus):
    with follower(bus) as subscriber:
        subscriber.read()
        subscriber.read(rows=10)
        stored = bytes(subscriber.position(7))
    position = lapwing.Position(stored)
    assert position.sequence == 7 and position == lapwing.Position(stored)
    with follower(bus, start=lapwing.Start.after(position)) as subscriber:
        assert rows_of(subscriber)["price"][0] == 8


def test_a_cursor_resumes_after_its_commit(bus, tmp_path):
    oldest = lapwing.Start.oldest()
    with lapwing.Cursor(tmp_path / "cursor") as cursor:
        assert lapwing.Start.resume(cursor, oldest) == oldest
        with follower(bus) as subscriber:
            subscriber.read()
            subscriber.read(rows=10)
            cursor.commit(subscriber.position(), output_bytes=99, output_file=2)
    with lapwing.Cursor(tmp_path / "cursor") as cursor:
        commit = cursor.position()
        assert (commit.position.sequence, commit.output_bytes, commit.output_file) == (10, 99, 2)
        with follower(bus, start=lapwing.Start.resume(cursor, oldest)) as subscriber:
            assert rows_of(subscriber)["price"][0] == 11


def test_a_bus_that_is_taken_says_so(tmp_path):
    with publisher(tmp_path / "bus"):
        for timeout in (0, 0.05):
            with pytest.raises(lapwing.InUse):
                publisher(tmp_path / "bus", timeout=timeout)


def test_the_log_is_read_from_a_queue_or_goes_to_a_function(tmp_path):
    lapwing.log.to_queue()
    with publisher(tmp_path / "queue"):
        pass
    queued = list(lapwing.log.lines())
    assert list(lapwing.log.lines()) == []
    called = []
    lapwing.log.to(called.append)
    with publisher(tmp_path / "function"):
        pass
    lapwing.log.to(None)
    assert queued and called


def test_the_next_publisher_starts_at_once_after_a_kill(tmp_path):
    """The kernel may hold a killed process's lock for a moment. The default timeout covers that."""

    def child():
        failed = 1
        try:
            opened = publisher(tmp_path / "bus")
            opened.publish(quotes(1, 10))
            failed = 0
        finally:
            os._exit(1) if failed else os.kill(os.getpid(), signal.SIGKILL)

    for _ in range(20):
        pid = os.fork()
        if pid == 0:
            child()
        assert os.waitpid(pid, 0)[1] == signal.SIGKILL


def test_nothing_is_waited_for_with_a_timeout_of_0(tmp_path):
    with publisher(tmp_path / "bus"):
        with pytest.raises(lapwing.InUse):
            publisher(tmp_path / "bus", timeout=0)
    with lapwing.Cursor(tmp_path / "cursor"):
        with pytest.raises(lapwing.InUse):
            lapwing.Cursor(tmp_path / "cursor", timeout=0)
