#include "bus/control_client.h"

#include <atomic>
#include <thread>

#include "bus/test_control.h"

namespace lapwing {
namespace {

// Turns a server while the test's thread waits inside a client's call.
class TurningThread {
 public:
  explicit TurningThread(TestServer& server)
      : thread_([this, &server] {
          while (!stop_) {
            pollfd entry{server.server->epoll_fd(), POLLIN, 0};
            poll(&entry, 1, 10);
            server.server->turn(server.now_ns);
          }
        }) {}
  ~TurningThread() {
    stop_ = true;
    thread_.join();
  }

 private:
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

TEST_CASE("A client that shakes hands holds the Welcome") {
  TestServer server;
  TurningThread turning(server);
  auto client = ControlClient::connect({.path = server.path(), .name = "es"}, far_deadline());
  REQUIRE(client.ok());
  CHECK(client->welcome().head == 100);
  CHECK_FALSE(client->publisher_gone());
  auto flushed = client->flush(30, far_deadline());
  REQUIRE(flushed.ok());
  CHECK(flushed->ok);
  CHECK(flushed->durable == 40);
  auto list = client->list_subscribers(far_deadline());
  REQUIRE(list.ok());
  REQUIRE(list->subscribers.size() == 1);
  CHECK(get_text(list->subscribers[0].name) == "es");
}

TEST_CASE("A client in steps is welcomed and answered only once the server has turned") {
  TestServer server;
  auto client = ControlClient::begin({.path = server.path(), .name = "es"});
  REQUIRE(client.ok());
  CHECK_FALSE(client->welcomed().value());
  server.settle();
  REQUIRE(client->welcomed().value());
  CHECK(client->welcome().head == 100);
  REQUIRE(client->begin_flush(90).ok());
  server.settle();
  CHECK_FALSE(client->flush_answer().value());
  server.server->answer_flushes(95, {JournalState::kGood, 0});
  server.settle();
  const auto answer = client->flush_answer();
  REQUIRE(answer.value());
  CHECK((*answer)->ok);
  CHECK((*answer)->durable == 95);
}

TEST_CASE("A client in steps that is hung up on says so") {
  TestServer server;
  auto client = ControlClient::begin({.path = server.path(), .name = "es"});
  REQUIRE(client.ok());
  server.server->close();
  CHECK(errc_of(client->welcomed().status()) == Errc::kPublisherGone);
}

}  // namespace
}  // namespace lapwing
