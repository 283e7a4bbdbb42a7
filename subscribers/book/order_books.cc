#include "lapwing/order_books.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "snapshot/fold/entry_digest.h"
#include "snapshot/fold/key_bytes.h"
#include "snapshot/fold/order_fold.h"

namespace lapwing {
namespace {

using Bytes = std::span<const std::byte>;

constexpr std::size_t kBookIdBytes = offsetof(OrderKey, kind);

// A key with its integers in the machine's byte order.
struct ParsedKey {
  std::uint64_t book_id;
  OrderEntryKind kind;
  std::uint64_t order_id;
};

std::uint64_t book_id(Bytes key) {
  return std::uint64_t{read_big_endian<std::uint16_t>(key.data())} << 32 |
         read_big_endian<std::uint32_t>(key.data() + offsetof(OrderKey, instrument_id));
}

// No load crosses the middle of the key, because the fold wrote the key as two words.
ParsedKey parse(Bytes key) {
  const auto head = read_big_endian<std::uint64_t>(key.data());
  const std::uint64_t tail = std::uint64_t{read_big_endian<std::uint32_t>(key.data() + 8)} << 24 |
                             std::uint64_t{read_big_endian<std::uint16_t>(key.data() + 12)} << 8 |
                             std::to_integer<std::uint64_t>(key[14]);
  return {head >> 16, OrderEntryKind{static_cast<std::uint8_t>(head >> 8)}, head << 56 | tail};
}

// A top's key contains its side in the position where an order's key contains the order id.
std::size_t top_index(std::uint64_t key_order_id) {
  return key_order_id == static_cast<std::uint64_t>(dbn::Side::kBid) ? 1 : 0;
}

bool begins_with(const OrderKey& key, Bytes prefix) {
  return std::memcmp(&key, prefix.data(), prefix.size()) == 0;
}

OrderEntry as_entry(Bytes bytes) {
  OrderEntry entry;
  std::memcpy(&entry, bytes.data(), sizeof entry);
  return entry;
}

const std::byte* as_bytes(const OrderEntry* entry) {
  return reinterpret_cast<const std::byte*>(entry);
}

}  // namespace

OrderBooks::OrderBooks(OrderBooksOptions options)
    : options_(options), fold_(std::make_unique<OrderFold>()) {}

bool OrderBooks::take(const Item& item) {
  if (item.kind == ItemKind::kRecord) return apply(item.sequence, item.record);
  if (item.kind == ItemKind::kState) return load(item.record);
  if (item.event != nullptr) take(*item.event);
  return true;
}

bool OrderBooks::take(const Batch& batch, Bytes rows) {
  return take(batch, rows, {});
}

bool OrderBooks::take(const Batch& batch, Bytes rows, std::span<const Sequence> sequences) {
  if (batch.event) take(*batch.event);
  for (std::size_t i = 0; i < batch.count; ++i) {
    const Bytes row = rows.subspan(i * batch.row_bytes, batch.row_bytes);
    const bool is_state = batch.kind == ItemKind::kState;
    const Sequence sequence = sequences.empty() ? batch.first + i : sequences[i];
    if (!(is_state ? load(row) : apply(sequence, row))) return false;
  }
  return true;
}

void OrderBooks::take(const Event& event) {
  is_filtered_ = event.is_filtered;
  switch (event.kind) {
    case EventKind::kSession:
      if (event.is_first_session) lose_before(event.sequence, event.follows_journal);
      return;
    case EventKind::kGap:
      if (is_filtered_ && event.on_gap == OnGap::kSkip) lose(event.gap);
      return;
    case EventKind::kSnapshotComplete:
      if (!loading_) clear();  // if the state had no entry
      loading_ = false;
      sequence_ = event.sequence;
      return;
    case EventKind::kLost:
      if (event.gap.count() > 0) lose(event.gap);
      return;
    case EventKind::kReset:
      clear();
      return lose_before(event.sequence, event.follows_journal);
    default:
      return;
  }
}

// If there is no filter, a jump in the sequences shows which of a journal's records are missing.
void OrderBooks::lose_before(Sequence first, bool follows_journal) {
  if (first <= 1 && follows_journal) lose(kMissingBeginning);
  if (is_filtered_ && first > 1) lose({1, first - 1, first, GapCause::kPruned, false});
}

bool OrderBooks::load(Bytes entry) {
  if (entry.size() != sizeof(OrderEntry)) return false;
  if (!loading_) {
    clear();
    loading_ = true;
  }
  OrderKey key;
  fold_->key_of(entry, std::as_writable_bytes(std::span(&key, 1)));
  put(bytes_of(key), entry);
  return true;
}

bool OrderBooks::apply(Sequence sequence, Bytes record) {
  if (record.size() != sizeof(dbn::MboMsg)) return false;
  if (sequence > sequence_ + 1 && !is_filtered_) {
    lose({sequence_ + 1, sequence - 1, sequence, GapCause::kPruned, false});
  }
  fold_->apply(sequence, record, *this);
  sequence_ = sequence;
  dbn::MboMsg msg;
  std::memcpy(&msg, record.data(), sizeof msg);
  if (OrderBook* const book = find_book(BookId{msg.hd.publisher_id} << 32 | msg.hd.instrument_id)) {
    book->note(sequence, msg);
  }
  return true;
}

void OrderBooks::lose(const Gap& gap) {
  fold_->lose(gap, *this);
  sequence_ = std::max(sequence_, gap.last);
}

void OrderBooks::clear() {
  books_.clear();
  loss_.reset();
  last_ = nullptr;
  sequence_ = kNoSequence;
  loading_ = false;
  unsettled_ = 0;
}

const OrderBook* OrderBooks::find_book(std::uint16_t publisher_id,
                                       std::uint32_t instrument_id) const {
  const auto found = books_.find(BookId{publisher_id} << 32 | instrument_id);
  return found == books_.end() ? nullptr : found->second.get();
}

const OrderBook* OrderBooks::find_book(const Symbols& symbols, std::string_view symbol) const {
  const OrderBook* newest = nullptr;
  for (const auto& [id, book] : books_) {
    if (symbols.symbol(book->instrument_id(), book->last_ts_recv()) != symbol) continue;
    const bool is_newer = newest == nullptr || book->last_sequence() > newest->last_sequence();
    if (is_newer) newest = book.get();
  }
  return newest;
}

std::vector<const OrderBook*> OrderBooks::books() const {
  std::vector<const OrderBook*> all;
  for (const auto& [id, book] : books_) {
    if (!book->is_empty()) all.push_back(book.get());
  }
  std::ranges::sort(all, {}, [](const OrderBook* book) {
    return std::pair(book->publisher_id(), book->instrument_id());
  });
  return all;
}

std::uint64_t OrderBooks::order_count() const {
  std::uint64_t count = 0;
  for (const auto& [id, book] : books_) count += book->order_count();
  return count;
}

void OrderBooks::for_each_entry(const std::function<void(const OrderEntry& entry)>& use) const {
  if (loss_) use(*loss_);
  for (const OrderBook* book : books()) book->for_each_entry(use);
}

std::uint64_t OrderBooks::digest() const {
  EntryDigest digest;
  for_each_entry([&](const OrderEntry& entry) { digest.add(std::as_bytes(std::span(&entry, 1))); });
  return digest.value();
}

OrderBook* OrderBooks::find_book(BookId id) {
  if (last_ != nullptr && last_id_ == id) return last_;
  const auto found = books_.find(id);
  if (found == books_.end()) return nullptr;
  last_id_ = id;
  return last_ = found->second.get();
}

OrderBook& OrderBooks::make_book(BookId id) {
  if (OrderBook* const book = find_book(id)) return *book;
  auto made = std::make_unique<OrderBook>(static_cast<std::uint16_t>(id >> 32),
                                          static_cast<std::uint32_t>(id));
  made->reserve(options_.orders, options_.levels);
  if (loss_) made->lost_through_ = loss_->place;
  last_id_ = id;
  return *(last_ = (books_[id] = std::move(made)).get());
}

void OrderBooks::set_loss(std::optional<OrderEntry> loss) {
  loss_ = loss;
  for (const auto& [id, book] : books_) book->lost_through_ = loss ? loss->place : kNoSequence;
}

void OrderBooks::set_state(OrderBook& book, std::optional<OrderEntry> state) {
  if (!book.settled()) --unsettled_;
  book.state_ = state;
  if (!book.settled()) ++unsettled_;
}

const std::byte* OrderBooks::find(Bytes key) {
  if (key.size() != sizeof(OrderKey)) return nullptr;
  const ParsedKey parsed = parse(key);
  if (parsed.kind == OrderEntryKind::kLoss) return loss_ ? as_bytes(&*loss_) : nullptr;
  const OrderBook* const book = find_book(parsed.book_id);
  if (book == nullptr) return nullptr;
  if (parsed.kind == OrderEntryKind::kBook) return as_bytes(book->state());
  if (parsed.kind == OrderEntryKind::kTop)
    return as_bytes(book->find_top(top_index(parsed.order_id)));
  return as_bytes(book->find_order(parsed.order_id));
}

void OrderBooks::put(Bytes key, Bytes bytes) {
  if (key.size() != sizeof(OrderKey) || bytes.size() != sizeof(OrderEntry)) return;
  const ParsedKey parsed = parse(key);
  const OrderEntry entry =
      as_entry(bytes);  // a copy, because `bytes` may be one of our entries, which is about to move
  if (parsed.kind == OrderEntryKind::kLoss) return set_loss(entry);
  OrderBook& book = make_book(parsed.book_id);
  if (parsed.kind == OrderEntryKind::kBook) return set_state(book, entry);
  if (parsed.kind == OrderEntryKind::kTop) return book.put_top(top_index(parsed.order_id), entry);
  book.put_order(entry);
}

void OrderBooks::erase(Bytes key) {
  if (key.size() != sizeof(OrderKey)) return;
  const ParsedKey parsed = parse(key);
  if (parsed.kind == OrderEntryKind::kLoss) return set_loss(std::nullopt);
  OrderBook* const book = find_book(parsed.book_id);
  if (book == nullptr) return;
  if (parsed.kind == OrderEntryKind::kBook) return set_state(*book, std::nullopt);
  if (parsed.kind == OrderEntryKind::kTop) return book->erase_top(top_index(parsed.order_id));
  book->erase_order(parsed.order_id);
}

void OrderBooks::erase_prefix(Bytes prefix) {
  if (prefix.size() > sizeof(OrderKey)) return;
  if (loss_ && begins_with(loss_key(), prefix)) set_loss(std::nullopt);
  if (prefix.size() >= kBookIdBytes) {
    OrderBook* const book = find_book(book_id(prefix));
    if (book != nullptr) erase_prefix(*book, prefix);
    return;
  }
  for (const auto& [id, book] : books_) {
    const OrderKey key = book_key(book->publisher_id(), book->instrument_id());
    if (begins_with(key, prefix)) erase_prefix(*book, prefix);
  }
}

void OrderBooks::erase_prefix(OrderBook& book, Bytes prefix) {
  const std::uint16_t publisher = book.publisher_id();
  const std::uint32_t instrument = book.instrument_id();
  if (begins_with(book_key(publisher, instrument), prefix)) set_state(book, std::nullopt);
  for (const dbn::Side side : {dbn::Side::kAsk, dbn::Side::kBid}) {
    if (begins_with(top_key(publisher, instrument, side), prefix)) {
      book.erase_top(top_index(static_cast<std::uint64_t>(side)));
    }
  }
  if (prefix.size() > kBookIdBytes &&
      prefix[kBookIdBytes] != static_cast<std::byte>(OrderEntryKind::kOrder)) {
    return;
  }
  book.erase_orders_if([&](std::uint64_t order_id) {
    return begins_with(order_key(publisher, instrument, order_id), prefix);
  });
}

}  // namespace lapwing
