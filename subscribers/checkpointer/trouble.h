// An operation that may fail for a while and is retried. Logs when it begins to fail, when the
// error changes, and when it succeeds again.
//
// Thread safety: one thread.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "lapwing/error.h"
#include "lapwing/log.h"
#include "os/kernel.h"

namespace lapwing {

inline constexpr std::uint64_t kRetryNs = 1'000'000'000;

class Trouble {
 public:
  // `fine` is the message when it works again: "the store can be written to again".
  Trouble(std::string fine, LogHook log) : fine_(std::move(fine)), log_(std::move(log)) {}

  void note(const absl::Status& status) {
    const Errc code = errc_of(status);
    if (status.ok()) {
      if (lasts()) log_(log_entry(LogEvent::kCheckpointerRecovered, fine_));
    } else if (code != code_) {
      log_(log_entry(LogEvent::kCheckpointerTrouble,
                     absl::StrCat(std::string(status.message()), "; trying again"),
                     {{"errc", name_of(code)}}));
    }
    code_ = code;
    retry_ns_ = monotonic_ns() + kRetryNs;
  }
  bool lasts() const { return code_ != Errc::kOk; }
  // True if the operation still fails and it is too early to retry it.
  bool rests(std::uint64_t now_ns) const { return lasts() && now_ns < retry_ns_; }
  std::uint64_t retry_ns() const { return retry_ns_; }

 private:
  const std::string fine_;
  const LogHook log_;
  Errc code_ = Errc::kOk;
  std::uint64_t retry_ns_ = 0;
};

}  // namespace lapwing
