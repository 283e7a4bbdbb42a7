// How a subscriber uses the description of a bus's records: it finds the description, compares it
// with the expected one, and rejects an impossible one.
#include <memory>
#include <string>

#include "snapshot/schema/kept_schemas.h"
#include "snapshot/schema/known_schemas.h"
#include "testing/bus_fixture.h"
#include "testing/signal_record.h"
#include "testing/status_text.h"

namespace lapwing {
namespace {

// A bus whose records are called desk.signal.
void describe_as(TestBus& bus, const Schema& schema) {
  bus.schema = {schema.name, schema.hash()};
  bus.described_as = schema.text();
}

SubscriberOptions expecting(const TestBus& bus, Schema schema) {
  SubscriberOptions options = bus.options(Start::oldest());
  options.expect = std::move(schema);
  return options;
}

// The final status of a subscriber with these options.
absl::Status end_of(TestBus& bus, SubscriberOptions options) {
  Trace trace(bus, std::move(options));
  REQUIRE(trace.until(Came::kEnd));
  UNSCOPED_INFO(trace.subscriber.status().ToString());
  return trace.subscriber.status();
}

TEST_CASE("The first event has the description of the records") {
  const bool with_journal = GENERATE(true, false);
  TestBus bus(with_journal);
  describe_as(bus, schema_of<Signal>());
  bus.start();
  bus.publish(5);
  Trace trace(bus, expecting(bus, schema_of<Signal>()));
  REQUIRE(trace.until(EventKind::kSession));
  REQUIRE(trace.subscriber.schema() != nullptr);
  CHECK(*trace.subscriber.schema() == schema_of<Signal>());
  CHECK(trace.subscriber.schema_name() == "desk.signal");
  CHECK(trace.schema_note.empty());
  CHECK(trace.until_record(5));
}

TEST_CASE("The bus of a killed publisher has its description") {
  TestBus bus;
  describe_as(bus, schema_of<Signal>());
  bus.start();
  bus.publish(5);
  bus.kill();
  Trace trace(bus, expecting(bus, schema_of<Signal>()));
  REQUIRE(trace.until_record(5));
  CHECK(*trace.subscriber.schema() == schema_of<Signal>());
}

TEST_CASE("A subscriber of an earlier version reads a later one, but not vice versa") {
  TestBus bus;
  describe_as(bus, later_signal());
  bus.start();
  bus.publish(5);
  Trace trace(bus, expecting(bus, schema_of<Signal>()));
  REQUIRE(trace.until_record(5));
  CHECK(trace.subscriber.schema()->version == 2);

  TestBus earlier;
  describe_as(earlier, schema_of<Signal>());
  earlier.start();
  const absl::Status ended = end_of(earlier, expecting(earlier, later_signal()));
  CHECK(errc_of(ended) == Errc::kRecordSize);
  CHECK(says(ended, "field size is missing"));
}

TEST_CASE("A subscriber ends at the first field that was moved, renamed, resized or retyped") {
  TestBus bus;
  describe_as(bus, schema_of<Signal>());
  bus.start();
  bus.publish(5);
  Schema expected = schema_of<Signal>();
  std::string why;
  SECTION("moved") {
    std::swap(expected.fields[3].offset, expected.fields[4].offset);
    std::swap(expected.fields[3], expected.fields[4]);
    why = "field price is at byte 24, not at 16";
  }
  SECTION("renamed") {
    expected.fields[3].name = "fair";
    why = "field fair is called fair_value";
  }
  SECTION("resized") {
    expected.fields[6].bytes = 6;
    why = "field venue has 7 bytes, not 6";
  }
  SECTION("retyped") {
    expected.fields[3].type = FieldType::kInt64;
    why = "field fair_value is float64, not int64";
  }
  SECTION("another name") {
    expected.name = "desk.quote";
    why = "the records are desk.signal, not desk.quote";
  }
  REQUIRE(expected.check().ok());
  const absl::Status ended = end_of(bus, expecting(bus, expected));
  CHECK(errc_of(ended) == Errc::kRecordSize);
  CHECK(says(ended, why));
}

TEST_CASE("A subscriber that expects a description ends at undescribed records") {
  TestBus bus;
  bus.schema = "desk.signal";
  bus.start();
  const absl::Status ended = end_of(bus, expecting(bus, schema_of<Signal>()));
  CHECK(errc_of(ended) == Errc::kRecordSize);
  CHECK(says(ended, "does not describe its records (56 bytes, schema desk.signal)"));
}

TEST_CASE("A successor with other records ends a subscriber that expects the first ones") {
  TestBus bus(false);
  describe_as(bus, schema_of<Signal>());
  bus.start();
  Trace trace(bus, expecting(bus, schema_of<Signal>()));
  REQUIRE(trace.until(EventKind::kCaughtUp));
  bus.close();
  Schema other = schema_of<Signal>();
  other.fields[3].name = "fair";
  describe_as(bus, other);
  bus.start();
  REQUIRE(trace.until(Came::kEnd));
  CHECK(says(trace.subscriber.status(), "field fair_value is called fair"));
}

TEST_CASE("A successor with the same description keeps the object, another one does not") {
  TestBus bus;
  describe_as(bus, schema_of<Signal>());
  bus.start();
  Trace trace(bus, bus.options(Start::oldest()));
  REQUIRE(trace.until(EventKind::kCaughtUp));
  const std::shared_ptr<const Schema> first = trace.subscriber.schema();
  bus.close();
  if (GENERATE(true, false)) {
    bus.start();
    REQUIRE(trace.until(EventKind::kSession));
    CHECK(trace.subscriber.schema() == first);
  } else {
    describe_as(bus, later_signal());
    bus.start();
    REQUIRE(trace.until(EventKind::kSession));
    CHECK(trace.subscriber.schema() != first);
  }
}

TEST_CASE("The journal has the description if bus.json has lost it") {
  TestBus bus;
  describe_as(bus, schema_of<Signal>());
  bus.described_as = GENERATE("", "{}", "desk.signal");
  bus.start();
  SECTION("it is there") {
    PosixDisk disk;
    REQUIRE(keep_schema(disk, bus.journal.root(), schema_of<Signal>()).ok());
    Trace trace(bus, expecting(bus, schema_of<Signal>()));
    REQUIRE(trace.until(EventKind::kSession));
    CHECK(*trace.subscriber.schema() == schema_of<Signal>());
  }
  SECTION("it is nowhere") {
    const absl::Status ended = end_of(bus, expecting(bus, schema_of<Signal>()));
    CHECK(errc_of(ended) == Errc::kDamaged);
    CHECK(says(ended, "bus.json"));
    // A subscriber without an expectation continues to read, and the event contains a note.
    Trace trace(bus, bus.options(Start::oldest()));
    REQUIRE(trace.until(EventKind::kSession));
    CHECK(trace.subscriber.schema() == nullptr);
    CHECK(trace.subscriber.schema_name() == "desk.signal");
    CHECK(trace.schema_note.find("cannot be read") != std::string::npos);
  }
}

TEST_CASE("Records that contradict their description are plain bytes") {
  TestBus bus;
  Schema lie = schema_of<Signal>();
  std::string why;
  SECTION("a description of a longer record") {
    lie.record_bytes = 64;
    lie.fields.back().bytes += 8;
    describe_as(bus, lie);
    why = "the bus has records of 56 bytes, and the description of desk.signal is of 64";
  }
  SECTION("a description of something else") {
    describe_as(bus, lie);
    bus.schema.name = "desk.quote";
    why = "calls its records desk.quote, and their description is of desk.signal";
  }
  SECTION("a shipped name and fields of one's own") {
    lie.name = "dbn.mbo";
    describe_as(bus, lie);
    why = "field length is missing";
  }
  SECTION("a shipped name and another size") {
    bus.schema = "dbn.trades";
    why = "the bus calls its records of 56 bytes dbn.trades, whose records have 48";
  }
  bus.start();
  bus.publish(3);
  Trace trace(bus, bus.options(Start::oldest()));
  REQUIRE(trace.until(EventKind::kSession));
  CHECK(trace.subscriber.schema_name() == "bytes");
  CHECK(trace.subscriber.schema() == nullptr);
  INFO(trace.schema_note);
  CHECK(trace.schema_note.find(why) != std::string::npos);
  CHECK(trace.until_record(3));
}

TEST_CASE("A bus of a release without descriptions has the descriptions that Lapwing ships") {
  TestBus bus;
  bus.schema = "dbn.mbo";
  bus.start();
  Trace trace(bus, expecting(bus, *known_schema("dbn.mbo")));
  REQUIRE(trace.until(EventKind::kSession));
  CHECK(*trace.subscriber.schema() == *known_schema("dbn.mbo"));
}

TEST_CASE("An expected description must be valid") {
  TestBus bus;
  Schema none = schema_of<Signal>();
  none.fields[1].offset = 0;
  const auto opened = Subscriber::open(expecting(bus, none));
  CHECK(errc_of(opened.status()) == Errc::kInvalidArgument);
  CHECK(says(opened.status(), "instrument"));
}

}  // namespace
}  // namespace lapwing
