#include "bus/control/drop_log.h"

#include "absl/strings/str_cat.h"

namespace lapwing {

void DropLog::add(DropReason reason, const std::string& who, const std::string& why,
                  std::uint64_t now_ns) {
  ++counts_[index_of(reason)];
  catch_up(now_ns);
  if (!lines_.admit(now_ns)) {
    ++lines_omitted_;
    return;
  }
  const bool refused = is_refusal(reason);
  sink_(log_entry(refused ? LogEvent::kClientRefused : LogEvent::kClientDropped,
                  absl::StrCat("control socket: ", refused ? "refused " : "dropped ", who, " (",
                               name_of(reason), "): ", why),
                  {{"client", who}, {"reason", name_of(reason)}}));
}

void DropLog::catch_up(std::uint64_t now_ns) {
  if (lines_omitted_ == 0 || !lines_.admit(now_ns)) return;
  sink_(log_entry(
      LogEvent::kClientsOmitted,
      absl::StrCat("control socket: ", lines_omitted_, " more clients were refused or dropped"),
      {{"count", lines_omitted_}}));
  lines_omitted_ = 0;
}

std::uint64_t DropLog::deadline_ns() const {
  return lines_omitted_ == 0 ? UINT64_MAX : lines_.window_end_ns();
}

std::uint64_t DropLog::sum(bool refusals) const {
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    if (is_refusal(static_cast<DropReason>(i + 1)) == refusals) total += counts_[i];
  }
  return total;
}

}  // namespace lapwing
