// A crowd of processes next to a publisher: its own subscribers, or strangers that do the same
// amount of similar work on other memory. They are left parked, stopped, or continuously replaced.
//
// Thread safety: one thread. All processes run on the given cores as children of a child, and end
// with the Crowd.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "bench/two_processes.h"
#include "lapwing/histogram.h"
#include "os/waiter.h"

namespace lapwing::bench {

inline constexpr std::size_t kCrowdSize = 64;  // maximum
inline constexpr std::size_t kCrowdSizeQuick = 4;
inline constexpr std::uint64_t kCatchUpNsMax = 5'000'000'000;

enum class Members {
  kSubscribers,  // wait on the bus and read all records
  kStrangers,    // wait on their own word, are woken as often, and copy as much of their own ring
};
enum class Treatment {
  kParked,   // left alone
  kStopped,  // SIGSTOP
  kKilled,   // SIGKILL one after another, each replaced by a new one
  kSwapped,  // the same, but asked to leave, so that they close properly
};
constexpr bool replaces_members(Treatment treatment) {
  return treatment == Treatment::kKilled || treatment == Treatment::kSwapped;
}

// True if about as many members were replaced in both crowds: at most a quarter more, plus ten to
// allow for chance in a short row.
bool replaced_alike(double one, double other);

struct CrowdSpec {
  std::size_t size;
  Members members;
  Treatment treatment;
  std::vector<int> cores;     // used in turn; the leader runs on the first one
  std::string directory;      // of the bus
  double records_per_second;  // rate of the bus
  WaitStrategy wait = WaitStrategy::kPark;
  bool timed = false;  // records are StampedRecord; subscribers check them and keep their ages
};

// The results of timed subscribers so far.
struct CrowdSight {
  FineHistogram ages_ns;  // from when each record was due until it was read completely
  std::uint64_t received = 0;
  std::uint64_t lost = 0;  // reported as gaps
  std::uint64_t torn = 0;
  std::uint64_t out_of_order = 0;
};

class Crowd {
 public:
  // Construct it before the publisher of `spec.directory` is opened.
  explicit Crowd(const CrowdSpec& spec);
  // Returns when all members are running and treated.
  void await_members() const;
  // The number of members that were killed, or left, and have been replaced.
  std::uint64_t replaced() const { return board_->replaced; }
  // For a timed crowd: waits until every member has received or reported `records`, at most
  // kCatchUpNsMax. Returns the combined results.
  CrowdSight await_records(std::uint64_t records) const;

 private:
  // Each member writes its own seat, and the creator reads it.
  struct Seat {
    std::atomic<std::uint64_t> settled{0};  // records received or reported lost
    CrowdSight sight;
  };
  struct Board {
    std::atomic<std::size_t> present{0};
    std::atomic<int> treated{0};
    std::atomic<std::size_t> leaving{kNoMember};  // the member that should leave
    std::atomic<std::uint64_t> replaced{0};
    std::array<Seat, kCrowdSize> seats;
  };
  static constexpr std::size_t kNoMember = ~std::size_t{0};
  static void lead(const CrowdSpec& spec, Board& board);
  static void subscribe(const CrowdSpec& spec, Board& board, std::size_t member);

  std::size_t size_;
  Shared<Board> board_;
  Child leader_;
};

}  // namespace lapwing::bench
