#include "snapshot/journal/journal_geometry.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace lapwing {
namespace {

constexpr std::size_t kNumberDigits = 20;

}  // namespace

std::string segment_path(const std::string& journal_directory, std::uint64_t segment,
                         const char* suffix) {
  return absl::StrFormat("%s/%020u.%s", journal_directory, segment, suffix);
}

bool parse_segment_name(const std::string& name, const char* suffix, std::uint64_t& segment) {
  if (name.size() <= kNumberDigits || name.substr(kNumberDigits) != absl::StrCat(".", suffix)) {
    return false;
  }
  const std::string digits = name.substr(0, kNumberDigits);
  if (digits.find_first_not_of("0123456789") != std::string::npos) return false;
  return absl::SimpleAtoi(digits, &segment);
}

}  // namespace lapwing
