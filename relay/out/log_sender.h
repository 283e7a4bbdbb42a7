// Decides when a message may be appended to the stream, and when the end of the stream must be read.
//
//   unknown    it is not known what the stream ends with. Appends whose acks are still due are
//              awaited, and then the tail is read: wants_tail(), take_tail()
//   following  each append() names the message before it. Up to kAppendsMax appends and
//              kAppendBytesMax bytes are without an ack
//
// An ack confirms all appends before it, because each of them was stored only after the one before
// it. An append that was refused or that timed out makes the end unknown. After such trouble one
// message is appended at a time until the stream stores one, and the tail is read again after a
// pause that doubles up to kRetryNsMax.
//
// Thread safety: one thread. Has no clock; times are ns of any monotonic clock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>

#include "proto/relay_frames.h"
#include "relay/transport.h"

namespace lapwing {

inline constexpr std::size_t kAppendsMax = 1024;
inline constexpr std::size_t kAppendBytesMax = std::size_t{32} << 20;
// A full window without an ack for this long counts as trouble: records go out another way.
inline constexpr std::uint64_t kStallNs = 250'000'000;
inline constexpr std::uint64_t kRetryNsMin = 50'000'000;
inline constexpr std::uint64_t kRetryNsMax = 2'000'000'000;

// Whose message is at the end of the stream.
enum class TailOwner : std::uint32_t {
  kOurs = 1,     // or of an earlier run, if nothing was appended yet
  kOlder = 2,    // the stream has fewer messages than it had: it was restored or made anew
  kAnother = 3,  // another sender's
};

class LogSender {
 public:
  // The connection is lost, and with it all acks.
  void disconnect();
  // The stream must be read again, for another reason.
  void doubt() { is_following_ = false; }
  // From now on this sender is the one that appends, whoever did before.
  void take_over();

  bool is_following() const { return is_following_; }
  bool wants_tail(std::uint64_t now_ns) const {
    return !is_following_ && acks_due_ == 0 && now_ns >= retry_at_ns_;
  }
  // When wants_tail() may become true without an ack.
  std::uint64_t retry_at_ns() const { return retry_at_ns_; }
  // The tail could not be read.
  void fail_tail(std::uint64_t now_ns) { pause(now_ns); }
  // `last`: sequence of the newest message, 0 if there is none; `sum`: RelayHeader::sum of it, 0 if
  // it is discarded. Continues behind it, except with kAnother.
  TailOwner take_tail(std::uint64_t last, std::uint64_t sum);

  // Whether a message of up to that size may be appended now.
  bool has_room(std::size_t bytes) const {
    if (!is_following_) return false;
    if (is_probing_) return window_.empty();
    return window_.size() < kAppendsMax && window_bytes_ + bytes <= kAppendBytesMax;
  }
  std::uint64_t expected_last() const { return expected_last_; }
  // The message was handed to RelayTransport::append() with expected_last().
  void add(std::size_t bytes, std::uint64_t sum, std::uint64_t now_ns);
  void take_ack(const RelayAck& ack, std::uint64_t now_ns);

  std::size_t in_flight() const { return window_.size(); }
  bool is_stalled(std::uint64_t now_ns) const;
  // Why the stream is not followed; empty if nothing has gone wrong.
  const std::string& trouble() const { return trouble_; }
  // The stream does not exist.
  bool lacks_stream() const { return lacks_stream_; }
  void stream_was_opened() { lacks_stream_ = false; }

 private:
  struct Append {
    std::uint64_t expected_last = 0;
    std::size_t bytes = 0;
    std::uint64_t at_ns = 0;
  };
  void pause(std::uint64_t now_ns);
  void confirm(std::uint64_t expected_last);
  void remember(std::uint64_t sum);

  bool is_following_ = false;
  bool is_probing_ = false;
  bool has_appended_ = false;
  bool lacks_stream_ = false;
  std::uint64_t expected_last_ = 0;
  std::uint64_t stored_last_ = 0;  // by the acks, or by the tail
  std::deque<Append> window_;
  std::size_t window_bytes_ = 0;
  std::size_t acks_due_ = 0;  // also of appends that a later ack has confirmed
  std::uint64_t acked_at_ns_ = 0;
  std::uint64_t retry_ns_ = 0;
  std::uint64_t retry_at_ns_ = 0;
  std::deque<std::uint64_t> sums_;  // of the messages that may be the tail
  std::string trouble_;
};

}  // namespace lapwing
