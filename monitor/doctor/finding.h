// A finding of `lapwing doctor` about one property of a machine.
//
// Thread safety: values.
#pragma once

#include <string>
#include <utility>

#include "lapwing/detail/enum_names.h"

namespace lapwing {

enum class Verdict {
  kGood = 0,
  kAdvice = 1,   // works; a different setting makes it faster or steadier
  kProblem = 2,  // something will fail, or be slow enough to matter
  kUnknown = 3,  // the machine does not report it
};

struct Finding {
  std::string name;   // "governor": stable, because scripts use it
  std::string value;  // as the machine reports it: "powersave"
  Verdict verdict = Verdict::kGood;
  std::string why = {};     // its effect on a bus; empty if it is good
  std::string remedy = {};  // a command, or a setting and its file; empty if it is good
};

// Stable identifiers.
constexpr const char* name_of(Verdict verdict) {
  constexpr detail::EnumName<Verdict> kNames[] = {
      {Verdict::kGood, "good"}, {Verdict::kAdvice, "advice"}, {Verdict::kProblem, "problem"}};
  return detail::name_in(kNames, verdict);
}

inline Finding good_finding(std::string name, std::string value) {
  return {std::move(name), std::move(value)};
}
inline Finding unknown_finding(std::string name, std::string why) {
  return {std::move(name), "?", Verdict::kUnknown, std::move(why)};
}

}  // namespace lapwing
