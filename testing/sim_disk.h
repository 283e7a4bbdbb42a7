// A disk in memory that can lose, tear and reorder writes, and report false success. For tests of
// code that writes files.
//
// Every file has two contents: the page cache, which reads see, and the medium. A write changes the
// first. A sync transfers writes from before its submission to the second. The same applies to
// names: a create, rename or unlink reaches the medium when its directory is synced.
//
//   power_cut   each sector (512 bytes) that was written and not synced independently survives or
//               not, as does each operation on a name and each size change
//   kill        the process ends, the page cache stays; requests in flight complete later, or never
//   stop_after  the machine stops after this many operations, and all later ones fail; followed by
//               kill or power_cut
//   fail        the nth operation of a kind fails. A failed sync forgets its writes, as Linux does:
//               reads still see them, a later sync succeeds, but the medium never receives them
//
// SimWriteQueue is the asynchronous side of the same disk. Completions may be late, reordered,
// short, repeated or held back. It counts writer errors: two writes in flight to one byte
// (with direct I/O: to one 4 KiB block), and memory that changes while a write is in flight.
//
// Thread safety: SimDisk and its queues may be used from several threads; one lock guards all of
// them. A queue must not outlive its disk.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "os/io.h"

namespace lapwing {

inline constexpr std::size_t kSimSectorBytes = 512;
inline constexpr char kSimRoot[] = "/sim";  // for tests: the directory of a disk

// A small, seeded random number generator (splitmix64).
class SimRandom {
 public:
  explicit SimRandom(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next();
  std::uint64_t below(std::uint64_t end) { return next() % end; }
  bool chance(unsigned percent) { return below(100) < percent; }

 private:
  std::uint64_t state_;
};

enum class SimOp : std::uint32_t { kWrite, kSync, kAllocate, kPunch, kName };

class SimWriteQueue;

class SimDisk final : public Disk {
 public:
  // `root` is the only existing directory.
  SimDisk(const std::string& root, std::uint64_t seed);
  ~SimDisk() override;

  absl::StatusOr<FileHandle> open(const std::string& path, const OpenOptions& options) override;
  void close(FileHandle file) override;
  absl::StatusOr<std::size_t> read_at(FileHandle file, std::uint64_t offset,
                                      std::span<std::byte> out) override;
  absl::Status write_at(FileHandle file, std::uint64_t offset,
                        std::span<const std::byte> bytes) override;
  absl::Status allocate(FileHandle file, std::uint64_t bytes) override;
  absl::Status truncate(FileHandle file, std::uint64_t bytes) override;
  absl::Status punch_hole(FileHandle file, std::uint64_t offset, std::uint64_t bytes) override;
  absl::Status sync(FileHandle file) override;
  absl::StatusOr<std::uint64_t> size(FileHandle file) override;
  absl::StatusOr<std::uint64_t> allocated_bytes(FileHandle file) override { return size(file); }
  std::uint32_t direct_alignment(FileHandle) override { return kSimSectorBytes; }
  absl::Status rename(const std::string& from, const std::string& to) override;
  absl::Status remove(const std::string& path) override;
  absl::Status make_directory(const std::string& path, unsigned permissions) override;
  absl::Status sync_directory(const std::string& path) override;
  absl::StatusOr<std::vector<std::string>> list(const std::string& directory) override;
  absl::StatusOr<bool> exists(const std::string& path) override;
  absl::StatusOr<std::uint64_t> free_bytes(const std::string& path) override;
  absl::StatusOr<bool> names(const std::string& path, FileHandle file) override;

  // Makes the nth next operation of this kind fail (1: the next) on a file whose name ends with
  // `name_end`.
  void fail(SimOp op, std::uint64_t nth, int sys_errno, const std::string& name_end = "");
  void set_capacity(std::uint64_t bytes);
  // The number of operations that changed something, synchronously or in a queue; and a stop after
  // this many more.
  std::uint64_t operations() const;
  void stop_after(std::uint64_t operations);
  bool stopped() const;

  // Both end all requests in all queues and close every file. The disk can be used again
  // immediately.
  void kill();
  void power_cut();
  // Changes a bit on the medium and in the cache.
  void flip_bit(const std::string& path, std::uint64_t offset, unsigned bit);

 private:
  friend class SimWriteQueue;

  struct Inode {
    bool is_directory = false;
    std::vector<std::byte> cache{};
    std::vector<std::byte> medium{};
    std::vector<std::uint64_t> dirty{};  // by sector: number of its last write; 0: as the medium
  };
  using InodeRef = std::shared_ptr<Inode>;
  // A change of names in one directory, which its sync transfers to the medium. Empty `to`: an
  // unlink.
  struct NameChange {
    std::string from;
    std::string to;
    InodeRef inode;
  };
  struct Open {
    InodeRef inode;
    std::string path;
    bool direct = false;
  };
  // The data that a sync transfers to the medium: content as of its submission.
  struct SyncImage {
    struct Sector {
      std::size_t index;
      std::uint64_t written;
      std::array<std::byte, kSimSectorBytes> bytes;
    };
    std::vector<Sector> sectors;
    std::size_t size = 0;
    std::size_t name_changes = 0;  // of a directory
  };
  struct Fault {
    SimOp op;
    std::uint64_t countdown;
    int sys_errno;
    std::string name_end;
  };
  // A request whose fate is undecided when the machine stops.
  struct Limbo {
    InodeRef inode;
    std::uint64_t offset;
    std::vector<std::byte> bytes;
  };

  // All functions below require the lock. They return 0 or errno.
  int begin_operation(SimOp op, const std::string& path);
  const Open* find_open(FileHandle file) const;
  int write_cache(const Open& open, std::uint64_t offset, std::span<const std::byte> bytes);
  int grow(Inode& inode, std::uint64_t bytes);
  SyncImage image_of(const Open& open) const;
  void carry(const Open& open, const SyncImage& image);
  void forget(const Open& open, const SyncImage& image);
  void store(Inode& inode, std::uint64_t offset, std::span<const std::byte> bytes);
  void stop_now();
  void land_limbo(bool by_sector);
  void settle_names();
  void settle_inode(Inode& inode);
  void end_everything();

  mutable std::mutex mutex_;
  SimRandom random_;
  std::map<std::string, InodeRef> names_;
  std::map<std::string, InodeRef> medium_names_;
  std::map<std::string, std::vector<NameChange>> pending_;  // by directory
  std::map<FileHandle, Open> open_;
  FileHandle next_handle_ = 1'000'000;  // cannot be a descriptor of the process
  std::uint64_t writes_ = 0;
  std::vector<Fault> faults_;
  std::uint64_t capacity_ = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t operations_ = 0;
  std::uint64_t stop_at_ = std::numeric_limits<std::uint64_t>::max();
  bool stopped_ = false;
  std::vector<Limbo> limbo_;
  std::vector<SimWriteQueue*> queues_;
};

// How a SimWriteQueue completes its requests.
struct SimBehaviour {
  unsigned complete_percent = 100;  // share of the requests in flight, on each reap
  bool reorder = false;
  unsigned short_percent = 0;  // share of writes that only write some of their sectors
  unsigned again_percent = 0;  // share of requests that fail with -EAGAIN
  bool hold_writes = false;
  bool hold_syncs = false;
  std::size_t depth = 64;
};

class SimWriteQueue final : public WriteQueue {
 public:
  explicit SimWriteQueue(SimDisk& disk, const SimBehaviour& behaviour = {});
  ~SimWriteQueue() override;

  std::string description() const override { return "simulated"; }
  void register_memory(std::span<const std::byte>) override {}
  bool submit(const WriteRequest& request) override;
  // Time does not pass: with wait_ns, a request that is not held back completes.
  std::size_t reap(std::span<WriteCompletion> out, std::uint64_t wait_ns) override;
  std::size_t in_flight() const override;

  SimBehaviour& behaviour() { return behaviour_; }  // only while no other thread uses the queue
  std::uint64_t overlapping_writes() const { return overlapping_writes_; }
  std::uint64_t changed_in_flight() const { return changed_in_flight_; }
  std::size_t most_in_flight() const { return most_in_flight_; }

 private:
  friend class SimDisk;
  struct Pending {
    WriteRequest request;
    SimDisk::Open open;
    std::vector<std::byte> bytes;  // as of the submission
    SimDisk::SyncImage image;
  };

  bool is_held(const Pending& pending) const;
  std::int64_t execute(Pending& pending);
  std::int64_t execute_write(Pending& pending);
  std::int64_t execute_sync(Pending& pending);

  SimDisk& disk_;
  SimBehaviour behaviour_;
  std::vector<Pending> pending_;
  std::uint64_t overlapping_writes_ = 0;
  std::uint64_t changed_in_flight_ = 0;
  std::size_t most_in_flight_ = 0;
};

}  // namespace lapwing
