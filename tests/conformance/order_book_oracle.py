"""An independent order book, based on Databento's documentation of market-by-order records, without
Lapwing's code. Tests compare Lapwing's books with it.

    market = Market()
    for sequence, record in read_mbo(path):          # 1, 2, 3 ... as on a bus that begins with it
        market.apply(record, sequence)
    for book in market.books.values():               # by (publisher_id, instrument_id)
        book.levels("B")     [(price, size, order_count), ...], best first; prices in 1e-9 units
        book.orders("B")     [Resting(order_id, side, price, size, place), ...], best price first,
                             first in the queue first; place: sequence of the record that put it
                             there
        book.partial_cancels number of records that took part of an order
        book.misfits         Counter of records that contradict the resting orders, by kind; empty in
                             a complete feed that begins with an empty book

A record is any object with the attributes of databento_dbn.MBOMsg: publisher_id, instrument_id,
order_id, price, size, flags, action, side (the last two by str()). OracleBook.apply(record,
sequence) is for one instrument and ignores the instrument. Only read_mbo needs the environment of
dbn_package/venv.sh.

The rules (Databento: schema mbo, MBO snapshots, examples "order tracking" and "limit order book"):
A adds an order at the end of its price's queue. C takes size from an order. M sets an order's price
and size to those of the record; a new price or a larger size moves it to the end of the queue; M
with an unknown id is an add. R empties the book. T, F and N do nothing. A record with F_TOB is one
side's best price, not an order; if the price is undefined, that side is empty. Where the
documentation says nothing: an add with the id of a resting order replaces it, and orders without a
price are not on any level.
"""

import collections
import pathlib
import sys

UNDEF_PRICE = 2**63 - 1
F_TOB = 0x40
F_SNAPSHOT = 0x20

Resting = collections.namedtuple("Resting", "order_id side price size place")


class OracleBook:
    """One instrument's book: for each side, the queue of ids at each price."""

    def __init__(self):
        self.misfits = collections.Counter()
        self.partial_cancels = 0
        self._empty()

    def _empty(self):
        self._known = {}  # order id -> [side, price, remaining size, place]
        self._queues = {"A": {}, "B": {}}  # side -> price -> [order id, in queue order]
        self._tops = {}  # side -> (price, size, place)

    def apply(self, record, sequence):
        """Applies one record, number `sequence` in its stream."""
        action, side = str(record.action), str(record.side)
        if action == "R":
            self._empty()
        elif action in ("T", "F", "N"):
            pass
        elif record.flags & F_TOB:
            self._apply_top(action, side, record, sequence)
        elif self._tops:
            raise ValueError(f"record {sequence}: an order in a book of tops")
        elif action == "C":
            self._cancel(record.order_id, record.size)
        elif action not in ("A", "M"):
            raise ValueError(f"record {sequence}: unknown action {action}")
        elif side not in self._queues:
            self.misfits["order without a side"] += 1
        elif action == "A":
            if record.order_id in self._known and not record.flags & F_SNAPSHOT:
                self.misfits["add of an order that rests"] += 1
            self._replace(record.order_id, side, record.price, record.size, sequence)
        else:
            self._modify(record.order_id, side, record.price, record.size, sequence)

    def _apply_top(self, action, side, record, sequence):
        if self._known:
            raise ValueError(f"record {sequence}: a top in a book of orders")
        if side not in self._queues:
            self.misfits["order without a side"] += 1
            return
        self._tops.pop(side, None)
        if action != "C" and record.price != UNDEF_PRICE and record.size > 0:
            self._tops[side] = (record.price, record.size, sequence)

    def _replace(self, order_id, side, price, size, sequence):
        """Moves the order to the end of the queue."""
        self._remove(order_id)
        if size == 0:
            self.misfits["order of nothing"] += 1
            return
        self._known[order_id] = [side, price, size, sequence]
        self._queues[side].setdefault(price, []).append(order_id)

    def _remove(self, order_id):
        if order_id not in self._known:
            return
        side, price, _, _ = self._known.pop(order_id)
        queue = self._queues[side][price]
        queue.remove(order_id)
        if not queue:
            del self._queues[side][price]

    def _cancel(self, order_id, size):
        order = self._known.get(order_id)
        if order is None:
            self.misfits["cancel of an unknown order"] += 1
            return
        if size == 0 or size > order[2]:
            self.misfits["cancel of nothing, or of too much"] += 1
        order[2] -= size
        if order[2] <= 0:
            self._remove(order_id)
        else:
            self.partial_cancels += 1

    def _modify(self, order_id, side, price, size, sequence):
        order = self._known.get(order_id)
        if order is None:
            self.misfits["modify of an unknown order"] += 1
        if order is None or [side, price] != order[:2] or size > order[2] or size == 0:
            self._replace(order_id, side, price, size, sequence)
        else:
            order[2] = size

    def _prices(self, side):
        return sorted((price for price in self._queues[side]), reverse=side == "B")

    def levels(self, side):
        """(price, size, order count) of each level, best first."""
        if side in self._tops:
            price, size, _ = self._tops[side]
            return [(price, size, 0)]
        queues = self._queues[side]
        return [(price, sum(self._known[order_id][2] for order_id in queues[price]),
                 len(queues[price])) for price in self._prices(side) if price != UNDEF_PRICE]

    def orders(self, side=None):
        """The resting orders, best price first and in queue order. For both sides: bids first."""
        if side is None:
            return self.orders("B") + self.orders("A")
        return [Resting(order_id, *self._known[order_id])
                for price in self._prices(side) for order_id in self._queues[side][price]]

    def tops(self):
        """{side: (price, size, place)} of a book of tops."""
        return dict(self._tops)


class Market:
    """A book for each instrument of each publisher."""

    def __init__(self):
        self.books = collections.defaultdict(OracleBook)

    def apply(self, record, sequence):
        """Applies one record to its book."""
        self.books[record.publisher_id, record.instrument_id].apply(record, sequence)


def read_mbo(path):
    """(sequence from 1, record) of a DBN file, raw or zstd, read by the package databento-dbn."""
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "dbn_package"))
    import compare_dbn  # pylint: disable=import-outside-toplevel

    records = compare_dbn.decode(path)
    next(records)  # the metadata
    return enumerate(records, 1)
