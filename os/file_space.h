// Disk space: how much there is, and reserving it for a file, on every file system.
//
// fallocate() does it without writing. ext3, ext2 and NFS before 4.2 do not have it. The emulation in
// the C library writes single bytes, which a descriptor with O_DIRECT refuses. So without fallocate()
// zeros are written here, in whole pages from aligned memory: behind the file's end and into its holes.
//
// Thread safety: free functions; nobody else writes to the file meanwhile.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace lapwing {

// Makes the file at least `bytes` long and its first `bytes` writable without new space. What the
// file holds stays as it is. 0 or an errno. Behind the last page of a descriptor with O_DIRECT,
// `bytes` has to be a multiple of kPageBytes.
int reserve_file_space(int fd, std::uint64_t bytes);

// The space of the file system under `directory` that this user can fill: root also has what is kept
// for root. Nothing if the kernel does not say.
std::optional<std::uint64_t> usable_bytes(const std::string& directory);

// The slow way, which every file system has.
int reserve_by_writing(int fd, std::uint64_t bytes);

}  // namespace lapwing
