#include "relay/in/link.h"

#include <algorithm>
#include <string>

#include "lapwing/error.h"

namespace lapwing {
namespace {

bool is_final(const absl::Status& status) {
  switch (errc_of(status)) {
    case Errc::kInvalidArgument:
    case Errc::kNotFound:
    case Errc::kNotPermitted:
    case Errc::kLimit:
      return true;
    default:
      return false;
  }
}

}  // namespace

// Half to all of the pause, which doubles with each failure.
std::uint64_t RelayLink::pause_ns() {
  const std::uint32_t doublings = std::min<std::uint32_t>(failures_, 10);
  const std::uint64_t pause = std::min(kPauseNsMin << doublings, kPauseNsMax);
  random_ = random_ * 6'364'136'223'846'793'005 + 1'442'695'040'888'963'407;
  return pause / 2 + (random_ >> 33) % (pause / 2 + 1);
}

bool RelayLink::try_connect(std::uint64_t now_ns) {
  if (transport_ != nullptr || now_ns < due_ns_) return false;
  absl::StatusOr<std::unique_ptr<RelayTransport>> made = connect_();
  if (!made.ok()) {
    reason_ = std::string(made.status().message());
    refusal_ = is_final(made.status()) ? made.status() : absl::OkStatus();
    due_ns_ = now_ns + pause_ns();
    ++failures_;
    return false;
  }
  transport_ = *std::move(made);
  reason_.clear();
  refusal_ = absl::OkStatus();
  return true;
}

void RelayLink::lose(const absl::Status& why, std::uint64_t now_ns) {
  if (transport_ == nullptr) return;
  dropped_ += transport_->dropped();
  transport_.reset();
  reason_ = std::string(why.message());
  ++cuts_total_;
  cuts_.push_back(now_ns);
  while (cuts_.front() + kCutsWindowNs < now_ns) cuts_.pop_front();
  // A connection that did not last is like a failure.
  failures_ = static_cast<std::uint32_t>(std::min<std::size_t>(cuts_.size() - 1, 10));
  due_ns_ = now_ns + pause_ns();
}

void RelayLink::close(std::uint64_t now_ns) {
  if (transport_ == nullptr) return;
  dropped_ += transport_->dropped();
  transport_.reset();
  reason_ = "not connected";
  due_ns_ = now_ns;
}

std::size_t RelayLink::cuts(std::uint64_t now_ns) const {
  return static_cast<std::size_t>(
      std::count_if(cuts_.begin(), cuts_.end(),
                    [&](std::uint64_t at_ns) { return at_ns + kCutsWindowNs >= now_ns; }));
}

std::uint64_t RelayLink::dropped() const {
  return dropped_ + (transport_ == nullptr ? 0 : transport_->dropped());
}

std::optional<std::uint64_t> RelayLink::next_due_ns() const {
  return transport_ == nullptr ? std::optional(due_ns_) : std::nullopt;
}

}  // namespace lapwing
