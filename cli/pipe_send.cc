#include "cli/pipe.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "cli/stop_signal.h"
#include "lapwing/error.h"
#include "os/system_error.h"

namespace lapwing::cli {
namespace {

absl::Status read_error(int sys_errno) {
  return make_system_error(sys_errno, "reading standard input");
}

}  // namespace

absl::Status PipeSender::run(ChannelProducer& producer, ChannelWait& wait) {
  producer_ = &producer;
  wait_ = &wait;
  sent_ = 0;
  if (options_.by_line() && !lines_) lines_.emplace(producer.message_bytes_max());
  const absl::Status status = send_all();
  tally_.add(producer.counters());
  const std::uint64_t taken = producer.counters().messages_released;
  if (is_end_of_peer(status) && sent_ > taken) tally_.lost += sent_ - taken;
  return status;
}

absl::Status PipeSender::send_all() {
  if (lines_) {  // input left by an earlier peer
    if (absl::Status status = send_read_lines(); !status.ok()) return status;
  }
  while (!stop_requested()) {
    if (is_done()) return drain();
    if (!wait_->status().ok()) return wait_->status();
    if (absl::Status status = await_input(); !status.ok()) return status;
  }
  return absl::OkStatus();
}

// Waits for input or for the peer to end. Sends the input if there is any.
absl::Status PipeSender::await_input() {
  const ChannelWait::Ready ready = wait_->wait(producer_->fd(), STDIN_FILENO, POLLIN);
  if (ready.channel) {
    (void)producer_->arm(0);  // receives the pending packets
    const auto room = producer_->try_claim(0);
    if (!room.ok() && room.error() != Errc::kWouldBlock) return peer_ended();
  }
  if (!ready.stream) return absl::OkStatus();
  return lines_ ? send_lines() : send_raw();
}

// Sends the result of one read, made directly into the channel's memory, as one message.
absl::Status PipeSender::send_raw() {
  const auto room = await_room(producer_->message_bytes_max());
  if (room.error() == Errc::kWouldBlock) return absl::OkStatus();  // a stop
  if (!room.ok()) return peer_ended();
  const ssize_t got = read(STDIN_FILENO, room->data(), room->size());
  if (got < 0 && errno != EINTR && errno != EAGAIN) return read_error(errno);
  at_end_ = got == 0;
  if (got <= 0) return absl::OkStatus();
  const auto bytes = static_cast<std::size_t>(got);
  if (!producer_->commit(bytes, options_.type).ok()) return peer_ended();
  ++sent_;
  ++tally_.messages;
  tally_.bytes += bytes;
  return absl::OkStatus();
}

absl::Status PipeSender::send_lines() {
  const ssize_t got = lines_->read_more(STDIN_FILENO);
  if (got < 0 && errno != EINTR && errno != EAGAIN) return read_error(errno);
  at_end_ = got == 0;
  return got < 0 ? absl::OkStatus() : send_read_lines();
}

// Sends all complete lines read so far. They are committed together, or whenever the channel is
// full.
absl::Status PipeSender::send_read_lines() {
  while (const auto line = lines_->line()) {
    if (line->size() > producer_->message_bytes_max()) {
      (void)producer_->commit_staged();
      return too_long(absl::StrCat(line->size(), " bytes"));
    }
    const auto room = await_room(line->size());
    if (room.error() == Errc::kWouldBlock) break;  // a stop
    if (!room.ok()) return peer_ended();
    if (!line->empty()) std::memcpy(room->data(), line->data(), line->size());
    if (!producer_->stage(line->size(), options_.type).ok()) return peer_ended();
    ++sent_;
    ++tally_.messages;
    tally_.bytes += line->size();
    lines_->take();
  }
  if (!producer_->commit_staged().ok()) return peer_ended();
  if (!stop_requested() && lines_->unread() > producer_->message_bytes_max()) {
    return too_long(absl::StrCat("more than ", producer_->message_bytes_max(), " bytes"));
  }
  return absl::OkStatus();
}

// Returns room for a message; kWouldBlock if a stop is requested first.
Result<std::span<std::byte>> PipeSender::await_room(std::size_t size) {
  for (;;) {
    const auto room = look_or_wait(
        options_.channel.wait, [&] { return producer_->try_claim(size); },
        [&](Deadline deadline) {
          const auto claimed = producer_->claim(size, deadline);
          wait_->look();
          return claimed;
        },
        [&] {
          if (producer_->arm(size)) wait_->wait(producer_->fd(), -1, 0);
        });
    const bool goes_on = !stop_requested() && wait_->status().ok();
    if (room.error() != Errc::kWouldBlock || !goes_on) return room;
  }
}

// Waits until the other side has taken everything.
absl::Status PipeSender::drain() {
  while (!stop_requested()) {
    const Result<> drained = producer_->drain(std::chrono::nanoseconds(kBusyTurnNs));
    if (drained.ok()) break;
    if (drained.error() != Errc::kTimedOut) {
      if (producer_->counters().messages_released == sent_) break;
      return peer_ended();
    }
    wait_->look();
  }
  return absl::OkStatus();
}

absl::Status PipeSender::peer_ended() {
  const absl::Status& why = producer_->status();
  return make_error(
      errc_of(why) == Errc::kCorrupt ? Errc::kCorrupt : Errc::kPeerGone,
      absl::StrCat(std::string(why.message()), "; of ", sent_, " messages sent, it received ",
                   producer_->counters().messages_released,
                   is_done() ? "" : ", and standard input has not ended"));
}

absl::Status PipeSender::too_long(const std::string& bytes) const {
  return make_error(Errc::kLimit,
                    absl::StrCat("line ", lines_->number(), " of standard input has ", bytes,
                                 ", but a message has at most ", producer_->message_bytes_max(),
                                 "; the lines before it were sent; give a larger --max-message"));
}

}  // namespace lapwing::cli
