// Plays another feed several times, or for ever.
//
// Before every pass of an MBO feed but the first, one clear (R) for each instrument seen so far:
// the orders of the pass before are gone, and the same ids come again. The first pass is that of
// the feed alone, so a run may be resumed with another number of passes.
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
  // `passes`: 0 is for ever. Errors: kUnsupported if the source cannot be rewound.
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
  std::uint64_t pass_ = 0;                      // from 0
  bool pass_is_empty_ = true;                   // so far
  absl::flat_hash_set<std::uint64_t> seen_;     // publisher and instrument
  std::vector<dbn::RecordHeader> instruments_;  // in the order in which they were seen
  dbn::MboMsg last_{};                          // record of the pass: a clear has its times
  std::vector<dbn::MboMsg> clears_;             // that come before the pass goes on
  std::size_t clears_delivered_ = 0;
};

}  // namespace lapwing
