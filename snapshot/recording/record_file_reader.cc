#include "snapshot/recording/record_file_reader.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lapwing/error.h"
#include "proto/record_file_format.h"

namespace lapwing {

absl::StatusOr<std::unique_ptr<RecordFileReader>> RecordFileReader::open(const std::string& path,
                                                                         Stopped stopped) {
  auto source = ByteSource::open(path, std::move(stopped));
  if (!source.ok()) return source.status();
  return open(*std::move(source));
}

absl::StatusOr<std::unique_ptr<RecordFileReader>> RecordFileReader::open(
    std::unique_ptr<ByteSource> source) {
  std::unique_ptr<RecordFileReader> reader(new RecordFileReader(std::move(source)));
  absl::StatusOr<std::string> raw_head = reader->read_head();
  if (!raw_head.ok()) return raw_head.status();
  absl::StatusOr<RecordFileHead> head = parse_record_file_head(std::as_bytes(std::span(*raw_head)));
  if (!head.ok()) return reader->head_error(head.status());
  reader->raw_head_ = *std::move(raw_head);
  reader->head_ = *std::move(head);
  const std::size_t record_bytes = reader->head_.record_bytes;
  reader->buffer_.resize(kRecordFileBufferBytes / record_bytes * record_bytes);
  return reader;
}

absl::Status RecordFileReader::rewind() {
  if (auto status = source_->rewind(); !status.ok()) return status;
  begin_ = end_ = 0;
  records_ = 0;
  failure_ = absl::OkStatus();
  const absl::StatusOr<std::string> raw_head = read_head();
  if (!raw_head.ok()) return raw_head.status();
  if (*raw_head == raw_head_) return absl::OkStatus();
  return make_error(Errc::kBadInput,
                    absl::StrCat(name(), " was rewritten while it was being read. Start again"));
}

// Reads the head unchanged; its length is in its first bytes.
absl::StatusOr<std::string> RecordFileReader::read_head() {
  std::string head(sizeof(RecordFileHeader), '\0');
  auto bytes = std::as_writable_bytes(std::span(head));
  absl::StatusOr<std::size_t> have = source_->read_whole(bytes);
  if (!have.ok()) return have.status();
  if (*have == 0) {
    return make_error(Errc::kBadInput, absl::StrCat(name(), " is empty; give a ", kRecordFileSuffix,
                                                    " or ", kRecordFileSuffix, ".zst file"));
  }
  const absl::StatusOr<std::size_t> whole = record_file_head_bytes(bytes.first(*have));
  if (!whole.ok()) return head_error(whole.status());
  head.resize(*whole);
  bytes = std::as_writable_bytes(std::span(head)).subspan(sizeof(RecordFileHeader));
  have = source_->read_whole(bytes);
  if (!have.ok()) return have.status();
  head.resize(sizeof(RecordFileHeader) + *have);  // parse_record_file_head() reports a missing part
  return head;
}

absl::StatusOr<std::span<std::byte>> RecordFileReader::next(std::size_t records_max) {
  if (!failure_.ok()) return failure_;
  const std::size_t record_bytes = head_.record_bytes;
  if (end_ - begin_ < record_bytes) {
    if (auto status = refill(); !status.ok()) return fail(status);
  }
  const std::size_t count = std::min((end_ - begin_) / record_bytes, records_max);
  const auto records = std::span(buffer_).subspan(begin_, count * record_bytes);
  begin_ += records.size();
  records_ += count;
  return records;
}

// Reads until a whole record is available. At the end of the input, begin_ == end_ afterwards.
absl::Status RecordFileReader::refill() {
  std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
  end_ -= begin_;
  begin_ = 0;
  while (end_ < head_.record_bytes) {
    const auto count = source_->read(std::span(buffer_).subspan(end_));
    if (!count.ok()) return count.status();
    if (*count == 0) break;
    end_ += *count;
  }
  if (end_ == 0 || end_ >= head_.record_bytes) return absl::OkStatus();
  const std::uint64_t offset = source_->decoded_offset() - end_;
  return make_error(Errc::kBadInput,
                    absl::StrCat(name(), ": record ", records_ + 1, " at ", source_->place(offset),
                                 " is cut off: ", end_, " of its ", head_.record_bytes,
                                 " bytes are there, and are ignored; all records before it are "
                                 "complete. Fetch the file again"));
}

absl::Status RecordFileReader::fail(const absl::Status& status) {
  if (errc_of(status) == Errc::kTimedOut) return status;  // a partial record is kept
  failure_ = make_error(errc_of(status),
                        absl::StrCat(status.message(), " [", records_, " records came before]"));
  return failure_;
}

absl::Status RecordFileReader::head_error(const absl::Status& status) const {
  return make_error(errc_of(status), absl::StrCat(name(), " ", status.message()));
}

}  // namespace lapwing
