#include "snapshot/dbn/dbn_reader.h"

#include <fcntl.h>
#include <unistd.h>
#include <zstd.h>

#include <catch2/catch.hpp>
#include <map>
#include <string>

#include "lapwing/error.h"
#include "testing/dbn_files.h"
#include "testing/temporary_directory.h"

namespace lapwing {
namespace {

// Everything that a reader delivers, and its final status.
struct Reading {
  std::string records;
  std::uint64_t count = 0;
  absl::Status end;  // ok: the end of the file
};

Reading read_all(DbnReader& reader) {
  Reading reading;
  for (;;) {
    const auto record = reader.next();
    if (!record.ok()) {
      reading.end = record.status();
      CHECK(reader.next().status() == reading.end);  // an error is final
      return reading;
    }
    if (record->empty()) return reading;
    reading.records.append(reinterpret_cast<const char*>(record->data()), record->size());
    ++reading.count;
  }
}

Reading read_all(const std::string& path) {
  const auto reader = DbnReader::open(path);
  if (!reader.ok()) {
    Reading reading;
    reading.end = reader.status();
    return reading;
  }
  return read_all(**reader);
}

Reading read_bytes(const TemporaryDirectory& directory, const std::string& bytes) {
  write_file(directory.file("file.dbn"), bytes);
  return read_all(directory.file("file.dbn"));
}

std::string message(const absl::Status& status) {
  return std::string(status.message());
}

bool says(const absl::Status& status, const std::string& text) {
  return message(status).find(text) != std::string::npos;
}

// Returns what zstd can decode if fed these bytes one by one: a truncated file's readable part.
std::string decodable(const std::string& bytes) {
  ZSTD_DStream* stream = ZSTD_createDStream();
  std::string out;
  std::string chunk(ZSTD_DStreamOutSize(), '\0');
  for (const char& byte : bytes) {
    ZSTD_inBuffer input{&byte, 1, 0};
    for (bool more = true; more;) {
      ZSTD_outBuffer output{chunk.data(), chunk.size(), 0};
      if (ZSTD_isError(ZSTD_decompressStream(stream, &output, &input))) break;
      out.append(chunk, 0, output.pos);
      more = input.pos < input.size || output.pos == output.size;
    }
  }
  ZSTD_freeDStream(stream);
  return out;
}

constexpr std::uint64_t kCutRecords = 120;

}  // namespace

TEST_CASE("A file cut at any byte yields every complete record, then reports where it is cut") {
  const TemporaryDirectory directory;
  const std::string header = mbo_metadata();
  const std::string records = mbo_records(1, kCutRecords);
  const std::string plain = header + records;
  const std::size_t half = records.size() / 2;
  const std::string packed =
      zstd_frame(header) + zstd_frame(records.substr(0, half)) + zstd_frame(records.substr(half));
  const bool compressed = GENERATE(false, true);
  const std::string& whole = compressed ? packed : plain;
  std::size_t clean_ends = 0;
  for (std::size_t length = 0; length < whole.size(); ++length) {
    CAPTURE(compressed, length);
    const std::string cut = whole.substr(0, length);
    const std::string there = compressed ? decodable(cut) : cut;
    const Reading reading = read_bytes(directory, cut);
    const std::uint64_t wanted =
        there.size() < header.size() ? 0 : (there.size() - header.size()) / sizeof(dbn::MboMsg);
    REQUIRE(reading.count == wanted);
    REQUIRE((reading.records == records.substr(0, wanted * sizeof(dbn::MboMsg))));
    if (reading.end.ok()) {
      ++clean_ends;  // exactly between records, or between frames
      REQUIRE(there.size() == header.size() + reading.records.size());
      continue;
    }
    REQUIRE(errc_of(reading.end) == Errc::kBadInput);
    REQUIRE(says(reading.end, directory.file("file.dbn")));
    if (length > 8) REQUIRE(says(reading.end, "byte"));
  }
  // Raw: after the metadata and each record but the last. zstd: after the first and second frame.
  CHECK(clean_ends == (compressed ? 2 : kCutRecords));
}

TEST_CASE("Several zstd frames and skippable ones between them are one file") {
  const TemporaryDirectory directory;
  const std::string skippable("\x50\x2a\x4d\x18\x05\x00\x00\x00hello", 13);
  std::string bytes = skippable + zstd_frame(mbo_metadata());
  std::string wanted;
  for (std::uint64_t first = 1; first < 5'000; first += 1'000) {
    wanted += mbo_records(first, 1'000);
    bytes += zstd_frame(mbo_records(first, 1'000)) + skippable + zstd_frame("");
  }
  const Reading reading = read_bytes(directory, bytes);
  CHECK(reading.end.ok());
  CHECK((reading.records == wanted));
}

TEST_CASE("A record may lie across two zstd frames") {
  const TemporaryDirectory directory;
  const std::string records = mbo_records(1, 100);
  const Reading reading =
      read_bytes(directory, zstd_frame(mbo_metadata() + records.substr(0, 1'001)) +
                                zstd_frame(records.substr(1'001)));
  CHECK(reading.end.ok());
  CHECK((reading.records == records));
}

TEST_CASE("Damage to a zstd frame does not affect the frames before it") {
  const TemporaryDirectory directory;
  const std::string first = zstd_frame(mbo_metadata() + mbo_records(1, 5'000));
  std::string second = zstd_frame(mbo_records(5'001, 5'000));
  SECTION("in its first block") {
    damage_block(second, 0);
  }
  SECTION("in its header") {
    second[0] = 'X';
  }
  SECTION("it is something else") {
    second = "no zstd at all";
  }
  const Reading reading = read_bytes(directory, first + second);
  CHECK(reading.count == 5'000);
  CHECK((reading.records == mbo_records(1, 5'000)));
  REQUIRE(errc_of(reading.end) == Errc::kBadInput);
  CHECK(says(reading.end, "zstd reports"));
  CHECK(says(reading.end, "frame begun at byte " + std::to_string(first.size())));
  CHECK(says(reading.end, "[5000 records came before]"));
}

TEST_CASE("A damaged block does not affect the blocks before it in its frame") {
  constexpr int kIntactBlocks = 5;
  const TemporaryDirectory directory;
  const std::string bytes = mbo_metadata() + mbo_records(1, 20'000);
  std::string frame = zstd_frame(bytes);
  damage_block(frame, kIntactBlocks);
  const Reading reading = read_bytes(directory, frame);
  REQUIRE(errc_of(reading.end) == Errc::kBadInput);
  CHECK(reading.count == (kIntactBlocks * ZSTD_BLOCKSIZE_MAX - mbo_metadata().size()) / 56);
  CHECK((reading.records == mbo_records(1, reading.count)));
}

TEST_CASE("Damage that only the checksum shows is an error at the end of its frame") {
  const TemporaryDirectory directory;
  std::string frame = zstd_frame(mbo_metadata() + mbo_records(1, 5'000));
  frame.back() = static_cast<char>(frame.back() ^ 1);
  const Reading reading = read_bytes(directory, frame);
  CHECK(reading.count == 5'000);
  CHECK(says(reading.end, "checksum"));
}

TEST_CASE("A record with a length below its header's is an error with its number and offset") {
  const TemporaryDirectory directory;
  std::string records = mbo_records(1, 10);
  records[56 * 4] = GENERATE('\0', '\3');
  const Reading reading = read_bytes(directory, mbo_metadata() + records);
  CHECK(reading.count == 4);
  REQUIRE(errc_of(reading.end) == Errc::kBadInput);
  CHECK(says(reading.end, "record 5 at byte " + std::to_string(mbo_metadata().size() + 56 * 4)));
}

TEST_CASE("A record with a length beyond the file is an error") {
  const TemporaryDirectory directory;
  std::string records = mbo_records(1, 3);
  records[56 * 2] = '\xff';
  const Reading reading = read_bytes(directory, mbo_metadata() + records);
  CHECK(reading.count == 2);
  CHECK(says(reading.end, "56 of its 1020 bytes are there"));
}

TEST_CASE("A second DBN file after the first is not taken for records") {
  const TemporaryDirectory directory;
  const std::string file = mbo_metadata() + mbo_records(1, 3);
  const Reading reading = read_bytes(directory, file + file);
  CHECK(reading.count == 3);
  CHECK(says(reading.end, "another DBN file"));
}

TEST_CASE("A file that is not DBN is refused with its kind") {
  const TemporaryDirectory directory;
  CHECK(errc_of(read_all(directory.file("missing")).end) == Errc::kNotFound);
  CHECK(says(read_all(directory.path()).end, "is a directory"));
  CHECK(says(read_bytes(directory, "").end, "is empty"));
  CHECK(says(read_bytes(directory, "a").end, "not DBN"));
  CHECK(
      says(read_bytes(directory, "PK\3\4 something else").end, "not DBN: it begins with 50 4b 03"));
  CHECK(says(read_bytes(directory, "DBN").end, "inside the DBN metadata"));
  CHECK(says(read_bytes(directory, zstd_frame("something else")).end, "not DBN"));
  CHECK(says(read_bytes(directory, zstd_frame("")).end, "is empty"));
  for (const auto& reading : {read_all(directory.path()), read_bytes(directory, "")}) {
    CHECK(errc_of(reading.end) == Errc::kBadInput);
  }
}

TEST_CASE("A rewound reader returns the same records again, even after an error") {
  const TemporaryDirectory directory;
  const std::string bytes = mbo_metadata() + mbo_records(1, 40'000);
  const bool compressed = GENERATE(false, true);
  std::string file = compressed ? zstd_frame(bytes) : bytes;
  file.pop_back();
  write_file(directory.file("file.dbn"), file);
  const auto reader = DbnReader::open(directory.file("file.dbn"));
  REQUIRE(reader.ok());
  const Reading first = read_all(**reader);
  CHECK_FALSE(first.end.ok());
  REQUIRE((*reader)->rewind().ok());
  const Reading second = read_all(**reader);
  CHECK((second.records == first.records));
  CHECK(second.end == first.end);
}

TEST_CASE("A reader that waits for a pipe stops only when it is interrupted") {
  int ends[2];
  REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
  const std::string bytes = mbo_metadata() + mbo_records(1, 1);
  REQUIRE(::write(ends[1], bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
  bool stop = false;
  int asked = 0;
  const auto stopped = [&] {
    stop = stop || ++asked == 5;
    return stop;
  };
  const auto reader = DbnReader::open(ByteSource::adopt(UniqueFd(ends[0]), "a pipe", stopped));
  REQUIRE(reader.ok());
  CHECK((*reader)->next()->size() == 56);
  CHECK_FALSE(stop);
  CHECK(errc_of((*reader)->next().status()) == Errc::kClosed);  // neither data nor a close
  CHECK(stop);
  ::close(ends[1]);
}

TEST_CASE("A record that has arrived on a pipe does not wait for the next") {
  int ends[2];
  REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
  const auto send = [&](const std::string& bytes) {
    REQUIRE(::write(ends[1], bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
  };
  send(mbo_metadata() + mbo_records(1, 2) + mbo_records(3, 1).substr(0, 20));
  const auto reader = DbnReader::open(ByteSource::adopt(UniqueFd(ends[0]), "a pipe"));
  REQUIRE(reader.ok());
  CHECK((*reader)->next()->size() == 56);
  CHECK((*reader)->buffered());
  CHECK((*reader)->next()->size() == 56);
  CHECK_FALSE((*reader)->buffered());  // only part of the third
  send(mbo_records(3, 1).substr(20));
  CHECK((*reader)->next()->size() == 56);
  ::close(ends[1]);
  CHECK((*reader)->next()->empty());
  CHECK(errc_of((*reader)->rewind()) == Errc::kUnsupported);
}

TEST_CASE("A reader that does not wait reports that there is no data, and continues where it was") {
  int ends[2];
  REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
  const auto send = [&](const std::string& bytes) {
    REQUIRE(::write(ends[1], bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
  };
  const bool compressed = GENERATE(false, true);
  const auto form = [&](const std::string& bytes) {
    return compressed ? zstd_frame(bytes) : bytes;
  };
  send(form(mbo_metadata()));
  const auto reader = DbnReader::open(ByteSource::adopt(UniqueFd(ends[0]), "a pipe"));
  REQUIRE(reader.ok());
  (*reader)->stop_waiting();
  CHECK((*reader)->fd() == ends[0]);
  const std::string record = form(mbo_records(1, 1));
  const std::size_t parts[] = {0, 1, record.size() / 2};
  for (std::size_t part = 0; part < 3; ++part) {
    if (part > 0) send(record.substr(parts[part - 1], parts[part] - parts[part - 1]));
    CHECK(errc_of((*reader)->next().status()) == Errc::kTimedOut);
    CHECK(errc_of((*reader)->next().status()) == Errc::kTimedOut);
  }
  send(record.substr(parts[2]));
  const auto got = (*reader)->next();
  REQUIRE(got.ok());
  CHECK(std::string(reinterpret_cast<const char*>(got->data()), got->size()) == mbo_records(1, 1));
  CHECK(errc_of((*reader)->next().status()) == Errc::kTimedOut);
  ::close(ends[1]);
  CHECK((*reader)->next()->empty());  // the end
}

}  // namespace lapwing
