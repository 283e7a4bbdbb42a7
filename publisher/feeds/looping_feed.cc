#include "publisher/feeds/looping_feed.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace lapwing {

absl::StatusOr<std::unique_ptr<Feed>> LoopingFeed::open(std::unique_ptr<Feed> source,
                                                        std::uint64_t passes) {
  // Check now that the source can be rewound, not only at the end of the first pass.
  if (auto status = source->rewind(); !status.ok()) return status;
  return std::unique_ptr<Feed>(new LoopingFeed(std::move(source), passes));
}

LoopingFeed::LoopingFeed(std::unique_ptr<Feed> source, std::uint64_t passes)
    : source_(std::move(source)),
      passes_(passes),
      mbo_(source_->description().schema == dbn::kSchemaMbo &&
           source_->description().record_bytes == sizeof(dbn::MboMsg)) {}

absl::StatusOr<FeedBatch> LoopingFeed::next() {
  for (;;) {
    if (clears_delivered_ < clears_.size()) return next_clears();
    auto batch = source_->next();
    if (!batch.ok()) return batch;
    if (!batch->records.empty()) {
      pass_is_empty_ = false;
      if (mbo_) note_instruments(batch->records);
      return batch;
    }
    if (batch->nothing_yet) return batch;
    const bool last_pass = passes_ != 0 && pass_ + 1 >= passes_;
    if (last_pass || pass_is_empty_) return batch;
    if (auto status = source_->rewind(); !status.ok()) return status;
    ++pass_;
    pass_is_empty_ = true;
    make_clears();
  }
}

absl::Status LoopingFeed::rewind() {
  if (auto status = source_->rewind(); !status.ok()) return status;
  pass_ = 0;
  pass_is_empty_ = true;
  seen_.clear();
  instruments_.clear();
  clears_.clear();
  clears_delivered_ = 0;
  return absl::OkStatus();
}

absl::StatusOr<std::uint64_t> LoopingFeed::fingerprint() {
  const absl::StatusOr<std::uint64_t> of_source = source_->fingerprint();
  const absl::Status begun = rewind();
  return begun.ok() ? of_source : begun;
}

void LoopingFeed::note_instruments(std::span<const std::byte> records) {
  std::uint64_t last_key = ~std::uint64_t{0};
  for (std::size_t at = 0; at < records.size(); at += sizeof(dbn::MboMsg)) {
    dbn::RecordHeader header;
    std::memcpy(&header, records.data() + at, sizeof header);
    const std::uint64_t key = std::uint64_t{header.publisher_id} << 32 | header.instrument_id;
    if (key == last_key) continue;
    last_key = key;
    if (seen_.insert(key).second) instruments_.push_back(header);
  }
  std::memcpy(&last_, records.data() + records.size() - sizeof last_, sizeof last_);
}

void LoopingFeed::make_clears() {
  clears_.clear();
  clears_delivered_ = 0;
  for (const dbn::RecordHeader& instrument : instruments_) {
    dbn::MboMsg clear{};
    clear.hd = instrument;
    clear.hd.ts_event = last_.hd.ts_event;
    clear.price = dbn::kUndefPrice;
    clear.flags = dbn::kFlagLast;
    clear.action = dbn::Action::kClear;
    clear.side = dbn::Side::kNone;
    clear.ts_recv = last_.ts_recv;
    clear.sequence = last_.sequence;
    clears_.push_back(clear);
  }
}

FeedBatch LoopingFeed::next_clears() {
  const std::size_t count = std::min(clears_.size() - clears_delivered_, kFeedBatchMax);
  FeedBatch batch;
  batch.records = std::as_writable_bytes(std::span(clears_).subspan(clears_delivered_, count));
  batch.time_ns = last_.ts_recv;
  clears_delivered_ += count;
  return batch;
}

}  // namespace lapwing
