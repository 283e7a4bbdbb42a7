#include "publisher/feeds/synthetic_feed.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "publisher/feeds/number_options.h"
#include "snapshot/dbn/dbn_metadata.h"
#include "snapshot/schema/known_schemas.h"

namespace lapwing {
namespace {

constexpr char kDataset[] = "LAPWING.SYNTH";
constexpr std::uint32_t kFirstDate = 20240102;  // the date of FlowClock::kStartNs
constexpr std::uint32_t kEndDate = 20340102;
// Increase this whenever the same options generate different records, so that no run resumes with a
// different flow.
constexpr std::uint32_t kFlowVersion = 1;

absl::StatusOr<std::string> encode_symbols(std::uint32_t instruments) {
  dbn::Metadata metadata;
  metadata.dataset = kDataset;
  metadata.schema = dbn::SchemaId::kMbo;
  metadata.start = FlowClock::kStartNs;
  for (std::uint32_t id = 1; id <= instruments; ++id) {
    const std::string symbol = absl::StrCat("SYN", id);
    metadata.symbols.push_back(symbol);
    metadata.mappings.push_back({symbol, {{kFirstDate, kEndDate, absl::StrCat(id)}}});
  }
  return dbn::encode_metadata(metadata);
}

}  // namespace

absl::StatusOr<SyntheticOptions> parse_synthetic_options(const std::string& text) {
  SyntheticOptions options;
  std::uint64_t instruments = options.instruments;
  const absl::Status status =
      parse_number_options(text, "synthetic",
                           absl::StrCat("records=N (0: without end), seed=N and instruments=1 to ",
                                        kSyntheticInstrumentsMax),
                           {{"records", &options.records},
                            {"seed", &options.seed},
                            {"instruments", &instruments, 1, kSyntheticInstrumentsMax}});
  if (!status.ok()) return status;
  options.instruments = static_cast<std::uint32_t>(instruments);
  return options;
}

absl::StatusOr<std::unique_ptr<Feed>> SyntheticFeed::open(const SyntheticOptions& options,
                                                          bool batch_by_burst) {
  auto metadata = encode_symbols(options.instruments);
  if (!metadata.ok()) return metadata.status();
  std::unique_ptr<SyntheticFeed> feed(new SyntheticFeed(options, batch_by_burst));
  feed->description_.metadata = *std::move(metadata);
  return feed;
}

SyntheticFeed::SyntheticFeed(const SyntheticOptions& options, bool batch_by_burst)
    : options_(options),
      batch_by_burst_(batch_by_burst),
      flow_(options.seed, options.instruments),
      batch_(kFeedBatchMax) {
  description_.schema = dbn::kSchemaMbo;
  description_.records = known_schema(dbn::kSchemaMbo);
  description_.record_bytes = sizeof(dbn::MboMsg);
  description_.name = absl::StrCat("synthetic:records=", options.records, ",seed=", options.seed,
                                   ",instruments=", options.instruments);
  description_.source_id = source_id_of(absl::StrCat(description_.name, ",flow=", kFlowVersion));
}

absl::StatusOr<FeedBatch> SyntheticFeed::next() {
  constexpr std::uint32_t kEvent = OrderFlow::kEventRecordsMax;
  const std::uint64_t left = options_.records == 0 ? std::numeric_limits<std::uint64_t>::max()
                                                   : options_.records - delivered_;
  std::size_t count = 0;
  while (count < left && count + kEvent <= batch_.size()) {
    count += flow_.next_event(batch_.data() + count, left - count < kEvent);
    if (batch_by_burst_ && !flow_.packet_open()) break;
  }
  delivered_ += count;
  FeedBatch batch;
  batch.records = std::as_writable_bytes(std::span(batch_).first(count));
  if (count > 0) batch.time_ns = batch_.front().ts_recv;
  return batch;
}

absl::Status SyntheticFeed::rewind() {
  flow_ = OrderFlow(options_.seed, options_.instruments);
  delivered_ = 0;
  return absl::OkStatus();
}

}  // namespace lapwing
