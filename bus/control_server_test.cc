#include "bus/control_server.h"

#include "bus/test_control.h"

namespace lapwing {
namespace {

TEST_CASE("A Hello is answered with the Welcome of the moment") {
  TestServer server;
  BareClient client(server.path());
  REQUIRE(client.send(hello_frame()));
  server.welcome.head = 123;
  server.settle();
  const auto welcome = client.expect<WelcomeFrame>(FrameType::kWelcome);
  CHECK(welcome.head == 123);
  CHECK(get_text(welcome.bus_name) == "test");
  CHECK(server.server->subscriber_count() == 1);
}

TEST_CASE("A flush is answered exactly when durable has passed it") {
  TestServer server;
  BareClient client = greeted(server);
  REQUIRE(client.send(flush_frame(7, 90)));
  server.settle();
  CHECK(client.nothing_there());
  CHECK(server.flushes_wanted == std::vector<Sequence>{90});
  server.server->answer_flushes(89, {JournalState::kGood, 0});
  CHECK(client.nothing_there());
  server.server->answer_flushes(90, {JournalState::kGood, 0});
  const auto answer = client.expect<FlushedFrame>(FrameType::kFlushed);
  CHECK(answer.tag == 7);
  CHECK(answer.durable == 90);
  CHECK_FALSE(server.server->flushes_waiting());
}

}  // namespace
}  // namespace lapwing
