"""Order books."""

import numpy as np
import pytest

import lapwing
from mbo import INSTRUMENT, PRICE, PUBLISHER, publish
from quotes import follower

KEY = lapwing.BookKey(INSTRUMENT, PUBLISHER)


@pytest.fixture
def books(tmp_path):
    publish(tmp_path / "bus")
    with lapwing.Books() as books, follower(tmp_path / "bus") as subscriber:
        for item in subscriber:
            books.take(item)
        yield books


def test_a_book_has_the_best_of_each_side(books):
    book = books.find(KEY)
    assert (book.bid.price, book.bid.size, book.bid.orders) == (99 * PRICE, 15, 2)
    assert (book.ask.price, book.ask.size, book.ask.orders) == (101 * PRICE, 4, 1)
    assert (book.orders, book.bid_levels, book.ask_levels) == (4, 2, 1)
    assert book.is_settled and not book.is_stale


def test_levels_and_orders_are_arrays(books):
    levels = books.levels(KEY, lapwing.Side.BID)
    assert levels["price"].tolist() == [99 * PRICE, 98 * PRICE]
    assert levels["size"].tolist() == [15, 7] and levels["orders"].tolist() == [2, 1]
    assert books.levels(KEY, "B", first=1)["size"].tolist() == [7]
    orders = books.orders(KEY, "B")
    assert orders["order_id"].tolist() == [1, 2] and orders["size"].tolist() == [10, 5]


def test_all_books_are_listed(books):
    keys = books.list()
    assert keys == [KEY] == [(INSTRUMENT, PUBLISHER)]
    assert (keys[0].instrument_id, keys[0].publisher_id) == (INSTRUMENT, PUBLISHER)
    assert books.find(keys[0]).orders == 4
    info = books.inspect()
    assert (info.books, info.orders, info.sequence) == (1, 4, 6)


def test_an_instrument_that_was_not_seen_is_not_found(books):
    with pytest.raises(lapwing.NotFound):
        books.find((INSTRUMENT + 1, PUBLISHER))


def test_an_empty_side_has_no_best_level(tmp_path):
    publish(tmp_path / "bus")
    with lapwing.Books() as books, follower(tmp_path / "bus") as subscriber:
        for item in subscriber.items(rows=1):
            books.take(item)
            if isinstance(item, lapwing.Records):
                break
        book = books.find(KEY)
    assert book.ask is None and book.bid.price == 99 * PRICE


def test_a_batch_that_does_not_follow_is_misuse_and_changes_nothing(tmp_path):
    publish(tmp_path / "bus")
    with lapwing.Books() as books, follower(tmp_path / "bus") as subscriber:
        books.take(subscriber.read())
        records = subscriber.read(rows=3)
        books.take(records)
        before = books.inspect().digest
        with pytest.raises(lapwing.Misuse):
            books.take(records)
        assert books.inspect().digest == before


def test_rows_of_another_schema_are_refused(bus):
    with lapwing.Books() as books, follower(bus) as subscriber:
        books.take(subscriber.read())
        with pytest.raises(lapwing.RecordSize):
            books.take(subscriber.read())


def test_a_side_is_what_a_record_says(books):
    side = lapwing.Side(np.array([b"A"])[0])
    assert side is lapwing.Side.ASK
    for form in (side, "A", b"A"):
        assert books.levels(KEY, form)["price"].tolist() == [101 * PRICE]


@pytest.mark.parametrize("key", [(PUBLISHER, INSTRUMENT, 0), INSTRUMENT, None, [INSTRUMENT, PUBLISHER]])
def test_a_key_of_another_type_is_refused(books, key):
    with pytest.raises(TypeError, match="key is .*BookKey"):
        books.find(key)


def test_the_two_numbers_of_a_key_have_one_order(books):
    with pytest.raises(lapwing.InvalidArgument, match="publisher_id is 65536"):
        books.find((1, 2**16))
    with pytest.raises(lapwing.NotFound):
        books.find((2**16, 1))
