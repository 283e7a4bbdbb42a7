// The driver of the C interface. See tests/conformance/bindings/README.md.
#include <future>
#include <iostream>

#include "tests/conformance/bindings/c/driver.h"

namespace lapwing::conformance {
namespace {

class Driver {
 public:
  Driver() {
    for (Operations some :
         {library_operations(), publisher_operations(), subscriber_operations(),
          history_operations(), books_operations(), channel_operations(), misuse_operations()}) {
      operations_.merge(some);
    }
  }

  Lines answer(const std::string& line) {
    if (line.starts_with("begin ")) return begin(line.substr(6));
    if (line.starts_with("end ")) return begun_.at(line.substr(4)).get();
    const Step step = Step::parse(line);
    const auto found = operations_.find(step.operation());
    return found == operations_.end() ? Lines{"unsupported-step"} : found->second(step);
  }

 private:
  Lines begin(const std::string& words) {
    const std::size_t blank = words.find(' ');
    begun_[words.substr(0, blank)] = std::async(
        std::launch::async, [this, rest = words.substr(blank + 1)] { return answer(rest); });
    return {"ok"};
  }

  Operations operations_;
  std::map<std::string, std::future<Lines>> begun_;
};

}  // namespace
}  // namespace lapwing::conformance

int main() {
  lapwing::conformance::Driver driver;
  for (std::string line; std::getline(std::cin, line);) {
    for (const std::string& said : driver.answer(line)) std::cout << said << "\n";
    std::cout << "." << std::endl;
  }
  return 0;
}
