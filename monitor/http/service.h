// The server's answers to requests, without sockets.
//
// Thread safety: the server's thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "monitor/http/counts.h"
#include "monitor/http/gate.h"
#include "monitor/http/histories.h"
#include "monitor/http/snapshot.h"
#include "monitor/http/stream_clients.h"
#include "monitor/http/views.h"
#include "monitor/metrics/bus_metrics.h"

namespace lapwing {

// A reading is recent up to this age, or up to kReadyIntervals intervals if that is longer.
inline constexpr std::uint64_t kReadyNs = 3'000'000'000;
inline constexpr std::uint64_t kReadyIntervals = 3;

// Valid as long as the request's buffers are.
struct HttpRequest {
  absl::string_view method;
  absl::string_view target;
  absl::string_view local_address;  // as in Gate::check_site
  Credentials credentials;
  absl::string_view if_none_match;
  absl::string_view body;
  bool asks_for_websocket = false;
};

struct HttpAnswer {
  unsigned status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::vector<std::pair<std::string, std::string>> headers;
  // The body: `shared`, which is the same for all clients, and then `own`.
  std::shared_ptr<const std::string> shared;
  std::string own;
  const char* route = "other";  // for the metrics
  bool shows_token = false;     // the request had the token, or none is needed
  // If not null, the connection becomes a WebSocket and a client of this stream.
  std::shared_ptr<StreamClients> stream;

  std::size_t body_bytes() const { return (shared ? shared->size() : 0) + own.size(); }
};

class HttpService {
 public:
  // `views` and `histories` must outlive it. `interval_ns` is the time between readings.
  HttpService(GateOptions options, Views& views, const Histories& histories,
              const MetricsOptions& about, std::uint64_t interval_ns);

  // Sends it to every client of /api/v1/stream.
  void set_snapshot(std::shared_ptr<const Snapshot> snapshot);

  HttpAnswer answer(const HttpRequest& request, std::uint64_t now_ns);
  // The answer to a request that could not be read: 400, 408, 413, 431, 503. `reason` is counted.
  HttpAnswer refusal(unsigned status, const char* reason);

  HttpCounts& counts() { return counts_; }

 private:
  HttpAnswer admitted(const HttpRequest& request, std::uint64_t now_ns);
  HttpAnswer not_admitted(const HttpRequest& request, Admission admission);
  HttpAnswer login(const HttpRequest& request, std::uint64_t now_ns);
  HttpAnswer ready(std::uint64_t now_ns) const;
  const SampledBus* find_bus(const std::string& bus) const;
  HttpAnswer view(const HttpRequest& request);
  HttpAnswer history(const HttpRequest& request) const;
  HttpAnswer metrics() const;

  Gate gate_;
  const bool is_encrypted_;
  const std::uint64_t recent_ns_;
  std::string login_policy_;  // for the login page: allows its script
  std::shared_ptr<const Snapshot> snapshot_;
  HttpCounts counts_;
  const std::shared_ptr<StreamCounts> stream_counts_ = std::make_shared<StreamCounts>();
  const std::shared_ptr<StreamClients> stream_ = std::make_shared<StreamClients>(stream_counts_);
  Views& views_;
  const Histories& histories_;
  const std::string version_json_;  // the server's version, as two keys of an object
};

}  // namespace lapwing
