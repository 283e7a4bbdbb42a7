#include "publisher/feeds/order_flow.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <deque>
#include <vector>

#include "testing/strict_book.h"

namespace lapwing {
namespace {

std::vector<dbn::MboMsg> make_flow(std::uint64_t seed, std::uint32_t instruments,
                                   std::size_t records) {
  OrderFlow flow(seed, instruments);
  std::vector<dbn::MboMsg> out(records + OrderFlow::kEventRecordsMax);
  std::size_t count = 0;
  while (count < records) count += flow.next_event(out.data() + count, false);
  out.resize(count);
  return out;
}

// Checks the records with a strict book per instrument. Returns the error for the first wrong
// record, or "" if all are correct. Times and sequences increase across the whole flow, and
// therefore within each instrument.
std::string first_wrong(const std::vector<dbn::MboMsg>& records) {
  std::vector<StrictBook> books(65);
  for (std::size_t i = 0; i < records.size(); ++i) {
    const std::string wrong = books.at(records[i].hd.instrument_id).apply(records[i]);
    if (!wrong.empty()) return "record " + std::to_string(i) + ": " + wrong;
  }
  return "";
}

}  // namespace

TEST_CASE("Every record of the flow is one that a venue could have sent") {
  const auto seed = GENERATE(std::uint64_t{1}, std::uint64_t{2}, ~std::uint64_t{0});
  const auto records = make_flow(seed, 1, 300'000);
  StrictBook book;
  for (const dbn::MboMsg& record : records) {
    const std::string wrong = book.apply(record);
    if (!wrong.empty()) FAIL("order " << record.order_id << ": " << wrong);
  }
  CHECK_FALSE(book.in_event());
  // The test is meaningful only if everything that could go wrong has occurred.
  const auto& actions = book.actions();
  CHECK(actions.at('R') == 1);
  CHECK(actions.at('A') > 50'000);
  CHECK(actions.at('C') > 50'000);
  CHECK(actions.at('M') > 20'000);
  CHECK(actions.at('T') > 5'000);
  CHECK(actions.at('F') > actions.at('T'));
  CHECK(book.lost_priority() > 10'000);
  CHECK(book.rested() > 500);
  CHECK(book.live() > 200);
}

TEST_CASE("Each of many instruments has a valid book of its own") {
  CHECK(first_wrong(make_flow(5, 64, 400'000)) == "");
}

TEST_CASE("The strict book notices a record that is left out, doubled or changed") {
  const auto records = make_flow(3, 1, 50'000);
  REQUIRE(first_wrong(records) == "");
  const auto find = [&](dbn::Action action) {
    const auto found = std::find_if(records.begin() + 20'000, records.end(),
                                    [&](const dbn::MboMsg& r) { return r.action == action; });
    REQUIRE(found != records.end());
    return static_cast<std::size_t>(found - records.begin());
  };
  for (const dbn::Action action : {dbn::Action::kAdd, dbn::Action::kCancel, dbn::Action::kModify,
                                   dbn::Action::kTrade, dbn::Action::kFill}) {
    CAPTURE(static_cast<char>(action));
    const std::size_t at = find(action);
    auto left_out = records;
    left_out.erase(left_out.begin() + static_cast<std::ptrdiff_t>(at));
    // If a record that removes quantity is left out, this may go undetected, because the remaining
    // quantity may not matter again.
    const bool takes = action == dbn::Action::kModify || action == dbn::Action::kCancel;
    if (!takes) CHECK(first_wrong(left_out) != "");
    auto doubled = records;
    doubled.insert(doubled.begin() + static_cast<std::ptrdiff_t>(at), records[at]);
    CHECK(first_wrong(doubled) != "");
    auto off_grid = records;
    off_grid[at].price += 1;
    CHECK(first_wrong(off_grid) != "");
    auto other_side = records;
    other_side[at].side = records[at].side == dbn::Side::kBid ? dbn::Side::kAsk : dbn::Side::kBid;
    CHECK(first_wrong(other_side) != "");
    auto early = records;
    early[at].flags ^= dbn::kFlagLast;
    CHECK(first_wrong(early) != "");
  }
}

TEST_CASE("Bursts reach 2,640 records in a millisecond, about a thousand times the mean") {
  constexpr std::uint64_t kWindowNs = 1'000'000;
  const auto records = make_flow(1, 1, 3'000'000);
  std::deque<std::uint64_t> window;
  std::size_t burst_max = 0;
  for (const dbn::MboMsg& record : records) {
    window.push_back(record.ts_recv);
    while (window.front() + kWindowNs <= record.ts_recv) window.pop_front();
    burst_max = std::max(burst_max, window.size());
  }
  const double span_ms =
      static_cast<double>(records.back().ts_recv - records.front().ts_recv) / 1e6;
  const double mean = static_cast<double>(records.size()) / span_ms;
  CAPTURE(burst_max, mean);
  CHECK(burst_max <= FlowClock::kBurstRecordsMax);
  CHECK(burst_max > FlowClock::kBurstRecordsMax * 9 / 10);
  CHECK(mean > 2.2);
  CHECK(mean < 3.2);
}

TEST_CASE("The price stays on its levels however long the flow is") {
  const auto records = make_flow(9, 1, 2'000'000);
  const std::int64_t top =
      OrderFlow::kPriceMin + std::int64_t{FlowBook::kLevels} * OrderFlow::kTick;
  std::int64_t low = top;
  std::int64_t high = 0;
  for (const dbn::MboMsg& record : records) {
    if (record.action != dbn::Action::kTrade) continue;
    low = std::min(low, record.price);
    high = std::max(high, record.price);
  }
  CHECK(low > OrderFlow::kPriceMin);
  CHECK(high < top);
  CHECK(high > low);  // the price moves
}

}  // namespace lapwing
