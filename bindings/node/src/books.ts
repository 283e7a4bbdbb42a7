// Order books of a dbn.mbo bus. Pass it all items of one subscriber, in order.
import { constants, layouts, type Book, type BookKey, type BooksInfo, type Level, type Order } from './abi.js';
import { Batch, type Item } from './batch.js';
import { check, errorMemory, invalid } from './error.js';
import { BusEvent } from './event.js';
import { Handle } from './handle.js';
import { native } from './library.js';
import { LIST_ROOM, listed, readAll } from './listing.js';
import { Cell, Struct } from './memory.js';
import { checkNames, shown, wordOf } from './options.js';

export type Side = 'bid' | 'ask';
const LETTERS = { bid: 'B'.charCodeAt(0), ask: 'A'.charCodeAt(0) };

/** The price of an empty side. */
export const NO_PRICE = 2n ** 63n - 1n;

export class Books extends Handle {
  constructor() {
    const cell = new Cell();
    check(native.lapwing_books_create(cell.bytes, errorMemory.bytes));
    super(cell, 'set of order books', 'lapwing_books_destroy');
  }

  /** Applies an item. Pass all items of one subscriber, in order. If it fails, the books are unchanged. */
  take(item: Item | Batch): void {
    const batch = item instanceof Batch ? item.struct.bytes : BusEvent.batchOf(item);
    if (batch === undefined) throw invalid(`the item is ${shown(item)}. Give what a read or an iteration returned`);
    check(native.lapwing_books_take(this.pointer, batch, errorMemory.bytes));
  }

  inspect(): BooksInfo {
    const info = new Struct(layouts.lapwing_books_info);
    check(native.lapwing_books_inspect(this.pointer, info.bytes, errorMemory.bytes));
    return info.read() as unknown as BooksInfo;
  }

  /** Returns the keys of all books, sorted by publisher, then by instrument. */
  list(): BookKey[] {
    return readAll<BookKey>(layouts.lapwing_book_key, (keys, max, count) =>
      native.lapwing_books_list(this.pointer, keys, max, count, errorMemory.bytes),
    );
  }

  /** Returns a book, or undefined if the instrument has no record yet. */
  find(key: BookKey): Book | undefined {
    const book = new Struct(layouts.lapwing_book);
    const result = native.lapwing_books_find(this.pointer, keyOf(key), book.bytes, errorMemory.bytes);
    if (result === constants.ERROR_NOT_FOUND) return undefined;
    check(result);
    return book.read() as unknown as Book;
  }

  /** Returns up to `max` levels of a side, starting at index `from`; 0 is the best. Prices are in units of 1e-9. */
  levels(key: BookKey, side: Side, options: { from?: number; max?: number } = {}): Level[] {
    checkNames('levels', options, ['from', 'max']);
    const { from = 0, max = LIST_ROOM } = options;
    const letter = wordOf('side', side ?? null, LETTERS);
    const levels = new Struct(layouts.lapwing_level, max);
    const count = new Cell();
    check(native.lapwing_books_levels(
      this.pointer, keyOf(key), letter, from, levels.bytes, max, count.bytes, errorMemory.bytes,
    ));
    return listed<Level>(levels, Number(count.value));
  }

  /** Returns the orders of a level in queue order. Throws not-found if the level does not exist. */
  orders(key: BookKey, side: Side, level: number): Order[] {
    const letter = wordOf('side', side ?? null, LETTERS);
    return readAll<Order>(layouts.lapwing_order, (orders, max, count) =>
      native.lapwing_books_orders(
        this.pointer, keyOf(key), letter, level, orders, max, count, errorMemory.bytes,
      ),
    );
  }
}

const keyOf = ({ instrumentId, publisherId }: BookKey) => ({
  instrument_id: instrumentId,
  publisher_id: publisherId,
  reserved: 0,
});
