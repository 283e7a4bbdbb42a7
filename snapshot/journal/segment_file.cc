#include "snapshot/journal/segment_file.h"

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "lapwing/error.h"
#include "os/page.h"
#include "proto/header_checksum.h"

namespace lapwing {
namespace {

absl::Status damaged(const std::string& path, const std::string& what) {
  return make_error(Errc::kDamaged,
                    absl::StrCat(path, ": header at offset 0: ", what,
                                 "; `lapwing verify` shows all damage of the journal"));
}

}  // namespace

SegmentHeader make_segment_header(const Id128& journal_id, const JournalGeometry& geometry,
                                  std::uint64_t segment, const SchemaLabel& schema,
                                  std::uint64_t wall_ns) {
  SegmentHeader header{};
  header.magic = kSegmentMagic;
  header.version = kJournalVersion;
  header.header_bytes = kSegmentHeaderBytes;
  header.journal_id = journal_id;
  header.segment = segment;
  header.first_sequence = geometry.segment_first(segment);
  header.slot_count = geometry.segment_slots;
  header.slot_bytes = geometry.slot_bytes;
  header.record_bytes = geometry.record_bytes;
  header.created_wall_ns = wall_ns;
  set_schema(header, schema);
  header.checksum = checksum_of(header);
  return header;
}

absl::Status check_segment_header(const SegmentHeader& header, const Id128& journal_id,
                                  const JournalGeometry& geometry, std::uint64_t segment,
                                  const std::string& path) {
  if (header.magic != kSegmentMagic) {
    return make_error(Errc::kNotALapwingFile,
                      absl::StrCat(path,
                                   " does not begin like a journal segment; it was replaced or "
                                   "overwritten, restore it from a copy"));
  }
  if (header.version != kJournalVersion) {
    return make_error(Errc::kAbiMismatch,
                      absl::StrCat(path, " has journal version ", header.version,
                                   ", this program reads ", kJournalVersion));
  }
  if (header.checksum != checksum_of(header)) return damaged(path, "checksum mismatch");
  if (header.journal_id != journal_id) {
    return damaged(path, absl::StrCat("belongs to journal ", header.journal_id.hex()));
  }
  if (header.segment != segment || header.first_sequence != geometry.segment_first(segment)) {
    return damaged(path, absl::StrCat("is segment ", header.segment, " under another's name"));
  }
  if (header.header_bytes != kSegmentHeaderBytes || header.slot_count != geometry.segment_slots ||
      header.slot_bytes != geometry.slot_bytes || header.record_bytes != geometry.record_bytes) {
    return damaged(path, "sizes differ from the journal's");
  }
  return absl::OkStatus();
}

absl::Status release_reserved_space(Disk& disk, FileHandle jnl, const JournalGeometry& geometry,
                                    Sequence last) {
  const std::uint64_t begin =
      geometry.offset_of(geometry.block_first(geometry.block_of(last))) + kPageBytes;
  const std::uint64_t end = segment_file_bytes(geometry);
  if (begin == end) return absl::OkStatus();
  const absl::Status status = disk.punch_hole(jnl, begin, end - begin);
  const int sys_errno = errno_of(status);
  return sys_errno == EOPNOTSUPP || sys_errno == ENOSYS ? absl::OkStatus() : status;
}

}  // namespace lapwing
