// Joining from a snapshot. Tests which checkpoint is chosen, and that state and records together
// equal those of a subscriber attached from the start.
#include <algorithm>
#include <catch2/catch.hpp>
#include <functional>
#include <utility>

#include "lapwing/error.h"
#include "lapwing/subscriber.h"
#include "testing/bus_checkpoints.h"
#include "testing/bus_fixture.h"
#include "testing/is_readable.h"

namespace lapwing {
namespace {

constexpr std::uint32_t kLargeEntryBytes = 4096;  // 300 entries take more than one slice to load

// A bus, a fold, and a subscriber that starts from a snapshot.
struct Join {
  explicit Join(std::uint32_t entry_bytes = sizeof(TestFold::Entry))
      : fold(std::make_shared<TestFold>(entry_bytes)) {
    bus.start();
  }
  void publish_and_archive(std::uint64_t count) {
    bus.publish(count);
    bus.archive(bus.head());
  }
  std::string checkpoint(Sequence as_of) { return write_checkpoint(bus, *fold, as_of); }
  void begin() { trace.emplace(bus, bus.options(Start::snapshot(fold))); }
  // Polls until this file is open: its header was read, and at most one slice of its entries.
  void until_loading(const std::string& path) {
    const std::uint64_t deadline_ns = monotonic_ns() + 60'000'000'000;  // ends a hang
    while (!is_open(path)) {
      (void)trace->step();
      REQUIRE(monotonic_ns() < deadline_ns);
    }
    REQUIRE(trace->lines.empty());
  }
  static bool is_open(const std::string& path) {
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
      std::error_code gone;
      if (std::filesystem::read_symlink(entry.path(), gone) == path) return true;
    }
    return false;
  }

  TestBus bus;
  std::shared_ptr<TestFold> fold;
  std::optional<Trace> trace;
};

TEST_CASE("From a snapshot the state comes first, then every record after it") {
  Join join;
  join.publish_and_archive(1500);
  const std::string path = join.checkpoint(1200);
  join.begin();
  std::size_t entry_bytes = 0;
  while (entry_bytes == 0) {
    const Result<Item> item = join.trace->step();
    if (came(item) == ItemKind::kState) entry_bytes = item->record.size();
  }
  CHECK(entry_bytes == sizeof(TestFold::Entry));
  CHECK(join.trace->subscriber.state_size() == 300);
  CHECK(join.trace->subscriber.fold() == join.fold);
  CHECK(join.trace->subscriber.record_bytes() == 56);
  REQUIRE(join.trace->until(EventKind::kSnapshotComplete));
  CHECK(join.trace->says(absl::StrCat("300 entries from ", path)));
  REQUIRE(join.trace->until(EventKind::kCaughtUp));
  join.bus.publish(10);
  REQUIRE(join.trace->until_record(1510));
  CHECK(join.trace->lines == Lines{"state x 300", "snapshot-complete 1200", "1201..1500",
                                   "caught-up 1500", "1501..1510"});
  const SubscriberCounters& counters = join.trace->subscriber.counters();
  CHECK(counters.state == 300);
  CHECK(counters.records == 310);
  CHECK(counters.first == 1201);
  CHECK(counters.lost == 0);
}

TEST_CASE("The entries and their indexes are those of the checkpoint, in the order of their keys") {
  Join join;
  join.publish_and_archive(1500);
  join.checkpoint(1234);
  join.begin();
  MemoryState state(join.fold->shape());
  std::vector<std::byte> key(2);
  std::vector<std::byte> last_key;
  for (Result<Item> item = join.trace->step(); came(item) != EventKind::kSnapshotComplete;
       item = join.trace->step()) {
    if (came(item) != ItemKind::kState) continue;
    const auto entry = item->record;
    join.fold->key_of(entry, key);
    CHECK(last_key < key);
    last_key = key;
    CHECK(item->sequence == join.fold->place_of(entry));
    CHECK(item->sequence > 1234 - 300);
    state.put(key, entry);
  }
  CHECK(state.digest() == state_of(*join.fold, join.bus, 1234).digest());
}

TEST_CASE("If all records after the state have left the ring, they come from the journal") {
  Join join;
  join.publish_and_archive(20'000);
  join.checkpoint(500);
  join.begin();
  REQUIRE(join.trace->until(EventKind::kCaughtUp));
  CHECK(join.trace->lines ==
        Lines{"state x 300", "snapshot-complete 500", "501..20000", "caught-up 20000"});
}

TEST_CASE("A state as of the newest record is complete at once, and nothing is delivered twice") {
  Join join;
  join.publish_and_archive(700);
  join.checkpoint(700);
  join.begin();
  REQUIRE(join.trace->until(EventKind::kCaughtUp));
  join.bus.publish(1);
  REQUIRE(join.trace->until_record(701));
  CHECK(join.trace->lines ==
        Lines{"state x 300", "snapshot-complete 700", "caught-up 700", "701..701"});
}

TEST_CASE("An empty state is a state") {
  Join join;
  join.publish_and_archive(100);
  write_checkpoint(join.bus, *join.fold, MemoryState(join.fold->shape()),
                   identity_at(join.bus, 60));
  join.begin();
  REQUIRE(join.trace->until(EventKind::kCaughtUp));
  CHECK(join.trace->lines == Lines{"snapshot-complete 60", "61..100", "caught-up 100"});
  CHECK(join.trace->subscriber.state_size() == 0);
}

TEST_CASE("Without a checkpoint the join begins with the oldest existing record, and reports it") {
  const bool pruned = GENERATE(false, true);
  Join join;
  join.publish_and_archive(5000);
  if (pruned) join.bus.prune_below_segment(2);
  const Sequence oldest = pruned ? 2049 : 1;
  join.begin();
  REQUIRE(join.trace->until(EventKind::kNoSnapshot));
  CHECK(join.trace->says("no checkpoint in "));
  CHECK(join.trace->says(absl::StrCat("begins with sequence ", oldest, ",")));
  CHECK(join.trace->subscriber.fold() == join.fold);
  REQUIRE(join.trace->until(EventKind::kCaughtUp));
  CHECK(join.trace->lines == Lines{absl::StrCat("no-snapshot ", oldest),
                                   absl::StrCat(oldest, "..5000"), "caught-up 5000"});
  CHECK(join.trace->subscriber.counters().lost == 0);
}

TEST_CASE("A start from a snapshot reports the records missing before its first record") {
  Join join;
  SECTION("pruned in between") {
    join.publish_and_archive(5000);
    join.begin();
    REQUIRE(join.trace->until(EventKind::kNoSnapshot));
    join.bus.prune_below_segment(2);
    REQUIRE(join.trace->until_record(5000));
    CHECK(join.trace->lines == Lines{"no-snapshot 1", "lost 1..2048 pruned", "2049..5000"});
  }
  SECTION("a void at the beginning") {
    join.bus.publish(10);
    join.bus.kill();
    join.bus.cut(0);
    join.bus.start();
    const Sequence first = join.bus.next();
    join.publish_and_archive(5);
    join.begin();
    REQUIRE(join.trace->until_record(first + 4));
    CHECK(join.trace->lines == Lines{"no-snapshot 1", absl::StrCat("lost 1..", first - 1, " void"),
                                     absl::StrCat("session ", first),
                                     absl::StrCat(first, "..", first + 4)});
  }
}

TEST_CASE("Records that are not durable are reported at the end, and each event has its own text") {
  Join join;
  join.publish_and_archive(1500);
  join.checkpoint(1200);
  join.bus.fail_journal();
  join.bus.publish(100);
  join.begin();
  REQUIRE(join.trace->until(EventKind::kSnapshotComplete));
  CHECK(join.trace->says("300 entries from"));
  REQUIRE(join.trace->until(EventKind::kCaughtUp));
  CHECK(join.trace->says("not durable: the journal of bus"));
  CHECK_FALSE(join.trace->says("entries"));
}

// Each fault makes the newest checkpoint, as of 1400, unusable; `said` is part of the reason.
struct Fault {
  const char* name;
  const char* said;
  std::function<void(Join&)> spoil;
};
void write_as(Join& join, const CheckpointIdentity& identity) {
  write_checkpoint(join.bus, *join.fold, state_of(*join.fold, join.bus, 1400), identity);
}
const Fault kFaults[] = {
    {"a byte differs", "sum mismatch",
     [](Join& join) { flip_bit(join.checkpoint(1400), 4096 + 1000, 3); }},
    {"cut short", "cut short",
     [](Join& join) {
       const std::string path = join.checkpoint(1400);
       make_writable(path);
       std::filesystem::resize_file(path, 1000);
     }},
    {"no checkpoint at all", "",
     [](Join& join) {
       const std::string path = join.checkpoint(1400);
       make_writable(path);
       std::ofstream(path, std::ios::trunc) << "nothing";
     }},
    {"of another journal", "is of journal 4242",
     [](Join& join) {
       write_as(join, {fixture_id(0x42), join.bus.ring->header().session_id, 1400});
     }},
    {"of a session that the journal does not list", "does not list",
     [](Join& join) {
       write_as(join, {join.bus.journal.current_journal_id(), fixture_id(77), 1400});
     }},
    {"newer than what is durable", "durable",
     [](Join& join) { write_as(join, identity_at(join.bus, 1501)); }},
    {"of another version of the fold", "version",
     [](Join& join) {
       TestFold other;
       other.shape_to_spoil().version = 2;
       write_checkpoint(join.bus, other, 1400);
     }},
    {"of another fold, by a mistake of its directory", "fold",
     [](Join& join) {
       const TestFold other(sizeof(TestFold::Entry), "other");
       std::filesystem::create_directories(checkpoint_directory(join.bus.directory(), "last"));
       std::filesystem::rename(
           write_checkpoint(join.bus, other, 1400),
           checkpoint_path(checkpoint_directory(join.bus.directory(), "last"), 1400));
     }},
};

TEST_CASE("An unusable checkpoint is skipped with a reason, and an older one is used") {
  const Fault& fault = GENERATE(from_range(std::begin(kFaults), std::end(kFaults)));
  INFO(fault.name);
  const bool has_older = GENERATE(true, false);
  Join join;
  join.publish_and_archive(1500);
  if (has_older) join.checkpoint(1000);
  fault.spoil(join);
  join.begin();
  REQUIRE(join.trace->until(has_older ? EventKind::kSnapshotComplete : EventKind::kNoSnapshot));
  CHECK(join.trace->says(fault.said));
  CHECK(join.trace->says(".ckpt"));
  CHECK(join.trace->says(has_older ? "passed over: " : "no checkpoint that can be used: "));
  REQUIRE(join.trace->until(EventKind::kCaughtUp));
  CHECK(join.trace->lines ==
        (has_older ? Lines{"state x 300", "snapshot-complete 1000", "1001..1500", "caught-up 1500"}
                   : Lines{"no-snapshot 1", "1..1500", "caught-up 1500"}));
}

TEST_CASE(
    "A large state is loaded in slices, and nothing is delivered before all of it is verified") {
  const bool damaged = GENERATE(false, true);  // at its end
  Join join(kLargeEntryBytes);
  join.publish_and_archive(1500);
  const std::string path = join.checkpoint(1200);
  if (damaged) flip_bit(path, std::filesystem::file_size(path) - 100'000, 1);
  join.begin();
  join.until_loading(path);
  int slices = 0;
  Result<Item> item = join.trace->step();
  for (; came(item) == Came::kNothing && Join::is_open(path); item = join.trace->step()) ++slices;
  CHECK(slices >= 1);
  CHECK(came(item) == (damaged ? Came::kNothing : Came(EventKind::kSession)));
  REQUIRE(join.trace->until(EventKind::kCaughtUp));
  CHECK(join.trace->lines ==
        (damaged ? Lines{"no-snapshot 1", "1..1500", "caught-up 1500"}
                 : Lines{"state x 300", "snapshot-complete 1200", "1201..1500", "caught-up 1500"}));
}

TEST_CASE("A wait returns at its deadline while the state is loaded") {
  Join join(kLargeEntryBytes);
  join.publish_and_archive(1500);
  const std::string path = join.checkpoint(1200);
  join.begin();
  join.until_loading(path);
  CHECK(came(join.trace->subscriber.next(Deadline::now())) == Came::kNothing);
  CHECK(Join::is_open(path));
}

TEST_CASE("A descriptor for event loops stays readable while the state is loaded") {
  Join join(kLargeEntryBytes);
  join.publish_and_archive(1500);
  const std::string path = join.checkpoint(1200);
  join.begin();
  const auto descriptor = join.trace->subscriber.fd();
  REQUIRE(descriptor.ok());
  join.until_loading(path);
  CHECK(is_readable(*descriptor));
  REQUIRE(came(join.trace->step()) == Came::kNothing);
  CHECK(is_readable(*descriptor));
  REQUIRE(join.trace->until(EventKind::kSnapshotComplete));
}

TEST_CASE("A checkpoint that is removed while it is loaded is still loaded") {
  Join join(kLargeEntryBytes);
  join.publish_and_archive(1500);
  const std::string path = join.checkpoint(1200);
  join.begin();
  join.until_loading(path);
  std::filesystem::remove(path);
  REQUIRE(join.trace->until(EventKind::kCaughtUp));
  CHECK(join.trace->lines ==
        Lines{"state x 300", "snapshot-complete 1200", "1201..1500", "caught-up 1500"});
}

TEST_CASE("If a checkpoint is removed before it is opened, a newer one is used") {
  Join join(kLargeEntryBytes);
  join.publish_and_archive(3000);
  const std::string damaged = join.checkpoint(1300);
  flip_bit(damaged, std::filesystem::file_size(damaged) - 100'000, 1);
  const std::string older = join.checkpoint(1200);
  join.begin();
  join.until_loading(damaged);  // the other one is listed, but not open
  std::filesystem::remove(older);
  join.checkpoint(2500);
  REQUIRE(join.trace->until(EventKind::kCaughtUp));
  CHECK(join.trace->lines ==
        Lines{"state x 300", "snapshot-complete 2500", "2501..3000", "caught-up 3000"});
}

TEST_CASE("A directory without a newer checkpoint is not read repeatedly") {
  Join join(kLargeEntryBytes);
  join.publish_and_archive(5000);
  join.checkpoint(1000);
  join.bus.prune_below_segment(2);
  const std::string damaged = join.checkpoint(4000);
  flip_bit(damaged, std::filesystem::file_size(damaged) - 100'000, 1);
  join.begin();
  join.until_loading(damaged);
  int loads = 1;
  for (bool open = true; came(join.trace->step()) != EventKind::kNoSnapshot;) {
    const bool was_open = std::exchange(open, Join::is_open(damaged));
    loads += open && !was_open ? 1 : 0;
  }
  CHECK(loads == 1);
  CHECK(join.trace->says("sum mismatch"));
  CHECK(join.trace->says("the records between them are pruned"));
}

TEST_CASE("If the journal is pruned past the checkpoint during the load, a newer one is used") {
  const bool has_newer = GENERATE(true, false);
  Join join(kLargeEntryBytes);
  join.publish_and_archive(3000);
  const std::string path = join.checkpoint(1000);
  join.begin();
  join.until_loading(path);
  join.publish_and_archive(5000);
  if (has_newer) join.checkpoint(7500);  // newer than the join, too
  join.bus.prune_below_segment(6);
  REQUIRE(join.trace->until(has_newer ? EventKind::kSnapshotComplete : EventKind::kNoSnapshot));
  if (!has_newer) {
    CHECK(join.trace->says(path + ": is as of 1000, and the journal begins with 6145"));
  }
  REQUIRE(join.trace->until_record(8000));
  join.trace->until_quiet();
  CHECK(join.trace->lines ==
        (has_newer ? Lines{"state x 300", "snapshot-complete 7500", "caught-up 7500", "7501..8000"}
                   : Lines{"no-snapshot 6145", "caught-up 3000", "6145..8000"}));
  CHECK(join.trace->subscriber.counters().lost == 0);
}

TEST_CASE("Records pruned while the state is delivered are reported as lost, in order") {
  Join join;
  join.publish_and_archive(3000);
  join.checkpoint(1000);
  join.begin();
  REQUIRE(join.trace->until(ItemKind::kState));
  join.publish_and_archive(5000);
  join.bus.prune_below_segment(6);
  REQUIRE(join.trace->until_record(8000));
  CHECK(join.trace->lines == Lines{"state x 300", "snapshot-complete 1000",
                                   "lost 1001..6144 pruned", "caught-up 3000", "6145..8000"});
}

TEST_CASE("After a publisher's death while the state is loaded or delivered, nothing is missing") {
  const bool while_loading = GENERATE(true, false);
  const bool comes_back = GENERATE(true, false);
  Join join(kLargeEntryBytes);
  join.publish_and_archive(1500);
  const std::string path = join.checkpoint(1200);
  join.begin();
  if (while_loading) {
    join.until_loading(path);
  } else {
    REQUIRE(join.trace->until(ItemKind::kState));
  }
  join.bus.publish(3000);
  join.bus.publish_without_head(3);
  join.bus.kill();
  if (comes_back) {
    join.bus.recover();
    join.bus.start();
    join.bus.publish(10);
  }
  REQUIRE(join.trace->until(EventKind::kPublisherGone));
  Lines expected{"state x 300", "snapshot-complete 1200", "1201..1500", "caught-up 1500",
                 "1501..4503",  "publisher-gone 4503"};
  CHECK(join.trace->lines == expected);
  if (!comes_back) return;
  REQUIRE(join.trace->until_record(4513));
  expected.insert(expected.end(), {"session 4504", "4504..4513"});
  CHECK(join.trace->lines == expected);
}

TEST_CASE(
    "After a publisher's death at any step of the handshake, state and later records are "
    "delivered") {
  const int steps = GENERATE(range(0, 14));
  Join join;
  join.publish_and_archive(3000);
  join.checkpoint(1200);
  join.begin();
  for (int i = 0; i < steps; ++i) (void)join.trace->step();
  join.bus.publish_without_head(3);
  join.bus.kill();
  join.bus.recover();
  join.bus.start();
  join.bus.publish(10);
  REQUIRE(join.trace->until_record(3013));
  const SubscriberCounters& counters = join.trace->subscriber.counters();
  CHECK(counters.state == 300);
  CHECK(counters.first == 1201);
  CHECK(counters.records == 3013 - 1200);
  CHECK(counters.lost == 0);
  CHECK(join.trace->lines.front() == "state x 300");
}

TEST_CASE("Checkpoints that another user could have put there are not opened") {
  Join join;
  join.publish_and_archive(1500);
  join.checkpoint(1200);
  std::filesystem::permissions(join.bus.directory() + "/checkpoint", std::filesystem::perms::all);
  join.begin();
  REQUIRE(join.trace->until(EventKind::kNoSnapshot));
  CHECK(join.trace->says("checkpoint"));
}

TEST_CASE("A checkpoint after which the journal was pruned is not used") {
  Join join;
  join.publish_and_archive(5000);
  join.checkpoint(1500);
  join.bus.prune_below_segment(2);
  join.begin();
  REQUIRE(join.trace->until(EventKind::kNoSnapshot));
  CHECK(join.trace->says("the records between them are pruned"));
  join.trace->until_quiet();
  CHECK(join.trace->lines == Lines{"no-snapshot 2049", "2049..5000", "caught-up 5000"});
}

TEST_CASE("A checkpoint just before what was pruned loses nothing") {
  Join join;
  join.publish_and_archive(5000);
  join.checkpoint(2048);
  join.bus.prune_below_segment(2);
  join.begin();
  REQUIRE(join.trace->until(EventKind::kCaughtUp));
  CHECK(join.trace->lines ==
        Lines{"state x 300", "snapshot-complete 2048", "2049..5000", "caught-up 5000"});
}

TEST_CASE("A checkpoint beyond its session's end belongs to a discarded history") {
  Join join;
  join.publish_and_archive(500);
  const CheckpointIdentity beyond = identity_at(join.bus, 520);
  join.checkpoint(400);
  join.bus.publish(100);
  join.bus.kill();
  join.bus.cut(500);
  write_checkpoint(join.bus, *join.fold, state_of(*join.fold, join.bus, 520), beyond);
  join.bus.start();
  const Sequence first = join.bus.next();
  join.publish_and_archive(5);
  join.begin();
  REQUIRE(join.trace->until(EventKind::kSnapshotComplete));
  CHECK(join.trace->says("beyond its session's end, 500"));
  REQUIRE(join.trace->until_record(first + 4));
  join.trace->until_quiet();
  CHECK(join.trace->lines ==
        Lines{"state x 300", "snapshot-complete 400", "401..500",
              absl::StrCat("lost 501..", first - 1, " void"), absl::StrCat("session ", first),
              absl::StrCat(first, "..", first + 4), absl::StrCat("caught-up ", first + 4)});
}

TEST_CASE("A state that ends where a void begins is followed by the void") {
  Join join;
  join.publish_and_archive(500);
  join.checkpoint(500);
  join.bus.kill();
  join.bus.cut(500);
  join.bus.start();
  const Sequence first = join.bus.next();
  join.publish_and_archive(5);
  join.begin();
  REQUIRE(join.trace->until_record(first + 4));
  CHECK(join.trace->lines == Lines{"state x 300", "snapshot-complete 500",
                                   absl::StrCat("lost 501..", first - 1, " void"),
                                   absl::StrCat("session ", first),
                                   absl::StrCat(first, "..", first + 4)});
}

TEST_CASE("Without a publisher the state is that of its last records") {
  const bool closed = GENERATE(true, false);
  Join join;
  join.publish_and_archive(2000);
  join.checkpoint(1700);
  if (closed) {
    join.bus.close();
  } else {
    join.bus.publish_without_head(10);
    join.bus.kill();
  }
  SubscriberOptions options = join.bus.options(Start::snapshot(join.fold));
  options.reattach = std::chrono::nanoseconds(0);
  join.trace.emplace(join.bus, options);
  CHECK_FALSE(join.trace->until(EventKind::kStale));
  const Sequence last = closed ? 2000 : 2010;
  CHECK(join.trace->lines == Lines{"state x 300", "snapshot-complete 1700",
                                   absl::StrCat("1701..", last), absl::StrCat("caught-up ", last),
                                   absl::StrCat(closed ? "closed " : "publisher-gone ", last),
                                   absl::StrCat("ended ", last)});
}

TEST_CASE("A fold that the records do not have ends the join, and the error lists the valid ones") {
  TestBus bus;
  bus.start();
  bus.publish(10);
  const auto wrong = std::make_shared<TestFold>();
  wrong->shape_to_spoil().schema = "kv16";
  const Start start = GENERATE_COPY(Start::snapshot(), Start::snapshot("orders"),
                                    Start::snapshot(std::shared_ptr<const Fold>(wrong)));
  Trace trace(bus, bus.options(start));
  CHECK_FALSE(trace.until(EventKind::kCaughtUp));
  CHECK(errc_of(trace.subscriber.status()) == Errc::kInvalidArgument);
  CHECK(trace.says("fold"));
}

TEST_CASE("Without a journal there is no start from a snapshot") {
  TestBus bus(false);
  bus.start();
  Trace trace(bus, bus.options(Start::snapshot()));
  CHECK_FALSE(trace.until(EventKind::kCaughtUp));
  CHECK(errc_of(trace.subscriber.status()) == Errc::kNoJournal);
}

TEST_CASE("A position is continued if possible, without a snapshot") {
  Join join;
  join.publish_and_archive(1500);
  join.checkpoint(1200);
  SubscriberOptions options = join.bus.options(Start::snapshot(join.fold));
  options.start = Start::after(
      {join.bus.journal.current_journal_id(), join.bus.ring->header().session_id, 100});
  join.trace.emplace(join.bus, options);
  REQUIRE(join.trace->until(EventKind::kCaughtUp));
  CHECK(join.trace->lines == Lines{"101..1500", "caught-up 1500"});
}

TEST_CASE("After a restart of the publisher, the state is not delivered again") {
  Join join;
  join.publish_and_archive(1500);
  join.checkpoint(1200);
  join.begin();
  REQUIRE(join.trace->until(EventKind::kCaughtUp));
  join.bus.kill();
  REQUIRE(join.trace->until(EventKind::kPublisherGone));
  join.bus.recover();
  join.bus.start();
  join.bus.publish(10);
  REQUIRE(join.trace->until_record(1510));
  join.trace->until_quiet();
  CHECK(join.trace->lines == Lines{"state x 300", "snapshot-complete 1200", "1201..1500",
                                   "caught-up 1500", "publisher-gone 1500", "session 1501",
                                   "1501..1510"});
}

TEST_CASE("A reset after the state is reported like any other") {
  Join join;
  join.publish_and_archive(1500);
  join.checkpoint(1200);
  join.begin();
  REQUIRE(join.trace->until(EventKind::kCaughtUp));
  join.bus.fail_journal();
  join.bus.close();
  join.bus.start();
  join.bus.publish(10);
  REQUIRE(join.trace->until_record(10));
  CHECK(join.trace->lines == Lines{"state x 300", "snapshot-complete 1200", "1201..1500",
                                   "caught-up 1500", "closed 1500", "reset 1", "1..10"});
}

TEST_CASE("A reset to records without the state's fold ends the subscriber with an error") {
  Join join;
  join.publish_and_archive(1500);
  join.checkpoint(1200);
  join.begin();
  REQUIRE(join.trace->until(EventKind::kCaughtUp));
  join.bus.fail_journal();
  join.bus.close();
  join.bus.schema = "others";
  join.bus.start();
  join.bus.publish(10);
  CHECK_FALSE(join.trace->until(ItemKind::kRecord));
  CHECK(errc_of(join.trace->subscriber.status()) == Errc::kInvalidArgument);
  CHECK(
      join.trace->says("the fold last is for bytes records of 56 bytes, but this bus carries "
                       "others records of 56: join again"));
}

TEST_CASE("A journal restored to before the state is a reset, not the next record") {
  const bool lists_session = GENERATE(true, false);
  Join join;
  join.publish_and_archive(1500);
  join.checkpoint(1500);
  join.begin();
  REQUIRE(join.trace->until(EventKind::kCaughtUp));  // without a record: it has only the state
  join.bus.kill();
  REQUIRE(join.trace->until(EventKind::kPublisherGone));
  if (lists_session) {
    join.bus.put_back(1000);
  } else {
    join.bus.forget_history();
  }
  join.bus.start();
  REQUIRE(join.trace->until(EventKind::kReset));
  CHECK(join.trace->says(lists_session ? "begins at sequence 1001, but 1500 was delivered before"
                                       : "does not list session"));
}

TEST_CASE("A batch contains only records, and stops before anything else") {
  Join join;
  join.publish_and_archive(1500);
  join.checkpoint(1200);
  join.begin();
  Subscriber& subscriber = join.trace->subscriber;
  std::vector<std::byte> out(100 * 56);
  std::uint64_t entries = 0;
  Result<Item> item = Errc::kWouldBlock;
  while (came(item) != EventKind::kSnapshotComplete) {
    join.bus.turn();
    REQUIRE(take_records(subscriber, out) == 0);
    REQUIRE(subscriber.position().sequence == kNoSequence);
    item = subscriber.next(Deadline::now());
    if (came(item) == ItemKind::kState) {
      ++entries;
      REQUIRE(item->record.size() == sizeof(TestFold::Entry));
    }
  }
  CHECK(entries == 300);
  CHECK(subscriber.position().sequence == 1200);
  CHECK(subscriber.record_bytes() == 56);
  std::uint64_t records = 0;
  while (records < 300) {
    join.bus.turn();
    const std::size_t count = take_records(subscriber, out);
    for (std::size_t i = 0; i < count; ++i) {
      const auto expected = join.bus.journal.record(1201 + records + i);
      REQUIRE(
          std::equal(expected.begin(), expected.end(), out.begin() + static_cast<long>(i * 56)));
    }
    records += count;
  }
  CHECK(subscriber.counters().last == 1500);
}

TEST_CASE("Until the state is delivered completely, there is no position to continue from") {
  Join join;
  join.publish_and_archive(1500);
  const bool has_checkpoint = GENERATE(true, false);
  if (has_checkpoint) join.checkpoint(1200);
  join.begin();
  Result<Item> item = Errc::kWouldBlock;
  while (came(item) != EventKind::kSnapshotComplete && came(item) != EventKind::kNoSnapshot) {
    REQUIRE(join.trace->subscriber.position().sequence == kNoSequence);
    REQUIRE(join.trace->subscriber.position().journal_id.is_zero());
    item = join.trace->step();
  }
  CHECK(join.trace->subscriber.position().journal_id == join.bus.journal.current_journal_id());
  CHECK(join.trace->subscriber.position().sequence == (has_checkpoint ? 1200 : 0));
}

}  // namespace
}  // namespace lapwing
