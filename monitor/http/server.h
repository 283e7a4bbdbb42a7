// The server: one thread serves connections, and another reads the buses and passes each complete
// reading to the first. So connections are served no matter what a publisher does.
//
// Thread safety: the owner's thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "monitor/http/gate.h"
#include "monitor/http/listen_address.h"
#include "monitor/machine_monitor.h"
#include "monitor/metrics/bus_metrics.h"

namespace lapwing {

inline constexpr std::size_t kConnectionsMax = 1024;  // then the oldest without token is closed
inline constexpr std::size_t kRefusalsMax = 64;  // further connections, which are answered with 503

struct HttpServerOptions {
  ListenAddress listen;
  std::string tls_certificate;  // PEM files; empty: no TLS
  std::string tls_key;
  GateOptions gate;
  MachineOptions machine;
  std::uint64_t interval_ns = 1'000'000'000;
  MetricsOptions metrics;
  // Called every tick_ns on the thread that serves connections. If the calls stop, that thread is
  // hung. A reading that waits for a publisher does not stop them.
  std::function<void()> tick = {};
  std::uint64_t tick_ns = 1'000'000'000;
};

class HttpServer {
 public:
  // Listens. Connections are served from start() on. Errors: kInvalidArgument (the certificate or
  // the key cannot be read or used, or the key is not private), kInUse (a process listens there),
  // kNotPermitted, kNotALapwingFile, kPathTooLong, kSystem.
  static absl::StatusOr<HttpServer> open(HttpServerOptions options);

  HttpServer(HttpServer&&) noexcept;
  HttpServer& operator=(HttpServer&&) = delete;
  // Ends all connections. Waits for the reading in progress and for views, for as long as their
  // buses' file systems take.
  ~HttpServer();

  absl::Status start();
  // Rereads the certificate and the key, for new connections. If they cannot be used, the old ones
  // stay in use. Errors: those of open() for these files; kUnsupported without TLS.
  absl::Status reload_tls();
  std::uint16_t port() const;  // 0 for a socket in the file system

 private:
  class State;
  explicit HttpServer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace lapwing
