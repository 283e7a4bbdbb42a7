// For tests: ends a test case that cannot run here, and says so on the screen and in the log.
//
// deploy/test.sh finds the words, counts the skip and names it in its summary.
#pragma once

#include <catch2/catch.hpp>

// `reason` is a string literal: what is missing, and what would provide it. SUCCEED is there
// because ctest runs with --warn NoAssertions, to which a warning is none.
#define LAPWING_SKIP(reason)     \
  do {                           \
    WARN("SKIPPED: " reason);    \
    SUCCEED("SKIPPED: " reason); \
    return;                      \
  } while (false)
