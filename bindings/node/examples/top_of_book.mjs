// Prints the best bid and ask of an instrument on a dbn.mbo bus each time they change.
//
//   lapwing publish --bus ./es --source synthetic:records=100000 --linger 5s &
//   node top_of_book.mjs ./es 60000 1
import { Books, NO_PRICE, Start, Subscriber } from 'lapwing';

const [directory, publisherId, instrumentId] = process.argv.slice(2);
const key = { publisherId: Number(publisherId), instrumentId: Number(instrumentId) };

/** @param {import('lapwing').Level} level */
const text = ({ price, size }) => (price === NO_PRICE ? '-' : `${Number(price) / 1e9} x ${size}`);

// Starts with the state of the newest checkpoint, then reads every record after it.
const subscriber = Subscriber.open({ directory, name: 'top of book', start: Start.snapshot(), endAtClose: true });
const books = new Books();
let last = '';
for await (const item of subscriber) {
  books.take(item); // handles records, losses and snapshots
  const book = books.find(key);
  if (!book?.isSettled || book.isStale) continue; // may differ from the venue's book
  const top = `${text(book.bid)} | ${text(book.ask)}`;
  if (top === last) continue;
  last = top;
  console.log(`${book.sequence} ${top}`);
}
