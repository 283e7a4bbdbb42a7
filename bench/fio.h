// The fio program as a floor: how fast this file system takes a sequential direct write.
//
// Thread safety: one thread; runs fio as a process of its own and waits for it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace lapwing::bench {

// Where fio is, or nothing if it is not installed.
std::optional<std::string> find_fio();

// Bytes a second of one sequential direct write of `bytes` below `directory`. Fails the benchmark,
// with fio's own words, if fio fails.
double fio_write_per_second(const std::string& fio, const std::string& directory,
                            std::uint64_t bytes);

}  // namespace lapwing::bench
