// How a start handles other buses' rings, and what it leaves behind if it cannot record how a
// session ended.
#include "publisher/left_rings.h"

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>

#include "os/exclusive_lock.h"
#include "os/system_error.h"
#include "proto/text_field.h"
#include "snapshot/journal/session_log.h"
#include "testing/child_process.h"
#include "testing/closing_publisher.h"
#include "testing/other_user.h"
#include "testing/publisher_fixture.h"

namespace lapwing {
namespace {

constexpr std::size_t kRecords = 100;

// Runs a publisher that publishes kRecords and is killed.
void leave_killed(const PublisherSetUp& options) {
  ChildProcess child([&] {
    const absl::StatusOr<ClosingPublisher> publisher = closing(open_with_seams(options));
    if (!publisher.ok()) return 1;
    (void)(*publisher)->publish_batch(bytes_of(records_from(1, kRecords)));
    return kill(getpid(), SIGKILL);
  });
  REQUIRE(child.wait() == -SIGKILL);
}

PublisherSetUp copy_of(const PublisherSetUp& original, const std::string& directory) {
  PublisherSetUp copy = original;
  copy.directory = directory;
  std::filesystem::create_directory(directory);
  for (const auto& entry : std::filesystem::recursive_directory_iterator(original.directory)) {
    const std::string path = directory + entry.path().string().substr(original.directory.size());
    if (entry.is_directory()) std::filesystem::create_directory(path);
    if (entry.is_regular_file()) std::filesystem::copy_file(entry.path(), path);
  }
  return copy;
}

struct Start {
  std::vector<std::string> lines;
  absl::Status status;
  Settlement how = Settlement::kFresh;

  bool says(const std::string& text) const {
    return std::ranges::any_of(
        lines, [&](const std::string& line) { return line.find(text) != std::string::npos; });
  }
};

// Starts a publisher, records its log, and closes it.
Start start(PublisherSetUp options) {
  Start result;
  options.log = [&](const std::string& line) { result.lines.push_back(line); };
  absl::StatusOr<ClosingPublisher> publisher = closing(open_with_seams(options));
  result.status = publisher.status();
  if (!publisher.ok()) return result;
  result.how = (*publisher)->last_session().how;
  result.status = (*publisher)->close();
  return result;
}

std::string ring_of(const PublisherSetUp& options) {
  return read_bus_description(options.directory).value().ring_path;
}

std::string content_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

// Creates a journal whose only session is open and has its ring at `ring_path`.
void craft_journal(const PublisherSetUp& options, const Id128& session,
                   const std::string& ring_path) {
  const std::string root = options.directory + "/" + kJournalDirectoryName;
  std::filesystem::create_directories(root);
  std::filesystem::permissions(options.directory, std::filesystem::perms::owner_all);
  std::ofstream(options.directory + "/" + kLockFileName).put('\n');
  PosixDisk disk;
  SessionLog sessions = SessionLog::open(disk, root).value();
  SessionEntry begin{};
  begin.kind = SessionEntryKind::kBegin;
  begin.journal_id = random_id().value();
  begin.session_id = session;
  begin.boot_id = boot_id().value();
  begin.first = 1;
  begin.slot_bytes = slot_bytes_for(options.record_bytes);
  begin.record_bytes = options.record_bytes;
  begin.segment_slots = options.segment_bytes / begin.slot_bytes;
  set_text(begin.schema, options.schema_name);
  set_text(begin.ring_path, ring_path);
  REQUIRE(sessions.append(begin).ok());
  SessionEntry reserve = begin;
  reserve.kind = SessionEntryKind::kReserve;
  reserve.through = 1024;
  REQUIRE(sessions.append(reserve).ok());
}

// A disk on which writes to `sessions` fail once `lost` is true.
class LostSessionsDisk final : public PosixDisk {
 public:
  explicit LostSessionsDisk(const bool& lost) : lost_(lost) {}
  absl::StatusOr<FileHandle> open(const std::string& path, const OpenOptions& options) override {
    absl::StatusOr<FileHandle> file = PosixDisk::open(path, options);
    if (file.ok() && path.find(kSessionsFileName) != std::string::npos) sessions_.push_back(*file);
    return file;
  }
  absl::Status write_at(FileHandle file, std::uint64_t offset,
                        std::span<const std::byte> bytes) override {
    const bool fails = lost_ && std::ranges::count(sessions_, file) != 0;
    return fails ? make_system_error(EIO, "writing `sessions`")
                 : PosixDisk::write_at(file, offset, bytes);
  }

 private:
  const bool& lost_;
  std::vector<FileHandle> sessions_;
};

}  // namespace

TEST_CASE("A publisher on a copy does not remove the original's ring") {
  const TemporaryDirectory directory;
  const PublisherSetUp original = options_for(directory);
  leave_killed(original);
  const PublisherSetUp copy = copy_of(original, directory.file("copy"));
  const std::string ring = ring_of(original);
  const Start on_copy = start(copy);
  REQUIRE(on_copy.status.ok());
  CHECK(on_copy.how == Settlement::kCut);
  CHECK(on_copy.says("belongs to another directory, of which this one is a copy"));
  REQUIRE(std::filesystem::exists(ring));
  const auto publisher = open_publisher(original);
  CHECK(publisher->last_session().how == Settlement::kRecovered);
  CHECK(publisher->first() == kRecords + 1);
  CHECK_FALSE(std::filesystem::exists(ring));
}

TEST_CASE("A publisher on a copy does not remove the ring of a live publisher") {
  const TemporaryDirectory directory;
  const PublisherSetUp original = options_for(directory);
  const auto publisher = open_publisher(original);
  const PublisherSetUp copy = copy_of(original, directory.file("copy"));
  const std::string ring = ring_of(original);
  CHECK(start(copy).status.ok());
  CHECK(std::filesystem::exists(ring));
  CHECK(*publisher->publish_batch(bytes_of(records_from(1, kRecords))) == kRecords);
  CHECK(publisher->close().ok());
}

TEST_CASE("A bus moved into another's directory does not remove the other's ring") {
  const TemporaryDirectory directory;
  const PublisherSetUp options = options_for(directory);
  leave_killed(options);
  std::filesystem::rename(options.directory, directory.file("moved"));
  const Start newcomer = start(options);
  REQUIRE(newcomer.status.ok());
  CHECK(newcomer.how == Settlement::kFresh);
  CHECK(newcomer.says("is of another bus directory and is not removed"));
  PublisherSetUp moved = options;
  moved.directory = directory.file("moved");
  CHECK(start(moved).how == Settlement::kRecovered);
}

TEST_CASE("A file that `sessions` names as the ring, but that is not a ring, stays unchanged") {
  const TemporaryDirectory directory;
  const PublisherSetUp options = options_for(directory);
  const Id128 session = random_id().value();
  SECTION("called otherwise") {
    const std::string victim = directory.file("thesis.txt");
    std::ofstream(victim) << "ten years";
    craft_journal(options, session, victim);
    const Start started = start(options);
    CHECK(started.status.ok());
    CHECK(started.says("is not a name of a ring"));
    CHECK(content_of(victim) == "ten years");
  }
  SECTION("called as a ring is") {
    const std::string victim = directory.file(ring_file_name(session));
    std::ofstream(victim) << std::string(8192, 'x');
    craft_journal(options, session, victim);
    CHECK(errc_of(start(options).status) == Errc::kNotALapwingFile);
    CHECK(content_of(victim) == std::string(8192, 'x'));
  }
  SECTION("a link to one") {
    const std::string victim = directory.file(ring_file_name(session));
    std::ofstream(directory.file("thesis.txt")) << "ten years";
    std::filesystem::create_symlink(directory.file("thesis.txt"), victim);
    craft_journal(options, session, victim);
    CHECK(errc_of(start(options).status) == Errc::kNotALapwingFile);
    CHECK(std::filesystem::is_symlink(victim));
    CHECK(content_of(victim) == "ten years");
  }
  SECTION("the ring of another bus, whose publisher is dead") {
    PublisherSetUp other = options_for(directory);
    other.directory = directory.file("other");
    leave_killed(other);
    const BusDescription theirs = read_bus_description(other.directory).value();
    craft_journal(options, theirs.session_id, theirs.ring_path);
    CHECK(start(options).status.ok());
    CHECK(std::filesystem::exists(theirs.ring_path));
    CHECK(start(other).how == Settlement::kRecovered);
  }
}

TEST_CASE("A ring that another user put in the place of ours stays unchanged") {
  if (::geteuid() != 0) LAPWING_SKIP("needs root, to make files of other users");
  const TemporaryDirectory directory;
  const PublisherSetUp options = options_for(directory);
  leave_killed(options);
  const std::string ring = ring_of(options);
  const std::string ours = ring + ".ours";
  std::filesystem::rename(ring, ours);
  std::filesystem::copy_file(ours, ring);
  REQUIRE(::lchown(ring.c_str(), kTestUser, kTestGroup) == 0);
  const Start started = start(options);
  REQUIRE(started.status.ok());
  CHECK(started.how == Settlement::kCut);
  CHECK(started.says("belongs to user 61231: it is ignored"));
  CHECK(std::filesystem::exists(ring));
}

TEST_CASE("Files of another user in the place of our rings do not prevent a start") {
  if (::geteuid() != 0) LAPWING_SKIP("needs root, to make files of other users");
  const TemporaryDirectory directory;
  const PublisherSetUp options = options_for(directory);
  const Id128 session = random_id().value();
  const std::string home = directory.file("taken");
  const std::string ring = home + "/" + ring_file_name(session);
  std::string theirs = home;
  SECTION("a file as the directory") {
    std::ofstream(home) << "x";
  }
  SECTION("a FIFO as the directory") {
    REQUIRE(::mkfifo(home.c_str(), 0600) == 0);
  }
  SECTION("a link as the directory") {
    std::filesystem::create_symlink("nowhere", home);
  }
  SECTION("a file as the ring") {
    std::filesystem::create_directory(home);
    std::ofstream(ring) << "x";
    theirs = ring;
  }
  SECTION("a directory as the ring") {
    std::filesystem::create_directories(ring);
    theirs = ring;
  }
  REQUIRE(::lchown(theirs.c_str(), kTestUser, kTestGroup) == 0);
  craft_journal(options, session, ring);
  const Start started = start(options);
  INFO(started.status);
  CHECK(started.status.ok());
  CHECK(std::filesystem::symlink_status(theirs).type() != std::filesystem::file_type::not_found);
}

TEST_CASE("A bus whose directory was moved is closed at its new path, and continues there") {
  const TemporaryDirectory directory;
  PublisherSetUp options = options_for(directory);
  const auto publisher = open_publisher(options);
  (void)publisher->publish_batch(bytes_of(records_from(1, kRecords)));
  std::filesystem::rename(options.directory, directory.file("moved"));
  REQUIRE(publisher->close().ok());
  options.directory = directory.file("moved");
  CHECK(read_bus_description(options.directory)->closed);
  CHECK(read_bus_description(options.directory)->journal_root == options.directory + "/journal");
  CHECK(open_publisher(options)->first() == kRecords + 1);
}

TEST_CASE("A ring stays if the end of its failed journal could not be recorded") {
  const TemporaryDirectory directory;
  const PublisherSetUp options = options_for(directory);
  bool lost = false;
  PublisherSetUp on_sick_disk = options;
  on_sick_disk.make_disk = [&] { return std::make_unique<LostSessionsDisk>(lost); };
  on_sick_disk.make_queue = [] { return std::make_unique<FailingQueue>(0); };
  auto publisher = open_publisher(on_sick_disk);
  const std::string ring = ring_of(options);
  lost = true;
  (void)publisher->publish_batch(bytes_of(records_from(1, kRecords)));
  CHECK_FALSE(publisher->close().ok());
  CHECK(std::filesystem::exists(ring));
  publisher.reset();
  const Start next = start(options);
  REQUIRE(next.status.ok());
  CHECK(next.how == Settlement::kReset);  // not kCut, because nothing indicates a power cut
  CHECK_FALSE(std::filesystem::exists(ring));
}

}  // namespace lapwing
