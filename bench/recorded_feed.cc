#include "bench/recorded_feed.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>

#include "absl/strings/str_cat.h"
#include "bench/machine.h"
#include "publisher/feeds/feed.h"

namespace lapwing::bench {
namespace {

constexpr char kFile[] = "esh4-glbx-mdp3-20231225.mbo.dbn.zst";

}  // namespace

std::optional<std::vector<dbn::MboMsg>> recorded_orders() {
  const char* const folder = std::getenv("LAPWING_TEST_DATA");
  if (folder == nullptr) return std::nullopt;
  const std::string path = absl::StrCat(folder, "/", kFile);
  std::error_code ignored;  // an unreadable file counts as absent
  if (!std::filesystem::exists(path, ignored)) return std::nullopt;
  const std::unique_ptr<Feed> feed = value_or_fail(open_feed(absl::StrCat("dbn:", path), {}));
  std::vector<dbn::MboMsg> records;
  for (;;) {
    const FeedBatch batch = value_or_fail(feed->next());
    if (batch.records.empty()) return records;
    const std::size_t before = records.size();
    records.resize(before + batch.records.size() / sizeof(dbn::MboMsg));
    std::memcpy(&records[before], batch.records.data(), batch.records.size());
  }
}

std::vector<std::uint64_t> arrivals_ns(const std::vector<dbn::MboMsg>& records,
                                       std::uint64_t silence_ns_max) {
  std::vector<std::uint64_t> arrivals;
  std::uint64_t last_recv_ns = 0;
  for (const dbn::MboMsg& record : records) {
    if ((record.flags & dbn::kFlagSnapshot) != 0) continue;
    std::uint64_t silence_ns = 0;
    if (!arrivals.empty() && record.ts_recv > last_recv_ns) {
      silence_ns = std::min(record.ts_recv - last_recv_ns, silence_ns_max);
    }
    last_recv_ns = record.ts_recv;
    arrivals.push_back(arrivals.empty() ? 0 : arrivals.back() + silence_ns);
  }
  return arrivals;
}

}  // namespace lapwing::bench
