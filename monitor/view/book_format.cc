#include "monitor/view/book_format.h"

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "monitor/json_text.h"
#include "monitor/time_text.h"
#include "monitor/view/record_format.h"
#include "os/printable.h"
#include "snapshot/dbn/session_metadata.h"

namespace lapwing {
namespace {

constexpr int kDecimalsMax = 9;  // of dbn::kPriceScale

std::uint64_t magnitude(std::int64_t price) {
  return price < 0 ? std::uint64_t{0} - static_cast<std::uint64_t>(price)
                   : static_cast<std::uint64_t>(price);
}

int decimals_of(std::int64_t price) {
  std::uint64_t fraction = magnitude(price) % static_cast<std::uint64_t>(dbn::kPriceScale);
  if (fraction == 0) return 0;
  int decimals = kDecimalsMax;
  for (; fraction % 10 == 0; fraction /= 10) --decimals;
  return decimals;
}

std::string price_text(std::int64_t price, int decimals) {
  constexpr auto kScale = static_cast<std::uint64_t>(dbn::kPriceScale);
  const std::string digits = absl::StrFormat("%09d", magnitude(price) % kScale);
  return absl::StrCat(price < 0 ? "-" : "", magnitude(price) / kScale, decimals == 0 ? "" : ".",
                      digits.substr(0, static_cast<std::size_t>(decimals)));
}

std::string best_text(const PriceLevel* level, int decimals) {
  return level == nullptr ? "-" : price_text(level->price, decimals);
}

std::string time_of(const OrderBook& book) {
  for (const std::uint64_t time : {book.last_ts_recv(), book.last_ts_event()}) {
    if (time != dbn::kUndefTimestamp) return time_text(time);
  }
  return "-";
}

// A spread beyond 64 bits is shown as "-". Real prices never have such a spread.
std::string spread_text(const OrderBook& book, int decimals) {
  const PriceLevel* const bid = book.best(dbn::Side::kBid);
  const PriceLevel* const ask = book.best(dbn::Side::kAsk);
  if (bid == nullptr || ask == nullptr) return "spread -";
  std::int64_t spread = 0;
  if (__builtin_sub_overflow(ask->price, bid->price, &spread)) return "spread -";
  const char* const word = spread < 0 ? ", CROSSED" : spread == 0 ? ", LOCKED" : "";
  return absl::StrCat("spread ", price_text(spread, decimals), word);
}

std::string stale_text(const OrderBook& book) {
  if (!book.stale()) return "";
  if ((book.state()->msg.flags & dbn::kFlagSnapshot) != 0) {
    return "STALE: inside a snapshot that has not ended\n";
  }
  constexpr char kUntil[] = "; good again from the next clear or snapshot\n";
  const Sequence lost = book.lost_through();
  if (lost == kNoSequence)
    return absl::StrCat("STALE: the feed marked it as possibly wrong", kUntil);
  // If the book has become known since the loss, the feed may have marked it without a loss. The
  // entry does not show which of these happened.
  const bool known_since = book.state()->place > lost;
  return absl::StrCat("STALE since record ", lost, " was lost",
                      known_since ? ", or since the feed marked it as possibly wrong" : "", kUntil);
}

std::string side_text(const PriceLevel& level, const std::string& price, bool is_bid) {
  const std::string orders = level.orders == 0 ? "-" : absl::StrCat(level.orders);
  return is_bid ? absl::StrFormat("%7s %10d %14s", orders, level.size, price)
                : absl::StrFormat("%-14s %10d %7s", price, level.size, orders);
}

std::string size_text(const OrderBook& book) {
  return book.has_tops() ? std::string("best prices only")
                         : absl::StrFormat("%d orders, %d + %d levels", book.order_count(),
                                           book.level_count(dbn::Side::kBid),
                                           book.level_count(dbn::Side::kAsk));
}

std::string ladder_text(const OrderBook& book, int decimals, std::size_t depth) {
  const std::size_t bids = book.level_count(dbn::Side::kBid);
  const std::size_t asks = book.level_count(dbn::Side::kAsk);
  const std::size_t deepest = std::max(bids, asks);
  const std::size_t rows = depth == 0 ? deepest : std::min(depth, deepest);
  std::string out = absl::StrFormat("%7s %10s %14s | %-14s %10s %7s\n", "orders", "size", "bid",
                                    "ask", "size", "orders");
  for (std::size_t i = 0; i < rows; ++i) {
    std::string bid(33, ' ');
    std::string ask;
    if (i < bids) {
      const PriceLevel& level = book.level(dbn::Side::kBid, i);
      bid = side_text(level, price_text(level.price, decimals), true);
    }
    if (i < asks) {
      const PriceLevel& level = book.level(dbn::Side::kAsk, i);
      ask = side_text(level, price_text(level.price, decimals), false);
    }
    absl::StrAppend(&out, bid, " |", ask.empty() ? "" : " ", ask, "\n");
  }
  return out;
}

std::size_t levels_shown(const OrderBook& book, dbn::Side side, std::size_t depth) {
  const std::size_t count = book.level_count(side);
  return depth == 0 ? count : std::min(count, depth);
}

nlohmann::ordered_json side_json(const OrderBook& book, dbn::Side side, std::size_t depth) {
  auto levels = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < levels_shown(book, side, depth); ++i) {
    const PriceLevel& level = book.level(side, i);
    levels.push_back({{"price", level.price}, {"size", level.size}, {"orders", level.orders}});
  }
  return levels;
}

std::string digest_text(const OrderBook& book) {
  return absl::StrFormat("%016x", book.digest());
}

// Empty for null, otherwise as in JSON.
std::string cell_of(const nlohmann::ordered_json& value) {
  if (value.is_null()) return "";
  return value.is_string() ? csv_cell(value.get<std::string>()) : value.dump();
}

}  // namespace

const Symbols& BookFormat::symbols() {
  if (symbols_) return *symbols_;
  symbols_.emplace();
  const absl::StatusOr<std::string> metadata = SessionMetadata(bus_).of(session_id_);
  if (!metadata.ok() || metadata->empty()) return *symbols_;
  symbols_ = Symbols::of_metadata(std::as_bytes(std::span(*metadata))).value_or(Symbols());
  return *symbols_;
}

std::string BookFormat::symbol(const OrderBook& book) {
  return std::string(symbols().symbol(book.instrument_id(), book.last_ts_recv()));
}

std::string BookFormat::name(const OrderBook& book) {
  const std::string symbol = printable(this->symbol(book));
  const std::string number = absl::StrCat(book.instrument_id());
  return absl::StrCat(symbol.empty() ? number : absl::StrCat(symbol, " (", number, ")"));
}

int BookFormat::decimals(const OrderBook& book) {
  int& decimals =
      decimals_[std::uint64_t{book.publisher_id()} << 32 | std::uint64_t{book.instrument_id()}];
  for (const dbn::Side side : {dbn::Side::kBid, dbn::Side::kAsk}) {
    for (std::size_t i = 0; i < book.level_count(side) && decimals < kDecimalsMax; ++i) {
      decimals = std::max(decimals, decimals_of(book.level(side, i).price));
    }
  }
  return decimals;
}

std::string BookFormat::text(const OrderBook& book, Sequence sequence, std::size_t depth) {
  const int decimals = this->decimals(book);
  std::string out =
      absl::StrFormat("%s  publisher %d  at %d  %s\n%s, %s\n", name(book), book.publisher_id(),
                      sequence, time_of(book), size_text(book), spread_text(book, decimals));
  absl::StrAppend(&out, stale_text(book));
  if (!book.settled()) absl::StrAppend(&out, "INSIDE AN EVENT: more of the event follows\n");
  if (book.state() != nullptr && book.state()->msg.size > 0) {
    absl::StrAppendFormat(&out, "%d records contradicted the resting orders, the last one %d\n",
                          book.state()->msg.size, book.state()->msg.order_id);
  }
  return out + ladder_text(book, decimals, depth);
}

std::string BookFormat::list_heading(Sequence sequence, std::size_t books) {
  return absl::StrFormat(
      "%d books at %d; --instrument shows the levels of one\n"
      "%-24s %9s %s\n",
      books, sequence, "instrument", "publisher",
      absl::StrFormat("%10s %14s | %-14s %10s %8s", "size", "bid", "ask", "size", "orders"));
}

std::string BookFormat::list_line(const OrderBook& book) {
  const int decimals = this->decimals(book);
  const PriceLevel none;
  const PriceLevel* const bid = book.best(dbn::Side::kBid);
  const PriceLevel* const ask = book.best(dbn::Side::kAsk);
  const std::string orders = book.has_tops() ? "-" : absl::StrCat(book.order_count());
  return absl::StrFormat(
      "%-24s %9d %10d %14s | %-14s %10d %8s%s\n", name(book), book.publisher_id(),
      (bid == nullptr ? none : *bid).size, best_text(bid, decimals), best_text(ask, decimals),
      (ask == nullptr ? none : *ask).size, orders, book.stale() ? "  STALE" : "");
}

nlohmann::ordered_json BookFormat::about(const OrderBook& book, Sequence sequence) {
  return {{"seq", sequence},
          {"publisher_id", book.publisher_id()},
          {"instrument_id", book.instrument_id()},
          {"symbol", or_null(symbol(book), "")},
          {"last_seq", or_null(book.last_sequence(), kNoSequence)},
          {"ts_event", or_null(book.last_ts_event(), dbn::kUndefTimestamp)},
          {"ts_recv", or_null(book.last_ts_recv(), dbn::kUndefTimestamp)},
          {"settled", book.settled()},
          {"stale", book.stale()},
          {"lost_through", or_null(book.lost_through(), kNoSequence)},
          {"misfits", book.state() == nullptr ? 0 : book.state()->msg.size},
          {"orders", book.order_count()},
          {"bid_levels", book.level_count(dbn::Side::kBid)},
          {"ask_levels", book.level_count(dbn::Side::kAsk)}};
}

nlohmann::ordered_json BookFormat::object(const OrderBook& book, Sequence sequence,
                                          std::size_t depth, bool with_digest) {
  nlohmann::ordered_json out = about(book, sequence);
  out["bids"] = side_json(book, dbn::Side::kBid, depth);
  out["asks"] = side_json(book, dbn::Side::kAsk, depth);
  if (with_digest) out["digest"] = digest_text(book);
  return out;
}

std::string BookFormat::json(const OrderBook& book, Sequence sequence, std::size_t depth,
                             bool with_digest) {
  // A symbol may contain any bytes from the feed's metadata.
  return json_text(object(book, sequence, depth, with_digest));
}

// The keys of about(), with the key that a level also has renamed,
// then the keys of a level.
std::string BookFormat::csv_header(bool with_digest) {
  return absl::StrCat(
      "seq,publisher_id,instrument_id,symbol,last_seq,ts_event,ts_recv,settled,stale,lost_through,"
      "misfits,book_orders,bid_levels,ask_levels,side,level,price,size,orders",
      with_digest ? ",digest" : "", "\n");
}

std::string BookFormat::csv(const OrderBook& book, Sequence sequence, std::size_t depth,
                            bool with_digest) {
  std::string begin;
  for (const nlohmann::ordered_json& value : about(book, sequence)) {
    absl::StrAppend(&begin, cell_of(value), ",");
  }
  const std::string end = with_digest ? absl::StrCat(",", digest_text(book), "\n") : "\n";
  std::string rows;
  for (const dbn::Side side : {dbn::Side::kBid, dbn::Side::kAsk}) {
    const std::string letter(1, static_cast<char>(side));
    for (std::size_t i = 0; i < levels_shown(book, side, depth); ++i) {
      const PriceLevel& level = book.level(side, i);
      absl::StrAppend(&rows, begin, letter, ",", i, ",", level.price, ",", level.size, ",",
                      level.orders, end);
    }
  }
  return rows.empty() ? absl::StrCat(begin, ",,,,", end) : rows;
}

}  // namespace lapwing
