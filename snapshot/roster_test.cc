#include "snapshot/roster.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <fstream>

#include "lapwing/error.h"
#include "os/kernel.h"
#include "os/posix_io.h"
#include "proto/text_field.h"
#include "testing/temporary_directory.h"
#include "testing/waiting_child.h"

namespace lapwing {
namespace {

constexpr std::uint64_t kNow = 1'700'000'000'000'000'000;

SubscriberInfoFrame subscriber(const std::string& name, std::uint32_t pid = 0) {
  SubscriberInfoFrame one{};
  one.role = ClientRole::kSubscriber;
  one.state = ClientState::kLive;
  one.uid = 1000;
  one.pid = pid;
  one.process_start = pid == 0 ? 0 : identity_of(pid).start_ticks;
  one.position = 40;
  one.connected_wall_ns = 3;
  set_text(one.name, name);
  return one;
}

Roster roster_of(std::vector<SubscriberInfoFrame> subscribers, bool closed = false) {
  return {.boot_id = *boot_id(),
          .namespaces = own_namespaces(),
          .closed = closed,
          .subscribers = std::move(subscribers)};
}

std::vector<std::string> names_of(const std::vector<SubscriberInfoFrame>& subscribers) {
  std::vector<std::string> names;
  for (const SubscriberInfoFrame& one : subscribers) names.push_back(get_text(one.name));
  return names;
}

TEST_CASE("A roster is read as it was written, whatever a name contains") {
  const TemporaryDirectory directory;
  PosixDisk disk;
  Roster written = roster_of({subscriber("a \"name\"", 12), subscriber("b")}, true);
  written.subscribers[1].missing_since_wall_ns = 9;
  written.subscribers[1].pid_is_claimed = 1;
  REQUIRE(write_roster(disk, directory.path(), written).ok());
  const absl::StatusOr<Roster> read = read_roster(disk, directory.path());
  REQUIRE(read.ok());
  CHECK(read->boot_id == written.boot_id);
  CHECK(read->namespaces == written.namespaces);
  CHECK(read->closed);
  CHECK(names_of(read->subscribers) == names_of(written.subscribers));
  CHECK(read->subscribers[0].pid == 12);
  CHECK(read->subscribers[0].position == 40);
  CHECK(read->subscribers[1].missing_since_wall_ns == 9);
  CHECK(read->subscribers[1].pid_is_claimed == 1);
}

TEST_CASE("What is no roster is damaged, and none is not found") {
  const TemporaryDirectory directory;
  PosixDisk disk;
  CHECK(errc_of(read_roster(disk, directory.path()).status()) == Errc::kNotFound);
  for (const char* const text : {"", "{", "[]", "{}", "\0\0\0\0"}) {
    std::ofstream(directory.file(kRosterFileName)) << text;
    CHECK(errc_of(read_roster(disk, directory.path()).status()) == Errc::kDamaged);
  }
  CHECK_FALSE(Roster::parse(R"({"boot_id":"0","subscribers":[]})").ok());
}

TEST_CASE("After a kill everybody is expected, since the moment of the start") {
  SubscriberInfoFrame before = subscriber("long-missing");
  before.missing_since_wall_ns = 8;
  const auto expected =
      expected_by(roster_of({subscriber("ended", 4'194'303), before}), *boot_id(), kNow);
  CHECK(names_of(expected) == std::vector<std::string>{"ended", "long-missing"});
  CHECK(expected[0].missing_since_wall_ns == kNow);
  CHECK(expected[1].missing_since_wall_ns == 8);
}

TEST_CASE("After a close only those are expected whose process exists") {
  WaitingChild child([] { return true; });
  const auto pid = static_cast<std::uint32_t>(child.pid());
  SubscriberInfoFrame claimed = subscriber("claimed", pid);
  claimed.pid_is_claimed = 1;
  SubscriberInfoFrame reused = subscriber("reused", pid);
  ++reused.process_start;
  const Roster roster = roster_of({subscriber("stuck", pid), claimed, reused}, true);
  CHECK(names_of(expected_by(roster, *boot_id(), kNow)) == std::vector<std::string>{"stuck"});
  child.kill();
  CHECK(expected_by(roster, *boot_id(), kNow).empty());
}

TEST_CASE("A pid of another boot or namespace is not looked up") {
  Roster roster = roster_of({subscriber("far", static_cast<std::uint32_t>(::getpid()))});
  SECTION("boot") {
    roster.boot_id = Id128();
  }
  SECTION("namespace") {
    ++roster.namespaces.pid;
  }
  const auto expected = expected_by(roster, *boot_id(), kNow);
  REQUIRE(expected.size() == 1);
  CHECK(expected[0].pid_is_claimed == 1);
  roster.closed = true;
  CHECK(expected_by(roster, *boot_id(), kNow).empty());
}

}  // namespace
}  // namespace lapwing
