// A feed with a deterministic, valid order flow: synthetic[:key=value,…].
//
//   records      number of records in one pass, default 1000000; 0: unlimited
//   seed         seed of the flow, default 1; the same seed gives the same records on every machine
//   instruments  1 to 64, default 1; their ids are 1 … N, their symbols SYN1 … SYNN
//
// order_flow.h describes the records, flow_clock.h their times. Each pass begins with a clear for
// each instrument.
//
// Thread safety: one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "lapwing/dbn.h"
#include "publisher/feeds/feed.h"
#include "publisher/feeds/order_flow.h"

namespace lapwing {

inline constexpr std::uint32_t kSyntheticInstrumentsMax = 64;

struct SyntheticOptions {
  std::uint64_t records = 1'000'000;
  std::uint64_t seed = 1;
  std::uint32_t instruments = 1;
};

// Parses "key=value,…". Errors: kInvalidArgument, whose message lists the keys.
absl::StatusOr<SyntheticOptions> parse_synthetic_options(const std::string& text);

class SyntheticFeed : public Feed {
 public:
  static absl::StatusOr<std::unique_ptr<Feed>> open(const SyntheticOptions& options,
                                                    bool batch_by_burst);

  const FeedDescription& description() const override { return description_; }
  absl::StatusOr<FeedBatch> next() override;
  absl::Status rewind() override;
  std::uint64_t total() const override { return options_.records; }

 private:
  SyntheticFeed(const SyntheticOptions& options, bool batch_by_burst);

  const SyntheticOptions options_;
  const bool batch_by_burst_;
  FeedDescription description_;
  OrderFlow flow_;
  std::vector<dbn::MboMsg> batch_;
  std::uint64_t delivered_ = 0;  // records of this pass
};

}  // namespace lapwing
