#include "snapshot/fold/order_fold.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include "snapshot/fold/key_bytes.h"

namespace lapwing {
namespace {

using Bytes = std::span<const std::byte>;
using dbn::Action;
using dbn::MboMsg;
using dbn::Side;

constexpr std::uint8_t kRecordUnits = sizeof(MboMsg) / dbn::kLengthUnit;

// A key in two whole words, followed by a byte that is not part of it. Keys are built several times
// per record. A processor forwards a whole word at once, but stalls if bytes that were written
// separately are read together.
class WordKey {
 public:
  WordKey(std::uint16_t publisher_id, std::uint32_t instrument_id, OrderEntryKind kind,
          std::uint64_t order_id)
      : words_{swap_bytes(std::uint64_t{publisher_id} << 48 | std::uint64_t{instrument_id} << 16 |
                          std::uint64_t{static_cast<std::uint8_t>(kind)} << 8 | order_id >> 56),
               swap_bytes(order_id << 8)} {}

  Bytes bytes() const { return std::as_bytes(std::span(words_)).first(sizeof(OrderKey)); }
  OrderKey key() const {
    OrderKey key;
    std::memcpy(&key, words_.data(), sizeof key);
    return key;
  }

 private:
  std::array<std::uint64_t, 2> words_;
};

const WordKey kLossKey(0, 0, OrderEntryKind::kLoss, 0);

// The key prefix shared by all of an instrument's entries of one kind.
Bytes kind_prefix(const WordKey& key) {
  return key.bytes().first(offsetof(OrderKey, order_id));
}

// Returns zeros if `bytes` has a different size.
template <typename Record>
Record copy(Bytes bytes) {
  Record record{};
  if (bytes.size() == sizeof record) std::memcpy(&record, bytes.data(), sizeof record);
  return record;
}

// Loads the entry with that key. Returns false if there is none.
bool load(FoldState& state, const WordKey& key, OrderEntry& entry) {
  const std::byte* found = state.find(key.bytes());
  if (found != nullptr) std::memcpy(&entry, found, sizeof entry);
  return found != nullptr;
}

void save(FoldState& state, const WordKey& key, const OrderEntry& entry) {
  state.put(key.bytes(), std::as_bytes(std::span(&entry, 1)));
}

// Makes an entry that is not an order: a book's entry or the loss entry.
OrderEntry make_mark(Action action) {
  OrderEntry entry{};
  entry.msg.hd.length = kRecordUnits;
  entry.msg.hd.rtype = dbn::RType::kMbo;
  entry.msg.price = dbn::kUndefPrice;
  entry.msg.action = action;
  entry.msg.side = Side::kNone;
  return entry;
}

bool has_side(const MboMsg& msg) {
  return msg.side == Side::kBid || msg.side == Side::kAsk;
}

// Applies one record to its book and to its order.
class Step {
 public:
  Step(Sequence sequence, const MboMsg& msg, FoldState& state)
      : sequence_(sequence), msg_(msg), state_(state) {}

  void run() {
    OrderEntry loss;
    has_loss_ = load(state_, kLossKey, loss);
    lost_through_ = has_loss_ ? loss.place : kNoSequence;
    const WordKey book = key(OrderEntryKind::kBook, 0);
    was_seen_ = load(state_, book, book_);
    const std::uint8_t flags_before = flags();
    follow_book();
    if (has(dbn::kFlagMaybeBadBook)) flags() |= dbn::kFlagMaybeBadBook;
    follow_order();
    flags() =
        static_cast<std::uint8_t>((flags() & ~dbn::kFlagLast) | (msg_.flags & dbn::kFlagLast));
    if (book_changed_ || flags() != flags_before) save(state_, book, book_);
  }

 private:
  bool has(std::uint8_t flag) const { return (msg_.flags & flag) != 0; }
  std::uint8_t& flags() { return book_.msg.flags; }
  void unset(std::uint8_t flag) { flags() = static_cast<std::uint8_t>(flags() & ~flag); }

  // --- The book

  // Starts the known part of the book at `place`, with this record.
  void begin_book(Sequence place, std::uint8_t book_flags) {
    book_changed_ = true;
    book_.msg.hd = msg_.hd;
    book_.msg.hd.length = kRecordUnits;
    book_.msg.ts_recv = msg_.ts_recv;
    book_.msg.sequence = msg_.sequence;
    book_.msg.flags = book_flags;
    book_.place = place;
  }

  void follow_book() {
    if (!was_seen_) book_ = make_mark(Action::kClear);
    const bool is_cut = has_loss_ && book_.place <= lost_through_;
    if (is_cut) {  // the book's first record after a loss
      const std::uint8_t kept = flags() & dbn::kFlagTop;
      begin_book(sequence_, static_cast<std::uint8_t>(kept | dbn::kFlagMaybeBadBook));
    } else if (!was_seen_) {
      begin_book(1, 0);
    }
    if (msg_.action == Action::kClear) {
      drop_orders();
      begin_book(sequence_, msg_.flags & dbn::kFlagSnapshot);
      if (has(dbn::kFlagLast)) unset(dbn::kFlagSnapshot);
    } else {
      follow_snapshot(is_cut);
    }
  }

  // A snapshot makes a bad book good if its beginning was seen, that is, if the record before it is
  // known. A snapshot that continues after a loss may lack its first orders. kFlagSnapshot stays
  // set during both.
  void follow_snapshot(bool is_cut) {
    if (!has(dbn::kFlagSnapshot)) return unset(dbn::kFlagSnapshot);
    const bool is_bad = (flags() & dbn::kFlagMaybeBadBook) != 0;
    const bool is_inside = (flags() & dbn::kFlagSnapshot) != 0;
    if (is_bad && !is_inside && msg_.action == Action::kAdd) {
      if (is_cut) {
        flags() |= dbn::kFlagSnapshot;
      } else {
        drop_orders();
        begin_book(sequence_, dbn::kFlagSnapshot);
      }
    }
    if (has(dbn::kFlagLast)) unset(dbn::kFlagSnapshot);
  }

  // A book contains orders or tops, never both.
  void drop_orders() {
    if (!was_seen_) return;
    const bool is_of_tops = (flags() & dbn::kFlagTop) != 0;
    state_.erase_prefix(kind_prefix(is_of_tops ? top(Side::kNone) : order()));
    unset(dbn::kFlagTop);
  }

  // --- The order

  void follow_order() {
    const bool is_change = msg_.action == Action::kAdd || msg_.action == Action::kModify ||
                           msg_.action == Action::kCancel;
    if (!is_change) return;
    if (has(dbn::kFlagTop)) return replace_top();
    if (msg_.action == Action::kCancel) return cancel();
    if (!has_side(msg_)) return note_misfit();
    if ((flags() & dbn::kFlagTop) != 0) drop_orders();
    msg_.action == Action::kAdd ? add() : modify();
  }

  void add() {
    OrderEntry found;
    if (load(state_, order(), found) && !has(dbn::kFlagSnapshot)) note_misfit();
    rest(sequence_);
  }

  void modify() {
    OrderEntry found;
    if (!load(state_, order(), found)) {
      note_misfit();
      return rest(sequence_);
    }
    const MboMsg& old = found.msg;
    const bool keeps_place =
        msg_.price == old.price && msg_.side == old.side && msg_.size <= old.size;
    rest(keeps_place ? found.place : sequence_);
  }

  void cancel() {
    OrderEntry found;
    if (!load(state_, order(), found)) return note_misfit();
    if (msg_.size > found.msg.size || msg_.size == 0) note_misfit();
    if (msg_.size >= found.msg.size) return state_.erase(order().bytes());
    found.msg.size -= msg_.size;
    save(state_, order(), found);
  }

  // Stores the resting order that the record describes.
  void rest(Sequence place) {
    if (msg_.size == 0) {
      note_misfit();
      return state_.erase(order().bytes());
    }
    save(state_, order(), resting(place, dbn::kFlagSnapshot));
  }

  void replace_top() {
    if (!has_side(msg_)) return note_misfit();
    if ((flags() & dbn::kFlagTop) == 0) {
      drop_orders();
      flags() |= dbn::kFlagTop;
    }
    const bool is_empty =
        msg_.action == Action::kCancel || msg_.price == dbn::kUndefPrice || msg_.size == 0;
    if (is_empty) return state_.erase(top(msg_.side).bytes());
    save(state_, top(msg_.side), resting(sequence_, dbn::kFlagSnapshot | dbn::kFlagTop));
  }

  OrderEntry resting(Sequence place, std::uint8_t entry_flags) const {
    OrderEntry entry{.msg = msg_, .place = place};
    entry.msg.action = Action::kAdd;
    entry.msg.flags = entry_flags;
    return entry;
  }

  // Marks that the record contradicts a good book's entries, which means an error in the feed.
  void note_misfit() {
    const bool is_noted = book_.msg.order_id == sequence_;
    if (is_noted || is_stale(book_, lost_through_)) return;
    book_changed_ = true;
    if (book_.msg.size < std::numeric_limits<std::uint32_t>::max()) ++book_.msg.size;
    book_.msg.order_id = sequence_;
  }

  WordKey key(OrderEntryKind kind, std::uint64_t order_id) const {
    return {msg_.hd.publisher_id, msg_.hd.instrument_id, kind, order_id};
  }
  WordKey order() const { return key(OrderEntryKind::kOrder, msg_.order_id); }
  WordKey top(Side side) const {
    return key(OrderEntryKind::kTop, static_cast<std::uint64_t>(side));
  }

  const Sequence sequence_;
  const MboMsg& msg_;
  FoldState& state_;
  bool has_loss_ = false;
  Sequence lost_through_ = kNoSequence;  // set even if only the beginning is missing
  bool was_seen_ = false;
  bool book_changed_ = false;  // other than its flags
  OrderEntry book_{};
};

}  // namespace

OrderKey loss_key() {
  return kLossKey.key();
}

OrderKey book_key(std::uint16_t publisher_id, std::uint32_t instrument_id) {
  return WordKey(publisher_id, instrument_id, OrderEntryKind::kBook, 0).key();
}

OrderKey order_key(std::uint16_t publisher_id, std::uint32_t instrument_id,
                   std::uint64_t order_id) {
  return WordKey(publisher_id, instrument_id, OrderEntryKind::kOrder, order_id).key();
}

OrderKey top_key(std::uint16_t publisher_id, std::uint32_t instrument_id, Side side) {
  return WordKey(publisher_id, instrument_id, OrderEntryKind::kTop,
                 static_cast<std::uint64_t>(side))
      .key();
}

OrderEntryKind kind_of(const OrderEntry& entry) {
  if (entry.msg.action == Action::kNone) return OrderEntryKind::kLoss;
  if (entry.msg.action == Action::kClear) return OrderEntryKind::kBook;
  const bool is_top = (entry.msg.flags & dbn::kFlagTop) != 0;
  return is_top ? OrderEntryKind::kTop : OrderEntryKind::kOrder;
}

OrderFold::OrderFold() {
  shape_.name = kFoldOrders;
  shape_.schema = dbn::kSchemaMbo;
  shape_.record_bytes = sizeof(MboMsg);
  shape_.entry_bytes = sizeof(OrderEntry);
  shape_.key_bytes = sizeof(OrderKey);
  shape_.entry_record_bytes = sizeof(MboMsg);
}

void OrderFold::key_of(Bytes bytes, std::span<std::byte> key) const {
  if (key.size() != sizeof(OrderKey)) return;
  const OrderEntry entry = copy<OrderEntry>(bytes);
  const OrderEntryKind kind = kind_of(entry);
  std::uint64_t id = 0;
  if (kind == OrderEntryKind::kOrder) id = entry.msg.order_id;
  if (kind == OrderEntryKind::kTop) id = static_cast<std::uint64_t>(entry.msg.side);
  const WordKey own(entry.msg.hd.publisher_id, entry.msg.hd.instrument_id, kind, id);
  std::memcpy(key.data(), own.bytes().data(), sizeof(OrderKey));
}

Sequence OrderFold::place_of(Bytes entry) const {
  return copy<OrderEntry>(entry).place;
}

void OrderFold::apply(Sequence sequence, Bytes record, FoldState& state) const {
  if (record.size() != sizeof(MboMsg)) return;
  const MboMsg msg = copy<MboMsg>(record);
  Step(sequence, msg, state).run();
}

void OrderFold::lose(const Gap& gap, FoldState& state) const {
  if (gap.count() == 0) return;  // an empty gap: a power cut removed no record here
  OrderEntry loss;
  if (!load(state, kLossKey, loss)) loss = make_mark(Action::kNone);
  if (gap.last != kNoSequence) loss.msg.order_id += gap.count();
  loss.place = std::max(loss.place, gap.last);
  save(state, kLossKey, loss);
}

bool OrderFold::settles(Bytes record) const {
  return (copy<MboMsg>(record).flags & dbn::kFlagLast) != 0;
}

bool OrderFold::reads(Bytes record, std::span<std::byte> key) const {
  const MboMsg msg = copy<MboMsg>(record);
  const bool is_change =
      msg.action == Action::kAdd || msg.action == Action::kModify || msg.action == Action::kCancel;
  if (!is_change || (msg.flags & dbn::kFlagTop) != 0) return false;
  if (key.size() != sizeof(OrderKey)) return false;
  const WordKey own(msg.hd.publisher_id, msg.hd.instrument_id, OrderEntryKind::kOrder,
                    msg.order_id);
  std::memcpy(key.data(), own.bytes().data(), sizeof(OrderKey));
  return true;
}

}  // namespace lapwing
