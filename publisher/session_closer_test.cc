// The end of a session: which call ends it, the order of the steps, what is kept, and how errors
// are reported.
#include "publisher/session_closer.h"

#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "proto/ring_words.h"
#include "testing/publisher_fixture.h"
#include "testing/started_parts.h"

namespace lapwing {
namespace {

// Puts a directory at the path of bus.json.
void obstruct_description(const std::string& directory) {
  std::filesystem::remove(directory + "/bus.json");
  std::filesystem::create_directories(directory + "/bus.json/in-the-way");
}

TEST_CASE("Only the first call of begin or leave has to end the session") {
  const TemporaryDirectory directory;
  StartedParts parts(options_for(directory));
  SessionCloser& closer = parts.closer;
  CHECK_FALSE(closer.has_begun());
  const bool left_first = GENERATE(false, true);
  CHECK((left_first ? closer.leave() : closer.begin()));
  CHECK(closer.has_begun());
  CHECK_FALSE(closer.begin());
  CHECK_FALSE(closer.leave());
  CHECK_FALSE(closer.is_over());
  closer.run();
  CHECK(closer.is_over());
  CHECK(closer.result().ok());
  CHECK_FALSE(closer.begin());
  CHECK_FALSE(closer.leave());
  CHECK(closer.is_over());
}

TEST_CASE("The journal ends before the ring does, the socket before the names, the locks last") {
  const TemporaryDirectory directory;
  PublisherSetUp options = options_for(directory);
  const bool journal = GENERATE(true, false);
  if (!journal) keep_no_journal(options);
  std::vector<std::string> steps;
  StartedParts* watched = nullptr;
  std::vector<RingState> states;
  options.on_step = [&](const std::string& step) {
    if (watched == nullptr) return;
    steps.push_back(step);
    states.push_back(load_ring_state(watched->words()));
    CHECK(std::filesystem::exists(watched->session.ring->path()));
    CHECK(watched->session.locks->size() == (journal ? 2 : 1));
  };
  StartedParts parts(options);
  const std::string ring = parts.session.ring->path();
  watched = &parts;
  REQUIRE(parts.closer.begin());
  parts.closer.run();
  CHECK(steps ==
        std::vector<std::string>{"close-journal", "close-ring", "close-socket", "unlink-ring"});
  CHECK(states == std::vector{RingState::kRunning, RingState::kRunning, RingState::kClosed,
                              RingState::kClosed});
  CHECK_FALSE(std::filesystem::exists(ring));
  CHECK(read_bus_description(options.directory)->closed);
  CHECK(parts.session.locks->empty());
  options.take_over_ns = 0;
  options.on_step = [](const char*) {};
  StartedParts next(options);  // while the last session's objects still exist
  CHECK(next.session.past.end == SessionEnd::kClosed);
  REQUIRE(next.closer.begin());
  next.closer.run();
}

TEST_CASE("An end that failed is logged if the publisher was left, and returned in any case") {
  const TemporaryDirectory directory;
  PublisherSetUp options = options_for(directory);
  std::vector<std::string> events;
  options.log = [&](const LogEntry& entry) { events.push_back(entry.event); };
  const auto [begins, is_left] =
      GENERATE(std::pair(true, false), std::pair(true, true), std::pair(false, true));
  StartedParts parts(options);
  obstruct_description(options.directory);
  if (begins) CHECK(parts.closer.begin());
  if (is_left) CHECK(parts.closer.leave() == !begins);
  parts.closer.run();
  CHECK(parts.closer.is_over());
  CHECK_FALSE(parts.closer.result().ok());
  CHECK(std::ranges::count(events, "close-failed") == (is_left ? 1 : 0));
}

TEST_CASE("The end of a close wakes the call that waits for it") {
  const TemporaryDirectory directory;
  StartedParts parts(options_for(directory));
  const std::uint32_t bell = parts.gate.bell();
  REQUIRE(parts.closer.begin());
  CHECK(parts.gate.bell() == bell);
  parts.closer.run();
  CHECK(parts.gate.bell() != bell);
  CHECK(parts.waits.wait_for_close([&] { return parts.closer.is_over(); }, Deadline::now()).ok());
}

}  // namespace
}  // namespace lapwing
