// The publisher as its user sees it: what publish guarantees, which calls wait, and how they fail.
#include "publisher/publisher_set_up.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bus/control/socket.h"
#include "bus/ring_reader.h"
#include "os/exclusive_lock.h"
#include "proto/ring_counters.h"
#include "snapshot/journal/session_log.h"
#include "testing/closing_publisher.h"
#include "testing/publisher_fixture.h"

namespace lapwing {

TEST_CASE("Records are numbered from 1 and are in the ring as soon as publish returns") {
  const TemporaryDirectory directory;
  const PublisherSetUp options = options_for(directory);
  const auto publisher = open_publisher(options);
  const RingMap map = map_ring(options);
  const RingReader reader(map);
  for (Sequence n = 1; n <= 3 * kCapacity; ++n) {
    const Record record = record_of(n);
    REQUIRE(*publisher->publish(std::as_bytes(std::span(record))) == n);
    REQUIRE(reader.head() == n);
    Record read{};
    REQUIRE(reader.try_read(n, std::as_writable_bytes(std::span(read)).data()).outcome ==
            RingRead::kRecord);
    REQUIRE(read == record);
  }
}

// Missing pages are holes in a tmpfs file.
TEST_CASE("A new ring is completely in memory: at once without a journal, soon after with one") {
  for (const bool journal : {false, true}) {
    const TemporaryDirectory directory;
    PublisherSetUp options = options_for(directory);
    if (!journal) keep_no_journal(options);
    options.capacity = std::uint64_t{1} << 18;  // 16 MiB
    const auto publisher = open_publisher(options);
    const auto bus = read_bus_description(options.directory);
    REQUIRE(bus.ok());
    const absl::StatusOr<OpenRing> ring = OpenRing::open(bus->ring_path);
    REQUIRE(ring.ok());
    const auto filled = [&] { return lseek(ring->fd(), 0, SEEK_HOLE); };
    const auto whole = static_cast<off_t>(ring->bytes());
    if (!journal) CHECK(filled() == whole);
    for (int i = 0; filled() != whole && i < 10'000; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    CHECK(filled() == whole);
    REQUIRE(publisher->close().ok());
  }
}

TEST_CASE("A publisher can be closed while its ring is being filled") {
  const TemporaryDirectory directory;
  PublisherSetUp options = options_for(directory);
  options.capacity = std::uint64_t{1} << 19;  // 32 MiB
  const auto publisher = open_publisher(options);
  const Record record = record_of(1);
  REQUIRE(publisher->publish(std::as_bytes(std::span(record))).ok());
  REQUIRE(publisher->close().ok());
  CHECK(publisher->durable() == 1);
}

TEST_CASE("A clean close leaves no file of the ring") {
  const TemporaryDirectory directory;
  const PublisherSetUp options = options_for(directory);
  const auto publisher = open_publisher(options);
  const auto bus = read_bus_description(options.directory);
  REQUIRE(bus.ok());
  const std::filesystem::path home = std::filesystem::path(bus->ring_path).parent_path();
  REQUIRE(home != options.directory);
  REQUIRE(std::filesystem::exists(home));
  REQUIRE(publisher->close().ok());
  CHECK_FALSE(std::filesystem::exists(home));
  CHECK(std::filesystem::exists(home.parent_path()));
}

TEST_CASE("A publisher's threads leave signals to the threads of the program") {
  const TemporaryDirectory directory;
  const auto publisher = open_publisher(options_for(directory));
  const auto word_of = [](const std::filesystem::path& path, const std::string& label) {
    std::ifstream file(path);
    std::string word;
    while (!label.empty() && file >> word && word != label) continue;
    file >> word;
    return word;
  };
  // A thread that does not have its name yet has not set its signal mask yet either.
  std::map<std::string, std::uint64_t> blocked;
  while (!blocked.contains("lapwing-file") || !blocked.contains("lapwing-service")) {
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
      const std::string name = word_of(task.path() / "comm", "");
      const std::string mask = word_of(task.path() / "status", "SigBlk:");
      if (name.starts_with("lapwing-")) blocked[name] = std::stoull(mask, nullptr, 16);
    }
    std::this_thread::yield();
  }
  for (const auto& [name, mask] : blocked) {
    for (const int signal : {SIGINT, SIGTERM, SIGUSR1}) {
      INFO(name << ", signal " << signal);
      CHECK((mask >> (signal - 1) & 1) == 1);
    }
  }
}

TEST_CASE("A batch many times the ring gets through, with a journal and without") {
  const TemporaryDirectory directory;
  PublisherSetUp options = options_for(directory);
  if (GENERATE(true, false)) keep_no_journal(options);
  const auto publisher = open_publisher(options);
  const std::vector<Record> records = records_from(1, 20 * kCapacity + 7);
  REQUIRE(*publisher->publish_batch(bytes_of(records)) == records.size());
  REQUIRE(publisher->head() == records.size());
  REQUIRE(publisher->close().ok());
  if (options.journal) CHECK(publisher->durable() == records.size());
}

TEST_CASE("A batch of any length never makes a good slot look damaged to a reader") {
  const TemporaryDirectory directory;
  PublisherSetUp options = options_for(directory);
  keep_no_journal(options);  // with a journal, the gate also moves head
  const auto publisher = open_publisher(options);
  const RingMap map = map_ring(options);
  std::atomic<bool> done = false;
  std::atomic<std::uint64_t> laps = 0;
  std::uint64_t damaged = 0;
  std::thread follower([&] {
    const RingReader reader(map);
    std::array<std::byte, sizeof(Record)> out;
    for (Sequence n = 1; !done;) {
      const RingReadResult read = reader.try_read(n, out.data());
      if (read.outcome == RingRead::kRecord) ++n;
      if (read.outcome == RingRead::kCorrupt) ++damaged;
      if (read.outcome != RingRead::kLapped) continue;
      ++laps;
      n = read.resume;
    }
  });
  const std::vector<Record> records = records_from(1, 64 * kCapacity);
  const std::uint64_t deadline_ns = monotonic_ns() + kHangNs;
  // Also wait until the follower is lapped, because it may not run for a while.
  while ((publisher->head() < 100 * records.size() || laps == 0) && monotonic_ns() < deadline_ns) {
    REQUIRE(publisher->publish_batch(bytes_of(records)).ok());
  }
  done = true;
  follower.join();
  CHECK(damaged == 0);
  CHECK(laps > 0);
}

TEST_CASE("flush returns once everything published is durable") {
  const TemporaryDirectory directory;
  PublisherSetUp options = options_for(directory);
  options.sync_interval = kOnRequest;  // only on request
  const auto publisher = open_publisher(options);
  const std::vector<Record> records = records_from(1, 100);
  REQUIRE(*publisher->publish_batch(bytes_of(records)) == 100);
  CHECK(publisher->durable() < 100);
  REQUIRE(publisher->flush(Deadline::at_monotonic_ns(monotonic_ns() + kHangNs)).ok());
  CHECK(publisher->durable() == 100);
}

TEST_CASE("Page 1 counts syncs, bytes, stalls and wakes, from the session's start") {
  const TemporaryDirectory directory;
  const PublisherSetUp options = options_for(directory);
  for (int session = 0; session < 2; ++session) {
    const auto publisher = open_publisher(options);
    const RingMap ring = map_ring(options);
    CHECK(load_count(ring.words().counters_kept) == 1);
    CHECK(load_durations(ring.words().stalls) == Durations{});
    const std::vector<Record> records = records_from(1, 8 * kCapacity);
    REQUIRE(publisher->publish_batch(bytes_of(records)).ok());
    REQUIRE(publisher->flush(Deadline::at_monotonic_ns(monotonic_ns() + kHangNs)).ok());
    const PublisherCounters counters = publisher->counters();
    REQUIRE(counters.journal_stalls > 0);  // eight rings in one batch
    const Durations stalls = load_durations(ring.words().stalls);
    CHECK(stalls.count() == counters.journal_stalls);
    CHECK(stalls.sum_ns == counters.journal_stall_ns_total);
    CHECK(load_count(ring.words().idle_wakes) == counters.idle_wakes);
    // The file thread stores durable before the sync durations.
    const std::uint64_t deadline_ns = monotonic_ns() + kHangNs;
    while (load_durations(ring.words().syncs).count() == 0 && monotonic_ns() < deadline_ns) {
      std::this_thread::yield();
    }
    const Durations syncs = load_durations(ring.words().syncs);
    CHECK(syncs.count() > 0);
    CHECK(syncs.sum_ns > 0);
    CHECK(load_count(ring.words().journal_bytes) >= 8 * kCapacity * sizeof(Record));
    CHECK(load_count(ring.words().journal_bytes) < 80 * kCapacity * sizeof(Record));
  }
}

TEST_CASE("flush without a journal is refused, not ignored") {
  const TemporaryDirectory directory;
  PublisherSetUp options = options_for(directory);
  keep_no_journal(options);
  const auto publisher = open_publisher(options);
  CHECK(errc_of(publisher->flush(Deadline::at_monotonic_ns(monotonic_ns() + kHangNs))) ==
        Errc::kNoJournal);
}

TEST_CASE("After close nothing is published, and the error contains the reason") {
  const TemporaryDirectory directory;
  const auto publisher = open_publisher(options_for(directory));
  const Record record = record_of(1);
  REQUIRE(*publisher->publish(std::as_bytes(std::span(record))) == 1);
  REQUIRE(publisher->close().ok());
  REQUIRE(publisher->close().ok());
  CHECK(!publisher->publish(std::as_bytes(std::span(record))).ok());
  CHECK(!publisher->publish_batch(std::as_bytes(std::span(record))).ok());
  CHECK(errc_of(publisher->status()) == Errc::kClosed);
  CHECK(errc_of(publisher->flush(Deadline::at_monotonic_ns(monotonic_ns() + kHangNs))) ==
        Errc::kClosed);
  CHECK(publisher->head() == 1);
}

TEST_CASE("The next session continues after a clean one, and leaves no ring behind") {
  const TemporaryDirectory directory;
  const PublisherSetUp options = options_for(directory);
  std::string first_ring;
  {
    const auto publisher = open_publisher(options);
    first_ring = map_ring(options).path();
    const std::vector<Record> records = records_from(1, 77);
    REQUIRE(*publisher->publish_batch(bytes_of(records)) == 77);
  }
  CHECK_FALSE(std::filesystem::exists(first_ring));
  const auto publisher = open_publisher(options);
  CHECK(publisher->last_session().how == Settlement::kContinued);
  CHECK(publisher->first() == 78);
}

TEST_CASE("The next session may skip what a session published of a source") {
  const TemporaryDirectory directory;
  PublisherSetUp options = options_for(directory);
  options.source_id = 42;
  options.resume = true;
  const std::vector<Record> records = records_from(1, 50);
  for (const std::uint64_t before : {0U, 50U, 100U}) {
    const auto publisher = open_publisher(options);
    CHECK(publisher->source_offset() == before);
    REQUIRE(*publisher->publish_batch(bytes_of(records)) == before + 50);
  }
  options.source_id = 43;
  CHECK(open_publisher(options)->source_offset() == 0);
}

TEST_CASE("A second publisher is refused while the first one lives, and accepted afterwards") {
  const TemporaryDirectory directory;
  const PublisherSetUp options = options_for(directory);
  {
    const auto publisher = open_publisher(options);
    const auto lock = ExclusiveLock::take(options.directory + "/" + kLockFileName, 0);
    CHECK(errc_of(lock.status()) == Errc::kInUse);
  }
  // Because of io_uring, the kernel may hold the lock slightly longer.
  CHECK(ExclusiveLock::take(options.directory + "/" + kLockFileName, kLockRetryNs).ok());
}

TEST_CASE("A failed write ends the journal, and live publishing continues") {
  const TemporaryDirectory directory;
  PublisherSetUp options = options_for(directory);
  std::vector<std::string> lines;
  std::mutex lines_mutex;
  options.log = [&](const std::string& line) {
    const std::lock_guard lock(lines_mutex);
    lines.push_back(line);
  };
  options.make_queue = [] { return std::make_unique<FailingQueue>(3); };
  const auto publisher = open_publisher(options);
  const std::vector<Record> records = records_from(1, 30 * kCapacity);
  REQUIRE(*publisher->publish_batch(bytes_of(records)) == records.size());
  CHECK(errc_of(publisher->flush(Deadline::at_monotonic_ns(monotonic_ns() + kHangNs))) ==
        Errc::kJournalFailed);
  CHECK(publisher->journal().state == JournalState::kFailed);
  CHECK(publisher->journal().sys_errno == EIO);
  CHECK(publisher->durable() < records.size());
  CHECK_FALSE(publisher->close().ok());
  const std::lock_guard lock(lines_mutex);
  CHECK(std::ranges::any_of(lines, [](const std::string& line) {
    return line.find("journal ended") != std::string::npos;
  }));
}

TEST_CASE("With kStop, a failed write ends publishing with the reason") {
  const TemporaryDirectory directory;
  PublisherSetUp options = options_for(directory);
  options.on_journal_failure = OnJournalFailure::kStop;
  options.make_queue = [] { return std::make_unique<FailingQueue>(3); };
  const auto publisher = open_publisher(options);
  const std::vector<Record> records = records_from(1, 30 * kCapacity);
  CHECK(!publisher->publish_batch(bytes_of(records)).ok());
  CHECK(errc_of(publisher->status()) == Errc::kJournalFailed);
  CHECK(publisher->head() < records.size());
  // Every record that left the ring is in the journal.
  CHECK(publisher->head() <= load_archived(map_ring(options).words()) + kCapacity);
}

// While the barrier is closed, no entry in `sessions` reaches the disk.
class Barrier {
 public:
  void shut() { set(true); }
  void open() { set(false); }
  // Opens on its own to avoid a hang; opened_in_time() then returns false.
  void pass() {
    std::unique_lock lock(mutex_);
    const bool opened =
        changed_.wait_for(lock, std::chrono::nanoseconds(kHangNs), [this] { return !shut_; });
    in_time_ = in_time_ && opened;
    shut_ = false;
  }
  bool opened_in_time() {
    const std::lock_guard lock(mutex_);
    return in_time_;
  }

 private:
  void set(bool shut) {
    const std::lock_guard lock(mutex_);
    shut_ = shut;
    changed_.notify_all();
  }
  std::mutex mutex_;
  std::condition_variable changed_;
  bool shut_ = false;
  bool in_time_ = true;
};

class BarredDisk final : public PosixDisk {
 public:
  explicit BarredDisk(Barrier& barrier) : barrier_(barrier) {}
  absl::StatusOr<FileHandle> open(const std::string& path, const OpenOptions& options) override {
    auto file = PosixDisk::open(path, options);
    if (file.ok() && path.find("/sessions") != std::string::npos) sessions_.insert(*file);
    return file;
  }
  absl::Status write_at(FileHandle file, std::uint64_t offset,
                        std::span<const std::byte> bytes) override {
    if (sessions_.contains(file)) barrier_.pass();
    return PosixDisk::write_at(file, offset, bytes);
  }

 private:
  Barrier& barrier_;
  std::set<FileHandle> sessions_;
};

TEST_CASE("A failed journal is reported and blocks nothing while its end is being recorded") {
  const TemporaryDirectory directory;
  PublisherSetUp options = options_for(directory);
  Barrier barrier;
  std::atomic<bool> hold = false;
  options.make_disk = [&] { return std::make_unique<BarredDisk>(barrier); };
  JournalState expected = JournalState::kFailed;
  SECTION("after a failed write") {
    options.make_queue = [] { return std::make_unique<FailingQueue>(3); };
  }
  SECTION("when it is shed") {
    options.on_journal_lag = OnJournalLag::kShed;
    options.make_queue = [&] {
      return std::make_unique<HoldingQueue>(hold, WriteRequest::Kind::kWrite);
    };
    expected = JournalState::kShed;
  }
  const auto publisher = open_publisher(options);
  barrier.shut();
  hold = expected == JournalState::kShed;
  const std::vector<Record> records = records_from(1, 30 * kCapacity);
  CHECK(*publisher->publish_batch(bytes_of(records)) == records.size());
  CHECK(errc_of(publisher->flush(Deadline::at_monotonic_ns(monotonic_ns() + kHangNs))) ==
        Errc::kJournalFailed);
  CHECK(publisher->journal().state == expected);  // a start after a kill would find it
  PosixDisk disk;
  const auto sessions = SessionLog::open_read_only(disk, options.directory + "/journal");
  REQUIRE(sessions.ok());
  CHECK_FALSE(sessions->last()->end.has_value());
  CHECK(barrier.opened_in_time());
  barrier.open();
  hold = false;
  CHECK_FALSE(publisher->close().ok());
}

TEST_CASE("After a failed journal the next session begins a new one at sequence 1") {
  const TemporaryDirectory directory;
  PublisherSetUp options = options_for(directory);
  Id128 failed_journal;
  {
    options.make_queue = [] { return std::make_unique<FailingQueue>(1); };
    const auto publisher = open_publisher(options);
    failed_journal = publisher->journal_id();
    const std::vector<Record> records = records_from(1, 4 * kCapacity);
    REQUIRE(*publisher->publish_batch(bytes_of(records)) == records.size());
  }
  options.make_queue = nullptr;
  const auto publisher = open_publisher(options);
  CHECK(publisher->last_session().how == Settlement::kReset);
  CHECK(publisher->first() == 1);
  CHECK(publisher->journal_id() != failed_journal);
}

TEST_CASE("Each idle period costs the publish path one wake of each sleeper, however many follow") {
  const TemporaryDirectory directory;
  const auto publisher = open_publisher(options_for(directory));
  const Record record = record_of(1);
  const auto publish_after_idleness = [&] {
    // The file thread sleeps once everything is durable and no record arrives for a while.
    const std::uint64_t before = publisher->counters().idle_wakes;
    const std::uint64_t deadline_ns = monotonic_ns() + kHangNs;
    while (publisher->counters().idle_wakes == before && monotonic_ns() < deadline_ns) {
      REQUIRE(publisher->flush(Deadline::at_monotonic_ns(deadline_ns)).ok());
      futex_wait(reinterpret_cast<const std::uint32_t*>(&before),
                 static_cast<std::uint32_t>(before), 30'000'000);
      REQUIRE(publisher->publish(std::as_bytes(std::span(record))).ok());
    }
    return publisher->counters().idle_wakes - before;
  };
  CHECK(publish_after_idleness() == 1);  // no reader is parked, so the service thread needs no wake
  CHECK(publish_after_idleness() == 1);
  CHECK(publisher->counters().doorbells == 0);
}

TEST_CASE("Publisher options that would be ignored are refused, and the error names both") {
  const TemporaryDirectory directory;
  const auto refusal = [](const PublisherSetUp& options) {
    const absl::Status status = closing(open_with_seams(options)).status();
    CHECK(errc_of(status) == Errc::kInvalidArgument);
    CHECK_FALSE(std::filesystem::exists(options.directory));
    return std::string(status.message());
  };
  const auto says = [](const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  };
  PublisherSetUp both = options_for(directory);
  both.resume = true;
  both.source_offset = 1;
  CHECK(says(refusal(both), "source_offset and resume"));

  const std::pair<const char*, void (*)(PublisherOptions&)> kOfJournal[] = {
      {"resume", [](PublisherOptions& options) { options.resume = true; }},
      {"journal_directory", [](PublisherOptions& options) { options.journal_directory = "j"; }},
      {"segment_bytes", [](PublisherOptions& options) { options.segment_bytes *= 2; }},
      {"sync_interval", [](PublisherOptions& options) { options.sync_interval = kOnRequest; }},
      {"retain_bytes", [](PublisherOptions& options) { options.retain_bytes = 1; }},
      {"retain_age", [](PublisherOptions& options) { options.retain_age = std::chrono::hours(1); }},
      {"on_journal_lag",
       [](PublisherOptions& options) { options.on_journal_lag = OnJournalLag::kShed; }},
      {"on_journal_failure",
       [](PublisherOptions& options) { options.on_journal_failure = OnJournalFailure::kStop; }}};
  for (const auto& [name, set] : kOfJournal) {
    PublisherSetUp without = options_for(directory);
    keep_no_journal(without);
    set(without);
    CHECK(says(refusal(without), absl::StrCat(name, " requires a journal, but journal is false")));
  }
  PublisherSetUp without = options_for(directory);
  keep_no_journal(without);
  without.source_id = 7;
  without.source_offset = 8;
  CHECK(open_publisher(without)->source_offset() == 8);
}

TEST_CASE("A start that fails late leaves nothing that prevents the next one") {
  const TemporaryDirectory directory;
  PublisherSetUp options = options_for(directory);
  std::filesystem::create_directory(options.directory);
  std::filesystem::permissions(options.directory, std::filesystem::perms::owner_all);
  const std::string socket = options.directory + "/" + kControlSocketName;
  std::filesystem::create_directory(socket);
  const auto refused = closing(open_with_seams(options));
  CHECK(errc_of(refused.status()) == Errc::kNotALapwingFile);
  std::filesystem::remove(socket);
  const auto publisher = open_publisher(options);
  CHECK(publisher->first() == 1);
  CHECK_FALSE(publisher->last_session().void_first != kNoSequence);
}

}  // namespace lapwing
