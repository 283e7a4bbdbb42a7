// Following asynchronous requests to their end: short writes are continued, what the kernel asks to
// repeat is repeated, and the first failure is kept with its place.
//
// Thread safety: one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "os/io.h"

namespace lapwing {

// Completions in a row that moved a request nowhere (-EAGAIN, -EINTR, nothing written) before it
// counts as failed: a kernel that never gets on must not be waited for in silence.
inline constexpr unsigned kFruitlessAttemptsMax = 1000;

// Names the file of a request in messages: a segment's number and the suffix of its file, or the
// name of a file that is no segment's.
struct RequestFile {
  std::uint64_t segment = 0;
  const char* suffix = "jnl";
  const char* name = nullptr;
};

// One request and what remains of it.
class OngoingRequest {
 public:
  enum class Outcome { kDone, kAgain, kFailed };

  OngoingRequest() = default;
  OngoingRequest(const WriteRequest& request, const RequestFile& file)
      : remaining_(request), file_(file) {}

  // What is to be submitted: at first all of it, after kAgain the rest.
  const WriteRequest& remaining() const { return remaining_; }
  Outcome take(std::int64_t result);
  // After kFailed. `directory` is the journal's.
  absl::Status failure(const std::string& directory) const;

 private:
  WriteRequest remaining_;
  RequestFile file_;
  unsigned fruitless_ = 0;
  int sys_errno_ = 0;
};

// Whether a step may go on without a request: a hint's bytes are worth no record.
enum class Need : std::uint32_t { kMust, kHint };

// Requests of one step of a procedure: all that must succeed do before the next step. The first
// hint that failed is kept.
class RequestBatch {
 public:
  void reserve(std::size_t count) { items_.reserve(count); }
  void clear();
  // `tag` comes back with the completion; the caller leads it to complete() as `index`.
  void add(const WriteRequest& request, const RequestFile& file, Need need = Need::kMust);
  // Submits what is not in flight as far as the queue has room. Tags are tag_base + index. After
  // the first failure nothing more is submitted.
  void submit(WriteQueue& queue, std::uint64_t tag_base);
  void complete(std::size_t index, std::int64_t result);

  bool done() const { return done_count_ == items_.size() && failed_ == nullptr; }
  // A request failed and none is in flight any more.
  bool failed() const { return failed_ != nullptr && in_flight_ == 0; }
  absl::Status failure(const std::string& directory) const { return failed_->failure(directory); }
  // Ok if no hint failed.
  absl::Status hint_failure(const std::string& directory) const {
    return failed_hint_ == nullptr ? absl::OkStatus() : failed_hint_->failure(directory);
  }

 private:
  struct Item {
    OngoingRequest request;
    Need need = Need::kMust;
    bool unsent = true;
  };
  std::vector<Item> items_;
  std::size_t unsent_count_ = 0;
  std::size_t in_flight_ = 0;
  std::size_t done_count_ = 0;
  const OngoingRequest* failed_ = nullptr;       // the first that failed
  const OngoingRequest* failed_hint_ = nullptr;  // and the first hint
};

}  // namespace lapwing
