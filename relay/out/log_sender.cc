#include "relay/out/log_sender.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace lapwing {
namespace {

// More than can be in flight, so that the sums of a lost connection are still known.
constexpr std::size_t kSumsMax = 2 * kAppendsMax;

}  // namespace

void LogSender::disconnect() {
  is_following_ = false;
  window_.clear();
  window_bytes_ = 0;
  acks_due_ = 0;
  retry_at_ns_ = 0;
}

void LogSender::take_over() {
  is_following_ = false;
  has_appended_ = false;
  sums_.clear();
}

void LogSender::pause(std::uint64_t now_ns) {
  retry_ns_ = std::clamp(2 * retry_ns_, kRetryNsMin, kRetryNsMax);
  retry_at_ns_ = now_ns + retry_ns_;
}

TailOwner LogSender::take_tail(std::uint64_t last, std::uint64_t sum) {
  const bool is_ours = sum != 0 && std::find(sums_.begin(), sums_.end(), sum) != sums_.end();
  const bool is_older = has_appended_ && last < stored_last_;
  // A discarded message has no sum. It is taken for ours if it may be one of ours.
  const std::uint64_t newest_of_ours = window_.empty() ? stored_last_ : expected_last_;
  const bool may_be_ours = sum == 0 && last <= newest_of_ours;
  if (has_appended_ && !is_ours && !is_older && !may_be_ours) return TailOwner::kAnother;
  window_.clear();
  window_bytes_ = 0;
  remember(sum);
  expected_last_ = stored_last_ = last;
  is_following_ = true;
  return is_older ? TailOwner::kOlder : TailOwner::kOurs;
}

void LogSender::add(std::size_t bytes, std::uint64_t sum, std::uint64_t now_ns) {
  if (window_.empty()) acked_at_ns_ = now_ns;
  window_.push_back({expected_last_, bytes, now_ns});
  window_bytes_ += bytes;
  ++acks_due_;
  ++expected_last_;
  has_appended_ = true;
  remember(sum);
}

void LogSender::remember(std::uint64_t sum) {
  sums_.push_back(sum);
  if (sums_.size() > kSumsMax) sums_.pop_front();
}

void LogSender::confirm(std::uint64_t expected_last) {
  while (!window_.empty() && window_.front().expected_last <= expected_last) {
    window_bytes_ -= window_.front().bytes;
    window_.pop_front();
  }
}

void LogSender::take_ack(const RelayAck& ack, std::uint64_t now_ns) {
  if (acks_due_ > 0) --acks_due_;
  if (ack.result == RelayAckResult::kStored) {
    confirm(ack.expected_last);
    stored_last_ = std::max(stored_last_, ack.stream_sequence);
    acked_at_ns_ = now_ns;
    is_probing_ = false;
    retry_ns_ = 0;
    if (is_following_) trouble_.clear();
    return;
  }
  if (ack.result == RelayAckResult::kNoStream) lacks_stream_ = true;
  const bool is_confirmed = window_.empty() || ack.expected_last < window_.front().expected_last;
  if (is_confirmed || !is_following_) return;
  is_following_ = false;
  is_probing_ = true;
  trouble_ = absl::StrCat(name_of(ack.result), ack.reason.empty() ? "" : ": ", ack.reason);
  // The stream answers, and only its last sequence is another one: read it at once.
  if (ack.result == RelayAckResult::kWrongLast && retry_ns_ == 0) {
    retry_ns_ = 1;
    retry_at_ns_ = now_ns;
    return;
  }
  pause(now_ns);
}

bool LogSender::is_stalled(std::uint64_t now_ns) const {
  if (!is_following_ || window_.empty() || has_room(kRelayMessageBytesMax)) return false;
  return now_ns >= acked_at_ns_ + kStallNs;
}

}  // namespace lapwing
