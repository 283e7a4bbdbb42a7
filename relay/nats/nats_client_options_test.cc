#include "relay/nats/nats_client_options.h"

#include <catch2/catch.hpp>

#include "lapwing/error.h"

namespace lapwing {
namespace {

TEST_CASE("URLs are shown without users and passwords") {
  CHECK(shown_urls("nats://a.example").value() == "nats://a.example");
  CHECK(shown_urls("nats://a.example:1,tls://b.example:65535").value() ==
        "nats://a.example:1,tls://b.example:65535");
  CHECK(shown_urls("tls://u:p@a.example:4222").value() == "tls://a.example:4222");
  CHECK(shown_urls("nats://token@a.example,nats://u:p@x@b.example").value() ==
        "nats://a.example,nats://b.example");
  CHECK(shown_urls("nats://[::1]:4222").value() == "nats://[::1]:4222");
  CHECK(shown_urls("nats://[::1]").value() == "nats://[::1]");
}

TEST_CASE("an invalid URL of a NATS server is refused without its password") {
  for (const char* const wrong :
       {"", ",", " ", "host", "host:4222", "http://a.example", "nats:/host", "nats://", "nats://:1",
        "nats://a.example:0", "nats://a.example:65536", "nats://a.example:", "nats://a.example:1x",
        "tls://[::1]:x", "nats://a.example,ftp://u:secret@a.example", "u:secret@a.example",
        "nats://:secret@"}) {
    const auto shown = shown_urls(wrong);
    INFO(wrong);
    CHECK(errc_of(shown.status()) == Errc::kInvalidArgument);
    CHECK(std::string(shown.status().message()).find("secret") == std::string::npos);
  }
}

}  // namespace
}  // namespace lapwing
