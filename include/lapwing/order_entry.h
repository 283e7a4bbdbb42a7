// The entries of the fold `orders`: the state of a DBN market-by-order bus, byte for byte.
// See docs/explanation/state.md for the rules.
//
// An entry begins with an MboMsg that identifies the entry's kind. So a checkpoint can be
// delivered to readers that handle only records:
//   order  action A, flags SNAPSHOT; size is the remaining size
//   top    action A, flags SNAPSHOT and TOP: the price of a side, from a feed without orders
//   book   action R, side N: how far the orders of its instrument can be trusted
//   loss   action N, side N: the records that the whole bus has lost
#pragma once

#include <cstddef>
#include <cstdint>

#include "lapwing/dbn.h"
#include "lapwing/sequence.h"

namespace lapwing {

// Entries of one instrument sort by kind, so that a book's clear comes before its orders.
enum class OrderEntryKind : std::uint8_t {
  kLoss = 0,   // one for the bus; publisher, instrument and order id are 0
  kBook = 1,   // one for each instrument that was seen; the key's order id is 0
  kOrder = 2,  // a resting order
  kTop = 3,    // at most one for each side; the key's order id is the side's character
};

struct OrderEntry {
  dbn::MboMsg msg;
  // order, top: bus sequence of the record that set its queue rank. Among equal prices the lower
  //   one is first. An order gets a new one if its price or side changes or its size grows.
  // book: bus sequence since which no record of the book was lost. It is that of the last clear,
  //   of the first record of the snapshot that rebuilt the book, or of the first record after a
  //   loss. It is 1 if nothing had been lost when the book was first seen.
  // loss: last lost sequence; 0 if only the records of an older journal are missing.
  std::uint64_t place;
};
static_assert(sizeof(OrderEntry) == 64);
static_assert(offsetof(OrderEntry, place) == 56);

// Other fields in the MboMsg of a book. A book is stale if its place is at or below that of the
// loss, or if flags has a bit of kOrderBookStaleFlags. Its orders may then be incomplete, or
// include orders that the venue no longer has.
//   flags     LAST            the last record of the book ended its event
//             TOP             the book has tops, not orders
//             SNAPSHOT        inside a snapshot that has not ended yet
//             MAYBE_BAD_BOOK  since a loss, or a record that had this flag, neither a clear nor the
//                             beginning of a snapshot was seen
//   size      misfits: records that contradicted the resting orders while the book was good
//   order_id  bus sequence of the last misfit; 0: none
//   hd, ts_recv, sequence   those of the record of `place`
// In the MboMsg of the loss, order_id is the total number of lost records.
inline constexpr std::uint8_t kOrderBookStaleFlags = dbn::kFlagSnapshot | dbn::kFlagMaybeBadBook;

// Whether the orders of the book may differ from those of the venue. `lost_through` is the place of
// the loss entry, kNoSequence if there is none. A book whose beginning is missing
// (kMissingBeginning) has MAYBE_BAD_BOOK.
inline bool is_stale(const OrderEntry& book, Sequence lost_through) {
  return book.place <= lost_through || (book.msg.flags & kOrderBookStaleFlags) != 0;
}

// The sort key of an entry, compared by memcmp. Integers are big-endian.
struct OrderKey {
  std::uint8_t publisher_id[2];
  std::uint8_t instrument_id[4];
  OrderEntryKind kind;
  std::uint8_t order_id[8];
};
static_assert(sizeof(OrderKey) == 15);
static_assert(offsetof(OrderKey, instrument_id) == 2);
static_assert(offsetof(OrderKey, kind) == 6);
static_assert(offsetof(OrderKey, order_id) == 7);

}  // namespace lapwing
