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
#include "monitor/metrics/exposition.h"
#include "os/kernel.h"

namespace lapwing {
namespace {

// Field `number` (at least 3, as in proc(5)) of /proc/self/stat; 0 if it cannot be read.
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

// The time, in seconds since 1970, at which this machine's CLOCK_BOOTTIME was 0.
double boot_seconds() {
  timespec since_boot{};
  clock_gettime(CLOCK_BOOTTIME, &since_boot);
  return seconds_of(wall_ns()) - static_cast<double>(since_boot.tv_sec) -
         static_cast<double>(since_boot.tv_nsec) / 1e9;
}

ProcessCounts process_counts() {
  const std::vector<std::string> fields = stat_fields();
  const double ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
  static const double began_at = boot_seconds();
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  ProcessCounts counts{
      .cpu_seconds = (stat_field(fields, 14) + stat_field(fields, 15)) / ticks,
      .resident_bytes = stat_field(fields, 24) * static_cast<double>(sysconf(_SC_PAGESIZE)),
      .max_fds = static_cast<double>(limit.rlim_cur),
      .start_seconds = began_at + stat_field(fields, 22) / ticks};
  std::error_code error;
  const std::filesystem::directory_iterator open_fds("/proc/self/fd", error);
  if (!error) {
    counts.open_fds = static_cast<double>(std::distance(begin(open_fds), end(open_fds)));
  }
  return counts;
}

}  // namespace

std::string http_metrics_text(const HttpCounts& counts, const StreamCounts& stream,
                              const std::vector<ViewCounts>& views) {
  Exposition exposition;
  for (const auto& [key, requests] : counts.requests) {
    exposition.add(scope::kRequests, {key.first, absl::StrCat(key.second)},
                   {.number = static_cast<double>(requests)});
  }
  for (const auto& [route, durations] : counts.durations) {
    exposition.add(scope::kRequestTimes, {route}, {.times = durations});
  }
  for (const auto& [reason, rejected] : counts.rejected) {
    exposition.add(scope::kRejected, {reason}, {.number = static_cast<double>(rejected)});
  }
  exposition.add(scope::kServer, {}, {.http = &counts, .stream = &stream});
  for (const ViewCounts& view : views) {
    exposition.add(scope::kView, {view.bus}, {.stream = &view.stream, .view = &view});
  }
  const ProcessCounts process = process_counts();
  exposition.add(scope::kProcess, {}, {.process = &process});
  return exposition.take_text();
}

}  // namespace lapwing
