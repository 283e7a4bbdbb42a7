#include "snapshot/recording/record_file.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <string>

#include "absl/strings/escaping.h"
#include "lapwing/error.h"
#include "proto/text_field.h"
#include "snapshot/recording/record_file_reader.h"
#include "testing/dbn_files.h"
#include "testing/record_files.h"
#include "testing/status_text.h"
#include "testing/temporary_directory.h"

namespace lapwing {
namespace {

constexpr std::size_t kRecordBytes = sizeof(Signal);

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

std::string head_of(const RecordFileHead& head) {
  const absl::StatusOr<std::string> bytes = encode_record_file_head(head);
  INFO(bytes.status());
  REQUIRE(bytes.ok());
  return *bytes;
}

absl::Status parsing(const std::string& head) {
  return parse_record_file_head(bytes_of(head)).status();
}

// Everything that a reader delivers, and its final status.
struct Reading {
  std::string records;
  absl::Status end;  // ok: the end of the file
};

Reading read_all(RecordFileReader& reader, std::size_t at_once = 7) {
  Reading reading;
  for (;;) {
    const auto records = reader.next(at_once);
    reading.end = records.status();
    if (!records.ok()) CHECK(reader.next(at_once).status() == reading.end);  // an error is final
    if (!records.ok() || records->empty()) return reading;
    REQUIRE(records->size() <= at_once * kRecordBytes);
    reading.records.append(reinterpret_cast<const char*>(records->data()), records->size());
  }
}

Reading read_bytes(const TemporaryDirectory& directory, const std::string& bytes) {
  write_file(directory.file("f"), bytes);
  const auto reader = RecordFileReader::open(directory.file("f"));
  if (!reader.ok()) return {.records = "", .end = reader.status()};
  CHECK((*reader)->head() == signal_head());
  return read_all(**reader);
}

}  // namespace

TEST_CASE("The head of a record file is these bytes") {
  const std::string plain = head_of({.schema = "desk.plain", .record_bytes = 24});
  CHECK(absl::BytesToHexString(plain) ==
        "4c50575245433100"  // LPWREC1
        "01000000"          // version
        "80000000"          // offset of the first record
        "18000000"          // record size
        "00000000"          // no description
        "0000000000000000"  // no hash
        "6465736b2e706c61696e00000000000000000000000000000000000000000000"
        "0000000000000000000000000000000000000000000000000000000000000000"
        "000000000000000000000000000000000000000000000000"
        "4d7fc7f4f9b66e46");
  const Schema tick{"desk.tick",
                    1,
                    16,
                    {{"time", FieldType::kUInt64, 0, 8, FieldUnit::kUtcNs, FieldRole::kTime},
                     {"size", FieldType::kUInt64, 8, 8}}};
  const std::string described =
      head_of({.schema = "desk.tick", .record_bytes = 16, .description = tick});
  RecordFileHeader header;
  std::memcpy(&header, described.data(), sizeof header);
  CHECK(header.header_bytes == 320);
  CHECK(header.description_bytes == 177);
  CHECK(header.schema_hash == 0x0d4a14566e7bd561);
  CHECK(header.checksum == 0x10d5e66e773ef04f);
  CHECK(described.substr(sizeof header, 177) == tick.text());
  CHECK(described.substr(sizeof header + 177) == std::string(320 - sizeof header - 177, '\0'));
}

TEST_CASE("A head contains the kind of the records, described or not") {
  for (const RecordFileHead& head : {signal_head(), plain_head()}) {
    const std::string bytes = head_of(head);
    CHECK(bytes.size() % kRecordFileAlignment == 0);
    CHECK(record_file_head_bytes(bytes_of(bytes)).value() == bytes.size());
    const auto parsed = parse_record_file_head(bytes_of(bytes + "what follows"));
    REQUIRE(parsed.ok());
    CHECK(*parsed == head);
  }
}

TEST_CASE("An impossible description of records is not written into a head") {
  const auto refused = [](const RecordFileHead& head) {
    return errc_of(encode_record_file_head(head).status()) == Errc::kInvalidArgument;
  };
  CHECK(refused({.schema = "", .record_bytes = 24}));
  CHECK(refused({.schema = std::string(32, 'x'), .record_bytes = 24}));
  CHECK(refused({.schema = "x", .record_bytes = 7}));
  CHECK(refused({.schema = "x", .record_bytes = 4'089}));
  RecordFileHead head = signal_head();
  head.schema = "desk.other";
  CHECK(refused(head));
  head = signal_head();
  head.record_bytes = 64;
  CHECK(refused(head));
  head = signal_head();
  head.description->fields.clear();
  CHECK(refused(head));
}

TEST_CASE("An inconsistent head is refused with its content") {
  const std::string good = head_of(signal_head());
  const auto lie = [&](auto&& change, const std::string& words) {
    const absl::Status refused = parsing(with_header(good, change));
    CHECK(errc_of(refused) == Errc::kBadInput);
    CHECK(says(refused, words));
  };
  lie([](RecordFileHeader& h) { h.record_bytes = 4; }, "records of 4 bytes");
  lie([](RecordFileHeader& h) { h.record_bytes = 5'000; }, "records of 5000 bytes");
  lie([](RecordFileHeader& h) { h.header_bytes += 64; }, "the first record at byte");
  lie([](RecordFileHeader& h) { h.header_bytes = 0; }, "the first record at byte 0");
  lie([](RecordFileHeader& h) { h.description_bytes = 1U << 30; }, "a description of 1073741824");
  lie([](RecordFileHeader& h) { h.schema_hash = 0; }, "a description without its hash");
  lie([](RecordFileHeader& h) { h.schema_hash ^= 1; }, "is not the description whose hash is");
  lie([](RecordFileHeader& h) { std::memset(h.schema, 'x', sizeof h.schema); }, "not a name");
  lie([](RecordFileHeader& h) { std::memset(h.schema, 0, sizeof h.schema); }, "not a name");
  lie([](RecordFileHeader& h) { set_text(h.schema, "desk.other"); }, "says records of desk.other");
  lie([](RecordFileHeader& h) { h.record_bytes = 48; }, "48 bytes, and its description");
  const std::string plain = head_of(plain_head());
  const absl::Status no_text =
      parsing(with_header(plain, [](RecordFileHeader& h) { h.schema_hash = 7; }));
  CHECK(says(no_text, "a hash without a description"));
}

TEST_CASE("A file of a later release is distinguished from a damaged one") {
  const std::string good = head_of(signal_head());
  const absl::Status later = parsing(with_header(good, [](RecordFileHeader& h) { h.version = 2; }));
  CHECK(errc_of(later) == Errc::kUnsupported);
  CHECK(says(later, "of version 2, this program reads 1"));
  const std::string text = R"({"name":"desk.signal","version":1,"record_bytes":56,)"
                           R"("fields":[{"name":"x","type":"decimal128","offset":0}]})";
  std::string unknown = good.substr(0, sizeof(RecordFileHeader)) + text;
  unknown.resize((unknown.size() + 63) / 64 * 64, '\0');
  unknown = with_header(unknown, [&](RecordFileHeader& h) {
    h.description_bytes = static_cast<std::uint32_t>(text.size());
    h.header_bytes = static_cast<std::uint32_t>(unknown.size());
    h.schema_hash = Schema::hash_of(text);
  });
  CHECK(errc_of(parsing(unknown)) == Errc::kUnsupported);
  CHECK(says(parsing(unknown), "of a later release"));
}

TEST_CASE("A changed bit or a missing byte of a head is reported") {
  const std::string good = head_of(signal_head());
  const std::size_t said = sizeof(RecordFileHeader) + schema_of<Signal>().text().size();
  for (std::size_t at = 0; at < said; ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      CAPTURE(at, bit);
      std::string damaged = good;
      damaged[at] = static_cast<char>(damaged[at] ^ (1 << bit));
      REQUIRE_FALSE(parsing(damaged).ok());
    }
  }
  for (std::size_t bytes = 0; bytes < good.size(); ++bytes) {
    CAPTURE(bytes);
    REQUIRE(errc_of(parsing(good.substr(0, bytes))) == Errc::kBadInput);
  }
}

TEST_CASE("A file cut at any byte yields every complete record, then reports where it is cut") {
  const TemporaryDirectory directory;
  const std::string head = head_of(signal_head());
  const std::string records = signal_records(1, 20);
  const std::string whole = head + records;
  for (std::size_t length = 0; length <= whole.size(); ++length) {
    CAPTURE(length);
    const Reading reading = read_bytes(directory, whole.substr(0, length));
    const std::size_t there = length < head.size() ? 0 : length - head.size();
    REQUIRE((reading.records == records.substr(0, there / kRecordBytes * kRecordBytes)));
    const bool is_whole = length >= head.size() && there % kRecordBytes == 0;
    REQUIRE(reading.end.ok() == is_whole);
    if (is_whole) continue;
    REQUIRE(errc_of(reading.end) == Errc::kBadInput);
    if (length < head.size()) continue;
    const std::string number = std::to_string(there / kRecordBytes + 1);
    REQUIRE(says(reading.end, "record " + number + " at byte "));
    REQUIRE(says(reading.end, std::to_string(there % kRecordBytes) + " of its 56 bytes are there"));
  }
}

TEST_CASE("A zstd file of several frames is one file, and damage to it is found") {
  const TemporaryDirectory directory;
  const std::string first = zstd_frame(head_of(signal_head()) + signal_records(1, 500));
  const std::string second = zstd_frame(signal_records(501, 500));
  Reading reading = read_bytes(directory, first + second);
  CHECK(reading.end.ok());
  CHECK((reading.records == signal_records(1, 1'000)));
  std::string changed = second;
  changed.back() = static_cast<char>(changed.back() ^ 1);  // in the frame's checksum
  reading = read_bytes(directory, first + changed);
  CHECK(errc_of(reading.end) == Errc::kBadInput);
  CHECK(says(reading.end, "is damaged"));
}

TEST_CASE("Other files are distinguished from record files") {
  const TemporaryDirectory directory;
  const auto refusal = [&](const std::string& bytes) {
    const Reading reading = read_bytes(directory, bytes);
    CHECK(errc_of(reading.end) == Errc::kBadInput);
    return std::string(reading.end.message());
  };
  CHECK(refusal(mbo_metadata() + mbo_records(1, 3)).find("give it as dbn:PATH") !=
        std::string::npos);
  CHECK(refusal("DBN").find("give it as dbn:PATH") != std::string::npos);
  CHECK(refusal("").find("is empty; give a .records") != std::string::npos);
  CHECK(refusal("hello").find("does not begin like a record file") != std::string::npos);
  CHECK(refusal(std::string(300, '\0')).find("does not begin like") != std::string::npos);
  CHECK(errc_of(RecordFileReader::open(directory.file("none")).status()) == Errc::kNotFound);
}

TEST_CASE("A file is read again from its first record, unless it was replaced") {
  const TemporaryDirectory directory;
  const std::string path = directory.file("f");
  write_file(path, head_of(signal_head()) + signal_records(1, 50));
  const auto reader = RecordFileReader::open(path);
  REQUIRE(reader.ok());
  for (int pass = 0; pass < 3; ++pass) {
    CHECK((read_all(**reader).records == signal_records(1, 50)));
    CHECK((*reader)->records() == 50);
    REQUIRE((*reader)->rewind().ok());
  }
  write_file(path, head_of(plain_head()) + signal_records(1, 50));
  CHECK(errc_of((*reader)->rewind()) == Errc::kBadInput);
}

TEST_CASE("A reader that does not wait for a pipe would block until a record is complete") {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const UniqueFd in(ends[1]);
  const auto put = [&](const std::string& bytes) {
    REQUIRE(::write(in.get(), bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
  };
  put(head_of(signal_head()));
  const auto reader = RecordFileReader::open(ByteSource::adopt(UniqueFd(ends[0]), "a pipe"));
  REQUIRE(reader.ok());
  (*reader)->stop_waiting();
  const auto result = [&] { return errc_of((*reader)->next(10).status()); };
  CHECK(result() == Errc::kTimedOut);
  const std::string record = signal_records(1, 1);
  put(record.substr(0, 20));
  CHECK(result() == Errc::kTimedOut);
  put(record.substr(20));
  const auto there = (*reader)->next(10);
  REQUIRE(there.ok());
  CHECK(there->size() == kRecordBytes);
  CHECK(std::memcmp(there->data(), record.data(), kRecordBytes) == 0);
}

}  // namespace lapwing
