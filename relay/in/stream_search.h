// Finds the message of a stream with which to begin to read: the first one that does not lie before
// the wanted record.
//
// The stream's records ascend. The search steps back from its end in growing steps, and then halves:
// what is missing is usually near the end.
//
//   while (auto probe = search.probe()) {
//     read the stream from *probe, and tell the first message with saw()
//   }
//   read the stream from search.result()
//
// Thread safety: one thread.
#pragma once

#include <cstdint>
#include <optional>

namespace lapwing {

class StreamSearch {
 public:
  // The stream has the messages `first` to `last`. `last` does not lie before the wanted record.
  StreamSearch(std::uint64_t first, std::uint64_t last) : low_(first), high_(last) {}

  // The stream sequence to read from next; nullopt: the search has ended.
  std::optional<std::uint64_t> probe();
  // The first message at or behind the probe has this stream sequence. is_before: its records all lie
  // before the wanted one.
  void saw(std::uint64_t stream_sequence, bool is_before);
  // There is no message behind the probe.
  void saw_nothing();
  std::uint64_t result() const { return high_; }

 private:
  std::uint64_t low_;   // everything below lies before the wanted record
  std::uint64_t high_;  // this one does not, nor what is behind it
  std::uint64_t probe_ = 0;
  std::uint64_t step_ = 1;  // 0: the step back has ended
};

}  // namespace lapwing
