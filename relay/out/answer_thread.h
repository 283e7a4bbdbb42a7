// Answers asks in a thread of its own, so that they never delay records.
//
// Thread safety: any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "os/stop_event.h"
#include "os/thread_words.h"
#include "os/unique_fd.h"
#include "relay/out/answers.h"
#include "relay/out/ask_budget.h"
#include "relay/out/relay_out_options.h"
#include "relay/transport.h"

namespace lapwing {

class AnswerThread {
 public:
  static constexpr std::size_t kAsksMax = 256;

  // `options.name` is set. Errors: kLimit, kSystem.
  static absl::StatusOr<std::unique_ptr<AnswerThread>> start(const RelayOutOptions& options);
  ~AnswerThread();

  // Puts an ask at the end of the queue. False if kAsksMax are waiting.
  bool put(const std::shared_ptr<RelayTransport>& transport, std::string_view reply_to,
           std::span<const std::byte> ask);

  std::uint64_t asks() const { return asks_.load(); }
  std::uint64_t bytes() const { return bytes_.load(); }

 private:
  struct Ask {
    std::shared_ptr<RelayTransport> transport;
    std::string reply_to;
    std::vector<std::byte> bytes;
  };

  AnswerThread(const RelayOutOptions& options, StopEvent stop, UniqueFd work)
      : answers_(options.directory, options.name, options.zstd_level),
        budget_(options.ask_rate),
        stop_(std::move(stop)),
        work_(std::move(work)) {}
  void run();
  void answer(const Ask& ask);
  absl::Status send(const Ask& ask, std::span<const std::byte> message);

  Answers answers_;
  AskBudget budget_;
  const StopEvent stop_;
  const UniqueFd work_;  // readable while there may be asks
  std::mutex mutex_;
  std::deque<Ask> queue_;  // by mutex_
  Counter asks_;
  Counter bytes_;
  std::thread thread_;
};

}  // namespace lapwing
