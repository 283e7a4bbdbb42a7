// A feed of numbered keys: kv16[:key=value,…]. It is used to measure stores with many keys.
//
//   records  number of records in one pass, default 1000000; 0: unlimited
//   keys     number of different keys, default as many as records. Their order has no locality,
//            and each key occurs once before any key repeats
//   seed     seed of the keys, default 1
//
// Record n, counted from 0, has the key key_of(n mod keys) and the value n + 1.
//
// Thread safety: one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "lapwing/kv16.h"
#include "publisher/feeds/feed.h"

namespace lapwing {

struct Kv16Options {
  std::uint64_t records = 1'000'000;
  std::uint64_t keys = 0;  // 0: as many as records
  std::uint64_t seed = 1;
};

// Parses "key=value,…". Errors: kInvalidArgument, whose message lists the keys.
absl::StatusOr<Kv16Options> parse_kv16_options(const std::string& text);

class Kv16Feed : public Feed {
 public:
  static std::unique_ptr<Feed> open(const Kv16Options& options);

  const FeedDescription& description() const override { return description_; }
  absl::StatusOr<FeedBatch> next() override;
  absl::Status rewind() override;
  std::uint64_t total() const override { return options_.records; }

  // Returns the key of a number. Different numbers have different keys.
  static std::uint64_t key_of(std::uint64_t number, std::uint64_t seed);

 private:
  explicit Kv16Feed(const Kv16Options& options);

  const Kv16Options options_;
  FeedDescription description_;
  std::vector<kv16::Record> batch_;
  std::uint64_t delivered_ = 0;  // records of this pass
};

}  // namespace lapwing
