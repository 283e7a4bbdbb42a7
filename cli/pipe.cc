// lapwing pipe: copies standard input to standard output through a channel.
#include "cli/pipe.h"

#include <iostream>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "absl/strings/str_cat.h"
#include "cli/channel_wait.h"
#include "cli/command_help.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/option_checks.h"
#include "cli/say.h"
#include "cli/standard_streams.h"
#include "cli/stop_signal.h"
#include "monitor/json_text.h"
#include "os/kernel.h"

namespace lapwing::cli {
namespace {

constexpr char kPipeAbout[] =
    "Carry standard input to another process's standard output over a channel.\n\n"
    "  lapwing pipe --listen /run/x.sock > copy           the listening side receives,\n"
    "  lapwing pipe --connect /run/x.sock < file          the connecting side sends\n"
    "  lapwing pipe --listen /run/x.sock --send < feed    either side can do either\n"
    "  lapwing pipe --connect /run/x.sock --receive | consumer\n"
    "  tail -F app.log | lapwing pipe --connect /run/log.sock --messages lines --retry 60s\n"
    "  lapwing pipe --listen /run/log.sock --messages lines --keep >> all.log\n"
    "  lapwing pipe --listen /run/log.sock --messages lines --keep --take-over >> all.log\n\n"
    "With --messages lines each line is a message without its line feed, and the receiver\n"
    "appends one. With raw each read is a message. Give both sides the same value. Nothing is\n"
    "ever dropped: a sender waits for its receiver, and exits with 0 only when the receiver has\n"
    "written everything. SIGINT, SIGTERM and SIGHUP end either side cleanly.";

class Pipe {
 public:
  explicit Pipe(const PipeOptions& options)
      : options_(options), sender_(options_, tally_), receiver_(options_, tally_) {}
  int run();

 private:
  absl::Status check() const;
  absl::Status connect();
  absl::Status listen();
  absl::Status serve(std::optional<ChannelListener>& listener);
  absl::Status send_to(ChannelProducer producer, ChannelWait& wait);
  absl::Status receive_from(ChannelConsumer consumer, ChannelWait& wait);
  void begin();
  void print_summary() const;

  PipeOptions options_;
  ChannelOptions channel_;
  PipeTally tally_;
  PipeSender sender_;
  PipeReceiver receiver_;
  std::uint64_t began_ns_ = 0;  // when the first peer connected
};

absl::Status wrong(const std::string& why) {
  return make_error(Errc::kInvalidArgument, why);
}

// Leaves the channel open after a failure, because the peer would mistake a closed channel for the
// end of the input. When the process exits, the peer detects that this side has died.
void leave_open(ChannelProducer producer) {
  [[maybe_unused]] static const auto* left = new ChannelProducer(std::move(producer));
}

absl::Status Pipe::check() const {
  if (options_.place.listen.empty() == options_.place.connect.empty()) {
    return wrong("pipe needs --listen PATH on one side and --connect PATH on the other");
  }
  if (!options_.sends() && options_.shapes_messages) {
    return wrong(
        "--capacity, --max-message and --type belong to the sending side; this side receives (see "
        "--send)");
  }
  if (options_.show_types && (options_.sends() || !options_.by_line())) {
    return wrong("--show-types needs the receiving side and --messages lines");
  }
  if (options_.sends() && !has_standard_input()) {
    return wrong("standard input is closed; redirect it from a file or a pipe");
  }
  if (!options_.sends() && !has_standard_output()) {
    return wrong("standard output is closed; redirect it to a file or a pipe");
  }
  return absl::OkStatus();
}

void Pipe::begin() {
  if (tally_.peers++ == 0) began_ns_ = monotonic_ns();
}

absl::Status Pipe::send_to(ChannelProducer producer, ChannelWait& wait) {
  begin();
  const absl::Status status = sender_.run(producer, wait);
  if (status.ok() || is_end_of_peer(status)) {
    producer.close();
  } else {
    leave_open(std::move(producer));
  }
  return status;
}

absl::Status Pipe::receive_from(ChannelConsumer consumer, ChannelWait& wait) {
  begin();
  return receiver_.run(consumer, wait);
}

absl::Status Pipe::connect() {
  ChannelWait wait(nullptr);
  if (options_.sends()) {
    auto producer = connect_end<ChannelProducer>(options_.place, channel_);
    catch_stop_signals();  // nothing before this needs an orderly shutdown
    return producer.ok() ? send_to(*std::move(producer), wait) : producer.status();
  }
  auto consumer = connect_end<ChannelConsumer>(options_.place, channel_);
  catch_stop_signals();
  return consumer.ok() ? receive_from(*std::move(consumer), wait) : consumer.status();
}

// Serves the next peer until it ends. kTimedOut, kInterrupted: a stop was requested before a peer
// connected. kClosed: another process has taken over the socket.
absl::Status Pipe::serve(std::optional<ChannelListener>& listener) {
  const auto wait_beside = [&] {
    if (!options_.place.keep) listener.reset();  // other clients are refused immediately
    return ChannelWait(listener ? &*listener : nullptr);
  };
  if (options_.sends()) {
    auto producer = accept_end<ChannelProducer>(*listener, channel_);
    if (!producer.ok()) return producer.status();
    ChannelWait wait = wait_beside();
    return send_to(*std::move(producer), wait);
  }
  auto consumer = accept_end<ChannelConsumer>(*listener, channel_);
  if (!consumer.ok()) return consumer.status();
  ChannelWait wait = wait_beside();
  return receive_from(*std::move(consumer), wait);
}

absl::Status Pipe::listen() {
  catch_stop_signals();
  absl::StatusOr<ChannelListener> opened = open_listener(options_.place, options_.channel);
  if (!opened.ok()) return opened.status();
  std::optional<ChannelListener> listener(*std::move(opened));
  for (;;) {
    const absl::Status status = serve(listener);
    const bool is_served =
        errc_of(status) != Errc::kTimedOut && errc_of(status) != Errc::kInterrupted;
    if (!is_served && stop_requested()) return absl::OkStatus();
    if (!status.ok() && listener && listener->handed_over() && errc_of(status) == Errc::kClosed) {
      say(std::string(status.message()));
      return absl::OkStatus();
    }
    if (!options_.place.keep || !(status.ok() || is_end_of_peer(status))) return status;
    if (!status.ok()) fail(status);  // reported; continue with the next peer
    if (stop_requested() || listener->handed_over()) return absl::OkStatus();
    if (options_.sends() && sender_.is_done()) return absl::OkStatus();
  }
}

void Pipe::print_summary() const {
  const double seconds =
      tally_.peers == 0 ? 0 : static_cast<double>(monotonic_ns() - began_ns_) / 1e9;
  const auto rate = [&](std::uint64_t count) {
    return seconds > 0 ? static_cast<std::uint64_t>(static_cast<double>(count) / seconds) : 0;
  };
  const nlohmann::ordered_json summary = {{"direction", options_.sends() ? "sent" : "received"},
                                          {"peers", tally_.peers},
                                          {"messages", tally_.messages},
                                          {"bytes", tally_.bytes},
                                          {"lost", tally_.lost},
                                          {"seconds", seconds},
                                          {"messages_per_second", rate(tally_.messages)},
                                          {"bytes_per_second", rate(tally_.bytes)},
                                          {"full_waits", tally_.counters.full_waits},
                                          {"empty_waits", tally_.counters.empty_waits},
                                          {"sleeps", tally_.counters.sleeps},
                                          {"wakes", tally_.counters.wakes}};
  std::cerr << json_text(summary) << std::endl;
}

int Pipe::run() {
  if (absl::Status status = check(); !status.ok()) return fail(status);
  absl::StatusOr<ChannelOptions> channel =
      to_channel_options(options_.channel, kPayloadOffsetPacked);
  if (!channel.ok()) return fail(channel.status());
  channel_ = *std::move(channel);
  const absl::Status status = options_.place.listens() ? listen() : connect();
  const int code = status.ok() ? kExitDone : fail(status);
  if (code == kExitDone && sender_.unsent_bytes() > 0) {
    say(LogEntry{LogLevel::kWarning,
                 "unsent",
                 absl::StrCat("stopped; ", sender_.unsent_bytes(),
                              " bytes of standard input were read but not sent"),
                 {{"bytes", std::uint64_t{sender_.unsent_bytes()}}}});
  }
  if (options_.summary) print_summary();
  if (options_.summary && !std::cerr && code == kExitDone) return kExitOther;  // not printed
  return code == kExitDone && tally_.lost > 0 ? kExitLost : code;
}

void add_pipe_options(CLI::App& command, PipeOptions& options) {
  CLI::Option* listen = command
                            .add_option("--listen", options.place.listen,
                                        "make a socket at PATH and wait for the other side")
                            ->type_name("PATH");
  CLI::Option* connect =
      command.add_option("--connect", options.place.connect, "connect to the socket at PATH")
          ->type_name("PATH")
          ->excludes(listen);
  CLI::Option* send =
      command.add_flag("--send", options.send, "send standard input (default with --connect)");
  command.add_flag("--receive", options.receive, "write standard output (default with --listen)")
      ->excludes(send);
  command.add_option("--messages", options.messages, "what a message is: lines, or raw")
      ->capture_default_str()
      ->check(CLI::IsMember({"lines", "raw"}));
  command.add_option("--type", options.type, "type of the messages sent")
      ->check(whole_number(0, std::numeric_limits<std::uint32_t>::max()))
      ->capture_default_str()
      ->type_name("N");
  command.add_flag("--show-types", options.show_types,
                   "write each line's type and a tab before it");
  add_retry_option(command, options.place)->needs(connect);
  add_keep_options(command, options.place);
  add_size_options(command, options.channel);
  add_channel_options(command, options.channel);
  command.add_flag("--summary", options.summary,
                   "print one line of JSON on standard error at the end");
}

}  // namespace

void add_pipe(CLI::App& app, Run& run) {
  auto options = std::make_shared<PipeOptions>();
  options->channel.name = "lapwing pipe";
  CLI::App& command = add_command(app, "pipe", kPipeAbout);
  add_pipe_options(command, *options);
  command.callback([options, &command, &run] {
    options->shapes_messages =
        command.count("--capacity") + command.count("--max-message") + command.count("--type") > 0;
    run = [options] { return Pipe(*options).run(); };
  });
}

}  // namespace lapwing::cli
