// The entries of the fold `orders`: a bus's DBN market-by-order state, byte for byte.
// The document is docs/explanation/state.md.
//
// An entry begins with an MboMsg that says by itself what the entry is, so a checkpoint can be
// delivered to readers that know records and no entries:
//   order  action A, flags SNAPSHOT, size: what is left of it
//   top    action A, flags SNAPSHOT and TOP: the only price that a feed of tops gives for a side
//   book   action R, side N: how far the orders of its instrument may be believed
//   loss   action N, side N: what the whole bus has lost
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
  // order, top: bus sequence of the record that gave it its place: among equal prices the lower one
  //   is first. It is lost on a change of price or side and on a growth in size.
  // book: bus sequence from which on no record of the book was lost: of its last clear, of the
  //   first record of the snapshot that it was rebuilt from, or of the first one after a loss; 1 if
  //   nothing had been lost when it was first seen.
  // loss: last lost sequence; 0 if only the records of an older journal are missing.
  std::uint64_t place;
};
static_assert(sizeof(OrderEntry) == 64);
static_assert(offsetof(OrderEntry, place) == 56);

// What the MboMsg of a book says besides. A book is stale (its orders are not all that rest, or not
// only those) if its place is at or below that of the loss, or if flags has a bit of
// kOrderBookStaleFlags.
//   flags     LAST            the last record of the book ended its event: it is not cut in two
//             TOP             the book is of tops, and not of orders
//             SNAPSHOT        inside a snapshot that is not yet at its end
//             MAYBE_BAD_BOOK  since a loss, or a record that had this flag, neither a clear nor the
//                             beginning of a snapshot was seen
//   size      misfits: how many records contradicted what rested while the book was good
//   order_id  bus sequence of the last misfit; 0: none
//   hd, ts_recv, sequence   as the record had them that `place` tells
// And that of the loss: order_id is how many records were lost in all.
inline constexpr std::uint8_t kOrderBookStaleFlags = dbn::kFlagSnapshot | dbn::kFlagMaybeBadBook;

// Whether the orders of the book may differ from those of the venue. `lost_through` is the place of
// the loss entry, kNoSequence if there is none. A book whose beginning is missing
// (kMissingBeginning) has MAYBE_BAD_BOOK.
inline bool is_stale(const OrderEntry& book, Sequence lost_through) {
  return book.place <= lost_through || (book.msg.flags & kOrderBookStaleFlags) != 0;
}

// How entries are sorted, by memcmp: integers are big-endian.
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
