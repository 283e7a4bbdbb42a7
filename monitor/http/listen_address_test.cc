#include "monitor/http/listen_address.h"

#include <catch2/catch.hpp>

#include "lapwing/error.h"

namespace lapwing {
namespace {

TEST_CASE("An address is an IP address with a port, or a path") {
  const auto v4 = parse_listen_address("127.0.0.1:9477");
  REQUIRE(v4.ok());
  CHECK(v4->address == "127.0.0.1");
  CHECK(v4->port == 9477);
  CHECK(v4->is_loopback);
  const auto v6 = parse_listen_address("[::1]:0");
  REQUIRE(v6.ok());
  CHECK(v6->address == "::1");
  CHECK(v6->is_loopback);
  const auto path = parse_listen_address("unix:/run/a:b");
  REQUIRE(path.ok());
  CHECK(path->path == "/run/a:b");
  CHECK(path->is_local());
}

TEST_CASE("What others can reach is not loopback") {
  for (const char* text : {"0.0.0.0:1", "[::]:1", "192.0.2.1:1"}) {
    INFO(text);
    CHECK_FALSE(parse_listen_address(text)->is_loopback);
  }
}

TEST_CASE("What is no address is refused") {
  for (const char* text : {"", ":", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:-1",
                           "localhost:1", "::1:1", "[::1]", "[127.0.0.1]:1", "[::1:1", "unix:"}) {
    INFO(text);
    CHECK(errc_of(parse_listen_address(text).status()) == Errc::kInvalidArgument);
  }
}

}  // namespace
}  // namespace lapwing
