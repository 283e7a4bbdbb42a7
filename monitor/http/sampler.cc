#include "monitor/http/sampler.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "monitor/json_text.h"
#include "monitor/status_json.h"
#include "os/kernel.h"
#include "os/start_thread.h"

namespace lapwing {

absl::StatusOr<std::unique_ptr<Sampler>> Sampler::start(SamplerOptions options,
                                                        Histories& histories, Sink sink) {
  absl::StatusOr<StopEvent> stop = StopEvent::make();
  if (!stop.ok()) return stop.status();
  absl::StatusOr<MachineMonitor> monitor = MachineMonitor::start(options.machine);
  if (!monitor.ok()) return monitor.status();
  std::unique_ptr<Sampler> sampler(new Sampler(std::move(options), histories, std::move(sink),
                                               *std::move(stop), *std::move(monitor)));
  const absl::Status started =
      start_thread(sampler->thread_, "lapwing-sample", [raw = sampler.get()] { raw->run(); });
  if (!started.ok()) return started;
  return sampler;
}

Sampler::~Sampler() {
  if (!thread_.joinable()) return;
  stop_.set();
  thread_.join();
}

void Sampler::run() {
  MonitorCounts counts;
  absl::StatusOr<ChannelList> channels = ChannelList();
  std::uint64_t channels_again_ns = 0;
  std::uint64_t due_ns = monotonic_ns();
  while (!stop_.is_set()) {
    const std::uint64_t began_ns = monotonic_ns();
    if (began_ns < due_ns) {
      monitor_.sample(began_ns);
      stop_.wait(std::min(kSampleNs, due_ns - began_ns));
      continue;
    }
    due_ns = began_ns + options_.interval_ns;
    const MachineReading reading = monitor_.read(began_ns, wall_ns());
    if (began_ns >= channels_again_ns) {
      channels = gather_channel_status();
      channels_again_ns = began_ns + kChannelsNs;
    }
    counts.add(reading, channels.status(), monotonic_ns() - began_ns);
    histories_->add(reading);
    auto snapshot = std::make_shared<Snapshot>();
    nlohmann::ordered_json json = {{"version", options_.metrics.version},
                                   {"revision", options_.metrics.revision}};
    json.update(machine_json(reading, channels));
    json["expected"] = expected_json(check_expected(reading, options_.metrics.expected));
    snapshot->json = json_text(json);
    snapshot->metrics = bus_metrics_text(reading, channels, counts, options_.metrics);
    for (const BusReading& bus : reading.buses) {
      snapshot->buses.push_back({bus.directory, bus.label, !bus.is_closed(), bus.ring.status()});
    }
    if (!options_.machine.directories.empty()) {
      for (const BusReading& bus : reading.buses) {
        if (bus.ring.ok()) continue;
        snapshot->not_sampled.push_back(
            absl::StrCat(bus.directory, ": ", bus.ring.status().message()));
      }
    }
    snapshot->taken_ns = monotonic_ns();
    sink_(std::move(snapshot));
  }
}

}  // namespace lapwing
