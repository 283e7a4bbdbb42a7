#include "bench/bench_bus.h"

#include <utility>

#include "bench/slow_disk.h"
#include "os/kernel.h"

namespace lapwing::bench {
namespace {

constexpr std::uint64_t kAttachTurnNs = 10'000'000;

}  // namespace

std::unique_ptr<Publisher> open_publisher(const Setting& setting, Placement placement,
                                          const std::string& directory, Journal journal,
                                          std::uint64_t sync_interval_ns,
                                          std::uint32_t record_bytes) {
  PublisherOptions options;
  options.directory = directory;
  options.record_bytes = record_bytes;
  options.capacity = capacity_for(setting);
  options.ring_directory = setting.ring_directory;
  options.journal = journal != Journal::kNone;
  if (journal == Journal::kSlowDisk) put_journal_on_slow_disk(options);
  options.sync_interval_ns = sync_interval_ns;
  options.retention.bytes_max = kRetainBytes;
  pin_to_core(placement.second);
  std::unique_ptr<Publisher> publisher = value_or_fail(Publisher::open(std::move(options)));
  pin_to_core(placement.first);
  return publisher;
}

SubscriberOptions subscriber_options(const std::string& directory, WaitStrategy wait) {
  SubscriberOptions options;
  options.directory = directory;
  options.start = Start::live();
  options.on_gap = OnGap::kSkip;
  options.wait = wait;
  return options;
}

void await_join(Subscriber& subscriber) {
  Item item;
  while (item.kind != ItemKind::kCaughtUp) {
    item = subscriber.wait(monotonic_ns() + kAttachTurnNs);
    if (item.kind == ItemKind::kEnded) fail(subscriber.status().ToString());
  }
}

}  // namespace lapwing::bench
