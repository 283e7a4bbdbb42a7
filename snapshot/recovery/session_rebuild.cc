#include "snapshot/recovery/session_rebuild.h"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lapwing/error.h"
#include "os/path.h"
#include "proto/text_field.h"
#include "snapshot/archive/archiver.h"
#include "snapshot/journal/journal_files.h"
#include "snapshot/journal/segment_file.h"
#include "snapshot/journal/session_rules.h"
#include "snapshot/journal/sum_file.h"

namespace lapwing {
namespace {

constexpr std::size_t kSumsPerRead = 4096;

// Inspects one directory of segments. A header is untrusted until it is checked.
class Inspection {
 public:
  Inspection(Disk& disk, const JournalDirectory& directory) : disk_(disk), directory_(directory) {}

  absl::Status run();
  // Why this is not a journal; empty if it is one.
  const std::string& defect() const { return defect_; }
  UnlistedJournal take() { return std::move(journal_); }

 private:
  absl::Status look_at_header(std::uint64_t segment);
  absl::StatusOr<bool> find_newest_sum(std::uint64_t segment);
  std::string path(std::uint64_t segment, const char* suffix) const {
    return numbered_path(directory_.path, segment, suffix);
  }

  Disk& disk_;
  const JournalDirectory& directory_;
  UnlistedJournal journal_;
  bool has_header_ = false;
  std::string defect_;
};

// Returns the sizes in a header, or nullopt if a journal cannot have these sizes.
std::optional<JournalGeometry> sane_geometry(const SegmentHeader& header) {
  SessionBegin begin;
  begin.slot_bytes = header.slot_bytes;
  begin.record_bytes = header.record_bytes;
  begin.segment_slots = header.slot_count;
  if (header.slot_count > kSegmentSlotBytesMax || !session_geometry_defect(begin).empty()) {
    return std::nullopt;
  }
  const JournalGeometry geometry{header.slot_bytes, header.record_bytes, header.slot_count};
  const bool bounded = geometry.segment_bytes() <= kSegmentSlotBytesMax &&
                       header.segment < kSequenceMax / geometry.segment_slots;
  return bounded ? std::optional(geometry) : std::nullopt;
}

absl::Status Inspection::run() {
  journal_.journal_id = directory_.journal_id;
  journal_.directory = directory_.path;
  journal_.segments = directory_.segments.size();
  for (const std::uint64_t segment : directory_.segments) {
    const absl::Status status = look_at_header(segment);
    if (!status.ok() || !defect_.empty()) return status;
  }
  if (!has_header_) {
    defect_ = "no segment of it has a header that checks";
    return absl::OkStatus();
  }
  if (directory_.segments.back() >= kSequenceMax / journal_.geometry.segment_slots) {
    defect_ = absl::StrCat("its segment ", directory_.segments.back(), " is beyond any sequence");
    return absl::OkStatus();
  }
  journal_.oldest = journal_.geometry.segment_first(directory_.segments.front());
  journal_.through = journal_.geometry.segment_last(directory_.segments.back());
  bool found = false;
  for (auto segment = directory_.segments.rbegin(); !found && segment != directory_.segments.rend();
       ++segment) {
    const auto newest = find_newest_sum(*segment);
    if (!newest.ok()) return newest.status();
    found = *newest;
  }
  return absl::OkStatus();
}

// Invalid headers are ignored. Valid ones must agree with each other.
absl::Status Inspection::look_at_header(std::uint64_t segment) {
  const auto file = open_file(disk_, path(segment, "jnl"), {});
  if (errc_of(file.status()) == Errc::kNotALapwingFile) return absl::OkStatus();
  if (!file.ok()) return file.status();
  SegmentHeader header{};
  const auto read = disk_.read_at(file->get(), 0, std::as_writable_bytes(std::span(&header, 1)));
  if (!read.ok()) return read.status();
  const auto geometry = sane_geometry(header);
  if (!geometry ||
      !check_segment_header(header, directory_.journal_id, *geometry, segment, path(segment, "jnl"))
           .ok()) {
    return absl::OkStatus();
  }
  const SchemaLabel schema = get_schema(header);
  if (!std::exchange(has_header_, true)) {
    journal_.geometry = *geometry;
    journal_.schema.name = schema.name;
    journal_.created_wall_ns = header.created_wall_ns;
  } else if (journal_.geometry != *geometry || journal_.schema.name != schema.name) {
    defect_ =
        absl::StrCat("the headers of its segments contradict each other: ", path(segment, "jnl"),
                     " has other sizes or another schema");
  }
  // The schema may have changed to a later version. A release without schema hashes stores 0.
  if (schema.hash != 0) journal_.schema.hash = schema.hash;
  return absl::OkStatus();
}

// Finds the newest sequence that a sum of this segment covers. Checks all entries, because there
// may be holes between them.
absl::StatusOr<bool> Inspection::find_newest_sum(std::uint64_t segment) {
  const auto file = open_file(disk_, path(segment, "sum"), {});
  const Errc code = errc_of(file.status());
  if (code == Errc::kNotFound || code == Errc::kNotALapwingFile) return false;
  if (!file.ok()) return file.status();
  const JournalGeometry& geometry = journal_.geometry;
  const std::uint64_t base = segment * geometry.blocks_per_segment();
  std::vector<SumEntry> entries(kSumsPerRead);
  for (std::uint64_t at = 0; at < geometry.blocks_per_segment(); at += entries.size()) {
    std::fill(entries.begin(), entries.end(), SumEntry{});
    const auto read = disk_.read_at(file->get(), at * sizeof(SumEntry),
                                    std::as_writable_bytes(std::span(entries)));
    if (!read.ok()) return read.status();
    const std::uint64_t count =
        std::min<std::uint64_t>(entries.size(), geometry.blocks_per_segment() - at);
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::uint64_t block = base + at + i;
      if (check_sum_entry(journal_.journal_id, block, entries[i], geometry) != SumState::kValid) {
        continue;
      }
      journal_.proven = geometry.block_first(block) + entries[i].count - 1;
    }
  }
  return journal_.proven != 0;
}

}  // namespace

absl::StatusOr<UnlistedJournals> find_unlisted_journals(Disk& disk, const std::string& journal_root,
                                                        const SessionLog& log) {
  const auto directories = list_journals(disk, journal_root);
  if (!directories.ok()) return directories.status();
  UnlistedJournals found;
  for (const JournalDirectory& directory : *directories) {
    if (!log.sessions_of(directory.journal_id).empty()) continue;
    Inspection inspection(disk, directory);
    if (const absl::Status status = inspection.run(); !status.ok()) return status;
    if (inspection.defect().empty()) {
      found.journals.push_back(inspection.take());
    } else {
      found.left_aside.push_back(
          absl::StrCat(directory.path, " is left aside: ", inspection.defect()));
    }
  }
  std::stable_sort(found.journals.begin(), found.journals.end(),
                   [](const UnlistedJournal& one, const UnlistedJournal& other) {
                     return one.created_wall_ns < other.created_wall_ns;
                   });
  return found;
}

absl::Status append_failed_session(SessionLog& log, const UnlistedJournal& journal,
                                   const Id128& session_id, const Id128& boot_id) {
  SessionEntry begin{};
  begin.kind = SessionEntryKind::kBegin;
  begin.journal_id = journal.journal_id;
  begin.session_id = session_id;
  begin.boot_id = boot_id;
  begin.first = 1;
  begin.slot_bytes = journal.geometry.slot_bytes;
  begin.record_bytes = journal.geometry.record_bytes;
  begin.segment_slots = journal.geometry.segment_slots;
  begin.wall_ns = journal.created_wall_ns;
  set_schema(begin, journal.schema);
  absl::Status status = log.append(begin);
  if (status.ok()) status = log.append_reservation(journal.through);
  if (status.ok()) status = log.append_end(SessionEnd::kFailed, journal.proven);
  return status;
}

}  // namespace lapwing
