// Tests the time that a side needs for its memory: it is not created before there is a listener,
// its creation can be interrupted, and it may take longer than a listener waits for a hello.

#include <atomic>
#include <functional>

#include "channel/handshake.h"
#include "testing/raw_channel_peer.h"

namespace lapwing {
namespace {

constexpr std::uint64_t kSteps = 4;

// A side whose memory takes a little more than kSteps steps. It checks before each step whether to
// stop.
ChannelOptions in_steps(std::function<bool()> is_interrupted) {
  ChannelOptions options{.capacity = kSteps * kPopulateStepBytes, .message_bytes_max = 100};
  options.is_interrupted = std::move(is_interrupted);
  return options;
}

}  // namespace

TEST_CASE("A connect creates no memory before there is a listener") {
  const TemporaryDirectory directory;
  std::uint64_t asked = 0;
  const auto options = in_steps([&] { return ++asked > kSteps * 100; });
  const std::string path = directory.file("channel.sock");
  CHECK(errc_of(ChannelProducer::connect(path, options, soon()).status()) == Errc::kNoBus);
  UniqueFd(std::move(*listen_local(path, 0600, {}, kChannelSocket))).reset();
  CHECK(errc_of(ChannelProducer::connect(path, options, soon()).status()) == Errc::kPeerGone);
  CHECK(asked == 0);
}

TEST_CASE("A connect can be interrupted before each step of creating its memory") {
  Listening here;
  for (std::uint64_t step = 1; step <= kSteps; ++step) {
    std::uint64_t asked = 0;
    const auto options = in_steps([&] { return ++asked == step; });
    const auto producer = ChannelProducer::connect(here.path, options, soon());
    CHECK(errc_of(producer.status()) == Errc::kInterrupted);
    CHECK(says(producer.status().message(), "interrupted"));
    CHECK(asked == step);
  }
  check_next_is_served(here.listener);
}

TEST_CASE(
    "An accept can be interrupted while it creates its memory, and the peer gets the reason") {
  Listening here;
  auto connecting = std::async(std::launch::async, [&] {
    return ChannelConsumer::connect(here.path, kSmall, soon()).status();
  });
  std::uint64_t asked = 0;
  const auto options = in_steps([&] { return ++asked == 2; });
  const auto producer = ChannelProducer::accept(here.listener, options, soon());
  CHECK(errc_of(producer.status()) == Errc::kInterrupted);
  CHECK(asked == 2);
  const absl::Status told = connecting.get();
  CHECK(errc_of(told) == Errc::kRefused);
  CHECK(says(told.message(), "is being stopped"));
  check_next_is_served(here.listener);
}

TEST_CASE("Memory that is not ready by the deadline ends a connect") {
  Listening here;
  const Deadline deadline = std::chrono::milliseconds(20);
  const auto options = in_steps([&] {
    while (!deadline.has_passed()) wait_readable(-1, 1'000'000);
    return false;
  });
  const auto producer = ChannelProducer::connect(here.path, options, deadline);
  CHECK(errc_of(producer.status()) == Errc::kTimedOut);
  check_next_is_served(here.listener);
}

TEST_CASE("A peer that creates its memory longer than a listener waits for a hello is served") {
  Listening here;
  std::atomic<int> steps = 0;
  auto connecting = std::async(std::launch::async, [&] {
    const auto options = in_steps([&] {
      if (++steps == 1) wait_readable(-1, kSilenceNsMin);
      return false;
    });
    return ChannelProducer::connect(here.path, options, soon());
  });
  auto consumer = ChannelConsumer::accept(here.listener, kSmall, soon());
  const auto producer = connecting.get();
  INFO(consumer.status() << ' ' << producer.status());
  CHECK(consumer.ok());
  CHECK(producer.ok());
  CHECK(steps >= static_cast<int>(kSteps));
  CHECK(here.listener.refused() == 1);  // only the connection that it closed itself
  CHECK(errc_of(here.listener.last_refusal()) == Errc::kPeerGone);
}

TEST_CASE("A peer whose hello was too late tries again, but not for ever") {
  const TemporaryDirectory directory;
  const std::string path = directory.file("channel.sock");
  const auto raw = listen_local(path, 0600, {}, kChannelSocket);
  REQUIRE(raw.ok());
  auto connecting = std::async(
      std::launch::async, [&] { return ChannelProducer::connect(path, kSmall, soon()).status(); });
  int connects = 0;
  while (connecting.wait_for(std::chrono::seconds(0)) != std::future_status::ready) {
    wait_readable(raw->get(), 1'000'000);
    const UniqueFd fd(accept4(raw->get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!fd.valid()) continue;
    ++connects;
    refuse(fd.get(), make_error(Errc::kTimedOut, "too slow"));
  }
  const absl::Status told = connecting.get();
  CHECK(errc_of(told) == Errc::kRefused);
  CHECK(says(told.message(), "too slow"));
  CHECK(connects == 5);
}

}  // namespace lapwing
