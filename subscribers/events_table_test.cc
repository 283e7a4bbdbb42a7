// Compares the tables in docs/reference/events.md with the items that a subscriber delivers, for
// each start and each policy.
#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <fstream>
#include <functional>
#include <iterator>
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

// The page begins with other text; the tables follow.
constexpr char kFirstTable[] = "## A join\n";

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

// Runs until the subscriber has detected the end of this session, then calls `next`.
void end_session(Setting& setting, Trace& trace, const std::function<void(TestBus&)>& next) {
  setting.bus.kill();
  REQUIRE(trace.until(EventKind::kPublisherGone));
  next(setting.bus);
  begin_next_session(setting, trace);
}

std::vector<Happening> happenings() {
  return {
      {"A join", "Five more records are published.",
       [](Setting& setting, Trace&) { setting.bus.publish(5); }},
      {"A lap", "1,536 records are published.", [](Setting& setting, Trace&) { lap(setting); }},
      {"A lap, with a newer checkpoint",
       "1,536 records are published, and there is a checkpoint as of 1800.",
       [](Setting& setting, Trace&) {
         lap(setting);
         write_checkpoint(setting.bus, *setting.fold, 1800);
       }},
      {"A lap, with behind_records 200", "1,536 records are published.",
       [](Setting& setting, Trace&) { lap(setting); }, 200},
      {"Falling behind, with behind_records 200", "600 records are published.",
       [](Setting& setting, Trace&) { setting.bus.publish(600); }, 200},
      {"A clean close and the next session",
       "The session is closed; the next one publishes five records.",
       [](Setting& setting, Trace& trace) {
         setting.bus.close();
         REQUIRE(trace.until(EventKind::kClosed));
         begin_next_session(setting, trace);
       }},
      {"A killed publisher and the next session",
       "Ten records are published, and the publisher is killed; the next one publishes five.",
       [](Setting& setting, Trace& trace) {
         setting.bus.publish(10);
         end_session(setting, trace, [](TestBus& bus) { bus.recover(); });
       }},
      {"A power cut",
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
      {"A new journal",
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

// If the items do not depend on the policy, a start has only one row.
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

TEST_CASE("A subscriber delivers the tables of docs/reference/events.md") {
  std::ifstream file(LAPWING_EVENTS_DOCUMENT);
  std::string text(std::istreambuf_iterator<char>(file), {});
  const std::size_t tables = text.find(kFirstTable);
  REQUIRE(tables != std::string::npos);
  text.resize(tables);
  for (const Happening& happening : happenings()) text += table_of(happening);
  text.pop_back();  // the empty line below the last table
  check_golden(LAPWING_EVENTS_DOCUMENT, text, kAdvice);
}

}  // namespace
}  // namespace lapwing
