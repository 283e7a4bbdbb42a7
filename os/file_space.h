// Free disk space, and space reservation for a file on every file system.
//
// fallocate() reserves space without writing. ext3, ext2 and NFS before 4.2 do not support it. The
// C library's emulation writes single bytes, which a descriptor with O_DIRECT refuses. So without
// fallocate(), this code writes zeros after the file's end and into its holes, in whole pages from
// aligned memory.
//
// Thread safety: free functions; no other thread or process may write to the file at the same time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace lapwing {

// Makes the file at least `bytes` long, and reserves the space of its first `bytes`. Its content
// does not change. Returns 0 or an errno. With O_DIRECT, and if `bytes` is beyond the last page of
// the file, `bytes` must be a multiple of kPageBytes.
int reserve_file_space(int fd, std::uint64_t bytes);

struct UsableSpace {
  std::uint64_t bytes = 0;
  std::uint64_t files = 0;  // that can be created; UINT64_MAX: no limit
};

// The free space that this user can use on the file system of `directory`. For root it includes the
// space reserved for root. nullopt if the kernel does not report it.
std::optional<UsableSpace> usable_space(const std::string& directory);

// The slow implementation, for every file system: writes zeros.
int reserve_by_writing(int fd, std::uint64_t bytes);

}  // namespace lapwing
