// Tests the server's answers without a socket.
#include "monitor/http/service.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "lapwing/error.h"
#include "monitor/web/web_files.h"
#include "os/kernel.h"

namespace lapwing {
namespace {

const std::string kToken(64, 'a');
const std::string kBearer = "Bearer " + kToken;

class TestService {
 public:
  HttpAnswer ask(absl::string_view method, absl::string_view target,
                 absl::string_view authorization = kBearer, absl::string_view body = {}) {
    return service.answer({.method = method,
                           .target = target,
                           .local_address = "127.0.0.1",
                           .credentials = {.host = "127.0.0.1:9477",
                                           .origin = origin,
                                           .authorization = authorization,
                                           .cookie = {}},
                           .if_none_match = if_none_match,
                           .body = body,
                           .asks_for_websocket = asks_for_websocket},
                          now_ns);
  }
  void set_snapshot(Snapshot snapshot) {
    service.set_snapshot(std::make_shared<const Snapshot>(std::move(snapshot)));
  }

  explicit TestService(std::uint64_t interval_ns = kNsPerSecond)
      : service(GateOptions{.token = kToken, .hosts = {"desk.example"}}, views, histories, {},
                interval_ns) {}

  Views views{{}, [](const std::function<void()>&) {}};
  Histories histories;
  HttpService service;
  absl::string_view if_none_match;
  absl::string_view origin;
  bool asks_for_websocket = false;
  std::uint64_t now_ns = 100 * kNsPerSecond;
};

std::string header(const HttpAnswer& answer, const std::string& name) {
  for (const auto& [key, value] : answer.headers) {
    if (key == name) return value;
  }
  return {};
}

TEST_CASE("Everything but the two health paths needs the token") {
  TestService own;
  for (const char* path : {"/", "/metrics", "/api/v1/buses", "/api/v1/stream", "/page.js",
                           "/login.html", "/none", "/../etc/passwd", "/healthz/", "//healthz"}) {
    INFO(path);
    CHECK(own.ask("GET", path, "").status == 401);
    CHECK(own.ask("GET", path, "Bearer wrong").status >= 401);
  }
  CHECK(own.ask("GET", "/healthz", "").status == 200);
  CHECK(own.ask("GET", "/readyz", "").status == 503);
  CHECK(own.service.counts().rejected["no_token"] == 10);
  CHECK(own.service.counts().rejected["wrong_token"] == 10);
}

TEST_CASE("Wrong tokens are refused, counted, and limited") {
  TestService own;
  for (int i = 0; i < 10; ++i) CHECK(own.ask("GET", "/metrics", "Bearer wrong").status == 401);
  CHECK(own.ask("GET", "/metrics", "Bearer wrong").status == 429);
  CHECK(own.ask("POST", "/api/login", "", "wrong").status == 429);
  CHECK(own.service.counts().rejected["too_many_wrong_tokens"] == 2);
  CHECK(own.ask("GET", "/metrics").status == 200);
}

TEST_CASE("Paths are exact: nothing is decoded, joined or searched for on disk") {
  TestService own;
  for (const char* path : {"/../etc/passwd", "/page.js/..", "/%2e%2e/page.js", "page.js", "",
                           "/PAGE.JS", "/login.html", "http://127.0.0.1/page.js"}) {
    INFO(path);
    CHECK(own.ask("GET", path).status == 404);
  }
  CHECK(own.ask("GET", "/page.js?v=1").status == 200);
}

TEST_CASE("Methods are GET and HEAD, and POST to log in") {
  TestService own;
  for (const char* method : {"DELETE", "PUT", "POST", "OPTIONS", "TRACE", "CONNECT", "", "get"}) {
    INFO(method);
    CHECK(own.ask(method, "/metrics").status == 405);
  }
  CHECK(own.ask("HEAD", "/metrics").status == 200);
  CHECK(own.ask("GET", "/api/login").status == 405);
  CHECK(header(own.ask("GET", "/api/login"), "Allow") == "POST");
}

TEST_CASE("A login gives a cookie that scripts and other sites do not get") {
  TestService own;
  const HttpAnswer answer = own.ask("POST", "/api/login", "", kToken + "\n");
  CHECK(answer.status == 204);
  CHECK(header(answer, "Set-Cookie") ==
        "lapwing_token=" + kToken + "; HttpOnly; SameSite=Strict; Path=/");
  own.origin = "https://desk.example";
  CHECK(header(own.ask("POST", "/api/login", "", kToken), "Set-Cookie") ==
        "lapwing_token=" + kToken + "; HttpOnly; SameSite=Strict; Path=/; Secure");
  own.origin = {};
  CHECK(own.ask("POST", "/api/login", "", "wrong").status == 401);
  CHECK(own.ask("POST", "/api/login").status == 401);
  HttpService open(GateOptions{.token = "", .hosts = {}}, own.views, own.histories, {},
                   kNsPerSecond);
  CHECK(header(
            open.answer({.method = "POST",
                         .target = "/api/login",
                         .local_address = "",
                         .credentials =
                             {.host = "localhost", .origin = {}, .authorization = {}, .cookie = {}},
                         .if_none_match = {},
                         .body = "x\r\nSet-Cookie: y",
                         .asks_for_websocket = false},
                        0),
            "Set-Cookie")
            .empty());
}

TEST_CASE("The page that asks for the token allows its own script, by its sum") {
  TestService own;
  const HttpAnswer answer = own.ask("GET", "/", "");
  CHECK(answer.status == 401);
  CHECK(answer.own == std::string(find_web_file("/login.html")->bytes));
  CHECK(header(answer, "Content-Security-Policy").find("script-src 'sha256-") != std::string::npos);
  CHECK(header(answer, "Content-Security-Policy").find("unsafe") == std::string::npos);
}

TEST_CASE("A file is sent once to who has it already") {
  TestService own;
  const HttpAnswer first = own.ask("GET", "/");
  CHECK(first.status == 200);
  CHECK(first.content_type == "text/html; charset=utf-8");
  CHECK(first.own == std::string(find_web_file("/index.html")->bytes));
  const std::string etag = header(first, "ETag");
  own.if_none_match = etag;
  const HttpAnswer second = own.ask("GET", "/");
  CHECK(second.status == 304);
  CHECK(second.body_bytes() == 0);
}

TEST_CASE("It is ready while its reading is recent and has every named bus") {
  TestService own;
  CHECK(own.ask("GET", "/readyz").status == 503);
  own.set_snapshot({.taken_ns = own.now_ns, .json = "{}", .metrics = {}, .not_sampled = {}});
  CHECK(own.ask("GET", "/readyz").status == 200);
  own.now_ns += 3 * kNsPerSecond;
  CHECK(own.ask("GET", "/readyz").status == 200);
  own.now_ns += 1;
  CHECK(own.ask("GET", "/readyz").status == 503);
  own.set_snapshot(
      {.taken_ns = own.now_ns, .json = "{}", .metrics = {}, .not_sampled = {"/es: no bus"}});
  const HttpAnswer answer = own.ask("GET", "/readyz");
  CHECK(answer.status == 503);
  CHECK(answer.own.find("/es: no bus") != std::string::npos);
}

TEST_CASE("Where readings are rare, one is recent for three intervals") {
  TestService own(/*interval_ns=*/10 * kNsPerSecond);
  own.set_snapshot({.taken_ns = own.now_ns, .json = "{}", .metrics = {}, .not_sampled = {}});
  own.now_ns += 30 * kNsPerSecond;
  CHECK(own.ask("GET", "/readyz").status == 200);
  own.now_ns += 1;
  const HttpAnswer answer = own.ask("GET", "/readyz");
  CHECK(answer.status == 503);
  CHECK(answer.own == "not ready: the newest reading is older than 30 s\n");
}

TEST_CASE("A reading is the same bytes for everybody") {
  TestService own;
  CHECK(own.ask("GET", "/api/v1/buses").status == 503);
  own.set_snapshot({.taken_ns = 0, .json = "{\"a\":1}", .metrics = "m 1\n", .not_sampled = {}});
  const HttpAnswer one = own.ask("GET", "/api/v1/buses");
  CHECK(*one.shared == "{\"a\":1}");
  CHECK(one.shared.get() == own.ask("GET", "/api/v1/buses").shared.get());
  CHECK(*own.ask("GET", "/metrics").shared == "m 1\n");
}

TEST_CASE("The stream is a WebSocket and nothing else") {
  TestService own;
  CHECK(own.ask("GET", "/api/v1/stream").status == 426);
  own.asks_for_websocket = true;
  CHECK(own.ask("GET", "/api/v1/stream").stream != nullptr);
  CHECK(own.ask("GET", "/metrics").stream == nullptr);
  CHECK(own.ask("GET", "/api/v1/stream", "Bearer wrong").stream == nullptr);
}

TEST_CASE("Whatever is asked, there is one answer, and few routes") {
  TestService own;
  std::mt19937_64 random(20);
  const auto text = [&] {
    std::string made(random() % 40, '\0');
    for (char& c : made) c = static_cast<char>(random());
    return made;
  };
  for (int i = 0; i < 20'000; ++i) {
    const std::string target = (random() % 2 == 0 ? "/" : "") + text();
    const std::string method = random() % 2 == 0 ? "GET" : text();
    const std::string authorization = random() % 2 == 0 ? kBearer : text();
    const std::string body = text();
    const HttpAnswer answer = own.ask(method, target, authorization, body);
    CHECK(answer.status >= 200);
    own.service.counts().add(answer.route, answer.status, 1);
  }
  CHECK(own.service.counts().durations.size() <= 9);
}

TEST_CASE("A history is of a bus that was sampled, by its label or directory") {
  TestService own;
  CHECK(own.ask("GET", "/api/v1/history?bus=es").status == 503);  // nothing read yet
  own.set_snapshot({.buses = {{"/run/es", "es", true, absl::OkStatus()}}});
  CHECK(own.ask("GET", "/api/v1/history").status == 400);
  CHECK(own.ask("GET", "/api/v1/history?bus=nq").status == 404);
  CHECK(own.ask("GET", "/api/v1/history?bus=es").status == 404);  // no point for it yet
  MachineReading reading;
  reading.wall_ns = kNsPerSecond;
  reading.buses.emplace_back().directory = "/run/es";
  own.histories.add(reading);
  for (const char* bus : {"es", "/run/es"}) {
    const HttpAnswer answer = own.ask("GET", std::string("/api/v1/history?bus=") + bus);
    CHECK(answer.status == 200);
    CHECK(std::string(answer.route) == "/api/v1/history");
    CHECK(answer.own.find("\"times_ms\":[1000]") != std::string::npos);
  }
  CHECK(own.ask("GET", "/api/v1/history?bus=es", "Bearer wrong").status == 401);
}

TEST_CASE("A request that shows the token is known as one") {
  TestService own;
  CHECK(own.ask("GET", "/api/v1/buses").shows_token);
  CHECK(own.ask("POST", "/api/login", "", kToken).shows_token);
  CHECK_FALSE(own.ask("POST", "/api/login", "", "wrong").shows_token);
  CHECK_FALSE(own.ask("GET", "/healthz").shows_token);
  CHECK_FALSE(own.ask("GET", "/api/v1/buses", "Bearer wrong").shows_token);
}

TEST_CASE("A view is of a bus that was sampled and may be read; anything else is answered why") {
  TestService own;
  own.asks_for_websocket = true;
  CHECK(own.ask("GET", "/api/v1/view?bus=es").status == 503);  // nothing read yet
  own.set_snapshot(
      {.buses = {{"/tmp/no-such-bus/es", "es", true, absl::OkStatus()},
                 {"/hidden", "hidden", true, make_error(Errc::kNotPermitted, "it is closed")},
                 {"/absent", "", false, make_error(Errc::kNoBus, "no bus at /absent")}}});
  CHECK(own.ask("GET", "/api/v1/view").status == 400);
  CHECK(own.ask("GET", "/api/v1/view?bus=nq").status == 404);
  CHECK(own.ask("GET", "/api/v1/view?bus=/absent").status == 404);
  const HttpAnswer closed = own.ask("GET", "/api/v1/view?bus=hidden");
  CHECK(closed.status == 403);
  CHECK(closed.own == "it is closed\n");
  CHECK(closed.stream == nullptr);
  CHECK(own.ask("GET", "/api/v1/view?bus=es", "Bearer wrong").status == 401);
  CHECK(own.views.counts().empty());

  const HttpAnswer view = own.ask("GET", "/api/v1/view?bus=es");
  CHECK(view.status == 101);
  CHECK(std::string(view.route) == "/api/v1/view");
  REQUIRE(view.stream != nullptr);
  CHECK(own.ask("GET", "/api/v1/view?bus=%2ftmp/no-such-bus/es").stream == view.stream);
  CHECK(own.views.counts().size() == 1);
  own.asks_for_websocket = false;
  CHECK(own.ask("GET", "/api/v1/view?bus=es").status == 426);
  const HttpAnswer metrics = own.ask("GET", "/metrics");
  CHECK(metrics.own.find("lapwing_view_clients{bus=\"es\"} 0") != std::string::npos);

  own.asks_for_websocket = true;
  std::vector<std::shared_ptr<StreamClients>> streams = {view.stream};
  while (streams.size() < kViewedInstrumentsMax) {
    streams.push_back(
        own.ask("GET", absl::StrCat("/api/v1/view?bus=es&instrument=", streams.size())).stream);
    REQUIRE(streams.back() != nullptr);
  }
  CHECK(own.ask("GET", "/api/v1/view?bus=es&instrument=ESH4").status == 503);
  CHECK(own.service.counts().rejected.at("views") == 1);
  own.asks_for_websocket = false;  // as the page does, to get the reason
  const HttpAnswer why = own.ask("GET", "/api/v1/view?bus=es&instrument=ESH4");
  CHECK(why.status == 503);
  CHECK(why.own == "64 instruments of this bus are viewed already\n");
}

}  // namespace
}  // namespace lapwing
