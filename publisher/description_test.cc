// The description of a publisher's records: where it is stored, which descriptions may follow it in
// a journal, and which are refused.
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include "absl/strings/str_format.h"
#include "lapwing/dbn.h"
#include "proto/schema_label.h"
#include "snapshot/journal/journal_files.h"
#include "snapshot/journal/segment_file.h"
#include "snapshot/journal/session_log.h"
#include "snapshot/schema/kept_schemas.h"
#include "snapshot/schema/known_schemas.h"
#include "testing/publisher_fixture.h"
#include "testing/signal_record.h"
#include "testing/status_text.h"

namespace lapwing {
namespace {

PublisherSetUp described(const TemporaryDirectory& directory, Schema schema) {
  PublisherSetUp options = options_for(directory);
  options.record_bytes = PublisherOptions().record_bytes;
  options.schema = std::move(schema);
  return options;
}

void run_session(const PublisherSetUp& options) {
  const auto publisher = open_publisher(options);
  REQUIRE(publisher->publish_batch(bytes_of(records_from(publisher->head() + 1, 3))).ok());
  REQUIRE(publisher->close().ok());
}

absl::Status refusal(const PublisherSetUp& options) {
  return closing(open_with_seams(options)).status();
}

BusDescription bus_of(const PublisherSetUp& options) {
  const auto bus = read_bus_description(options.directory);
  REQUIRE(bus.ok());
  return *bus;
}

SessionBegin last_begin(const PublisherSetUp& options) {
  PosixDisk disk;
  const auto log = SessionLog::open(disk, bus_of(options).journal_root, kSessionsFileName, kHangNs);
  REQUIRE(log.ok());
  return log->last()->begin;
}

std::string kept_file(const PublisherSetUp& options, const Schema& schema) {
  return kKeptSchemas.path(absl::StrCat(options.directory, "/journal"), schema.hash());
}

}  // namespace

TEST_CASE(
    "A description is in the ring's header, in bus.json, in the session and in its segments") {
  const TemporaryDirectory directory{TemporaryDirectory::in_memory()};
  const Schema schema = schema_of<Signal>();
  const PublisherSetUp options = described(directory, schema);
  {
    const auto publisher = open_publisher(options);
    REQUIRE(*publisher->publish_batch(bytes_of(records_from(1, 3))) == 3);
    CHECK(publisher->record_bytes() == sizeof(Signal));
    const RingMap map = map_ring(options);
    CHECK(get_schema(map.header()) == SchemaLabel(schema.name, schema.hash()));
    CHECK(map.header().record_bytes == sizeof(Signal));
  }
  CHECK(bus_of(options).schema == schema.name);
  CHECK(Schema::parse(bus_of(options).description).value() == schema);
  CHECK(get_schema(last_begin(options)) == SchemaLabel(schema.name, schema.hash()));
  PosixDisk disk;
  CHECK(read_kept_schema(disk, bus_of(options).journal_root, schema.hash()).value() == schema);
  const auto journals = list_journals(disk, bus_of(options).journal_root);
  REQUIRE(journals.ok());
  REQUIRE(journals->size() == 1);
  std::ifstream segment(numbered_path(journals->front().path, 0, "jnl"), std::ios::binary);
  SegmentHeader header{};
  REQUIRE(segment.read(reinterpret_cast<char*>(&header), sizeof header));
  CHECK(get_schema(header) == SchemaLabel(schema.name, schema.hash()));
}

TEST_CASE("Without a journal the description is in the ring's header and in bus.json") {
  const TemporaryDirectory directory{TemporaryDirectory::in_memory()};
  PublisherSetUp options = described(directory, schema_of<Signal>());
  keep_no_journal(options);
  const auto publisher = open_publisher(options);
  CHECK(map_ring(options).header().schema_hash == schema_of<Signal>().hash());
  CHECK(Schema::parse(bus_of(options).description).value() == schema_of<Signal>());
}

TEST_CASE("A schema that Lapwing ships is described without a request") {
  const TemporaryDirectory directory{TemporaryDirectory::in_memory()};
  PublisherSetUp options = options_for(directory);
  options.schema_name = dbn::kSchemaMbo;
  run_session(options);
  CHECK(Schema::parse(bus_of(options).description).value() == known_schema(dbn::kSchemaMbo));
  CHECK(last_begin(options).schema_hash == known_schema(dbn::kSchemaMbo)->hash());
}

TEST_CASE("Records without a description have no hash") {
  const TemporaryDirectory directory{TemporaryDirectory::in_memory()};
  const PublisherSetUp options = options_for(directory);
  run_session(options);
  CHECK(bus_of(options).description.empty());
  CHECK(last_begin(options).schema_hash == 0);
  CHECK_FALSE(std::filesystem::exists(options.directory + "/journal/schemas"));
}

TEST_CASE("A journal continues with the same description, with a later version, or without one") {
  const TemporaryDirectory directory{TemporaryDirectory::in_memory()};
  PublisherSetUp options = described(directory, schema_of<Signal>());
  run_session(options);
  run_session(options);
  options.schema = later_signal();
  run_session(options);
  CHECK(last_begin(options).schema_hash == later_signal().hash());

  SECTION("what it had last, where none is given") {
    options.schema.reset();
    options.schema_name = "desk.signal";
    run_session(options);
    CHECK(last_begin(options).schema_hash == later_signal().hash());
    CHECK(Schema::parse(bus_of(options).description).value() == later_signal());
  }
  SECTION("not with an earlier one again") {
    options.schema = schema_of<Signal>();
    const absl::Status refused = refusal(options);
    CHECK(errc_of(refused) == Errc::kRecordSize);
    CHECK(says(refused, "field size is missing"));
  }
}

TEST_CASE("A journal of undescribed records continues with a description") {
  const TemporaryDirectory directory{TemporaryDirectory::in_memory()};
  PublisherSetUp options = options_for(directory);
  options.schema_name = "desk.signal";
  run_session(options);
  options.schema = schema_of<Signal>();
  run_session(options);
  CHECK(last_begin(options).schema_hash == schema_of<Signal>().hash());
}

TEST_CASE(
    "A journal does not continue with a moved, renamed, resized or retyped field, and names it") {
  const TemporaryDirectory directory{TemporaryDirectory::in_memory()};
  PublisherSetUp options = described(directory, schema_of<Signal>());
  run_session(options);
  Schema& changed = *options.schema;
  const Field fair_value = *changed.find("fair_value");
  REQUIRE(changed.fields[3] == fair_value);
  std::string why;
  SECTION("moved") {
    std::swap(changed.fields[3].offset, changed.fields[4].offset);
    std::swap(changed.fields[3], changed.fields[4]);
    why = "field fair_value is at byte 24, not at 16";
  }
  SECTION("renamed") {
    changed.fields[3].name = "fair";
    why = "field fair_value is called fair";
  }
  SECTION("resized") {
    changed.fields[3].type = FieldType::kFloat32;
    changed.fields[3].bytes = 4;
    why = "field fair_value is float32, not float64";
  }
  SECTION("retyped") {
    changed.fields[3].type = FieldType::kInt64;
    why = "field fair_value is int64, not float64";
  }
  REQUIRE(changed.check().ok());
  const absl::Status refused = refusal(options);
  CHECK(errc_of(refused) == Errc::kRecordSize);
  CHECK(says(refused, why));
}

TEST_CASE("A journal that has lost its description does not continue with other records") {
  const TemporaryDirectory directory{TemporaryDirectory::in_memory()};
  PublisherSetUp options = described(directory, schema_of<Signal>());
  run_session(options);
  const std::string file = kept_file(options, schema_of<Signal>());
  REQUIRE(std::filesystem::exists(file));
  SECTION("the file is gone") {
    std::filesystem::remove(file);
  }
  SECTION("the file is another text") {
    std::ofstream(file) << later_signal().text();
  }
  options.schema = later_signal();
  CHECK(errc_of(refusal(options)) == Errc::kDamaged);
  CHECK(says(refusal(options), file));
  // The file is rewritten with the same description.
  options.schema = schema_of<Signal>();
  run_session(options);
  PosixDisk disk;
  CHECK(read_kept_schema(disk, bus_of(options).journal_root, schema_of<Signal>().hash()).ok());
}

TEST_CASE("Options that contradict the description are refused, and nothing is created") {
  const TemporaryDirectory directory{TemporaryDirectory::in_memory()};
  PublisherSetUp options = described(directory, schema_of<Signal>());
  std::string why;
  SECTION("another name") {
    options.schema_name = "desk.quote";
    why = "schema_name is desk.quote, but the schema has desk.signal";
  }
  SECTION("another size") {
    options.record_bytes = 64;
    why = "record_bytes is 64, but the schema has 56";
  }
  SECTION("no description") {
    options.schema->fields[1].offset = 4;
    why = "instrument";
  }
  SECTION("a shipped name") {
    options.schema->name = dbn::kSchemaMbo;
    why = "Lapwing ships the schema dbn.mbo";
  }
  SECTION("a version that Lapwing does not ship") {
    options.schema = known_schema(dbn::kSchemaMbo);
    options.schema->version = 9;
    why = "has no version 9";
  }
  const absl::Status refused = refusal(options);
  CHECK(errc_of(refused) == Errc::kInvalidArgument);
  CHECK(says(refused, why));
  CHECK_FALSE(std::filesystem::exists(options.directory));
}

TEST_CASE("A shipped schema's description may be given") {
  const TemporaryDirectory directory{TemporaryDirectory::in_memory()};
  const PublisherSetUp options = described(directory, *known_schema(dbn::kSchemaMbo, 2));
  run_session(options);
  CHECK(Schema::parse(bus_of(options).description).value().version == 2);
}

namespace {

// The same size as Signal.
struct Other {
  std::int64_t price;
  std::uint64_t ts_recv;
  double fair_value;
  std::uint32_t instrument;
  float weight;
  char note[24];
};
static_assert(sizeof(Other) == sizeof(Signal));
LAPWING_RECORD(Other, "desk.other", 1, (price, kPrice), (ts_recv, kTime), fair_value,
               (instrument, kKey), weight, note);

struct Renamed {
  Signal signal;
};
constexpr auto lapwing_record(const Renamed*) {
  auto description = lapwing_record(static_cast<const Signal*>(nullptr));
  description.name = "desk.renamed";
  return description;
}

struct Plain {
  std::byte bytes[sizeof(Signal)];
};

}  // namespace

TEST_CASE("A struct of another description is refused, by the field that differs") {
  const TemporaryDirectory directory{TemporaryDirectory::in_memory()};
  const auto publisher = open_publisher(described(directory, schema_of<Signal>()));
  CHECK(!publisher->publish(Other{}).ok());
  CHECK(errc_of(publisher->last_error()) == Errc::kRecordSize);
  CHECK(says(publisher->last_error(),
             "cannot publish a desk.other on a bus of desk.signal: "
             "field ts_recv is at byte 8, not at 0"));
  CHECK(!publisher->publish(Other{}, Deadline::never()).ok());
  CHECK(!publisher->publish(Renamed{}).ok());
  CHECK(says(publisher->last_error(), "the names of the schemas differ"));
  CHECK(publisher->head() == 0);

  CHECK(*publisher->publish(Signal{}) == 1);
  CHECK(!publisher->publish(Other{}).ok());
  CHECK(*publisher->publish(Signal{}, Deadline::never()) == 2);
  CHECK(*publisher->publish(Signal{}) == 3);
  CHECK(publisher->status().ok());
}

TEST_CASE("A struct without a description is compared by its size") {
  const TemporaryDirectory directory{TemporaryDirectory::in_memory()};
  const auto publisher = open_publisher(described(directory, schema_of<Signal>()));
  CHECK(*publisher->publish(Plain{}) == 1);
  CHECK(*publisher->publish(Signal{}) == 2);
  CHECK(*publisher->publish(Plain{}) == 3);
  CHECK(*publisher->publish(Plain{}) == 4);
}

TEST_CASE("A bus without a description takes each struct of its size") {
  const TemporaryDirectory directory{TemporaryDirectory::in_memory()};
  PublisherSetUp options = options_for(directory);
  options.record_bytes = sizeof(Signal);
  const auto publisher = open_publisher(options);
  CHECK(*publisher->publish(Signal{}) == 1);
  CHECK(*publisher->publish(Other{}) == 2);
  CHECK(*publisher->publish(Signal{}) == 3);
}

TEST_CASE("The bus's description is the one that its journal has kept") {
  const TemporaryDirectory directory{TemporaryDirectory::in_memory()};
  PublisherSetUp options = described(directory, schema_of<Signal>());
  run_session(options);
  options.schema.reset();
  options.schema_name = "desk.signal";
  options.record_bytes = sizeof(Signal);
  const auto publisher = open_publisher(options);
  CHECK(!publisher->publish(Other{}).ok());
  CHECK(*publisher->publish(Signal{}) == 4);
}

TEST_CASE("A struct of the earlier version is refused once the bus has the later one") {
  const TemporaryDirectory directory{TemporaryDirectory::in_memory()};
  const auto publisher = open_publisher(described(directory, later_signal()));
  CHECK(!publisher->publish(Signal{}).ok());
  CHECK(says(publisher->last_error(), "field size is missing"));
}

}  // namespace lapwing
