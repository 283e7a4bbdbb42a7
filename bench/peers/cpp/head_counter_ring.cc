// The ring described in most articles: slots, and one counter of written records. A reader that is
// a lap behind jumps to the oldest slot, but cannot detect that the slot is being written while it
// copies. Therefore its records may be torn, and these are counted. It shows the speed without this
// check.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <optional>
#include <vector>

#include "bench/peers/cpp/scenarios.h"

namespace lapwing::peers {
namespace {

constexpr std::size_t kLineBytes = 64;
constexpr std::uint64_t kReadRecordsMax = 256;

std::size_t slot_bytes_for(const Options& options) {
  return (options.bytes + kLineBytes - 1) / kLineBytes * kLineBytes;
}

// One direction. The head has its own line before the slots.
class Ring {
 public:
  Ring(const Options& options, const std::string& name, bool make)
      : capacity_(options.capacity),
        slot_bytes_(slot_bytes_for(options)),
        map_bytes_(kLineBytes + capacity_ * slot_bytes_) {
    const std::string path = options.path(name + ".ring");
    if (!make) await_file(options, name + ".ring.ready");
    const int flags = make ? O_RDWR | O_CREAT | O_CLOEXEC : O_RDWR | O_CLOEXEC;
    const int descriptor = open(path.c_str(), flags, 0600);
    if (descriptor < 0) fail_with_errno("cannot open " + path);
    if (make && ftruncate(descriptor, static_cast<off_t>(map_bytes_)) != 0) {
      fail_with_errno("cannot size " + path);
    }
    void* const memory =
        mmap(nullptr, map_bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, descriptor, 0);
    if (memory == MAP_FAILED) fail_with_errno("cannot map " + path);
    close(descriptor);
    memory_ = static_cast<std::byte*>(memory);
    if (make) announce(options, name + ".ring.ready");
  }
  ~Ring() { munmap(memory_, map_bytes_); }
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;

  std::atomic<std::uint64_t>& head() const {
    return *reinterpret_cast<std::atomic<std::uint64_t>*>(memory_);
  }
  std::uint64_t* slot(std::uint64_t index) const {
    return reinterpret_cast<std::uint64_t*>(memory_ + kLineBytes +
                                            (index & (capacity_ - 1)) * slot_bytes_);
  }
  std::uint64_t capacity() const { return capacity_; }

 private:
  std::uint64_t capacity_;
  std::size_t slot_bytes_;
  std::size_t map_bytes_;
  std::byte* memory_ = nullptr;
};

class HeadCounterRing {
 public:
  explicit HeadCounterRing(const Options& options)
      : words_(options.words()), record_(options.words()) {
    const std::string own = options.sends_first() ? "ping" : "pong";
    const std::string other = options.sends_first() ? "pong" : "ping";
    if (options.sends_first() || options.both_ways()) out_.emplace(options, own, true);
    if (!options.sends_first() || options.both_ways()) in_.emplace(options, other, false);
    if (in_) next_ = in_->head().load(std::memory_order_acquire);
  }

  std::uint64_t send_records_max() const { return 32; }

  std::uint64_t send(std::uint64_t first, std::uint64_t count) {
    Ring& ring = *out_;
    for (std::uint64_t i = 0; i < count; ++i) {
      fill(ring.slot(written_), words_, first + i);
      ring.head().store(++written_, std::memory_order_release);
    }
    return count;
  }

  template <typename F>
  std::uint64_t receive(F&& on_record) {
    Ring& ring = *in_;
    const std::uint64_t head = ring.head().load(std::memory_order_acquire);
    if (head - next_ > ring.capacity()) {
      reported_lost_ += static_cast<std::int64_t>(head - ring.capacity() - next_);
      next_ = head - ring.capacity();
    }
    const std::uint64_t count = std::min(head - next_, kReadRecordsMax);
    for (std::uint64_t i = 0; i < count; ++i) {
      std::memcpy(record_.data(), ring.slot(next_++), words_ * sizeof(std::uint64_t));
      // The copy is the record; the compiler must not read the slot again.
      asm volatile("" ::"r"(record_.data()) : "memory");
      on_record(record_.data());
    }
    return count;
  }

  std::int64_t reported_lost() const { return reported_lost_; }

 private:
  std::optional<Ring> out_;
  std::optional<Ring> in_;
  std::size_t words_;
  std::vector<std::uint64_t> record_;
  std::uint64_t written_ = 0;
  std::uint64_t next_ = 0;
  std::int64_t reported_lost_ = 0;
};

}  // namespace
}  // namespace lapwing::peers

int main(int count, char** arguments) {
  return lapwing::peers::run_peer<lapwing::peers::HeadCounterRing>(count, arguments);
}
