#include "relay/in/stream_side.h"

#include <catch2/catch.hpp>
#include <set>

#include "testing/relay_messages.h"
#include "testing/test_origin.h"

namespace lapwing {
namespace {

constexpr std::uint64_t kTickNs = 10'000'000;

// A stream with records of one session, and one that reads it.
struct StreamWorld {
  StreamWorld() {
    origin.transport();
    REQUIRE(origin.transport()->open_stream({}, Deadline::now()).ok());
    origin.begin_session();
  }

  void want(Sequence hole, bool follows = false) {
    OriginSessions list;
    REQUIRE(list.replace(origin.sessions()).ok());
    StreamWant want;
    want.sessions = std::make_shared<const OriginSessions>(std::move(list));
    want.generation = 1;
    want.session_row = origin.session().begin_row;
    want.begin = hole;
    want.hole = hole;
    want.follows = follows;
    side.want(want);
    wanted = hole;
    is_following = follows;
  }
  void run(std::uint64_t ns) {
    for (const std::uint64_t until = network.now_ns() + ns; network.now_ns() < until;) {
      network.advance(kTickNs);
      side.step(network.now_ns());
      while (const auto item = side.take()) {
        if (!item->message.empty()) note(*parse_message(item->message));
        for (const RelayRange& range : item->findings.lacks) lacks.push_back(range);
        unreachable += item->findings.is_unreachable;
      }
      if (wanted != 0) want(has.contains(wanted) ? 0 : wanted, is_following);
    }
  }
  void note(const RelayMessage& message) {
    for (std::uint64_t i = 0; i < message.header.count; ++i) has.insert(message.header.first + i);
  }
  bool is_lacking(Sequence n) const {
    return std::ranges::any_of(lacks,
                               [&](const auto& each) { return each.first <= n && n <= each.last; });
  }

  RelayNetwork network{1};
  TestOrigin origin{network, 1};
  StreamSide side{[this] { return network.connect("mirror"); }, 1};
  Sequence wanted = 0;
  bool is_following = false;
  std::set<Sequence> has;
  std::vector<RelayRange> lacks;
  int unreachable = 0;
};

}  // namespace

TEST_CASE("A stream is read from the wanted record on") {
  StreamWorld world;
  world.origin.add_records(5'000);
  world.origin.send();
  world.want(3'000);
  world.run(1'000'000'000);
  CHECK(world.has.contains(3'000));
  CHECK(world.has.contains(5'000));
  CHECK_FALSE(world.has.contains(2'000));
  for (Sequence n = 3'000; n <= 5'000; ++n) REQUIRE(world.has.contains(n));
  CHECK(world.unreachable == 0);
}

TEST_CASE("What the stream was seen to lack is found") {
  StreamWorld world;
  world.origin.add_records(1'000);
  world.origin.send();
  world.origin.add_records(50);
  world.origin.skip();
  world.origin.add_records(100);
  world.origin.send();
  SECTION("within it") {
    world.want(1'001);
    world.run(1'000'000'000);
    CHECK(world.lacks.front() == RelayRange{1'001, 1'050});
    CHECK(world.has.contains(1'150));
  }
  SECTION("before it") {
    world.network.expire_stream(10);
    world.want(1);
    world.run(1'000'000'000);
    CHECK(world.is_lacking(1));
  }
  SECTION("behind it") {
    world.want(1'151);
    world.run(1'000'000'000);
    CHECK(world.is_lacking(1'151));
    CHECK(world.has.empty());
  }
  SECTION("in an empty one") {
    world.network.expire_stream(1'000'000);
    world.want(5);
    world.run(1'000'000'000);
    CHECK(world.is_lacking(5));
  }
}

TEST_CASE("A stream that does not answer is unreachable, and lacks nothing") {
  StreamWorld world;
  world.origin.add_records(1'000);
  world.origin.send();
  world.want(500);
  SECTION("from the beginning") {
    world.side.step(world.network.now_ns());
    world.network.freeze("mirror");
  }
  SECTION("while it is read") {
    world.want(1'000, true);
    world.run(500'000'000);
    world.network.freeze("mirror");
    world.want(500, true);
  }
  world.has.clear();
  world.run(3'000'000'000);
  CHECK(world.unreachable > 0);
  CHECK(world.lacks.empty());
  world.network.thaw("mirror");
  world.run(5'000'000'000);
  CHECK(world.has.contains(500));
}

TEST_CASE("A stream that does not exist lacks everything after two seconds") {
  StreamWorld world;
  world.network.delete_stream();
  world.want(5);
  world.run(StreamReader::kNoStreamNs - 100'000'000);
  CHECK(world.lacks.empty());
  CHECK(world.unreachable > 0);
  world.run(1'000'000'000);
  CHECK(world.is_lacking(5));
}

TEST_CASE("What is not taken stays in the stream") {
  StreamWorld world;
  world.origin.add_records(2'000'000);
  world.origin.send(true, 1'000);
  world.want(1);
  for (int i = 0; i < 1'000; ++i) {
    world.network.advance(kTickNs);
    world.side.step(world.network.now_ns());
  }
  std::size_t bytes = 0;
  while (const auto item = world.side.take()) {
    bytes += item->message.size();
    if (!item->message.empty()) world.note(*parse_message(item->message));
  }
  CHECK(bytes < StreamSide::kWaitingBytesMax + kRelayMessageBytesMax);
  CHECK(world.side.dropped() == 0);
  world.run(2'000'000'000);
  CHECK(world.has.size() == 2'000'000);
}

TEST_CASE("A hole that was passed is read again") {
  StreamWorld world;
  world.origin.add_records(1'000);
  world.origin.send();
  world.want(900, true);
  world.run(500'000'000);
  CHECK(world.has.contains(1'000));
  world.want(100, true);
  world.run(2'000'000'000);
  CHECK(world.has.contains(100));
  world.origin.add_records(10);
  world.origin.send();
  world.run(1'000'000'000);
  CHECK(world.has.contains(1'010));
}

}  // namespace lapwing
