#include "publisher/feeds/kv16_feed.h"

#include <algorithm>
#include <limits>
#include <span>

#include "absl/strings/str_cat.h"
#include "publisher/feeds/number_options.h"
#include "publisher/feeds/random.h"
#include "snapshot/schema/known_schemas.h"

namespace lapwing {
namespace {

constexpr std::uint64_t kForEver = std::numeric_limits<std::uint64_t>::max();

}  // namespace

absl::StatusOr<Kv16Options> parse_kv16_options(const std::string& text) {
  Kv16Options options;
  const absl::Status status = parse_number_options(
      text, "kv16", "records=N (0: without end), keys=N (from 1) and seed=N",
      {{"records", &options.records}, {"seed", &options.seed}, {"keys", &options.keys, 1}});
  if (!status.ok()) return status;
  return options;
}

std::unique_ptr<Feed> Kv16Feed::open(const Kv16Options& options) {
  return std::unique_ptr<Feed>(new Kv16Feed(options));
}

Kv16Feed::Kv16Feed(const Kv16Options& options) : options_(options), batch_(kFeedBatchMax) {
  description_.schema = kv16::kSchema;
  description_.records = known_schema(kv16::kSchema);
  description_.record_bytes = sizeof(kv16::Record);
  description_.name = absl::StrCat("kv16:records=", options.records, ",keys=", options.keys,
                                   ",seed=", options.seed);
  description_.source_id = source_id_of(description_.name);
}

// The generator's step and its mixing are bijective, so that different numbers have different keys.
std::uint64_t Kv16Feed::key_of(std::uint64_t number, std::uint64_t seed) {
  return Random(seed + number).next();
}

absl::StatusOr<FeedBatch> Kv16Feed::next() {
  const std::uint64_t end = options_.records == 0 ? kForEver : options_.records;
  const std::uint64_t keys = options_.keys == 0 ? end : options_.keys;
  const auto count =
      static_cast<std::size_t>(std::min<std::uint64_t>(end - delivered_, batch_.size()));
  for (std::size_t i = 0; i < count; ++i, ++delivered_) {
    batch_[i] = {key_of(delivered_ % keys, options_.seed), delivered_ + 1};
  }
  return FeedBatch{std::as_writable_bytes(std::span(batch_).first(count)), 0};
}

absl::Status Kv16Feed::rewind() {
  delivered_ = 0;
  return absl::OkStatus();
}

}  // namespace lapwing
