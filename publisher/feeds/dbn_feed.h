// The feed for a DBN file or stream: dbn:PATH, dbn:-.
//
// The schema comes from the metadata. If the metadata declares a mixed stream, it comes from the
// options, or otherwise from the first record that a bus can carry. Records of another type or
// length are counted and skipped. Schemas that share a record type cannot be distinguished in a
// mixed stream; the description's remark reports this.
//
// The symbols of a live recording are in mapping records (snapshot/dbn/mapping_records.h). If the
// metadata has no mappings, and mapping records precede the first market record, the feed adds
// mappings made from them to the description's metadata. To do so, it first reads a file
// completely. In a stream, only the mapping records before the first market record are used. Later
// ones are counted and skipped, like other records that do not fit.
//
// Thread safety: one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "lapwing/dbn.h"
#include "publisher/feeds/feed.h"
#include "snapshot/dbn/dbn_reader.h"
#include "snapshot/dbn/mapping_records.h"
#include "snapshot/schema/record_clock.h"

namespace lapwing {

class DbnFeed : public Feed {
 public:
  // `path` may be "-". Errors: those of DbnReader::open; kRecordSize for a schema that a bus cannot
  // carry.
  static absl::StatusOr<std::unique_ptr<Feed>> open(const std::string& path,
                                                    const FeedOptions& options);

  const FeedDescription& description() const override { return description_; }
  absl::StatusOr<FeedBatch> next() override;
  int fd() const override { return reader_->fd(); }
  absl::Status rewind() override;
  std::uint64_t skipped() const override { return skipped_; }

 private:
  DbnFeed(std::unique_ptr<DbnReader> reader, bool batch_by_burst);
  absl::Status choose_schema(const std::string& wanted);
  absl::Status choose_by_first_record();
  void remark_on_schemas_of_the_same_type();
  // Creates mappings from mapping records if the metadata has none.
  absl::Status find_symbols(const FeedOptions& options, bool is_file);
  absl::Status read_leading_records();
  absl::Status read_all_mappings(const Stopped& stopped);
  void add_symbols();
  void remark(const std::string& sentence);
  absl::Status take_schema(const dbn::RecordSchema& schema);
  bool fits(std::span<const std::byte> record) const;
  absl::Status describe(const std::string& path);
  // Returns the next record that fits the bus, without consuming it. Returns an empty record at the
  // end, or if `may_read` is false and the reader's buffer has none. Errors: those of
  // DbnReader::next().
  absl::StatusOr<std::span<const std::byte>> peek(bool may_read);

  std::unique_ptr<DbnReader> reader_;
  const bool batch_by_burst_;
  dbn::MappingRecords mappings_;
  const dbn::RecordSchema* schema_ = nullptr;
  FeedDescription description_;
  RecordClock clock_;
  std::span<const std::byte> pending_;  // read, not yet delivered
  std::vector<std::byte> batch_;
  std::uint64_t skipped_ = 0;
  std::uint64_t skipped_for_good_ = 0;  // part of skipped_ that rewind() does not reread
};

}  // namespace lapwing
