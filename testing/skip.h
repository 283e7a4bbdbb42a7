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

namespace lapwing {

// Two threads that use an object at a time, to see that it is noticed, are a data race to it.
#if defined(__SANITIZE_THREAD__)
inline constexpr bool kThreadSanitizer = true;
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
inline constexpr bool kThreadSanitizer = true;
#else
inline constexpr bool kThreadSanitizer = false;
#endif
#else
inline constexpr bool kThreadSanitizer = false;
#endif

}  // namespace lapwing
