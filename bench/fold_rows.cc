// The cost of folding a record into an order book, into orders only, or into the latest value of
// each key.
#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "bench/bench_bus.h"
#include "bench/recorded_feed.h"
#include "bench/rows.h"
#include "bench/samples.h"
#include "lapwing/kv16.h"
#include "lapwing/memory_state.h"
#include "lapwing/order_books.h"
#include "publisher/feeds/feed.h"
#include "publisher/feeds/kv16_feed.h"
#include "snapshot/fold/order_fold.h"

namespace lapwing::bench {
namespace {

constexpr int kPasses = 40;
constexpr int kPassesQuick = 1;
constexpr std::uint64_t kPairKeys = std::uint64_t{1} << 20;  // more than a processor's cache holds
constexpr std::uint64_t kPairKeysQuick = std::uint64_t{1} << 12;
constexpr int kPairPasses = 4;

// A simple version of the fold `orders`: only the remaining size of each order.
class PlainOrders {
 public:
  void apply(const dbn::MboMsg& record) {
    switch (record.action) {
      case dbn::Action::kClear:
        orders_.clear();
        return;
      case dbn::Action::kModify:
      case dbn::Action::kAdd:
        orders_[record.order_id] = record;
        return;
      case dbn::Action::kCancel:
        cancel(record);
        return;
      default:
        return;
    }
  }
  std::size_t size() const { return orders_.size(); }

 private:
  void cancel(const dbn::MboMsg& record) {
    const auto found = orders_.find(record.order_id);
    if (found == orders_.end()) return;
    if (record.size < found->second.size) {
      found->second.size -= record.size;
    } else {
      orders_.erase(found);
    }
  }

  std::unordered_map<std::uint64_t, dbn::MboMsg> orders_;
};

// A simple order book: the resting orders and the size at each price, without queues, staleness, a
// digest, or checks of the feed.
class PlainBook {
 public:
  void apply(const dbn::MboMsg& record) {
    switch (record.action) {
      case dbn::Action::kClear:
        orders_.clear();
        bids_.clear();
        asks_.clear();
        return;
      case dbn::Action::kModify:
        remove(record.order_id, ~std::uint32_t{0});
        [[fallthrough]];
      case dbn::Action::kAdd:
        orders_[record.order_id] = {record.price, record.size, record.side};
        add(levels(record.side)[record.price], record.size);
        return;
      case dbn::Action::kCancel:
        remove(record.order_id, record.size);
        return;
      default:
        return;
    }
  }
  std::int64_t touch() const {
    return (bids_.empty() ? 0 : bids_.rbegin()->first) + (asks_.empty() ? 0 : asks_.begin()->first);
  }

 private:
  struct Order {
    std::int64_t price;
    std::uint32_t size;
    dbn::Side side;
  };
  struct Level {
    std::uint64_t size = 0;
    std::uint32_t orders = 0;
  };
  using Levels = std::map<std::int64_t, Level>;

  static void add(Level& level, std::uint32_t size) {
    level.size += size;
    ++level.orders;
  }
  void remove(std::uint64_t order_id, std::uint32_t size) {
    const auto found = orders_.find(order_id);
    if (found == orders_.end()) return;
    Order& order = found->second;
    Levels& side = levels(order.side);
    const auto level = side.find(order.price);
    level->second.size -= std::min(size, order.size);
    if (size < order.size) {
      order.size -= size;
      return;
    }
    if (--level->second.orders == 0) side.erase(level);
    orders_.erase(found);
  }
  Levels& levels(dbn::Side side) { return side == dbn::Side::kBid ? bids_ : asks_; }

  std::unordered_map<std::uint64_t, Order> orders_;
  Levels bids_;
  Levels asks_;
};

dbn::MboMsg clear_of(const dbn::MboMsg& record) {
  dbn::MboMsg clear = record;
  clear.action = dbn::Action::kClear;
  clear.side = dbn::Side::kNone;
  clear.flags = dbn::kFlagLast;
  return clear;
}

// Nanoseconds per record, with a clear before each pass. `apply` takes a record and returns what a
// strategy would then use: the best prices, or the number of resting orders.
template <typename Apply>
double pass_ns(const std::vector<dbn::MboMsg>& records, int passes, Apply&& apply) {
  const dbn::MboMsg clear = clear_of(records.front());
  std::int64_t seen = 0;
  const std::uint64_t start = ticks();
  for (int pass = 0; pass < passes; ++pass) {
    seen += apply(clear);
    for (const dbn::MboMsg& record : records) seen += apply(record);
  }
  const std::uint64_t took = ticks() - start;
  if (seen == 0) fail("the book of the real file stayed empty");
  return static_cast<double>(took) * ns_per_tick() /
         (static_cast<double>(passes) * static_cast<double>(records.size() + 1));
}

double plain_ns(const std::vector<dbn::MboMsg>& records, int passes) {
  PlainBook book;
  return pass_ns(records, passes, [&](const dbn::MboMsg& record) {
    book.apply(record);
    return book.touch();
  });
}

std::int64_t touch_of(const OrderBook& book) {
  const PriceLevel* const bid = book.best(dbn::Side::kBid);
  const PriceLevel* const ask = book.best(dbn::Side::kAsk);
  return (bid == nullptr ? 0 : bid->price) + (ask == nullptr ? 0 : ask->price);
}

double book_ns(const std::vector<dbn::MboMsg>& records, int passes) {
  OrderBooks books;
  Sequence n = 0;
  const OrderBook* book = nullptr;
  return pass_ns(records, passes, [&](const dbn::MboMsg& record) {
    if (!books.apply(++n, std::as_bytes(std::span(&record, 1))))
      fail("a record of the feed is not an order");
    if (book == nullptr) book = books.find_book(record.hd.publisher_id, record.hd.instrument_id);
    return touch_of(*book);
  });
}

double plain_orders_ns(const std::vector<dbn::MboMsg>& records, int passes) {
  PlainOrders orders;
  return pass_ns(records, passes, [&](const dbn::MboMsg& record) {
    orders.apply(record);
    return static_cast<std::int64_t>(orders.size());
  });
}

double fold_orders_ns(const std::vector<dbn::MboMsg>& records, int passes) {
  const OrderFold fold;
  MemoryState state(fold.shape());
  Sequence n = 0;
  return pass_ns(records, passes, [&](const dbn::MboMsg& record) {
    fold.apply(++n, std::as_bytes(std::span(&record, 1)), state);
    return static_cast<std::int64_t>(state.size());
  });
}

// Applies every key several times, in an order without locality.
template <typename Apply>
double pairs_ns(std::uint64_t keys, Apply&& apply) {
  std::vector<kv16::Record> pairs(keys);
  for (std::uint64_t i = 0; i < keys; ++i) pairs[i] = {Kv16Feed::key_of(i, 1), i};
  const std::uint64_t start = ticks();
  for (int pass = 0; pass < kPairPasses; ++pass) {
    for (const kv16::Record& pair : pairs) apply(pair);
  }
  return static_cast<double>(ticks() - start) * ns_per_tick() /
         static_cast<double>(kPairPasses * keys);
}

double plain_latest_ns(std::uint64_t keys) {
  std::unordered_map<std::uint64_t, std::uint64_t> latest;
  const double ns =
      pairs_ns(keys, [&](const kv16::Record& pair) { latest[pair.key] = pair.value; });
  if (latest.size() != keys) fail("keys are missing");
  return ns;
}

double fold_latest_ns(std::uint64_t keys) {
  const std::unique_ptr<Fold> fold = value_or_fail(make_fold("latest", kv16::kSchema));
  MemoryState state(fold->shape());
  Sequence n = 0;
  const double ns = pairs_ns(keys, [&](const kv16::Record& pair) {
    fold->apply(++n, std::as_bytes(std::span(&pair, 1)), state);
  });
  if (state.size() != keys) fail("keys are missing");
  return ns;
}

RowSpec fold_spec(const Setting& setting, const char* name, const char* what) {
  RowSpec spec;
  spec.name = name;
  spec.what = what;
  spec.floor = "plain";
  spec.unit = "ns";
  spec.trials = setting.trials(10);
  return spec;
}

// `plain` and `subject` return nanoseconds per record.
template <typename Plain, typename Subject>
RowResult measure_fold(const RowSpec& spec, const Plain& plain, const Subject& subject) {
  return measure_row(
      spec,
      [&](Placement placement) {
        pin_to_core(placement.first);
        return plain();
      },
      [&](Placement placement) {
        pin_to_core(placement.first);
        Measurement measurement;
        measurement.figure = subject();
        measurement.details = {{"records", 1e3 / measurement.figure, "million a second"}};
        return measurement;
      });
}

using FeedFold = double (*)(const std::vector<dbn::MboMsg>& records, int passes);

// Measures with the real feed.
RowResult measure_feed_fold(const Setting& setting, const RowSpec& spec, FeedFold plain,
                            FeedFold subject) {
  const std::optional<std::vector<dbn::MboMsg>> records = recorded_orders();
  if (!records) return skip_row(spec, kNoRecordedFeed);
  const int passes = setting.quick ? kPassesQuick : kPasses;
  return measure_fold(
      spec, [&] { return plain(*records, passes); }, [&] { return subject(*records, passes); });
}

}  // namespace

RowResult run_book_update(const Setting& setting) {
  const RowSpec spec = fold_spec(
      setting, "book-update",
      "apply a record of the real ES file to an order book and read its best bid and ask");
  return measure_feed_fold(setting, spec, plain_ns, book_ns);
}

RowResult run_fold_orders(const Setting& setting) {
  const RowSpec spec = fold_spec(setting, "fold-orders",
                                 "fold a record of the real ES file into the orders in memory");
  return measure_feed_fold(setting, spec, plain_orders_ns, fold_orders_ns);
}

RowResult run_fold_latest(const Setting& setting) {
  const RowSpec spec = fold_spec(setting, "fold-latest",
                                 "fold a pair into the latest values of a million keys in memory");
  const std::uint64_t keys = setting.quick ? kPairKeysQuick : kPairKeys;
  return measure_fold(
      spec, [&] { return plain_latest_ns(keys); }, [&] { return fold_latest_ns(keys); });
}

}  // namespace lapwing::bench
