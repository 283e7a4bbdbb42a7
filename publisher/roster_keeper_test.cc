#include "publisher/roster_keeper.h"

#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <string>
#include <vector>

#include "lapwing/error.h"
#include "os/kernel.h"
#include "os/posix_io.h"
#include "os/whole_file.h"
#include "proto/text_field.h"
#include "testing/far_deadline.h"
#include "testing/temporary_directory.h"

namespace lapwing {
namespace {

SubscriberInfoFrame subscriber(const std::string& name) {
  SubscriberInfoFrame one{};
  one.state = ClientState::kLive;
  one.pid_is_claimed = 1;
  one.uid = static_cast<std::uint32_t>(name.size());
  set_text(one.name, name);
  return one;
}

class Kept {
 public:
  RosterKeeper keeper(const std::vector<SubscriberInfoFrame>& expected = {}) {
    return {directory.path(),
            std::nullopt,
            {},
            {.sessions = {},
             .directory_inode = 7,
             .boot_id = {},
             .namespaces = own_namespaces(),
             .subscribers = {}},
            expected,
            [this](const LogEntry& entry) { log.push_back(entry.message); }};
  }
  // The names in the file, or "none" if the file does not exist.
  std::vector<std::string> names() {
    const auto roster = read_roster(disk, directory.path());
    if (!roster.ok()) return {"none"};
    std::vector<std::string> names;
    for (const SubscriberInfoFrame& one : roster->subscribers) names.push_back(get_text(one.name));
    return names;
  }
  void until(const std::vector<std::string>& wanted) {
    const std::uint64_t deadline_ns = far_deadline();
    while (names() != wanted) REQUIRE(monotonic_ns() < deadline_ns);
  }
  // Puts a directory at the path of the temporary file.
  void block() { std::filesystem::create_directories(blocked() / "full"); }
  void unblock() { std::filesystem::remove_all(blocked()); }

  TemporaryDirectory directory;
  PosixDisk disk;
  std::vector<std::string> log;

 private:
  std::filesystem::path blocked() { return directory.file(kRosterFileName) + kUnfinishedSuffix; }
};

TEST_CASE("The list of subscribers is written when one joins or leaves, and not otherwise") {
  Kept kept;
  RosterKeeper keeper = kept.keeper();
  keeper.keep(1, {});
  CHECK(kept.names() == std::vector<std::string>{"none"});
  keeper.keep(2, {subscriber("a")});
  kept.until({"a"});
  std::filesystem::remove(kept.directory.file(kRosterFileName));
  keeper.keep(3, {subscriber("a")});
  keeper.keep(4, {subscriber("a"), subscriber("bb")});
  kept.until({"a", "bb"});
  keeper.keep(5, {});
  kept.until({});
  CHECK(kept.log.empty());
}

TEST_CASE("A list that could not be written is written later, with one line in the log") {
  Kept kept;
  RosterKeeper keeper = kept.keeper();
  keeper.keep(1, {subscriber("a")});
  kept.until({"a"});
  kept.block();
  std::uint64_t now_ns = 2;
  const std::uint64_t deadline_ns = far_deadline();
  while (kept.log.empty()) {
    REQUIRE(monotonic_ns() < deadline_ns);
    keeper.keep(now_ns += kRosterRenewNs, {subscriber("a"), subscriber("bb")});
  }
  CHECK(kept.names() == std::vector<std::string>{"a"});
  kept.unblock();
  keeper.keep(now_ns += kRosterRenewNs, {subscriber("a"), subscriber("bb")});
  kept.until({"a", "bb"});
  CHECK(kept.log.size() == 1);
}

TEST_CASE("If the list cannot be written, a session without subscribers removes the old one") {
  Kept kept;
  RosterKeeper keeper = kept.keeper();
  keeper.keep(1, {subscriber("a")});
  kept.until({"a"});
  kept.block();
  keeper.keep(2, {});
  kept.until({"none"});
}

TEST_CASE("A close writes the expected subscribers of the next session before it returns") {
  Kept kept;
  SubscriberInfoFrame missing = subscriber("missing");
  missing.state = ClientState::kMissing;
  RosterKeeper keeper = kept.keeper();
  keeper.keep(1, {subscriber("a"), missing});
  keeper.close({subscriber("a"), missing}, 0);
  CHECK(kept.names() == std::vector<std::string>{"missing"});
  CHECK(read_roster(kept.disk, kept.directory.path())->closed);
}

TEST_CASE("A start that fails leaves the list as it is") {
  Kept kept;
  {
    RosterKeeper before = kept.keeper();
    before.keep(1, {subscriber("a")});
    kept.until({"a"});
  }
  RosterKeeper keeper = kept.keeper({subscriber("a")});
  keeper.close({}, 0);
  CHECK(kept.names() == std::vector<std::string>{"a"});
}

}  // namespace
}  // namespace lapwing
