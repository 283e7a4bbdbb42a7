#include "snapshot/dbn/dbn_reader.h"

#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lapwing/dbn.h"
#include "lapwing/error.h"
#include "proto/hot_sizes.h"

namespace lapwing {
namespace {

static_assert(kHotSizes[0] == sizeof(dbn::MboMsg) && kHotSizes[1] == sizeof(dbn::Mbp1Msg),
              "the hot sizes are those of MboMsg and Mbp1Msg");

absl::string_view message_of(const absl::Status& status) {
  return status.message();
}

}  // namespace

absl::StatusOr<std::unique_ptr<DbnReader>> DbnReader::open(const std::string& path,
                                                           Stopped stopped) {
  auto source = ByteSource::open(path, std::move(stopped));
  if (!source.ok()) return source.status();
  return open(*std::move(source));
}

absl::StatusOr<std::unique_ptr<DbnReader>> DbnReader::open(std::unique_ptr<ByteSource> source) {
  std::unique_ptr<DbnReader> reader(new DbnReader(std::move(source)));
  if (auto status = reader->read_metadata(); !status.ok()) return status;
  return reader;
}

absl::Status DbnReader::rewind() {
  if (auto status = source_->rewind(); !status.ok()) return status;
  begin_ = end_ = 0;
  records_ = 0;
  failure_ = absl::OkStatus();
  return read_metadata();
}

absl::Status DbnReader::read_metadata() {
  raw_metadata_.resize(dbn::kPreludeBytes);
  auto bytes = std::as_writable_bytes(std::span(raw_metadata_));
  if (auto status = read_exactly(bytes, 0); !status.ok()) return status;
  const auto whole = dbn::metadata_bytes(bytes);
  if (!whole.ok()) {
    return make_error(Errc::kBadInput, absl::StrCat(name(), ": ", message_of(whole.status())));
  }
  raw_metadata_.resize(*whole);
  bytes = std::as_writable_bytes(std::span(raw_metadata_));
  if (auto status = read_exactly(bytes, dbn::kPreludeBytes); !status.ok()) return status;
  auto metadata = dbn::parse_metadata(bytes);
  if (!metadata.ok()) {
    return make_error(Errc::kBadInput, absl::StrCat(name(), ": ", message_of(metadata.status())));
  }
  metadata_ = *std::move(metadata);
  return absl::OkStatus();
}

// Reads metadata into `out`, from byte `already` on.
absl::Status DbnReader::read_exactly(std::span<std::byte> out, std::size_t already) {
  const auto count = source_->read_whole(out.subspan(already));
  if (!count.ok()) return count.status();
  const std::size_t have = already + *count;
  if (have == out.size()) return absl::OkStatus();
  if (have == 0) {
    return make_error(Errc::kBadInput,
                      absl::StrCat(name(), " is empty; give a .dbn or .dbn.zst file"));
  }
  if (out.size() == dbn::kPreludeBytes) {
    // If the available bytes do not begin like DBN, that is the more useful error.
    const auto short_prelude = dbn::metadata_bytes(out.first(have));
    if (std::memcmp(out.data(), "DBN", std::min<std::size_t>(have, 3)) != 0) {
      return make_error(Errc::kBadInput,
                        absl::StrCat(name(), ": ", message_of(short_prelude.status())));
    }
  }
  return make_error(Errc::kBadInput,
                    absl::StrCat(name(), " is cut off: it ends at byte ", have,
                                 ", inside the DBN metadata; fetch the file again"));
}

// True for an impossible length or the beginning of another file. The rest is then not trusted.
bool DbnReader::malformed() const {
  return record_bytes() < sizeof(dbn::RecordHeader) ||
         std::memcmp(buffer_.data() + begin_, "DBN", 3) == 0;
}

absl::StatusOr<std::span<const std::byte>> DbnReader::take() {
  if (begin_ == end_) return std::span<const std::byte>();
  if (malformed()) {
    return fail(record_error(
        record_bytes() < sizeof(dbn::RecordHeader)
            ? absl::StrCat("has a length field of ", record_bytes(),
                           " bytes, but its header takes ", sizeof(dbn::RecordHeader),
                           "; the data from there on cannot be read")
            : std::string("is the beginning of another DBN file; give the files one by one")));
  }
  const std::span<const std::byte> record(buffer_.data() + begin_, record_bytes());
  begin_ += record.size();
  ++records_;
  return record;
}

// Reads until a whole record is available. At the end of the input, begin_ == end_ afterwards.
absl::Status DbnReader::refill() {
  std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
  end_ -= begin_;
  begin_ = 0;
  while (!buffered()) {
    const auto count = source_->read(std::span(buffer_).subspan(end_));
    if (!count.ok()) return count.status();
    if (*count == 0) {
      if (end_ == 0) return absl::OkStatus();
      return record_error(absl::StrCat(
          "is cut off: ", end_, " of its ",
          end_ < sizeof(dbn::RecordHeader) ? "bytes" : absl::StrCat(record_bytes(), " bytes"),
          " are there; all records before it are complete. Fetch the file again"));
    }
    end_ += *count;
  }
  return absl::OkStatus();
}

absl::Status DbnReader::fail(const absl::Status& status) {
  if (errc_of(status) == Errc::kTimedOut) return status;  // a partial record is kept
  failure_ = make_error(errc_of(status),
                        absl::StrCat(message_of(status), " [", records_, " records came before]"));
  return failure_;
}

absl::Status DbnReader::record_error(const std::string& what) const {
  const std::uint64_t offset = source_->decoded_offset() - (end_ - begin_);
  return make_error(Errc::kBadInput, absl::StrCat(name(), ": record ", records_ + 1, " at ",
                                                  source_->place(offset), " ", what));
}

}  // namespace lapwing
