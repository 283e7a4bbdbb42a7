// Requests from other threads to the file thread: a flush, a prune, shedding the journal.
//
// Thread safety: request_flush() by each asker's thread; request_prune() and prune_result() by the
// service thread; shed() by the publishing thread; the other functions by the file thread.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "lapwing/error.h"
#include "lapwing/sequence.h"
#include "os/thread_words.h"

namespace lapwing {

class JournalRequests {
 public:
  // The threads that request a flush. Each writes its own word, because a word has one writer.
  enum class Asker : std::size_t { kPublishingThread, kServiceThread };

  void request_flush(Asker asker, Sequence through) {
    SingleWriterWord& word = flush_through_[static_cast<std::size_t>(asker)];
    word.store(std::max(through, word.load()));
  }
  // One prune at a time: call it again only after prune_result() has returned the result.
  void request_prune(Sequence below) {
    prune_below_.store(below);
    prunes_wanted_.store(prunes_wanted_.load() + 1);
  }
  // The result of the last prune; nullopt while it is under way.
  std::optional<Errc> prune_result() const {
    const bool closed = closed_.is_set();  // before prunes_done_: the last result counts
    if (prunes_done_.load() == prunes_wanted_.load()) return static_cast<Errc>(prune_errc_.load());
    return closed ? std::optional(Errc::kClosed) : std::nullopt;
  }
  void shed() { shed_.set(); }

  // The flush requested since the last call, if any.
  std::optional<Sequence> take_flush() {
    const Sequence through = std::max(flush_through_[0].load(), flush_through_[1].load());
    if (through == std::exchange(flush_taken_, through)) return std::nullopt;
    return through;
  }
  // The prune requested since the last call, if any.
  std::optional<Sequence> take_prune() {
    const std::uint64_t wanted = prunes_wanted_.load();
    if (wanted == std::exchange(prunes_taken_, wanted)) return std::nullopt;
    return prune_below_.load();
  }
  bool prune_is_under_way() const { return prunes_taken_ != prunes_done_.load(); }
  void finish_prune(Errc result) {
    prune_errc_.store(static_cast<Word>(result));
    prunes_done_.store(prunes_taken_);
  }
  bool is_shed() const { return shed_.is_set(); }
  // A prune under way will never finish.
  void close() { closed_.set(); }

 private:
  std::array<SingleWriterWord, 2> flush_through_;  // by asker
  SingleWriterWord prune_below_;
  SingleWriterWord prunes_wanted_;  // a count; prune_below_ belongs to the last one
  SingleWriterWord prunes_done_;
  SingleWriterWord prune_errc_;  // the result of the last completed prune
  StickyFlag shed_;
  StickyFlag closed_;

  // Used only by the file thread.
  Sequence flush_taken_ = 0;
  std::uint64_t prunes_taken_ = 0;
};

}  // namespace lapwing
