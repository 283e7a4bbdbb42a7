// Lapwing's bus, without a journal as its peers have none, used as README.md says: batches where
// there are batches, busy readers.
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "bench/peers/cpp/scenarios.h"
#include "lapwing/publisher.h"
#include "lapwing/subscriber.h"

namespace lapwing::peers {
namespace {

constexpr std::uint64_t kSendRecordsMax = 32;
constexpr std::uint64_t kReadRecordsMax = 256;
constexpr std::uint64_t kJoinTurnNs = 10'000'000;
constexpr std::uint64_t kWaitNs = 100'000'000;
constexpr std::uint64_t kWaitsBetweenClocks = 1024;

std::unique_ptr<Publisher> open_publisher(const Options& options, const std::string& name) {
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

void await_join(Subscriber& subscriber) {
  Item item;
  while (item.kind != ItemKind::kCaughtUp) {
    item = subscriber.wait(now_ns() + kJoinTurnNs);
    if (item.kind == ItemKind::kEnded) fail(subscriber.status().ToString());
  }
}

class LapwingBus {
 public:
  explicit LapwingBus(const Options& options)
      : words_(options.words()),
        in_batches_(!options.both_ways()),
        unsent_(kSendRecordsMax * words_),
        batch_(kReadRecordsMax * words_) {
    if (options.sends_first() || options.both_ways()) {
      out_ = open_publisher(options, options.sends_first() ? "ping" : "pong");
    }
    if (!options.sends_first() || options.both_ways()) {
      SubscriberOptions subscriber_options;
      subscriber_options.directory = options.path(options.sends_first() ? "pong" : "ping");
      subscriber_options.on_gap = OnGap::kSkip;
      subscriber_options.wait = WaitStrategy::kBusy;
      in_.emplace(std::move(subscriber_options));
      await_join(*in_);
    }
  }

  std::uint64_t send_records_max() const { return kSendRecordsMax; }
  std::int64_t reported_lost() const { return static_cast<std::int64_t>(in_->counters().lost); }

  std::uint64_t send(std::uint64_t first, std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) fill(&unsent_[i * words_], words_, first + i);
    if (count == 0) return 0;
    const auto records = std::as_bytes(std::span(unsent_.data(), count * words_));
    const Sequence sequence = count == 1 ? out_->publish(records) : out_->publish_batch(records);
    if (sequence == kNoSequence) fail(out_->status().ToString());
    return count;
  }

  template <typename F>
  std::uint64_t receive(F&& on_record) {
    if (in_batches_) {
      const std::uint64_t count = in_->poll_batch(std::as_writable_bytes(std::span(batch_)));
      for (std::uint64_t i = 0; i < count; ++i) on_record(&batch_[i * words_]);
      if (count != 0) return count;
    }
    const Item item = in_batches_ ? in_->poll() : in_->wait(deadline());
    if (item.kind == ItemKind::kEnded) fail(in_->status().ToString());
    if (item.kind != ItemKind::kRecord) return 0;
    // The subscriber's own copy, aligned for any record.
    on_record(reinterpret_cast<const std::uint64_t*>(in_->record().data()));
    return 1;
  }

 private:
  // Of a wait; one for many, as a program would that has something else to do now and then.
  std::uint64_t deadline() {
    if (waits_++ % kWaitsBetweenClocks == 0) deadline_ns_ = now_ns() + kWaitNs;
    return deadline_ns_;
  }

  std::unique_ptr<Publisher> out_;
  std::optional<Subscriber> in_;
  std::size_t words_;
  bool in_batches_;
  std::vector<std::uint64_t> unsent_;
  std::vector<std::uint64_t> batch_;
  std::uint64_t waits_ = 0;
  std::uint64_t deadline_ns_ = 0;
};

}  // namespace
}  // namespace lapwing::peers

int main(int count, char** arguments) {
  return lapwing::peers::run_peer<lapwing::peers::LapwingBus>(count, arguments);
}
