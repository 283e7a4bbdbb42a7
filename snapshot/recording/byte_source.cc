#include "snapshot/recording/byte_source.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>
#include <zstd_errors.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lapwing/error.h"
#include "os/system_error.h"

namespace lapwing {
namespace {

constexpr std::uint32_t kZstdMagic = ZSTD_MAGICNUMBER;
constexpr std::size_t kMagicBytes = sizeof kZstdMagic;
// The 16 magic numbers of skippable frames differ in their last four bits.
constexpr std::uint32_t kSkippableMagic = 0x184D2A50;
constexpr std::uint32_t kSkippableMask = 0xFFFFFFF0;
constexpr std::size_t kBlockHeaderBytes = 3;

absl::Status given_up(const std::string& name) {
  return make_error(Errc::kClosed, absl::StrCat("stopped while waiting for ", name));
}

}  // namespace

struct ByteSource::Decoder {
  ZSTD_DStream* stream = ZSTD_createDStream();
  std::size_t first_input = ZSTD_initDStream(stream);
  std::size_t wanted_input = first_input;  // bytes up to the end of the current block
  bool in_frame = false;
  bool flushing = false;           // the last output was full: more may follow without new input
  std::uint64_t frame_offset = 0;  // in the file

  Decoder() = default;
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;
  ~Decoder() { ZSTD_freeDStream(stream); }
};

absl::StatusOr<std::unique_ptr<ByteSource>> ByteSource::open(const std::string& path,
                                                             Stopped stopped) {
  if (path == "-") {
    UniqueFd fd = UniqueFd::opened_by([] { return ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0); });
    if (!fd.valid()) return make_system_error(errno, "cannot use standard input");
    return adopt(std::move(fd), "standard input", std::move(stopped));
  }
  UniqueFd fd;
  do {
    fd.reset(::open(path.c_str(), O_RDONLY | O_CLOEXEC));  // no ForkHold: a fifo waits here
    if (!fd.valid() && errno == EINTR && stopped && stopped()) return given_up(path);
  } while (!fd.valid() && errno == EINTR);
  if (!fd.valid()) return make_system_error(errno, absl::StrCat("cannot open ", path));
  struct stat status{};
  if (::fstat(fd.get(), &status) != 0)
    return make_system_error(errno, absl::StrCat("cannot stat ", path));
  if (S_ISDIR(status.st_mode)) {
    return make_error(Errc::kBadInput, absl::StrCat(path, " is a directory; give a file in it"));
  }
  return adopt(std::move(fd), path, std::move(stopped));
}

std::unique_ptr<ByteSource> ByteSource::adopt(UniqueFd fd, const std::string& name,
                                              Stopped stopped) {
  return std::unique_ptr<ByteSource>(new ByteSource(std::move(fd), name, std::move(stopped)));
}

ByteSource::ByteSource(UniqueFd fd, std::string name, Stopped stopped)
    : fd_(std::move(fd)),
      name_(std::move(name)),
      stopped_(std::move(stopped)),
      buffer_(kByteSourceBufferBytes) {}

ByteSource::~ByteSource() = default;

absl::StatusOr<std::size_t> ByteSource::read(std::span<std::byte> out) {
  if (failure_.ok() && form_ == Form::kUnknown) {
    absl::Status detected = detect();
    if (errc_of(detected) == Errc::kTimedOut) return detected;
    failure_ = std::move(detected);
  }
  if (!failure_.ok()) return failure_;
  const auto count = form_ == Form::kZstd ? read_zstd(out) : read_raw(out);
  if (!count.ok()) {
    if (errc_of(count.status()) != Errc::kTimedOut) failure_ = count.status();
  } else {
    decoded_offset_ += *count;
  }
  return count;
}

absl::StatusOr<std::size_t> ByteSource::read_whole(std::span<std::byte> out) {
  std::size_t have = 0;
  while (have < out.size()) {
    const auto count = read(out.subspan(have));
    if (!count.ok()) return count.status();
    if (*count == 0) break;
    have += *count;
  }
  return have;
}

absl::Status ByteSource::rewind() {
  if (::lseek(fd(), 0, SEEK_SET) != 0) {
    return make_error(Errc::kUnsupported, absl::StrCat(name_,
                                                       " cannot be read a second time; save it "
                                                       "to a file and give the file"));
  }
  begin_ = end_ = 0;
  at_end_ = false;
  fetched_ = decoded_offset_ = 0;
  form_ = Form::kUnknown;
  decoder_.reset();
  failure_ = absl::OkStatus();
  return absl::OkStatus();
}

std::string ByteSource::place(std::uint64_t decoded_offset) const {
  if (form_ != Form::kZstd) return absl::StrCat("byte ", decoded_offset);
  return absl::StrCat("decoded byte ", decoded_offset, " (near byte ", file_offset(),
                      " of the compressed file)");
}

// Waits until a read would not block, or `stopped` returns true. Without `stopped`, the read itself
// waits. A source that does not wait only polls here.
absl::Status ByteSource::wait_readable() const {
  if (!waits_) {
    pollfd descriptor{fd(), POLLIN, 0};
    if (::poll(&descriptor, 1, 0) > 0) return absl::OkStatus();
    return make_error(Errc::kTimedOut, absl::StrCat(name_, " has no data yet"));
  }
  if (!stopped_) return absl::OkStatus();
  for (;;) {
    if (stopped_()) return given_up(name_);
    pollfd descriptor{fd(), POLLIN, 0};
    const int ready = ::poll(&descriptor, 1, kByteSourceWaitMs);
    if (ready > 0) return absl::OkStatus();
    if (ready < 0 && errno != EINTR) {
      return make_system_error(errno, absl::StrCat("cannot wait for ", name_));
    }
  }
}

// Reads once from the descriptor. Sets at_end_ at the end of the input.
absl::Status ByteSource::fill() {
  if (begin_ == end_) begin_ = end_ = 0;
  if (auto status = wait_readable(); !status.ok()) return status;
  ssize_t count = 0;
  do {
    count = ::read(fd(), buffer_.data() + end_, buffer_.size() - end_);
  } while (count < 0 && errno == EINTR);
  if (count < 0) {
    return make_system_error(errno, absl::StrCat("cannot read ", name_, " at byte ", fetched_));
  }
  at_end_ = count == 0;
  end_ += static_cast<std::size_t>(count);
  fetched_ += static_cast<std::uint64_t>(count);
  return absl::OkStatus();
}

absl::Status ByteSource::detect() {
  while (buffered() < kMagicBytes && !at_end_) {
    if (auto status = fill(); !status.ok()) return status;
  }
  form_ = Form::kRaw;
  if (buffered() < kMagicBytes) return absl::OkStatus();
  std::uint32_t magic = 0;
  std::memcpy(&magic, buffer_.data() + begin_, sizeof magic);
  if (magic == kZstdMagic || (magic & kSkippableMask) == kSkippableMagic) {
    form_ = Form::kZstd;
    decoder_ = std::make_unique<Decoder>();
  }
  return absl::OkStatus();
}

absl::StatusOr<std::size_t> ByteSource::read_raw(std::span<std::byte> out) {
  if (buffered() == 0 && !at_end_) {
    if (auto status = fill(); !status.ok()) return status;
  }
  const std::size_t count = std::min(buffered(), out.size());
  std::memcpy(out.data(), buffer_.data() + begin_, count);
  begin_ += count;
  return count;
}

absl::StatusOr<std::size_t> ByteSource::read_zstd(std::span<std::byte> out) {
  for (;;) {
    if (buffered() == 0 && !decoder_->flushing && !at_end_) {
      if (auto status = fill(); !status.ok()) return status;
    }
    if (buffered() == 0 && !decoder_->flushing) {
      if (!decoder_->in_frame) return 0;
      return make_error(
          Errc::kBadInput,
          absl::StrCat(name_, " is cut off: its zstd frame that begins at byte ",
                       decoder_->frame_offset, " is not finished where the file ends, at byte ",
                       file_offset(), " (decoded byte ", decoded_offset_,
                       "); fetch the file again"));
    }
    const auto count = decode_some(out);
    if (!count.ok() || *count > 0) return count;
  }
}

// Calls the decoder once, with at most the remainder of one block as input.
absl::StatusOr<std::size_t> ByteSource::decode_some(std::span<std::byte> out) {
  Decoder& decoder = *decoder_;
  if (!decoder.in_frame) decoder.frame_offset = file_offset();
  // zstd requests a block and the header of the next one. A failed call returns no output, so the
  // input must not include the next header.
  const std::size_t limit = decoder.wanted_input > kBlockHeaderBytes
                                ? decoder.wanted_input - kBlockHeaderBytes
                                : decoder.wanted_input;
  const std::size_t input_bytes = decoder.flushing ? 0 : std::min(limit, buffered());
  ZSTD_inBuffer input{buffer_.data() + begin_, input_bytes, 0};
  ZSTD_outBuffer output{out.data(), out.size(), 0};
  const std::size_t wanted = ZSTD_decompressStream(decoder.stream, &output, &input);
  if (ZSTD_getErrorCode(wanted) == ZSTD_error_memory_allocation) {
    return make_system_error(ENOMEM,
                             absl::StrCat("decompressing ", name_, " at byte ", file_offset()));
  }
  if (ZSTD_isError(wanted)) {
    return make_error(
        Errc::kBadInput,
        absl::StrCat(name_, " is damaged: zstd reports \"", ZSTD_getErrorName(wanted),
                     "\" at byte ", file_offset(), " (decoded byte ", decoded_offset_,
                     ", frame begun at byte ", decoder.frame_offset, "); fetch the file again"));
  }
  begin_ += input.pos;
  decoder.in_frame = wanted != 0;
  decoder.wanted_input = wanted != 0 ? wanted : decoder.first_input;
  decoder.flushing = wanted != 0 && output.pos == output.size;
  return output.pos;
}

}  // namespace lapwing
