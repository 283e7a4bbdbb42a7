#include "bus/ring_map.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

#include "lapwing/error.h"
#include "proto/header_checksum.h"
#include "proto/text_field.h"
#include "testing/ring_spec.h"

namespace lapwing {
namespace {

using Bytes = std::vector<char>;

Bytes read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return Bytes(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
}

void write_file(const std::string& path, const Bytes& bytes) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  REQUIRE(out.good());
}

// Returns the bytes of a ring with a few records.
Bytes ring_bytes(const std::string& directory) {
  TestRing ring(test_spec(directory));
  ring.publish(1, 1500);
  const Bytes bytes = read_file(ring.file.path());
  REQUIRE(ring.file.unlink().ok());
  return bytes;
}

RingHeader header_in(const Bytes& bytes) {
  RingHeader header;
  std::memcpy(&header, bytes.data(), sizeof header);
  return header;
}

void set_header(Bytes& bytes, RingHeader header) {
  header.checksum = checksum_of(header);
  std::memcpy(bytes.data(), &header, sizeof header);
}

Errc attach_error(const std::string& path) {
  return errc_of(RingMap::attach(path).status());
}

TEST_CASE("A missing ring is not found") {
  const TestDirectory directory;
  CHECK(attach_error(directory / "none.ring") == Errc::kNotFound);
}

using Path = std::string;

TEST_CASE("Another file in a ring's place is refused, without following a link or waiting") {
  struct Case {
    const char* what;
    void (*place)(const std::string& path, const std::string& ring);
  };
  const Case wrong = GENERATE(
      Case{"a directory", [](const Path& path, const Path&) { mkdir(path.c_str(), 0700); }},
      Case{"a FIFO", [](const Path& path, const Path&) { mkfifo(path.c_str(), 0600); }},
      Case{"a link to a device",
           [](const Path& path, const Path&) {
             std::filesystem::create_symlink("/dev/zero", path);
           }},
      Case{"a link to a ring",
           [](const Path& path, const Path& ring) { std::filesystem::create_symlink(ring, path); }},
      Case{"an empty file", [](const Path& path, const Path&) { write_file(path, {}); }},
      Case{"less than a header",
           [](const Path& path, const Path&) { write_file(path, Bytes(4095)); }},
      Case{"zeroes", [](const Path& path, const Path&) { write_file(path, Bytes(80'000)); }},
      Case{"text", [](const Path& path, const Path&) { write_file(path, Bytes(80'000, 'x')); }});
  INFO(wrong.what);
  const TestDirectory directory;
  const std::string path = directory / "a.ring";
  const RingFile file = make_ring(test_spec(directory.path()));
  wrong.place(path, file.path());
  CHECK(attach_error(path) == Errc::kNotALapwingFile);
}

TEST_CASE("A header with any byte changed is refused") {
  const TestDirectory directory;
  const std::string path = directory / "a.ring";
  const Bytes good = ring_bytes(directory.path());
  write_file(path, good);
  REQUIRE(RingMap::attach(path).ok());
  std::mt19937 random(Catch::rngSeed());
  std::uniform_int_distribution<int> flip(1, 255);
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  for (std::size_t at = 0; at < sizeof(RingHeader); ++at) {
    const auto offset = static_cast<std::streamoff>(at);
    file.seekp(offset).put(static_cast<char>(good[at] ^ flip(random))).flush();
    const Errc expected = at < 8    ? Errc::kNotALapwingFile
                          : at < 12 ? Errc::kAbiMismatch
                                    : Errc::kDamaged;
    INFO("byte " << at);
    REQUIRE(attach_error(path) == expected);
    file.seekp(offset).put(good[at]).flush();
  }
  CHECK(RingMap::attach(path).ok());
}

TEST_CASE("A header with a correct checksum must still match the geometry") {
  struct Case {
    const char* what;
    Errc expected;
    void (*spoil)(RingHeader& header);
  };
  const Case bad = GENERATE(
      Case{"an unknown feature", Errc::kAbiMismatch,
           [](RingHeader& header) { header.feature_bits = 1; }},
      Case{"another release", Errc::kAbiMismatch,
           [](RingHeader& header) { header.abi_version = kAbiVersion + 1; }},
      Case{"slots elsewhere", Errc::kDamaged,
           [](RingHeader& header) { header.header_bytes = 4096; }},
      Case{"slots that are too wide", Errc::kDamaged,
           [](RingHeader& header) { header.slot_bytes = 128; }},
      Case{"slots that are too narrow", Errc::kDamaged,
           [](RingHeader& header) { header.slot_bytes = 32; }},
      Case{"no slots", Errc::kDamaged, [](RingHeader& header) { header.slot_bytes = 0; }},
      Case{"records wider than their slots", Errc::kDamaged,
           [](RingHeader& header) { header.record_bytes = 57; }},
      Case{"records of no size", Errc::kDamaged,
           [](RingHeader& header) { header.record_bytes = 0; }},
      Case{"records too large", Errc::kDamaged,
           [](RingHeader& header) { header.record_bytes = UINT32_MAX; }},
      Case{"a capacity of no slots", Errc::kDamaged,
           [](RingHeader& header) { header.capacity = 0; }},
      Case{"half the capacity", Errc::kDamaged, [](RingHeader& header) { header.capacity /= 2; }},
      Case{"twice the capacity", Errc::kDamaged, [](RingHeader& header) { header.capacity *= 2; }},
      Case{"a capacity that is no power of two", Errc::kDamaged,
           [](RingHeader& header) { header.capacity -= 1; }},
      Case{"a capacity whose bytes overflow", Errc::kDamaged,
           [](RingHeader& header) { header.capacity = std::uint64_t{1} << 58; }},
      Case{"a ring that begins at 0", Errc::kDamaged,
           [](RingHeader& header) { header.ring_first_sequence = 0; }},
      Case{"a ring that begins after its session", Errc::kDamaged,
           [](RingHeader& header) { header.ring_first_sequence = 2; }},
      Case{"more before the session than fits", Errc::kDamaged,
           [](RingHeader& header) { header.session_first_sequence = 1026; }},
      Case{"a session without sequences", Errc::kDamaged,
           [](RingHeader& header) { header.session_first_sequence = kSequenceMax + 1; }},
      Case{"neither with nor without a journal", Errc::kDamaged,
           [](RingHeader& header) { header.has_journal = 2; }});
  INFO(bad.what);
  const TestDirectory directory;
  const std::string path = directory / "a.ring";
  Bytes bytes = ring_bytes(directory.path());
  RingHeader header = header_in(bytes);
  bad.spoil(header);
  set_header(bytes, header);
  write_file(path, bytes);
  CHECK(attach_error(path) == bad.expected);
}

TEST_CASE("A capacity that is not a power of two is refused even if the file's length matches") {
  const TestDirectory directory;
  const std::string path = directory / "a.ring";
  Bytes bytes = ring_bytes(directory.path());
  RingHeader header = header_in(bytes);
  header.capacity = 1536;
  bytes.resize(ring_file_bytes(header.capacity, header.slot_bytes));
  set_header(bytes, header);
  write_file(path, bytes);
  CHECK(attach_error(path) == Errc::kDamaged);
}

TEST_CASE("A file whose length differs from its header is refused") {
  const TestDirectory directory;
  const std::string path = directory / "a.ring";
  Bytes bytes = ring_bytes(directory.path());
  const std::size_t whole = bytes.size();
  bytes.resize(GENERATE_COPY(std::size_t{4096}, std::size_t{8191}, std::size_t{8192}, whole - 4096,
                             whole - 1, whole + 1, 2 * whole));
  write_file(path, bytes);
  CHECK(attach_error(path) == Errc::kDamaged);
}

// Reads with any content of page 1 and the slots. An invalid access would crash.
void read_everywhere(const RingMap& map, std::mt19937_64& random) {
  const RingReader reader(map);
  std::vector<std::byte> out(map.header().record_bytes);
  for (int i = 0; i < 200; ++i) {
    const Sequence n = random() >> (random() % 64);
    const RingReadResult result = reader.try_read(n, out.data());
    if (result.outcome == RingRead::kLapped) CHECK(result.resume > n);
  }
  CHECK(reader.oldest() >= 1);
}

TEST_CASE("Reading a ring of garbage is an error or stays within its bounds") {
  const TestDirectory directory;
  const std::string path = directory / "a.ring";
  const Bytes good = ring_bytes(directory.path());
  std::mt19937_64 random(Catch::rngSeed());
  int attached = 0;
  for (int round = 0; round < 500; ++round) {
    Bytes bytes = good;
    const bool reseal = round % 2 == 0;
    const std::size_t from = reseal ? 120 : 4096;  // schema and name; then page 1 and slots
    const std::size_t to = reseal ? 4088 : bytes.size();
    for (int i = 0; i < 400; ++i)
      bytes[from + random() % (to - from)] = static_cast<char>(random());
    if (reseal) {
      RingHeader header = header_in(bytes);
      auto* const fields = reinterpret_cast<char*>(&header);
      for (int i = 0; i < static_cast<int>(random() % 3); ++i) {
        fields[random() % 120] = static_cast<char>(random());
      }
      set_header(bytes, header);
    }
    write_file(path, bytes);
    const absl::StatusOr<RingMap> map = RingMap::attach(path);
    if (!map.ok()) continue;
    ++attached;
    const RingHeader& header = map->header();
    REQUIRE(ring_file_bytes(header.capacity, header.slot_bytes) == bytes.size());
    CHECK(get_text(header.schema).size() <= sizeof header.schema);
    read_everywhere(*map, random);
  }
  CHECK(attached >= 250);  // attach() does not check page 1 and the slots
}

TEST_CASE("A reader's mapping cannot be made writable") {
  const TestDirectory directory;
  const RingFile file = make_ring(test_spec(directory.path()));
  const RingMap map = map_ring(file.path());
  void* const page = const_cast<RingWords*>(&map.words());
  CHECK(mprotect(page, kPageBytes, PROT_READ | PROT_WRITE) != 0);
  CHECK(errno == EACCES);

  const UniqueFd fd(open(file.path().c_str(), O_RDONLY | O_CLOEXEC));
  REQUIRE(fd.valid());
  CHECK(mmap(nullptr, kPageBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0) == MAP_FAILED);
  CHECK(errno == EACCES);
  CHECK(ftruncate(fd.get(), 0) != 0);
  CHECK(fallocate(fd.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096) != 0);
}

TEST_CASE("A mapping moves with its object") {
  const TestDirectory directory;
  TestRing ring(test_spec(directory.path()));
  ring.publish(1, 3);
  RingMap first = map_ring(ring.file.path());
  const RingMap second = std::move(first);
  std::vector<std::byte> out(56);
  CHECK(RingReader(second).try_read(3, out.data()).outcome == RingRead::kRecord);
  CHECK(out == record_of(3, 56));
}

}  // namespace
}  // namespace lapwing
