// Channels for the rows: the socket where both processes connect, and the messages that they send.
//
// Thread safety: one thread in each process.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "absl/strings/str_cat.h"
#include "bench/machine.h"
#include "bench/private_directory.h"
#include "bench/rows.h"
#include "lapwing/consumer.h"
#include "lapwing/detail/channel_layout.h"
#include "lapwing/listener.h"
#include "lapwing/producer.h"

namespace lapwing::bench {

inline constexpr std::size_t kMessageBytes = 32;
inline constexpr std::size_t kMessageWords = kMessageBytes / 8;
inline constexpr std::uint32_t kMessageType = 1;
inline constexpr std::uint64_t kChannelCapacity = kChannelCapacityDefault;
// Capacity in frames of such messages. Each frame takes one line.
inline constexpr std::uint64_t kChannelLines = kChannelCapacity / kFrameAlign;
static_assert(message_frame_bytes(kMessageBytes, kPayloadOffsetPacked) == kFrameAlign);

// A listening socket, created before the child that connects to it. The process that created it
// accepts, and the child connects, in the same order.
class ChannelPlace {
 public:
  explicit ChannelPlace(const Setting& setting)
      : directory_(setting.ring_directory),
        listener_(value_or_fail(ChannelListener::listen(path()))) {}

  template <typename End>
  End accept(const ChannelOptions& options) {
    return value_or_fail(End::accept(listener_, options, kOpen));
  }
  template <typename End>
  End connect(const ChannelOptions& options) const {
    return value_or_fail(End::connect(path(), options, kOpen));
  }

 private:
  static constexpr std::chrono::seconds kOpen{60};

  std::string path() const { return absl::StrCat(directory_.path(), "/channel.sock"); }

  PrivateDirectory directory_;
  ChannelListener listener_;
};

inline ChannelOptions channel_options(WaitStrategy wait) {
  ChannelOptions options;
  options.wait = wait;
  return options;
}

template <typename End>
[[noreturn, gnu::noinline, gnu::cold]] void fail_with(Errc result, const End& end) {
  fail(absl::StrCat(name_of(result), ": ", end.status().ToString()));
}

// Fails the benchmark unless the operation of that end succeeded. The timed path contains only a
// comparison, because the check follows each timed operation.
template <typename Value, typename End>
[[gnu::always_inline]] inline void ok_or_fail(const Result<Value>& result, const End& end) {
  if (!result.ok()) [[unlikely]]
    fail_with(result.error(), end);
}

}  // namespace lapwing::bench
