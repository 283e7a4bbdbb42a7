#include "snapshot/archive/request_batch.h"

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "lapwing/error.h"
#include "os/path.h"
#include "os/system_error.h"
#include "proto/ring_layout.h"
#include "snapshot/journal/journal_geometry.h"

namespace lapwing {
namespace {

// The part of a short write that counts. Direct I/O writes only whole blocks, so a write that began
// on a block boundary continues at one, and any bytes beyond it are written again.
std::size_t counted(const WriteRequest& request, std::size_t written) {
  if (written == request.bytes.size() || request.offset % kPageBytes != 0) return written;
  return written - written % kPageBytes;
}

}  // namespace

OngoingRequest::Outcome OngoingRequest::take(std::int64_t result) {
  const bool repeat = result == -EAGAIN || result == -EINTR;
  if (result < 0 && !repeat) {
    sys_errno_ = static_cast<int>(-result);
    return Outcome::kFailed;
  }
  if (!repeat && remaining_.kind != WriteRequest::Kind::kWrite) return Outcome::kDone;
  const std::size_t progress = repeat ? 0 : counted(remaining_, static_cast<std::size_t>(result));
  remaining_.bytes = remaining_.bytes.subspan(progress);
  remaining_.offset += progress;
  if (!repeat && remaining_.bytes.empty()) return Outcome::kDone;
  fruitless_ = progress == 0 ? fruitless_ + 1 : 0;
  if (fruitless_ < kFruitlessAttemptsMax) return Outcome::kAgain;
  sys_errno_ = repeat ? static_cast<int>(-result) : EIO;
  return Outcome::kFailed;
}

absl::Status OngoingRequest::failure(const std::string& directory) const {
  const std::string path = file_.name != nullptr
                               ? absl::StrCat(directory, "/", file_.name)
                               : numbered_path(directory, file_.segment, file_.suffix);
  switch (remaining_.kind) {
    case WriteRequest::Kind::kWrite:
      return make_system_error(
          sys_errno_, absl::StrCat("cannot write ", remaining_.bytes.size(), " bytes at offset ",
                                   remaining_.offset, " of ", path));
    case WriteRequest::Kind::kSync:
      return make_system_error(sys_errno_, absl::StrCat("cannot sync ", path));
    case WriteRequest::Kind::kSyncDirectory:
      return make_system_error(sys_errno_, absl::StrCat("cannot sync the directory ", directory));
    case WriteRequest::Kind::kAllocate:
      return make_system_error(
          sys_errno_, absl::StrCat("cannot allocate ", remaining_.offset, " bytes for ", path));
  }
  return make_error(Errc::kSystem, absl::StrCat("unknown request on ", path));
}

void RequestBatch::clear() {
  items_.clear();
  unsent_count_ = in_flight_ = done_count_ = 0;
  failed_ = failed_hint_ = nullptr;
}

void RequestBatch::add(const WriteRequest& request, const RequestFile& file, Need need) {
  items_.push_back({OngoingRequest(request, file), need});
  ++unsent_count_;
}

void RequestBatch::submit(WriteQueue& queue, std::uint64_t tag_base) {
  for (std::size_t i = 0; i < items_.size() && unsent_count_ > 0 && failed_ == nullptr; ++i) {
    if (!items_[i].unsent) continue;
    WriteRequest request = items_[i].request.remaining();
    request.tag = tag_base + i;
    if (!queue.submit(request)) return;
    items_[i].unsent = false;
    --unsent_count_;
    ++in_flight_;
  }
}

void RequestBatch::complete(std::size_t index, std::int64_t result) {
  --in_flight_;
  Item& item = items_[index];
  switch (item.request.take(result)) {
    case OngoingRequest::Outcome::kDone:
      ++done_count_;
      break;
    case OngoingRequest::Outcome::kAgain:
      item.unsent = true;
      ++unsent_count_;
      break;
    case OngoingRequest::Outcome::kFailed:
      if (item.need == Need::kHint) {
        ++done_count_;
        if (failed_hint_ == nullptr) failed_hint_ = &item.request;
      } else if (failed_ == nullptr) {
        failed_ = &item.request;
      }
      break;
  }
}

}  // namespace lapwing
