// Replays another feed several times, or endlessly.
//
// Every pass of an MBO feed except the first begins with a clear (R) for each instrument
// seen so far. The clear removes the orders of the previous pass, because the same ids
// occur again. The first pass is identical to the source, so that a run can be resumed
// with a different number of passes.
//
// Thread safety: one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "lapwing/dbn.h"
#include "publisher/feeds/feed.h"

namespace lapwing {

class LoopingFeed : public Feed {
 public:
  // `passes` is 0 for an unlimited number. Errors: kUnsupported if the source cannot be rewound.
  static absl::StatusOr<std::unique_ptr<Feed>> open(std::unique_ptr<Feed> source,
                                                    std::uint64_t passes);

  const FeedDescription& description() const override { return source_->description(); }
  absl::StatusOr<FeedBatch> next() override;
  int fd() const override { return source_->fd(); }
  absl::Status rewind() override;
  absl::StatusOr<std::uint64_t> fingerprint() override;
  std::uint64_t first_position() const override { return source_->first_position(); }
  std::uint64_t skipped() const override { return source_->skipped(); }

 private:
  LoopingFeed(std::unique_ptr<Feed> source, std::uint64_t passes);
  void note_instruments(std::span<const std::byte> records);
  void make_clears();
  FeedBatch next_clears();

  const std::unique_ptr<Feed> source_;
  const std::uint64_t passes_;
  const bool mbo_;
  std::uint64_t pass_ = 0;                      // counted from 0
  bool pass_is_empty_ = true;                   // so far
  absl::flat_hash_set<std::uint64_t> seen_;     // publisher and instrument
  std::vector<dbn::RecordHeader> instruments_;  // in the order in which they were seen
  dbn::MboMsg last_{};                          // last record of the pass; clears have its times
  std::vector<dbn::MboMsg> clears_;             // to deliver before the pass continues
  std::size_t clears_delivered_ = 0;
};

}  // namespace lapwing
