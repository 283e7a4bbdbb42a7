#include "snapshot/roster.h"

#include <signal.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <fstream>

#include "lapwing/error.h"
#include "os/kernel.h"
#include "os/posix_io.h"
#include "proto/text_field.h"
#include "testing/far_deadline.h"
#include "testing/temporary_directory.h"
#include "testing/waiting_child.h"

namespace lapwing {
namespace {

constexpr uid_t kOwner = 1000;
const Id128 kSession = *Id128::from_hex("0123456789abcdef0123456789abcdef");

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
  return {.sessions = {kSession},
          .directory_inode = 7,
          .boot_id = *boot_id(),
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
  written.subscribers[1].state = ClientState::kMissing;
  written.subscribers[1].missing_since_wall_ns = 9;
  written.subscribers[1].pid_is_claimed = 1;
  REQUIRE(write_roster(disk, directory.path(), written).ok());
  const absl::StatusOr<Roster> read = read_roster(disk, directory.path());
  REQUIRE(read.ok());
  CHECK(read->sessions == written.sessions);
  CHECK(read->directory_inode == 7);
  CHECK(read->boot_id == written.boot_id);
  CHECK(read->namespaces == written.namespaces);
  CHECK(read->closed);
  CHECK(names_of(read->subscribers) == names_of(written.subscribers));
  CHECK(read->subscribers[0].pid == 12);
  CHECK(read->subscribers[0].position == 40);
  CHECK(read->subscribers[0].state != ClientState::kMissing);
  CHECK(read->subscribers[1].state == ClientState::kMissing);
  CHECK(read->subscribers[1].missing_since_wall_ns == 9);
  CHECK(read->subscribers[1].pid_is_claimed == 1);
}

TEST_CASE("Other bytes than a roster are damage, and a missing roster is not found") {
  const TemporaryDirectory directory;
  PosixDisk disk;
  CHECK(errc_of(read_roster(disk, directory.path()).status()) == Errc::kNotFound);
  for (const char* const text : {"", "{", "[]", "{}", "\0\0\0\0"}) {
    std::ofstream(directory.file(kRosterFileName)) << text;
    CHECK(errc_of(read_roster(disk, directory.path()).status()) == Errc::kDamaged);
  }
  CHECK_FALSE(Roster::parse(R"({"boot_id":"0","subscribers":[]})").ok());
}

TEST_CASE("A roster belongs to its session in its directory, and to the one that began with it") {
  Roster roster = roster_of({});
  const Id128 next = *random_id();
  CHECK(roster.is_of(kSession, 7));
  CHECK_FALSE(roster.is_of(kSession, 8));
  CHECK_FALSE(roster.is_of(next, 7));
  roster.sessions.push_back(next);
  CHECK(roster.is_of(kSession, 7));
  CHECK(roster.is_of(next, 7));
  roster.sessions.clear();
  CHECK_FALSE(roster.is_of(kSession, 7));
}

TEST_CASE("Neither an observer nor a subscriber without a name is expected again") {
  CHECK(is_expected_back(subscriber("logger")));
  CHECK_FALSE(is_expected_back(subscriber("")));
  SubscriberInfoFrame observer = subscriber("view");
  observer.observes = 1;
  CHECK_FALSE(is_expected_back(observer));
}

TEST_CASE("After a kill all subscribers are expected") {
  SubscriberInfoFrame before = subscriber("long-missing");
  before.state = ClientState::kMissing;
  before.missing_since_wall_ns = 8;
  const auto expected =
      expected_by(roster_of({subscriber("ended", 4'194'303), before}), *boot_id(), kOwner);
  CHECK(names_of(expected) == std::vector<std::string>{"long-missing", "ended"});
  CHECK(expected[0].missing_since_wall_ns == 8);
  CHECK(expected[1].missing_since_wall_ns == 0);
}

TEST_CASE("After a close only those are expected whose process exists") {
  WaitingChild child([] { return true; });
  const auto pid = static_cast<std::uint32_t>(child.pid());
  SubscriberInfoFrame claimed = subscriber("claimed", pid);
  claimed.pid_is_claimed = 1;
  SubscriberInfoFrame reused = subscriber("reused", pid);
  ++reused.process_start;
  const Roster roster = roster_of({subscriber("stuck", pid), claimed, reused}, true);
  CHECK(names_of(expected_by(roster, *boot_id(), kOwner)) == std::vector<std::string>{"stuck"});
  child.kill();
  CHECK(expected_by(roster, *boot_id(), kOwner).empty());
}

TEST_CASE("A subscriber that was missing before a close stays missing") {
  SubscriberInfoFrame gone = subscriber("gone", 4'194'303);
  gone.state = ClientState::kMissing;
  SubscriberInfoFrame far = gone;
  set_text(far.name, "far");
  far.pid_is_claimed = 1;
  CHECK(names_of(expected_by(roster_of({gone, far}, true), *boot_id(), kOwner)) ==
        std::vector<std::string>{"gone", "far"});
}

TEST_CASE("A close keeps subscribers that were missing, stopped, or behind and silent") {
  const auto process = [](WaitingChild& child, const char* name) {
    return subscriber(name, static_cast<std::uint32_t>(child.pid()));
  };
  WaitingChild running([] { return true; });
  WaitingChild stopped([] { return true; });
  REQUIRE(::kill(stopped.pid(), SIGSTOP) == 0);
  const std::uint64_t deadline_ns = far_deadline();
  while (state_of(identity_of(static_cast<std::uint32_t>(stopped.pid()))) !=
         ProcessState::kStopped) {
    REQUIRE(monotonic_ns() < deadline_ns);
  }
  SubscriberInfoFrame silent = process(running, "silent");
  silent.report_age_ns = kSilentAtCloseNs;
  SubscriberInfoFrame idle = silent;
  set_text(idle.name, "idle");
  idle.position = 41;
  SubscriberInfoFrame missing = subscriber("missing");
  missing.state = ClientState::kMissing;
  const auto left =
      left_by_close({process(running, "good"), process(stopped, "stopped"), silent, idle, missing},
                    41, own_namespaces());
  CHECK(names_of(left) == std::vector<std::string>{"stopped", "silent", "missing"});
  REQUIRE(::kill(stopped.pid(), SIGCONT) == 0);
}

TEST_CASE("A crowd of one user does not displace other subscribers") {
  std::vector<SubscriberInfoFrame> crowd(2 * kMissingMax, subscriber("crowd"));
  for (SubscriberInfoFrame& one : crowd) one.uid = kOwner + 1;
  SubscriberInfoFrame first = crowd.front();
  first.state = ClientState::kMissing;
  set_text(first.name, "first");
  crowd.push_back(first);
  crowd.push_back(subscriber("own"));
  SubscriberInfoFrame of_root = subscriber("of root");
  of_root.uid = 0;
  crowd.push_back(of_root);
  const auto expected = names_of(expected_by(roster_of(crowd), *boot_id(), kOwner));
  CHECK(expected.size() == 2 + kExpectedOfOtherMax);
  CHECK(std::vector(expected.begin(), expected.begin() + 4) ==
        std::vector<std::string>{"own", "of root", "first", "crowd"});
  std::vector<SubscriberInfoFrame> own(2 * kMissingMax, subscriber("own"));
  CHECK(expected_by(roster_of(own), *boot_id(), kOwner).size() == kMissingMax);
}

TEST_CASE("A pid of another boot or namespace is not looked up") {
  Roster roster = roster_of({subscriber("far", static_cast<std::uint32_t>(::getpid()))});
  SECTION("boot") {
    roster.boot_id = Id128();
  }
  SECTION("namespace") {
    ++roster.namespaces.pid;
  }
  const auto expected = expected_by(roster, *boot_id(), kOwner);
  REQUIRE(expected.size() == 1);
  CHECK(expected[0].pid_is_claimed == 1);
  roster.closed = true;
  CHECK(expected_by(roster, *boot_id(), kOwner).empty());
}

}  // namespace
}  // namespace lapwing
