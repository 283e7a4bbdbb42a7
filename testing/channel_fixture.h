// For tests: both ends of a channel in one process. Thread safety: one thread creates a pair.
#pragma once

#include <catch2/catch.hpp>
#include <chrono>
#include <future>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "channel/handshake.h"
#include "channel/side.h"
#include "lapwing/consumer.h"
#include "lapwing/detail/channel_layout.h"
#include "lapwing/listener.h"
#include "lapwing/producer.h"
#include "os/kernel.h"
#include "testing/temporary_directory.h"

namespace lapwing {

inline constexpr std::uint64_t kChannelTestNs = 60'000'000'000;  // only ends a hang

inline Deadline soon() {
  return std::chrono::nanoseconds(kChannelTestNs);
}

// One end accepts in this thread; the other connects in another thread.
template <typename Accepted, typename Connected>
std::pair<Accepted, Connected> make_ends(const std::string& path,
                                         const ChannelOptions& accept_options,
                                         const ChannelOptions& connect_options) {
  auto listener = ChannelListener::listen(path);
  REQUIRE(listener.ok());
  auto connecting = std::async(std::launch::async,
                               [&] { return Connected::connect(path, connect_options, soon()); });
  auto accepted = Accepted::accept(*listener, accept_options, soon());
  auto connected = connecting.get();
  INFO(accepted.status() << ' ' << connected.status());
  REQUIRE(accepted.ok());
  REQUIRE(connected.ok());
  return {std::move(*accepted), std::move(*connected)};
}

// A side without an end, for a test that simulates it.
template <ChannelRole role>
struct RawEnd {
  std::unique_ptr<ChannelSide> side;

  static absl::StatusOr<RawEnd> connect(const std::string& path, const ChannelOptions& options,
                                        Deadline deadline) {
    auto side = connect_channel(path, role, options, deadline.monotonic_ns());
    if (!side.ok()) return side.status();
    return RawEnd{std::move(*side)};
  }
};

// A connected producer and consumer.
class ChannelPair {
 public:
  explicit ChannelPair(const ChannelOptions& options)
      : ends_(make_ends<ChannelProducer, ChannelConsumer>(directory_.path() + "/channel.sock",
                                                          options, options)) {}

  ChannelProducer& producer() { return ends_.first; }
  ChannelConsumer& consumer() { return ends_.second; }

 private:
  TemporaryDirectory directory_;
  std::pair<ChannelProducer, ChannelConsumer> ends_;
};

inline std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}
inline std::string text_of(std::span<const std::byte> bytes) {
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

}  // namespace lapwing
