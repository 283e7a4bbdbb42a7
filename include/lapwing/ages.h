// How old records are when a subscriber delivers them: SubscriberOptions::measure_every.
//
//   auto subscriber = lapwing::Subscriber::open({.directory = "./quotes", .measure_every = 64});
//   …
//   if (const std::optional<lapwing::Ages> ages = subscriber->ages()) {
//     report(ages->age_ns.count(), ages->age_ns.percentile(0.99), ages->age_ns.max());
//   }
//
// An age is the time at which a record is delivered, less its time of publishing: the field that
// its description marks kPublishTime (docs/reference/records.md). Both times are those of the clock of
// TypedPublisher, which agrees with CLOCK_REALTIME to some hundred nanoseconds. An age cannot be
// more exact than that.
//
// Threads: a value.
#pragma once

#include <cstdint>
#include <limits>

#include "lapwing/histogram.h"

namespace lapwing {

// Four buckets to each power of two from 64 ns to 17 s: 1 KiB.
using AgeHistogram = Histogram<2, 6, 34>;

template <typename Buckets>
struct BasicAges {
  Buckets age_ns;
  // Records besides, which have no age: their time of publishing is in the future (a clock was set
  // back, or the age is below what the clock can tell), or is none: 0 or the largest number.
  std::uint64_t negative = 0;
  std::uint64_t unstamped = 0;

  // A record that was published at `published_ns` is delivered at `now_ns`: ns since 1970, UTC.
  void add(std::uint64_t published_ns, std::uint64_t now_ns) {
    if (published_ns == 0 || published_ns == std::numeric_limits<std::uint64_t>::max()) {
      ++unstamped;
    } else if (published_ns > now_ns) {
      ++negative;
    } else {
      age_ns.add(now_ns - published_ns);
    }
  }
};

using Ages = BasicAges<AgeHistogram>;

}  // namespace lapwing
