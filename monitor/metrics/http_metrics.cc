#include "monitor/metrics/http_metrics.h"

#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "monitor/metrics/families.h"
#include "os/kernel.h"

namespace lapwing {
namespace {

// Field `number` of /proc/self/stat, as proc(5) counts them, from 3 on; 0 where it cannot be read.
double stat_field(const std::vector<std::string>& fields, std::size_t number) {
  double value = 0;
  const std::size_t at = number - 3;
  if (at >= fields.size() || !absl::SimpleAtod(fields[at], &value)) return 0;
  return value;
}

std::vector<std::string> stat_fields() {
  std::ifstream file("/proc/self/stat");
  const std::string stat{std::istreambuf_iterator<char>(file), {}};
  const std::size_t name_end = stat.rfind(')');
  if (name_end == std::string::npos) return {};
  return absl::StrSplit(stat.substr(name_end + 1), absl::ByAnyChar(" \n"), absl::SkipEmpty());
}

// Seconds since 1970 at which this machine's CLOCK_BOOTTIME was 0.
double boot_seconds() {
  timespec since_boot{};
  clock_gettime(CLOCK_BOOTTIME, &since_boot);
  return seconds_of(wall_ns()) - static_cast<double>(since_boot.tv_sec) -
         static_cast<double>(since_boot.tv_nsec) / 1e9;
}

void add_process(Families& families) {
  const std::vector<std::string> fields = stat_fields();
  const double ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
  families.counter("process_cpu_seconds_total", "Processor time of this monitor.", {},
                   (stat_field(fields, 14) + stat_field(fields, 15)) / ticks);
  families.gauge("process_resident_memory_bytes", "Its resident memory.", {},
                 stat_field(fields, 24) * static_cast<double>(sysconf(_SC_PAGESIZE)));
  std::error_code error;
  const std::filesystem::directory_iterator open_fds("/proc/self/fd", error);
  if (!error) {
    families.gauge("process_open_fds", "Its open descriptors.", {},
                   static_cast<double>(std::distance(begin(open_fds), end(open_fds))));
  }
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  families.gauge("process_max_fds", "How many it may open.", {},
                 static_cast<double>(limit.rlim_cur));
  static const double began_at = boot_seconds();
  families.gauge("process_start_time_seconds", "When it started, since 1970.", {},
                 began_at + stat_field(fields, 22) / ticks);
}

}  // namespace

std::string http_metrics_text(const HttpCounts& counts, const StreamCounts& stream,
                              const std::vector<ViewCounts>& views) {
  Families families;
  for (const auto& [key, requests] : counts.requests) {
    families.counter("lapwing_http_requests_total", "Requests answered.",
                     {{"route", key.first}, {"code", absl::StrCat(key.second)}},
                     static_cast<double>(requests));
  }
  for (const auto& [route, durations] : counts.durations) {
    families.histogram("lapwing_http_request_duration_seconds", "How long answering took.",
                       {{"route", route}}, durations);
  }
  families.gauge("lapwing_http_connections", "Open connections.", {},
                 static_cast<double>(counts.connections));
  for (const auto& [reason, rejected] : counts.rejected) {
    families.counter("lapwing_http_rejected_total", "Connections and requests that were rejected.",
                     {{"reason", reason}}, static_cast<double>(rejected));
  }
  families.gauge("lapwing_http_stream_clients", "Clients of /api/v1/stream.", {},
                 static_cast<double>(stream.clients));
  families.counter("lapwing_http_stream_messages_total", "Messages sent to them.", {},
                   static_cast<double>(stream.messages));
  families.counter("lapwing_http_stream_conflated_messages_total",
                   "Messages that a newer one replaced before they were sent.", {},
                   static_cast<double>(stream.conflated));
  for (const ViewCounts& view : views) {
    const MetricLabels bus = {{"bus", view.bus}};
    families.gauge("lapwing_view_clients", "Clients that view the bus.", bus,
                   static_cast<double>(view.stream.clients));
    families.counter("lapwing_view_messages_total", "Messages sent to them.", bus,
                     static_cast<double>(view.stream.messages));
    families.counter("lapwing_view_conflated_messages_total",
                     "Messages that a newer one replaced before they were sent.", bus,
                     static_cast<double>(view.stream.conflated));
    families.gauge("lapwing_view_lag_records", "Records by which the view is behind head.", bus,
                   static_cast<double>(view.behind));
  }
  add_process(families);
  return families.text();
}

}  // namespace lapwing
