#include "monitor/subscriber_status.h"

#include <algorithm>

#include "bus/control/missing_subscribers.h"
#include "proto/text_field.h"
#include "subscribers/reporter.h"

namespace lapwing {
namespace {

constexpr std::uint64_t kReportFreshNs = 3 * kReportNsMin;

// 0 means that the peer did not report the value.
template <typename Enum>
std::optional<Enum> reported(std::uint32_t number) {
  return number == 0 ? std::nullopt : std::optional(static_cast<Enum>(number));
}

std::optional<std::uint64_t> report_age_of(const SubscriberInfoFrame& info,
                                           std::uint64_t now_wall_ns) {
  if (info.report_age_ns != 0) return info.report_age_ns;
  if (info.reported == 0 || now_wall_ns < info.reported_wall_ns) return std::nullopt;
  return now_wall_ns - info.reported_wall_ns;
}

Observed observe(const SubscriberInfoFrame& info, Sequence head, std::uint64_t now_wall_ns,
                 const ProcessNamespaces& namespaces) {
  Observed observed{.process = state_of(process_of(info, namespaces)),
                    .report_age_ns = report_age_of(info, now_wall_ns)};
  observed.is_recent =
      info.head_seen != 0 && observed.report_age_ns && *observed.report_age_ns < kReportFreshNs;
  const Sequence newest = observed.is_recent ? info.head_seen : head;
  const bool is_behind = info.missing_since_wall_ns == 0 && newest > info.position;
  observed.lag = is_behind ? newest - info.position : 0;
  return observed;
}

}  // namespace

bool SubscriberStatus::is_silent() const {
  return !is_missing() && observed.lag > 0 && observed.report_age_ns &&
         *observed.report_age_ns >= kSilentReportNs;
}

bool SubscriberStatus::needs_operator() const {
  return !observes && (is_missing() || is_stopped() || is_silent() || is_far_behind() || lost > 0);
}

const char* SubscriberStatus::state_text() const {
  if (is_stopped()) return "STOPPED";
  return is_silent() ? "SILENT" : name_of(state);
}

SubscriberStatus status_of(const SubscriberInfoFrame& info, Sequence head,
                           std::uint64_t now_wall_ns, const ProcessNamespaces& namespaces) {
  return {.pid = info.pid,
          .uid = info.uid,
          .name = get_text(info.name),
          .state = info.state,
          .may_park = info.may_park != 0,
          .observes = info.observes != 0,
          .wait = reported<WaitStrategy>(info.wait),
          .on_gap = reported<OnGap>(info.on_gap),
          .position = info.position,
          .head_seen = info.head_seen,
          .records = info.records,
          .gaps = info.gaps,
          .lost = info.lost,
          .filled = info.filled,
          .connected_wall_ns = info.connected_wall_ns,
          .reported_wall_ns = info.reported_wall_ns,
          .missing_since_wall_ns = info.missing_since_wall_ns,
          .latency = std::nullopt,
          .observed = observe(info, head, now_wall_ns, namespaces)};
}

Latency latency_of(const LatencyReportFrame& report) {
  Latency latency{.every = report.every,
                  .sum_ns = report.sum_ns,
                  .age_ns = {},
                  .negative = report.negative,
                  .unstamped = report.unstamped};
  for (std::size_t i = 0; i < kLatencyCounts; ++i) {
    latency.age_ns.add(std::min(AgeHistogram::last_of(i), report.max_ns), report.counts[i]);
  }
  return latency;
}

}  // namespace lapwing
