// Tests which requests are admitted: Host, Origin, token.
#include "monitor/http/gate.h"
#include "os/kernel.h"

#include <catch2/catch.hpp>
#include <string>

namespace lapwing {
namespace {

const std::string kGateToken(64, 'a');

Gate gate(bool is_encrypted = false) {
  return Gate({.token = kGateToken, .hosts = {"desk.example"}, .is_encrypted = is_encrypted});
}

Credentials at(absl::string_view host, absl::string_view origin = {}) {
  return {.host = host, .origin = origin, .authorization = {}, .cookie = {}};
}

TEST_CASE("A host is the address that was reached, localhost, or a given name, with any port") {
  for (const char* host : {"127.0.0.1", "127.0.0.1:9477", "localhost", "LocalHost:1",
                           "desk.example", "Desk.Example:443"}) {
    INFO(host);
    CHECK(gate().check_site(at(host), "127.0.0.1") == Admission::kAdmitted);
  }
  CHECK(gate().check_site(at("[::1]:9477"), "::1") == Admission::kAdmitted);
  CHECK(gate().check_site(at("[0::1]"), "::1") == Admission::kAdmitted);
}

TEST_CASE("A name that points to this machine, another address and what is no host are refused") {
  for (const char* host : {"evil.example", "127.0.0.2", "", "127.0.0.1:", "127.0.0.1:80x",
                           "localhost.evil.example", "evil.example:9477", "[127.0.0.1]", "::1",
                           "127.0.0.1:123456", "[::1", "localhost:80:80", "127.1", "2130706433"}) {
    INFO(host);
    CHECK(gate().check_site(at(host), "127.0.0.1") == Admission::kWrongHost);
  }
  CHECK(gate().check_site(at("127.0.0.1"), "") == Admission::kWrongHost);
}

TEST_CASE("An origin is the server's own, scheme and port included") {
  const std::string host = "127.0.0.1:9477";
  CHECK(gate().check_site(at(host, "http://127.0.0.1:9477"), "127.0.0.1") == Admission::kAdmitted);
  CHECK(gate(true).check_site(at(host, "https://127.0.0.1:9477"), "127.0.0.1") ==
        Admission::kAdmitted);
  for (const char* origin : {"http://127.0.0.1:80", "https://127.0.0.1:9477", "null", "http://",
                             "http://localhost:9477", "http://127.0.0.1:9477.evil.example"}) {
    INFO(origin);
    CHECK(gate().check_site(at(host, origin), "127.0.0.1") == Admission::kWrongOrigin);
  }
}

TEST_CASE("Behind a proxy that ends TLS, the origin is https and a name that was given") {
  for (const char* host : {"desk.example", "desk.example:8443", "127.0.0.1:9477"}) {
    for (const char* origin :
         {"https://desk.example", "https://DESK.example", "https://desk.example:8443"}) {
      INFO(host << " " << origin);
      CHECK(gate().check_site(at(host, origin), "127.0.0.1") == Admission::kAdmitted);
      CHECK(gate(true).check_site(at(host, origin), "127.0.0.1") == Admission::kAdmitted);
    }
  }
  for (const char* origin :
       {"https://localhost", "https://127.0.0.1", "http://desk.example:80",
        "https://desk.example.evil.example", "https://desk.example@evil.example",
        "https://evil.example", "https://"}) {
    INFO(origin);
    CHECK(gate().check_site(at("desk.example", origin), "127.0.0.1") == Admission::kWrongOrigin);
  }
}

TEST_CASE("The token is taken from Authorization or from the cookie") {
  Gate own = gate();
  const std::string bearer = "Bearer " + kGateToken;
  const std::string lower = "bearer  " + kGateToken;
  const std::string cookie = "a=b; lapwing_token=" + kGateToken + "; c=d";
  Credentials credentials;
  CHECK(own.check_token(credentials, 0) == Admission::kNoToken);
  credentials.authorization = bearer;
  CHECK(own.check_token(credentials, 0) == Admission::kAdmitted);
  credentials.authorization = lower;
  CHECK(own.check_token(credentials, 0) == Admission::kAdmitted);
  credentials.authorization = {};
  credentials.cookie = cookie;
  CHECK(own.check_token(credentials, 0) == Admission::kAdmitted);
  credentials.authorization = "Bearer wrong";
  CHECK(own.check_token(credentials, 0) == Admission::kWrongToken);
  credentials.authorization = "Basic YTpi";
  CHECK(own.check_token(credentials, 0) == Admission::kNoToken);
}

TEST_CASE("Part of a token, or more than it, is wrong") {
  Gate own = gate();
  CHECK(own.check_token(kGateToken.substr(1), 0) == Admission::kWrongToken);
  CHECK(own.check_token(kGateToken + "a", 0) == Admission::kWrongToken);
  CHECK(own.check_token(kGateToken.substr(1) + "b", 0) == Admission::kWrongToken);
  CHECK(own.check_token("", 0) == Admission::kWrongToken);
}

TEST_CASE("More than ten wrong tokens a second are too many; the right one is taken all the same") {
  Gate own = gate();
  for (int i = 0; i < 10; ++i)
    CHECK(own.check_token("wrong", 5 * kNsPerSecond) == Admission::kWrongToken);
  CHECK(own.check_token("wrong", 5 * kNsPerSecond + 1) == Admission::kTooMany);
  CHECK(own.check_token(kGateToken, 5 * kNsPerSecond + 1) == Admission::kAdmitted);
  CHECK(own.check_token("wrong", 6 * kNsPerSecond) == Admission::kWrongToken);
}

TEST_CASE("Where no token is needed, none is asked for") {
  Gate open({.token = "", .hosts = {}});
  CHECK(open.check_token(Credentials{}, 0) == Admission::kAdmitted);
}

}  // namespace
}  // namespace lapwing
