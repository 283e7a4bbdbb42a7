// Records of a struct that describes itself, from their publisher to a subscriber.
#include <algorithm>
#include <chrono>
#include <optional>
#include <vector>

#include "lapwing/error.h"
#include "lapwing/typed_publisher.h"
#include "lapwing/typed_subscriber.h"
#include "os/kernel.h"
#include "testing/came.h"
#include "testing/signal_record.h"
#include "testing/temporary_directory.h"

#include <catch2/catch.hpp>

namespace lapwing {
namespace {

constexpr std::chrono::seconds kHang{60};

struct StampedQuote {
  std::uint64_t instrument;
  std::uint64_t sent;
  std::int64_t price;
};
LAPWING_RECORD(StampedQuote, "desk.stamped_quote", 1, (instrument, kKey), (sent, kPublishTime),
               (price, kPrice));

Signal signal(std::uint32_t n) {
  Signal made{};
  made.ts_recv = 1'700'000'000'000'000'000u + n;
  made.instrument = n;
  made.fair_value = n + 0.25;
  made.side = SignalSide::kSell;
  return made;
}

TypedPublisher<Signal> open_signals(const std::string& directory) {
  auto opened = TypedPublisher<Signal>::open(
      {.directory = directory, .capacity = 1024, .segment_bytes = 64 * 1024});
  INFO(opened.status().ToString());
  REQUIRE(opened.ok());
  return *std::move(opened);
}

SubscriberOptions from_oldest(const std::string& directory) {
  SubscriberOptions options;
  options.directory = directory;
  options.start = Start::oldest();
  return options;
}

TEST_CASE("A typed subscriber takes what a typed publisher publishes") {
  const TemporaryDirectory directory{TemporaryDirectory::in_memory()};
  TypedPublisher<Signal> publisher = open_signals(directory.file("bus"));
  auto subscriber = TypedSubscriber<Signal>::open(from_oldest(directory.file("bus")));
  REQUIRE(subscriber.ok());
  CHECK(*publisher.publish(signal(1)) == 1);
  CHECK(*publisher.publish(signal(2), kHang) == 2);
  const std::vector<Signal> more = {signal(3), signal(4)};
  CHECK(*publisher.publish_batch(more) == 4);
  CHECK(publisher->head() == 4);

  std::vector<double> values;
  while (values.size() < 3) {
    Signal taken{};
    const Result<Sequence> result = subscriber->read_one(taken, kHang);
    if (result == Errc::kEventDue) {
      REQUIRE((*subscriber)->read_event().ok());
      continue;
    }
    REQUIRE(result.ok());
    values.push_back(taken.fair_value);
  }
  CHECK(values == std::vector{1.25, 2.25, 3.25});
  std::vector<Signal> rows(8);
  Result<Batch> batch = subscriber->read(rows, kHang);
  while (came(batch).is_event()) batch = subscriber->read(rows, kHang);
  REQUIRE(batch->count == 1);
  CHECK(rows[0].instrument == 4);
  CHECK((*subscriber)->schema_name() == "desk.signal");
  CHECK(*(*subscriber)->schema() == schema_of<Signal>());
}

TEST_CASE("A member that is the time of publishing is stamped, and no other") {
  const TemporaryDirectory directory{TemporaryDirectory::in_memory()};
  auto publisher = TypedPublisher<StampedQuote>::open({.directory = directory.file("bus")});
  REQUIRE(publisher.ok());
  const std::uint64_t before = wall_ns();
  CHECK(*publisher->publish({.instrument = 1, .sent = 5, .price = 7}) == 1);
  CHECK(*publisher->publish({.instrument = 2, .sent = 5, .price = 7}, kHang) == 2);
  std::vector<StampedQuote> many(kStampedAtOnce + 1,
                                 StampedQuote{.instrument = 3, .sent = 0, .price = 7});
  const Sequence last = 2 + many.size();
  CHECK(*publisher->publish_batch(many) == last);
  CHECK(*publisher->publish_batch({}) == *(*publisher)->publish_batch({}));
  const std::uint64_t after = wall_ns();
  CHECK(many.back().sent == 0);

  auto subscriber = TypedSubscriber<StampedQuote>::open(from_oldest(directory.file("bus")));
  REQUIRE(subscriber.ok());
  std::uint64_t previous = before;
  for (Sequence taken = 0; taken < last;) {
    StampedQuote quote{};
    const Result<Sequence> result = subscriber->read_one(quote, kHang);
    if (result == Errc::kEventDue) {
      REQUIRE((*subscriber)->read_event().ok());
      continue;
    }
    REQUIRE(result.ok());
    taken = *result;
    CHECK(quote.instrument == std::min<Sequence>(taken, 3));
    CHECK(quote.price == 7);
    constexpr std::uint64_t kOff = 1'000'000;  // the clock may be steered meanwhile
    CHECK(quote.sent + kOff >= previous);
    CHECK(quote.sent <= after + kOff);
    previous = quote.sent;
  }
}

TEST_CASE("An age counts from when a typed publisher published, and an unstamped record has none") {
  constexpr Sequence kStamped = 500;
  const TemporaryDirectory directory{TemporaryDirectory::in_memory()};
  auto publisher = TypedPublisher<StampedQuote>::open({.directory = directory.file("bus")});
  REQUIRE(publisher.ok());
  SubscriberOptions options = from_oldest(directory.file("bus"));
  options.measure_every = GENERATE(1u, 10u);
  auto subscriber = TypedSubscriber<StampedQuote>::open(options);
  REQUIRE(subscriber.ok());
  const std::uint64_t before = wall_ns();
  for (Sequence n = 1; n <= kStamped; ++n) {
    REQUIRE(*publisher->publish({.instrument = n, .sent = 0, .price = 7}) == n);
  }
  REQUIRE(*(*publisher)->publish(StampedQuote{.instrument = 1, .sent = 0, .price = 7}) ==
          kStamped + 1);
  for (Sequence last = 0; last < kStamped + 1;) {
    StampedQuote quote{};
    const Result<Sequence> taken = subscriber->read_one(quote, kHang);
    if (taken == Errc::kEventDue) {
      REQUIRE((*subscriber)->read_event().ok());
      continue;
    }
    REQUIRE(taken.ok());
    last = *taken;
  }
  const std::uint64_t took = wall_ns() - before;
  const std::optional<Ages> ages = (*subscriber)->ages();
  REQUIRE(ages);
  CHECK(ages->age_ns.count() + ages->negative == kStamped / options.measure_every);
  CHECK(ages->unstamped == 1);
  constexpr std::uint64_t kOff = 1'000'000;  // the clock may be steered meanwhile
  CHECK(ages->age_ns.max() > 0);
  CHECK(ages->age_ns.max() <= took + kOff);
}

TEST_CASE("An item gives its record as a struct, or nothing where it is none") {
  const TemporaryDirectory directory{TemporaryDirectory::in_memory()};
  TypedPublisher<Signal> publisher = open_signals(directory.file("bus"));
  REQUIRE(*publisher.publish(signal(7)) == 1);
  auto subscriber = Subscriber::open(from_oldest(directory.file("bus")));
  REQUIRE(subscriber.ok());
  Result<Item> item = subscriber->next(kHang);
  CHECK(came(item) == EventKind::kSession);
  CHECK_FALSE(item->record_as<Signal>());
  while (came(item) != ItemKind::kRecord) item = subscriber->next(kHang);
  struct Shorter {
    std::uint64_t word;
  };
  CHECK_FALSE(item->record_as<Shorter>());
  REQUIRE(item->record_as<Signal>());
  CHECK(item->record_as<Signal>()->instrument == 7);
}

struct OtherSignal {
  std::uint64_t ts_recv;
  std::uint32_t instrument;
  std::uint32_t weight;
  double fair_value;
  std::int64_t price;
  SignalSide side;
  char venue[7];
  std::byte spare[16];
};
LAPWING_RECORD(OtherSignal, "desk.signal", 1, (ts_recv, kTime), (instrument, kKey), weight,
               fair_value, (price, kPrice), (side, kSignalSides), venue, (spare, kSpare));

TEST_CASE("A struct of the same size whose field has another type is noticed on both sides") {
  const TemporaryDirectory directory{TemporaryDirectory::in_memory()};
  const std::string bus = directory.file("bus");
  {
    TypedPublisher<Signal> publisher = open_signals(bus);
    REQUIRE(*publisher.publish(signal(1)) == 1);
    auto subscriber = TypedSubscriber<OtherSignal>::open(from_oldest(bus));
    REQUIRE(subscriber.ok());
    OtherSignal taken{};
    Result<Sequence> result = subscriber->read_one(taken, kHang);
    while (result == Errc::kEventDue && (*subscriber)->read_event().ok()) {
      result = subscriber->read_one(taken, kHang);
    }
    CHECK(result == Errc::kRecordSize);
    CHECK(std::string((*subscriber)->status().message())
              .find("field weight is float32, not uint32") != std::string::npos);
    REQUIRE(publisher->close(kHang).ok());
  }
  const auto publisher = TypedPublisher<OtherSignal>::open(
      {.directory = bus, .capacity = 1024, .segment_bytes = 64 * 1024});
  CHECK(errc_of(publisher.status()) == Errc::kRecordSize);
  CHECK(std::string(publisher.status().message()).find("field weight is uint32, not float32") !=
        std::string::npos);
}

}  // namespace
}  // namespace lapwing
