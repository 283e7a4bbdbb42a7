// Whether another out sends this bus, and when this one takes over from it.
//
// A new out listens first, for kListenNs. If it hears a beat of another one, it is the standby. So is
// an out that finds that another one has moved the tail of the stream. A standby takes over when
// neither the tail nor the `sent` of beats has moved for kTakeOverNs while its own head did, or
// when it has heard no beat for kSilenceNs.
//
// Thread safety: one thread. Has no clock; times are ns of any monotonic clock.
#pragma once

#include <cstdint>

#include "lapwing/sequence.h"

namespace lapwing {

class Standby {
 public:
  static constexpr std::uint64_t kListenNs = 600'000'000;
  static constexpr std::uint64_t kTakeOverNs = 1'000'000'000;
  static constexpr std::uint64_t kSilenceNs = 3'000'000'000;

  enum class Role : std::uint32_t { kListening, kActive, kStandby };

  Role role() const { return role_; }

  // The tail is another sender's.
  void step_back(std::uint64_t now_ns) {
    role_ = Role::kStandby;
    heard_ns_ = now_ns;
    has_moved_ = true;
  }
  // A beat of another out. An active one ignores it: the stream decides between two.
  void hear(Sequence sent, std::uint64_t now_ns) {
    if (role_ == Role::kListening) step_back(now_ns);
    heard_ns_ = now_ns;
    if (sent != sent_) has_moved_ = true;
    sent_ = sent;
  }
  // `tail`: last sequence of the stream; `head`: of the origin.
  Role step(std::uint64_t tail, Sequence head, std::uint64_t now_ns) {
    if (began_ns_ == 0) began_ns_ = now_ns;
    if (role_ == Role::kListening && now_ns - began_ns_ >= kListenNs) role_ = Role::kActive;
    if (role_ != Role::kStandby) return role_;
    if (tail != tail_) has_moved_ = true;
    tail_ = tail;
    if (has_moved_) {
      has_moved_ = false;
      moved_ns_ = now_ns;
      head_ = head;
    }
    const bool rests = now_ns - moved_ns_ >= kTakeOverNs && head != head_;
    if (rests || now_ns - heard_ns_ >= kSilenceNs) role_ = Role::kActive;
    return role_;
  }

 private:
  Role role_ = Role::kListening;
  std::uint64_t began_ns_ = 0;
  std::uint64_t heard_ns_ = 0;
  std::uint64_t moved_ns_ = 0;  // when tail or `sent` was seen to have moved last
  bool has_moved_ = false;      // since the last step
  std::uint64_t tail_ = 0;
  Sequence sent_ = kNoSequence;
  Sequence head_ = kNoSequence;  // as of moved_ns_
};

}  // namespace lapwing
