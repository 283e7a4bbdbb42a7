#include "subscribers/checkpointer/state_store.h"

#include <fcntl.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <random>

#include "lapwing/error.h"
#include "lapwing/memory_state.h"
#include "os/kernel.h"
#include "snapshot/fold/entry_digest.h"
#include "testing/child_process.h"
#include "testing/tally_fold.h"
#include "testing/temporary_directory.h"

namespace lapwing {
namespace {

using Bytes = std::vector<std::byte>;

StorePosition position(Sequence sequence) {
  StorePosition at;
  at.at.journal_id.bytes.fill(1);
  at.at.session_id.bytes.fill(2);
  at.at.sequence = sequence;
  return at;
}

std::unique_ptr<StateStore> open_store(const std::string& directory, const FoldShape& shape,
                                       std::uint64_t hot_bytes_max = kHotBytesMax) {
  auto store = StateStore::open(directory, shape, hot_bytes_max);
  INFO(store.status().ToString());
  REQUIRE(store.ok());
  return *std::move(store);
}

std::uint64_t digest_of(const StateSnapshot& snapshot) {
  EntryDigest digest;
  REQUIRE(snapshot
              .read([&](std::span<const std::byte> entries) {
                digest.add(entries);
                return absl::OkStatus();
              })
              .ok());
  return digest.value();
}

FoldShape small_shape() {
  FoldShape shape = TallyFold().shape();
  shape.key_bytes = 3;
  shape.entry_bytes = 8;
  return shape;
}

// Keys that share prefixes, including the highest byte. Entries begin with their key.
struct Operation {
  explicit Operation(std::mt19937_64& random) {
    const auto byte = [&] { return std::byte{static_cast<unsigned char>(random() % 5 + 251)}; };
    key = {byte(), byte(), byte()};
    entry.assign(8, std::byte{0});
    const std::uint64_t content = random();
    std::memcpy(entry.data(), &content, 8);
    std::copy(key.begin(), key.end(), entry.begin());
    prefix_bytes = random() % 4;
    kind = random() % 32;
  }
  void apply(FoldState& state) const {
    if (kind == 0) {
      state.erase_prefix(std::span(key).first(prefix_bytes));
    } else if (kind < 10) {
      state.erase(key);
    } else {
      state.put(key, entry);
    }
  }
  Bytes key;
  Bytes entry;
  std::size_t prefix_bytes;
  std::uint64_t kind;
};

// Puts, erasures, reads, commits, drops and reopenings in any order must yield the state in memory.
void live(std::uint64_t seed, std::uint64_t hot_bytes_max) {
  const TemporaryDirectory directory;
  std::mt19937_64 random(seed);
  INFO("seed " << seed);
  const FoldShape shape = small_shape();
  auto store = open_store(directory.file("state"), shape, hot_bytes_max);
  MemoryState model(shape);
  std::vector<Operation> since_commit;
  Sequence sequence = 0;
  std::uint64_t committed_digest = model.digest();
  for (int i = 0; i < 4000; ++i) {
    const Operation operation(random);
    if (random() % 3 == 0) store->prefetch(operation.key);
    const std::byte* const found = store->find(operation.key);
    const std::byte* const expected = model.find(operation.key);
    REQUIRE((found == nullptr) == (expected == nullptr));
    if (found != nullptr) REQUIRE(std::memcmp(found, expected, shape.entry_bytes) == 0);
    operation.apply(*store);
    operation.apply(model);
    if (random() % 50 == 0) {
      REQUIRE(store->commit(position(++sequence)).ok());
      committed_digest = model.digest();
      REQUIRE(digest_of(store->snapshot()) == committed_digest);
    }
    if (sequence == 0 || random() % 400 != 0) continue;
    const StateSnapshot before = store->snapshot();
    REQUIRE(digest_of(before) == committed_digest);  // it does not include uncommitted changes
    REQUIRE(store->commit(position(++sequence)).ok());
    REQUIRE(digest_of(before) == committed_digest);  // or later commits
    committed_digest = model.digest();
  }
  REQUIRE(store->commit(position(++sequence)).ok());
  store.reset();
  store = open_store(directory.file("state"), shape);
  CHECK(store->position() == position(sequence));
  CHECK(digest_of(store->snapshot()) == model.digest());
}

// Bytes that this process has read from files, including the page cache.
std::uint64_t bytes_read() {
  std::ifstream counters("/proc/self/io");
  std::string name;
  std::uint64_t bytes = 0;
  counters >> name >> bytes;
  REQUIRE(name == "rchar:");
  return bytes;
}

}  // namespace

TEST_CASE("A store equals a state in memory after any puts, erases, commits and reopens") {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) live(seed, kHotBytesMax);
}

TEST_CASE("The same holds for a store whose memory is dropped at each commit") {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) live(seed, 1);
}

TEST_CASE("Changes without a commit are lost when the store is opened again") {
  const TemporaryDirectory directory;
  const FoldShape shape = small_shape();
  const Bytes key(3, std::byte{1});
  const Bytes one(8, std::byte{1});
  const Bytes two(8, std::byte{2});
  auto store = open_store(directory.file("state"), shape);
  store->put(key, one);
  REQUIRE(store->commit(position(5)).ok());
  store->put(key, two);
  store.reset();
  store = open_store(directory.file("state"), shape);
  CHECK(store->position() == position(5));
  CHECK(std::memcmp(store->find(key), one.data(), one.size()) == 0);
  store->put(key, two);
  store->drop_changes();
  CHECK(std::memcmp(store->find(key), one.data(), one.size()) == 0);
}

TEST_CASE("Erased prefixes count as memory") {
  const TemporaryDirectory directory;
  auto store = open_store(directory.file("state"), small_shape(), 1 << 20);
  for (std::uint32_t i = 0; i < (1U << 20) && !store->full(); ++i) {
    const Bytes prefix{std::byte(i >> 16), std::byte(i >> 8), std::byte(i)};
    store->erase_prefix(prefix);
  }
  CHECK(store->full());
  REQUIRE(store->commit(position(1)).ok());
  CHECK_FALSE(store->full());
}

TEST_CASE("Entries without a position are not a state") {
  const TemporaryDirectory directory;
  const FoldShape shape = small_shape();
  const Bytes key(3, std::byte{1});
  auto store = open_store(directory.file("state"), shape);
  store->put(key, Bytes(8, std::byte{1}));
  REQUIRE(store->commit(std::nullopt).ok());
  CHECK_FALSE(store->position());
  store.reset();
  store = open_store(directory.file("state"), shape);
  CHECK(store->find(key) == nullptr);
}

TEST_CASE("An emptied store is empty, at once and when it is opened again") {
  const TemporaryDirectory directory;
  const FoldShape shape = small_shape();
  const Bytes key(3, std::byte{0xff});
  auto store = open_store(directory.file("state"), shape);
  store->put(key, Bytes(8, std::byte{1}));
  REQUIRE(store->commit(position(9)).ok());
  REQUIRE(store->empty().ok());
  CHECK_FALSE(store->position());
  CHECK(store->find(key) == nullptr);
  store.reset();
  store = open_store(directory.file("state"), shape);
  CHECK_FALSE(store->position());
  CHECK(store->find(key) == nullptr);
}

TEST_CASE("A store of another fold, version, schema or size is refused, and stays unchanged") {
  const TemporaryDirectory directory;
  const std::string path = directory.file("state");
  REQUIRE(open_store(path, small_shape())->commit(position(7)).ok());
  std::vector<FoldShape> others(5, small_shape());
  others[0].name = "other";
  others[1].version = 2;
  others[2].schema = "dbn.mbo";
  others[3].entry_bytes = 16;
  others[4].key_bytes = 4;
  for (const FoldShape& other : others) {
    const auto refused = StateStore::open(path, other);
    CHECK(errc_of(refused.status()) == Errc::kInvalidArgument);
    CHECK(refused.status().message().find(path) != absl::string_view::npos);
  }
  CHECK(open_store(path, small_shape())->position() == position(7));
}

TEST_CASE("A store in use is refused with the process that uses it") {
  const TemporaryDirectory directory;
  const std::string path = directory.file("state");
  open_store(path, small_shape()).reset();
  const Shared<std::atomic<bool>> holds;
  // Locks as RocksDB does. In a child of this process, RocksDB itself would have no threads.
  ChildProcess holder([&] {
    const int fd = open((path + "/LOCK").c_str(), O_RDWR | O_CLOEXEC);
    struct flock lock{};
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    if (fcntl(fd, F_SETLK, &lock) != 0) return 1;
    holds->store(true);
    for (;;) pause();
    return 0;
  });
  while (!holds->load()) wait_readable(-1, 1'000'000);
  const auto refused = StateStore::open(path, small_shape());
  CHECK(errc_of(refused.status()) == Errc::kInUse);
  CHECK(refused.status().message().find(std::to_string(holder.pid())) != absl::string_view::npos);
}

TEST_CASE("A store with damaged files reports the damage and a remedy") {
  const TemporaryDirectory directory;
  const std::string path = directory.file("state");
  REQUIRE(open_store(path, small_shape())->commit(position(7)).ok());
  std::filesystem::resize_file(path + "/CURRENT", 3);
  const auto refused = StateStore::open(path, small_shape());
  CHECK(errc_of(refused.status()) == Errc::kDamaged);
  CHECK(refused.status().message().find("Remove that directory") != absl::string_view::npos);
}

TEST_CASE("A missing key is looked up without reading the same filters repeatedly") {
  constexpr std::uint64_t kKeys = 1'500'000;  // a one-megabyte filter for each memtable
  constexpr std::uint64_t kLookUps = 2000;
  constexpr std::uint64_t kReadMax = 64 << 20;
  const TemporaryDirectory directory;
  FoldShape shape = small_shape();
  shape.key_bytes = 8;
  const auto key_of = [](std::uint64_t number) {
    const std::uint64_t ordered = __builtin_bswap64(number);
    Bytes key(8);
    std::memcpy(key.data(), &ordered, 8);
    return key;
  };
  {
    auto store = open_store(directory.file("state"), shape);
    for (std::uint64_t i = 0; i < kKeys; ++i) {
      store->put(key_of(2 * i), key_of(2 * i));
      if (store->full()) REQUIRE(store->commit(position(i + 1)).ok());
    }
    REQUIRE(store->commit(position(kKeys)).ok());
  }
  auto store = open_store(directory.file("state"), shape);  // all of it in files
  const std::uint64_t before = bytes_read();
  std::mt19937_64 random(1);
  for (std::uint64_t i = 0; i < kLookUps; ++i) {
    REQUIRE(store->find(key_of(2 * (random() % kKeys) + 1)) == nullptr);
  }
  CHECK(bytes_read() - before < kReadMax);
  REQUIRE(store->find(key_of(2)) != nullptr);
}

}  // namespace lapwing
