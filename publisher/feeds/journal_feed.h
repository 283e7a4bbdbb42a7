// The feed for a journal: journal:DIR. DIR is a bus directory or the directory that contains
// `sessions`.
//
// Replays the newest journal in DIR, from its oldest retained record to the newest one that its
// files prove at the time the feed is opened. A publisher may be running. Voids do not contain
// records and are skipped. Errors: damage, a file that is still missing after kMissingFileGraceNs,
// and records that retention removes before they are read.
//
// Thread safety: one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "os/posix_io.h"
#include "publisher/feeds/feed.h"
#include "snapshot/journal/journal_reader.h"
#include "snapshot/schema/record_clock.h"

namespace lapwing {

class JournalFeed : public Feed {
 public:
  // Errors: kNotFound, kNoJournal, kDamaged, kNotPermitted, kNotALapwingFile, kSystem.
  static absl::StatusOr<std::unique_ptr<Feed>> open(const std::string& directory,
                                                    bool batch_by_burst);

  const FeedDescription& description() const override { return description_; }
  absl::StatusOr<FeedBatch> next() override;
  absl::Status rewind() override;
  std::uint64_t total() const override { return total_; }
  // A hash of the journal's id, because retention may remove its first record.
  absl::StatusOr<std::uint64_t> fingerprint() override;
  // Positions are sequences, so retention does not change them.
  std::uint64_t first_position() const override { return bounds_.oldest - 1; }
  absl::StatusOr<ResumedFeed> resume(const ResumePoint& point, const RecordClock* stamped,
                                     const FeedWait& wait) override;

 private:
  explicit JournalFeed(bool batch_by_burst) : batch_by_burst_(batch_by_burst) {}
  absl::Status open_journal(const std::string& root);
  absl::Status describe(const std::string& root, const std::string& directory);
  void note_absent();
  absl::Status describe_records(const std::string& root, const Id128& journal_id);
  absl::Status refill();
  Sequence sequence_after(Sequence position, std::uint64_t records) const;
  bool may_come_back(const JournalRun& hole);

  PosixDisk disk_;
  std::unique_ptr<JournalReader> reader_;
  JournalBounds bounds_;
  const bool batch_by_burst_;
  RecordClock clock_;
  FeedDescription description_;
  std::uint64_t total_ = 0;
  Sequence next_sequence_ = 1;          // the next to read
  std::uint64_t missing_since_ns_ = 0;  // when the file was found missing; 0: it exists
  std::vector<std::byte> buffer_;
  std::span<std::byte> pending_;  // part of the buffer that is not delivered yet
};

}  // namespace lapwing
