#include "subscribers/recorder/recording_files.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_format.h"
#include "lapwing/kv16.h"
#include "snapshot/schema/known_schemas.h"
#include "testing/recorder_fixture.h"

namespace lapwing {
namespace {

constexpr Sequence kPerSecond = 300;

struct OnDisk : RecordingOnDisk {
  OnDisk() : RecordingOnDisk("es.dbn.zst") {}
  std::vector<RecordedFile> files() { return read_series(disk, path); }
  std::string refusal(const Rotation& rotation) {
    const auto refused = RecordingFiles::prepare(disk, recording_options(path, rotation));
    REQUIRE(errc_of(refused.status()) == Errc::kInvalidArgument);
    return std::string(refused.status().message());
  }
};

// Session n of a journal. Its feed has the symbols for n.
Id128 session_id(std::uint8_t n) {
  Id128 id;
  id.bytes.fill(n);
  return id;
}

absl::StatusOr<std::string> metadata_of_session(const Id128& id, std::uint64_t start_ns = 0) {
  dbn::Metadata metadata;
  metadata.dataset = "XTST.BOOK";
  metadata.schema = dbn::SchemaId::kMbo;
  metadata.start = start_ns;
  metadata.mappings = {{absl::StrFormat("ES%d", id.bytes[0]), {{20240101, 20250101, "7"}}}};
  return dbn::encode_metadata(metadata);
}

constexpr Sequence kBatch = 4 * kFeedEventRecords;  // whole events

// Appends the batch of records up to `last` from this session.
absl::Status append_batch(RecordingFiles& recording, Sequence last, std::uint8_t session) {
  const std::string records = feed_records(last + 1 - kBatch, kBatch);
  RecordBatch batch = feed_batch(records, last);
  batch.session_id = batch.last.session_id = session_id(session);
  return recording.append(batch);
}

StoredPosition position_in(Sequence last, std::uint8_t session) {
  StoredPosition position = feed_position(last);
  position.session_id = session_id(session);
  return position;
}

}  // namespace

TEST_CASE("A recording without rotation is one file with the feed's own metadata") {
  OnDisk on;
  on.record(kOneFile, 500);
  on.record(kOneFile, 1'000);
  const RecordedFile file = read_recorded(on.disk, on.path);
  CHECK(file.status.ok());
  CHECK(file.records.size() == 1'000);
  const std::string feed = mbo_metadata();
  CHECK(file.metadata == *dbn::parse_metadata(std::as_bytes(std::span(feed))));
  CHECK(on.files().empty());
}

TEST_CASE("A recording without records is an empty file, and such a series has no files") {
  OnDisk on;
  on.record(kOneFile, 0);
  CHECK(read_recorded(on.disk, on.path).records.empty());
  on.path = on.directory.file("series.dbn.zst");
  on.record(kBySecond, 0);
  CHECK(on.files().empty());
  on.record(kBySecond, 10);
  check_series(on.files(), 1, 10);
}

TEST_CASE("A recording that ended before its first position leaves nothing to continue") {
  OnDisk on;
  auto recording = prepared(on.disk, recording_options(on.path, kOneFile));
  REQUIRE(recording->finish({.schema_name = dbn::kSchemaMbo}).ok());
  CHECK(on.disk.list(on.directory.path()).value().empty());
  recording = prepared(on.disk, recording_options(on.path, kOneFile));
  CHECK_FALSE(recording->position());
}

TEST_CASE("Records of another feed begin a new file of a series, with that feed's metadata") {
  OnDisk on;
  RecordingFilesOptions options = recording_options(on.path, kBySecond);
  options.feed_metadata = [](const Id128& id) { return metadata_of_session(id); };
  const std::vector<std::uint8_t> sessions = {1, 1, 2, 1};
  for (const bool in_one_run : {true, false}) {
    CAPTURE(in_one_run);
    on.path = options.path = on.directory.file(in_one_run ? "one.dbn" : "runs.dbn");
    auto recording = prepared(on.disk, options);
    Sequence last = 0;
    for (const std::uint8_t session : sessions) {
      last += kBatch;
      REQUIRE(append_batch(*recording, last, session).ok());
      REQUIRE(recording->commit(position_in(last, session)).ok());
      if (!in_one_run) recording = prepared(on.disk, options);
    }
    REQUIRE(recording->finish(feed_batch("", last)).ok());
    CHECK(recording->foreign_sessions() == 0);
    const auto files = on.files();
    REQUIRE(files.size() == 3);
    check_series(files, 1, 4 * kBatch);
    CHECK(files[0].records.size() == 2 * kBatch);
    CHECK(files[0].metadata.mappings.front().raw_symbol == "ES1");
    CHECK(files[1].metadata.mappings.front().raw_symbol == "ES2");
    CHECK(files[2].metadata.mappings.front().raw_symbol == "ES1");
  }
}

TEST_CASE("A run that ended with a session detects that the feed of the next one differs") {
  OnDisk on;
  RecordingFilesOptions options = recording_options(on.path, kBySecond);
  options.feed_metadata = [](const Id128& id) { return metadata_of_session(id); };
  auto recording = prepared(on.disk, options);
  REQUIRE(append_batch(*recording, kBatch, 1).ok());
  REQUIRE(recording->commit(position_in(kBatch, 2)).ok());  // the position is in the next session
  recording = prepared(on.disk, options);
  REQUIRE(append_batch(*recording, 2 * kBatch, 2).ok());
  REQUIRE(recording->finish(feed_batch("", 2 * kBatch)).ok());
  const auto files = on.files();
  REQUIRE(files.size() == 2);
  CHECK(files[0].metadata.mappings.front().raw_symbol == "ES1");
  CHECK(files[1].metadata.mappings.front().raw_symbol == "ES2");
}

TEST_CASE("One file keeps the metadata of its first feed, and counts the sessions of others") {
  OnDisk on;
  RecordingFilesOptions options = recording_options(on.path, kOneFile);
  options.feed_metadata = [](const Id128& id) { return metadata_of_session(id); };
  auto recording = prepared(on.disk, options);
  Sequence last = 0;
  for (const std::uint8_t session : std::vector<std::uint8_t>{1, 2, 2, 1, 2}) {
    last += kBatch;
    REQUIRE(append_batch(*recording, last, session).ok());
  }
  CHECK(recording->foreign_sessions() == 2);
  REQUIRE(recording->finish(feed_batch("", last)).ok());
  const RecordedFile file = read_recorded(on.disk, on.path);
  CHECK(file.records.size() == 5 * kBatch);
  CHECK(file.metadata.mappings.front().raw_symbol == "ES1");
}

TEST_CASE("Sessions whose feeds differ only in their time range share a file") {
  OnDisk on;
  RecordingFilesOptions options = recording_options(on.path, kBySecond);
  options.feed_metadata = [](const Id128& id) {
    return metadata_of_session(session_id(1), id.bytes[0]);
  };
  auto recording = prepared(on.disk, options);
  for (const std::uint8_t session : std::vector<std::uint8_t>{1, 2}) {
    REQUIRE(append_batch(*recording, kBatch * session, session).ok());
  }
  REQUIRE(recording->finish(feed_batch("", 2 * kBatch)).ok());
  CHECK(on.files().size() == 1);
}

TEST_CASE("Each period has its file, for any division of the recording into runs and batches") {
  OnDisk whole, in_runs;
  whole.record(kBySecond, 3'000);
  for (Sequence last = 7; last < 3'000; last += 111) {
    in_runs.record(kBySecond, last);
    // Also test the end of a period, and an event that spans two runs.
    in_runs.record(kBySecond, (last + kPerSecond - 1) / kPerSecond * kPerSecond);
  }
  in_runs.record(kBySecond, 3'000);
  const auto files = whole.files();
  const auto others = in_runs.files();
  REQUIRE(files.size() == 10);
  REQUIRE(others.size() == 10);
  check_series(files, 1, 3'000);
  check_series(others, 1, 3'000);
  for (std::size_t i = 0; i < files.size(); ++i) {
    CHECK(files[i].records.size() == kPerSecond);
    CHECK(files[i].records == others[i].records);
    CHECK(files[i].name == others[i].name);
  }
  CHECK(files[0].name == "es.000001.20251120T150000Z.dbn.zst");
  CHECK(files[9].name == "es.000010.20251120T150009Z.dbn.zst");
}

TEST_CASE("A file that has reached its size is followed by another at the event's end") {
  OnDisk on;
  on.path = on.directory.file("es.dbn");
  on.record({.bytes = kRotateBytesMin}, 10'000);
  const auto files = on.files();
  check_series(files, 1, 10'000);
  REQUIRE(files.size() > 5);
  for (std::size_t i = 0; i + 1 < files.size(); ++i) {
    CHECK(files[i].bytes >= kRotateBytesMin);
    CHECK(files[i].bytes < kRotateBytesMin + kFeedEventRecords * sizeof(dbn::MboMsg));
  }
}

TEST_CASE("A record of an earlier period stays in the file that is open") {
  OnDisk on;
  auto recording = prepared(on.disk, recording_options(on.path, kBySecond));
  REQUIRE(append(*recording, 301, 303).ok());
  REQUIRE(append(*recording, 1, 300).ok());
  REQUIRE(append(*recording, 304, 600).ok());
  CHECK(recording->files() == 1);
  REQUIRE(append(*recording, 601, 603).ok());
  CHECK(recording->files() == 2);
}

TEST_CASE("An event without end is cut in two in the end") {
  OnDisk on;
  on.path = on.directory.file("es.dbn");
  auto recording = prepared(on.disk, recording_options(on.path, {.bytes = kRotateBytesMin}));
  const std::string record = feed_records(1, 1);  // not LAST
  std::string bytes;
  for (int i = 0; i < 1'000; ++i) bytes += record;
  const RecordBatch batch{dbn::kSchemaMbo, std::as_bytes(std::span(bytes)), feed_position(1)};
  std::uint64_t records = 0;
  for (; recording->files() < 2; records += 1'000) {
    REQUIRE(recording->append(batch).ok());
    REQUIRE(recording->commit(feed_position(1)).ok());
    REQUIRE(records < 2 * kEventRecordsMax);
  }
  CHECK(records > kEventRecordsMax);
}

TEST_CASE("A recording that begins with a state continues after it, or begins with it again") {
  OnDisk on;
  const auto append_state = [](RecordingFiles& recording) {
    const std::string bytes = feed_records(4, 600);
    return recording.append_state(
        {dbn::kSchemaMbo, std::as_bytes(std::span(bytes)), feed_position(5'000)});
  };
  {
    auto recording = prepared(on.disk, recording_options(on.path, kBySecond));
    REQUIRE(append_state(*recording).ok());
    CHECK(recording->files() == 1);
  }
  auto recording = prepared(on.disk, recording_options(on.path, kBySecond));
  CHECK_FALSE(recording->position());  // nothing was committed
  REQUIRE(append_state(*recording).ok());
  REQUIRE(recording->commit(feed_position(5'000)).ok());
  recording = prepared(on.disk, recording_options(on.path, kBySecond));
  REQUIRE(recording->position());
  CHECK(recording->position()->sequence == 5'000);
  CHECK(recording->records() == 600);
  const auto files = on.files();
  REQUIRE(files.size() == 1);
  CHECK(files[0].records.size() == 600);
  CHECK(files[0].metadata.start == feed_record(603).ts_recv);
}

TEST_CASE("Changed limits apply from the next run on, and one file does not become a series") {
  OnDisk on;
  on.record(kBySecond, 450);
  CHECK(absl::StrContains(on.refusal(kOneFile), "is a series of files"));
  on.record({.every = std::chrono::seconds(2)}, 3'000);
  const auto files = on.files();
  check_series(files, 1, 3'000);
  REQUIRE(files.size() == 6);
  CHECK(files[1].records.size() == kPerSecond);  // exactly the second second
  CHECK(files[2].records.size() == 2 * kPerSecond);
  on.path = on.directory.file("one.dbn");
  on.record(kOneFile, 10);
  CHECK(absl::StrContains(on.refusal(kBySecond), "is one file"));
}

TEST_CASE("Complete files may be moved away, even the last one") {
  OnDisk on;
  on.record(kBySecond, 450);
  auto files = on.files();
  REQUIRE(files.size() == 2);
  for (const auto& file : files) std::filesystem::remove(on.directory.file(file.name));
  on.record(kBySecond, 900);
  files = on.files();
  REQUIRE(files.size() == 2);
  CHECK(files[0].name == "es.000003.20251120T150001Z.dbn.zst");
  CHECK(files[0].records.front() == 451);
  CHECK(files[1].records.back() == 900);
}

TEST_CASE("Foreign files are neither taken for a recording's nor overwritten") {
  OnDisk on;
  const std::string stranger = on.directory.file("es.000002.20251120T150001Z.dbn.zst");
  write_file(stranger, "mine");
  CHECK(absl::StrContains(on.refusal(kBySecond), stranger));
  std::filesystem::remove(stranger);
  on.record(kBySecond, 30);
  write_file(stranger, "mine");
  for (int i = 0; i < 2; ++i) {
    const absl::Status stopped =
        record_up_to(on.disk, recording_options(on.path, kBySecond), 900, on.random);
    CHECK(errc_of(stopped) == Errc::kInvalidArgument);
    CHECK(absl::StrContains(std::string(stopped.message()), stranger));
    CHECK(read_file(stranger) == "mine");
  }
  std::filesystem::remove(stranger);
  on.record(kBySecond, 900);
  check_series(on.files(), 1, 900);
}

TEST_CASE("A series has one schema, even if a later run has another") {
  OnDisk on;
  on.record(kBySecond, 30);
  auto recording = prepared(on.disk, recording_options(on.path, kBySecond));
  const std::string trade(sizeof(dbn::TradeMsg), '\0');
  const RecordBatch batch{dbn::kSchemaTrades, std::as_bytes(std::span(trade)), feed_position(31)};
  CHECK(errc_of(recording->append(batch)) == Errc::kRecordSize);
  CHECK(errc_of(append(*recording, 31, 33)) == Errc::kRecordSize);  // the first error is final
  recording = prepared(on.disk, recording_options(on.path, kBySecond));
  REQUIRE(append(*recording, 31, 33).ok());
  CHECK(errc_of(recording->append(batch)) == Errc::kRecordSize);
}

TEST_CASE("A foreign position is refused, and nothing is changed") {
  OnDisk on;
  on.record(kBySecond, 30);
  const std::string good = read_file(position_path(on.path));
  const std::size_t hash = good.find("0000000000000000");
  REQUIRE(hash != std::string::npos);
  std::string bad_hash = good;
  bad_hash.replace(hash, 16, "not hexadecimal ");
  const std::string bad = GENERATE("", "{}", "[1]", "{\"journal\":\"zz\"}", "a bad hash");
  write_file(position_path(on.path), bad == "a bad hash" ? bad_hash : bad);
  const auto refused = RecordingFiles::prepare(on.disk, recording_options(on.path, kBySecond));
  CHECK(errc_of(refused.status()) == Errc::kDamaged);
  check_series(on.files(), 1, 30);
}

TEST_CASE("Bytes that are not whole records are refused, and none of them is recorded") {
  const TemporaryDirectory directory;
  PosixDisk disk;
  const RecordingFilesOptions options = recording_options(directory.file("out.dbn"), {});
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{55}, std::size_t{111}}) {
    const std::vector<std::byte> cut(bytes);
    const RecordBatch batch{dbn::kSchemaMbo, cut, feed_position(2)};
    CHECK(errc_of(prepared(disk, options)->append(batch)) == Errc::kRecordSize);
    CHECK(errc_of(prepared(disk, options)->append_state(batch)) == Errc::kRecordSize);
    CHECK_FALSE(std::filesystem::exists(options.path));
  }
}

TEST_CASE("A schema that DBN does not have is recorded into record files, as orders are into DBN") {
  OnDisk on;
  on.path = on.directory.file(GENERATE("desk.records", "desk.records.zst", "desk"));
  const bool in_parts = GENERATE(false, true);
  const Rotation rotation = in_parts ? kBySecond : kOneFile;
  const auto record = [&](Sequence last) {
    const absl::Status done = record_up_to(on.disk, recording_options(on.path, rotation), last,
                                           on.random, FeedOf::kSignals);
    INFO(done);
    REQUIRE(done.ok());
  };
  record(0);
  if (!in_parts && on.path.ends_with(".records")) {
    CHECK(read_recorded(on.disk, on.path).records.empty());
    CHECK(read_recorded(on.disk, on.path).head == signal_head());
  }
  for (const Sequence last : {7U, 150U, 250U, 450U}) record(last);
  if (!on.path.ends_with("desk") && in_parts) {
    const auto files = on.files();
    check_series(files, 1, 450);
    REQUIRE(files.size() == 5);
    CHECK(files[1].records.size() == 100);
    CHECK(files[0].name.find("desk.000001.20251120T150000Z.records") == 0);
  }
  if (!on.path.ends_with(".zst") && !in_parts) {
    const std::string expected = *encode_record_file_head(signal_head()) + signal_records(1, 450);
    CHECK((read_file(on.path) == expected));
  }
}

TEST_CASE("The name decides if both forms are possible, and a DBN file has no other records") {
  OnDisk on;
  on.path = on.directory.file(GENERATE("es.dbn", "es.dbn.zst"));
  auto recording = prepared(on.disk, recording_options(on.path, kOneFile));
  const absl::Status refused = append(*recording, 1, 3, FeedOf::kSignals);
  CHECK(errc_of(refused) == Errc::kRecordSize);
  CHECK(absl::StrContains(std::string(refused.message()),
                          "which a DBN file cannot hold: name the file "));
  CHECK_FALSE(std::filesystem::exists(on.path));
  on.path = on.directory.file("es.records");
  recording = prepared(on.disk, recording_options(on.path, kOneFile));
  const std::string orders = feed_records(1, 30);
  RecordBatch batch = feed_batch(orders, 30);
  batch.record_bytes = sizeof(dbn::MboMsg);
  REQUIRE(recording->append(batch).ok());
  REQUIRE(recording->commit(feed_position(30)).ok());
  const auto reader = RecordFileReader::open(on.path);
  REQUIRE(reader.ok());
  CHECK((*reader)->head() == RecordFileHead{.schema = dbn::kSchemaMbo, .record_bytes = 56});
  CHECK((*reader)->next(100).value().size() == 30 * sizeof(dbn::MboMsg));
}

// A recording of ten signals, then a batch of others, in the run that recorded them or in another.
TEST_CASE("A recording does not continue with records of another size or description") {
  OnDisk on;
  on.path = on.directory.file("desk.records");
  const auto options = recording_options(on.path, kOneFile);
  auto recording = prepared(on.disk, options);
  REQUIRE(append(*recording, 1, 10, FeedOf::kSignals).ok());
  REQUIRE(recording->commit(feed_position(10)).ok());
  const bool in_another_run = GENERATE(false, true);
  const auto refusal = [&](auto&& change) {
    if (in_another_run) recording = prepared(on.disk, options);
    const std::string bytes = signal_records(11, 8);  // 448 bytes, in records of 56 or 64
    RecordBatch batch = feed_batch(bytes, 18, FeedOf::kSignals);
    change(batch);
    const absl::Status refused = recording->append(batch);
    CHECK(errc_of(refused) == Errc::kRecordSize);
    CHECK(recording->append(batch) == refused);  // the first error is final
    CHECK(recording->position() == feed_position(10));
    return std::string(refused.message());
  };
  const std::string held = on.path + " holds records of schema desk.signal (56 bytes, description ";
  const std::string words = GENERATE("size", "description", "none", "schema");
  CAPTURE(words, in_another_run);
  std::string said;
  if (words == "size") {
    said = refusal([](RecordBatch& batch) {
      batch.record_bytes = 64;
      batch.schema = nullptr;
    });
    CHECK(absl::StrContains(said,
                            "now carries records of schema desk.signal (64 bytes): record those"));
  } else if (words == "description") {
    said = refusal(
        [](RecordBatch& batch) { batch.schema = std::make_shared<const Schema>(later_signal()); });
    CHECK(absl::StrContains(said,
                            absl::StrFormat("description %016x): record", later_signal().hash())));
  } else if (words == "none") {
    said = refusal([](RecordBatch& batch) { batch.schema = nullptr; });
    CHECK(absl::StrContains(said, "now carries records of schema desk.signal (56 bytes): record"));
  } else {
    said = refusal([](RecordBatch& batch) {
      batch.schema_name = "desk.other";
      batch.schema = nullptr;
    });
    CHECK(absl::StrContains(said, "now carries records of schema desk.other"));
  }
  CHECK(absl::StrContains(said, held));
  const std::string expected = *encode_record_file_head(signal_head()) + signal_records(1, 10);
  recording.reset();
  CHECK((read_file(on.path) == expected));
}

TEST_CASE("The same description in another object is the same") {
  OnDisk on;
  on.path = on.directory.file("desk.records");
  auto recording = prepared(on.disk, recording_options(on.path, kOneFile));
  REQUIRE(append(*recording, 1, 10, FeedOf::kSignals).ok());
  const std::string bytes = signal_records(11, 1);
  RecordBatch batch = feed_batch(bytes, 11, FeedOf::kSignals);
  batch.schema = std::make_shared<const Schema>(schema_of<Signal>());
  CHECK(recording->append(batch).ok());
}

TEST_CASE("A shipped schema is the same, whatever names a release has for its values") {
  OnDisk on;
  on.path = on.directory.file("kv.records");
  Schema shipped = *known_schema(kv16::kSchema);
  const std::string pairs(5 * sizeof(kv16::Record), 'x');
  RecordBatch batch{kv16::kSchema, std::as_bytes(std::span(pairs)), feed_position(5)};
  batch.schema = std::make_shared<const Schema>(shipped);
  {
    auto recording = prepared(on.disk, recording_options(on.path, kOneFile));
    REQUIRE(recording->append(batch).ok());
    REQUIRE(recording->commit(feed_position(5)).ok());
  }
  shipped.fields.back().values = {{"zero", 0}};
  batch.schema = std::make_shared<const Schema>(shipped);
  auto recording = prepared(on.disk, recording_options(on.path, kOneFile));
  CHECK(recording->append(batch).ok());
}

TEST_CASE("Undescribed records are recorded with their size, which must be given") {
  OnDisk on;
  on.path = on.directory.file("plain.records");
  const std::string bytes = signal_records(1, 10);
  RecordBatch batch{"desk.plain", std::as_bytes(std::span(bytes)), feed_position(10)};
  const absl::Status unsaid =
      prepared(on.disk, recording_options(on.path, kOneFile))->append(batch);
  CHECK(errc_of(unsaid) == Errc::kInvalidArgument);
  CHECK(absl::StrContains(std::string(unsaid.message()), "give RecordBatch::record_bytes"));
  batch.record_bytes = sizeof(Signal);
  const absl::Status timeless =
      prepared(on.disk, recording_options(on.path, kBySecond))->append(batch);
  CHECK(errc_of(timeless) == Errc::kInvalidArgument);
  CHECK(absl::StrContains(std::string(timeless.message()), "have no time"));
  CHECK(on.disk.list(on.directory.path()).value().empty());
  const auto recording = prepared(on.disk, recording_options(on.path, {.bytes = kRotateBytesMin}));
  while (recording->files() < 3) REQUIRE(recording->append(batch).ok());
  REQUIRE(recording->commit(feed_position(10)).ok());
  const auto files = on.files();
  REQUIRE(files.size() == 3);
  CHECK(files[2].name == "plain.000003.records");
  CHECK(files[2].head == plain_head());
}

TEST_CASE("FILE.position contains the description, and one of an earlier release is completed") {
  OnDisk on;
  on.path = on.directory.file("es.dbn");
  on.record(kOneFile, 30);
  RecordingPosition position = *read_position(on.disk, on.path);
  CHECK(position.kind == RecordedKind{SchemaLabel(dbn::kSchemaMbo), 56});
  std::string text = read_file(position_path(on.path));
  const std::string added = R"("record_bytes":56,"schema_hash":"0000000000000000",)";
  REQUIRE(absl::StrContains(text, added));
  text.erase(text.find(added), added.size());
  write_file(position_path(on.path), text);
  CHECK(read_position(on.disk, on.path)->kind.record_bytes == 0);
  on.record(kOneFile, 60);
  CHECK(read_position(on.disk, on.path)->kind == position.kind);
  CHECK(read_recorded(on.disk, on.path).records.size() == 60);
  on.path = on.directory.file("desk.records");
  const auto options = recording_options(on.path, kOneFile);
  REQUIRE(record_up_to(on.disk, options, 3, on.random, FeedOf::kSignals).ok());
  position = *read_position(on.disk, on.path);
  CHECK(position.kind == RecordedKind{SchemaLabel("desk.signal", schema_of<Signal>().hash()), 56});
}

TEST_CASE("A FILE.position with any member missing or of another kind is damaged") {
  OnDisk on;
  on.path = on.directory.file("es.dbn");
  on.record(kOneFile, 30);
  const auto whole = nlohmann::json::parse(read_file(position_path(on.path)));
  const auto refusal = [&](const nlohmann::json& changed) {
    write_file(position_path(on.path), changed.dump());
    return errc_of(read_position(on.disk, on.path).status());
  };
  REQUIRE(refusal(whole) == Errc::kOk);
  CHECK(refusal(nlohmann::json::array()) == Errc::kDamaged);
  for (const auto& [member, value] : whole.items()) {
    CAPTURE(member);
    for (const nlohmann::json& wrong :
         {nlohmann::json(-1.5e9), nlohmann::json(-1), nlohmann::json(nullptr)}) {
      auto changed = whole;
      changed[member] = wrong;
      CHECK(refusal(changed) == Errc::kDamaged);
    }
    const bool is_new = member == "stray_records" || member == "checksum" || member == "ended" ||
                        member == "feed_session";
    if (member == "record_bytes" || is_new) continue;  // earlier releases did not write it
    auto changed = whole;
    changed.erase(member);
    CHECK(refusal(changed) == Errc::kDamaged);
  }
}

}  // namespace lapwing
