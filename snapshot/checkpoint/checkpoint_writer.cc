#include "snapshot/checkpoint/checkpoint_writer.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "lapwing/error.h"
#include "os/kernel.h"
#include "proto/checkpoint_format.h"
#include "snapshot/checkpoint/checkpoint_directory.h"
#include "snapshot/checkpoint/checkpoint_header.h"
#include "snapshot/wide_xxh3.h"

namespace lapwing {
namespace {

// The maximum number of unsynced bytes in the page cache. A sync of gigabytes at once would delay
// the syncs of the journal, which is on the same disk.
constexpr std::uint64_t kUnsyncedBytesMax = 64 * 1024 * 1024;
// Read-only, so that not even its owner can open a finished checkpoint for writing by mistake.
constexpr unsigned kCheckpointPermissions = 0400;

absl::Status check_arguments(const FoldShape& shape, const CheckpointIdentity& identity) {
  const bool texts = !shape.name.empty() && shape.name.size() < sizeof(CheckpointHeader::fold) &&
                     !shape.schema.empty() &&
                     shape.schema.size() < sizeof(CheckpointHeader::schema);
  const bool sizes = shape.entry_bytes > 0 && shape.entry_bytes <= kEntryBytesMax &&
                     shape.key_bytes > 0 && shape.key_bytes <= kKeyBytesMax;
  if (!texts || !sizes) {
    return make_error(Errc::kInvalidArgument,
                      absl::StrCat("a checkpoint cannot hold the fold '", shape.name,
                                   "' of schema '", shape.schema, "' with entries of ",
                                   shape.entry_bytes, " and keys of ", shape.key_bytes, " bytes"));
  }
  if (identity.sequence == kNoSequence || identity.sequence > kSequenceMax) {
    return make_error(Errc::kInvalidArgument,
                      absl::StrCat("a checkpoint cannot be as of sequence ", identity.sequence));
  }
  return absl::OkStatus();
}

}  // namespace

class CheckpointWriter::Impl {
 public:
  Impl(Disk& disk, std::string directory, const Fold& fold, const CheckpointIdentity& identity,
       std::size_t write_bytes)
      : disk_(disk),
        directory_(std::move(directory)),
        path_(checkpoint_path(directory_, identity.sequence)),
        temporary_(path_ + kTemporarySuffix),
        fold_(fold),
        identity_(identity),
        buffer_(write_bytes) {}

  ~Impl() { drop(); }

  absl::Status open() {
    const auto stale = disk_.exists(temporary_);
    if (!stale.ok()) return stale.status();
    const absl::Status removed = *stale ? disk_.remove(temporary_) : absl::OkStatus();
    if (!removed.ok()) return removed;
    const auto file =
        disk_.open(temporary_, {.mode = OpenMode::kCreate, .permissions = kCheckpointPermissions});
    if (!file.ok()) return file.status();
    file_ = OpenFile(disk_, *file);
    return absl::OkStatus();
  }

  absl::Status append(std::span<const std::byte> entries) {
    if (!failure_.ok()) return failure_;
    absl::Status status = check_entries(entries);
    while (status.ok() && !entries.empty()) {
      const std::size_t count = std::min(entries.size(), buffer_.size() - filled_);
      std::memcpy(buffer_.data() + filled_, entries.data(), count);
      filled_ += count;
      entries = entries.subspan(count);
      if (filled_ == buffer_.size()) status = flush();
    }
    return settle(std::move(status));
  }

  absl::Status commit() {
    if (!failure_.ok()) return failure_;
    absl::Status status = flush();
    if (status.ok()) status = write_end();
    if (status.ok()) status = disk_.sync(file_.get());
    if (status.ok()) status = disk_.rename(temporary_, path_);
    if (!settle(status).ok()) return status;
    file_.close();
    failure_ = make_error(Errc::kInvalidArgument, absl::StrCat(path_, " is committed"));
    return disk_.sync_directory(directory_);
  }

 private:
  // Requires whole entries, each with a key greater than the previous one.
  absl::Status check_entries(std::span<const std::byte> entries) {
    const FoldShape& shape = fold_.shape();
    if (entries.size() % shape.entry_bytes != 0) {
      return make_error(Errc::kInvalidArgument,
                        absl::StrCat(entries.size(), " bytes are not whole entries of ",
                                     shape.entry_bytes, " bytes, for ", path_));
    }
    std::array<std::byte, kKeyBytesMax> key{};
    for (std::size_t at = 0; at < entries.size(); at += shape.entry_bytes) {
      fold_.key_of(entries.subspan(at, shape.entry_bytes), std::span(key).first(shape.key_bytes));
      if (entry_count_ > 0 && std::memcmp(key.data(), last_key_.data(), shape.key_bytes) <= 0) {
        return make_error(
            Errc::kInvalidArgument,
            absl::StrCat("entry ", entry_count_, " for ", path_,
                         " has a key that is not above the key of the entry before it"));
      }
      last_key_ = key;
      ++entry_count_;
    }
    return absl::OkStatus();
  }

  // Sums and writes the content of the buffer: whole blocks, except at the end.
  absl::Status flush() {
    for (std::size_t at = 0; at < filled_; at += kCheckpointBlockBytes) {
      const std::size_t bytes = std::min<std::size_t>(kCheckpointBlockBytes, filled_ - at);
      sums_.push_back(XXH3_64bits_withSeed(buffer_.data() + at, bytes, sums_.size()));
    }
    absl::Status status = write(std::span(buffer_).first(filled_));
    filled_ = 0;
    return status;
  }

  absl::Status write(std::span<const std::byte> bytes) {
    absl::Status status = disk_.write_at(file_.get(), offset_, bytes);
    offset_ += bytes.size();
    unsynced_bytes_ += bytes.size();
    if (!status.ok() || unsynced_bytes_ < kUnsyncedBytesMax) return status;
    unsynced_bytes_ = 0;
    return disk_.sync(file_.get());
  }

  // Writes padding and sums, then the header. A file without a header is not a checkpoint,
  // regardless of its name.
  absl::Status write_end() {
    const CheckpointLayout layout = checkpoint_layout(entry_count_, fold_.shape().entry_bytes);
    constexpr std::array<std::byte, 8> kZeros{};
    absl::Status status = write(std::span(kZeros).first(layout.sums_offset - offset_));
    const auto sums = std::as_bytes(std::span(sums_));
    if (status.ok()) status = write(sums);
    const CheckpointHeader header = make_checkpoint_header(
        fold_.shape(), identity_, wall_ns(), entry_count_, XXH3_64bits(sums.data(), sums.size()));
    if (status.ok()) {
      status = disk_.write_at(file_.get(), 0, std::as_bytes(std::span(&header, 1)));
    }
    return status;
  }

  absl::Status settle(absl::Status status) {
    if (!status.ok()) {
      failure_ = status;
      drop();
    }
    return status;
  }

  // Removes an unfinished file, to free its space.
  void drop() {
    if (!file_.valid()) return;
    file_.close();
    disk_.remove(temporary_).IgnoreError();  // if it fails, retain_checkpoints() removes the file
  }

  Disk& disk_;
  const std::string directory_;
  const std::string path_;
  const std::string temporary_;
  const Fold& fold_;
  const CheckpointIdentity identity_;
  OpenFile file_;
  std::vector<std::byte> buffer_;
  std::size_t filled_ = 0;
  std::uint64_t offset_ = kCheckpointHeaderBytes;  // file offset of the buffer's first byte
  std::uint64_t unsynced_bytes_ = 0;
  std::vector<std::uint64_t> sums_;
  std::uint64_t entry_count_ = 0;
  std::array<std::byte, kKeyBytesMax> last_key_{};
  absl::Status failure_;
};

absl::StatusOr<CheckpointWriter> CheckpointWriter::create(Disk& disk, const std::string& directory,
                                                          const Fold& fold,
                                                          const CheckpointIdentity& identity,
                                                          std::size_t write_bytes) {
  absl::Status status = check_arguments(fold.shape(), identity);
  if (!status.ok()) return status;
  auto impl = std::make_unique<Impl>(disk, directory, fold, identity, write_bytes);
  status = impl->open();
  if (!status.ok()) return status;
  return CheckpointWriter(std::move(impl));
}

CheckpointWriter::CheckpointWriter(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
CheckpointWriter::CheckpointWriter(CheckpointWriter&&) noexcept = default;
CheckpointWriter& CheckpointWriter::operator=(CheckpointWriter&&) noexcept = default;
CheckpointWriter::~CheckpointWriter() = default;

absl::Status CheckpointWriter::append(std::span<const std::byte> entries) {
  return impl_->append(entries);
}

absl::Status CheckpointWriter::commit() {
  return impl_->commit();
}

}  // namespace lapwing
