#include "snapshot/checkpoint/checkpoint_header.h"

#include <limits>

#include "absl/strings/str_cat.h"
#include "lapwing/error.h"
#include "proto/header_checksum.h"
#include "proto/text_field.h"

namespace lapwing {
namespace {

constexpr std::uint64_t kSumsAlignment = 8;
// The maximum file length. Smaller values can be multiplied and rounded up without overflow.
constexpr std::uint64_t kFileBytesMax = std::numeric_limits<std::int64_t>::max();

template <std::size_t kBytes>
bool is_text(const char (&field)[kBytes]) {
  return field[0] != 0 && field[kBytes - 1] == 0;
}

// Returns what is invalid in a header whose checksum is correct, or "".
std::string field_defect(const CheckpointHeader& header) {
  if (header.header_bytes != kCheckpointHeaderBytes ||
      header.block_bytes != kCheckpointBlockBytes) {
    return absl::StrCat("header of ", header.header_bytes, " and blocks of ", header.block_bytes,
                        " bytes");
  }
  if (header.entry_bytes == 0 || header.entry_bytes > kEntryBytesMax) {
    return absl::StrCat("entries of ", header.entry_bytes, " bytes");
  }
  if (header.entry_count > kFileBytesMax / 2 / header.entry_bytes) {
    return absl::StrCat(header.entry_count, " entries");
  }
  if (header.sums_offset != checkpoint_layout(header.entry_count, header.entry_bytes).sums_offset) {
    return absl::StrCat("sums at offset ", header.sums_offset);
  }
  if (header.sequence == kNoSequence || header.sequence > kSequenceMax) {
    return absl::StrCat("as of sequence ", header.sequence);
  }
  if (!is_text(header.schema) || !is_text(header.fold)) return "schema or fold is not text";
  return "";
}

}  // namespace

CheckpointLayout checkpoint_layout(std::uint64_t entry_count, std::uint32_t entry_bytes) {
  CheckpointLayout layout;
  layout.entries_bytes = entry_count * entry_bytes;
  layout.block_count = (layout.entries_bytes + kCheckpointBlockBytes - 1) / kCheckpointBlockBytes;
  layout.sums_offset = (kCheckpointHeaderBytes + layout.entries_bytes + kSumsAlignment - 1) /
                       kSumsAlignment * kSumsAlignment;
  layout.file_bytes = layout.sums_offset + layout.block_count * sizeof(std::uint64_t);
  return layout;
}

CheckpointHeader make_checkpoint_header(const FoldShape& shape, const CheckpointIdentity& identity,
                                        std::uint64_t created_wall_ns, std::uint64_t entry_count,
                                        std::uint64_t sums_sum) {
  CheckpointHeader header{};
  header.magic = kCheckpointMagic;
  header.version = kCheckpointVersion;
  header.header_bytes = kCheckpointHeaderBytes;
  header.journal_id = identity.journal_id;
  header.session_id = identity.session_id;
  header.sequence = identity.sequence;
  header.created_wall_ns = created_wall_ns;
  header.entry_count = entry_count;
  header.entry_bytes = shape.entry_bytes;
  header.block_bytes = kCheckpointBlockBytes;
  header.sums_offset = checkpoint_layout(entry_count, shape.entry_bytes).sums_offset;
  header.sums_sum = sums_sum;
  header.record_bytes = shape.record_bytes;
  header.fold_version = shape.version;
  set_text(header.schema, shape.schema);
  set_text(header.fold, shape.name);
  header.checksum = checksum_of(header);
  return header;
}

absl::Status check_checkpoint_header(const CheckpointHeader& header, std::uint64_t file_bytes,
                                     const std::string& path) {
  if (header.magic != kCheckpointMagic) {
    return make_error(Errc::kNotALapwingFile,
                      absl::StrCat(path,
                                   ": header at offset 0: does not begin like a checkpoint; it was "
                                   "replaced or overwritten, remove it"));
  }
  if (header.version != kCheckpointVersion) {
    return make_error(Errc::kAbiMismatch,
                      absl::StrCat(path, ": header at offset 0: checkpoint version ",
                                   header.version, ", this program reads ", kCheckpointVersion,
                                   "; let a checkpointer of this release write another"));
  }
  if (header.checksum != checksum_of(header)) {
    return checkpoint_damage(path, "header at offset 0: checksum mismatch");
  }
  const std::string defect = field_defect(header);
  if (!defect.empty()) return checkpoint_damage(path, "header at offset 0: " + defect);
  const CheckpointLayout layout = checkpoint_layout(header.entry_count, header.entry_bytes);
  if (file_bytes == layout.file_bytes) return absl::OkStatus();
  if (file_bytes > layout.file_bytes) {
    return checkpoint_damage(path, absl::StrCat("has ", file_bytes, " bytes; it had ",
                                                layout.file_bytes, ", and something was appended"));
  }
  const std::uint64_t block = (file_bytes - kCheckpointHeaderBytes) / kCheckpointBlockBytes;
  const std::string where = file_bytes < kCheckpointHeaderBytes + layout.entries_bytes
                                ? absl::StrCat("in block ", block, " of ", layout.block_count)
                                : "before the end of its sums";
  return checkpoint_damage(
      path, absl::StrCat("ends at offset ", file_bytes, ", ", where, "; it had ", layout.file_bytes,
                         " bytes and was cut short"));
}

absl::Status checkpoint_damage(const std::string& path, const std::string& what) {
  return make_error(
      Errc::kDamaged,
      absl::StrCat(path, ": ", what, "; remove it, the checkpointer writes another one"));
}

}  // namespace lapwing
