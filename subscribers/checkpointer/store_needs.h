// Checks RocksDB's assumptions before it opens a store.
//
// If RocksDB cannot start a thread, it ends the process. If a system call is refused, it fails an
// assertion. If descriptors run out, it reports the store as damaged. It reads some files
// completely, however long they are. So all of this is checked in advance and reported as errors.
//
// Thread safety: free functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"

namespace lapwing {

inline constexpr int kStoreThreads = 4;          // started by RocksDB when it opens a store
inline constexpr int kStoreDescriptorsMin = 32;  // needed by RocksDB for a small store
inline constexpr std::size_t kStoreAddressBytes = std::size_t{512} << 20;

// The largest files that one of our stores can have, with a margin. RocksDB reads all of them.
inline constexpr std::uint64_t kStoreNameBytesMax = 4 << 10;  // CURRENT, IDENTITY
inline constexpr std::uint64_t kStoreManifestBytesMax = std::uint64_t{2} << 30;
inline constexpr std::uint64_t kStoreLogBytesMax = std::uint64_t{2} << 30;  // *.log, all together

// Checks threads, address space, descriptors and system calls. Errors: kUnsupported (a call is
// refused), kSystem; the message names the limit.
absl::Status check_store_needs(const std::string& directory);

// Checks the files of the store in `directory` that RocksDB reads as a whole. Errors: kDamaged (a
// file is longer than any file that a store writes), kNotALapwingFile (not a regular file),
// kNotPermitted, kSystem.
absl::Status check_store_files(const std::string& directory);

}  // namespace lapwing
