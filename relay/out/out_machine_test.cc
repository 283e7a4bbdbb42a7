#include "relay/out/out_machine.h"

#include <catch2/catch.hpp>
#include <cstring>

#include "lapwing/error.h"
#include "testing/bus_fixture.h"
#include "testing/publisher_fixture.h"
#include "testing/relay_out_fixture.h"

namespace lapwing {
namespace {

// Record n of a bus with records of that size.
std::vector<std::byte> bytes_of_record(Sequence n, std::size_t size) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(n * 31 + i / 8 * n);
  return bytes;
}

void publish(Publisher& publisher, Sequence first, Sequence last, std::size_t size = 56) {
  for (Sequence n = first; n <= last; ++n) {
    const auto published = publisher.publish(bytes_of_record(n, size));
    REQUIRE(published.ok());
    REQUIRE(*published == n);
  }
}

void require_contents(const RelayedList& messages) {
  for (const auto& message : messages) {
    if (!message->is(RelayKind::kRecords)) continue;
    const RelayHeader& header = message->header();
    for (std::size_t i = 0; i < header.count; ++i) {
      const auto expected = bytes_of_record(header.first + i, header.record_bytes);
      const auto record = message->parsed.record(i);
      REQUIRE(std::memcmp(record.data(), expected.data(), expected.size()) == 0);
    }
  }
}

struct PublishedBus {
  explicit PublishedBus(std::uint32_t record_bytes = 56) {
    options = options_for(directory);
    options.record_bytes = record_bytes;
    options.capacity = 4096;
    options.segment_bytes = 1 << 20;
    publisher = open_publisher(options);
  }
  RelayOutOptions out() const {
    RelayOutOptions made;
    made.directory = options.directory;
    return made;
  }

  TemporaryDirectory directory{TemporaryDirectory::in_memory()};
  PublisherSetUp options;
  ClosingPublisher publisher;
};

}  // namespace

TEST_CASE("In step, each record is in the stream once, and in order") {
  const auto size = GENERATE(8u, 56u, 4088u);
  PublishedBus bus(size);
  RelayNetwork network(1);
  publish(*bus.publisher, 1, 3000, size);
  OutBench out(network, bus.out());
  REQUIRE(out.until_in_step());
  Sequence next = 3001;
  REQUIRE(out.until([&] { return next > 6000; },
                    [&] {
                      publish(*bus.publisher, next, next + 9, size);
                      next += 10;
                    }));
  REQUIRE(out.until([&] { return out.machine->counts().records == 6000; }));
  const RelayedList stream = stream_of(network);
  CHECK(runs_of(stream) == Runs{{1, 6000}});
  require_announced(stream);
  require_contents(stream);
  CHECK(out.machine->counts().live == 0);
  CHECK(out.machine->counts().connections == 1);
}

TEST_CASE("Compressed records are the same records, in fewer bytes") {
  PublishedBus bus;
  RelayNetwork network(1);
  publish(*bus.publisher, 1, 3000);
  RelayOutOptions options = bus.out();
  options.zstd_level = 1;
  OutBench out(network, options);
  REQUIRE(out.until([&] { return out.machine->counts().records == 3000; }));
  const RelayedList stream = stream_of(network);
  CHECK(runs_of(stream) == Runs{{1, 3000}});
  require_contents(stream);
  CHECK(out.machine->counts().bytes < 3000 * 56);
}

TEST_CASE("A stream without messages begins where the options determine") {
  PublishedBus bus;
  RelayNetwork network(1);
  publish(*bus.publisher, 1, 2000);
  RelayOutOptions options = bus.out();
  const auto [from, first] = GENERATE(std::pair(RelayFrom{RelayFrom::Kind::kStart, 0}, 1u),
                                      std::pair(RelayFrom{RelayFrom::Kind::kSequence, 1500}, 1500u),
                                      std::pair(RelayFrom{RelayFrom::Kind::kLive, 0}, 2001u));
  options.from = from;
  OutBench out(network, options);
  REQUIRE(out.until_in_step());
  publish(*bus.publisher, 2001, 2010);
  REQUIRE(out.until([&] { return out.machine->counts().records == 2011 - first; }));
  CHECK(runs_of(stream_of(network)) == Runs{{first, 2010}});
}

TEST_CASE("Another out continues behind the tail, whatever --from says") {
  PublishedBus bus;
  RelayNetwork network(1);
  publish(*bus.publisher, 1, 1000);
  {
    OutBench out(network, bus.out());
    REQUIRE(out.until([&] { return out.machine->counts().records == 1000; }));
    REQUIRE(out.until_in_step());
  }
  publish(*bus.publisher, 1001, 2000);
  RelayOutOptions options = bus.out();
  options.from.kind = RelayFrom::Kind::kLive;
  OutBench out(network, options);
  REQUIRE(out.until([&] { return out.machine->counts().records == 1000; }));
  CHECK(runs_of(stream_of(network)) == Runs{{1, 2000}});
}

TEST_CASE("An out ends with the bus, and the next one searches the last record of the stream") {
  PublishedBus bus;
  RelayNetwork network(1);
  publish(*bus.publisher, 1, 1000);
  RelayOutOptions options = bus.out();
  options.until_closed = true;
  {
    OutBench out(network, options);
    REQUIRE(out.until_in_step());
    bus.publisher.reset();
    REQUIRE(out.until([&] { return out.machine->is_done(); }));
  }
  RelayedList stream = stream_of(network);
  REQUIRE_FALSE(stream.back()->is(RelayKind::kRecords));
  // The end of the session is in the stream.
  const RelayedList::value_type* sessions = nullptr;
  for (const auto& message : stream) {
    if (message->is(RelayKind::kSessions)) sessions = &message;
  }
  REQUIRE(sessions != nullptr);
  const Relayed& newest = **sessions;
  CHECK(newest.parsed.session(newest.header().count - 1).how == SessionEnd::kClosed);
  CHECK(newest.parsed.session(newest.header().count - 1).last == 1000);
  bus.publisher = open_publisher(bus.options);
  publish(*bus.publisher, 1001, 1500);
  OutBench next(network, bus.out());
  REQUIRE(next.until([&] { return next.machine->counts().records == 500; }));
  stream = stream_of(network);
  CHECK(runs_of(stream) == Runs{{1, 1500}});
  require_announced(stream);
}

TEST_CASE("A bus without a journal is refused") {
  TemporaryDirectory directory{TemporaryDirectory::in_memory()};
  PublisherSetUp options = options_for(directory);
  keep_no_journal(options);
  const ClosingPublisher publisher = open_publisher(options);
  const auto messages = OutMessages::open(options.directory, "es", 1);
  CHECK(errc_of(messages.status()) == Errc::kNoJournal);
}

TEST_CASE("A stream of another bus is refused, and nothing is appended to it") {
  PublishedBus bus;
  PublishedBus other;
  RelayNetwork network(1);
  publish(*other.publisher, 1, 10);
  {
    OutBench out(network, other.out());
    REQUIRE(out.until([&] { return out.machine->counts().records == 10; }));
  }
  publish(*bus.publisher, 1, 10);
  OutBench out(network, bus.out());
  CHECK_FALSE(out.until([&] { return out.machine->counts().records == 10; }));
  CHECK(errc_of(out.status) == Errc::kInvalidArgument);
  CHECK(out.status.message().find("does not list") != absl::string_view::npos);
  CHECK(runs_of(stream_of(network)) == Runs{{1, 10}});
}

TEST_CASE("A stream of another configuration is refused") {
  PublishedBus bus;
  RelayNetwork network(1);
  {
    OutBench out(network, bus.out());
    REQUIRE(out.until_in_step());
  }
  RelayOutOptions options = bus.out();
  options.stream.bytes_max = 1 << 20;
  OutBench out(network, options);
  CHECK_FALSE(out.until_in_step());
  CHECK(errc_of(out.status) == Errc::kInvalidArgument);
}

TEST_CASE("Beats have what was sent, and head and durable of the origin") {
  PublishedBus bus;
  RelayNetwork network(1);
  Listener listener(network, {RelaySubject::kBeat});
  publish(*bus.publisher, 1, 100);
  REQUIRE(bus.publisher->flush(kHang).ok());
  OutBench out(network, bus.out());
  REQUIRE(out.until([&] { return out.machine->counts().records == 100; }));
  const std::size_t before = listener.take().size();
  out.run_for(1'000'000'000);
  const std::size_t beats = listener.take().size() - before;
  CHECK(beats >= 3);
  CHECK(beats <= 5);
  const Relayed& beat = *listener.messages.back();
  CHECK(beat.parsed.beat().sent == 100);
  CHECK(beat.header().head == 100);
  CHECK(beat.header().durable == 100);
  CHECK(beat.parsed.beat().journal_state == JournalState::kGood);
  const auto rows = SessionRows::open(bus.options.directory + "/journal");
  REQUIRE(rows.ok());
  CHECK(beat.header().session_row == rows->newest().index);
  CHECK(beat.header().session_hash == rows->newest().hash);
}

TEST_CASE("A name with dots, blanks and > is the name of the bus in its messages") {
  PublishedBus bus;
  RelayNetwork network(1);
  RelayOutOptions options = bus.out();
  options.name = "es .>* 1";
  publish(*bus.publisher, 1, 10);
  OutBench out(network, options);
  REQUIRE(out.until([&] { return out.machine->counts().records == 10; }));
  bool has_bus = false;
  for (const auto& message : stream_of(network)) {
    if (!message->is(RelayKind::kBus)) continue;
    has_bus = true;
    CHECK(std::string(message->parsed.bus().name) == "es .>* 1");
    CHECK(message->parsed.bus().capacity == 4096);
  }
  CHECK(has_bus);
}

TEST_CASE("Sessions of a killed and of a closed publisher follow each other in the stream") {
  TestBus bus;
  RelayNetwork network(1);
  bus.start();
  RelayOutOptions options;
  options.directory = bus.directory();
  OutBench out(network, options);
  const auto serve = [&] { bus.turn(); };
  bus.publish(500);
  REQUIRE(out.until([&] { return out.machine->counts().records == 500; }, serve));
  bus.kill();
  bus.recover();
  bus.start();
  bus.publish(500);
  REQUIRE(out.until([&] { return out.machine->counts().records == 1000; }, serve));
  bus.archive(900);
  bus.kill();
  bus.cut(900);
  bus.start();
  const Sequence first = bus.next();
  bus.publish(100);
  REQUIRE(out.until([&] { return out.machine->counts().records == 1100; }, serve));
  bus.close();
  bus.start();
  bus.publish(100);
  REQUIRE(out.until([&] { return out.machine->counts().records == 1200; }, serve));
  REQUIRE(out.until_in_step(serve));
  const RelayedList stream = stream_of(network);
  require_announced(stream);
  CHECK(runs_of(stream) == Runs{{1, 1000}, {first, first + 199}});
  CHECK(bus.journal.root().size() > 0);
}

TEST_CASE("A failed journal is followed by the next one, from its sequence 1") {
  TestBus bus;
  RelayNetwork network(1);
  bus.start();
  RelayOutOptions options;
  options.directory = bus.directory();
  OutBench out(network, options);
  const auto serve = [&] { bus.turn(); };
  bus.publish(500);
  REQUIRE(out.until([&] { return out.machine->counts().records == 500; }, serve));
  bus.fail_journal();
  bus.publish(10);
  REQUIRE(out.until([&] { return out.machine->counts().records == 510; }, serve));
  bus.close();
  bus.start();
  bus.publish(20);
  REQUIRE(out.until([&] { return out.machine->counts().records == 530; }, serve));
  const RelayedList stream = stream_of(network);
  require_announced(stream);
  CHECK(runs_of(stream) == Runs{{1, 510}, {1, 20}});
}

}  // namespace lapwing
