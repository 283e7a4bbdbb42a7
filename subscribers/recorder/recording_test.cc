#include "lapwing/recording.h"

#include <sys/mman.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "lapwing/memory_state.h"
#include "os/posix_io.h"
#include "os/unique_fd.h"
#include "snapshot/bus_directory.h"
#include "testing/child_process.h"
#include "testing/order_records.h"
#include "testing/recorder_fixture.h"
#include "testing/temporary_directory.h"

namespace lapwing {
namespace {

// The directories of a bus that has metadata and of a recording.
struct RecordedBus {
  RecordedBus() { REQUIRE(write_feed_metadata(directory.path(), mbo_metadata(), {}).ok()); }

  RecordingOptions options() const { return {.path = path, .directory = directory.path()}; }
  Recording open() const {
    auto opened = Recording::open(options(), Deadline::now());
    INFO(opened.status());
    REQUIRE(opened.ok());
    return *std::move(opened);
  }
  std::vector<Sequence> records() const {
    PosixDisk disk;
    const RecordedFile file = read_recorded(disk, path);
    INFO(file.status);
    REQUIRE(file.status.ok());
    return file.records;
  }

  TemporaryDirectory directory;
  std::string path = directory.file("es.dbn.zst");
};

absl::Status append(Recording& recording, Sequence first, Sequence last) {
  const std::string bytes = feed_records(first, last - first + 1);
  return recording.append({dbn::kSchemaMbo, std::as_bytes(std::span(bytes)), feed_position(last)});
}

// The entries of a book with `orders` orders, in key order.
std::vector<std::byte> entries_of_orders(const Fold& fold, std::uint64_t orders) {
  MemoryState state(fold.shape());
  for (Sequence n = 1; n <= orders; ++n) {
    dbn::MboMsg record = feed_record(n);
    record.action = dbn::Action::kAdd;
    record.side = dbn::Side::kBid;
    record.size = 1;
    fold.apply(n, std::as_bytes(std::span(&record, 1)), state);
  }
  std::vector<std::byte> entries;
  state.for_each([&](std::span<const std::byte> entry) {
    entries.insert(entries.end(), entry.begin(), entry.end());
  });
  return entries;
}

TEST_CASE("A recording continues after its last commit, and cuts off later bytes") {
  const RecordedBus bus;
  {
    Recording recording = bus.open();
    CHECK_FALSE(recording.position());
    REQUIRE(append(recording, 1, 150).ok());
    REQUIRE(append(recording, 151, 300).ok());
    REQUIRE(recording.commit().ok());
    CHECK(recording.position() == feed_position(300));
    REQUIRE(append(recording, 301, 330).ok());
  }
  Recording recording = bus.open();
  REQUIRE(recording.position() == feed_position(300));
  REQUIRE(append(recording, 301, 600).ok());
  REQUIRE(recording.finish().ok());
  CHECK(recording.counters().records == 600);
  CHECK(recording.counters().files == 1);
  std::vector<Sequence> expected(600);
  std::iota(expected.begin(), expected.end(), 1);
  CHECK((bus.records() == expected));
}

TEST_CASE("A second recording of a path is refused with the process that has it") {
  const RecordedBus bus;
  std::optional<Recording> first(bus.open());
  const auto second = Recording::open(bus.options(), Deadline::now());
  CHECK(errc_of(second.status()) == Errc::kInUse);
  const std::string words(second.status().message());
  CHECK(words.find(bus.path + ".lock is held by process " + std::to_string(getpid())) == 0);
  CHECK(words.find("record to another name") != std::string::npos);
  first.reset();
  CHECK(Recording::open(bus.options(), Deadline::now()).ok());
}

TEST_CASE("A killed recorder releases the path, and its commits are continued") {
  const RecordedBus bus;
  const Shared<Complaint> complaint;
  ChildProcess child([&] {
    auto recording = Recording::open(bus.options(), Deadline::now());
    if (!recording.ok()) return complaint->say(recording.status().ToString());
    if (!append(*recording, 1, 30).ok() || !recording->commit().ok()) {
      return complaint->say("nothing could be recorded");
    }
    raise(SIGSTOP);
    return 0;
  });
  int status = 0;
  REQUIRE(waitpid(child.pid(), &status, WUNTRACED) == child.pid());
  INFO(complaint->text);
  REQUIRE(WIFSTOPPED(status));
  CHECK(errc_of(Recording::open(bus.options(), Deadline::now()).status()) == Errc::kInUse);
  child.send(SIGKILL);
  CHECK(child.wait() == -SIGKILL);
  Recording recording = bus.open();
  CHECK(recording.position() == feed_position(30));
  REQUIRE(append(recording, 31, 33).ok());
  REQUIRE(recording.finish().ok());
  CHECK(bus.records().size() == 33);
}

TEST_CASE("A recording from a snapshot begins with the state, never with part of one") {
  const RecordedBus bus;
  const std::unique_ptr<Fold> fold = *make_fold(kFoldOrders, dbn::kSchemaMbo);
  const std::vector<std::byte> entries = entries_of_orders(*fold, 7);
  REQUIRE(entries.size() > fold->shape().entry_bytes);
  std::size_t state_records = 0;
  {
    Recording recording = bus.open();
    CHECK(errc_of(recording.append_state(*fold, std::span(entries).first(1))) == Errc::kRecordSize);
  }
  {
    Recording recording = bus.open();
    REQUIRE(recording.append_state(*fold, entries).ok());
    REQUIRE(recording.end_state({.last = feed_position(900)}).ok());
    REQUIRE(recording.commit().ok());
    CHECK(recording.position() == feed_position(900));
    CHECK(errc_of(recording.append_state(*fold, entries)) == Errc::kMisuse);
    REQUIRE(append(recording, 901, 903).ok());
    REQUIRE(recording.finish().ok());
    state_records = bus.records().size() - 3;
    CHECK(state_records == 8);  // a clear and seven orders
  }
  RecordedBus without;
  Recording recording = without.open();
  REQUIRE(recording.append_state(*fold, entries).ok());
  REQUIRE(append(recording, 1, 3).ok());
  REQUIRE(recording.finish().ok());
  CHECK(without.records() == std::vector<Sequence>{1, 2, 3});
}

TEST_CASE("A record file can also begin with the latest records") {
  const RecordedBus bus;
  const std::string path = bus.directory.file("desk.records");
  const Schema schema = schema_of<Signal>();
  const std::unique_ptr<Fold> fold = *make_fold(kFoldLatest, schema);
  const std::string state = signal_records(1, 3);  // for three instruments
  const std::string more = signal_records(901, 2);
  {
    auto recording = Recording::open({.path = path, .directory = bus.directory.path()});
    REQUIRE(recording.ok());
    REQUIRE(recording->append_state(*fold, std::as_bytes(std::span(state))).ok());
    const RecordBatch end = feed_batch("", 900, FeedOf::kSignals);
    REQUIRE(recording->end_state(end).ok());
    REQUIRE(recording->append(feed_batch(more, 902, FeedOf::kSignals)).ok());
    REQUIRE(recording->finish().ok());
    CHECK(recording->position() == feed_position(902));
  }
  const std::string head = *encode_record_file_head(signal_head());
  CHECK((read_file(path) == head + state + more));
}

TEST_CASE("A finished recording accepts no more records") {
  const RecordedBus bus;
  Recording recording = bus.open();
  REQUIRE(append(recording, 1, 3).ok());
  REQUIRE(recording.finish().ok());
  CHECK(errc_of(append(recording, 4, 6)) == Errc::kMisuse);
  CHECK(errc_of(recording.finish()) == Errc::kMisuse);
  CHECK(bus.records().size() == 3);
}

TEST_CASE("Invalid options are refused before anything is created") {
  const RecordedBus bus;
  const auto refused = [](const RecordingOptions& options) {
    return errc_of(Recording::open(options, Deadline::now()).status()) == Errc::kInvalidArgument;
  };
  CHECK(refused({}));
  CHECK(refused({.path = bus.path}));
  CHECK(refused({.directory = bus.directory.path()}));
  RecordingOptions options = bus.options();
  options.rotation = {.bytes = kRotateBytesMin - 1};
  CHECK(refused(options));
  options.rotation = {.every = std::chrono::seconds(-1)};
  CHECK(refused(options));
  CHECK_FALSE(std::filesystem::exists(bus.path + ".lock"));
}

TEST_CASE("A bus without DBN metadata is not recorded, and the message contains what is missing") {
  const TemporaryDirectory directory;
  auto recording =
      Recording::open({.path = directory.file("es.dbn"), .directory = directory.path()});
  REQUIRE(recording.ok());
  const absl::Status refused = append(*recording, 1, 3);
  CHECK(errc_of(refused) == Errc::kBadInput);
  CHECK(std::string(refused.message()).find("PublisherOptions::metadata") != std::string::npos);
  CHECK_FALSE(std::filesystem::exists(directory.file("es.dbn")));
}

TEST_CASE("Every call of a recording returns forked in a child, and its parent continues") {
  const RecordedBus bus;
  Recording recording = bus.open();
  REQUIRE(append(recording, 1, 100).ok());
  REQUIRE(recording.commit().ok());
  REQUIRE(append(recording, 101, 150).ok());
  const auto latest = make_fold(kFoldLatest, dbn::kSchemaMbo);
  ChildProcess child([&] {
    const auto is_forked = [](const absl::Status& why) { return errc_of(why) == Errc::kForked; };
    if (!is_forked(append(recording, 151, 160))) return __LINE__;
    if (!is_forked(recording.append_state(**latest, {}))) return __LINE__;
    if (!is_forked(recording.end_state({.last = feed_position(150)}))) return __LINE__;
    if (!is_forked(recording.commit()) || !is_forked(recording.finish())) return __LINE__;
    if (recording.position()->sequence != 100) return __LINE__;
    // The child's own files get the descriptor numbers that the recording's files had.
    std::vector<UniqueFd> own;
    for (int i = 0; i < 100; ++i) {
      own.emplace_back(memfd_create("own", MFD_CLOEXEC));
      if (write(own.back().get(), "mine", 4) != 4) return __LINE__;
    }
    {
      [[maybe_unused]] const Recording gone = std::move(recording);
    }
    for (const UniqueFd& fd : own) {
      char found[8] = {};
      if (pread(fd.get(), found, sizeof found, 0) != 4 || std::memcmp(found, "mine", 4) != 0) {
        return __LINE__;
      }
    }
    return 0;
  });
  CHECK(child.wait() == 0);
  REQUIRE(append(recording, 151, 200).ok());
  REQUIRE(recording.finish().ok());
  CHECK(bus.records().size() == 200);
}

}  // namespace
}  // namespace lapwing
