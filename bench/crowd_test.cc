#include "bench/crowd.h"

#include <catch2/catch.hpp>

namespace lapwing::bench {
namespace {

TEST_CASE("Crowds are alike if equally many members of both were replaced") {
  CHECK(replaced_alike(0, 0));
  CHECK(replaced_alike(500, 500));
  CHECK(replaced_alike(500, 600));
  CHECK(replaced_alike(600, 500));
  CHECK(replaced_alike(0, 10));  // in a short row
  CHECK_FALSE(replaced_alike(0, 11));
  CHECK_FALSE(replaced_alike(150, 1000));
  CHECK_FALSE(replaced_alike(1000, 150));
}

}  // namespace
}  // namespace lapwing::bench
