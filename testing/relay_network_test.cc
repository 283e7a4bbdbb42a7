#include "testing/relay_network.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lapwing/error.h"
#include "testing/environment.h"
#include "testing/is_readable.h"
#include "testing/relay_fixture.h"

namespace lapwing {
namespace {

using Transport = std::unique_ptr<RelayTransport>;
using Result = RelayAckResult;

constexpr std::uint64_t kMs = 1'000'000;

Transport connected(RelayNetwork& network, const std::string& host) {
  auto transport = network.connect(host);
  REQUIRE(transport.ok());
  return *std::move(transport);
}
std::vector<std::string> all_texts(RelayTransport& transport) {
  std::vector<std::string> texts;
  while (auto arrived = try_take(transport, Deadline::now())) texts.push_back(arrived->text);
  return texts;
}
std::optional<RelayAck> ack_of(RelayTransport& transport, const std::string& text,
                               std::uint64_t expected_last) {
  REQUIRE(transport.append(message(text), expected_last).ok());
  return transport.take_ack();
}
void fill(RelayTransport& transport, std::uint64_t last) {
  REQUIRE(transport.open_stream({}, kHang).ok());
  for (std::uint64_t i = 0; i < last; ++i) {
    REQUIRE(ack_of(transport, std::to_string(i + 1), i)->result == Result::kStored);
  }
}

TEST_CASE("a network without faults: what is sent arrives at once, in order, at the others") {
  RelayNetwork network(1);
  const Transport sender = connected(network, "a");
  const Transport receiver = connected(network, "b");
  listen(*sender, {RelaySubject::kLive});
  listen(*receiver, {RelaySubject::kLive, RelaySubject::kLog});
  CHECK_FALSE(is_readable(receiver->fd()));
  for (const char* const text : {"1", "2", "3"}) {
    REQUIRE(sender->send(RelaySubject::kLive, message(text)).ok());
  }
  REQUIRE(sender->send(RelaySubject::kBeat, message("to nobody")).ok());
  CHECK(is_readable(receiver->fd()));
  CHECK(all_texts(*receiver) == std::vector<std::string>{"1", "2", "3"});
  CHECK_FALSE(is_readable(receiver->fd()));
  CHECK(all_texts(*sender).empty());
}

TEST_CASE("a network: delays keep the order of a subject, and not that between subjects") {
  RelayNetwork network(test_seed());
  network.set_faults({.delay_ns_max = 10 * kMs});
  const Transport sender = connected(network, "a");
  const Transport receiver = connected(network, "b");
  listen(*receiver, {RelaySubject::kLive, RelaySubject::kBeat});
  for (int i = 0; i < 200; ++i) {
    REQUIRE(sender
                ->send(i % 2 == 0 ? RelaySubject::kLive : RelaySubject::kBeat,
                       message(std::to_string(i)))
                .ok());
    network.advance(kMs / 10);
  }
  network.advance(100 * kMs);
  std::map<RelaySubject, int> last{{RelaySubject::kLive, -2}, {RelaySubject::kBeat, -1}};
  for (int i = 0; i < 200; ++i) {
    const auto arrived = try_take(*receiver, Deadline::now());
    REQUIRE(arrived);
    CHECK(std::stoi(arrived->text) == last[arrived->subject] + 2);
    last[arrived->subject] = std::stoi(arrived->text);
  }
  CHECK(network.counts().overtaken > 0);
}

TEST_CASE("a network: messages are lost and repeated as often as they should be") {
  RelayNetwork network(test_seed());
  network.set_faults({.loss_percent = 20, .duplicate_percent = 10});
  const Transport sender = connected(network, "a");
  const Transport receiver = connected(network, "b");
  listen(*receiver, {RelaySubject::kLive});
  for (int i = 0; i < 1000; ++i) {
    REQUIRE(sender->send(RelaySubject::kLive, message(std::to_string(i))).ok());
  }
  const std::vector<std::string> texts = all_texts(*receiver);
  const RelayNetworkCounts counts = network.counts();
  CHECK(texts.size() == 1000 - counts.lost + counts.duplicated);
  CHECK(counts.lost > 100);
  CHECK(counts.lost < 300);
  CHECK(counts.duplicated > 40);
  CHECK(std::is_sorted(texts.begin(), texts.end(),
                       [](const auto& a, const auto& b) { return std::stoi(a) < std::stoi(b); }));
}

TEST_CASE("a network: the same seed has the same faults") {
  const auto run = [](std::uint64_t seed) {
    RelayNetwork network(seed);
    network.set_faults({.loss_percent = 10, .duplicate_percent = 10, .delay_ns_max = 5 * kMs});
    const Transport sender = connected(network, "a");
    const Transport receiver = connected(network, "b");
    listen(*receiver, {RelaySubject::kLive, RelaySubject::kLog});
    std::string seen;
    for (int i = 0; i < 300; ++i) {
      const RelaySubject subject = i % 3 == 0 ? RelaySubject::kLog : RelaySubject::kLive;
      sender->send(subject, message(std::to_string(i))).IgnoreError();
      network.advance(kMs / 2);
      for (const std::string& text : all_texts(*receiver)) seen += text + " ";
    }
    return seen;
  };
  CHECK(run(7) == run(7));
  CHECK(run(7) != run(8));
}

TEST_CASE("a network: asks are answered, in parts, by all who listen") {
  RelayNetwork network(1);
  const Transport origin = connected(network, "a");
  const Transport mirror = connected(network, "b");
  listen(*origin, {RelaySubject::kAsk});
  const auto first = mirror->ask(message("x"));
  const auto second = mirror->ask(message("y"));
  REQUIRE(first.ok());
  REQUIRE(second.ok());
  const Arrived asked = take(*origin);
  CHECK(asked.text == "x");
  const Arrived asked_too = take(*origin);
  REQUIRE(origin->answer(asked_too.reply_to, message("of y")).ok());
  REQUIRE(origin->answer(asked.reply_to, message("of x")).ok());
  REQUIRE(origin->answer(asked.reply_to, message("more")).ok());
  Arrived answer = take(*mirror);
  CHECK(answer.kind == RelayArrivalKind::kAnswer);
  CHECK(answer.ask == *second);
  CHECK(answer.text == "of y");
  answer = take(*mirror);
  CHECK(answer.ask == *first);
  CHECK(take(*mirror).text == "more");
}

TEST_CASE("a network's stream: appends are fenced by the last sequence, and reach listeners") {
  RelayNetwork network(1);
  const Transport out = connected(network, "a");
  const Transport in = connected(network, "b");
  CHECK(ack_of(*out, "x", 0)->result == Result::kNoStream);
  CHECK(errc_of(out->tail(kHang).status()) == Errc::kNotFound);
  listen(*in, {RelaySubject::kLog});
  CHECK_FALSE(ack_of(*out, "y", 0));
  network.advance(RelayNetwork::kAckWaitNs);
  CHECK(out->take_ack()->result == Result::kTimedOut);
  fill(*out, 3);
  CHECK(ack_of(*out, "wrong", 2)->result == Result::kWrongLast);
  CHECK(ack_of(*out, "wrong", 0)->result == Result::kWrongLast);
  const RelayTail tail = *out->tail(kHang);
  CHECK(tail.last == 3);
  CHECK(tail.first == 1);
  CHECK(text_of(tail.message) == "3");
  CHECK(all_texts(*in) == std::vector<std::string>{"y", "1", "2", "3", "wrong", "wrong"});
  RelayStreamOptions other;
  other.replicas = 3;
  CHECK(errc_of(out->open_stream(other, kHang)) == Errc::kInvalidArgument);
}

TEST_CASE("a network's stream: a reading begins at its sequence and goes on") {
  RelayNetwork network(1);
  const Transport out = connected(network, "a");
  const Transport in = connected(network, "b");
  fill(*out, 5);
  REQUIRE(in->read_from(3, kHang).ok());
  Arrived arrived = take(*in);
  CHECK(arrived.kind == RelayArrivalKind::kStored);
  CHECK(arrived.stream_sequence == 3);
  CHECK(arrived.stream_pending == 2);
  REQUIRE(in->read_from(1, kHang).ok());  // 4 and 5 of the first one are not seen
  CHECK(all_texts(*in) == std::vector<std::string>{"1", "2", "3", "4", "5"});
  REQUIRE(ack_of(*out, "6", 5));
  CHECK(all_texts(*in) == std::vector<std::string>{"6"});
  in->stop_reading();
  REQUIRE(ack_of(*out, "7", 6));
  CHECK(all_texts(*in).empty());
  // The stream ends before it: the next message is the first one.
  REQUIRE(in->read_from(20, kHang).ok());
  REQUIRE(ack_of(*out, "8", 7));
  CHECK(all_texts(*in) == std::vector<std::string>{"8"});
}

TEST_CASE("a network's stream: a slow reader has half an inbox on its way, and misses nothing") {
  RelayNetwork network(1);
  const Transport out = connected(network, "a");
  const Transport in = connected(network, "b");
  REQUIRE(out->open_stream({}, kHang).ok());
  const std::string body(1 << 20, 'x');
  for (std::uint64_t i = 0; i < 100; ++i) REQUIRE(ack_of(*out, body, i));
  REQUIRE(in->read_from(1, kHang).ok());
  for (std::uint64_t i = 1; i <= 100; ++i) CHECK(take(*in).stream_sequence == i);
  CHECK(in->dropped() == 0);
  listen(*in, {RelaySubject::kLive});
  for (int i = 0; i < 100; ++i) out->send(RelaySubject::kLive, message(body)).IgnoreError();
  CHECK(in->dropped() == 36);
  CHECK(all_texts(*in).size() == 64);
}

TEST_CASE("a network's stream: its oldest messages give way, and all of them can expire") {
  RelayNetwork network(1);
  const Transport out = connected(network, "a");
  RelayStreamOptions options;
  options.bytes_max = 1000;
  REQUIRE(out->open_stream(options, kHang).ok());
  const std::string body(300, 'x');
  for (std::uint64_t i = 0; i < 5; ++i) REQUIRE(ack_of(*out, body, i));
  CHECK(out->tail(kHang)->first == 3);
  network.expire_stream(5);
  CHECK(out->tail(kHang)->first == 5);
  network.expire_stream(100);
  const RelayTail tail = *out->tail(kHang);
  CHECK(tail.last == 5);
  CHECK(tail.first == 6);
  CHECK(tail.message.empty());
  CHECK(ack_of(*out, body, 5)->stream_sequence == 6);
}

TEST_CASE("a network's stream: deleted and restored, readings end") {
  RelayNetwork network(1);
  const Transport out = connected(network, "a");
  const Transport in = connected(network, "b");
  fill(*out, 3);
  const auto copy = network.copy_stream();
  REQUIRE(ack_of(*out, "4", 3));
  REQUIRE(in->read_from(4, kHang).ok());
  CHECK(take(*in).text == "4");
  network.restore_stream(copy);
  CHECK(take(*in).kind == RelayArrivalKind::kReadEnded);
  CHECK(out->tail(kHang)->last == 3);
  CHECK(ack_of(*out, "5", 4)->result == Result::kWrongLast);
  REQUIRE(in->read_from(1, kHang).ok());
  CHECK(all_texts(*in).size() == 3);
  network.delete_stream();
  CHECK(take(*in).kind == RelayArrivalKind::kReadEnded);
  CHECK(errc_of(in->read_from(1, kHang)) == Errc::kNotFound);
  fill(*out, 1);
  network.end_readings();  // there is none
  CHECK(all_texts(*in).empty());
}

TEST_CASE("a network's stream: slow, failing and lost acks") {
  RelayNetwork network(test_seed());
  const Transport out = connected(network, "a");
  fill(*out, 1);
  network.set_faults({.ack_delay_ns_max = 50 * kMs});
  for (std::uint64_t i = 1; i < 20; ++i) REQUIRE(out->append(message("x"), i).ok());
  network.advance(100 * kMs);
  for (std::uint64_t i = 1; i < 20; ++i) CHECK(out->take_ack()->expected_last == i);
  network.set_faults({});
  network.fail_appends(Result::kNoSpace, 1);
  CHECK(ack_of(*out, "x", 20)->result == Result::kNoSpace);
  CHECK(ack_of(*out, "x", 20)->result == Result::kStored);
  network.hold_stream(true);
  CHECK_FALSE(ack_of(*out, "x", 21));
  CHECK(out->tail(kHang)->last == 21);
  network.hold_stream(false);
  CHECK(out->take_ack()->result == Result::kStored);
  network.set_faults({.ack_loss_percent = 100});
  CHECK_FALSE(ack_of(*out, "x", 22));
  network.advance(RelayNetwork::kAckWaitNs - 1);
  CHECK_FALSE(out->take_ack());
  network.advance(1);
  CHECK(out->take_ack()->result == Result::kTimedOut);
  CHECK(out->tail(kHang)->last == 23);  // stored all the same
  CHECK(network.counts().acks_lost == 1);
}

TEST_CASE("a network: a cut loses a random part of what is under way, from its end") {
  RelayNetwork network(test_seed());
  const Transport receiver = connected(network, "b");
  listen(*receiver, {RelaySubject::kLive});
  std::map<std::size_t, int> arrived_counts;
  for (int round = 0; round < 50; ++round) {
    const Transport sender = connected(network, "a");
    network.set_faults({.delay_ns_max = 10 * kMs});
    for (const char* const text : {"1", "2", "3", "4"}) {
      REQUIRE(sender->send(RelaySubject::kLive, message(text)).ok());
    }
    network.cut("a");
    CHECK(errc_of(sender->send(RelaySubject::kLive, message("x"))) == Errc::kPeerGone);
    CHECK(errc_of(sender->take(Deadline::now()).status()) == Errc::kPeerGone);
    CHECK(errc_of(sender->tail(kHang).status()) == Errc::kPeerGone);
    CHECK(is_readable(sender->fd()));
    network.advance(100 * kMs);
    const std::vector<std::string> texts = all_texts(*receiver);
    for (std::size_t i = 0; i < texts.size(); ++i) CHECK(texts[i] == std::to_string(i + 1));
    ++arrived_counts[texts.size()];
  }
  CHECK(arrived_counts.size() == 5);
  CHECK(network.counts().cut > 0);
}

TEST_CASE("a network: what was under way to a host that is cut does not arrive") {
  RelayNetwork network(1);
  const Transport sender = connected(network, "a");
  Transport receiver = connected(network, "b");
  listen(*receiver, {RelaySubject::kLive});
  REQUIRE(sender->send(RelaySubject::kLive, message("before")).ok());
  network.set_faults({.delay_ns_max = 10 * kMs});
  for (int i = 0; i < 100; ++i) sender->send(RelaySubject::kLive, message("x")).IgnoreError();
  network.cut("b");
  network.refuse("b", true);
  CHECK(errc_of(network.connect("b").status()) == Errc::kPeerGone);
  network.advance(100 * kMs);
  // take() first returns the messages that had arrived.
  CHECK(text_of((*receiver->take(Deadline::now()))->message) == "before");
  CHECK(errc_of(receiver->take(Deadline::now()).status()) == Errc::kPeerGone);
  network.refuse("b", false);
  receiver = connected(network, "b");
  listen(*receiver, {RelaySubject::kLive});
  network.set_faults({});
  REQUIRE(sender->send(RelaySubject::kLive, message("after")).ok());
  network.advance(100 * kMs);
  CHECK(all_texts(*receiver) == std::vector<std::string>{"after"});
}

TEST_CASE("a network: a frozen link holds everything, and is lost in the end") {
  RelayNetwork network(1);
  const Transport sender = connected(network, "a");
  const Transport receiver = connected(network, "b");
  listen(*receiver, {RelaySubject::kLive});
  fill(*sender, 1);
  network.freeze("b");
  REQUIRE(sender->send(RelaySubject::kLive, message("1")).ok());
  REQUIRE(receiver->send(RelaySubject::kBeat, message("x")).ok());
  CHECK(errc_of(receiver->tail(kHang).status()) == Errc::kTimedOut);
  network.advance(1000 * kMs);
  CHECK(all_texts(*receiver).empty());
  network.thaw("b");
  CHECK(all_texts(*receiver) == std::vector<std::string>{"1"});
  network.freeze("b");
  network.advance(RelayNetwork::kSilenceNs);
  CHECK(all_texts(*receiver).empty());
  network.advance(1);
  CHECK(errc_of(receiver->take(Deadline::now()).status()) == Errc::kPeerGone);
}

TEST_CASE("a network: a transport may outlive it, and what it has sent arrives before its end") {
  Transport receiver;
  {
    RelayNetwork network(1);
    receiver = connected(network, "b");
    listen(*receiver, {RelaySubject::kBeat});
    network.set_faults({.delay_ns_max = 10 * kMs});
    connected(network, "a")->send(RelaySubject::kBeat, message("last")).IgnoreError();
    network.advance(10 * kMs);
    CHECK(all_texts(*receiver) == std::vector<std::string>{"last"});
  }
  CHECK(errc_of(receiver->take(Deadline::now()).status()) == Errc::kPeerGone);
}

}  // namespace
}  // namespace lapwing
