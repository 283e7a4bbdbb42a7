#include "bench/bench_bus.h"

#include <utility>

#include "bench/slow_disk.h"
#include "publisher/publisher_set_up.h"

namespace lapwing::bench {

ClosingPublisher open_publisher(const Setting& setting, Placement placement,
                                const std::string& directory, Journal journal,
                                std::uint64_t sync_interval_ns, std::uint32_t record_bytes) {
  PublisherSetUp options;
  options.directory = directory;
  options.record_bytes = record_bytes;
  options.capacity = capacity_for(setting);
  options.ring_directory = setting.ring_directory;
  options.journal = journal != Journal::kNone;
  if (journal == Journal::kSlowDisk) put_journal_on_slow_disk(options);
  if (options.journal) {
    options.sync_interval = std::chrono::nanoseconds(sync_interval_ns);
    options.retain_bytes = kRetainBytes;
  }
  pin_to_core(placement.second);
  ClosingPublisher publisher = value_or_fail(closing(open_with_seams(std::move(options))));
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

void fail_as_said(const Publisher& publisher) {
  fail(publisher.last_error().ToString());
}

void await_join(Subscriber& subscriber) {
  for (;;) {
    const auto item = subscriber.next();
    if (item->is(EventKind::kCaughtUp)) return;
    if (!item.ok()) fail(subscriber.status().ToString());
  }
}

}  // namespace lapwing::bench
