// Tracks asynchronous requests to completion. Continues short writes, repeats requests when the
// kernel requires it, and keeps the first failure with its file and offset.
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

// The maximum number of consecutive completions without progress (-EAGAIN, -EINTR, nothing
// written). After that, the request fails, so that nothing waits silently for a kernel that never
// makes progress.
inline constexpr unsigned kFruitlessAttemptsMax = 1000;

// Identifies a request's file in messages. A segment file has the segment's number and a
// suffix. Any other file has a name.
struct RequestFile {
  std::uint64_t segment = 0;
  const char* suffix = "jnl";
  const char* name = nullptr;
};

// One request and the part that remains.
class OngoingRequest {
 public:
  enum class Outcome { kDone, kAgain, kFailed };

  OngoingRequest() = default;
  OngoingRequest(const WriteRequest& request, const RequestFile& file)
      : remaining_(request), file_(file) {}

  // The part to submit: at first the whole request, after kAgain the rest.
  const WriteRequest& remaining() const { return remaining_; }
  Outcome take(std::int64_t result);
  // Call it after kFailed. `directory` is the journal's directory.
  absl::Status failure(const std::string& directory) const;

 private:
  WriteRequest remaining_;
  RequestFile file_;
  unsigned fruitless_ = 0;
  int sys_errno_ = 0;
};

// Whether a step needs the request, or may go on without it because only a hint is written.
enum class Need : std::uint32_t { kMust, kHint };

// The requests of one step of a procedure. Every required one must succeed before the next step.
// The first failed hint is kept.
class RequestBatch {
 public:
  void reserve(std::size_t count) { items_.reserve(count); }
  void clear();
  // The completion returns `tag`, and the caller converts it to the `index` for complete().
  void add(const WriteRequest& request, const RequestFile& file, Need need = Need::kMust);
  // Submits requests that are not in flight, as long as the queue has room. Tags are tag_base +
  // index. After the first failure, nothing more is submitted.
  void submit(WriteQueue& queue, std::uint64_t tag_base);
  void complete(std::size_t index, std::int64_t result);

  bool done() const { return done_count_ == items_.size() && failed_ == nullptr; }
  // True if a request failed and none is still in flight.
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
  const OngoingRequest* failed_ = nullptr;       // the first failed request
  const OngoingRequest* failed_hint_ = nullptr;  // the first failed hint
};

}  // namespace lapwing
