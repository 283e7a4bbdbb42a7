#include "monitor/http/host_name.h"

#include <catch2/catch.hpp>
#include <string>
#include <utility>

#include "lapwing/error.h"
#include "monitor/http/gate.h"

namespace lapwing {
namespace {

TEST_CASE("A host is a name or an IP address, and the gate admits it") {
  const std::string token(64, 'a');
  const std::pair<const char*, const char*> hosts[] = {{"mon.example", "mon.example:8443"},
                                                       {"Mon.Example.", "mon.example."},
                                                       {"md1", "md1"},
                                                       {"_a-b.example", "_a-b.example"},
                                                       {"10.0.0.1", "10.0.0.1"},
                                                       {"fd00:0::1", "[fd00::1]:9477"},
                                                       {"[fd00::1]", "[fd00::1]"}};
  for (const auto& [text, sent] : hosts) {
    INFO(text);
    const absl::StatusOr<std::string> host = parse_host_name(text);
    REQUIRE(host.ok());
    const Gate gate({.token = token, .hosts = {*host}});
    CHECK(gate.check_site({.host = sent, .origin = {}, .authorization = {}, .cookie = {}}, "") ==
          Admission::kAdmitted);
  }
}

TEST_CASE("A URL, a port, a pattern and what browsers never send are refused") {
  for (const char* text : {"",
                           ".",
                           "https://mon.example",
                           "mon.example:8443",
                           "mon.example/",
                           "*",
                           "*.example",
                           "user@mon.example",
                           "mon example",
                           "mon..example",
                           "mönch.example",
                           "10.0.0.1:80",
                           "[::1]:80",
                           "[10.0.0.1]",
                           "[mon.example]",
                           "[::1",
                           "::1]",
                           "fe80::1%eth0",
                           "10.0.0",
                           "10.0.0.256"}) {
    INFO(text);
    const absl::Status refused = parse_host_name(text).status();
    CHECK(errc_of(refused) == Errc::kInvalidArgument);
    CHECK(refused.message().find("without scheme, port and path") != absl::string_view::npos);
  }
  CHECK_FALSE(parse_host_name(std::string(64, 'a')).ok());
  CHECK_FALSE(parse_host_name(std::string("a\0b", 3)).ok());
}

}  // namespace
}  // namespace lapwing
