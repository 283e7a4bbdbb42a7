// For tests: ends a test case that cannot run here, and prints the reason.
//
// deploy/test.sh finds the text, counts the skip and lists it in its summary.
#pragma once

#include <catch2/catch.hpp>

// `reason` is a string literal: what is missing, and how to get it. SUCCEED is needed because ctest
// runs with --warn NoAssertions, which does not count a warning as an assertion.
#define LAPWING_SKIP(reason)     \
  do {                           \
    WARN("SKIPPED: " reason);    \
    SUCCEED("SKIPPED: " reason); \
    return;                      \
  } while (false)

namespace lapwing {

// For it, tests that use an object from two threads to check misuse detection are data races.
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
