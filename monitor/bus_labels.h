// Unique names for buses, for people, metrics and --expect.
//
// A bus of this user or root is labelled with its own name, one of another user with USER/NAME. Equal
// labels get #2, #3 and so on. A bus keeps its label while the monitor runs: with the label of
// another bus, its counters would seem to jump.
//
// Thread safety: one thread.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <tuple>

namespace lapwing {

// `wanted`, or with #2, #3 and so on the first that is not taken; takes it.
std::string free_name(const std::string& wanted, std::set<std::string>& taken);

class BusLabels {
 public:
  // `user` is empty for a trusted one; `name` is empty if the bus could not be read yet.
  std::string label(const std::string& directory, const std::string& user, const std::string& name);

 private:
  static constexpr std::size_t kRememberedMax = 4096;  // then all are forgotten

  std::map<std::tuple<std::string, std::string, std::string>, std::string> labels_;
  std::set<std::string> taken_;
};

}  // namespace lapwing
