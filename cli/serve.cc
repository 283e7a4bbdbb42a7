// lapwing serve: shows buses and subscribers to browsers and Prometheus over HTTP.
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/command_help.h"
#include "cli/commands.h"
#include "cli/common_options.h"
#include "cli/config_file.h"
#include "cli/exit_codes.h"
#include "cli/option_checks.h"
#include "cli/say.h"
#include "cli/service_manager.h"
#include "cli/standard_streams.h"
#include "cli/stop_signal.h"
#include "cli/version.h"
#include "lapwing/error.h"
#include "monitor/http/host_name.h"
#include "monitor/http/server.h"
#include "monitor/http/token.h"
#include "os/kernel.h"
#include "os/mapping_guard.h"
#include "os/start_thread.h"
#include "os/stop_event.h"

namespace lapwing::cli {
namespace {

constexpr char kServeAbout[] =
    "Serve what `top` shows to browsers and to Prometheus.\n\n"
    "  lapwing serve\n"
    "  lapwing serve --bus ./es --expect es:logger --listen 127.0.0.1:0   at a free port\n"
    "  lapwing serve --listen unix:./lapwing.sock\n\n"
    "Prints the address with a new token, or without it if --token-file sets one. Every request\n"
    "needs the token: as `Authorization: Bearer TOKEN`, or as the cookie that the page gets.\n"
    "/healthz and /readyz need none, nor does a socket in the file system, which only its owner\n"
    "can open. An address that is not loopback needs --tls-cert and --tls-key; SIGHUP reloads\n"
    "both. Behind a proxy that terminates TLS, give the name that browsers use with --host.\n\n"
    "/metrics is for Prometheus. /api/v1/buses is the JSON of `top --json`, and /api/v1/stream is\n"
    "a WebSocket that sends this JSON for each reading. /api/v1/history?bus=NAME is the last hour\n"
    "of a bus. /api/v1/view?bus=NAME is a WebSocket with the order books and trades of a bus, its\n"
    "quotes, or its newest records.";

// Descriptors for connections and other files. Clients beyond these wait.
constexpr rlim_t kDescriptors = kConnectionsMax + kRefusalsMax + 4096;

// Maximum wait at shutdown for views and for a read in progress. Stopping
// either leaves nothing half-done.
constexpr std::uint64_t kEndNsMax = 5 * kNsPerSecond;

struct ServeOptions {
  std::vector<std::string> buses;
  std::vector<std::string> users;
  std::vector<std::string> expected;
  std::string listen = "127.0.0.1:9477";
  std::string token_file;
  std::vector<std::string> hosts;
  std::string tls_certificate;
  std::string tls_key;
  std::uint64_t interval_ns = kNsPerSecond;
};

absl::StatusOr<ExpectedSubscriber> parse_expected(const std::string& text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos || colon == 0 || colon + 1 == text.size()) {
    return make_error(Errc::kInvalidArgument,
                      absl::StrCat("\"", text,
                                   "\" is not BUS:NAME. Give the name of a bus as `lapwing top` "
                                   "shows it, a colon, and the name of a subscriber: es:logger"));
  }
  return ExpectedSubscriber{text.substr(0, colon), text.substr(colon + 1)};
}

// Parses the texts, each distinct text only once.
template <typename Value>
absl::StatusOr<std::vector<Value>> parse_each(const std::vector<std::string>& texts,
                                              const auto& parse) {
  std::vector<Value> values;
  for (auto text = texts.begin(); text != texts.end(); ++text) {
    if (std::find(texts.begin(), text, *text) != text) continue;
    absl::StatusOr<Value> value = parse(*text);
    if (!value.ok()) return value.status();
    values.push_back(*std::move(value));
  }
  return values;
}

absl::StatusOr<HttpServerOptions> server_options(const ServeOptions& options) {
  absl::StatusOr<ListenAddress> listen = parse_listen_address(options.listen);
  if (!listen.ok()) return listen.status();
  if (options.tls_certificate.empty() != options.tls_key.empty()) {
    return make_error(Errc::kInvalidArgument, "--tls-cert and --tls-key must be used together");
  }
  if (!listen->is_loopback && options.tls_key.empty()) {
    return make_error(Errc::kInvalidArgument,
                      absl::StrCat(options.listen,
                                   " is not loopback: the token would cross the network "
                                   "unencrypted. Add --tls-cert and --tls-key"));
  }
  if (listen->is_local() && !(options.tls_key.empty() && options.token_file.empty())) {
    return make_error(Errc::kInvalidArgument,
                      "a socket in the file system takes neither a token nor TLS");
  }
  auto expected = parse_each<ExpectedSubscriber>(options.expected, parse_expected);
  if (!expected.ok()) return expected.status();
  auto hosts = parse_each<std::string>(options.hosts, parse_host_name);
  if (!hosts.ok()) return hosts.status();
  absl::StatusOr<WatchedUsers> users = parse_watched_users(options.users);
  if (!users.ok()) return users.status();
  absl::StatusOr<std::string> token = std::string();
  if (!listen->is_local()) {
    token = options.token_file.empty() ? make_token() : read_token(options.token_file);
  }
  if (!token.ok()) return token.status();
  return HttpServerOptions{
      .listen = *std::move(listen),
      .tls_certificate = options.tls_certificate,
      .tls_key = options.tls_key,
      .gate = {.token = *std::move(token), .hosts = *std::move(hosts)},
      .machine = {.directories = options.buses, .users = *std::move(users)},
      .interval_ns = options.interval_ns,
      .metrics = {.version = release(), .revision = revision(), .expected = *std::move(expected)}};
}

void raise_descriptors() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= kDescriptors) return;
  limit.rlim_cur = std::min(kDescriptors, limit.rlim_max);
  setrlimit(RLIMIT_NOFILE, &limit);
}

std::string address_of(const HttpServerOptions& options, std::uint16_t port) {
  if (options.listen.is_local()) return absl::StrCat("unix:", options.listen.path);
  const std::string& host = options.listen.address;
  const bool is_v6 = host.find(':') != std::string::npos;
  return absl::StrCat(options.tls_key.empty() ? "http://" : "https://", is_v6 ? "[" : "", host,
                      is_v6 ? "]" : "", ":", port, "/");
}

// Ends the process if the shutdown waits for an unresponsive file system.
class EndWatch {
 public:
  // Call it while descriptors and threads are still available. Errors: kLimit, kSystem.
  static absl::StatusOr<std::unique_ptr<EndWatch>> start() {
    absl::StatusOr<StopEvent> begun = StopEvent::make();
    if (!begun.ok()) return begun.status();
    absl::StatusOr<StopEvent> done = StopEvent::make();
    if (!done.ok()) return done.status();
    std::unique_ptr<EndWatch> watch(new EndWatch(*std::move(begun), *std::move(done)));
    const absl::Status started =
        start_thread(watch->thread_, "lapwing-ending", [raw = watch.get()] { raw->run(); });
    if (!started.ok()) return started;
    return watch;
  }
  EndWatch(const EndWatch&) = delete;
  EndWatch& operator=(const EndWatch&) = delete;
  ~EndWatch() {
    if (!thread_.joinable()) return;
    done_.set();
    begun_.set();
    thread_.join();
  }

  // Starts the shutdown, which may take kEndNsMax.
  void begin() const { begun_.set(); }

 private:
  EndWatch(StopEvent begun, StopEvent done) : begun_(std::move(begun)), done_(std::move(done)) {}

  void run() const {
    while (!begun_.is_set()) begun_.wait(kNsPerSecond * 3600);
    done_.wait(kEndNsMax);
    if (done_.is_set()) return;
    say("a bus was still being read 5 s after the stop request, most likely because its file "
        "system does not answer; stopped anyway");
    _exit(kExitDone);
  }

  const StopEvent begun_;
  const StopEvent done_;
  std::thread thread_;
};

void reload(HttpServer& server) {
  const absl::Status done = server.reload_tls();
  if (done.ok()) {
    say(LogEntry{LogLevel::kInfo, "reloaded", "reloaded the certificate and the key"});
  } else if (errc_of(done) == Errc::kUnsupported) {
    say(LogEntry{LogLevel::kWarning, "not-reloaded", std::string(done.message())});
  } else {
    say(LogEntry{LogLevel::kWarning,
                 "not-reloaded",
                 absl::StrCat("the certificate could not be reloaded; the old one stays in use: ",
                              done.message()),
                 {{"errc", name_of(errc_of(done))}}});
  }
}

int serve(const ServeOptions& given) {
  catch_stop_signals();
  catch_reload_signal();
  guard_mappings();
  absl::StatusOr<HttpServerOptions> options = server_options(given);
  if (!options.ok()) return fail(options.status());
  ServiceWatchdog watchdog;
  if (watchdog.is_watched()) {
    options->tick = [&watchdog] { watchdog.tick(); };
    options->tick_ns = watchdog.interval_ns();
  }
  raise_descriptors();
  const absl::StatusOr<std::unique_ptr<EndWatch>> watch = EndWatch::start();
  if (!watch.ok()) return fail(watch.status());
  absl::StatusOr<HttpServer> opened = HttpServer::open(*options);
  if (!opened.ok()) return fail(opened.status());
  std::optional<HttpServer> server(*std::move(opened));
  if (const absl::Status started = server->start(); !started.ok()) return fail(started);
  std::cout << address_of(*options, server->port());
  if (!options->listen.is_local() && given.token_file.empty()) {
    std::cout << "#token=" << options->gate.token;
  }
  std::cout << '\n';
  if (const absl::Status written = flush_output(); !written.ok()) return fail(written);
  notify_ready(absl::StrCat("serving at ", address_of(*options, server->port())));
  while (!stop_requested()) {
    sleep_unless_stopped(kNsPerSecond);
    if (take_reload_request()) reload(*server);
  }
  notify_stopping("closing connections");
  (*watch)->begin();
  server.reset();
  return kExitDone;
}

}  // namespace

void add_serve(CLI::App& app, Run& run) {
  const auto [command, options] = add_command(app, run, "serve", kServeAbout, serve);
  add_buses_options(command, options.buses, options.users);
  command
      .add_option("--expect", options.expected,
                  "a subscriber that must be attached; a metric reports if it is not")
      ->check(parsed_by(parse_expected))
      ->type_name("BUS:NAME");
  command.add_option("--listen", options.listen, "an IP address and a port, or unix:PATH")
      ->check(parsed_by(parse_listen_address))
      ->type_name("ADDRESS")
      ->default_str("127.0.0.1:9477");
  command
      .add_option("--token-file", options.token_file,
                  "file of this user, mode 0600, that holds the token")
      ->type_name("FILE");
  command
      .add_option("--host", options.hosts,
                  "a name that browsers use for this machine, in addition to localhost")
      ->check(parsed_by(parse_host_name))
      ->type_name("NAME");
  command.add_option("--tls-cert", options.tls_certificate, "certificate chain, PEM")
      ->type_name("FILE");
  command.add_option("--tls-key", options.tls_key, "its private key, PEM")->type_name("FILE");
  add_interval_option(command, options.interval_ns);
  add_config_option(command);
}

}  // namespace lapwing::cli
