// A prune as its client sees it: the answer comes after the files have been removed, and reports
// whether any can be removed.
#include <atomic>
#include <filesystem>
#include <thread>

#include "bus/control/client.h"
#include "os/path.h"
#include "snapshot/journal/segment_file.h"
#include "testing/publisher_fixture.h"

namespace lapwing {
namespace {

constexpr std::uint64_t kSegmentSlots = kSegmentSlotBytesMin / 64;

ControlClient connect_tool(const PublisherSetUp& options) {
  auto client = ControlClient::connect({.path = options.directory + "/" + kControlSocketName,
                                        .role = ClientRole::kTool,
                                        .name = "pruner"},
                                       monotonic_ns() + kHangNs);
  INFO(client.status().ToString());
  REQUIRE(client.ok());
  return *std::move(client);
}

absl::StatusOr<Sequence> prune(ControlClient& client, Sequence below) {
  return client.prune(below, monotonic_ns() + kHangNs);
}

Sequence segment_first(std::uint64_t segment) {
  return segment * kSegmentSlots + 1;
}

bool segment_is_there(const Publisher& publisher, const PublisherSetUp& options,
                      std::uint64_t segment) {
  const std::string journal = options.directory + "/journal/" + publisher.journal_id().hex();
  for (const char* const suffix : {"jnl", "sum", "idx"}) {
    if (std::filesystem::exists(numbered_path(journal, segment, suffix))) return true;
  }
  return false;
}

void publish_durably(Publisher& publisher, std::size_t count) {
  const std::vector<Record> records = records_from(publisher.head() + 1, count);
  REQUIRE(publisher.publish_batch(bytes_of(records)).ok());
  REQUIRE(publisher.flush(Deadline::at_monotonic_ns(monotonic_ns() + kHangNs)).ok());
}

}  // namespace

TEST_CASE(
    "A prune is answered after the segments are removed, with the oldest remaining sequence") {
  const TemporaryDirectory directory;
  const PublisherSetUp options = options_for(directory);
  const auto publisher = open_publisher(options);
  ControlClient client = connect_tool(options);
  for (std::uint64_t gone = 2; gone <= 20; gone += 2) {
    publish_durably(*publisher, 2 * kSegmentSlots + 5);
    const auto oldest = prune(client, segment_first(gone) + 7);
    REQUIRE(oldest.ok());
    CHECK(*oldest == segment_first(gone));
    CHECK_FALSE(segment_is_there(*publisher, options, gone - 1));
    CHECK(segment_is_there(*publisher, options, gone));
  }
}

TEST_CASE("A prune that finds nothing to remove is answered, even if repeated") {
  const TemporaryDirectory directory;
  const PublisherSetUp options = options_for(directory);
  const auto publisher = open_publisher(options);
  ControlClient client = connect_tool(options);
  CHECK(prune(client, kSequenceMax).value() == 1);  // nothing is durable
  publish_durably(*publisher, 3 * kSegmentSlots);
  for (const Sequence below : {segment_first(2), segment_first(2), segment_first(1), Sequence{0}}) {
    CHECK(prune(client, below).value() == segment_first(2));
  }
}

TEST_CASE("A prune beyond durable stops at durable, and does not cover future records") {
  const TemporaryDirectory directory;
  const PublisherSetUp options = options_for(directory);
  const auto publisher = open_publisher(options);
  ControlClient client = connect_tool(options);
  publish_durably(*publisher, 2 * kSegmentSlots + 5);
  CHECK(prune(client, kSequenceMax).value() == segment_first(2));
  publish_durably(*publisher, 4 * kSegmentSlots);
  CHECK(prune(client, 0).value() == segment_first(2));
  CHECK(segment_is_there(*publisher, options, 2));
}

TEST_CASE("Without a journal, the answer to a prune contains the reason") {
  const TemporaryDirectory directory;
  PublisherSetUp options = options_for(directory);
  keep_no_journal(options);
  const auto publisher = open_publisher(options);
  ControlClient client = connect_tool(options);
  for (int i = 0; i < 3; ++i) CHECK(errc_of(prune(client, 5).status()) == Errc::kNoJournal);
}

TEST_CASE("A failed journal is not pruned, and the answer contains the reason") {
  const TemporaryDirectory directory;
  PublisherSetUp options = options_for(directory);
  options.make_queue = [] { return std::make_unique<FailingQueue>(3); };
  const auto publisher = open_publisher(options);
  const std::vector<Record> records = records_from(1, 30 * kCapacity);
  REQUIRE(*publisher->publish_batch(bytes_of(records)) == records.size());
  REQUIRE(errc_of(publisher->flush(Deadline::at_monotonic_ns(monotonic_ns() + kHangNs))) ==
          Errc::kJournalFailed);
  ControlClient client = connect_tool(options);
  for (int i = 0; i < 2; ++i) {
    CHECK(errc_of(prune(client, kSequenceMax).status()) == Errc::kJournalFailed);
  }
  CHECK(segment_is_there(*publisher, options, 0));
}

TEST_CASE("A prune that waits when the publisher closes is answered that it closed") {
  const TemporaryDirectory directory;
  PublisherSetUp options = options_for(directory);
  std::atomic<bool> hold = false;
  options.make_queue = [&] {
    return std::make_unique<HoldingQueue>(hold, WriteRequest::Kind::kSyncDirectory);
  };
  options.on_step = [&](const char* step) {
    if (std::string(step) == "close-journal") hold = false;
  };
  const auto publisher = open_publisher(options);
  publish_durably(*publisher, 4 * kSegmentSlots);
  ControlClient client = connect_tool(options);
  hold = true;
  absl::Status answer;
  std::thread asker([&] { answer = prune(client, segment_first(3)).status(); });
  const std::uint64_t deadline_ns = monotonic_ns() + kHangNs;
  const std::string first =
      numbered_path(options.directory + "/journal/" + publisher->journal_id().hex(), 0, "jnl");
  while (std::filesystem::exists(first) && monotonic_ns() < deadline_ns) {
    wait_readable(-1, 1'000'000);
  }
  CHECK_FALSE(std::filesystem::exists(first));  // the removal has begun but is blocked
  CHECK(publisher->close().ok());
  asker.join();
  CHECK(errc_of(answer) == Errc::kClosed);
}

}  // namespace lapwing
