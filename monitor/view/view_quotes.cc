#include "monitor/view/view_quotes.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lapwing/dbn.h"
#include "lapwing/error.h"
#include "monitor/json_text.h"
#include "monitor/view/view_records.h"
#include "os/kernel.h"

namespace lapwing {
namespace {

nlohmann::ordered_json price_json(const QuoteSide& side) {
  return or_null(side.price, dbn::kUndefPrice);
}

nlohmann::ordered_json size_json(const QuoteSide& side) {
  return or_null(side.price == dbn::kUndefPrice ? std::nullopt : std::optional(side.size));
}

}  // namespace

bool ViewQuotes::fits(const Schema* schema) {
  return schema != nullptr && QuoteLayout::of(*schema).has_value();
}

absl::Status ViewQuotes::put(Sequence sequence, std::span<const std::byte> record) {
  if (!layout_ || record.size() < description()->record_bytes) return absl::OkStatus();
  const Key key = std::uint64_t{layout_->publisher_id(record)} << 32 |
                  std::uint64_t{layout_->instrument_id(record)};
  Kept& kept = kept_[key];
  if (kept_.size() > kQuotesKeptMax) {
    return make_error(Errc::kLimit, absl::StrCat("the bus has more than ", kQuotesKeptMax,
                                                 " instruments, too many for a view"));
  }
  kept.sequence = sequence;
  ++kept.changes;
  kept.seen_ns = monotonic_ns();
  kept.record.assign(record.begin(), record.end());
  if (const std::optional<QuoteSide> trade = layout_->trade(record)) {
    kept.trade = trade;
    kept.trade_side = layout_->trade_side(record);
  }
  return absl::OkStatus();
}

void ViewQuotes::begin_session(const Event& session) {
  layout_ = session.schema == nullptr ? std::nullopt : QuoteLayout::of(*session.schema);
  symbols_ = BookFormat(bus_, session.session_id);
}

nlohmann::ordered_json ViewQuotes::quote_json(const Kept& kept, std::uint64_t now_ns) {
  const std::span<const std::byte> record = kept.record;
  const std::string symbol(
      symbols_.symbols().symbol(layout_->instrument_id(record), layout_->time_ns(record)));
  const QuoteSide none{dbn::kUndefPrice, 0};
  const QuoteSide bid = layout_->has_quotes() ? layout_->bid(record) : none;
  const QuoteSide ask = layout_->has_quotes() ? layout_->ask(record) : none;
  const QuoteSide last = kept.trade.value_or(none);
  return {{"instrument_id", layout_->instrument_id(record)},
          {"publisher_id", layout_->publisher_id(record)},
          {"symbol", or_null(symbol, "")},
          {"bid", price_json(bid)},
          {"bid_size", size_json(bid)},
          {"ask", price_json(ask)},
          {"ask_size", size_json(ask)},
          {"last", price_json(last)},
          {"last_size", size_json(last)},
          {"last_side", or_null(kept.trade ? std::string(1, kept.trade_side) : "", "")},
          {"age_seconds", seconds_of(now_ns - std::min(now_ns, kept.seen_ns))}};
}

// Prepares the newest records and the quotes of the instruments with the most records, by publisher
// and instrument.
void ViewQuotes::prepare() {
  std::vector<std::pair<Key, const Kept*>> all;
  for (const auto& [key, kept] : kept_) all.emplace_back(key, &kept);
  const auto keep_most = [&](std::size_t count, const auto& most) {
    std::vector<std::pair<Key, const Kept*>> kept = all;
    if (kept.size() <= count) return kept;
    const auto end = kept.begin() + static_cast<std::ptrdiff_t>(count);
    std::ranges::nth_element(kept, end, std::greater(), most);
    kept.erase(end, kept.end());
    return kept;
  };
  auto quoted = keep_most(kViewQuotesMax, [](const auto& one) { return one.second->changes; });
  std::ranges::sort(quoted);
  const std::uint64_t now_ns = monotonic_ns();
  quotes_ = nlohmann::ordered_json::array();
  for (const auto& [key, kept] : quoted) quotes_.push_back(quote_json(*kept, now_ns));
  const auto place = [](const auto& one) { return one.second->sequence; };
  auto newest = keep_most(kViewRecordsMax, place);
  std::ranges::sort(newest, {}, place);
  records_ = nlohmann::ordered_json::array();
  for (const auto& [key, kept] : newest) {
    records_.push_back(record_json(kept->sequence, kept->record));
  }
}

void ViewQuotes::add_to(nlohmann::ordered_json& message, const std::string&) {
  add_no_book(message);
  message["records"] = records_;
  message["quotes"] = quotes_;
}

}  // namespace lapwing
