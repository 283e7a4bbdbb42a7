// A crowd of processes beside a publisher: its own parked subscribers, or strangers that do as much
// of the same to other memory; left alone, stopped, or being replaced all the time.
//
// Thread safety: one thread. Everything runs on the given cores, in children of a child, and is
// gone when the Crowd is.
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

inline constexpr std::size_t kCrowdSize = 64;  // at most
inline constexpr std::size_t kCrowdSizeQuick = 4;
inline constexpr std::uint64_t kCatchUpNsMax = 5'000'000'000;

enum class Members {
  kSubscribers,  // waiting on the bus, reading whatever comes
  kStrangers,    // waiting on a word of their own, woken as often, copying as much of a ring of
                 // theirs
};
enum class Treatment {
  kParked,   // left alone
  kStopped,  // SIGSTOP
  kKilled,   // SIGKILL, one after the other, and another one comes
  kSwapped,  // the same, but it is asked to leave, and closes what it has open
};
constexpr bool replaces_members(Treatment treatment) {
  return treatment == Treatment::kKilled || treatment == Treatment::kSwapped;
}

// Whether one crowd had as many members replaced as the other: at most a quarter more, and ten that
// a short row may have by chance.
bool replaced_alike(double one, double other);

struct CrowdSpec {
  std::size_t size;
  Members members;
  Treatment treatment;
  std::vector<int> cores;     // in turn; the first one's leader treats them
  std::string directory;      // of the bus
  double records_per_second;  // that the bus publishes
  WaitStrategy wait = WaitStrategy::kPark;
  bool timed = false;  // records are StampedRecord: subscribers check them and keep their ages
};

// What timed subscribers saw so far.
struct CrowdSight {
  FineHistogram ages_ns;  // from when each record was due until it was read in full
  std::uint64_t received = 0;
  std::uint64_t lost = 0;  // reported as gaps
  std::uint64_t torn = 0;
  std::uint64_t out_of_order = 0;
};

class Crowd {
 public:
  // Make it before the publisher of `spec.directory` is opened.
  explicit Crowd(const CrowdSpec& spec);
  // Returns when all members are there and treated.
  void await_members() const;
  // Members that were killed or left so far, and whose place was taken.
  std::uint64_t replaced() const { return board_->replaced; }
  // For a timed crowd: returns when every member has got or reported `records`, or after
  // kCatchUpNsMax; then what they saw, all together.
  CrowdSight await_records(std::uint64_t records) const;

 private:
  // Each member writes its own, the maker reads.
  struct Seat {
    std::atomic<std::uint64_t> settled{0};  // records got or reported lost
    CrowdSight sight;
  };
  struct Board {
    std::atomic<std::size_t> present{0};
    std::atomic<int> treated{0};
    std::atomic<std::size_t> leaving{kNobody};  // the member that is asked to leave
    std::atomic<std::uint64_t> replaced{0};
    std::array<Seat, kCrowdSize> seats;
  };
  static constexpr std::size_t kNobody = ~std::size_t{0};
  static void lead(const CrowdSpec& spec, Board& board);
  static void subscribe(const CrowdSpec& spec, Board& board, std::size_t member);

  std::size_t size_;
  Shared<Board> board_;
  Child leader_;
};

}  // namespace lapwing::bench
