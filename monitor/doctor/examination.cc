#include "monitor/doctor/examination.h"

#include <iterator>
#include <utility>

namespace lapwing {

std::vector<Finding> examine(const Machine& machine) {
  std::vector<Finding> all;
  for (const auto check :
       {check_kernel, check_processors, check_memory, check_limits, check_disk}) {
    std::vector<Finding> some = check(machine);
    std::move(some.begin(), some.end(), std::back_inserter(all));
  }
  return all;
}

}  // namespace lapwing
