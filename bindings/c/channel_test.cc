// Tests channels in the C interface: messages in place and copied, calls, event loops, handover.
#include <catch2/catch.hpp>
#include <cstring>
#include <future>
#include <string>
#include <vector>

#include "testing/c_interface.h"
#include "testing/is_readable.h"
#include "testing/waiting_call.h"

namespace lapwing::c_test {
namespace {

class Pair {
 public:
  Pair(std::uint32_t role, std::uint32_t peer_role,
       const lapwing_channel_options& options = sized<lapwing_channel_options>()) {
    lapwing_listener* listening = nullptr;
    REQUIRE(lapwing_listener_open(path_.c_str(), nullptr, &listening, nullptr) == LAPWING_OK);
    listener_.reset(listening);
    std::future<lapwing_channel*> connecting = std::async(std::launch::async, [&] {
      lapwing_channel* connected = nullptr;
      (void)!lapwing_channel_connect(path_.c_str(), peer_role, &options, kTenSeconds, &connected,
                                     nullptr);
      return connected;
    });
    lapwing_channel* accepted = nullptr;
    auto error = sized<lapwing_error>();
    const lapwing_result result =
        lapwing_listener_accept(listening, role, &options, kTenSeconds, &accepted, &error);
    peer_.reset(connecting.get());
    INFO(error.message);
    REQUIRE(result == LAPWING_OK);
    own_.reset(accepted);
    REQUIRE(peer_ != nullptr);
  }

  lapwing_listener* listener() { return listener_.get(); }
  lapwing_channel* own() { return own_.get(); }
  lapwing_channel* peer() { return peer_.get(); }
  const std::string& path() const { return path_; }
  void destroy_own() { own_.reset(); }

 private:
  TemporaryDirectory directory_;
  std::string path_ = directory_.file("c.sock");
  Listener listener_;
  Channel own_;
  Channel peer_;
};

std::string text_of(const lapwing_message& message) {
  return {static_cast<const char*>(message.payload), message.bytes};
}

TEST_CASE("a message is written and read where it lies") {
  Pair pair(LAPWING_CHANNEL_ROLE_PRODUCER, LAPWING_CHANNEL_ROLE_CONSUMER);
  void* payload = nullptr;
  CHECK(lapwing_channel_commit(pair.own(), 1, 0, nullptr) == LAPWING_ERROR_MISUSE);
  REQUIRE(lapwing_channel_claim(pair.own(), 100, 0, &payload, nullptr) == LAPWING_OK);
  std::memcpy(payload, "in place", 8);
  REQUIRE(lapwing_channel_commit(pair.own(), 8, 42, nullptr) == LAPWING_OK);
  REQUIRE(lapwing_channel_claim(pair.own(), 100, kTenSeconds, &payload, nullptr) == LAPWING_OK);
  CHECK(lapwing_channel_abort(pair.own(), nullptr) == LAPWING_OK);
  CHECK(lapwing_channel_abort(pair.own(), nullptr) == LAPWING_ERROR_MISUSE);
  CHECK(lapwing_channel_claim(pair.own(), 1 << 30, 0, &payload, nullptr) == LAPWING_ERROR_MISUSE);
  CHECK(payload == nullptr);

  lapwing_message messages[4];
  std::size_t count = 0;
  REQUIRE(lapwing_channel_peek(pair.peer(), messages, 4, kTenSeconds, &count, nullptr) ==
          LAPWING_OK);
  REQUIRE(count == 1);
  CHECK(text_of(messages[0]) == "in place");
  CHECK(messages[0].type == 42);
  CHECK(lapwing_channel_release(pair.peer(), 2, nullptr) == LAPWING_ERROR_MISUSE);
  CHECK(lapwing_channel_release(pair.peer(), 1, nullptr) == LAPWING_OK);
  CHECK(lapwing_channel_release(pair.peer(), 1, nullptr) == LAPWING_ERROR_MISUSE);
  CHECK(lapwing_channel_peek(pair.peer(), messages, 0, 0, &count, nullptr) ==
        LAPWING_ERROR_INVALID_ARGUMENT);
  CHECK(lapwing_channel_drain(pair.own(), kTenSeconds, nullptr) == LAPWING_OK);
}

TEST_CASE("many messages are sent in one call, and it says how many were") {
  auto options = sized<lapwing_channel_options>();
  options.capacity = 16'384;
  options.message_bytes_max = 1'000;
  Pair pair(LAPWING_CHANNEL_ROLE_PRODUCER, LAPWING_CHANNEL_ROLE_CONSUMER, options);
  const std::string payload(900, 'p');
  const std::vector<lapwing_message> messages(200, {payload.data(), payload.size(), 1, 0});
  std::size_t sent = 0;
  CHECK(lapwing_channel_send(pair.own(), messages.data(), messages.size(), 0, &sent, nullptr) ==
        LAPWING_ERROR_WOULD_BLOCK);
  CHECK(sent > 4);
  CHECK(sent < messages.size());
  const lapwing_message none{nullptr, 3, 0, 0};
  CHECK(lapwing_channel_send(pair.own(), &none, 1, 0, &sent, nullptr) ==
        LAPWING_ERROR_INVALID_ARGUMENT);
  CHECK(lapwing_channel_send(pair.peer(), messages.data(), 1, 0, &sent, nullptr) ==
        LAPWING_ERROR_MISUSE);
}

TEST_CASE("what is released is what the last peek has, of one message or of several") {
  Pair pair(LAPWING_CHANNEL_ROLE_PRODUCER, LAPWING_CHANNEL_ROLE_CONSUMER);
  const auto peek = [&](std::size_t max) {
    lapwing_message messages[4];
    std::size_t count = 0;
    const lapwing_result result =
        lapwing_channel_peek(pair.peer(), messages, max, 0, &count, nullptr);
    return result == LAPWING_OK ? static_cast<int>(count) : -1;
  };
  const auto release = [&](std::size_t count) {
    return lapwing_channel_release(pair.peer(), count, nullptr);
  };
  const std::vector<lapwing_message> three(3, {"m", 1, 0, 0});
  REQUIRE(lapwing_channel_send(pair.own(), three.data(), 3, 0, nullptr, nullptr) == LAPWING_OK);
  CHECK(peek(4) == 3);
  CHECK(peek(1) == 1);
  CHECK(release(2) == LAPWING_ERROR_MISUSE);
  CHECK(release(0) == LAPWING_OK);
  CHECK(release(1) == LAPWING_OK);
  CHECK(release(1) == LAPWING_ERROR_MISUSE);
  CHECK(peek(1) == 1);
  CHECK(peek(4) == 2);
  CHECK(release(2) == LAPWING_OK);
  CHECK(peek(1) == -1);
  CHECK(release(1) == LAPWING_ERROR_MISUSE);
  CHECK(peek(4) == -1);
  CHECK(release(1) == LAPWING_ERROR_MISUSE);
}

TEST_CASE("messages that were peeked are released a few at a time, in their order") {
  Pair pair(LAPWING_CHANNEL_ROLE_PRODUCER, LAPWING_CHANNEL_ROLE_CONSUMER);
  for (const char* text : {"one", "two", "three"}) {
    const lapwing_message message{text, std::strlen(text), 0, 0};
    REQUIRE(lapwing_channel_send(pair.own(), &message, 1, 0, nullptr, nullptr) == LAPWING_OK);
  }
  lapwing_message messages[3];
  std::size_t count = 0;
  REQUIRE(lapwing_channel_peek(pair.peer(), messages, 3, kTenSeconds, &count, nullptr) ==
          LAPWING_OK);
  REQUIRE(count == 3);
  CHECK(lapwing_channel_release(pair.peer(), 2, nullptr) == LAPWING_OK);
  CHECK(text_of(messages[2]) == "three");
  CHECK(lapwing_channel_release(pair.peer(), 1, nullptr) == LAPWING_OK);
  auto info = sized<lapwing_channel_info>();
  REQUIRE(lapwing_channel_inspect(pair.peer(), &info, nullptr) == LAPWING_OK);
  CHECK(info.received == 3);
  CHECK(info.role == LAPWING_CHANNEL_ROLE_CONSUMER);
  auto peer_info = sized<lapwing_channel_info>();
  REQUIRE(lapwing_channel_inspect(pair.own(), &peer_info, nullptr) == LAPWING_OK);
  CHECK(std::memcmp(&info.connection_id, &peer_info.connection_id, sizeof info.connection_id) == 0);
}

TEST_CASE("a call is answered by its server, with a reply or with an error of its own") {
  Pair pair(LAPWING_CHANNEL_ROLE_DUPLEX, LAPWING_CHANNEL_ROLE_DUPLEX);
  const lapwing_message ask{"ask", 3, 1, 0};
  std::uint64_t first = 0;
  std::uint64_t second = 0;
  REQUIRE(lapwing_channel_start(pair.peer(), &ask, kTenSeconds, &first, nullptr) == LAPWING_OK);
  REQUIRE(lapwing_channel_start(pair.peer(), &ask, kTenSeconds, &second, nullptr) == LAPWING_OK);
  CHECK(first != second);

  auto request = sized<lapwing_request>();
  REQUIRE(lapwing_channel_next(pair.own(), kTenSeconds, &request, nullptr) == LAPWING_OK);
  CHECK(request.call != 0);
  CHECK(text_of(request.message) == "ask");
  auto refusal = sized<lapwing_reply>();
  refusal.call = request.call;
  refusal.is_error = 1;
  refusal.code = 77;
  refusal.message = {"no", 2, 0, 0};
  CHECK(lapwing_channel_reply(pair.own(), &refusal, kTenSeconds, nullptr) == LAPWING_OK);
  CHECK(lapwing_channel_reply(pair.own(), &refusal, kTenSeconds, nullptr) == LAPWING_ERROR_MISUSE);
  REQUIRE(lapwing_channel_next(pair.own(), kTenSeconds, &request, nullptr) == LAPWING_OK);
  auto answer = sized<lapwing_reply>();
  answer.call = request.call;
  answer.message = {"answer", 6, 2, 0};
  CHECK(lapwing_channel_reply(pair.own(), &answer, kTenSeconds, nullptr) == LAPWING_OK);

  auto reply = sized<lapwing_reply>();
  REQUIRE(lapwing_channel_finish(pair.peer(), second, &reply, nullptr) == LAPWING_OK);
  CHECK(reply.is_error == 0);
  CHECK(text_of(reply.message) == "answer");
  CHECK(reply.message.type == 2);
  REQUIRE(lapwing_channel_finish_any(pair.peer(), kTenSeconds, &reply, nullptr) == LAPWING_OK);
  CHECK(reply.call == first);
  CHECK(reply.is_error == 1);
  CHECK(reply.code == 77);
  CHECK(text_of(reply.message) == "no");
  CHECK(lapwing_channel_finish(pair.peer(), first, &reply, nullptr) == LAPWING_ERROR_MISUSE);
  CHECK(lapwing_channel_cancel(pair.peer(), first, nullptr) == LAPWING_ERROR_MISUSE);

  REQUIRE(lapwing_channel_start(pair.peer(), &ask, kTenSeconds, &first, nullptr) == LAPWING_OK);
  CHECK(lapwing_channel_finish_any(pair.peer(), 1'000'000, &reply, nullptr) ==
        LAPWING_ERROR_TIMED_OUT);
  CHECK(reply.call == 0);
  CHECK(lapwing_channel_cancel(pair.peer(), first, nullptr) == LAPWING_OK);
}

TEST_CASE("an armed end has a descriptor that becomes readable") {
  Pair pair(LAPWING_CHANNEL_ROLE_PRODUCER, LAPWING_CHANNEL_ROLE_CONSUMER);
  std::int32_t armed = 0;
  REQUIRE(lapwing_channel_arm(pair.peer(), 0, &armed, nullptr) == LAPWING_OK);
  CHECK(armed == 1);
  std::int32_t fd = -1;
  REQUIRE(lapwing_channel_fd(pair.peer(), &fd, nullptr) == LAPWING_OK);
  CHECK(fd >= 0);
  CHECK_FALSE(is_readable(fd));
  const lapwing_message message{"x", 1, 0, 0};
  REQUIRE(lapwing_channel_send(pair.own(), &message, 1, 0, nullptr, nullptr) == LAPWING_OK);
  CHECK(is_readable(fd, 10'000));
  CHECK(lapwing_channel_arm(pair.own(), 1, &armed, nullptr) == LAPWING_OK);
  CHECK(armed == 0);
  CHECK(lapwing_channel_arm(pair.own(), 1, nullptr, nullptr) == LAPWING_ERROR_INVALID_ARGUMENT);
}

TEST_CASE("the descriptor of a subscriber becomes readable, and stands after an empty read") {
  TestBus bus;
  auto options = sized<lapwing_subscriber_options>();
  options.wait = LAPWING_WAIT_PARK;
  const Subscriber subscriber = bus.subscribe(options);
  REQUIRE(read_until(subscriber.get(), LAPWING_EVENT_CAUGHT_UP) == LAPWING_OK);
  std::int32_t fd = -1;
  REQUIRE(lapwing_subscriber_fd(subscriber.get(), &fd, nullptr) == LAPWING_OK);
  std::uint64_t record = 0;
  std::uint64_t sequence = 0;
  CHECK(lapwing_subscriber_read_one(subscriber.get(), &record, 8, 0, &sequence, nullptr) ==
        LAPWING_ERROR_WOULD_BLOCK);
  CHECK_FALSE(is_readable(fd));
  REQUIRE(bus.publish(1, 1) == LAPWING_OK);
  CHECK(is_readable(fd, 10'000));
  CHECK(lapwing_subscriber_read_one(subscriber.get(), &record, 8, 0, &sequence, nullptr) ==
        LAPWING_OK);
}

TEST_CASE("an interrupt ends a wait for a message, for a peer, and no other") {
  Pair pair(LAPWING_CHANNEL_ROLE_PRODUCER, LAPWING_CHANNEL_ROLE_CONSUMER);
  lapwing_message message;
  std::size_t count = 0;
  const lapwing_result peeked = while_it_waits(
      [&] {
        return lapwing_channel_peek(pair.peer(), &message, 1, LAPWING_FOREVER, &count, nullptr);
      },
      [&] { lapwing_channel_interrupt(pair.peer()); });
  CHECK(peeked == LAPWING_ERROR_INTERRUPTED);
  CHECK(lapwing_channel_peek(pair.peer(), &message, 1, 0, &count, nullptr) ==
        LAPWING_ERROR_WOULD_BLOCK);
  lapwing_channel* accepted = nullptr;
  const lapwing_result served = while_it_waits(
      [&] {
        return lapwing_listener_accept(pair.listener(), LAPWING_CHANNEL_ROLE_DUPLEX, nullptr,
                                       LAPWING_FOREVER, &accepted, nullptr);
      },
      [&] { lapwing_listener_interrupt(pair.listener()); });
  CHECK(served == LAPWING_ERROR_INTERRUPTED);
  CHECK(lapwing_listener_tend(pair.listener(), nullptr) == LAPWING_OK);
  std::int32_t fd = -1;
  CHECK(lapwing_listener_fd(pair.listener(), &fd, nullptr) == LAPWING_OK);
  CHECK(fd >= 0);
  CHECK(lapwing_listener_fd(pair.listener(), nullptr, nullptr) == LAPWING_ERROR_INVALID_ARGUMENT);
}

TEST_CASE("a channel that is closed gives what was sent, and then says so on both sides") {
  Pair pair(LAPWING_CHANNEL_ROLE_PRODUCER, LAPWING_CHANNEL_ROLE_CONSUMER);
  const lapwing_message sent{"last", 4, 0, 0};
  REQUIRE(lapwing_channel_send(pair.own(), &sent, 1, 0, nullptr, nullptr) == LAPWING_OK);
  CHECK(lapwing_channel_close(pair.own(), nullptr) == LAPWING_OK);
  CHECK(lapwing_channel_close(pair.own(), nullptr) == LAPWING_OK);
  std::int32_t fd = 0;
  CHECK(lapwing_channel_fd(pair.own(), &fd, nullptr) == LAPWING_ERROR_CLOSED);
  CHECK(fd == -1);
  auto own_error = sized<lapwing_error>();
  CHECK(lapwing_channel_send(pair.own(), &sent, 1, 0, nullptr, &own_error) == LAPWING_ERROR_MISUSE);
  CHECK(std::string(own_error.message).find("close()") != std::string::npos);
  lapwing_message message;
  std::size_t count = 0;
  REQUIRE(lapwing_channel_peek(pair.peer(), &message, 1, kTenSeconds, &count, nullptr) ==
          LAPWING_OK);
  CHECK(text_of(message) == "last");
  CHECK(lapwing_channel_release(pair.peer(), 1, nullptr) == LAPWING_OK);
  auto error = sized<lapwing_error>();
  CHECK(lapwing_channel_peek(pair.peer(), &message, 1, kTenSeconds, &count, &error) ==
        LAPWING_ERROR_CLOSED);
  CHECK(std::strlen(error.message) > 0);
}

TEST_CASE("a successor takes a listener over") {
  Pair pair(LAPWING_CHANNEL_ROLE_PRODUCER, LAPWING_CHANNEL_ROLE_CONSUMER);
  std::future<lapwing_listener*> taking = std::async(std::launch::async, [&] {
    lapwing_listener* successor = nullptr;
    (void)!lapwing_listener_take_over(pair.path().c_str(), nullptr, kTenSeconds, &successor,
                                      nullptr);
    return successor;
  });
  lapwing_channel* accepted = nullptr;
  CHECK(lapwing_listener_accept(pair.listener(), LAPWING_CHANNEL_ROLE_PRODUCER, nullptr,
                                kTenSeconds, &accepted, nullptr) == LAPWING_ERROR_CLOSED);
  const Listener successor(taking.get());
  REQUIRE(successor != nullptr);
  std::int32_t fd = -1;
  CHECK(lapwing_listener_fd(successor.get(), &fd, nullptr) == LAPWING_OK);
  CHECK(fd >= 0);
  CHECK(lapwing_listener_fd(pair.listener(), &fd, nullptr) == LAPWING_ERROR_CLOSED);
  CHECK(fd == -1);
}

TEST_CASE("roles and options that lapwing.h does not name are refused") {
  lapwing_channel* opened = nullptr;
  CHECK(lapwing_channel_connect("/nowhere", 4, nullptr, 0, &opened, nullptr) ==
        LAPWING_ERROR_INVALID_ARGUMENT);
  auto options = sized<lapwing_channel_options>();
  options.flags = 64;
  CHECK(lapwing_channel_connect("/nowhere", LAPWING_CHANNEL_ROLE_DUPLEX, &options, 0, &opened,
                                nullptr) == LAPWING_ERROR_INVALID_ARGUMENT);
  options = sized<lapwing_channel_options>();
  options.numa_node = 1;
  CHECK(lapwing_channel_connect("/nowhere", LAPWING_CHANNEL_ROLE_DUPLEX, &options, 0, &opened,
                                nullptr) == LAPWING_ERROR_INVALID_ARGUMENT);
  options = sized<lapwing_channel_options>();
  options.peer_uid = 1;
  CHECK(lapwing_channel_connect("/nowhere", LAPWING_CHANNEL_ROLE_DUPLEX, &options, 0, &opened,
                                nullptr) == LAPWING_ERROR_INVALID_ARGUMENT);
  options = sized<lapwing_channel_options>();
  options.wait = 9;
  CHECK(lapwing_channel_connect("/nowhere", LAPWING_CHANNEL_ROLE_DUPLEX, &options, 0, &opened,
                                nullptr) == LAPWING_ERROR_INVALID_ARGUMENT);
  CHECK(lapwing_channel_connect("/nowhere", LAPWING_CHANNEL_ROLE_DUPLEX, nullptr, 0, &opened,
                                nullptr) == LAPWING_ERROR_NO_BUS);
  CHECK(opened == nullptr);
}

}  // namespace
}  // namespace lapwing::c_test
