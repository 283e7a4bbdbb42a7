#include "snapshot/recording/record_file.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lapwing/error.h"
#include "proto/header_checksum.h"
#include "proto/record_file_format.h"
#include "proto/ring_layout.h"
#include "proto/text_field.h"
#include "snapshot/schema/kept_schemas.h"

namespace lapwing {
namespace {

constexpr char kFetchAgain[] = "; fetch the file again";

absl::Status bad_input(const std::string& what) {
  return make_error(Errc::kBadInput, what);
}

std::uint32_t head_bytes_with(std::size_t description_bytes) {
  const std::size_t end = sizeof(RecordFileHeader) + description_bytes;
  return static_cast<std::uint32_t>((end + kRecordFileAlignment - 1) / kRecordFileAlignment *
                                    kRecordFileAlignment);
}

bool is_record_size(std::uint32_t bytes) {
  return bytes >= kRecordBytesMin && bytes <= kRecordBytesMax;
}

bool is_of(const Schema& description, const std::string& schema, std::uint32_t record_bytes) {
  return description.name == schema && description.record_bytes == record_bytes;
}

RecordFileHeader load_header(std::span<const std::byte> prelude) {
  RecordFileHeader header;
  std::memcpy(&header, prelude.data(), sizeof header);
  return header;
}

// Returns what is invalid in a header whose checksum is correct, or "".
std::string defect_of(const RecordFileHeader& header) {
  if (!is_record_size(header.record_bytes)) {
    return absl::StrCat("records of ", header.record_bytes, " bytes");
  }
  if (header.description_bytes > kSchemaTextBytesMax) {
    return absl::StrCat("a description of ", header.description_bytes, " bytes");
  }
  if (header.header_bytes != head_bytes_with(header.description_bytes)) {
    return absl::StrCat("the first record at byte ", header.header_bytes,
                        " behind a description of ", header.description_bytes, " bytes");
  }
  if ((header.schema_hash == 0) != (header.description_bytes == 0)) {
    return "a description without its hash, or a hash without a description";
  }
  const bool is_name = header.schema[0] != 0 && header.schema[sizeof header.schema - 1] == 0;
  return is_name ? "" : "a schema that is not a name";
}

}  // namespace

absl::StatusOr<std::string> encode_record_file_head(const RecordFileHead& head) {
  RecordFileHeader header{};
  if (head.schema.empty() || head.schema.size() >= sizeof header.schema) {
    return make_error(Errc::kInvalidArgument,
                      absl::StrCat("\"", head.schema, "\" is not a schema name: give 1 to ",
                                   sizeof header.schema - 1, " bytes"));
  }
  if (!is_record_size(head.record_bytes)) {
    return make_error(
        Errc::kInvalidArgument,
        absl::StrCat("records of ", head.record_bytes, " bytes are not supported: use ",
                     kRecordBytesMin, " to ", kRecordBytesMax));
  }
  std::string text;
  if (head.description) {
    if (absl::Status valid = head.description->check(); !valid.ok()) return valid;
    if (!is_of(*head.description, head.schema, head.record_bytes)) {
      return make_error(
          Errc::kInvalidArgument,
          absl::StrCat("the description of ", head.description->name, " (",
                       head.description->record_bytes, " bytes) is not that of records of ",
                       head.schema, " (", head.record_bytes, " bytes)"));
    }
    text = head.description->text();
    header.schema_hash = Schema::hash_of(text);
  }
  header.magic = kRecordFileMagic;
  header.version = kRecordFileVersion;
  header.header_bytes = head_bytes_with(text.size());
  header.record_bytes = head.record_bytes;
  header.description_bytes = static_cast<std::uint32_t>(text.size());
  set_text(header.schema, head.schema);
  header.checksum = checksum_of(header);
  std::string bytes(reinterpret_cast<const char*>(&header), sizeof header);
  bytes += text;
  bytes.resize(header.header_bytes, '\0');
  return bytes;
}

absl::StatusOr<std::size_t> record_file_head_bytes(std::span<const std::byte> prelude) {
  constexpr char kDbnMagic[] = {'D', 'B', 'N'};
  if (prelude.size() >= sizeof kDbnMagic &&
      std::memcmp(prelude.data(), kDbnMagic, sizeof kDbnMagic) == 0) {
    return bad_input("is a DBN file, not a record file; give it as dbn:PATH");
  }
  const std::size_t magic_bytes = std::min(prelude.size(), sizeof kRecordFileMagic);
  if (std::memcmp(prelude.data(), &kRecordFileMagic, magic_bytes) != 0) {
    return bad_input(absl::StrCat("does not begin like a record file; give a ", kRecordFileSuffix,
                                  " or ", kRecordFileSuffix, ".zst file"));
  }
  if (prelude.size() < sizeof(RecordFileHeader)) {
    return bad_input(absl::StrCat("is cut off: it ends at byte ", prelude.size(),
                                  ", inside its header of ", sizeof(RecordFileHeader), " bytes",
                                  kFetchAgain));
  }
  const RecordFileHeader header = load_header(prelude);
  if (header.version != kRecordFileVersion) {
    return make_error(
        Errc::kUnsupported,
        absl::StrCat("is a record file of version ", header.version, ", this program reads ",
                     kRecordFileVersion, "; read it with the release that wrote it"));
  }
  if (header.checksum != checksum_of(header)) {
    return bad_input(
        absl::StrCat("is damaged: the checksum of its header is another one", kFetchAgain));
  }
  const std::string defect = defect_of(header);
  if (!defect.empty()) {
    return bad_input(absl::StrCat("contradicts itself: its header says ", defect,
                                  "; write the file again with the program that made it"));
  }
  return header.header_bytes;
}

absl::StatusOr<RecordFileHead> parse_record_file_head(std::span<const std::byte> bytes) {
  const absl::StatusOr<std::size_t> whole = record_file_head_bytes(bytes);
  if (!whole.ok()) return whole.status();
  if (bytes.size() < *whole) {
    return bad_input(absl::StrCat("is cut off: it ends at byte ", bytes.size(),
                                  ", inside its description, which ends at byte ", *whole,
                                  kFetchAgain));
  }
  const RecordFileHeader header = load_header(bytes);
  RecordFileHead head{.schema = get_text(header.schema), .record_bytes = header.record_bytes};
  if (header.description_bytes == 0) return head;
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()) + sizeof header,
                              header.description_bytes);
  absl::StatusOr<Schema> description =
      parse_with_hash(text, header.schema_hash, absl::StrCat("the text at byte ", sizeof header));
  if (errc_of(description.status()) == Errc::kUnsupported) {
    return make_error(Errc::kUnsupported, absl::StrCat("cannot be read by this release: ",
                                                       description.status().message()));
  }
  if (!description.ok()) {
    return bad_input(absl::StrCat("is damaged: ", description.status().message(), kFetchAgain));
  }
  if (!is_of(*description, head.schema, head.record_bytes)) {
    return bad_input(absl::StrCat("contradicts itself: its header says records of ", head.schema,
                                  ", ", head.record_bytes, " bytes, and its description ",
                                  description->name, ", ", description->record_bytes,
                                  " bytes; write the file again with the program that made it"));
  }
  head.description = *std::move(description);
  return head;
}

}  // namespace lapwing
