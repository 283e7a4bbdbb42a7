// Options shared by the commands that use a channel: its path, its parameters, and how to connect.
//
// Thread safety: main's thread.
#pragma once

#include <sys/types.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cli/stop_signal.h"
#include "lapwing/channel.h"
#include "lapwing/listener.h"

namespace lapwing::cli {

// How long the listener may take to answer without --retry. It answers late if it is stopped or
// is serving another client.
inline constexpr std::chrono::nanoseconds kAnswerTime = std::chrono::seconds(10);
inline constexpr std::uint64_t kAcceptTurnNs = 200'000'000;  // between checks for a stop

struct ChannelPlace {
  std::string listen;
  std::string connect;
  std::uint64_t retry_ns = 0;
  bool keep = false;
  bool take_over = false;

  bool listens() const { return !listen.empty(); }
};

struct ChannelChoice {
  std::uint64_t capacity = 0;  // bytes; 0: enough for the largest message, at least 1 MiB
  std::uint64_t message_bytes_max = 64 * 1024;
  std::string wait = "backoff";
  bool huge_pages = false;
  std::optional<int> numa_node;
  std::optional<uid_t> expected_uid;
  std::string name;
};

void add_keep_options(CLI::App& command, ChannelPlace& place);  // --keep, --take-over
CLI::Option* add_retry_option(CLI::App& command, ChannelPlace& place);
void add_size_options(CLI::App& command, ChannelChoice& choice);  // --capacity, --max-message
// --wait, --huge-pages, --numa-node, --expect-uid, --name.
void add_channel_options(CLI::App& command, ChannelChoice& choice);

// For frames whose payload begins at `payload_offset`. Before waiting for a peer, returns
// kInvalidArgument if the sizes are inconsistent.
absl::StatusOr<ChannelOptions> to_channel_options(const ChannelChoice& choice,
                                                  std::uint32_t payload_offset);

// Creates the socket, or takes it over from the process that holds it.
absl::StatusOr<ChannelListener> open_listener(const ChannelPlace& place,
                                              const ChannelChoice& choice);

// Prints the newest refusal if the listener has refused clients since the last call. `printed` is
// the number of refusals at that call; this call updates it.
void print_refusals(const ChannelListener& listener, std::uint64_t& printed);

// Connects a ChannelProducer, a ChannelConsumer or a Duplex.
template <typename End>
absl::StatusOr<End> connect_end(const ChannelPlace& place, const ChannelOptions& options) {
  ChannelOptions trying = options;
  trying.retry = std::chrono::nanoseconds(place.retry_ns);
  return End::connect(place.connect, trying, std::max(trying.retry, kAnswerTime));
}

// Accepts one connection. kTimedOut, kInterrupted: a stop was requested; kClosed: the socket was
// handed over.
template <typename End>
absl::StatusOr<End> accept_end(ChannelListener& listener, const ChannelOptions& options) {
  std::uint64_t printed = listener.refused();
  for (;;) {
    absl::StatusOr<End> end =
        End::accept(listener, options, std::chrono::nanoseconds(kAcceptTurnNs));
    print_refusals(listener, printed);
    if (end.ok() || errc_of(end.status()) != Errc::kTimedOut || stop_requested()) return end;
  }
}

}  // namespace lapwing::cli
