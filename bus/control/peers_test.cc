// Tests which users may connect and prune, with real user ids. Needs root.

#include <grp.h>
#include <sys/stat.h>

#include "bus/control/client.h"
#include "bus/control/server.h"
#include "testing/control_fixture.h"

namespace lapwing {
namespace {

constexpr uid_t kStranger = 54321;
constexpr gid_t kBusGroup = 54399;

struct Person {
  uid_t uid;
  gid_t gid;
  std::vector<gid_t> groups;
};

// Connects as that user and returns the result as an exit status. `then` runs with the connected
// client.
int connect_as(
    TestServer& server, const Person& person,
    const std::function<int(ControlClient&)>& then = [](ControlClient&) { return 0; }) {
  return run_in_child(
      [&] {
        if (setgroups(person.groups.size(), person.groups.data()) != 0) return 101;
        if (setgid(person.gid) != 0 || setuid(person.uid) != 0) return 102;
        auto client = ControlClient::connect({.path = server.path(), .name = "x"}, far_deadline());
        if (!client.ok()) return static_cast<int>(errc_of(client.status()));
        return then(*client);
      },
      [&server] {
        server.settle();
        pollfd entry{server.server->epoll_fd(), POLLIN, 0};
        poll(&entry, 1, 1);
      });
}

// The file modes alone would exclude a stranger, but the server must not rely on them.
void open_the_files(const TestServer& server) {
  REQUIRE(chmod(server.directory.path().c_str(), 0755) == 0);
  REQUIRE(chmod(server.path().c_str(), 0666) == 0);
}

TEST_CASE("A stranger is refused and told so, whatever the socket's mode") {
  if (geteuid() != 0) LAPWING_SKIP("other user ids need root");
  const std::optional<unsigned> group =
      GENERATE(std::optional<unsigned>(), std::optional<unsigned>(kBusGroup));
  TestServer server(group);
  open_the_files(server);
  CHECK(connect_as(server, {kStranger, kStranger, {}}) == static_cast<int>(Errc::kRefused));
  CHECK(connect_as(server, {kStranger, kStranger, {1, 2, 3}}) == static_cast<int>(Errc::kRefused));
  CHECK(server.dropped(DropReason::kPeerNotAllowed) == 2);
  REQUIRE(server.log.size() == 2);
  CHECK(server.log[0].find("user 54321") != std::string::npos);
}

TEST_CASE("With a group, its members connect, by their own group or a supplementary one") {
  if (geteuid() != 0) LAPWING_SKIP("other user ids need root");
  TestServer server(kBusGroup);
  REQUIRE(chmod(server.directory.path().c_str(), 0755) == 0);  // the socket keeps its 0660
  std::vector<gid_t> many;
  for (gid_t gid = 1000; gid < 1100; ++gid) many.push_back(gid);
  many.push_back(kBusGroup);
  CHECK(connect_as(server, {kStranger, kBusGroup, {}}) == 0);
  CHECK(connect_as(server, {kStranger, kStranger, {7, kBusGroup}}) == 0);
  CHECK(connect_as(server, {kStranger, kStranger, many}) == 0);
  CHECK(connect_as(server, {kStranger, kStranger, {}}) == static_cast<int>(Errc::kNotPermitted));
  CHECK(server.dropped(DropReason::kPeerNotAllowed) == 0);  // the last one could not connect
}

TEST_CASE("A member of the group gets half of the clients' limit, the owner all of it") {
  if (geteuid() != 0) LAPWING_SKIP("other user ids need root");
  TestServer server(kBusGroup);
  REQUIRE(chmod(server.directory.path().c_str(), 0755) == 0);
  const DescriptorLimit limit(256 + 20);  // 20 clients
  const auto crowd = [&server](ControlClient& first) -> int {
    std::vector<ControlClient> clients;
    clients.push_back(std::move(first));
    for (;;) {
      auto next = ControlClient::connect({.path = server.path(), .name = "x"}, far_deadline());
      if (errc_of(next.status()) == Errc::kRefused) return 200 + static_cast<int>(clients.size());
      if (!next.ok()) return 103;
      clients.push_back(*std::move(next));
    }
  };
  CHECK(connect_as(server, {kStranger, kBusGroup, {}}, crowd) == 200 + 10);
  CHECK(server.dropped(DropReason::kTooManyClients) == 1);
  REQUIRE(server.log.size() == 1);
  CHECK(server.log[0].find("user 54321 has 10 clients") != std::string::npos);
  server.settle();
  std::vector<BareClient> owners;
  for (int i = 0; i < 20; ++i) owners.push_back(greeted(server));
}

TEST_CASE("Without a group, membership of whatever group does not help") {
  if (geteuid() != 0) LAPWING_SKIP("other user ids need root");
  TestServer server;
  open_the_files(server);
  CHECK(connect_as(server, {kStranger, 0, {0}}) == static_cast<int>(Errc::kRefused));
}

TEST_CASE("A member of the group may not prune, the owner may") {
  if (geteuid() != 0) LAPWING_SKIP("other user ids need root");
  TestServer server(kBusGroup);
  REQUIRE(chmod(server.directory.path().c_str(), 0755) == 0);
  const auto prune = [](ControlClient& client) {
    return static_cast<int>(errc_of(client.prune(30, far_deadline()).status()));
  };
  CHECK(connect_as(server, {kStranger, kBusGroup, {}}, prune) ==
        static_cast<int>(Errc::kNotPermitted));
  CHECK(server.prunes_wanted.empty());
  server.on_prune_wanted = [&server](Sequence) { server.server->answer_prune(20, Errc::kOk); };
  CHECK(connect_as(server, {0, 0, {}}, prune) == 0);
  CHECK(server.prunes_wanted == std::vector<Sequence>{30});
}

TEST_CASE("The list shows the user id that the kernel vouches for") {
  if (geteuid() != 0) LAPWING_SKIP("other user ids need root");
  TestServer server(kBusGroup);
  REQUIRE(chmod(server.directory.path().c_str(), 0755) == 0);
  const int result =
      connect_as(server, {kStranger, kBusGroup, {}}, [](ControlClient& client) -> int {
        auto list = client.list_subscribers(far_deadline());
        if (!list.ok() || list->subscribers.size() != 1) return 103;
        if (list->subscribers[0].uid != kStranger) return 104;
        return list->subscribers[0].pid == static_cast<std::uint32_t>(getpid()) ? 0 : 105;
      });
  CHECK(result == 0);
}

}  // namespace
}  // namespace lapwing
