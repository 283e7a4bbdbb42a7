// The order books of a dbn.mbo bus, for every instrument of every publisher.
//
//   lapwing::OrderBooks books;
//   for (;;) {
//     const auto item = subscriber->next();
//     if (!item.ok()) return subscriber->status();
//     if (!books.take(*item)) return fail("no orders");
//     const lapwing::OrderBook* book = books.find_book(publisher_id, instrument_id);
//     if (books.loading() || book == nullptr) continue;
//     if (book->settled() && !book->stale()) trade(*book);
//   }
//
// This class is the state of the fold `orders`, with price levels. docs/explanation/state.md
// defines the effect of each record. The same records give the same digest as in any other state of
// that fold, including that of a checkpoint.
//
// A state, delivered at a start from a snapshot or after a gap (OnGap::kSnapshot), replaces all
// books. While it is being loaded, the books contain only part of it, and loading() returns true.
//
// Loss: after a lost range, every book is stale until its next clear or snapshot. The same is true
// if the records begin in the middle of the sequence, or at a journal that follows another one. It
// is also true after a jump in the sequence, unless the subscriber delivers only chosen instruments
// (Event::is_filtered). In that case, its events report all losses, so pass all of them to take(),
// including the first session. Choose instruments by number, or by symbols that were used for only
// one instrument. If a symbol moves to another instrument, the new instrument's book begins
// incomplete and is not marked stale.
//
// Ownership: owns its books. A book keeps its address until clear(), a reset, or until a state is
// loaded. Errors: a record or an entry of the wrong size is refused, and changes nothing. Thread
// safety: one thread. Records cause no allocation once the books have reached their largest size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "lapwing/fold.h"
#include "lapwing/gap.h"
#include "lapwing/order_book.h"
#include "lapwing/order_entry.h"
#include "lapwing/sequence.h"
#include "lapwing/subscriber.h"
#include "lapwing/symbols.h"

namespace lapwing {

// The initial capacity of each book, so that it does not have to grow.
struct OrderBooksOptions {
  std::size_t orders = 0;
  std::size_t levels = 0;  // of each side
};

class OrderBooks final : public FoldState {
 public:
  explicit OrderBooks(OrderBooksOptions options = {});

  // These take everything that a subscriber to a dbn.mbo bus delivers, from the start or from a
  // snapshot of the fold `orders`. Pass the items from next(), or the batches from read() into
  // `rows`, with or without a column of sequences. They return false if the item is not from
  // dbn.mbo or that fold. Such an item is not taken, and the books no longer match the bus.
  [[nodiscard]] bool take(const Item& item);
  [[nodiscard]] bool take(const Batch& batch, std::span<const std::byte> rows);
  [[nodiscard]] bool take(const Batch& batch, std::span<const std::byte> rows,
                          std::span<const Sequence> sequences);
  void take(const Event& event);
  // The same for records from another source. `record` is an MboMsg. Returns false if it has a
  // different size.
  [[nodiscard]] bool apply(Sequence sequence, std::span<const std::byte> record);
  void lose(const Gap& gap);
  // Forgets everything. Every OrderBook is destroyed.
  void clear();

  // nullptr: the instrument has not been seen.
  const OrderBook* find_book(std::uint16_t publisher_id, std::uint32_t instrument_id) const;
  // Returns the book whose instrument had that symbol at the time of the book's newest record. If
  // there are several, from several publishers or successive instruments, returns the one with the
  // newest record. Checks every book, so do not call it for each record.
  const OrderBook* find_book(const Symbols& symbols, std::string_view symbol) const;
  // Sorted by publisher, then by instrument.
  std::vector<const OrderBook*> books() const;

  Sequence sequence() const { return sequence_; }  // of the newest record in the books
  // No book is inside a venue's event, and no state is being loaded.
  bool settled() const { return !loading_ && unsettled_ == 0; }
  // State entries have arrived, but kSnapshotComplete has not.
  bool loading() const { return loading_; }
  std::uint64_t order_count() const;

  // Calls `use` for all entries in key order. Sorts them first.
  void for_each_entry(const std::function<void(const OrderEntry& entry)>& use) const;
  // XXH3-64 over all entries, in key order.
  std::uint64_t digest() const;

  // FoldState: for the fold, and for code that loads a state.
  const std::byte* find(std::span<const std::byte> key) override;
  void put(std::span<const std::byte> key, std::span<const std::byte> entry) override;
  void erase(std::span<const std::byte> key) override;
  void erase_prefix(std::span<const std::byte> prefix) override;

 private:
  using BookId = std::uint64_t;  // publisher, instrument; sorts like the keys

  bool load(std::span<const std::byte> entry);
  void lose_before(Sequence first, bool follows_journal);
  OrderBook* find_book(BookId id);
  OrderBook& make_book(BookId id);
  void set_loss(std::optional<OrderEntry> loss);
  void set_state(OrderBook& book, std::optional<OrderEntry> state);
  void erase_prefix(OrderBook& book, std::span<const std::byte> prefix);

  const OrderBooksOptions options_;
  const std::unique_ptr<const Fold> fold_;
  std::optional<OrderEntry> loss_;
  absl::flat_hash_map<BookId, std::unique_ptr<OrderBook>> books_;
  BookId last_id_ = 0;
  OrderBook* last_ = nullptr;  // the book that was found last
  Sequence sequence_ = kNoSequence;
  bool loading_ = false;
  bool is_filtered_ = false;   // the records are of chosen instruments
  std::size_t unsettled_ = 0;  // books inside an event
};

}  // namespace lapwing
