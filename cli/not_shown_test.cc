#include "cli/not_shown.h"

#include <catch2/catch.hpp>

namespace lapwing::cli {
namespace {

TEST_CASE("Buses that are not shown are counted by reason, in the singular and the plural") {
  CHECK(not_shown_text(LeftOut()).empty());
  LeftOut found;
  found.not_watched = 1;
  CHECK(not_shown_text(found) ==
        "buses of 1 other user are not shown (use --user NAME or --user all)");
  found.not_permitted = 1;
  found.not_trusted = 1;
  found.not_watched = 0;
  CHECK(not_shown_text(found) ==
        "1 directory of another user is not readable by you; 1 announcement ignored: damaged or "
        "possibly written by another user");
  found = {.not_trusted = 3, .not_permitted = 2, .beyond_limit = 5, .not_watched = 4};
  CHECK(not_shown_text(found) ==
        "2 directories of other users are not readable by you; 3 announcements ignored: damaged or "
        "possibly written by another user; buses of 4 other users are not shown (use --user NAME "
        "or --user all); 5 more not read (limit reached)");
}

}  // namespace
}  // namespace lapwing::cli
