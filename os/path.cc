#include "os/path.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace lapwing {
namespace {

constexpr std::size_t kNumberDigits = 20;

}  // namespace

std::string numbered_path(const std::string& directory, std::uint64_t number, const char* suffix) {
  return absl::StrFormat("%s/%020u.%s", directory, number, suffix);
}

bool parse_numbered_name(const std::string& name, const char* suffix, std::uint64_t& number) {
  if (name.size() <= kNumberDigits || name.substr(kNumberDigits) != absl::StrCat(".", suffix)) {
    return false;
  }
  const std::string digits = name.substr(0, kNumberDigits);
  if (digits.find_first_not_of("0123456789") != std::string::npos) return false;
  return absl::SimpleAtoi(digits, &number);
}

}  // namespace lapwing
