#include "os/cpu_list.h"

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "lapwing/error.h"

namespace lapwing {
namespace {

// Accepts only digits, because SimpleAtoi would accept a sign and spaces.
bool parse_cpu(absl::string_view text, unsigned& cpu) {
  const bool is_number =
      !text.empty() && text.find_first_not_of("0123456789") == absl::string_view::npos;
  return is_number && absl::SimpleAtoi(text, &cpu) && cpu < kCpusMax;
}

bool parse_range(absl::string_view text, unsigned& first, unsigned& last) {
  const std::size_t dash = text.find('-');
  if (!parse_cpu(text.substr(0, dash), first)) return false;
  if (dash == absl::string_view::npos) {
    last = first;
    return true;
  }
  return parse_cpu(text.substr(dash + 1), last) && first <= last;
}

void sort_each_once(std::vector<unsigned>& cpus) {
  std::ranges::sort(cpus);
  const auto again = std::ranges::unique(cpus);
  cpus.erase(again.begin(), again.end());
}

}  // namespace

absl::StatusOr<std::vector<unsigned>> parse_cpu_list(absl::string_view text) {
  std::vector<unsigned> cpus;
  for (const absl::string_view range : absl::StrSplit(text, ',')) {
    unsigned first = 0;
    unsigned last = 0;
    if (!parse_range(range, first, last)) {
      return make_error(Errc::kInvalidArgument,
                        absl::StrCat("\"", text, "\" is not a list of processors below ", kCpusMax,
                                     "; give one like 2, 2-3 or 0,4-7"));
    }
    for (unsigned cpu = first; cpu <= last; ++cpu) cpus.push_back(cpu);
  }
  sort_each_once(cpus);
  return cpus;
}

std::string cpu_list_text(std::vector<unsigned> cpus) {
  sort_each_once(cpus);
  std::string text;
  for (std::size_t i = 0; i < cpus.size();) {
    std::size_t end = i + 1;
    while (end < cpus.size() && cpus[end] == cpus[end - 1] + 1) ++end;
    absl::StrAppend(&text, text.empty() ? "" : ",", cpus[i]);
    if (end - i > 1) absl::StrAppend(&text, "-", cpus[end - 1]);
    i = end;
  }
  return text;
}

}  // namespace lapwing
