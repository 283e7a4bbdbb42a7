#include "cli/pipe.h"

#include <span>

#include "absl/strings/str_cat.h"
#include "cli/stop_signal.h"
#include "lapwing/error.h"

namespace lapwing::cli {

absl::Status PipeReceiver::run(ChannelConsumer& consumer, ChannelWait& wait) {
  consumer_ = &consumer;
  wait_ = &wait;
  received_ = 0;
  const absl::Status status = receive_all();
  tally_.add(consumer.counters());
  return status;
}

absl::Status PipeReceiver::receive_all() {
  while (!stop_requested()) {
    if (!wait_->status().ok()) return wait_->status();
    const Result<std::size_t> batch = next_batch();
    if (output_closed_) return writer_.closed();
    if (batch.error() == Errc::kWouldBlock) continue;
    if (!batch.ok()) return ended(batch.error());
    if (absl::Status status = write(*batch); !status.ok()) return status;
  }
  return absl::OkStatus();
}

// kWouldBlock: nothing arrived, call again.
Result<std::size_t> PipeReceiver::next_batch() {
  return look_or_wait(
      options_.channel.wait, [&] { return consumer_->try_peek_batch(batch_); },
      [&](Deadline deadline) {
        const Result<std::size_t> batch = consumer_->peek_batch(batch_, deadline);
        wait_->look();
        return batch;
      },
      [&] {
        // Requests no events for standard output, so poll reports only that its reader has ended.
        if (consumer_->arm()) {
          output_closed_ = wait_->wait(consumer_->fd(), STDOUT_FILENO, 0).stream;
        }
      });
}

absl::Status PipeReceiver::write(std::size_t count) {
  const std::span<const Message> messages(batch_.data(), count);
  const MessageWriter::Written written = writer_.write(messages);
  for (const Message& message : messages.first(written.messages)) {
    tally_.bytes += message.payload.size();
  }
  tally_.messages += written.messages;
  received_ += written.messages;
  if (written.messages == 0) return written.status;
  const Result<> released = consumer_->release(messages, written.messages);
  return released.ok() || !written.status.ok() ? written.status : ended(released.error());
}

absl::Status PipeReceiver::ended(Errc result) {
  if (result == Errc::kClosed) return absl::OkStatus();
  const absl::Status& why = consumer_->status();
  return make_error(errc_of(why), absl::StrCat(std::string(why.message()), "; all ", received_,
                                               " messages that it had sent are written"));
}

}  // namespace lapwing::cli
