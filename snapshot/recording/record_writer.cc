#include "snapshot/recording/record_writer.h"

#include <zstd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "lapwing/error.h"
#include "os/path.h"
#include "os/whole_file.h"

namespace lapwing {
namespace {

absl::Status check_free(Disk& disk, const std::string& path) {
  const auto exists = disk.exists(path);
  if (!exists.ok() || !*exists) return exists.status();
  return make_error(Errc::kInvalidArgument,
                    absl::StrCat(path, " exists already. Remove it or name another file"));
}

absl::Status written_by_another(const std::string& path) {
  return make_error(Errc::kInUse, absl::StrCat("another process is writing ", path, " (as ", path,
                                               kUnfinishedSuffix,
                                               "). Wait until it ends, or name another file."));
}

}  // namespace

struct RecordWriter::Encoder {
  ZSTD_CCtx* context = ZSTD_createCCtx();
  std::vector<std::byte> out = std::vector<std::byte>(ZSTD_CStreamOutSize());

  // Adds a checksum to each frame, so damage to a recording is found when it is read.
  Encoder() { ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1); }
  Encoder(const Encoder&) = delete;
  Encoder& operator=(const Encoder&) = delete;
  ~Encoder() { ZSTD_freeCCtx(context); }
};

absl::StatusOr<std::unique_ptr<RecordWriter>> RecordWriter::create(Disk& disk,
                                                                   const std::string& path,
                                                                   std::string_view head,
                                                                   std::size_t record_bytes) {
  return create(disk, path, head, record_bytes, Naming::kAtOnce);
}

absl::StatusOr<std::unique_ptr<RecordWriter>> RecordWriter::create_whole(Disk& disk,
                                                                         const std::string& path,
                                                                         std::string_view head,
                                                                         std::size_t record_bytes) {
  return create(disk, path, head, record_bytes, Naming::kWhenWhole);
}

absl::StatusOr<std::unique_ptr<RecordWriter>> RecordWriter::create(Disk& disk,
                                                                   const std::string& path,
                                                                   std::string_view head,
                                                                   std::size_t record_bytes,
                                                                   Naming naming) {
  if (auto status = check_free(disk, path); !status.ok()) return status;
  std::unique_ptr<RecordWriter> writer(new RecordWriter(disk, path, record_bytes, naming));
  if (auto status = writer->open(OpenMode::kCreate); !status.ok()) return status;
  // Write the head at once for programs that follow the file.
  if (auto status = writer->emit(std::as_bytes(std::span(head)), Drain::kFlush); !status.ok()) {
    writer->discard();
    return status;
  }
  return writer;
}

absl::StatusOr<std::unique_ptr<RecordWriter>> RecordWriter::resume(Disk& disk,
                                                                   const std::string& path,
                                                                   std::uint64_t committed_bytes,
                                                                   std::size_t record_bytes) {
  std::unique_ptr<RecordWriter> writer(new RecordWriter(disk, path, record_bytes, Naming::kAtOnce));
  if (auto status = writer->open(OpenMode::kReadWrite); !status.ok()) return status;
  if (auto status = writer->cut_back(committed_bytes); !status.ok()) {
    writer->finished_ = true;
    return status;
  }
  return writer;
}

RecordWriter::RecordWriter(Disk& disk, std::string path, std::size_t record_bytes, Naming naming)
    : disk_(disk),
      path_(std::move(path)),
      naming_(naming),
      open_path_(naming == Naming::kWhenWhole ? path_ + kUnfinishedSuffix : path_),
      record_bytes_(record_bytes),
      staged_(kRecordWriteBufferBytes / record_bytes * record_bytes),
      encoder_(absl::EndsWith(path_, kZstdSuffix) ? std::make_unique<Encoder>() : nullptr) {}

// Finishes the file if its owner has not done so, provided that it already has its name. Only
// finish() reports errors.
RecordWriter::~RecordWriter() {
  if (naming_ == Naming::kAtOnce) {
    finish().IgnoreError();
  } else if (!finished_) {
    discard();
  }
}

absl::Status RecordWriter::open(OpenMode mode) {
  if (naming_ == Naming::kWhenWhole) {
    if (auto status = remove_stale(); !status.ok()) {
      finished_ = true;
      return status;
    }
  }
  auto file = open_file(disk_, open_path_, {.mode = mode, .permissions = kRecordingPermissions});
  if (!file.ok()) {
    finished_ = true;
    return file.status();
  }
  file_ = *std::move(file);
  if (naming_ == Naming::kWhenWhole) {
    if (auto status = disk_.lock(file_.get(), 0); !status.ok()) {
      finished_ = true;
      return errc_of(status) == Errc::kInUse ? written_by_another(path_) : status;
    }
  }
  const auto size = disk_.size(file_.get());
  if (!size.ok()) return fail(size.status());
  file_bytes_ = *size;
  return absl::OkStatus();
}

// Removes the temporary file of a killed process. A file that another process is still writing is
// locked, and therefore not stale.
absl::Status RecordWriter::remove_stale() const {
  auto file = open_file(disk_, open_path_, {.mode = OpenMode::kReadWrite});
  if (errc_of(file.status()) == Errc::kNotFound) return absl::OkStatus();
  if (!file.ok()) return file.status();
  const absl::Status locked = disk_.lock(file->get(), 0);
  if (errc_of(locked) == Errc::kInUse) return written_by_another(path_);
  return locked.ok() ? remove_if_there(disk_, open_path_) : locked;
}

// The last step for a file that gets its name when it is complete.
absl::Status RecordWriter::take_name() {
  if (auto status = check_free(disk_, path_); !status.ok()) return status;
  const auto is_ours = disk_.names(open_path_, file_.get());
  if (!is_ours.ok()) return is_ours.status();
  return *is_ours ? finish_file(disk_, file_, path_) : written_by_another(path_);
}

// Removes the temporary file; `path` is unchanged.
void RecordWriter::discard() {
  finished_ = true;
  const auto is_ours = disk_.names(open_path_, file_.get());
  if (is_ours.ok() && *is_ours) disk_.remove(open_path_).IgnoreError();
  file_.close();
}

absl::Status RecordWriter::cut_back(std::uint64_t committed_bytes) {
  if (file_bytes_ < committed_bytes) {
    return make_error(Errc::kDamaged,
                      absl::StrCat(path_, " has ", file_bytes_, " bytes, but ", committed_bytes,
                                   " were committed: it was truncated. Record into another file"));
  }
  file_bytes_ = committed_bytes;
  return disk_.truncate(file_.get(), committed_bytes);
}

absl::Status RecordWriter::check_usable() {
  if (!failure_.ok()) return failure_;
  if (!finished_) return absl::OkStatus();
  return make_error(Errc::kClosed,
                    absl::StrCat(path_, " is finished; open it again to append to it"));
}

absl::Status RecordWriter::write(std::span<const std::byte> records) {
  if (auto status = check_usable(); !status.ok()) return status;
  if (records.size() % record_bytes_ != 0) {
    return make_error(Errc::kInvalidArgument,
                      absl::StrCat(records.size(), " bytes for ", path_,
                                   " are not whole records of ", record_bytes_, " bytes"));
  }
  while (!records.empty()) {
    if (staged_bytes_ == staged_.size()) {
      if (auto status = drain(Drain::kContinue); !status.ok()) return status;
    }
    const std::size_t bytes = std::min(records.size(), staged_.size() - staged_bytes_);
    std::memcpy(staged_.data() + staged_bytes_, records.data(), bytes);
    staged_bytes_ += bytes;
    records_ += bytes / record_bytes_;
    records = records.subspan(bytes);
  }
  return absl::OkStatus();
}

absl::Status RecordWriter::flush() {
  if (auto status = check_usable(); !status.ok()) return status;
  return drain(Drain::kFlush);
}

absl::StatusOr<std::uint64_t> RecordWriter::commit() {
  if (auto status = check_usable(); !status.ok()) return status;
  if (auto status = drain(Drain::kEnd); !status.ok()) return status;
  if (auto status = disk_.sync(file_.get()); !status.ok()) return fail(status);
  if (auto status = disk_.sync_directory(directory_of(path_)); !status.ok()) return fail(status);
  return file_bytes_;
}

absl::Status RecordWriter::finish() {
  if (finished_) return failure_;
  if (naming_ == Naming::kAtOnce) {
    const absl::Status status = commit().status();
    finished_ = true;
    file_.close();
    return status;
  }
  if (failure_.ok()) drain(Drain::kEnd).IgnoreError();  // drain() stores its error
  if (failure_.ok()) {
    if (absl::Status named = take_name(); !named.ok()) fail(named).IgnoreError();
  }
  if (!failure_.ok()) {
    discard();
    return failure_;
  }
  finished_ = true;
  file_.close();
  return absl::OkStatus();
}

absl::Status RecordWriter::drain(Drain how) {
  // Do not add an empty frame after a finished one.
  if (how == Drain::kEnd && staged_bytes_ == 0 && !frame_open_) return absl::OkStatus();
  const auto status = emit(std::span(staged_).first(staged_bytes_), how);
  if (!status.ok()) return fail(status);
  staged_bytes_ = 0;
  if (encoder_ == nullptr || how != Drain::kContinue) records_in_file_ = records_;
  return absl::OkStatus();
}

absl::Status RecordWriter::emit(std::span<const std::byte> bytes, Drain how) {
  if (encoder_ == nullptr) return write_file(bytes);
  const ZSTD_EndDirective directive = how == Drain::kContinue ? ZSTD_e_continue
                                      : how == Drain::kFlush  ? ZSTD_e_flush
                                                              : ZSTD_e_end;
  frame_open_ = how != Drain::kEnd;
  ZSTD_inBuffer input{bytes.data(), bytes.size(), 0};
  for (bool done = false; !done;) {
    ZSTD_outBuffer output{encoder_->out.data(), encoder_->out.size(), 0};
    const std::size_t left = ZSTD_compressStream2(encoder_->context, &output, &input, directive);
    if (ZSTD_isError(left)) {
      return make_error(Errc::kSystem, absl::StrCat("zstd cannot compress for ", path_, ": ",
                                                    ZSTD_getErrorName(left)));
    }
    const auto status = write_file(std::span(encoder_->out).first(output.pos));
    if (!status.ok()) return status;
    done = how == Drain::kContinue ? input.pos == input.size : left == 0;
  }
  return absl::OkStatus();
}

absl::Status RecordWriter::write_file(std::span<const std::byte> bytes) {
  if (auto status = disk_.write_at(file_.get(), file_bytes_, bytes); !status.ok()) return status;
  file_bytes_ += bytes.size();
  return absl::OkStatus();
}

absl::Status RecordWriter::fail(const absl::Status& status) {
  if (naming_ == Naming::kWhenWhole) {
    cause_ = status;
    failure_ = make_error(errc_of(status), absl::StrCat(absl::string_view(status.message()), "; ",
                                                        path_, " was not written"));
    return failure_;
  }
  const bool whole = encoder_ == nullptr && disk_.truncate(file_.get(), file_bytes_).ok();
  cause_ = status;
  failure_ =
      make_error(errc_of(status),
                 absl::StrCat(absl::string_view(status.message()), "; the first ", records_in_file_,
                              " of ", records_, " records can be read from the file, which ",
                              whole ? "ends with them" : "ends in the middle of a zstd frame"));
  return failure_;
}

}  // namespace lapwing
