// Lapwing's channel: claimed and read in place, and in batches if there are several messages.
#include <chrono>
#include <optional>
#include <vector>

#include "bench/peers/cpp/scenarios.h"
#include "lapwing/consumer.h"
#include "lapwing/listener.h"
#include "lapwing/producer.h"

namespace lapwing::peers {
namespace {

constexpr std::chrono::seconds kOpen{60};
constexpr std::uint64_t kSendMessagesMax = 32;
constexpr std::uint64_t kReadMessagesMax = 256;
constexpr std::uint32_t kMessageType = 1;
constexpr std::chrono::milliseconds kWait{100};
constexpr std::uint64_t kWaitsBetweenClocks = 1024;

template <typename T>
T value_or_fail(absl::StatusOr<T> result) {
  if (!result.ok()) fail(result.status().ToString());
  return *std::move(result);
}

class LapwingChannel {
 public:
  explicit LapwingChannel(const Options& options)
      : words_(options.words()), in_batches_(!options.both_ways()), messages_(kReadMessagesMax) {
    if (options.sends_first()) {
      out_ = connect<ChannelProducer>(options, "ping");
      if (options.both_ways()) in_ = connect<ChannelConsumer>(options, "pong");
    } else {
      in_ = accept<ChannelConsumer>(options, "ping");
      if (options.both_ways()) out_ = accept<ChannelProducer>(options, "pong");
    }
  }

  std::uint64_t send_records_max() const { return kSendMessagesMax; }
  std::int64_t reported_lost() const { return -1; }

  std::uint64_t send(std::uint64_t first, std::uint64_t count) {
    std::uint64_t staged = 0;
    for (; staged < count; ++staged) {
      const auto claim = out_->try_claim(bytes());
      if (claim.error() == Errc::kWouldBlock) break;
      ok_or_fail(claim, *out_);
      fill(reinterpret_cast<std::uint64_t*>(claim->data()), words_, first + staged);
      ok_or_fail(
          count == 1 ? out_->commit(bytes(), kMessageType) : out_->stage(bytes(), kMessageType),
          *out_);
    }
    if (staged != 0 && count != 1) ok_or_fail(out_->commit_staged(), *out_);
    return staged;
  }

  template <typename F>
  std::uint64_t receive(F&& on_record) {
    if (in_batches_) return receive_batch(on_record);
    const Result<Message> peek = in_->peek(deadline());
    if (peek.error() == Errc::kTimedOut) return 0;
    ok_or_fail(peek, *in_);
    on_record(words_of(*peek));
    ok_or_fail(in_->release(), *in_);
    return 1;
  }

 private:
  template <typename F>
  std::uint64_t receive_batch(F&& on_record) {
    const Result<std::size_t> batch = in_->try_peek_batch(messages_);
    // When a producer has ended, its messages remain. The subscriber ends after reading them.
    if (batch.error() == Errc::kWouldBlock || batch.error() == Errc::kClosed) return 0;
    ok_or_fail(batch, *in_);
    for (std::size_t i = 0; i < *batch; ++i) on_record(words_of(messages_[i]));
    ok_or_fail(in_->release(), *in_);
    return *batch;
  }

  // The deadline of a wait. It is shared by many waits, as in a program that has other work from
  // time to time.
  Deadline deadline() {
    if (waits_++ % kWaitsBetweenClocks == 0) deadline_ = kWait;
    return deadline_;
  }
  static const std::uint64_t* words_of(const Message& message) {
    return reinterpret_cast<const std::uint64_t*>(message.payload.data());
  }
  template <typename Value, typename End>
  static void ok_or_fail(const Result<Value>& result, const End& end) {
    if (result.ok()) return;
    fail(std::string(name_of(result.error())) + ": " + end.status().ToString());
  }
  std::uint32_t bytes() const { return static_cast<std::uint32_t>(words_ * 8); }

  static ChannelOptions channel_options() {
    ChannelOptions options;
    options.wait = WaitStrategy::kBusy;
    return options;
  }
  template <typename End>
  static End connect(const Options& options, const std::string& name) {
    await_file(options, name + ".sock");
    return value_or_fail(End::connect(options.path(name + ".sock"), channel_options(), kOpen));
  }
  template <typename End>
  static End accept(const Options& options, const std::string& name) {
    auto listener = value_or_fail(ChannelListener::listen(options.path(name + ".sock")));
    return value_or_fail(End::accept(listener, channel_options(), kOpen));
  }

  std::size_t words_;
  bool in_batches_;
  std::vector<Message> messages_;
  std::uint64_t waits_ = 0;
  Deadline deadline_ = Deadline::now();
  std::optional<ChannelProducer> out_;
  std::optional<ChannelConsumer> in_;
};

}  // namespace
}  // namespace lapwing::peers

int main(int count, char** arguments) {
  return lapwing::peers::run_peer<lapwing::peers::LapwingChannel>(count, arguments);
}
