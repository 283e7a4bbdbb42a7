// Other threads may use an end after this one, call it while this one sleeps in a
// call, and end that sleep.

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <future>
#include <string>
#include <thread>
#include <utility>

#include "lapwing/duplex.h"
#include "testing/channel_fixture.h"
#include "testing/far_deadline.h"
#include "testing/is_readable.h"
#include "testing/process_descriptors.h"
#include "testing/skip.h"
#include "testing/waiting_call.h"

namespace lapwing {
namespace {

constexpr std::chrono::milliseconds kShort{1};
constexpr std::size_t kHalf = 400;  // two of them fill the channel
const ChannelOptions kParks{
    .capacity = 1024, .message_bytes_max = kHalf, .wait = WaitStrategy::kPark};

// Waits until another thread sleeps in `end`, and then repeats `call` until it returns kMisuse.
template <typename End, typename Call>
bool comes_to_misuse(const End& end, const Call& call) {
  const Deadline deadline = soon();
  while (end.counters().sleeps == 0 && !deadline.has_passed()) std::this_thread::yield();
  while (!deadline.has_passed()) {
    if (call() == Errc::kMisuse) return true;
  }
  return false;
}

// `wait` waits for something that does not occur.
template <typename Wait, typename Interrupt>
void check_interrupt(const Wait& wait, const Interrupt& interrupt) {
  CHECK(while_it_waits([&] { return wait(soon()); }, interrupt) == Errc::kInterrupted);
  CHECK(wait(kPast) == Errc::kTimedOut);
  CHECK(wait(Deadline::now()) == Errc::kWouldBlock);
  interrupt();
  interrupt();
  CHECK(wait(soon()) == Errc::kInterrupted);
  CHECK(wait(Deadline::now()) == Errc::kWouldBlock);
}

TEST_CASE("An end may move from one thread to another between operations") {
  ChannelPair pair({});
  REQUIRE(pair.producer().try_send(bytes_of("x"), 0) == Errc::kOk);
  Result<> sent = Errc::kMisuse;
  std::thread([&] { sent = pair.producer().try_send({}, 0); }).join();
  CHECK(sent == Errc::kOk);
  CHECK(pair.producer().counters().messages_sent == 2);
}

TEST_CASE("A call that overlaps one that sleeps is misuse, and disturbs nothing") {
  if (kThreadSanitizer) LAPWING_SKIP("the misuse is a data race, which a sanitizer reports");
  ChannelPair pair(kParks);
  SECTION("of a producer that waits for room") {
    const std::string large(kHalf, 'x');
    while (pair.producer().try_send(bytes_of(large), 1).ok()) {
    }
    auto waiting =
        std::async(std::launch::async, [&] { return pair.producer().claim(kHalf, soon()); });
    CHECK(
        comes_to_misuse(pair.producer(), [&] { return pair.producer().try_claim(kHalf).error(); }));
    CHECK(pair.producer().status().ok());
    for (int i = 0; i < 2; ++i) {
      REQUIRE(pair.consumer().try_peek().error() == Errc::kOk);
      REQUIRE(pair.consumer().release() == Errc::kOk);
    }
    const auto claim = waiting.get();
    CHECK(claim.ok());
    CHECK(claim->size() == kHalf);
    REQUIRE(pair.producer().commit(kHalf, 2) == Errc::kOk);
    CHECK(pair.consumer().peek(soon())->type == 2);
  }
  SECTION("of a consumer that waits for a message") {
    auto waiting = std::async(std::launch::async, [&] { return pair.consumer().peek(soon()); });
    CHECK(comes_to_misuse(pair.consumer(), [&] { return pair.consumer().try_peek().error(); }));
    CHECK(pair.consumer().status().ok());
    REQUIRE(pair.producer().try_send(bytes_of("it"), 3) == Errc::kOk);
    const Result<Message> peek = waiting.get();
    CHECK(peek.ok());
    CHECK(text_of(peek->payload) == "it");
    CHECK(pair.consumer().release() == Errc::kOk);
  }
  SECTION("of a commit, while another thread drains with a claim open") {
    REQUIRE(pair.producer().try_send(bytes_of("x"), 1) == Errc::kOk);
    const auto claim = pair.producer().try_claim(3);
    REQUIRE(claim.ok());
    std::memcpy(claim->data(), "yes", 3);
    auto waiting = std::async(std::launch::async, [&] { return pair.producer().drain(soon()); });
    CHECK(comes_to_misuse(pair.producer(), [&] { return pair.producer().commit(3, 2); }));
    REQUIRE(pair.consumer().try_peek()->type == 1);
    REQUIRE(pair.consumer().release() == Errc::kOk);
    CHECK(waiting.get() == Errc::kOk);
    CHECK(pair.consumer().try_peek().error() == Errc::kWouldBlock);
    REQUIRE(pair.producer().commit(3, 2) == Errc::kOk);  // the claim is still there
    CHECK(text_of(pair.consumer().try_peek()->payload) == "yes");
  }
  SECTION("of a release, while another thread waits for the next message") {
    REQUIRE(pair.producer().try_send(bytes_of("x"), 1) == Errc::kOk);
    REQUIRE(pair.consumer().try_peek().error() == Errc::kOk);
    REQUIRE(pair.consumer().release() == Errc::kOk);
    auto waiting = std::async(std::launch::async, [&] { return pair.consumer().peek(soon()); });
    CHECK(comes_to_misuse(pair.consumer(), [&] { return pair.consumer().release(); }));
    REQUIRE(pair.producer().try_send(bytes_of("it"), 3) == Errc::kOk);
    CHECK(text_of(waiting.get()->payload) == "it");
    CHECK(pair.consumer().release() == Errc::kOk);
    CHECK(pair.consumer().counters().messages_received == 2);
  }
}

TEST_CASE("A claim moves with its producer") {
  ChannelPair pair({});
  const std::size_t size = GENERATE(std::size_t{3}, std::size_t{300});
  const std::string text(size, 'm');
  const auto claim = pair.producer().try_claim(size);
  REQUIRE(claim.ok());
  ChannelProducer moved = std::move(pair.producer());
  std::memcpy(claim->data(), text.data(), size);
  pair.producer() = std::move(moved);
  REQUIRE(pair.producer().commit(size, 7) == Errc::kOk);
  CHECK(text_of(pair.consumer().try_peek()->payload) == text);
}

TEST_CASE("interrupt ends the wait under way, or the next, once") {
  const WaitStrategy strategy =
      GENERATE(WaitStrategy::kBusy, WaitStrategy::kBackoff, WaitStrategy::kPark);
  ChannelOptions options = kParks;
  options.wait = strategy;
  SECTION("of a producer that claims") {
    ChannelPair pair(options);
    const std::string large(kHalf, 'x');
    while (pair.producer().try_send(bytes_of(large), 1).ok()) {
    }
    check_interrupt(
        [&](Deadline deadline) { return pair.producer().claim(kHalf, deadline).error(); },
        [&] { pair.producer().interrupt(); });
    CHECK(pair.producer().status().ok());
    REQUIRE(pair.consumer().try_peek().error() == Errc::kOk);
    REQUIRE(pair.consumer().release() == Errc::kOk);
    CHECK(pair.producer().claim(1, soon()).error() == Errc::kOk);
  }
  SECTION("of a consumer that peeks") {
    ChannelPair pair(options);
    check_interrupt([&](Deadline deadline) { return pair.consumer().peek(deadline).error(); },
                    [&] { pair.consumer().interrupt(); });
    CHECK(pair.consumer().status().ok());
    REQUIRE(pair.producer().try_send({}, 4) == Errc::kOk);
    CHECK(pair.consumer().peek(soon())->type == 4);
  }
  SECTION("of a duplex that waits for what comes next") {
    const TemporaryDirectory directory;
    auto [duplex, other] =
        make_ends<Duplex, Duplex>(directory.file("duplex.sock"), options, options);
    Duplex& waits = duplex;
    check_interrupt([&](Deadline deadline) { return waits.next(deadline).error(); },
                    [&] { waits.interrupt(); });
    CHECK(waits.status().ok());
    REQUIRE(other.try_send({}, 5) == Errc::kOk);
    CHECK(waits.next(soon())->type == 5);
    check_interrupt([&](Deadline deadline) { return waits.wait_any(deadline).error(); },
                    [&] { waits.interrupt(); });
  }
}

TEST_CASE("A deadline of now that finds nothing would block, and one that passes has timed out") {
  const std::string large(kHalf, 'x');
  const std::array<Outgoing, 1> batch = {Outgoing{bytes_of(large), 1}};
  std::array<Message, 1> messages;
  std::array<std::byte, kHalf> buffer;
  const TemporaryDirectory directory;
  auto [duplex, other] = make_ends<Duplex, Duplex>(directory.file("duplex.sock"), kParks, kParks);
  REQUIRE(duplex.try_start({}, 0).error() == Errc::kOk);
  while (duplex.try_send(bytes_of(large), 1).ok()) {
  }
  ChannelPair pair(kParks);
  for (const auto& [deadline, nothing] :
       {std::pair(Deadline::now(), Errc::kWouldBlock), std::pair(kPast, Errc::kTimedOut),
        std::pair(Deadline(kShort), Errc::kTimedOut)}) {
    CHECK(pair.consumer().peek(deadline).error() == nothing);
    CHECK(pair.consumer().peek_batch(messages, deadline).error() == nothing);
    CHECK(pair.consumer().receive(buffer, deadline).error() == nothing);
    while (pair.producer().try_send(bytes_of(large), 1).ok()) {
    }
    CHECK(pair.producer().claim(kHalf, deadline).error() == nothing);
    CHECK(pair.producer().send(bytes_of(large), 1, deadline) == nothing);
    CHECK(pair.producer().send_batch(batch, deadline).error() == nothing);
    CHECK(pair.producer().drain(deadline) == nothing);
    while (pair.consumer().try_receive(buffer).error() == Errc::kOk) {
    }
    CHECK(duplex.next(deadline).error() == nothing);
    const Result<Arrival> arrival = duplex.wait_any(deadline);
    CHECK(arrival.error() == nothing);
    const Result<Reply> none = duplex.finish_any(deadline);
    CHECK(none.error() == nothing);
    CHECK(none->call == 0);
    CHECK(duplex.send(bytes_of(large), 1, deadline) == nothing);
    CHECK(duplex.start(bytes_of(large), 1, deadline).error() == nothing);
  }
}

TEST_CASE("interrupt ends the accept under way, or the next, once") {
  const TemporaryDirectory directory;
  auto listener = ChannelListener::listen(directory.file("channel.sock"));
  REQUIRE(listener.ok());
  check_interrupt(
      [&](Deadline deadline) {
        return errc_of(ChannelConsumer::accept(*listener, kParks, deadline).status());
      },
      [&] { listener->interrupt(); });
}

TEST_CASE("The signal of an earlier interrupt ends one sleep, and no later one") {
  const auto signalled = [] {
    return std::ranges::count_if(descriptors_of("[eventfd]"),
                                 [](int fd) { return is_readable(fd); });
  };
  const auto signal = [] {
    for (const int fd : descriptors_of("[eventfd]")) signal_eventfd(fd);
  };
  SECTION("of an end") {
    ChannelPair pair(kParks);
    signal();
    REQUIRE(signalled() == 2);
    CHECK(while_it_waits([&] { return pair.consumer().peek(soon()).error(); },
                         [&] { CHECK(pair.producer().try_send({}, 1) == Errc::kOk); }) ==
          Errc::kOk);
    CHECK(signalled() == 1);  // the producer has not slept
  }
  SECTION("of a listener") {
    const TemporaryDirectory directory;
    auto listener = ChannelListener::listen(directory.file("channel.sock"));
    REQUIRE(listener.ok());
    signal();
    REQUIRE(signalled() == 1);
    absl::StatusOr<ChannelProducer> producer;
    CHECK(while_it_waits(
              [&] { return errc_of(ChannelConsumer::accept(*listener, kParks, soon()).status()); },
              [&] {
                producer = ChannelProducer::connect(directory.file("channel.sock"), kParks, soon());
              }) == Errc::kOk);
    CHECK(signalled() == 0);
  }
}

}  // namespace
}  // namespace lapwing
