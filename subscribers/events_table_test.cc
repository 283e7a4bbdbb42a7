// docs/reference/events.md: what a subscriber delivers, item by item, for each start and each policy. The
// tables are what this test sees.
#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "lapwing/subscriber.h"
#include "testing/bus_checkpoints.h"
#include "testing/bus_fixture.h"
#include "testing/golden_file.h"

namespace lapwing {
namespace {

constexpr char kTableHead[] =
    R"(# What a subscriber delivers

The items that one sees, in order, for each start and each policy. The tables are written by
`subscribers/events_table_test.cc`, which compares them with what a subscriber does.

The bus of the tables has a ring of 1,024 slots and a journal. When the subscriber joins, 500 records are
published and durable, and there is a checkpoint as of 400 with an entry for each of 300 keys. The subscriber
reads until nothing is left, then what the table says happens, and it reads on.

| in the tables | means |
| --- | --- |
| `1..500` | these records |
| `gap 501..1139 lapped fillable` | these are missing; why; the journal has them |
| `lost 506..1048576 void` | these will never come; why |
| `state x 300` | 300 entries of a state |
| any other word with a number | the event of that name, and its sequence |

`session`, which says what records come, is the first item of every stream and left out here. *any* stands for
all policies. `at(300)` stands for a start at a time, too.

The causes of gaps and losses (`GapCause`):

| cause | means |
| --- | --- |
| `lapped` | the publisher overwrote the records in the ring before they were read |
| `session` | the range lies between the last record that a dead session left and the first record of the next one |
| `void` | the range will never exist; it was recorded after a power cut |
| `pruned` | retention removed the records from the journal |
| `damaged` | the journal's bytes of the range fail their checksum, or are missing |
| `not-relayed` | of a mirrored bus: the records did not arrive from the origin. This release does not produce it |
| `upstream` | of a mirrored bus: the origin lost the records. This release does not produce it |

)";

constexpr char kTail[] =
    R"(## Reading the tables

- Nothing comes twice. What is missing was named by a `gap` or a `lost`, or a state has it.
- A state replaces the one before: begin with an empty one at the first `state` of a row, or at a
  `snapshot-complete` without one.
- `no-snapshot` after a gap says that there is no state to go on with. The gap's records follow, as with `fill`.
- `live` and `behind` come only where `behind_records` or `behind_time` is set. `Subscriber::live()` needs neither.
- With `SubscriberOptions::instruments` the items are these, without the other instruments' records, and without their
  entries of a state that begin with a record. Events keep their places and their sequences.
- `stale` may stand anywhere, if `stale_after` is set and nothing was published for so long.
- `ended` is no event: every call that reads answers with an error, and `Subscriber::status()` has the reason.
)";

constexpr char kAdvice[] =
    "If the change is meant, write the file anew:\n"
    "  LAPWING_UPDATE_GOLDEN=1 build/release/subscribers/subscriber_test '*events.md*'\n"
    "and commit it together with the code.";

struct Setting {
  Setting() {
    bus.start();
    bus.publish(500);
    bus.archive(500);
    write_checkpoint(bus, *fold, 400);
  }
  SubscriberOptions options(Start start, OnGap on_gap) const {
    SubscriberOptions options = bus.options(std::move(start));
    options.on_gap = on_gap;
    if (on_gap == OnGap::kSnapshot) options.start.own_fold = fold;
    return options;
  }
  TestBus bus;
  std::shared_ptr<TestFold> fold = std::make_shared<TestFold>();
};

struct Happening {
  std::string title;
  std::string sentence;
  std::function<void(Setting&, Trace&)> happen;
  std::uint32_t behind_records = 0;
};

struct NamedStart {
  std::string name;
  Start start;
};

std::vector<NamedStart> starts(const std::shared_ptr<TestFold>& fold) {
  return {
      {"live", Start::live()},
      {"oldest", Start::oldest()},
      {"at(300)", Start::sequence(300)},
      {"snapshot", Start::snapshot(fold)},
      {"after(450)", Start::after({JournalFixture::journal_id(), fixture_id(1), 450})},
  };
}

constexpr std::array<std::pair<const char*, OnGap>, 4> kPolicies = {{
    {"fill", OnGap::kFill},
    {"skip", OnGap::kSkip},
    {"stop", OnGap::kStop},
    {"snapshot", OnGap::kSnapshot},
}};

void lap(Setting& setting) {
  setting.bus.publish(1536);
  setting.bus.archive(setting.bus.head());
}

void begin_next_session(Setting& setting, Trace& trace) {
  setting.bus.start();
  setting.bus.publish(5);
  REQUIRE(trace.until_record(setting.bus.head()));
}

// Until the subscriber has seen that this session is over, then `next`.
void end_session(Setting& setting, Trace& trace, const std::function<void(TestBus&)>& next) {
  setting.bus.kill();
  REQUIRE(trace.until(EventKind::kPublisherGone));
  next(setting.bus);
  begin_next_session(setting, trace);
}

std::vector<Happening> happenings() {
  return {
      {"It joins", "Five more records are published.",
       [](Setting& setting, Trace&) { setting.bus.publish(5); }},
      {"It is lapped", "1,536 records are published.",
       [](Setting& setting, Trace&) { lap(setting); }},
      {"It is lapped, and there is a newer checkpoint",
       "1,536 records are published, and there is a checkpoint as of 1800.",
       [](Setting& setting, Trace&) {
         lap(setting);
         write_checkpoint(setting.bus, *setting.fold, 1800);
       }},
      {"It is lapped, and behind_records is 200", "1,536 records are published.",
       [](Setting& setting, Trace&) { lap(setting); }, 200},
      {"It falls behind, and behind_records is 200", "600 records are published.",
       [](Setting& setting, Trace&) { setting.bus.publish(600); }, 200},
      {"The publisher closes, and another one goes on",
       "The session is closed; the next one publishes five records.",
       [](Setting& setting, Trace& trace) {
         setting.bus.close();
         REQUIRE(trace.until(EventKind::kClosed));
         begin_next_session(setting, trace);
       }},
      {"The publisher is killed, and another one goes on",
       "Ten records are published, and the publisher is killed; the next one publishes five.",
       [](Setting& setting, Trace& trace) {
         setting.bus.publish(10);
         end_session(setting, trace, [](TestBus& bus) { bus.recover(); });
       }},
      {"A power cut takes records",
       "Ten records are published and read; a power cut takes those after 505, and the publisher's "
       "next "
       "session publishes five.",
       [](Setting& setting, Trace& trace) {
         setting.bus.publish(5);
         setting.bus.archive(505);
         setting.bus.publish(5);
         trace.until_quiet();
         end_session(setting, trace, [](TestBus& bus) { bus.cut(505); });
       }},
      {"Another journal takes the place of this one",
       "The publisher is killed, and the next one begins with an empty journal and five records.",
       [](Setting& setting, Trace& trace) {
         end_session(setting, trace, [](TestBus& bus) {
           REQUIRE(bus.ring->unlink().ok());
           bus.fail_journal();
         });
       }},
  };
}

std::string items_of(const Happening& happening, const NamedStart& start, OnGap on_gap) {
  Setting setting;
  SubscriberOptions options = setting.options(start.start, on_gap);
  options.behind_records = happening.behind_records;
  if (options.start.kind == Start::Kind::kSnapshot) options.start.own_fold = setting.fold;
  Trace trace(setting.bus, options);
  REQUIRE(trace.until(EventKind::kCaughtUp));
  trace.until_quiet();
  happening.happen(setting, trace);
  trace.until_quiet();
  return absl::StrJoin(trace.lines, ", ");
}

using Row = std::array<std::string, 3>;  // start, policy, items

// What does not depend on the policy is one row for each start.
std::vector<Row> rows_of(const Happening& happening) {
  std::vector<Row> rows;
  for (const NamedStart& start : starts(std::make_shared<TestFold>())) {
    std::vector<Row> of_start;
    for (const auto& [name, policy] : kPolicies) {
      of_start.push_back({start.name, name, items_of(happening, start, policy)});
    }
    const bool any = std::ranges::all_of(
        of_start, [&](const Row& row) { return row[2] == of_start.front()[2]; });
    if (any) {
      rows.push_back({start.name, "*any*", of_start.front()[2]});
    } else {
      rows.insert(rows.end(), of_start.begin(), of_start.end());
    }
  }
  return rows;
}

std::string table_of(const Happening& happening) {
  std::string text = absl::StrCat("## ", happening.title, "\n\n", happening.sentence, "\n\n",
                                  "| start | policy | items |\n| --- | --- | --- |\n");
  for (const Row& row : rows_of(happening)) {
    absl::StrAppend(&text, "| ", row[0], " | ", row[1], " | ", row[2], " |\n");
  }
  return text + "\n";
}

TEST_CASE("The tables of docs/reference/events.md are what a subscriber delivers") {
  std::string text = kTableHead;
  for (const Happening& happening : happenings()) text += table_of(happening);
  check_golden(LAPWING_EVENTS_DOCUMENT, text + kTail, kAdvice);
}

}  // namespace
}  // namespace lapwing
