"""Order books."""

import pytest

import lapwing
from mbo import INSTRUMENT, PRICE, PUBLISHER, publish
from quotes import follower


@pytest.fixture
def books(tmp_path):
    publish(tmp_path / "bus")
    with lapwing.Books() as books, follower(tmp_path / "bus") as subscriber:
        for item in subscriber:
            books.take(item)
        yield books


def test_a_book_has_the_best_of_each_side(books):
    book = books.find(PUBLISHER, INSTRUMENT)
    assert (book.bid.price, book.bid.size, book.bid.orders) == (99 * PRICE, 15, 2)
    assert (book.ask.price, book.ask.size, book.ask.orders) == (101 * PRICE, 4, 1)
    assert (book.orders, book.bid_levels, book.ask_levels) == (4, 2, 1)
    assert book.is_settled and not book.is_stale


def test_levels_and_orders_are_arrays(books):
    levels = books.levels(PUBLISHER, INSTRUMENT, "B")
    assert levels["price"].tolist() == [99 * PRICE, 98 * PRICE]
    assert levels["size"].tolist() == [15, 7]
    assert books.levels(PUBLISHER, INSTRUMENT, "B", first=1)["size"].tolist() == [7]
    orders = books.orders(PUBLISHER, INSTRUMENT, "B")
    assert orders["order_id"].tolist() == [1, 2] and orders["size"].tolist() == [10, 5]


def test_all_books_are_listed(books):
    keys = books.list()
    assert [(key["publisher_id"], key["instrument_id"]) for key in keys] == [
        (PUBLISHER, INSTRUMENT)
    ]
    info = books.inspect()
    assert (info.books, info.orders, info.sequence) == (1, 4, 6)


def test_an_instrument_that_was_not_seen_is_not_found(books):
    with pytest.raises(lapwing.Error) as raised:
        books.find(PUBLISHER, INSTRUMENT + 1)
    assert raised.value.name == "not-found"


def test_an_empty_side_has_no_best_level(tmp_path):
    publish(tmp_path / "bus")
    with lapwing.Books() as books, follower(tmp_path / "bus") as subscriber:
        for item in subscriber.items(rows=1):
            books.take(item)
            if isinstance(item, lapwing.Records):
                break
        book = books.find(PUBLISHER, INSTRUMENT)
    assert book.ask is None and book.bid.price == 99 * PRICE


def test_a_batch_that_does_not_follow_is_misuse_and_changes_nothing(tmp_path):
    publish(tmp_path / "bus")
    with lapwing.Books() as books, follower(tmp_path / "bus") as subscriber:
        books.take(subscriber.read())
        records = subscriber.read(rows=3)
        books.take(records)
        before = books.inspect().digest
        with pytest.raises(lapwing.Error) as raised:
            books.take(records)
        assert raised.value.name == "misuse" and books.inspect().digest == before


def test_rows_of_another_schema_are_refused(bus):
    with lapwing.Books() as books, follower(bus) as subscriber:
        books.take(subscriber.read())
        with pytest.raises(lapwing.Error) as raised:
            books.take(subscriber.read())
    assert raised.value.name == "record-size"
