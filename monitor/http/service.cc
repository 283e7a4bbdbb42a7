#include "monitor/http/service.h"

#include <openssl/evp.h>

#include <algorithm>
#include <array>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "lapwing/error.h"
#include "monitor/http/view_query.h"
#include "monitor/json_text.h"
#include "monitor/metrics/http_metrics.h"
#include "monitor/web/web_files.h"
#include "os/kernel.h"
#include "os/printable.h"

namespace lapwing {
namespace {

constexpr char kPagePolicy[] =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
constexpr char kJson[] = "application/json";
constexpr char kExposition[] = "text/plain; version=0.0.4; charset=utf-8";
constexpr char kNothingYet[] = "nothing has been read yet\n";
constexpr char kNoSuchBus[] = "no such bus; /api/v1/buses lists all of them\n";
constexpr char kLoginPage[] = "/login.html";

constexpr const char* kRoutes[] = {"/",
                                   "/healthz",
                                   "/readyz",
                                   "/api/login",
                                   "/metrics",
                                   "/api/v1/buses",
                                   "/api/v1/stream",
                                   "/api/v1/view",
                                   "/api/v1/history"};

absl::string_view path_of(absl::string_view target) {
  return target.substr(0, target.find('?'));
}

// Maps any target to one of a fixed set of names.
const char* route_of(absl::string_view path) {
  for (const char* route : kRoutes) {
    if (path == route) return route;
  }
  return path != kLoginPage && find_web_file(path) != nullptr ? "file" : "other";
}

// The Content-Security-Policy that allows a page's only script by its hash.
std::string policy_of(absl::string_view page) {
  constexpr absl::string_view kBegin = "<script>";
  const std::size_t begin = page.find(kBegin) + kBegin.size();
  const absl::string_view script = page.substr(begin, page.find("</script>") - begin);
  std::array<unsigned char, EVP_MAX_MD_SIZE> sum{};
  unsigned bytes = 0;
  EVP_Digest(script.data(), script.size(), sum.data(), &bytes, EVP_sha256(), nullptr);
  const absl::string_view view(reinterpret_cast<const char*>(sum.data()), bytes);
  return absl::StrCat("default-src 'none'; script-src 'sha256-", absl::Base64Escape(view),
                      "'; connect-src 'self'; base-uri 'none'; form-action 'none'; "
                      "frame-ancestors 'none'");
}

HttpAnswer text_answer(unsigned status, std::string text) {
  HttpAnswer answer;
  answer.status = status;
  answer.own = std::move(text);
  return answer;
}

HttpAnswer file_answer(const WebFile& file, const HttpRequest& request) {
  HttpAnswer answer;
  answer.content_type = std::string(file.content_type);
  answer.headers = {{"ETag", std::string(file.etag)},
                    {"Cache-Control", "no-cache"},
                    {"Content-Security-Policy", kPagePolicy}};
  if (request.if_none_match == file.etag) {
    answer.status = 304;
  } else {
    answer.own = std::string(file.bytes);
  }
  return answer;
}

// If the request is for a WebSocket, makes the connection a client of the stream.
HttpAnswer stream_answer(const HttpRequest& request, std::shared_ptr<StreamClients> stream) {
  if (!request.asks_for_websocket) {
    HttpAnswer answer = text_answer(426, "this is a WebSocket\n");
    answer.headers.emplace_back("Upgrade", "websocket");
    return answer;
  }
  HttpAnswer answer;
  answer.status = 101;
  answer.stream = std::move(stream);
  return answer;
}

HttpAnswer status_answer(unsigned status, const absl::Status& why) {
  return text_answer(status, absl::StrCat(printable(std::string(why.message())), "\n"));
}

}  // namespace

HttpService::HttpService(GateOptions options, Views& views, const Histories& histories,
                         const MetricsOptions& about, std::uint64_t interval_ns)
    : gate_(options),
      is_encrypted_(options.is_encrypted),
      recent_ns_(std::max(kReadyNs, kReadyIntervals * interval_ns)),
      login_policy_(policy_of(find_web_file(kLoginPage)->bytes)),
      views_(views),
      histories_(histories),
      version_json_(absl::StrCat("\"version\":", json_text(about.version),
                                 ",\"revision\":", json_text(about.revision))) {}

void HttpService::set_snapshot(std::shared_ptr<const Snapshot> snapshot) {
  snapshot_ = std::move(snapshot);
  stream_->offer(StreamMessage(snapshot_, &snapshot_->json));
}

HttpAnswer HttpService::answer(const HttpRequest& request, std::uint64_t now_ns) {
  const absl::string_view path = path_of(request.target);
  const char* const route = route_of(path);
  const bool is_login = path == "/api/login";
  const bool is_health = path == "/healthz" || path == "/readyz";
  HttpAnswer answer;
  Admission admission = gate_.check_site(request.credentials, request.local_address);
  if (admission != Admission::kAdmitted) {
    answer = not_admitted(request, admission);
  } else if (is_login ? request.method != "POST"
                      : request.method != "GET" && request.method != "HEAD") {
    answer = text_answer(405, "this method is not allowed here\n");
    answer.headers.emplace_back("Allow", is_login ? "POST" : "GET, HEAD");
    counts_.reject("method");
  } else if (is_login) {
    answer = login(request, now_ns);
    answer.shows_token = answer.status == 204;
  } else {
    if (!is_health) admission = gate_.check_token(request.credentials, now_ns);
    const bool shows_token = admission == Admission::kAdmitted && !is_health;
    answer = admission == Admission::kAdmitted ? admitted(request, now_ns)
                                               : not_admitted(request, admission);
    answer.shows_token = shows_token;
  }
  answer.route = route;
  return answer;
}

HttpAnswer HttpService::admitted(const HttpRequest& request, std::uint64_t now_ns) {
  const absl::string_view path = path_of(request.target);
  if (path == "/healthz") return text_answer(200, "ok\n");
  if (path == "/readyz") return ready(now_ns);
  if (path == "/metrics") return metrics();
  if (path == "/api/v1/buses") {
    if (!snapshot_) return text_answer(503, kNothingYet);
    HttpAnswer answer;
    answer.content_type = kJson;
    answer.shared = std::shared_ptr<const std::string>(snapshot_, &snapshot_->json);
    return answer;
  }
  if (path == "/api/v1/stream") return stream_answer(request, stream_);
  if (path == "/api/v1/view") return view(request);
  if (path == "/api/v1/history") return history(request);
  const WebFile* const file = find_web_file(path == "/" ? "/index.html" : path);
  if (file != nullptr && path != kLoginPage) return file_answer(*file, request);
  return text_answer(404, "there is nothing at this path\n");
}

// Only sampled buses are found, so that a client cannot make the server read other directories.
const SampledBus* HttpService::find_bus(const std::string& bus) const {
  const auto found = std::ranges::find_if(snapshot_->buses, [&](const SampledBus& sampled) {
    return sampled.directory == bus || sampled.label == bus;
  });
  return found == snapshot_->buses.end() ? nullptr : &*found;
}

HttpAnswer HttpService::history(const HttpRequest& request) const {
  const absl::StatusOr<ViewQuery> query = parse_view_query(request.target);
  if (!query.ok()) return status_answer(400, query.status());
  if (!snapshot_) return text_answer(503, kNothingYet);
  const SampledBus* const bus = find_bus(query->bus);
  std::optional<std::string> json;
  if (bus != nullptr) json = histories_.json(bus->directory);
  if (!json) return text_answer(404, kNoSuchBus);
  HttpAnswer answer;
  answer.content_type = kJson;
  answer.own = absl::StrCat("{", version_json_, ",", *json, "}");
  return answer;
}

HttpAnswer HttpService::view(const HttpRequest& request) {
  const absl::StatusOr<ViewQuery> query = parse_view_query(request.target);
  if (!query.ok()) return status_answer(400, query.status());
  if (!snapshot_) return text_answer(503, kNothingYet);
  const SampledBus* const bus = find_bus(query->bus);
  if (bus == nullptr) return text_answer(404, kNoSuchBus);
  if (errc_of(bus->status) == Errc::kNotPermitted) return status_answer(403, bus->status);
  if (errc_of(bus->status) == Errc::kNoBus) return status_answer(404, bus->status);
  if (!request.asks_for_websocket) {  // a refused page asks for the reason
    const absl::Status room = views_.check_room(bus->directory, query->instrument);
    return room.ok() ? stream_answer(request, nullptr) : status_answer(503, room);
  }
  absl::StatusOr<std::shared_ptr<StreamClients>> stream =
      views_.open(bus->directory, query->instrument);
  if (!stream.ok()) {
    counts_.reject("views");
    return status_answer(503, stream.status());
  }
  return stream_answer(request, *std::move(stream));
}

HttpAnswer HttpService::not_admitted(const HttpRequest& request, Admission admission) {
  switch (admission) {
    case Admission::kWrongHost:
      counts_.reject("host");
      return text_answer(403, "this server is not called that; start it with --host NAME\n");
    case Admission::kWrongOrigin:
      counts_.reject("origin");
      return text_answer(403, "requests from pages of other sites are refused\n");
    case Admission::kTooMany:
      counts_.reject("too_many_wrong_tokens");
      return text_answer(429, "too many wrong tokens; try again in a second\n");
    case Admission::kWrongToken:
      counts_.reject("wrong_token");
      break;
    default:
      counts_.reject("no_token");
      break;
  }
  HttpAnswer answer = text_answer(401, "this needs the token: Authorization: Bearer TOKEN\n");
  answer.headers.emplace_back("WWW-Authenticate", "Bearer");
  if (path_of(request.target) == "/") {
    const WebFile& page = *find_web_file(kLoginPage);
    answer.content_type = std::string(page.content_type);
    answer.own = std::string(page.bytes);
    answer.headers.emplace_back("Content-Security-Policy", login_policy_);
  }
  return answer;
}

HttpAnswer HttpService::login(const HttpRequest& request, std::uint64_t now_ns) {
  const absl::string_view token = absl::StripAsciiWhitespace(request.body);
  const Admission admission = gate_.check_token(token, now_ns);
  if (admission != Admission::kAdmitted) return not_admitted(request, admission);
  // Also true if a proxy in front of this server terminates TLS.
  const bool is_secure = is_encrypted_ || absl::StartsWith(request.credentials.origin, "https://");
  HttpAnswer answer;
  answer.status = 204;
  // If there is no token to check, the client's text must not become a cookie.
  if (gate_.needs_token()) {
    answer.headers.emplace_back(
        "Set-Cookie", absl::StrCat(kTokenCookie, "=", token, "; HttpOnly; SameSite=Strict; Path=/",
                                   is_secure ? "; Secure" : ""));
  }
  return answer;
}

HttpAnswer HttpService::ready(std::uint64_t now_ns) const {
  if (!snapshot_) return text_answer(503, "not ready: nothing has been read yet\n");
  if (now_ns > after_ns(snapshot_->taken_ns, recent_ns_)) {
    return text_answer(503, absl::StrCat("not ready: the newest reading is older than ",
                                         seconds_of(recent_ns_), " s\n"));
  }
  if (snapshot_->not_sampled.empty()) return text_answer(200, "ready\n");
  return text_answer(
      503,
      absl::StrCat("not ready: ", printable(absl::StrJoin(snapshot_->not_sampled, "; ")), "\n"));
}

HttpAnswer HttpService::metrics() const {
  HttpAnswer answer;
  answer.content_type = kExposition;
  if (snapshot_) answer.shared = std::shared_ptr<const std::string>(snapshot_, &snapshot_->metrics);
  // A view is left out if its bus has no metrics.
  std::vector<ViewCounts> views;
  for (ViewCounts view : views_.counts()) {
    if (!snapshot_) break;
    const auto bus = std::ranges::find(snapshot_->buses, view.bus, &SampledBus::directory);
    if (bus == snapshot_->buses.end() || !bus->has_metrics) continue;
    view.bus = bus->label;
    views.push_back(std::move(view));
  }
  answer.own = http_metrics_text(counts_, *stream_counts_, views);
  return answer;
}

HttpAnswer HttpService::refusal(unsigned status, const char* reason) {
  counts_.reject(reason);
  switch (status) {
    case 408:
      return text_answer(status, "the request took too long\n");
    case 413:
      return text_answer(status, "the body is too large\n");
    case 431:
      return text_answer(status, "the headers are too large\n");
    case 503:
      return text_answer(status, "too many connections\n");
    default:
      return text_answer(status, "this is not a valid request\n");
  }
}

}  // namespace lapwing
