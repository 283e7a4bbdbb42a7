#include "cli/channel_options.h"

#include <algorithm>
#include <chrono>
#include <limits>

#include "absl/strings/str_cat.h"
#include "channel/memory_file.h"
#include "cli/common_options.h"
#include "cli/option_checks.h"
#include "cli/say.h"
#include "lapwing/error.h"

namespace lapwing::cli {
namespace {

constexpr std::uint64_t kTakeOverNs = 10'000'000'000;

}  // namespace

void add_keep_options(CLI::App& command, ChannelPlace& place) {
  CLI::Option* listen = command.get_option("--listen");
  command
      .add_flag(
          "--keep", place.keep,
          "serve one peer after another, until interrupted, instead of ending after the first")
      ->needs(listen);
  command
      .add_flag("--take-over", place.take_over,
                "take over the listening socket from the process that has it, so that no connect "
                "fails; that process must have --keep, or still wait for its first peer")
      ->needs(listen);
}

CLI::Option* add_retry_option(CLI::App& command, ChannelPlace& place) {
  return command
      .add_option(
          "--retry", place.retry_ns,
          "keep trying for this long until a process listens, and wait this long to be served "
          "(default: try once)")
      ->transform(as_duration_ns({.zero = true}))
      ->type_name("DURATION");
}

void add_size_options(CLI::App& command, ChannelChoice& choice) {
  command
      .add_option("--capacity", choice.capacity,
                  "bytes of messages in flight, a power of two (64K, 1M, …); default: twice the "
                  "largest message, at least 1M")
      ->transform(size_in_bytes(1))
      ->type_name("BYTES");
  command.add_option("--max-message", choice.message_bytes_max, "bytes of the largest message")
      ->transform(size_in_bytes(1))
      ->capture_default_str()
      ->type_name("BYTES");
}

void add_channel_options(CLI::App& command, ChannelChoice& choice) {
  add_wait_option(command, choice.wait, "the other side");
  command.add_flag("--huge-pages", choice.huge_pages,
                   "use huge pages for the memory; fail if there are none");
  command
      .add_option("--numa-node", choice.numa_node,
                  "allocate this side's memory on this node, or fail")
      ->check(whole_number(0, 1023))
      ->type_name("N");
  command
      .add_option("--expect-uid", choice.expected_uid,
                  "user id of the other side (default: this user, or root)")
      ->check(whole_number(0, std::numeric_limits<uid_t>::max()))
      ->type_name("UID");
  command.add_option("--name", choice.name, "name of this side in `lapwing info --channels`")
      ->type_name("NAME");
}

absl::StatusOr<ChannelOptions> to_channel_options(const ChannelChoice& choice,
                                                  std::uint32_t payload_offset) {
  const std::uint64_t capacity =
      choice.capacity != 0
          ? choice.capacity
          : std::max(kChannelCapacityDefault,
                     channel_capacity_for(choice.message_bytes_max, payload_offset));
  const absl::Status fits =
      check_channel_geometry(capacity, choice.message_bytes_max, payload_offset);
  if (!fits.ok()) return fits;
  ChannelOptions options;
  options.message_bytes_max = static_cast<std::uint32_t>(choice.message_bytes_max);
  options.capacity = capacity;
  options.wait = parse_wait(choice.wait);
  options.huge_pages = choice.huge_pages;
  options.numa_node = choice.numa_node;
  options.expected_peer_uid = choice.expected_uid;
  options.name = choice.name;
  options.is_interrupted = stop_requested;
  return options;
}

absl::StatusOr<ChannelListener> open_listener(const ChannelPlace& place,
                                              const ChannelChoice& choice) {
  if (!place.take_over) return ChannelListener::listen(place.listen, choice.expected_uid);
  absl::StatusOr<ChannelListener> listener = ChannelListener::take_over(
      place.listen, std::chrono::nanoseconds(kTakeOverNs), choice.expected_uid);
  const Errc code = errc_of(listener.status());
  const bool is_absent = code == Errc::kNoBus || code == Errc::kPeerGone;
  if (!is_absent) return listener;
  return make_error(errc_of(listener.status()),
                    absl::StrCat(std::string(listener.status().message()),
                                 ", or remove --take-over to create the socket"));
}

void print_refusals(const ChannelListener& listener, std::uint64_t& printed) {
  if (listener.refused() == printed) return;
  printed = listener.refused();
  if (errc_of(listener.last_refusal()) == Errc::kPeerGone) return;  // client left or only checked
  say(log_entry(LogEvent::kClientRefused,
                absl::StrCat("refused: ", std::string(listener.last_refusal().message()))));
}

}  // namespace lapwing::cli
