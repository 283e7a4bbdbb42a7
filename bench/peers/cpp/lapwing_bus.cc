// Lapwing's bus without a journal, because its peers have none. It is used as README.md recommends:
// with batches where possible, and with busy readers.
#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include "bench/peers/cpp/scenarios.h"
#include "lapwing/publisher.h"
#include "lapwing/subscriber.h"

namespace lapwing::peers {
namespace {

constexpr std::uint64_t kSendRecordsMax = 32;
constexpr std::uint64_t kReadRecordsMax = 256;
constexpr std::chrono::milliseconds kPatience{100};
constexpr std::uint64_t kWaitsBetweenClocks = 1024;

Publisher open_publisher(const Options& options, const std::string& name) {
  PublisherOptions publisher_options;
  publisher_options.directory = options.path(name);
  publisher_options.ring_directory = options.shared;
  publisher_options.record_bytes = static_cast<std::uint32_t>(options.bytes);
  publisher_options.capacity = options.capacity;
  publisher_options.journal = false;
  auto publisher = Publisher::open(std::move(publisher_options));
  if (!publisher.ok()) fail(publisher.status().ToString());
  return *std::move(publisher);
}

Subscriber join(SubscriberOptions options) {
  auto subscriber = Subscriber::open(std::move(options));
  if (!subscriber.ok()) fail(subscriber.status().ToString());
  for (;;) {
    const auto item = subscriber->next();
    if (item->is(EventKind::kCaughtUp)) return *std::move(subscriber);
    if (!item.ok()) fail(subscriber->status().ToString());
  }
}

class LapwingBus {
 public:
  explicit LapwingBus(const Options& options)
      : words_(options.words()),
        in_batches_(!options.both_ways()),
        unsent_(kSendRecordsMax * words_),
        rows_(kReadRecordsMax * words_) {
    if (options.sends_first() || options.both_ways()) {
      out_ = open_publisher(options, options.sends_first() ? "ping" : "pong");
    }
    if (!options.sends_first() || options.both_ways()) {
      SubscriberOptions subscriber_options;
      subscriber_options.directory = options.path(options.sends_first() ? "pong" : "ping");
      subscriber_options.on_gap = OnGap::kSkip;
      subscriber_options.wait = WaitStrategy::kBusy;
      in_ = join(std::move(subscriber_options));
    }
  }

  std::uint64_t send_records_max() const { return kSendRecordsMax; }
  std::int64_t reported_lost() const { return static_cast<std::int64_t>(in_->counters().lost); }

  std::uint64_t send(std::uint64_t first, std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) fill(&unsent_[i * words_], words_, first + i);
    if (count == 0) return 0;
    const auto records = std::as_bytes(std::span(unsent_.data(), count * words_));
    const Result<Sequence> sequence =
        count == 1 ? out_->publish(records) : out_->publish_batch(records);
    if (!sequence.ok()) fail(out_->last_error().ToString());
    return count;
  }

  template <typename F>
  std::uint64_t receive(F&& on_record) {
    return in_batches_ ? receive_batch(on_record) : receive_one(on_record);
  }

 private:
  template <typename F>
  std::uint64_t receive_batch(F& on_record) {
    const Result<Batch> batch =
        in_->read(std::as_writable_bytes(std::span(rows_)), Deadline::now());
    if (batch == Errc::kWouldBlock) return 0;
    if (!batch.ok()) fail(in_->status().ToString());
    for (std::uint64_t i = 0; i < batch->count; ++i) on_record(&rows_[i * words_]);
    return batch->count;
  }

  template <typename F>
  std::uint64_t receive_one(F& on_record) {
    const Result<Sequence> taken =
        in_->read_one(std::as_writable_bytes(std::span(rows_.data(), words_)), deadline());
    if (taken.ok()) {
      on_record(rows_.data());
      return 1;
    }
    if (taken == Errc::kTimedOut) return 0;
    const bool is_event = taken == Errc::kEventDue && in_->next(Deadline::now()).ok();
    if (!is_event) fail(in_->status().ToString());
    return 0;
  }

  // The deadline of a wait. It is shared by many waits, as in a program that has other work from
  // time to time.
  Deadline deadline() {
    if (waits_++ % kWaitsBetweenClocks == 0) deadline_ = kPatience;
    return deadline_;
  }

  std::optional<Publisher> out_;
  std::optional<Subscriber> in_;
  std::size_t words_;
  bool in_batches_;
  std::vector<std::uint64_t> unsent_;
  std::vector<std::uint64_t> rows_;
  std::uint64_t waits_ = 0;
  Deadline deadline_ = Deadline::now();
};

}  // namespace
}  // namespace lapwing::peers

int main(int count, char** arguments) {
  return lapwing::peers::run_peer<lapwing::peers::LapwingBus>(count, arguments);
}
