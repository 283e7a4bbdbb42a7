// A crowd of processes beside a publisher: its own parked subscribers, or strangers that do as much
// of the same to other memory; left alone, stopped, or being killed and replaced all the time.
//
// Thread safety: one thread. Everything runs on one core, in children of a child, and is gone when
// the Crowd is.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "bench/two_processes.h"

namespace lapwing::bench {

inline constexpr std::size_t kCrowdSize = 64;
inline constexpr std::size_t kCrowdSizeQuick = 4;

enum class Members {
  kSubscribers,  // parked on the bus, reading whatever comes when they are woken
  kStrangers,  // parked on a word of their own, woken as often, copying as much of a ring of theirs
};
enum class Treatment { kParked, kStopped, kKilled };

struct CrowdSpec {
  std::size_t size;
  Members members;
  Treatment treatment;
  int core;
  std::string directory;      // of the bus
  double records_per_second;  // that the bus publishes
};

class Crowd {
 public:
  // Make it before the publisher of `spec.directory` is opened.
  explicit Crowd(const CrowdSpec& spec);
  // Returns when all members are there and treated.
  void await_members() const;

 private:
  struct Board {
    std::atomic<std::size_t> present{0};
    std::atomic<int> treated{0};
  };
  static void lead(const CrowdSpec& spec, Board& board);

  Shared<Board> board_;
  Child leader_;
};

}  // namespace lapwing::bench
