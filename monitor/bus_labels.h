// Unique names for buses, for operators, metrics and --expect.
//
// A bus of this user or root is labelled with its own name, a bus of another user with USER/NAME. A
// bus that could not be read yet is labelled with its directory. Equal labels get #2, #3 and so on.
// A bus keeps its label while the monitor runs, because its counters would seem to jump if it got
// another bus's label. Other users can rename their buses without limit. When there are too many
// labels, only those of other users' buses are forgotten.
//
// Thread safety: one thread.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <tuple>

namespace lapwing {

// Takes and returns `wanted`, or if it is taken, the first free name with #2, #3 and so on.
std::string free_name(const std::string& wanted, std::set<std::string>& taken);

class BusLabels {
 public:
  // `user` is empty for a trusted user; `name` is empty if the bus could not be read yet.
  std::string label(const std::string& directory, const std::string& user, const std::string& name);

 private:
  // If a map exceeds this size, all its labels are forgotten.
  static constexpr std::size_t kTrustedMax = 65'536;
  static constexpr std::size_t kOthersMax = 4096;

  using Labels = std::map<std::tuple<std::string, std::string, std::string>, std::string>;

  void forget(Labels& labels);

  Labels trusted_;
  Labels others_;
  std::set<std::string> taken_;  // by both maps
};

}  // namespace lapwing
