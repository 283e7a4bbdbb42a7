// Reads the machine's buses at regular intervals on its own thread, and passes on each reading as
// JSON and as metrics, both serialised only once.
//
// A publisher may take kPublisherAnswerNs to answer, and publishers are queried one after another.
// Only this thread waits for them.
//
// Thread safety: the owner's thread. `sink` runs on the sampling thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "monitor/http/histories.h"
#include "monitor/http/snapshot.h"
#include "monitor/machine_monitor.h"
#include "monitor/metrics/bus_metrics.h"
#include "os/stop_event.h"

namespace lapwing {

inline constexpr std::uint64_t kChannelsNs = 5'000'000'000;  // between searches of /proc

struct SamplerOptions {
  MachineOptions machine;
  std::uint64_t interval_ns = 1'000'000'000;
  MetricsOptions metrics;
};

class Sampler {
 public:
  using Sink = std::function<void(std::shared_ptr<const Snapshot>)>;

  // Borrows the histories. Errors: kLimit, kSystem.
  static absl::StatusOr<std::unique_ptr<Sampler>> start(SamplerOptions options,
                                                        Histories& histories, Sink sink);
  Sampler(const Sampler&) = delete;
  Sampler& operator=(const Sampler&) = delete;
  ~Sampler();  // waits for the reading in progress

 private:
  Sampler(SamplerOptions options, Histories& histories, Sink sink, StopEvent stop,
          MachineMonitor monitor)
      : options_(std::move(options)),
        histories_(&histories),
        sink_(std::move(sink)),
        stop_(std::move(stop)),
        monitor_(std::move(monitor)) {}
  void run();

  const SamplerOptions options_;
  Histories* const histories_;
  const Sink sink_;
  const StopEvent stop_;
  MachineMonitor monitor_;  // used by the thread
  std::thread thread_;
};

}  // namespace lapwing
