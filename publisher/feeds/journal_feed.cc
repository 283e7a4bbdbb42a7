#include "publisher/feeds/journal_feed.h"

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lapwing/error.h"
#include "os/kernel.h"
#include "os/system_error.h"
#include "proto/text_field.h"
#include "publisher/feeds/burst.h"
#include "publisher/feeds/resume.h"
#include "snapshot/bus_directory.h"
#include "snapshot/dbn/kept_metadata.h"
#include "snapshot/journal/journal_files.h"
#include "snapshot/journal/missing_file.h"
#include "snapshot/schema/kept_schemas.h"
#include "snapshot/schema/known_schemas.h"

namespace lapwing {
namespace {

// The directory that holds `sessions`, and the bus directory that may hold the feed's metadata.
struct Places {
  std::string root;
  std::string bus;
};

// A root without its session log is still a root, but a damaged one. Opening it reports the damage.
absl::StatusOr<bool> is_journal_root(Disk& disk, const std::string& path) {
  for (const char* const suffix : {"", kCopySuffix}) {
    const auto there = disk.exists(absl::StrCat(path, "/", kSessionsFileName, suffix));
    if (!there.ok() || *there) return there;
  }
  const auto journals = list_journals(disk, path);
  if (!journals.ok()) return journals.status();
  return !journals->empty();
}

absl::StatusOr<Places> find_places(Disk& disk, const std::string& directory) {
  char resolved[PATH_MAX];
  if (::realpath(directory.c_str(), resolved) == nullptr) {
    return make_system_error(errno, absl::StrCat("cannot find the journal directory ", directory));
  }
  const std::string path = resolved;
  const auto is_root = is_journal_root(disk, path);
  if (!is_root.ok()) return is_root.status();
  if (*is_root) return Places{path, std::filesystem::path(path).parent_path()};
  const auto bus = read_bus_description(path);
  if (errc_of(bus.status()) == Errc::kNoBus) {
    return make_error(Errc::kNotFound,
                      absl::StrCat("there is no journal in ", directory, ", neither \"",
                                   kSessionsFileName, "\" nor \"", kBusFileName,
                                   "\"; give a bus directory or its journal directory"));
  }
  if (!bus.ok()) return bus.status();
  if (bus->journal_root.empty()) {
    return make_error(Errc::kNoJournal, absl::StrCat("the bus in ", directory,
                                                     " keeps no journal that could be replayed"));
  }
  return Places{bus->journal_root, path};
}

// The number of sequences from first to last that have no records.
std::uint64_t count_absent(std::span<const AbsentRange> absent, Sequence first, Sequence last) {
  std::uint64_t count = 0;
  for (const AbsentRange& range : absent) {
    const Sequence low = std::max(first, range.first);
    const Sequence high = std::min(last, range.last);
    if (low <= high) count += high - low + 1;
  }
  return count;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Feed>> JournalFeed::open(const std::string& directory,
                                                        bool batch_by_burst) {
  std::unique_ptr<JournalFeed> feed(new JournalFeed(batch_by_burst));
  const auto places = find_places(feed->disk_, directory);
  if (!places.ok()) return places.status();
  if (auto status = feed->open_journal(places->root); !status.ok()) return status;
  if (auto status = feed->describe(places->root, places->bus); !status.ok()) return status;
  return feed;
}

absl::Status JournalFeed::open_journal(const std::string& root) {
  const auto sessions = SessionLog::open_read_only(disk_, root);
  if (!sessions.ok()) return sessions.status();
  if (sessions->last() == nullptr) {
    return make_error(Errc::kNotFound,
                      absl::StrCat("the journal in ", root, " has no session yet"));
  }
  auto reader = JournalReader::open(disk_, root, sessions->last()->begin.journal_id);
  if (!reader.ok()) return reader.status();
  reader_ = *std::move(reader);
  const auto bounds = reader_->settled_bounds();
  if (!bounds.ok()) return bounds.status();
  bounds_ = *bounds;
  next_sequence_ = bounds_.oldest;
  return absl::OkStatus();
}

absl::Status JournalFeed::describe(const std::string& root, const std::string& bus) {
  const SessionBegin& begin = reader_->sessions().last()->begin;
  const std::uint32_t record_bytes = reader_->geometry().record_bytes;
  auto metadata = read_kept_metadata(disk_, root, begin);
  if (errc_of(metadata.status()) == Errc::kNotFound) metadata = read_feed_metadata(bus);
  if (!metadata.ok()) return metadata.status();
  description_.schema = get_text(begin.schema);
  description_.record_bytes = record_bytes;
  description_.metadata = *metadata;
  description_.name = absl::StrCat("journal ", root);
  description_.source_id = source_id_of(absl::StrCat("journal:", begin.journal_id.hex()));
  const bool has_other_metadata = std::ranges::any_of(
      reader_->sessions().sessions_of(begin.journal_id), [&](const SessionRecord& session) {
        return session.begin.metadata_hash != begin.metadata_hash;
      });
  if (has_other_metadata) {
    description_.remark =
        absl::StrCat(description_.name,
                     " was published by feeds with different metadata: symbols and dataset "
                     "are those of its newest session");
  }
  note_absent();
  if (auto status = describe_records(root, begin.journal_id); !status.ok()) return status;
  if (bounds_.archived >= bounds_.oldest) {
    total_ = bounds_.archived - bounds_.oldest + 1 -
             count_absent(reader_->absent(), bounds_.oldest, bounds_.archived);
  }
  buffer_.resize(kFeedBatchMax * record_bytes);
  return absl::OkStatus();
}

// Absent records are not an error, because no later run will find them.
void JournalFeed::note_absent() {
  std::vector<AbsentRange> absent(reader_->absent().begin(), reader_->absent().end());
  std::erase_if(absent, [](const AbsentRange& range) { return range.cause == GapCause::kVoid; });
  const std::uint64_t count = count_absent(absent, bounds_.oldest, bounds_.archived);
  if (count == 0) return;
  absl::StrAppend(&description_.remark, description_.remark.empty() ? "" : ". ", description_.name,
                  " is of a mirror and lacks ", count,
                  " records that its origin does not have: they are not published");
}

// A republished journal keeps its records' description.
absl::Status JournalFeed::describe_records(const std::string& root, const Id128& journal_id) {
  description_.records = known_schema_of_size(description_.schema, description_.record_bytes);
  const std::uint64_t hash = newest_description(reader_->sessions(), journal_id);
  if (!description_.records && hash != 0) {
    absl::StatusOr<Schema> kept = read_kept_schema(disk_, root, hash);
    if (errc_of(kept.status()) == Errc::kUnsupported) return kept.status();
    const bool fits = kept.ok() && kept->name == description_.schema &&
                      kept->record_bytes == description_.record_bytes;
    if (!fits) {
      return make_error(Errc::kDamaged,
                        absl::StrCat("the journal ", root, " no longer describes its records: ",
                                     kept.ok() ? "the description is of other records"
                                               : std::string(kept.status().message()),
                                     "; restore that file from a copy"));
    }
    description_.records = *std::move(kept);
  }
  if (description_.records) clock_ = RecordClock(*description_.records);
  return absl::OkStatus();
}

absl::StatusOr<FeedBatch> JournalFeed::next() {
  if (pending_.empty()) {
    if (auto status = refill(); !status.ok()) return status;
  }
  if (pending_.empty()) return FeedBatch{};
  return take_batch(pending_, description_.record_bytes, clock_, batch_by_burst_);
}

// Reads the next run into the buffer. At the end of the journal, leaves nothing pending.
absl::Status JournalFeed::refill() {
  while (next_sequence_ <= bounds_.archived) {
    const auto run = reader_->read(next_sequence_, bounds_, buffer_);
    if (!run.ok()) return run.status();
    if (run->gap && run->is_recorded) {
      next_sequence_ = run->gap_last + 1;
      continue;
    }
    if (run->gap && run->missing_file && may_come_back(*run)) continue;
    if (run->gap && run->cause == GapCause::kDamaged) {
      return make_error(Errc::kDamaged, absl::StrCat(description_.name, ": ", run->detail,
                                                     "; `lapwing verify` shows all of the damage"));
    }
    if (run->gap) {
      return make_error(Errc::kPruned,
                        absl::StrCat(description_.name, ": retention removed records ",
                                     next_sequence_, " to ", run->gap_last,
                                     " before they were published. With --resume the next run "
                                     "continues after them."));
    }
    if (run->count == 0) break;
    missing_since_ns_ = 0;
    next_sequence_ += run->count;
    pending_ = std::span(buffer_).first(run->count * description_.record_bytes);
    break;
  }
  return absl::OkStatus();
}

// Waits a moment for a missing file, in case it is just being moved or restored. Returns false
// after the grace period, or if the directory was removed.
bool JournalFeed::may_come_back(const JournalRun& hole) {
  const std::uint64_t now = monotonic_ns();
  if (missing_since_ns_ == 0) missing_since_ns_ = now;
  if (hole.directory == AnchorState::kRemoved) return false;
  if (now - missing_since_ns_ >= kMissingFileGraceNs) return false;
  wait_readable(-1, kMissingFileRetryNs);
  return true;
}

absl::StatusOr<std::uint64_t> JournalFeed::fingerprint() {
  return description_.source_id;
}

// The sequence of the n-th record after `position`, n being `records`.
Sequence JournalFeed::sequence_after(Sequence position, std::uint64_t records) const {
  for (const AbsentRange& range : reader_->absent()) {
    if (range.last <= position) continue;
    const Sequence there = std::max(position, range.first - 1);
    if (position + records <= there) break;
    records -= there - position;
    position = range.last;
  }
  return position + records;
}

absl::StatusOr<ResumedFeed> JournalFeed::resume(const ResumePoint& point,
                                                const RecordClock* stamped, const FeedWait&) {
  const Sequence last = sequence_after(point.offset, point.records);
  if (last > bounds_.archived) {
    return source_mismatch(description_.name,
                           absl::StrCat("it ends with record ", bounds_.archived,
                                        ", and the journal has its records up to ", last));
  }
  if (last >= bounds_.oldest && !point.last_record.empty()) {
    const auto run = reader_->read(last, bounds_, buffer_);
    if (!run.ok()) return run.status();
    const auto in_source = std::span(buffer_).first(description_.record_bytes);
    if (run->count > 0 && !is_same_record(in_source, point.last_record, stamped)) {
      return source_mismatch(description_.name,
                             absl::StrCat("its record ", last, " differs from record ", point.last,
                                          " of the journal"));
    }
  }
  ResumedFeed resumed{.position = std::max(last, bounds_.oldest - 1)};
  if (last + 1 < bounds_.oldest) {
    resumed.lost_first = last + 1;
    resumed.lost_last = bounds_.oldest - 1;
  }
  next_sequence_ = resumed.position + 1;
  return resumed;
}

absl::Status JournalFeed::rewind() {
  next_sequence_ = bounds_.oldest;
  pending_ = {};
  return absl::OkStatus();
}

}  // namespace lapwing
