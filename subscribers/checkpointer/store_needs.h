// What RocksDB takes for granted, tried before it is let at a store.
//
// Where a thread cannot be started it ends the process, where a call is refused it fails an
// assertion, where descriptors run out it calls the store damaged, and what it reads whole it reads
// for as long as that is. So all of that is tried or looked at first, and refused with a sentence.
//
// Thread safety: free functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"

namespace lapwing {

inline constexpr int kStoreThreads = 4;          // that RocksDB starts when it opens a store
inline constexpr int kStoreDescriptorsMin = 32;  // that it needs for a store of few files
inline constexpr std::size_t kStoreAddressBytes = std::size_t{512} << 20;

// The largest files that a store of ours can have, with room to spare; RocksDB reads them whole.
inline constexpr std::uint64_t kStoreNameBytesMax = 4 << 10;  // CURRENT, IDENTITY
inline constexpr std::uint64_t kStoreManifestBytesMax = std::uint64_t{2} << 30;
inline constexpr std::uint64_t kStoreLogBytesMax = std::uint64_t{2} << 30;  // *.log, all together

// Threads, address space, descriptors and calls. Errors: kUnsupported (a call is refused), kSystem;
// they say which limit is in the way.
absl::Status check_store_needs(const std::string& directory);

// The files of the store in `directory`, as far as RocksDB reads them whole. Errors: kDamaged (one
// is longer than any that is written there), kNotALapwingFile (one is no file), kNotPermitted,
// kSystem.
absl::Status check_store_files(const std::string& directory);

}  // namespace lapwing
