// The ages of records at delivery to a subscriber, measured with SubscriberOptions::measure_every.
//
//   auto subscriber = lapwing::Subscriber::open({.directory = "./quotes", .measure_every = 64});
//   …
//   if (const std::optional<lapwing::Ages> ages = subscriber->ages()) {
//     report(ages->age_ns.count(), ages->age_ns.percentile(0.99), ages->age_ns.max());
//   }
//
// An age is the delivery time minus the publish time. The publish time is the field that the
// description marks kPublishTime (docs/reference/records.md). Both times are read from the clock of
// TypedPublisher, which agrees with CLOCK_REALTIME to a few hundred nanoseconds. An age cannot be
// more accurate than that.
//
// Thread safety: plain values.
#pragma once

#include <cstdint>
#include <limits>

#include "lapwing/histogram.h"

namespace lapwing {

// Four buckets for each power of two from 64 ns to 17 s; 1 KiB in size.
using AgeHistogram = Histogram<2, 6, 34>;

template <typename Buckets>
struct BasicAges {
  Buckets age_ns;
  // Records without an age. `negative` counts publish times in the future: a clock was set back, or
  // the age is below the clock's accuracy. `unstamped` counts publish times that are 0 or the
  // largest number.
  std::uint64_t negative = 0;
  std::uint64_t unstamped = 0;

  // Adds a record published at `published_ns` and delivered at `now_ns`, in ns since 1970, UTC.
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
