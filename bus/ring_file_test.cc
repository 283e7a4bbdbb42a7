#include "bus/ring_file.h"

#include <sys/stat.h>

#include <catch2/catch.hpp>

#include "bus/test_ring.h"
#include "proto/error.h"

namespace lapwing {
namespace {

TEST_CASE("A new ring is readable by its owner and by nobody else, and writable by nobody") {
  const TestDirectory directory;
  const RingFile file = make_ring(test_spec(directory.path()));
  struct stat found{};
  REQUIRE(stat(file.path().c_str(), &found) == 0);
  CHECK((found.st_mode & 07777) == 0400);
}

TEST_CASE("A ring that is attached has the header it was created with") {
  const TestDirectory directory;
  const RingFile file = make_ring(test_spec(directory.path()));
  const RingMap map = map_ring(file.path());
  CHECK(std::memcmp(&map.header(), &file.header(), sizeof(RingHeader)) == 0);
  CHECK(load_head(map.words()) == 0);
}

TEST_CASE("A ring that is not there is not found") {
  const TestDirectory directory;
  CHECK(errc_of(RingMap::attach(directory / "none.ring").status()) == Errc::kNotFound);
}

}  // namespace
}  // namespace lapwing
