#include "os/cpu_list.h"

#include <catch2/catch.hpp>

#include "lapwing/error.h"

namespace lapwing {
namespace {

using Cpus = std::vector<unsigned>;

TEST_CASE("A list of processors is read as taskset reads it") {
  CHECK(*parse_cpu_list("2") == Cpus{2});
  CHECK(*parse_cpu_list("2-3") == Cpus{2, 3});
  CHECK(*parse_cpu_list("8,0-2,1") == Cpus{0, 1, 2, 8});
  CHECK(*parse_cpu_list("5-5") == Cpus{5});
  CHECK(*parse_cpu_list("8191") == Cpus{8191});
}

TEST_CASE("What is no list of processors is refused, with an example of one") {
  for (const char* const text : {"", ",", "1,", "a", "1-", "-1", "3-1", "1--2", "1-2-3", "+1", " 1",
                                 "1 ", "0x1", "8192", "0-8192", "4294967296", "1;2"}) {
    INFO(text);
    const auto refused = parse_cpu_list(text);
    CHECK(errc_of(refused.status()) == Errc::kInvalidArgument);
    CHECK(refused.status().message().find("0,4-7") != std::string::npos);
  }
}

TEST_CASE("A set of processors is written as short as it can be, and reads back as itself") {
  CHECK(cpu_list_text({}) == "");
  CHECK(cpu_list_text({7}) == "7");
  CHECK(cpu_list_text({3, 1, 2, 2}) == "1-3");
  CHECK(cpu_list_text({0, 2, 3, 5}) == "0,2-3,5");
  CHECK(*parse_cpu_list(cpu_list_text({9, 4, 5, 6, 0})) == Cpus{0, 4, 5, 6, 9});
}

}  // namespace
}  // namespace lapwing
