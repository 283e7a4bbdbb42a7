#include "monitor/view/memory_budget.h"

#include <catch2/catch.hpp>
#include <optional>

namespace lapwing {
namespace {

TEST_CASE("What one view takes another one cannot, until it gives it back") {
  const auto budget = std::make_shared<MemoryBudget>(100);
  std::optional<MemoryBudget::Share> first(budget);
  MemoryBudget::Share second(budget);
  CHECK(first->set(60));
  CHECK(second.set(40));
  CHECK_FALSE(second.set(41));
  CHECK_FALSE(first->set(61));
  CHECK(first->set(50));
  CHECK(second.set(50));
  CHECK_FALSE(first->set(51));
  first.reset();
  CHECK(second.set(100));
  CHECK_FALSE(second.set(101));
  CHECK(second.set(0));
}

}  // namespace
}  // namespace lapwing
