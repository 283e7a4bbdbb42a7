#include "relay/out/answer_thread.h"

#include <poll.h>

#include <array>
#include <limits>
#include <utility>

#include "lapwing/error.h"
#include "os/kernel.h"
#include "os/start_thread.h"

namespace lapwing {

absl::StatusOr<std::unique_ptr<AnswerThread>> AnswerThread::start(const RelayOutOptions& options) {
  absl::StatusOr<StopEvent> stop = StopEvent::make();
  if (!stop.ok()) return stop.status();
  absl::StatusOr<UniqueFd> work = make_eventfd();
  if (!work.ok()) return work.status();
  std::unique_ptr<AnswerThread> made(new AnswerThread(options, *std::move(stop), *std::move(work)));
  absl::Status started =
      start_thread(made->thread_, "lapwing-answer", [thread = made.get()] { thread->run(); });
  if (!started.ok()) return started;
  return made;
}

AnswerThread::~AnswerThread() {
  stop_.set();
  if (thread_.joinable()) thread_.join();
}

bool AnswerThread::put(const std::shared_ptr<RelayTransport>& transport, std::string_view reply_to,
                       std::span<const std::byte> ask) {
  {
    const std::lock_guard lock(mutex_);
    if (queue_.size() >= kAsksMax) return false;
    queue_.push_back({transport, std::string(reply_to), {ask.begin(), ask.end()}});
  }
  signal_eventfd(work_.get());
  return true;
}

void AnswerThread::run() {
  while (!stop_.is_set()) {
    Ask ask;
    {
      const std::lock_guard lock(mutex_);
      if (!queue_.empty()) {
        ask = std::move(queue_.front());
        queue_.pop_front();
      }
    }
    if (ask.transport != nullptr) {
      answer(ask);
      continue;
    }
    std::array<pollfd, 2> entries = {stop_.entry(), {work_.get(), POLLIN, 0}};
    wait_any_readable(entries, std::numeric_limits<std::uint64_t>::max());
    drain_eventfd(work_.get());
  }
}

void AnswerThread::answer(const Ask& ask) {
  const Answers::Clock clock{monotonic_ns(), wall_ns()};
  // An error is that of a lost connection, or a stop. The mirror asks again.
  answers_
      .answer(ask.bytes, clock,
              [&](std::span<const std::byte> message) { return send(ask, message); })
      .IgnoreError();
  asks_.add();
}

absl::Status AnswerThread::send(const Ask& ask, std::span<const std::byte> message) {
  const std::uint64_t wait_ns = budget_.wait_ns(message.size(), monotonic_ns());
  if (wait_ns > 0) stop_.wait(wait_ns);
  if (stop_.is_set()) return make_error(Errc::kInterrupted, "the relay ends");
  budget_.spend(message.size(), monotonic_ns());
  absl::Status sent = ask.transport->answer(ask.reply_to, message);
  if (sent.ok()) bytes_.add(message.size());
  return sent;
}

}  // namespace lapwing
