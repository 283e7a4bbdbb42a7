// The order books of a bus of dbn.mbo: every instrument of every publisher.
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
// It is the state of the fold `orders` (docs/explanation/state.md), which says what each record does; here are
// the levels. The same records give the same digest as in any other state of that fold, a
// checkpoint's included.
//
// A state, at a start from a snapshot or after a gap (OnGap::kSnapshot), replaces all books. While
// it is loaded they are half of one, and loading() says so.
//
// Loss: every book is stale until its next clear or snapshot after a lost range, and after a
// beginning in the middle of the sequence or at a journal that follows another one. The same holds
// after a jump in the sequence, unless the subscriber delivers chosen instruments only
// (Event::is_filtered). Then its events report what is lost, so pass all of them to take(),
// including the first session. Choose by numbers, or by symbols that were used for one instrument.
// If a symbol passes to another instrument, the book of that one begins in the middle, and is not
// marked stale.
//
// Ownership: owns its books; a book stays where it is until clear(), a reset, or a state that is
// loaded. Errors: a record or an entry of another size than it must have is refused, and changes
// nothing. Thread safety: one thread. No allocation per record once it is as large as it gets.
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

// Room that a book has from its start, so that it does not have to grow.
struct OrderBooksOptions {
  std::size_t orders = 0;
  std::size_t levels = 0;  // of each side
};

class OrderBooks final : public FoldState {
 public:
  explicit OrderBooks(OrderBooksOptions options = {});

  // What a subscriber to a bus of dbn.mbo delivers, from the start or from a snapshot of the fold
  // `orders`: by wait(), or by read() into `rows`, with a column of sequences or without.
  // False: it is none of dbn.mbo or of that fold; without it the books are not those of the bus.
  [[nodiscard]] bool take(const Item& item);
  [[nodiscard]] bool take(const Batch& batch, std::span<const std::byte> rows);
  [[nodiscard]] bool take(const Batch& batch, std::span<const std::byte> rows,
                          std::span<const Sequence> sequences);
  void take(const Event& event);
  // The same for records from elsewhere. `record` is an MboMsg. False: it does not have the size of
  // one.
  [[nodiscard]] bool apply(Sequence sequence, std::span<const std::byte> record);
  void lose(const Gap& gap);
  // Forgets everything; every OrderBook is gone.
  void clear();

  // nullptr: the instrument was not seen.
  const OrderBook* find_book(std::uint16_t publisher_id, std::uint32_t instrument_id) const;
  // The book whose instrument had that symbol at the book's newest record; of several, of
  // publishers or of instruments that had it one after the other, the one with the newest record.
  // Looks at every book: not for each record.
  const OrderBook* find_book(const Symbols& symbols, std::string_view symbol) const;
  // By publisher, then by instrument.
  std::vector<const OrderBook*> books() const;

  Sequence sequence() const { return sequence_; }  // of the last record that is in it
  // No book is within an event of the venue, and no state is being loaded.
  bool settled() const { return !loading_ && unsettled_ == 0; }
  // Entries of a state have come, and kSnapshotComplete has not.
  bool loading() const { return loading_; }
  std::uint64_t order_count() const;

  // In the order of their keys. Costs a sort.
  void for_each_entry(const std::function<void(const OrderEntry& entry)>& use) const;
  // XXH3-64 over them.
  std::uint64_t digest() const;

  // FoldState: for the fold, and for code that loads a state.
  const std::byte* find(std::span<const std::byte> key) override;
  void put(std::span<const std::byte> key, std::span<const std::byte> entry) override;
  void erase(std::span<const std::byte> key) override;
  void erase_prefix(std::span<const std::byte> prefix) override;

 private:
  using BookId = std::uint64_t;  // publisher, instrument; in the order of the keys

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
  OrderBook* last_ = nullptr;  // the book that was looked for last
  Sequence sequence_ = kNoSequence;
  bool loading_ = false;
  bool is_filtered_ = false;   // the records are of chosen instruments
  std::size_t unsettled_ = 0;  // books within an event
};

}  // namespace lapwing
