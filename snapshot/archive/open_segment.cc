#include "snapshot/archive/open_segment.h"

#include <cstring>

#include "absl/strings/str_cat.h"
#include "lapwing/error.h"
#include "os/whole_file.h"
#include "snapshot/journal/segment_file.h"
#include "snapshot/journal/sum_file.h"
#include "snapshot/journal/time_index.h"

namespace lapwing {

std::string SegmentFiles::unfinished_path(std::uint64_t number, const char* suffix) const {
  return path(number, suffix) + kUnfinishedSuffix;
}

absl::StatusOr<OpenFile> SegmentFiles::open(const std::string& path, OpenMode mode, bool direct) {
  return open_file(disk(), path,
                   {.mode = mode, .direct = direct, .permissions = options_.file_permissions});
}

absl::StatusOr<OpenFile> SegmentFiles::create(std::uint64_t number, const char* suffix,
                                              bool direct) {
  return create_unfinished(disk(), path(number, suffix),
                           {.direct = direct, .permissions = options_.file_permissions});
}

// The first .jnl, opened without direct I/O, determines whether direct I/O is used. If so, the file
// is reopened.
absl::StatusOr<OpenFile> SegmentFiles::choose_io(absl::StatusOr<OpenFile> data,
                                                 const std::string& path) {
  if (!data.ok() || direct_.has_value()) return data;
  const std::uint32_t alignment = options_.try_direct_io ? disk().direct_alignment(data->get()) : 0;
  direct_ = alignment != 0 && alignment <= kPageBytes;
  if (!*direct_) return data;
  return open(path, OpenMode::kReadWrite, true);
}

absl::Status SegmentFiles::create(std::uint64_t number, OpenSegment& segment) {
  auto data =
      choose_io(create(number, "jnl", direct_.value_or(false)), unfinished_path(number, "jnl"));
  if (!data.ok()) return data.status();
  auto sums = create(number, "sum");
  if (!sums.ok()) return sums.status();
  auto index = create(number, "idx");
  if (!index.ok()) return index.status();
  segment.number = number;
  segment.data = *std::move(data);
  segment.sums = *std::move(sums);
  segment.index = *std::move(index);
  return absl::OkStatus();
}

absl::Status SegmentFiles::open_existing(std::uint64_t number, OpenSegment& segment) {
  const std::string name = path(number, "jnl");
  auto data = choose_io(open(name, OpenMode::kReadWrite, direct_.value_or(false)), name);
  if (!data.ok()) return data.status();
  if (const absl::Status status = check_data(*data, number); !status.ok()) return status;
  auto sums = open(path(number, "sum"), OpenMode::kReadWrite);
  if (!sums.ok()) return sums.status();
  const auto sums_size = disk().size(sums->get());
  if (!sums_size.ok()) return sums_size.status();
  if (*sums_size != sum_file_bytes(journal().geometry)) {
    return make_error(Errc::kDamaged,
                      absl::StrCat(path(number, "sum"), " has ", *sums_size, " bytes instead of ",
                                   sum_file_bytes(journal().geometry)));
  }
  // The index is only a hint. If the file was removed, the index starts empty.
  auto index = open(path(number, "idx"), OpenMode::kReadWrite);
  if (errc_of(index.status()) == Errc::kNotFound) {
    index = open(path(number, "idx"), OpenMode::kCreate);
  }
  if (!index.ok()) return index.status();
  segment.number = number;
  segment.data = *std::move(data);
  segment.sums = *std::move(sums);
  segment.index = *std::move(index);
  return find_index_end(segment);
}

absl::Status SegmentFiles::check_data(const OpenFile& data, std::uint64_t number) {
  const std::string name = path(number, "jnl");
  const auto size = disk().size(data.get());
  if (!size.ok()) return size.status();
  if (*size != segment_file_bytes(journal().geometry)) {
    return make_error(Errc::kDamaged, absl::StrCat(name, " has ", *size, " bytes instead of ",
                                                   segment_file_bytes(journal().geometry)));
  }
  Page page{};
  const auto got = disk().read_at(data.get(), 0, page.bytes);
  if (!got.ok()) return got.status();
  SegmentHeader header;
  std::memcpy(&header, page.bytes.data(), sizeof header);
  return check_segment_header(header, journal().journal_id, journal().geometry, number, name);
}

absl::Status SegmentFiles::find_index_end(OpenSegment& segment) {
  const auto size = disk().size(segment.index.get());
  if (!size.ok()) return size.status();
  const auto newest = newest_time_entry(disk(), segment.index.get(), journal().journal_id);
  if (!newest.ok()) return newest.status();
  // The next entry overwrites a torn last entry.
  segment.index_bytes = *size - *size % sizeof(TimeEntry);
  segment.index_wall_ns = newest->has_value() ? (*newest)->wall_ns : 0;
  return absl::OkStatus();
}

}  // namespace lapwing
