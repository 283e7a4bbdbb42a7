"""Follows an instrument's best bid and ask on a dbn.mbo bus, after every venue event.

    lapwing publish --bus ./es --source synthetic:records=100000 --linger 5s &
    top_of_book.py ./es 1 60000
"""

import sys

import lapwing


def touch(book: lapwing.Book) -> tuple[int, int]:
    """The best prices in units of 1e-9; 0 if that side is empty."""
    return book.bid.price if book.bid else 0, book.ask.price if book.ask else 0


def follow(bus: str, key: lapwing.BookKey) -> None:
    last = None
    changes = 0
    books = lapwing.Books()
    # Starts with the newest checkpoint, or with the oldest record if there is none.
    with books, lapwing.Subscriber(
        bus, name="top_of_book", start="snapshot", wait="park", end_at_close=True
    ) as subscriber:
        for item in subscriber.items(rows=1):  # the book after each record, not after each batch
            books.take(item)
            if not isinstance(item, lapwing.Records):
                continue
            try:
                book = books.find(key)
            except lapwing.NotFound:
                continue
            # Within an event, the book is between two states of the venue's book.
            if book.is_stale or not book.is_settled or touch(book) == last:
                continue
            last = touch(book)
            changes += 1
        print(
            f"{changes} changes of the best prices over {books.inspect().sequence} records; "
            f"the last are {last[0]} and {last[1]}" if last else "no prices"
        )


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit("usage: top_of_book.py BUS INSTRUMENT PUBLISHER")
    follow(sys.argv[1], lapwing.BookKey(int(sys.argv[2]), int(sys.argv[3])))
