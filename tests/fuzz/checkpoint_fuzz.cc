// Fuzz target: the input is a checkpoint file with its zeros left out. The first byte says what is
// put right afterwards, so that the fuzzer gets behind the sums; whatever the file then says of
// itself, loading it reads nothing that is not there, and what loads is what the file holds.
//
//   tests/fuzz/run.sh checkpoint_fuzz SECONDS
#include <xxhash.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <vector>

#include "snapshot/checkpoint/checkpoint.h"
#include "snapshot/checkpoint/checkpoint_header.h"
#include "snapshot/sim_disk.h"

namespace lapwing {
namespace {

constexpr char kPath[] = "/fuzz/file";
constexpr std::size_t kFieldBytes = offsetof(CheckpointHeader, reserved);

enum Repair : std::uint8_t { kMagic = 1, kLayout = 2, kSums = 4, kChecksum = 8 };

void demand(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

// Makes the header describe what follows it, as entries of the size that it names.
void repair_layout(CheckpointHeader& header, std::vector<std::byte>& tail) {
  header.header_bytes = kCheckpointHeaderBytes;
  header.block_bytes = kCheckpointBlockBytes;
  header.entry_bytes = header.entry_bytes % kEntryBytesMax + 1;
  header.entry_count = tail.size() / header.entry_bytes;
  const CheckpointLayout layout = checkpoint_layout(header.entry_count, header.entry_bytes);
  header.sums_offset = layout.sums_offset;
  tail.resize(layout.entries_bytes);
  tail.resize(layout.file_bytes - kCheckpointHeaderBytes);
}

void repair_sums(CheckpointHeader& header, std::vector<std::byte>& tail) {
  const std::uint64_t entries_bytes = header.entry_count * header.entry_bytes;
  if (entries_bytes > tail.size() || entries_bytes > kCheckpointBlockBytes) return;
  const std::size_t sums_at = tail.size() - (entries_bytes > 0 ? sizeof(std::uint64_t) : 0);
  if (entries_bytes > 0 && sums_at >= entries_bytes && sums_at < tail.size()) {
    const std::uint64_t sum = XXH3_64bits(tail.data(), entries_bytes);
    std::memcpy(tail.data() + sums_at, &sum, sizeof sum);
  }
  header.sums_sum = XXH3_64bits(tail.data() + sums_at, tail.size() - sums_at);
}

void run(std::span<const std::byte> input) {
  if (input.empty()) return;
  const auto repairs = std::to_integer<std::uint8_t>(input[0]);
  input = input.subspan(1);
  CheckpointHeader header{};
  const std::size_t fields = std::min(input.size(), kFieldBytes);
  std::memcpy(&header, input.data(), fields);
  std::vector<std::byte> tail(input.begin() + static_cast<std::ptrdiff_t>(fields), input.end());
  if (repairs & kMagic) {
    header.magic = kCheckpointMagic;
    header.version = kCheckpointVersion;
  }
  if (repairs & kLayout) repair_layout(header, tail);
  if (repairs & kSums) repair_sums(header, tail);
  if (repairs & kChecksum) {
    header.checksum = XXH3_64bits(&header, offsetof(CheckpointHeader, checksum));
  }

  SimDisk disk("/fuzz", 1);
  const auto file = disk.open(kPath, {.mode = OpenMode::kCreate});
  demand(file.ok(), "no file");
  demand(disk.write_at(*file, 0, std::as_bytes(std::span(&header, 1))).ok(), "no header");
  demand(disk.write_at(*file, sizeof header, tail).ok(), "no tail");
  const auto checkpoint = Checkpoint::load(disk, kPath);
  if (!checkpoint.ok()) return;
  const auto entries = checkpoint->entries();
  demand(entries.size() == checkpoint->size() * header.entry_bytes, "sizes differ");
  demand(entries.size() <= tail.size(), "more than the file has");
  demand(std::equal(entries.begin(), entries.end(), tail.begin()), "other entries");
  if (!entries.empty()) {
    demand(checkpoint->entry(checkpoint->size() - 1).size() == header.entry_bytes, "no last entry");
  }
}

}  // namespace
}  // namespace lapwing

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  lapwing::run(std::as_bytes(std::span(bytes, size)));
  return 0;
}
