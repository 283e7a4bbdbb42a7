#include "monitor/bus_labels.h"

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "os/printable.h"

namespace lapwing {

std::string free_name(const std::string& wanted, std::set<std::string>& taken) {
  std::string name = wanted;
  for (std::uint64_t i = 2; !taken.insert(name).second; ++i) name = absl::StrCat(wanted, "#", i);
  return name;
}

std::string BusLabels::label(const std::string& directory, const std::string& user,
                             const std::string& name) {
  const std::string& text = name.empty() ? directory : name;
  const std::string wanted = printable(user.empty() ? text : absl::StrCat(user, "/", text));
  Labels& labels = user.empty() ? trusted_ : others_;
  if (labels.size() >= (user.empty() ? kTrustedMax : kOthersMax)) forget(labels);
  const auto [known, is_new] = labels.try_emplace({directory, user, name});
  if (is_new) known->second = free_name(wanted, taken_);
  return known->second;
}

void BusLabels::forget(Labels& labels) {
  for (const auto& [bus, label] : labels) taken_.erase(label);
  labels.clear();
}

}  // namespace lapwing
