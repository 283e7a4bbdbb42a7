#include <catch2/catch.hpp>
#include <cstring>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <thread>

#include "os/kernel.h"
#include "relay/nats/connect.h"
#include "testing/is_readable.h"
#include "testing/nats_client.h"
#include "testing/nats_fixture.h"

namespace lapwing {
namespace {

constexpr RelaySubject kAll[] = {RelaySubject::kBeat, RelaySubject::kAsk, RelaySubject::kLive,
                                 RelaySubject::kLog};

TEST_CASE("a relay over NATS: messages reach the listeners of their subject, in order") {
  LAPWING_NEED_NATS_SERVER();
  const NatsServer server;
  const auto sender = connected(server);
  const auto receiver = connected(server);
  const auto other = connected(server);
  listen(*receiver, {std::begin(kAll), std::end(kAll)});
  listen(*other, {RelaySubject::kBeat});
  settle(*receiver);
  settle(*other);
  for (int i = 0; i < 1000; ++i) {
    for (const RelaySubject subject : kAll) {
      REQUIRE(sender->send(subject, message(name_of(subject) + std::to_string(i))).ok());
    }
  }
  std::map<RelaySubject, int> next;
  for (int i = 0; i < 4000; ++i) {
    const Arrived arrived = take(*receiver);
    REQUIRE(arrived.kind == RelayArrivalKind::kPublished);
    REQUIRE(arrived.text == name_of(arrived.subject) + std::to_string(next[arrived.subject]++));
    CHECK(arrived.reply_to.empty());
  }
  for (int i = 0; i < 1000; ++i) {
    const Arrived arrived = take(*other);
    REQUIRE(arrived.subject == RelaySubject::kBeat);
    REQUIRE(arrived.text == "beat" + std::to_string(i));
  }
  CHECK_FALSE(try_take(*other, Deadline::now()));
  CHECK(receiver->dropped() == 0);
}

TEST_CASE("a relay over NATS: messages of every size arrive whole") {
  LAPWING_NEED_NATS_SERVER();
  const NatsServer server;
  const auto sender = connected(server);
  const auto receiver = connected(server);
  listen(*receiver, {RelaySubject::kLive});
  settle(*receiver);
  for (const std::size_t bytes :
       {std::size_t{0}, std::size_t{1}, std::size_t{56'128}, kRelayMessageBytesMax}) {
    std::string text(bytes, 'x');
    for (std::size_t i = 0; i < bytes; ++i) text[i] = static_cast<char>(i * i >> 3);
    REQUIRE(sender->send(RelaySubject::kLive, message(text)).ok());
    CHECK((take(*receiver).text == text));
  }
  // The server's limit, 1 MiB.
  const std::string large(2 << 20, 'x');
  const absl::Status refused = sender->send(RelaySubject::kLive, message(large));
  CHECK(errc_of(refused) == Errc::kLimit);
  CHECK(mentions(refused, "max_payload is 1048576"));
  CHECK(sender->send(RelaySubject::kLive, message("still there")).ok());
  CHECK(take(*receiver).text == "still there");
}

TEST_CASE("a relay over NATS: records are taken before a beat that arrives with them") {
  LAPWING_NEED_NATS_SERVER();
  const NatsServer server;
  const auto sender = connected(server);
  const auto receiver = connected(server);
  listen(*receiver, {RelaySubject::kBeat, RelaySubject::kLive, RelaySubject::kLog});
  settle(*receiver);
  int behind = 0;  // a beat came, and the record that was sent before it had not
  int records = 0;
  for (int i = 0; i < 2000; ++i) {
    REQUIRE(sender->send(RelaySubject::kLog, message(std::to_string(i))).ok());
    REQUIRE(sender->send(RelaySubject::kBeat, message(std::to_string(i))).ok());
  }
  for (int i = 0; i < 4000; ++i) {
    const Arrived arrived = take(*receiver);
    if (arrived.subject == RelaySubject::kLog) {
      ++records;
    } else if (std::stoi(arrived.text) >= records) {
      ++behind;
    }
  }
  CHECK(behind == 0);
}

TEST_CASE("a relay over NATS: a sender does not hear itself") {
  LAPWING_NEED_NATS_SERVER();
  const NatsServer server;
  const auto transport = connected(server);
  listen(*transport, {RelaySubject::kLive, RelaySubject::kAsk});
  REQUIRE(transport->send(RelaySubject::kLive, message("x")).ok());
  REQUIRE(transport->ask(message("y")).ok());
  settle(*transport);
  CHECK_FALSE(try_take(*transport, Deadline::now()));
}

TEST_CASE("a relay over NATS: answers reach the asking transport, with the id of the ask") {
  LAPWING_NEED_NATS_SERVER();
  const NatsServer server;
  const auto origin = connected(server);
  const auto mirror = connected(server);
  const auto third = connected(server);
  listen(*origin, {RelaySubject::kAsk});
  listen(*third, {RelaySubject::kAsk});
  settle(*origin);
  settle(*third);
  const auto first = mirror->ask(message("first"));
  const auto second = mirror->ask(message("second"));
  REQUIRE(first.ok());
  REQUIRE(second.ok());
  CHECK(*first != *second);
  for (const auto* const answering : {&origin, &third}) {
    for (const char* const asked : {"first", "second"}) {
      const Arrived arrived = take(**answering);
      CHECK(arrived.kind == RelayArrivalKind::kPublished);
      CHECK(arrived.subject == RelaySubject::kAsk);
      CHECK(arrived.text == asked);
      const std::string part = std::string(answering == &origin ? "origin " : "third ") + asked;
      REQUIRE((*answering)->answer(arrived.reply_to, message(part + " 1")).ok());
      REQUIRE((*answering)->answer(arrived.reply_to, message(part + " 2")).ok());
    }
  }
  std::multiset<std::string> answers[2];
  for (int i = 0; i < 8; ++i) {
    const Arrived arrived = take(*mirror);
    REQUIRE(arrived.kind == RelayArrivalKind::kAnswer);
    REQUIRE((arrived.ask == *first || arrived.ask == *second));
    answers[arrived.ask == *second].insert(arrived.text);
  }
  CHECK(answers[0] == std::multiset<std::string>{"origin first 1", "origin first 2",
                                                 "third first 1", "third first 2"});
  CHECK(answers[1].size() == 4);
}

TEST_CASE("a relay over NATS: an ask without a listener has no answer") {
  LAPWING_NEED_NATS_SERVER();
  const NatsServer server;
  const auto mirror = connected(server);
  REQUIRE(mirror->ask(message("x")).ok());
  settle(*mirror);
  CHECK_FALSE(try_take(*mirror, Deadline::now()));
}

TEST_CASE("a relay over NATS: a reply subject that is not an ask's is not answered") {
  LAPWING_NEED_NATS_SERVER();
  const NatsServer server;
  const auto origin = connected(server);
  listen(*origin, {RelaySubject::kAsk, RelaySubject::kLog});
  settle(*origin);
  NatsClient(server).publish(test_names().ask, test_names().log, "forged");
  Arrived arrived = take(*origin);
  CHECK(arrived.text == "forged");
  CHECK(arrived.reply_to.empty());
  // An append has a reply subject too, for its ack.
  const auto other = connected(server);
  REQUIRE(other->append(message("x"), 0).ok());
  arrived = take(*origin);
  CHECK(arrived.text == "x");
  CHECK(arrived.reply_to.empty());
}

TEST_CASE("a relay over NATS: the descriptor is readable while a message is waiting") {
  LAPWING_NEED_NATS_SERVER();
  const NatsServer server;
  const auto sender = connected(server);
  const auto receiver = connected(server);
  listen(*receiver, {RelaySubject::kLive});
  settle(*receiver);
  CHECK_FALSE(is_readable(receiver->fd()));
  REQUIRE(sender->send(RelaySubject::kLive, message("1")).ok());
  REQUIRE(sender->send(RelaySubject::kLive, message("2")).ok());
  CHECK(is_readable(receiver->fd(), 10'000));
  CHECK(take(*receiver).text == "1");
  CHECK(take(*receiver).text == "2");
  CHECK_FALSE(is_readable(receiver->fd()));
  CHECK_FALSE(try_take(*receiver, Deadline::now()));
}

TEST_CASE("a relay over NATS: a full inbox drops the newest messages and counts them") {
  LAPWING_NEED_NATS_SERVER();
  const NatsServer server;
  const auto sender = connected(server);
  const auto receiver = connected(server);
  listen(*receiver, {RelaySubject::kLive});
  settle(*receiver);
  constexpr std::uint64_t kSent = 1500;
  std::string text(64 << 10, 'x');
  for (std::uint64_t i = 0; i < kSent; ++i) {
    std::memcpy(text.data(), &i, sizeof i);
    const absl::Status sent = sender->send(RelaySubject::kLive, message(text));
    INFO(sent.ToString());
    REQUIRE(sent.ok());
  }
  // All have come to the receiver once this one has, which needs the socket to be drained.
  settle(*sender);
  settle(*receiver);
  const std::uint64_t dropped = receiver->dropped();
  CHECK(dropped > 0);
  std::uint64_t taken = 0;
  std::uint64_t bytes = 0;
  while (const auto arrived = try_take(*receiver, Deadline::now())) {
    std::uint64_t number = 0;
    std::memcpy(&number, arrived->text.data(), sizeof number);
    REQUIRE(number == taken);  // the newest are dropped
    ++taken;
    bytes += arrived->text.size();
  }
  CHECK(taken + dropped == kSent);
  CHECK(bytes <= kRelayInboxBytesMax);
  CHECK(bytes > kRelayInboxBytesMax - (2 << 20));
  REQUIRE(sender->send(RelaySubject::kLive, message("room again")).ok());
  CHECK(take(*receiver).text == "room again");
}

TEST_CASE("a relay over NATS: the last message before the end of a transport arrives") {
  LAPWING_NEED_NATS_SERVER();
  const NatsServer server;
  const auto receiver = connected(server);
  listen(*receiver, {RelaySubject::kBeat});
  settle(*receiver);
  for (int i = 0; i < 50; ++i) {
    connected(server)->send(RelaySubject::kBeat, message(std::string(200'000, 'x'))).IgnoreError();
    CHECK(take(*receiver).text.size() == 200'000);
  }
}

TEST_CASE("a relay over NATS: a second thread may send and answer") {
  LAPWING_NEED_NATS_SERVER();
  const NatsServer server;
  const auto sender = connected(server);
  const auto receiver = connected(server);
  listen(*receiver, {RelaySubject::kLive, RelaySubject::kBeat});
  settle(*receiver);
  std::thread second([&] {
    for (int i = 0; i < 2000; ++i) sender->send(RelaySubject::kBeat, message("b")).IgnoreError();
  });
  for (int i = 0; i < 2000; ++i) {
    REQUIRE(sender->send(RelaySubject::kLive, message(std::to_string(i))).ok());
  }
  second.join();
  int live = 0;
  for (int i = 0; i < 4000; ++i) {
    const Arrived arrived = take(*receiver);
    if (arrived.subject == RelaySubject::kLive) CHECK(arrived.text == std::to_string(live++));
  }
  CHECK(live == 2000);
}

TEST_CASE("a relay over NATS: listening to a subject twice is an error") {
  LAPWING_NEED_NATS_SERVER();
  const NatsServer server;
  const auto transport = connected(server);
  listen(*transport, {std::begin(kAll), std::end(kAll)});
  const RelaySubject again[] = {RelaySubject::kLive};
  CHECK(errc_of(transport->listen(again)) == Errc::kMisuse);
}

}  // namespace
}  // namespace lapwing
