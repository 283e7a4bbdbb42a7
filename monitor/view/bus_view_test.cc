#include "monitor/view/bus_view.h"

#include <poll.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "lapwing/order_books.h"
#include "monitor/view/book_format.h"
#include "monitor/view/view_books.h"
#include "monitor/view/view_records.h"
#include "testing/bus_fixture.h"
#include "testing/far_deadline.h"
#include "testing/instrument_feed.h"
#include "testing/order_records.h"
#include "testing/process_threads.h"
#include "testing/signal_record.h"

namespace lapwing {
namespace {

using ViewJson = nlohmann::ordered_json;

// Every third record is a trade, and the others add orders. One record in three is for instrument
// 8.
dbn::MboMsg book_record(Sequence n) {
  const bool is_bid = n % 2 == 0;
  const auto price = static_cast<std::int64_t>(n % 40) * dbn::kPriceScale;
  dbn::MboMsg record = test_record(n % 3 == 0 ? dbn::Action::kTrade : dbn::Action::kAdd, n,
                                   is_bid ? dbn::Side::kBid : dbn::Side::kAsk,
                                   is_bid ? price : price + 100 * dbn::kPriceScale, 5);
  if (n % 4 == 1) record.hd.instrument_id = kTestInstrument + 1;
  record.hd.ts_event = n;
  return record;
}

class BookBus : public TestBus {
 public:
  explicit BookBus(bool with_journal = true, std::vector<dbn::SymbolMapping> symbols = {})
      : TestBus(with_journal) {
    schema = dbn::kSchemaMbo;
    journal.mark = [](Sequence n, std::span<std::byte> record) {
      const dbn::MboMsg mbo = book_record(n);
      std::memcpy(record.data(), &mbo, sizeof mbo);
    };
    if (!symbols.empty()) write_symbols(*this, std::move(symbols));
    start();
  }
  // The book that a view must show for this instrument as of record `last`.
  ViewJson book_at(Sequence last, std::uint32_t instrument) const {
    OrderBooks books;
    for (Sequence n = 1; n <= last; ++n) {
      const dbn::MboMsg record = book_record(n);
      REQUIRE(books.apply(n, std::as_bytes(std::span(&record, 1))));
    }
    BookFormat format(directory());
    const OrderBook& book = *books.find_book(1, instrument);
    return ViewJson::parse(format.json(book, last, kViewDepth, /*with_digest=*/false));
  }
};

// A view, and its latest messages.
class Screen {
 public:
  explicit Screen(TestBus& bus) : bus_(bus) {
    auto view =
        BusView::start({.directory = bus.directory(), .version = "1.2.3", .revision = "abc"},
                       [this](const ViewUpdate& update) { take(update); });
    REQUIRE(view.ok());
    view_ = *std::move(view);
    CHECK(view_->want(""));
  }

  BusView& view() { return *view_; }

  // Runs the bus until a message matches.
  ViewJson until(const std::function<bool(const ViewJson&)>& is_it,
                 const std::string& instrument = "") {
    const std::uint64_t deadline_ns = far_deadline();
    ViewJson message;
    while (monotonic_ns() < deadline_ns) {
      bus_.turn();
      ::poll(nullptr, 0, 1);
      {
        const std::lock_guard lock(mutex_);
        const auto found = messages_.find(instrument);
        if (found == messages_.end()) continue;
        message = ViewJson::parse(*found->second);
      }
      if (is_it(message)) return message;
    }
    FAIL("in vain; the last message: " << message.dump());
    return {};
  }
  ViewJson until_state(const std::string& state) {
    return until([&](const ViewJson& message) { return message["state"] == state; });
  }
  ViewJson until_sequence(Sequence sequence, const std::string& instrument = "") {
    return until([&](const ViewJson& message) { return message["sequence"] == sequence; },
                 instrument);
  }
  bool has_ended() {
    const std::lock_guard lock(mutex_);
    return has_ended_;
  }

 private:
  void take(const ViewUpdate& update) {
    const std::lock_guard lock(mutex_);
    has_ended_ = update.is_last;
    for (const auto& [instrument, message] : update.messages) messages_[instrument] = message;
  }

  TestBus& bus_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<const std::string>> messages_;
  bool has_ended_ = false;
  std::unique_ptr<BusView> view_;
};

TEST_CASE("A view's book is that of OrderBooks, in the format of `lapwing book`") {
  BookBus bus;
  bus.publish(500);
  Screen screen(bus);
  CHECK(screen.view().want("id:8"));
  const ViewJson message = screen.until_sequence(500);
  CHECK(message["book"] == bus.book_at(500, kTestInstrument));
  CHECK(message["book"]["bids"].size() == kViewDepth);
  CHECK(message["book"]["stale"] == false);
  CHECK(screen.until_sequence(500, "id:8")["book"] == bus.book_at(500, 8));
  bus.publish(100);
  CHECK(screen.until_sequence(600)["book"] == bus.book_at(600, kTestInstrument));
}

TEST_CASE("A message says where the view is, and has all instruments and the last trades") {
  BookBus bus;
  bus.publish(500);
  Screen screen(bus);
  screen.until_state("live");
  const ViewJson message = screen.until_sequence(500);
  CHECK(message["version"] == "1.2.3");
  CHECK(message["revision"] == "abc");
  CHECK(message["bus"] == "test");
  CHECK(message["directory"] == bus.directory());
  CHECK(message["schema"] == dbn::kSchemaMbo);
  CHECK(message["why"].is_null());
  CHECK(message["head"] == 500);
  CHECK(message["behind"] == 0);
  CHECK(message["lost"] == 0);
  CHECK(message["records"].is_null());
  CHECK(message["instruments_total"] == 2);
  REQUIRE(message["instruments"].size() == 2);
  const ViewJson& first = message["instruments"][0];
  CHECK(first["instrument_id"] == kTestInstrument);
  CHECK(first["symbol"].is_null());
  CHECK(first["bid"] == message["book"]["bids"][0]["price"]);
  CHECK(first["ask"] == message["book"]["asks"][0]["price"]);
  CHECK(first["stale"] == false);
  REQUIRE(message["trades"].size() == kViewTrades);
  const ViewJson& trade = message["trades"].back();  // 498 is for instrument 7; there is no 501
  CHECK(trade == ViewJson({{"sequence", 498},
                           {"instrument_id", kTestInstrument},
                           {"time_ns", "498"},
                           {"price", book_record(498).price},
                           {"size", 5},
                           {"side", "B"}}));
}

TEST_CASE("An instrument is found by its symbol, and one that is not there has no book") {
  BookBus bus(true, {{"ESH4", {{20240101, 20240201, "8"}}}, {"8", {{20240101, 20240201, "7"}}}});
  bus.publish(100);
  Screen screen(bus);
  CHECK(screen.view().want("ESH4"));
  CHECK(screen.view().want("NONE"));
  CHECK(screen.view().want("id:9"));
  CHECK(screen.view().want("8"));
  CHECK(screen.view().want("7"));
  CHECK(screen.view().want("id:8"));
  const ViewJson message = screen.until_sequence(100, "ESH4");
  CHECK(message["book"]["instrument_id"] == 8);
  CHECK(message["book"]["symbol"] == "ESH4");
  CHECK(message["instruments"][1]["symbol"] == "ESH4");
  CHECK(screen.until_sequence(100, "NONE")["book"].is_null());
  CHECK(screen.until_sequence(100, "id:9")["book"].is_null());
  // Digits are a symbol, even if an instrument has the same number.
  CHECK(screen.until_sequence(100, "7")["book"].is_null());
  CHECK(screen.until_sequence(100, "8")["book"]["instrument_id"] == 7);
  CHECK(screen.until_sequence(100, "id:8")["book"]["instrument_id"] == 8);
}

TEST_CASE("A view joins a busy bus behind its journal, and is lapped without a loss") {
  BookBus bus;
  bus.publish(3 * TestBus::kCapacity);
  Screen screen(bus);
  screen.until_sequence(bus.head());
  bus.publish(3 * TestBus::kCapacity);
  const ViewJson message = screen.until_sequence(bus.head());
  CHECK(message["lost"] == 0);
  CHECK(message["book"] == bus.book_at(bus.head(), kTestInstrument));
}

TEST_CASE("A loss makes the book stale, and the message says so") {
  BookBus bus(/*with_journal=*/false);
  bus.publish(100);
  Screen screen(bus);
  CHECK(screen.until_sequence(100)["book"]["stale"] == false);
  // More than the ring holds at once, so the view's thread cannot have taken all of it.
  ViewJson message;
  do {
    bus.publish(100 * TestBus::kCapacity);
    message = screen.until_sequence(bus.head());
  } while (message["lost"] == 0);
  CHECK(message["book"]["stale"] == true);
  CHECK(message["book"]["lost_through"] > 100);
  CHECK(message["instruments"][0]["stale"] == true);
}

TEST_CASE("Without its publisher a view waits for the next one, and goes on with it") {
  BookBus bus;
  bus.publish(100);
  Screen screen(bus);
  screen.until_sequence(100);
  bus.kill();
  ViewJson message = screen.until_state("waiting");
  CHECK(message["why"].get<std::string>().find("without closing") != std::string::npos);
  CHECK(message["sequence"] == 100);
  CHECK(message["book"]["orders"] > 0);
  bus.recover();
  bus.start();
  bus.publish(10);
  screen.until_state("live");
  CHECK(screen.until_sequence(110)["why"].is_null());
}

TEST_CASE("A bus that comes back with other records is shown as what it is now") {
  TestBus bus(/*with_journal=*/false);
  bus.start();
  bus.publish(5);
  Screen screen(bus);
  CHECK(screen.until_sequence(5)["book"].is_null());
  bus.kill();
  screen.until_state("waiting");
  bus.schema = dbn::kSchemaMbo;
  bus.journal.mark = [](Sequence n, std::span<std::byte> record) {
    const dbn::MboMsg mbo = book_record(n);
    std::memcpy(record.data(), &mbo, sizeof mbo);
  };
  bus.start();
  bus.publish(100);
  const ViewJson message = screen.until_sequence(100);
  CHECK(message["schema"] == dbn::kSchemaMbo);
  CHECK(message["records"].is_null());
  CHECK(message["book"]["orders"] > 0);
}

TEST_CASE("What a view has lost stays counted when the bus comes back with other records") {
  BookBus bus(/*with_journal=*/false);
  bus.publish(100);
  Screen screen(bus);
  screen.until_sequence(100);
  ViewJson message;
  do {
    bus.publish(100 * TestBus::kCapacity);
    message = screen.until_sequence(bus.head());
  } while (message["lost"] == 0);
  bus.kill();
  screen.until_state("waiting");
  bus.schema = "bytes";
  bus.start();
  bus.publish(5);
  CHECK(screen.until([](const ViewJson& now) { return now["schema"] == "bytes"; })["lost"] >=
        message["lost"]);
}

TEST_CASE("A view of a bus that comes back with a journal loses nothing from then on") {
  BookBus bus(/*with_journal=*/false);
  bus.publish(100);
  Screen screen(bus);
  screen.until_sequence(100);
  bus.kill();
  screen.until_state("waiting");
  bus.set_journal(true);
  bus.start();
  bus.publish(50);
  screen.until_sequence(50);
  bus.publish(100 * TestBus::kCapacity);
  const ViewJson message = screen.until_sequence(bus.head());
  CHECK(message["lost"] == 0);
  CHECK(message["book"] == bus.book_at(bus.head(), kTestInstrument));
}

TEST_CASE("A view of a bus that comes back without its journal goes on in the ring") {
  BookBus bus;
  bus.publish(100);
  Screen screen(bus);
  screen.until_sequence(100);
  bus.kill();
  bus.recover();
  screen.until_state("waiting");
  bus.set_journal(false);
  bus.start();
  bus.publish(50);
  CHECK(screen.until_sequence(50)["book"] == bus.book_at(50, kTestInstrument));
}

TEST_CASE("A view waits for the rest of an event of the venue without using the processor") {
  BookBus bus;
  bus.journal.mark = [](Sequence n, std::span<std::byte> record) {
    dbn::MboMsg mbo = book_record(n);
    mbo.flags = 0;
    std::memcpy(record.data(), &mbo, sizeof mbo);
  };
  Screen screen(bus);
  screen.until_state("live");
  bus.publish(1);
  screen.until_sequence(1);
  const ProcessThread thread = thread_named("lapwing-view");
  const std::uint64_t before_ns = thread.processor_ns();
  const std::uint64_t began_ns = monotonic_ns();
  const std::uint64_t until_ns = began_ns + 4 * kViewIntervalNs;
  screen.until([&](const ViewJson&) { return monotonic_ns() > until_ns; });
  CHECK(thread.processor_ns() - before_ns < (monotonic_ns() - began_ns) / 4);
}

TEST_CASE("A bus that was closed is shown as it was, and waited for") {
  BookBus bus;
  bus.publish(100);
  bus.close();
  Screen screen(bus);
  const ViewJson message = screen.until_state("waiting");
  CHECK(message["why"].get<std::string>().find("closed") != std::string::npos);
  CHECK(message["sequence"] == 100);
  CHECK(message["book"]["seq"] == 100);
}

TEST_CASE("What cannot be followed has ended, and why") {
  TestBus bus;  // nothing exists yet
  Screen screen(bus);
  const ViewJson message = screen.until_state("ended");
  CHECK(message["why"].get<std::string>().find(bus.directory()) != std::string::npos);
  CHECK(message["sequence"].is_null());
  CHECK(message["book"].is_null());
}

TEST_CASE("Of other records a view has the newest of each key, and no books") {
  InstrumentFeed bus;
  bus.start();
  bus.publish(103);
  Screen screen(bus);
  const ViewJson message = screen.until_sequence(103);
  CHECK(message["schema"] == "desk.signal");
  CHECK(message["book"].is_null());
  CHECK(message["instruments_total"] == 0);
  REQUIRE(message["records"].size() == InstrumentFeed::kInstruments);
  for (std::size_t i = 0; i < InstrumentFeed::kInstruments; ++i) {
    const ViewJson& record = message["records"][i];
    CHECK(record["seq"] == 99 + i);
    CHECK(record["instrument"] == InstrumentFeed::instrument_of(99 + i));
    CHECK(record.contains("fair_value"));
  }
}

TEST_CASE("Of records that nobody has described a view has the newest one, as digits") {
  TestBus bus;
  bus.start();
  bus.publish(5);
  Screen screen(bus);
  REQUIRE(screen.until_sequence(5)["records"].size() == 1);
  bus.publish(5);
  const ViewJson message = screen.until_sequence(10);
  REQUIRE(message["records"].size() == 1);
  CHECK(message["records"][0]["seq"] == 10);
  CHECK(message["records"][0]["bytes"].get<std::string>().size() == 2 * 56);
}

TEST_CASE("Of many keys those are kept that were heard of last") {
  const auto description = std::make_shared<const Schema>(schema_of<Signal>());
  ViewRecords records;
  Event session;
  session.kind = EventKind::kSession;
  session.schema = description;
  records.take_event(session, false);
  for (Sequence n = 1; n <= 2 * kViewRecordsMax; ++n) {
    Signal signal{};
    signal.instrument = static_cast<std::uint32_t>(n);
    REQUIRE(records.take_records(n, std::as_bytes(std::span(&signal, 1)), sizeof signal).ok());
  }
  ViewJson message;
  records.add_to(message, "");
  REQUIRE(message["records"].size() == kViewRecordsMax);
  CHECK(message["records"].front()["instrument"] == kViewRecordsMax + 1);
}

TEST_CASE("No more than so many instruments are wanted at once") {
  BookBus bus;
  Screen screen(bus);
  for (std::size_t i = 1; i < kViewedInstrumentsMax; ++i) {
    CHECK(screen.view().want(std::to_string(i)));
  }
  CHECK_FALSE(screen.view().want("one more"));
  CHECK(screen.view().want("1"));
  screen.view().forget("1");
  CHECK(screen.view().want("one more"));
}

TEST_CASE("A book that was loaded as a state is that of the records") {
  OrderBooks books;
  for (Sequence n = 1; n <= 100; ++n) {
    const dbn::MboMsg record = book_record(n);
    REQUIRE(books.apply(n, std::as_bytes(std::span(&record, 1))));
  }
  const auto fold = make_fold(kFoldOrders, dbn::kSchemaMbo);
  REQUIRE(fold.ok());
  ViewBooks view("nowhere", std::make_shared<MemoryBudget>(kViewBookBytesMax));
  books.for_each_entry([&](const OrderEntry& entry) {
    REQUIRE(view.take_state(std::as_bytes(std::span(&entry, 1)), **fold).ok());
  });
  CHECK_FALSE(view.is_settled());
  const auto shown = [&] {
    ViewJson message;
    view.prepare();
    view.add_to(message, "id:" + std::to_string(kTestInstrument));
    return message["book"];
  };
  CHECK(shown().is_null());
  Event complete;
  complete.kind = EventKind::kSnapshotComplete;
  complete.sequence = 100;
  view.take_event(complete, false);
  CHECK(view.is_settled());
  CHECK(view.sequence() == 100);
  BookFormat format("nowhere");
  const std::string expected = format.json(*books.find_book(1, kTestInstrument), 100, kViewDepth,
                                           /*with_digest=*/false);
  for (const char* side : {"bids", "asks"}) {
    CHECK(shown()[side] == ViewJson::parse(expected)[side]);
    CHECK_FALSE(shown()[side].empty());
  }
}

TEST_CASE("A view of more books than it may keep ends with the limit") {
  ViewBooks books("nowhere", std::make_shared<MemoryBudget>(kViewBookBytesMax));
  dbn::MboMsg record = test_record(dbn::Action::kAdd, 1, dbn::Side::kBid, 1, 1);
  absl::Status taken;
  Sequence n = 0;
  while (taken.ok() && n < 3 * kViewBooksMax) {
    record.hd.instrument_id = static_cast<std::uint32_t>(++n);
    taken = books.take_records(n, std::as_bytes(std::span(&record, 1)), sizeof record);
  }
  CHECK(errc_of(taken) == Errc::kLimit);
  CHECK(n > kViewBooksMax);
}

TEST_CASE("Books of several views that take more than they may together end the one that grows") {
  const auto budget = std::make_shared<MemoryBudget>(100'000 * kViewOrderBytes);
  const auto fill = [](ViewBooks& books) -> absl::Status {
    for (Sequence n = 1; n <= 70'000; ++n) {
      const dbn::MboMsg record = test_record(dbn::Action::kAdd, n, dbn::Side::kBid, 1, 1);
      const absl::Status taken =
          books.take_records(n, std::as_bytes(std::span(&record, 1)), sizeof record);
      if (!taken.ok()) return taken;
    }
    return absl::OkStatus();
  };
  {
    ViewBooks first("nowhere", budget);
    CHECK(fill(first).ok());
    ViewBooks second("nowhere", budget);
    const absl::Status refused = fill(second);
    CHECK(errc_of(refused) == Errc::kLimit);
    CHECK(refused.message().find("all viewed buses") != absl::string_view::npos);
  }
  ViewBooks third("nowhere", budget);
  CHECK(fill(third).ok());
}

TEST_CASE("A view that is stopped says that it ends") {
  BookBus bus;
  Screen screen(bus);
  screen.until_state("live");
  CHECK_FALSE(screen.has_ended());
  screen.view().stop();
  const std::uint64_t deadline_ns = far_deadline();
  while (!screen.has_ended() && monotonic_ns() < deadline_ns) ::poll(nullptr, 0, 1);
  CHECK(screen.has_ended());
}

}  // namespace
}  // namespace lapwing
