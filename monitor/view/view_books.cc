#include "monitor/view/view_books.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lapwing/error.h"
#include "monitor/json_text.h"
#include "os/kernel.h"
#include "snapshot/dbn/instrument_name.h"

namespace lapwing {
namespace {

// Another instrument replaces the one shown if it has this many times as many records. If two are
// equally busy, the one shown stays.
constexpr std::uint64_t kClearlyBusier = 2;
constexpr std::uint64_t kCheckEvery = 65'536;  // records

std::uint64_t book_id(std::uint16_t publisher, std::uint32_t instrument) {
  return std::uint64_t{publisher} << 32 | instrument;
}

std::uint64_t book_id(const OrderBook& book) {
  return book_id(book.publisher_id(), book.instrument_id());
}

nlohmann::ordered_json best_price(const OrderBook& book, dbn::Side side) {
  const PriceLevel* const level = book.best(side);
  return or_null(level == nullptr ? dbn::kUndefPrice : level->price, dbn::kUndefPrice);
}

// An unknown side is shown as none.
const char* side_letter(dbn::Side side) {
  return side == dbn::Side::kAsk ? "A" : side == dbn::Side::kBid ? "B" : "N";
}

}  // namespace

absl::Status ViewBooks::take_state(std::span<const std::byte> entry, const Fold& fold) {
  const Item item{.kind = ItemKind::kState, .sequence = fold.place_of(entry), .record = entry};
  if (!books_.take(item)) {
    return make_error(Errc::kRecordSize, "an entry of the state is not one of the fold orders");
  }
  return ++unchecked_ < kCheckEvery ? absl::OkStatus() : check_limits();
}

absl::Status ViewBooks::take_records(Sequence first, std::span<const std::byte> rows,
                                     std::size_t record_bytes) {
  dbn::MboMsg record;
  const std::uint64_t now_ns = monotonic_ns();
  for (std::size_t at = 0; at < rows.size(); at += record_bytes, ++first) {
    const auto bytes = rows.subspan(at, record_bytes);
    if (!books_.apply(first, bytes)) {
      return make_error(Errc::kRecordSize, absl::StrCat("the bus has records of ", record_bytes,
                                                        " bytes, which are not ", dbn::kSchemaMbo));
    }
    std::memcpy(&record, bytes.data(), sizeof record);
    Activity& activity = activity_[book_id(record.hd.publisher_id, record.hd.instrument_id)];
    ++activity.changes;
    activity.seen_ns = now_ns;
    if (record.action != dbn::Action::kTrade) continue;
    activity.trades.push_back({first, record});
    if (activity.trades.size() > kViewTrades) activity.trades.pop_front();
  }
  unchecked_ += rows.size() / record_bytes;
  return unchecked_ < kCheckEvery ? absl::OkStatus() : check_limits();
}

absl::Status ViewBooks::check_limits() {
  unchecked_ = 0;
  const std::size_t books = std::max(activity_.size(), books_.books().size());
  if (books > kViewBooksMax) {
    return make_error(Errc::kLimit,
                      absl::StrCat("the bus has more than ", kViewBooksMax,
                                   " books, too many for a view. Use `lapwing book`."));
  }
  if (!share_.set(books_.order_count() * kViewOrderBytes + books * kViewBookBytes)) {
    return make_error(Errc::kLimit, absl::StrCat("the books of all viewed buses would take more "
                                                 "than ",
                                                 share_.most() >> 20,
                                                 " MiB: those of this bus are not kept; `lapwing "
                                                 "book` shows them"));
  }
  return absl::OkStatus();
}

void ViewBooks::take_event(const Event& event, bool is_skipped) {
  if (event.kind == EventKind::kSession || event.kind == EventKind::kReset) {
    format_ = BookFormat(bus_, event.session_id);
  }
  if (event.kind == EventKind::kReset) activity_.clear();
  if (is_skipped) {
    books_.lose(event.gap);
  } else {
    books_.take(event);
  }
}

std::uint64_t ViewBooks::changes(const OrderBook& book) const {
  const auto found = activity_.find(book_id(book));
  return found == activity_.end() ? 0 : found->second.changes;
}

const OrderBook* ViewBooks::busiest() {
  const OrderBook* most = nullptr;
  const OrderBook* before = nullptr;
  for (const OrderBook* book : shown_) {
    if (most == nullptr || changes(*book) > changes(*most)) most = book;
    if (book_id(*book) == busiest_) before = book;
  }
  if (before != nullptr && changes(*most) < kClearlyBusier * changes(*before)) most = before;
  if (most != nullptr) busiest_ = book_id(*most);
  return most;
}

// If several publishers carry the instrument, returns the book with the most records.
const OrderBook* ViewBooks::find(const std::string& instrument) {
  if (books_.loading()) return nullptr;
  if (instrument.empty()) return busiest();
  const absl::StatusOr<InstrumentName> name = parse_instrument(instrument);
  if (!name.ok()) return nullptr;
  if (name->is_symbol()) return books_.find_book(format_.symbols(), instrument);
  const OrderBook* most = nullptr;
  for (const OrderBook* book : books_.books()) {
    if (book->instrument_id() != *name->number) continue;
    if (most == nullptr || changes(*book) > changes(*most)) most = book;
  }
  return most;
}

// A state that is being loaded is incomplete, so it is not shown.
void ViewBooks::prepare() {
  shown_.clear();
  if (!books_.loading()) shown_ = books_.books();
  std::vector<const OrderBook*> listed = shown_;
  if (listed.size() > kViewInstrumentsMax) {
    const auto end = listed.begin() + kViewInstrumentsMax;
    std::ranges::nth_element(listed, end, std::greater(),
                             [this](const OrderBook* book) { return changes(*book); });
    listed.erase(end, listed.end());
    std::ranges::sort(listed, {}, [](const OrderBook* book) { return book_id(*book); });
  }
  instruments_ = nlohmann::ordered_json::array();
  quotes_ = nlohmann::ordered_json::array();
  for (const OrderBook* book : listed) {
    const std::string symbol = format_.symbol(*book);
    instruments_.push_back({{"instrument_id", book->instrument_id()},
                            {"publisher_id", book->publisher_id()},
                            {"symbol", or_null(symbol, "")},
                            {"bid", best_price(*book, dbn::Side::kBid)},
                            {"ask", best_price(*book, dbn::Side::kAsk)},
                            {"stale", book->stale()}});
    quotes_.push_back(quote_json(*book, symbol));
  }
}

nlohmann::ordered_json ViewBooks::quote_json(const OrderBook& book,
                                             const std::string& symbol) const {
  const auto size_of = [&](dbn::Side side) {
    const PriceLevel* const level = book.best(side);
    return level == nullptr ? std::nullopt : std::optional(level->size);
  };
  nlohmann::ordered_json quote = {{"instrument_id", book.instrument_id()},
                                  {"publisher_id", book.publisher_id()},
                                  {"symbol", or_null(symbol, "")},
                                  {"bid", best_price(book, dbn::Side::kBid)},
                                  {"bid_size", or_null(size_of(dbn::Side::kBid))},
                                  {"ask", best_price(book, dbn::Side::kAsk)},
                                  {"ask_size", or_null(size_of(dbn::Side::kAsk))},
                                  {"last", nullptr},
                                  {"last_size", nullptr},
                                  {"last_side", nullptr},
                                  {"age_seconds", nullptr}};
  const auto found = activity_.find(book_id(book));
  if (found == activity_.end()) return quote;
  const Activity& activity = found->second;
  if (activity.seen_ns != 0) {
    const std::uint64_t now_ns = std::max(monotonic_ns(), activity.seen_ns);
    quote["age_seconds"] = seconds_of(now_ns - activity.seen_ns);
  }
  if (activity.trades.empty()) return quote;
  const dbn::MboMsg& trade = activity.trades.back().record;
  quote["last"] = or_null(trade.price, dbn::kUndefPrice);
  quote["last_size"] = trade.size;
  quote["last_side"] = side_letter(trade.side);
  return quote;
}

nlohmann::ordered_json ViewBooks::trades_json(const OrderBook& book) const {
  auto trades = nlohmann::ordered_json::array();
  const auto found = activity_.find(book_id(book));
  if (found == activity_.end()) return trades;
  for (const auto& [sequence, record] : found->second.trades) {
    const std::uint64_t time = record.hd.ts_event;
    trades.push_back(
        {{"sequence", sequence},
         {"instrument_id", record.hd.instrument_id},
         {"time_ns", or_null(time == dbn::kUndefTimestamp ? "" : absl::StrCat(time), "")},
         {"price", or_null(record.price, dbn::kUndefPrice)},
         {"size", record.size},
         {"side", side_letter(record.side)}});
  }
  return trades;
}

void ViewBooks::add_to(nlohmann::ordered_json& message, const std::string& instrument) {
  message["instruments"] = instruments_;
  message["instruments_total"] = shown_.size();
  const OrderBook* const book = find(instrument);
  message["book"] = nullptr;
  message["trades"] = nlohmann::ordered_json::array();
  if (book != nullptr) {
    message["book"] = format_.object(*book, books_.sequence(), kViewDepth, /*with_digest=*/false);
    message["trades"] = trades_json(*book);
  }
  message["records"] = nullptr;
  message["quotes"] = quotes_;
}

}  // namespace lapwing
