// A second publisher is refused, even if some of the evidence for the running one was removed.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>

#include "bus/control/socket.h"
#include "os/exclusive_lock.h"
#include "publisher/lock_watch.h"
#include "snapshot/journal/session_log.h"
#include "testing/closing_publisher.h"
#include "testing/publisher_fixture.h"

namespace lapwing {
namespace {

constexpr std::size_t kLivingRecords = 100;

std::vector<std::string> lock_files(const PublisherSetUp& options) {
  const std::string journal = options.directory + "/" + kJournalDirectoryName;
  std::vector<std::string> paths = {options.directory + "/" + kLockFileName};
  if (options.journal) paths.push_back(journal + "/" + kLockFileName);
  return paths;
}

// Returns all of the bus's files except the lock files, with their contents.
std::map<std::string, std::string> files_of(const PublisherSetUp& options) {
  std::map<std::string, std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(options.directory)) {
    if (!entry.is_regular_file() || entry.path().filename() == kLockFileName) continue;
    std::ifstream in(entry.path(), std::ios::binary);
    files[entry.path().string()] = std::string(std::istreambuf_iterator<char>(in), {});
  }
  return files;
}

// Returns the files once they stop changing: the publisher's file thread may still be preparing the
// next segments.
std::map<std::string, std::string> settled_files_of(const PublisherSetUp& options) {
  constexpr std::uint64_t kQuietNs = 300'000'000;
  const std::uint64_t ends_ns = monotonic_ns() + kHangNs;
  std::map<std::string, std::string> files = files_of(options);
  for (std::uint64_t since_ns = monotonic_ns(); monotonic_ns() < ends_ns;) {
    wait_readable(-1, kQuietNs / 10);
    std::map<std::string, std::string> now = files_of(options);
    if (now != files) {
      files = std::move(now);
      since_ns = monotonic_ns();
    } else if (monotonic_ns() - since_ns > kQuietNs) {
      return files;
    }
  }
  FAIL("the publisher's files do not come to rest");
  return files;
}

// Returns the paths of the files that differ.
std::vector<std::string> changed(const std::map<std::string, std::string>& before,
                                 const std::map<std::string, std::string>& after) {
  std::vector<std::string> paths;
  for (const auto& [path, content] : before) {
    const auto found = after.find(path);
    if (found == after.end() || found->second != content) paths.push_back(path);
  }
  for (const auto& [path, content] : after) {
    if (!before.contains(path)) paths.push_back(path);
  }
  return paths;
}

// Collects the lines that a publisher logs, from any thread.
class Lines {
 public:
  std::function<void(const std::string&)> sink() {
    return [this](const std::string& line) {
      const std::lock_guard lock(mutex_);
      lines_.push_back(line);
    };
  }
  bool say(const std::string& text) const {
    const std::lock_guard lock(mutex_);
    return std::ranges::any_of(
        lines_, [&](const auto& line) { return line.find(text) != std::string::npos; });
  }
  bool come_to_say(const std::string& text) const {
    const std::uint64_t ends_ns = monotonic_ns() + kHangNs;
    while (!say(text) && monotonic_ns() < ends_ns) wait_readable(-1, 1'000'000);
    return say(text);
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> lines_;
};

}  // namespace

TEST_CASE("A second publisher is refused and changes nothing, even if the locks were removed") {
  const TemporaryDirectory directory;
  PublisherSetUp options = options_for(directory);
  options.take_over_ns = 0;
  options.sync_interval = kOnRequest;  // no file changes on its own
  auto publisher = open_publisher(options);
  REQUIRE(*publisher->publish_batch(bytes_of(records_from(1, kLivingRecords))) == kLivingRecords);
  REQUIRE(publisher->flush(Deadline::at_monotonic_ns(monotonic_ns() + kHangNs)).ok());
  const std::string socket = options.directory + "/" + kControlSocketName;
  const std::string ring = read_bus_description(options.directory)->ring_path;
  std::string witness;
  SECTION("the socket is left") {
    witness = "listening on " + socket;
  }
  SECTION("the ring is left") {
    std::filesystem::remove(socket);
    witness = "holds the ring " + ring;
  }
  SECTION("the ring is left, in its home alone") {
    std::filesystem::remove(socket);
    std::filesystem::remove(options.directory + "/" + kBusFileName);
    witness = "holds the ring " + ring;
  }
  SECTION("the journal's log is left") {
    std::filesystem::remove(socket);
    std::filesystem::remove(ring);
    witness = std::string(kSessionsFileName) + " is held by process " + std::to_string(getpid());
  }
  SECTION("the copy of the journal's log is left") {
    std::filesystem::remove(socket);
    std::filesystem::remove(ring);
    std::filesystem::remove(options.directory + "/journal/sessions");
    witness = "sessions.copy is held by process " + std::to_string(getpid());
  }
  const auto before = settled_files_of(options);
  std::string refusal;
  do {  // repeat if the first publisher has restored its locks
    for (const std::string& lock : lock_files(options)) std::filesystem::remove(lock);
    const auto second = closing(open_with_seams(options));
    REQUIRE(errc_of(second.status()) == Errc::kInUse);
    refusal = std::string(second.status().message());
  } while (refusal.find(kLockFileName) != std::string::npos);
  INFO(refusal);
  CHECK(refusal.find(witness) != std::string::npos);
  CHECK(changed(before, files_of(options)) == std::vector<std::string>());
  CHECK(*publisher->publish_batch(bytes_of(records_from(kLivingRecords + 1, 1))) ==
        kLivingRecords + 1);
}

TEST_CASE("Without a journal, the socket and the ring show that a publisher is alive") {
  const TemporaryDirectory directory;
  PublisherSetUp options = options_for(directory);
  options.take_over_ns = 0;
  keep_no_journal(options);
  const auto publisher = open_publisher(options);
  if (GENERATE(false, true)) std::filesystem::remove(options.directory + "/" + kControlSocketName);
  for (const std::string& lock : lock_files(options)) std::filesystem::remove(lock);
  CHECK(errc_of(closing(open_with_seams(options)).status()) == Errc::kInUse);
}

TEST_CASE("A closed publisher does not block another one, although its object still exists") {
  const TemporaryDirectory directory;
  PublisherSetUp options = options_for(directory);
  const auto first = open_publisher(options);
  (void)first->publish_batch(bytes_of(records_from(1, kLivingRecords)));
  REQUIRE(first->close().ok());
  CHECK(open_publisher(options)->first() == kLivingRecords + 1);
}

TEST_CASE("A publisher whose lock files were removed creates them again, and logs it") {
  const TemporaryDirectory directory;
  PublisherSetUp options = options_for(directory);
  if (GENERATE(true, false)) keep_no_journal(options);
  Lines lines;
  options.log = lines.sink();
  const auto publisher = open_publisher(options);
  for (const std::string& lock : lock_files(options)) {
    INFO(lock);
    std::filesystem::remove(lock);
    REQUIRE(lines.come_to_say("the lock " + lock + " was removed, and was created again"));
    CHECK(errc_of(ExclusiveLock::take(lock, 0).status()) == Errc::kInUse);
  }
}

TEST_CASE("A lock whose directory was moved is not created again in a directory that replaced it") {
  const TemporaryDirectory directory;
  const std::string bus = directory.file("bus");
  std::filesystem::create_directory(bus);
  std::vector<ExclusiveLock> locks;
  locks.push_back(ExclusiveLock::take(bus + "/" + kLockFileName, 0).value());
  Lines lines;
  LockWatch watch(locks, lines.sink());
  std::filesystem::rename(bus, directory.file("moved"));
  watch.look(kLockWatchNs);
  std::filesystem::create_directory(bus);
  watch.look(2 * kLockWatchNs);
  CHECK_FALSE(std::filesystem::exists(bus + "/" + kLockFileName));
  CHECK_FALSE(lines.say("lock"));
  std::filesystem::remove(bus);
  std::filesystem::rename(directory.file("moved"), bus);
  std::filesystem::remove(bus + "/" + kLockFileName);
  watch.look(3 * kLockWatchNs);
  CHECK(lines.say("was created again"));
}

TEST_CASE(
    "A lock that another process put in the place of ours is logged, and taken when it ends") {
  const TemporaryDirectory directory;
  PublisherSetUp options = options_for(directory);
  Lines lines;
  options.log = lines.sink();
  const auto publisher = open_publisher(options);
  const std::string path = lock_files(options).front();
  std::filesystem::remove(path);
  // The publisher may restore its lock before this process takes it. In that case, remove it again.
  absl::StatusOr<ExclusiveLock> others = ExclusiveLock::take(path, 0);
  while (!others.ok()) {
    std::filesystem::remove(path);
    others = ExclusiveLock::take(path, 0);
  }
  REQUIRE(lines.come_to_say("cannot be created again: " + path + " is held by"));
  others = absl::UnavailableError("it has ended");
  CHECK(lines.come_to_say("the lock " + path + " was removed, and was created again"));
}

}  // namespace lapwing
