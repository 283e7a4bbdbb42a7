// Unexpected files in a bus directory: a start refuses them, `verify` reports them, `repair`
// removes them, and a failed start leaves nothing behind.
#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "os/exclusive_lock.h"
#include "snapshot/dbn/kept_metadata.h"
#include "snapshot/journal/session_log.h"
#include "snapshot/recovery/repair.h"
#include "snapshot/recovery/verify.h"
#include "snapshot/schema/kept_schemas.h"
#include "testing/closing_publisher.h"
#include "testing/publisher_fixture.h"
#include "testing/signal_record.h"

namespace lapwing {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kObstructedRecords = 100;
constexpr char kMetadata[] = "DBN of a feed";

// A bus with a closed session of kObstructedRecords records.
class ClosedBus {
 public:
  explicit ClosedBus(std::optional<Schema> schema = std::nullopt)
      : options_(options_for(directory_)) {
    options_.schema = std::move(schema);
    fs::create_directory(rings_.path() + "/r");
    options_.ring_directory = rings_.path() + "/r";
    REQUIRE(start().ok());
  }

  const std::string& bus() const { return options_.directory; }
  std::string root() const { return bus() + "/" + kJournalDirectoryName; }
  std::string journal() const {
    return root() + "/" + read_bus_description(bus())->journal_id.hex();
  }
  std::string segment(const std::string& suffix) const {
    return journal() + "/00000000000000000000." + suffix;
  }
  // Runs one publisher session, whose feed may have metadata.
  absl::Status start(const std::string& metadata = "") {
    options_.metadata = metadata;
    const auto publisher = closing(open_with_seams(options_));
    if (!publisher.ok()) return publisher.status();
    first_ = (*publisher)->first();
    const auto records = records_from(first_, kObstructedRecords);
    if (!(*publisher)->publish_batch(bytes_of(records)).ok()) {
      return (*publisher)->last_error();
    }
    return (*publisher)->close();
  }
  Sequence first() const { return first_; }
  // Makes later publishers take the records' description from the journal.
  void describe_no_more() {
    options_.schema_name = options_.schema->name;
    options_.schema.reset();
  }
  VerifyReport verify() {
    const auto report = verify_journal(disk_, root(), nullptr, {*boot_id(), no_ring()});
    INFO(report.status().ToString());
    REQUIRE(report.ok());
    return *report;
  }
  RepairReport repair(bool bus_file_is_kept = true) {
    const auto lock = ExclusiveLock::take(root() + "/" + kLockFileName, kHangNs);
    REQUIRE(lock.ok());
    RepairRequest request{root(), *boot_id(), *random_id(), no_ring()};
    if (bus_file_is_kept) request.bus_description = read_bus_description(bus())->description;
    const auto report = repair_journal(disk_, *lock, request);
    INFO(report.status().ToString());
    REQUIRE(report.ok());
    return *report;
  }
  std::size_t sessions() {
    const auto log = SessionLog::open_read_only(disk_, root());
    REQUIRE(log.ok());
    return log->sessions().size();
  }
  std::size_t rings() const {
    std::size_t count = 0;
    for (const auto& entry : fs::recursive_directory_iterator(rings_.path())) {
      if (entry.is_regular_file()) ++count;
    }
    return count;
  }

 private:
  static RingOpener no_ring() {
    return
        [](const std::string&) -> absl::StatusOr<std::optional<RingImage>> { return std::nullopt; };
  }

  TemporaryDirectory directory_;
  TemporaryDirectory rings_{TemporaryDirectory::in_memory()};
  PublisherSetUp options_;
  PosixDisk disk_;
  Sequence first_ = 0;
};

void put_directory(const std::string& path) {
  fs::remove_all(path);
  fs::create_directories(path + "/in-the-way");
}

struct Spoilt {
  const char* what;
  std::string (*spoil)(ClosedBus& bus);  // returns the path that verify must report
  bool starts = false;                   // a start restores it without repair
  bool loses = false;                    // repair ends the journal
};

void add_bytes(const std::string& path, std::int64_t bytes) {
  fs::resize_file(
      path, static_cast<std::uintmax_t>(static_cast<std::int64_t>(fs::file_size(path)) + bytes));
}

// Removes the zero pages at the end of a file, as copying without holes would.
void cut_zeros(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  const std::size_t end = bytes.find_last_not_of('\0') + 1;
  fs::resize_file(path, (end + kPageBytes - 1) / kPageBytes * kPageBytes);
}

const std::vector<Spoilt>& all_spoilt() {
  static const std::vector<Spoilt> all = {
      {"a segment that is a byte longer",
       [](ClosedBus& bus) { return add_bytes(bus.segment("jnl"), 1), bus.segment("jnl"); }, true},
      {"a segment that is a byte shorter",
       [](ClosedBus& bus) { return add_bytes(bus.segment("jnl"), -1), bus.segment("jnl"); }, true},
      {"a segment without the zeros at its end",
       [](ClosedBus& bus) { return cut_zeros(bus.segment("jnl")), bus.segment("jnl"); }, true},
      {"sums that are a byte longer",
       [](ClosedBus& bus) { return add_bytes(bus.segment("sum"), 1), bus.segment("sum"); }, true},
      {"sums that are a byte shorter",
       [](ClosedBus& bus) { return add_bytes(bus.segment("sum"), -1), bus.segment("sum"); }, true},
      {"sums that end after the last one",
       [](ClosedBus& bus) { return fs::resize_file(bus.segment("sum"), 32), bus.segment("sum"); },
       true},
      {"a directory for an index",
       [](ClosedBus& bus) { return put_directory(bus.segment("idx")), bus.segment("idx"); }},
      {"a directory for `retention`",
       [](ClosedBus& bus) {
         return put_directory(bus.journal() + "/retention"), bus.journal() + "/retention";
       }},
      {"a directory for an unfinished file",
       [](ClosedBus& bus) {
         return put_directory(bus.segment("jnl.new")), bus.segment("jnl.new");
       }},
      {"a directory for a segment that no record has reached",
       [](ClosedBus& bus) {
         const std::string next = bus.journal() + "/00000000000000000001.jnl";
         return put_directory(next), next;
       }},
      {"a directory for sums without a segment",
       [](ClosedBus& bus) {
         const std::string sums = bus.journal() + "/00000000000000000001.sum";
         return put_directory(sums), sums;
       }},
      {"a directory for `sessions`",
       [](ClosedBus& bus) {
         return put_directory(bus.root() + "/sessions"), bus.root() + "/sessions";
       }},
      {"a directory for the copy of `sessions`",
       [](ClosedBus& bus) {
         return put_directory(bus.root() + "/sessions.copy"), bus.root() + "/sessions.copy";
       }},
      {"a directory for the segment",
       [](ClosedBus& bus) { return put_directory(bus.segment("jnl")), bus.segment("jnl"); }, false,
       true},
      {"a directory for the sums",
       [](ClosedBus& bus) { return put_directory(bus.segment("sum")), bus.segment("sum"); }, false,
       true},
      {"sums that end before the last one",
       [](ClosedBus& bus) { return fs::resize_file(bus.segment("sum"), 8), bus.segment("sum"); },
       false, true},
      {"a segment that ends before the last record",
       [](ClosedBus& bus) { return fs::resize_file(bus.segment("jnl"), 4200), bus.segment("jnl"); },
       false, true},
      {"a file for the journal's directory",
       [](ClosedBus& bus) {
         std::string path = bus.journal();
         fs::remove_all(path);
         std::ofstream{path};
         return path;
       },
       false, true},
  };
  return all;
}

bool names(const VerifyReport& report, const std::string& path) {
  return std::ranges::any_of(report.findings, [&](const VerifyFinding& finding) {
    return finding.damage.file.find(path) != std::string::npos;
  });
}

}  // namespace

TEST_CASE("Whatever a start refuses, verify reports and repair removes, and then it starts") {
  const std::size_t index = GENERATE(range(std::size_t{0}, all_spoilt().size()));
  const Spoilt& spoilt = all_spoilt()[index];
  INFO(spoilt.what);
  ClosedBus bus;
  const std::string path = spoilt.spoil(bus);
  const VerifyReport found = bus.verify();
  CHECK(names(found, path));
  CHECK(found.loses_records == spoilt.loses);
  if (spoilt.starts && GENERATE(true, false)) {
    REQUIRE(bus.start().ok());
    CHECK(bus.first() == kObstructedRecords + 1);
    CHECK(bus.verify().is_clean());
    return;
  }
  if (!spoilt.starts) {
    const std::size_t sessions = bus.sessions();
    for (int attempt = 0; attempt < 2; ++attempt) {
      const absl::Status refused = bus.start();
      INFO(refused.ToString());
      CHECK_FALSE(refused.ok());
      CHECK(bus.rings() == 0);
      CHECK(bus.sessions() == sessions);
    }
  }
  const RepairReport repaired = bus.repair();
  CHECK_FALSE(repaired.done.empty());
  CHECK(repaired.journal_ended == spoilt.loses);
  CHECK((repaired.remaining.is_clean() || spoilt.loses));
  const absl::Status started = bus.start();
  INFO(started.ToString());
  REQUIRE(started.ok());
  CHECK(bus.first() == (spoilt.loses ? 1 : kObstructedRecords + 1));
  CHECK((bus.verify().is_clean() || spoilt.loses));
}

TEST_CASE("A missing description is restored from bus.json, or else its journal ends") {
  ClosedBus bus(schema_of<Signal>());
  std::string path;
  for (const auto& entry : fs::directory_iterator(bus.root() + "/" + kKeptSchemas.directory)) {
    path = entry.path().string();
  }
  REQUIRE(fs::is_regular_file(path));
  const bool is_directory = GENERATE(false, true);
  fs::remove(path);
  if (is_directory) put_directory(path);
  bus.describe_no_more();
  CHECK(names(bus.verify(), path));
  CHECK(errc_of(bus.start()) == Errc::kDamaged);
  CHECK(bus.rings() == 0);
  const bool bus_file_is_kept = GENERATE(true, false);
  const RepairReport repaired = bus.repair(bus_file_is_kept);
  CHECK(repaired.journal_ended == !bus_file_is_kept);
  CHECK(repaired.remaining.is_clean());
  const absl::Status started = bus.start();
  INFO(started.ToString());
  REQUIRE(started.ok());
  CHECK(bus.first() == (bus_file_is_kept ? kObstructedRecords + 1 : 1));
}

TEST_CASE("A directory in the place of stored metadata is reported, and set aside by repair") {
  ClosedBus bus;
  const std::string path = kKeptMetadata.path(bus.root(), metadata_hash_of(kMetadata));
  fs::create_directories(path);
  CHECK(names(bus.verify(), path));
  CHECK_FALSE(bus.start(kMetadata).ok());
  CHECK(bus.rings() == 0);
  CHECK_FALSE(bus.repair().done.empty());
  const absl::Status started = bus.start(kMetadata);
  INFO(started.ToString());
  CHECK(started.ok());
}

}  // namespace lapwing
