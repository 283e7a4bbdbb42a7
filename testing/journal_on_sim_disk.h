// A fixture's journal on the simulated disk, for tests with stops, kills and power cuts. Test code
// only; not thread-safe.
#pragma once

#include <catch2/catch.hpp>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

#include "testing/journal_fixture.h"
#include "testing/sim_disk.h"

namespace lapwing {

// The journal's files on a simulated disk, synced.
inline std::unique_ptr<SimDisk> simulate(const JournalFixture& journal, std::uint64_t seed = 1) {
  auto disk = std::make_unique<SimDisk>(journal.root(), seed);
  for (const auto& entry : std::filesystem::recursive_directory_iterator(journal.root())) {
    const std::string path = entry.path().string();
    if (entry.is_directory()) {
      REQUIRE(disk->make_directory(path, 0700).ok());
      REQUIRE(disk->sync_directory(journal.root()).ok());
      continue;
    }
    const std::string bytes = file_bytes(path);
    const auto file = disk->open(path, {OpenMode::kCreate});
    REQUIRE(file.ok());
    REQUIRE(disk->write_at(*file, 0, std::as_bytes(std::span(bytes))).ok());
    REQUIRE(disk->sync(*file).ok());
    disk->close(*file);
    REQUIRE(disk->sync_directory(entry.path().parent_path().string()).ok());
  }
  return disk;
}

}  // namespace lapwing
