// The bus directory, a bus's address: bus.json, control.sock, publisher.lock, journal/,
// checkpoint/, metadata.dbn. Creation, ownership checks, the publisher's lock, and bus.json.
//
// Thread safety: one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/identity.h"

namespace lapwing {

inline constexpr char kBusFileName[] = "bus.json";
inline constexpr char kLockFileName[] = "publisher.lock";
inline constexpr char kJournalDirectoryName[] = "journal";
inline constexpr char kMetadataFileName[] = "metadata.dbn";
inline constexpr std::uint64_t kLockRetryNs = 10'000'000'000;  // how long a starter tries

// What bus.json says: where the current session's ring is and what its records are.
struct BusDescription {
  std::string name;
  std::string schema;
  std::string ring_path;
  std::string journal_root;  // directory with `sessions`; empty: no journal
  Id128 journal_id;
  Id128 session_id;
  std::uint32_t record_bytes = 0;
  std::uint32_t slot_bytes = 0;
  std::uint64_t capacity = 0;
  bool closed = false;       // the session ended cleanly and its ring file is gone
};

// Makes the directory if need be (0700, or 0750 and the group). kNotPermitted if it belongs to
// another user or is writable by others.
absl::Status prepare_bus_directory(const std::string& directory, std::optional<unsigned> group);

// The publisher's lock, held until the object and every duplicate of its descriptor is gone.
class PublisherLock {
 public:
  // Retries for up to retry_ns (the kernel may still finish a killed publisher's last write), then
  // kBusTaken with the holder's pid. `path` is
  // <bus>/publisher.lock or <journal root>/publisher.lock.
  static absl::StatusOr<PublisherLock> take(const std::string& path, std::uint64_t retry_ns);
  PublisherLock(PublisherLock&& other) noexcept;
  PublisherLock& operator=(PublisherLock&& other) noexcept;
  ~PublisherLock();
  int fd() const { return fd_; }

 private:
  explicit PublisherLock(int fd) : fd_(fd) {}
  int fd_ = -1;
};

// Errors: kNoBus (none there), kNotPermitted, kDamaged (not JSON, a field missing), kAbiMismatch.
absl::StatusOr<BusDescription> read_bus_description(const std::string& directory);
// Temporary name, sync, rename, sync directory.
absl::Status write_bus_description(const std::string& directory, const BusDescription& description,
                                   std::optional<unsigned> group);

// Raw DBN metadata of the feed (the bytes from "DBN" on), kept so that recordings carry it.
absl::Status write_feed_metadata(const std::string& directory, const std::string& metadata,
                                 std::optional<unsigned> group);
absl::StatusOr<std::string> read_feed_metadata(const std::string& directory);  // empty: none

}  // namespace lapwing
