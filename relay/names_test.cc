#include "relay/names.h"

#include <catch2/catch.hpp>
#include <set>
#include <string>

#include "lapwing/error.h"
#include "proto/relay_frames.h"
#include "testing/status_text.h"

namespace lapwing {
namespace {

RelayNames names_of(std::string_view bus_name) {
  const absl::StatusOr<RelayNames> names = relay_names(bus_name);
  INFO(names.status());
  REQUIRE(names.ok());
  return *names;
}

bool is_plain(char byte) {
  return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
         (byte >= '0' && byte <= '9') || byte == '_' || byte == '-' || byte == '=';
}

}  // namespace

TEST_CASE("A bus has four subjects and a stream") {
  const RelayNames names = names_of("es-mbo_1");
  CHECK(names.log == "lapwing.log.es-mbo_1");
  CHECK(names.live == "lapwing.live.es-mbo_1");
  CHECK(names.beat == "lapwing.beat.es-mbo_1");
  CHECK(names.ask == "lapwing.ask.es-mbo_1");
  CHECK(names.stream == "LAPWING_es-mbo_1");
}

TEST_CASE("Bytes with a meaning in subjects, stream names or paths are escaped") {
  CHECK(escaped_name("a.b") == "a=2Eb");
  CHECK(escaped_name("a b") == "a=20b");
  CHECK(escaped_name(">") == "=3E");
  CHECK(escaped_name("*") == "=2A");
  CHECK(escaped_name("$SYS/x\\y\t") == "=24SYS=2Fx=5Cy=09");
  CHECK(escaped_name("=") == "=3D");
  CHECK(escaped_name("=2E") == "=3D2E");
  CHECK(escaped_name("\xC3\xA9") == "=C3=A9");
  CHECK(escaped_name(std::string_view("\0", 1)) == "=00");
  CHECK(names_of("a.b").stream == "LAPWING_a=2Eb");
}

TEST_CASE("No two names of one or two bytes have the same token") {
  std::set<std::string> tokens;
  std::size_t names = 0;
  const auto add = [&](const std::string& name) {
    const std::string token = escaped_name(name);
    ++names;
    tokens.insert(token);
    for (const char byte : token) {
      if (!is_plain(byte)) FAIL("byte " << int{byte} << " in " << token);
    }
  };
  for (int first = 0; first < 256; ++first) {
    add(std::string(1, static_cast<char>(first)));
    for (int second = 0; second < 256; ++second) {
      add({static_cast<char>(first), static_cast<char>(second)});
    }
  }
  CHECK(names == 256 + 256 * 256);
  CHECK(tokens.size() == names);
}

TEST_CASE("A name is as long as a bus's name may be, and not empty") {
  CHECK(relay_names(std::string(kRelayNameBytesMax, '.')).ok());
  // The server uses the stream's name as the name of a directory.
  CHECK(names_of(std::string(kRelayNameBytesMax, '.')).stream.size() <= 255);
  const absl::Status empty = relay_names("").status();
  CHECK(errc_of(empty) == Errc::kInvalidArgument);
  CHECK(says(empty, "a name of 0 bytes"));
  const absl::Status longer = relay_names(std::string(kRelayNameBytesMax + 1, 'a')).status();
  CHECK(errc_of(longer) == Errc::kInvalidArgument);
  CHECK(says(longer, "a name of 64 bytes"));
}

}  // namespace lapwing
