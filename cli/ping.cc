// lapwing ping: measures the round-trip time of a call and its reply over a channel.
#include <poll.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <iostream>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cli/channel_options.h"
#include "cli/channel_wait.h"
#include "cli/command_help.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/option_checks.h"
#include "cli/say.h"
#include "cli/stop_signal.h"
#include "lapwing/detail/channel_layout.h"
#include "lapwing/duplex.h"
#include "lapwing/histogram.h"
#include "monitor/json_text.h"
#include "os/kernel.h"

namespace lapwing::cli {
namespace {

constexpr char kPingAbout[] =
    "Measure round trips over a channel: a call, and its reply with the same bytes.\n\n"
    "  lapwing ping --listen /run/ping.sock &                  the side that answers\n"
    "  lapwing ping /run/ping.sock                             100,000 of them, flat out\n"
    "  lapwing ping /run/ping.sock --wait busy                 on both sides: lowest latency\n"
    "  lapwing ping /run/ping.sock --count 1000 --interval 10ms --size 4K --json\n\n"
    "Times are of one round trip, in microseconds. With --interval each call finds the other\n"
    "side asleep, unless that side uses --wait busy. The first 1,000 calls, or a tenth if that\n"
    "is less, are not counted.";

constexpr std::uint64_t kPingBytesMax = 1 << 20;
constexpr std::uint64_t kCountMax = 1'000'000'000'000;
constexpr std::uint64_t kWarmUpMax = 1000;
constexpr std::uint64_t kReplyNs = 10'000'000'000;
constexpr std::uint32_t kPingType = 0;

struct PingOptions {
  ChannelPlace place;  // .connect is the path to ping
  ChannelChoice channel;
  std::uint64_t count = 100'000;
  std::uint64_t size = 32;
  std::uint64_t interval_ns = 0;
  bool json = false;
};

class Ping {
 public:
  explicit Ping(const PingOptions& options) : options_(options) {}
  int run();

 private:
  absl::Status measure();
  absl::Status round_trip();
  absl::Status no_reply(Errc result) const;
  void rest(std::uint64_t until_ns) const;
  void print() const;
  void print_json() const;

  const PingOptions& options_;
  std::optional<Duplex> duplex_;
  std::vector<std::byte> payload_;
  FineHistogram round_trip_ns_;
  std::uint64_t last_ns_ = 0;
  std::uint64_t min_ns_ = std::numeric_limits<std::uint64_t>::max();
};

absl::Status Ping::no_reply(Errc result) const {
  if (result == Errc::kTimedOut) {
    return make_error(
        Errc::kTimedOut,
        absl::StrCat(
            options_.place.connect, " did not reply within ", kReplyNs / 1'000'000'000,
            " s: its process is stopped or busy; check it with `lapwing info --channels`"));
  }
  const absl::Status& why = duplex_->status();
  return make_error(
      result == Errc::kClosed ? Errc::kPeerGone : errc_of(why),
      absl::StrCat(std::string(why.message()), ", after ", round_trip_ns_.count(), " round trips"));
}

// If a stop is requested, the call has no reply and last_ns_ is 0.
absl::Status Ping::round_trip() {
  last_ns_ = 0;
  const std::uint64_t begin_ns = monotonic_ns();
  const Result<CallId> call =
      duplex_->start(payload_, kPingType, Deadline::at_monotonic_ns(begin_ns + kReplyNs));
  if (!call.ok()) return no_reply(call.error());
  for (std::uint64_t turn_ns = begin_ns; !stop_requested();) {
    turn_ns += kBusyTurnNs;
    const Result<Reply> reply = duplex_->finish_any(Deadline::at_monotonic_ns(turn_ns));
    if (reply.error() == Errc::kTimedOut && reply->call == 0) continue;
    const std::uint64_t end_ns = monotonic_ns();
    if (!reply.ok()) return no_reply(reply.error());
    if (reply->is_error || !std::ranges::equal(reply->payload, payload_)) {
      return make_error(Errc::kProtocol,
                        absl::StrCat(options_.place.connect,
                                     " did not return the bytes it was sent; check that `lapwing "
                                     "ping --listen` runs there"));
    }
    last_ns_ = std::max<std::uint64_t>(end_ns - begin_ns, 1);
    break;
  }
  return absl::OkStatus();
}

void Ping::rest(std::uint64_t until_ns) const {
  pollfd stop{stop_fd(), POLLIN, 0};
  while (!stop_requested() && monotonic_ns() < until_ns) {
    wait_any_readable(std::span(&stop, 1), until_ns);
  }
}

absl::Status Ping::measure() {
  payload_.resize(options_.size);
  const std::uint64_t warm_up = std::min(kWarmUpMax, options_.count / 10);
  std::uint64_t next_ns = monotonic_ns();
  for (std::uint64_t i = 0; i < options_.count + warm_up && !stop_requested(); ++i) {
    std::memcpy(payload_.data(), &i, std::min(payload_.size(), sizeof i));
    if (absl::Status status = round_trip(); !status.ok()) return status;
    if (i >= warm_up && last_ns_ != 0) {
      round_trip_ns_.add(last_ns_);
      min_ns_ = std::min(min_ns_, last_ns_);
    }
    next_ns = after_ns(next_ns, options_.interval_ns);
    if (options_.interval_ns != 0) rest(next_ns);
  }
  return absl::OkStatus();
}

struct Percentile {
  const char* text;
  const char* key;
  double fraction;
};
constexpr Percentile kPercentiles[] = {
    {"50 %", "p50", 0.5}, {"90 %", "p90", 0.9}, {"99 %", "p99", 0.99}, {"99.9 %", "p999", 0.999}};

void Ping::print() const {
  const auto line = [](const char* name, std::uint64_t ns) {
    std::cout << absl::StrFormat("%7s %10.3f us\n", name, static_cast<double>(ns) / 1e3);
  };
  std::cout << round_trip_ns_.count() << " round trips of " << options_.size << " bytes to "
            << printable(options_.place.connect) << '\n';
  line("min", min_ns_);
  for (const Percentile& at : kPercentiles) {
    line(at.text, round_trip_ns_.percentile(at.fraction));
  }
  line("max", round_trip_ns_.max());
}

void Ping::print_json() const {
  nlohmann::ordered_json times = {{"min", min_ns_}};
  for (const Percentile& at : kPercentiles) times[at.key] = round_trip_ns_.percentile(at.fraction);
  times["max"] = round_trip_ns_.max();
  const nlohmann::ordered_json out = {{"path", options_.place.connect},
                                      {"count", round_trip_ns_.count()},
                                      {"size", options_.size},
                                      {"round_trip_ns", times}};
  std::cout << json_text(out) << '\n';
}

int Ping::run() {
  ChannelChoice choice = options_.channel;
  choice.message_bytes_max = options_.size;
  const auto channel = to_channel_options(choice, kPayloadOffsetCalls);
  if (!channel.ok()) return fail(channel.status());
  absl::StatusOr<Duplex> duplex = connect_end<Duplex>(options_.place, *channel);
  if (!duplex.ok()) return fail(duplex.status());
  catch_stop_signals();
  duplex_.emplace(*std::move(duplex));
  const absl::Status status = measure();
  if (round_trip_ns_.count() > 0) options_.json ? print_json() : print();
  return status.ok() ? kExitDone : fail(status);
}

// The side that replies.
class Echo {
 public:
  explicit Echo(const PingOptions& options) : options_(options) {}
  int run();

 private:
  absl::Status serve(Duplex duplex, ChannelWait& wait);
  Result<Incoming> next(Duplex& duplex, ChannelWait& wait) const;

  const PingOptions& options_;
};

// kWouldBlock: nothing arrived, call again.
Result<Incoming> Echo::next(Duplex& duplex, ChannelWait& wait) const {
  return look_or_wait(
      options_.channel.wait, [&] { return duplex.try_next(); },
      [&](Deadline deadline) { return duplex.next(deadline); },
      [&] {
        if (duplex.arm()) wait.wait(duplex.fd(), -1, 0);
      });
}

absl::Status Echo::serve(Duplex duplex, ChannelWait& wait) {
  while (!stop_requested()) {
    if (!wait.status().ok()) return wait.status();
    const Result<Incoming> incoming = next(duplex, wait);
    if (incoming.error() == Errc::kWouldBlock) continue;
    if (incoming.error() == Errc::kClosed) break;
    if (!incoming.ok()) return duplex.status();
    if (!incoming->is_call()) continue;
    const Result<> replied = duplex.reply(incoming->call, incoming->payload, incoming->type,
                                          std::chrono::nanoseconds(kReplyNs));
    if (replied.error() == Errc::kClosed) break;
    if (!replied.ok()) return duplex.status();
  }
  return absl::OkStatus();
}

int Echo::run() {
  ChannelChoice choice = options_.channel;
  choice.message_bytes_max = kPingBytesMax;
  const auto channel = to_channel_options(choice, kPayloadOffsetCalls);
  if (!channel.ok()) return fail(channel.status());
  catch_stop_signals();
  absl::StatusOr<ChannelListener> listener = open_listener(options_.place, options_.channel);
  if (!listener.ok()) return fail(listener.status());
  ChannelWait wait(&*listener);
  while (!stop_requested()) {
    absl::StatusOr<Duplex> duplex = accept_end<Duplex>(*listener, *channel);
    if (!duplex.ok()) return stop_requested() ? kExitDone : fail(duplex.status());
    const absl::Status status = serve(*std::move(duplex), wait);
    if (!status.ok()) fail(status);  // reported; continue with the next peer
  }
  return kExitDone;
}

int run_ping(const PingOptions& options) {
  if (options.place.listen.empty() == options.place.connect.empty()) {
    return fail_usage("ping needs the PATH to ping, or --listen PATH on the side that answers");
  }
  return options.place.listens() ? Echo(options).run() : Ping(options).run();
}

}  // namespace

void add_ping(CLI::App& app, Run& run) {
  const auto [command, options] = add_command(app, run, "ping", kPingAbout, run_ping);
  options.channel.name = "lapwing ping";
  CLI::Option* path = command.add_option("path", options.place.connect, "socket to ping");
  path->type_name("PATH");
  command.add_option("--listen", options.place.listen, "answer at PATH, one peer after another")
      ->type_name("PATH")
      ->excludes(path);
  command.add_option("--count", options.count, "round trips")
      ->needs(path)
      ->check(whole_number(1, kCountMax))
      ->capture_default_str()
      ->type_name("N");
  command.add_option("--size", options.size, "bytes of a message, up to 1M")
      ->needs(path)
      ->transform(size_in_bytes(0, kPingBytesMax))
      ->capture_default_str()
      ->type_name("BYTES");
  command.add_option("--interval", options.interval_ns, "time from one call to the next")
      ->needs(path)
      ->transform(as_duration_ns({.zero = true}))
      ->default_str("0s")
      ->type_name("DURATION");
  command.add_flag("--json", options.json, "print one line of JSON, times in nanoseconds")
      ->needs(path);
  add_retry_option(command, options.place)->needs(path);
  add_channel_options(command, options.channel);
}

}  // namespace lapwing::cli
