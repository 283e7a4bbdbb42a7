// The fio program as a floor: the rate of sequential direct writes on this file system.
//
// Thread safety: one thread. Runs fio as a separate process and waits for it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace lapwing::bench {

// The path of fio, or nullopt if it is not installed.
std::optional<std::string> find_fio();

// Bytes per second of one sequential direct write of `bytes` below `directory`. If fio fails, fails
// the benchmark with fio's message.
double fio_write_per_second(const std::string& fio, const std::string& directory,
                            std::uint64_t bytes);

}  // namespace lapwing::bench
