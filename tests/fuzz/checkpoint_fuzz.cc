// Fuzz target: the input is a checkpoint file without its zeros. The first byte selects repairs, so
// that the fuzzer gets past the sums, and the file's length. Loading must not read missing data,
// regardless of what the file claims, and its result must be the file's content. A long run that
// has never loaded a file with several blocks has proved nothing, so it fails.
//
//   tests/fuzz/run.sh checkpoint_fuzz SECONDS
#include <xxhash.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <vector>

#include "snapshot/checkpoint/checkpoint_header.h"
#include "snapshot/checkpoint/loaded_checkpoint.h"
#include "testing/sim_disk.h"

namespace lapwing {
namespace {

constexpr char kPath[] = "/fuzz/file";
constexpr std::size_t kFieldBytes = offsetof(CheckpointHeader, reserved);

constexpr std::uint64_t kRunsToJudge = 50'000;

enum Repair : std::uint8_t {
  kMagic = 1,
  kLayout = 2,
  kSums = 4,
  kChecksum = 8,
  kIdentity = 16,
  kLonger = 32,  // up to three additional blocks
  kShort = 64,   // truncated after all repairs
};

// The results so far.
struct Tally {
  std::uint64_t runs = 0;
  std::uint64_t loaded = 0;
  std::uint64_t of_several_blocks = 0;

  ~Tally() {
    std::fprintf(stderr, "checkpoint_fuzz: %llu files, %llu loaded, %llu of several blocks\n",
                 static_cast<unsigned long long>(runs), static_cast<unsigned long long>(loaded),
                 static_cast<unsigned long long>(of_several_blocks));
    if (runs < kRunsToJudge || of_several_blocks > 0) return;
    std::fprintf(stderr, "checkpoint_fuzz: void: nothing got behind the header\n");
    std::_Exit(1);
  }
};
Tally tally;

void demand(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

// Makes the header describe the data after it as entries of its size.
void repair_layout(CheckpointHeader& header, std::vector<std::byte>& tail) {
  header.entry_bytes = header.entry_bytes % kEntryBytesMax + 1;
  header.entry_count = tail.size() / header.entry_bytes;
  const CheckpointLayout layout = checkpoint_layout(header.entry_count, header.entry_bytes);
  header.sums_offset = layout.sums_offset;
  tail.resize(layout.entries_bytes);
  tail.resize(layout.file_bytes - kCheckpointHeaderBytes);
}

// Repairs the sums of a file whose length matches its layout.
void repair_sums(CheckpointHeader& header, std::vector<std::byte>& tail) {
  if (header.entry_bytes == 0 || header.entry_count > tail.size() / header.entry_bytes) return;
  const CheckpointLayout layout = checkpoint_layout(header.entry_count, header.entry_bytes);
  if (layout.file_bytes != kCheckpointHeaderBytes + tail.size()) return;
  std::byte* const sums = tail.data() + (layout.sums_offset - kCheckpointHeaderBytes);
  for (std::uint64_t block = 0; block < layout.block_count; ++block) {
    const std::uint64_t at = block * kCheckpointBlockBytes;
    const std::uint64_t bytes =
        std::min<std::uint64_t>(kCheckpointBlockBytes, layout.entries_bytes - at);
    const std::uint64_t sum = XXH3_64bits_withSeed(tail.data() + at, bytes, block);
    std::memcpy(sums + block * sizeof sum, &sum, sizeof sum);
  }
  header.sums_sum = XXH3_64bits(sums, layout.block_count * sizeof(std::uint64_t));
}

void repair_identity(CheckpointHeader& header) {
  header.sequence = header.sequence % kSequenceMax + 1;
  for (char* const text : {header.schema, header.fold}) {
    if (text[0] == 0) text[0] = 'a';
    text[sizeof header.fold - 1] = 0;
  }
}

// Repeats the tail, so that it fills several blocks and part of another.
void lengthen(std::vector<std::byte>& tail) {
  if (tail.empty()) return;
  const std::vector<std::byte> once = tail;
  const std::size_t blocks = std::to_integer<std::size_t>(once[0]) % 3 + 1;
  while (tail.size() < blocks * kCheckpointBlockBytes) {
    tail.insert(tail.end(), once.begin(), once.end());
  }
}

void run(std::span<const std::byte> input) {
  if (input.empty()) return;
  const auto repairs = std::to_integer<std::uint8_t>(input[0]);
  input = input.subspan(1);
  CheckpointHeader header{};
  const std::size_t fields = std::min(input.size(), kFieldBytes);
  std::memcpy(&header, input.data(), fields);
  std::vector<std::byte> tail(input.begin() + static_cast<std::ptrdiff_t>(fields), input.end());
  ++tally.runs;
  if (repairs & kLonger) lengthen(tail);
  if (repairs & kIdentity) repair_identity(header);
  if (repairs & kMagic) {
    header.magic = kCheckpointMagic;
    header.version = kCheckpointVersion;
    header.header_bytes = kCheckpointHeaderBytes;
    header.block_bytes = kCheckpointBlockBytes;
  }
  if (repairs & kLayout) repair_layout(header, tail);
  if (repairs & kSums) repair_sums(header, tail);
  if (repairs & kChecksum) {
    header.checksum = XXH3_64bits(&header, offsetof(CheckpointHeader, checksum));
  }

  if (repairs & kShort) {
    tail.resize(tail.size() - std::min<std::size_t>(tail.size(), header.created_wall_ns % 512));
  }
  SimDisk disk("/fuzz", 1);
  const auto file = disk.open(kPath, {.mode = OpenMode::kCreate});
  demand(file.ok(), "no file");
  demand(disk.write_at(*file, 0, std::as_bytes(std::span(&header, 1))).ok(), "no header");
  demand(disk.write_at(*file, sizeof header, tail).ok(), "no tail");
  const auto checkpoint = LoadedCheckpoint::load(disk, kPath);
  if (!checkpoint.ok()) return;
  ++tally.loaded;
  const auto entries = checkpoint->entries();
  demand(entries.size() == checkpoint->size() * header.entry_bytes, "sizes differ");
  demand(entries.size() <= tail.size(), "more than the file has");
  demand(std::equal(entries.begin(), entries.end(), tail.begin()), "other entries");
  if (entries.size() > kCheckpointBlockBytes) ++tally.of_several_blocks;
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
