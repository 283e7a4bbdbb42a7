// The entries of the fold `orders`: a bus's DBN market-by-order state, byte for byte. No behaviour;
// the document is docs/state.md.
//
// An entry begins with an MboMsg that says by itself what the entry is, so a checkpoint can be
// delivered to whoever knows records and no entries:
//   order  action A, flags SNAPSHOT, size: what is left of it
//   book   action R: how far the orders of its instrument may be believed
//   loss   action N: what the whole bus has lost
#pragma once

#include <cstddef>
#include <cstdint>

#include "proto/dbn.h"

namespace lapwing {

// Entries of one instrument sort by kind, so that a book's clear comes before its orders.
enum class OrderEntryKind : std::uint8_t {
  kLoss = 0,  // one for the bus; publisher, instrument and order id are 0
  kBook = 1,  // one for each instrument that was seen; order id 0
  kOrder = 2,
};

struct OrderEntry {
  dbn::MboMsg msg;
  // order: bus sequence of the record that gave it its place: among equal prices the lower one is
  //   first. It is lost on a change of price and on a growth in size.
  // book: bus sequence of the clear, or of the snapshot's first record, from which on every change
  //   of the book was seen; 1 if it was seen from the beginning of the journal.
  // loss: last sequence that nothing could give. A book is stale if its place is at or below it.
  std::uint64_t place;
};
static_assert(sizeof(OrderEntry) == 64);
static_assert(offsetof(OrderEntry, place) == 56);

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
