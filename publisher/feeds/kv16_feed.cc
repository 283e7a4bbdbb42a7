#include "publisher/feeds/kv16_feed.h"

#include <algorithm>
#include <limits>
#include <span>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "proto/error.h"
#include "publisher/feeds/random.h"

namespace lapwing {
namespace {

constexpr std::uint64_t kForEver = std::numeric_limits<std::uint64_t>::max();

absl::Status option_error(const std::string& pair) {
  return make_error(Errc::kInvalidArgument,
                    absl::StrCat("\"", pair,
                                 "\" is not an option of the kv16 feed; those are records=N (0: "
                                 "without end), keys=N (from 1) and seed=N"));
}

}  // namespace

absl::StatusOr<Kv16Options> parse_kv16_options(const std::string& text) {
  Kv16Options options;
  for (const auto pair : absl::StrSplit(text, ',', absl::SkipEmpty())) {
    const std::pair<std::string, std::string> option =
        absl::StrSplit(pair, absl::MaxSplits('=', 1));
    std::uint64_t value = 0;
    if (!absl::SimpleAtoi(option.second, &value)) return option_error(std::string(pair));
    if (option.first == "records") {
      options.records = value;
    } else if (option.first == "seed") {
      options.seed = value;
    } else if (option.first == "keys" && value >= 1) {
      options.keys = value;
    } else {
      return option_error(std::string(pair));
    }
  }
  return options;
}

std::unique_ptr<Feed> Kv16Feed::open(const Kv16Options& options) {
  return std::unique_ptr<Feed>(new Kv16Feed(options));
}

Kv16Feed::Kv16Feed(const Kv16Options& options) : options_(options), batch_(kFeedBatchMax) {
  description_.schema = kv16::kSchema;
  description_.record_bytes = sizeof(kv16::Record);
  description_.name = absl::StrCat("kv16:records=", options.records, ",keys=", options.keys,
                                   ",seed=", options.seed);
  description_.source_id = source_id_of(description_.name);
}

// The generator's step and its mixing lose nothing, so that different numbers stay different.
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
