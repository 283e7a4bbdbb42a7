#include "snapshot/recording/record_writer.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <string>

#include "lapwing/error.h"
#include "os/posix_io.h"
#include "os/system_error.h"
#include "snapshot/dbn/dbn_reader.h"
#include "testing/dbn_files.h"
#include "testing/temporary_directory.h"

namespace lapwing {
namespace {

// A disk that is full after this many bytes. A write that would exceed this is partly completed, as
// in the kernel.
class FullDisk : public PosixDisk {
 public:
  absl::Status write_at(FileHandle file, std::uint64_t offset,
                        std::span<const std::byte> bytes) override {
    if (offset + bytes.size() <= bytes_max) return PosixDisk::write_at(file, offset, bytes);
    if (offset < bytes_max) {
      PosixDisk::write_at(file, offset, bytes.first(bytes_max - offset)).IgnoreError();
    }
    return make_system_error(ENOSPC, "cannot write");
  }
  std::uint64_t bytes_max = ~std::uint64_t{0};
};

std::span<const std::byte> text_bytes(const std::string& text) {
  return std::as_bytes(std::span(text));
}

constexpr std::size_t kMboBytes = sizeof(dbn::MboMsg);

std::unique_ptr<RecordWriter> create(Disk& disk, const std::string& path) {
  auto writer = RecordWriter::create(disk, path, mbo_metadata(), kMboBytes);
  REQUIRE(writer.ok());
  return *std::move(writer);
}

std::unique_ptr<RecordWriter> resume(Disk& disk, const std::string& path, std::uint64_t committed) {
  auto writer = RecordWriter::resume(disk, path, committed, kMboBytes);
  REQUIRE(writer.ok());
  return *std::move(writer);
}

// Returns the records that can be read. `end` receives the status that ended the reading.
std::string records_in(const std::string& path, absl::Status* end = nullptr) {
  const auto reader = DbnReader::open(path);
  REQUIRE(reader.ok());
  REQUIRE((*reader)->raw_metadata() == mbo_metadata());
  std::string out;
  for (;;) {
    const auto record = (*reader)->next();
    if (end != nullptr) *end = record.status();
    if (end == nullptr) REQUIRE(record.ok());
    if (!record.ok() || record->empty()) return out;
    out.append(reinterpret_cast<const char*>(record->data()), record->size());
  }
}

}  // namespace

TEST_CASE("Written records are read back one for one") {
  const TemporaryDirectory directory;
  const std::string path = directory.file(GENERATE("out.dbn", "out.dbn.zst"));
  PosixDisk disk;
  const auto writer = create(disk, path);
  const std::string records = mbo_records(1, 50'000);
  REQUIRE(writer->write(text_bytes(records)).ok());
  REQUIRE(writer->finish().ok());
  REQUIRE(writer->finish().ok());
  CHECK(writer->records_in_file() == 50'000);
  CHECK((records_in(path) == records));
  CHECK(errc_of(writer->write(text_bytes(records))) == Errc::kClosed);
  const bool zstd = path.ends_with(".zst");
  CHECK((std::filesystem::file_size(path) < records.size()) == zstd);
}

TEST_CASE("A recording can be followed while it is written") {
  const TemporaryDirectory directory;
  const std::string path = directory.file(GENERATE("out.dbn", "out.dbn.zst"));
  PosixDisk disk;
  const auto writer = create(disk, path);
  absl::Status end;
  CHECK(records_in(path, &end).empty());  // the metadata is written immediately
  std::string wanted;
  for (std::uint64_t i = 1; i <= 20; ++i) {
    REQUIRE(writer->write(text_bytes(mbo_records(i, 1))).ok());
    wanted += mbo_records(i, 1);
    REQUIRE(writer->flush().ok());
    CHECK(writer->records_in_file() == i);
    CHECK((records_in(path, &end) == wanted));
  }
}

TEST_CASE("A finished recording can be continued any number of times") {
  const TemporaryDirectory directory;
  const std::string path = directory.file(GENERATE("out.dbn", "out.dbn.zst"));
  PosixDisk disk;
  REQUIRE(create(disk, path)->finish().ok());
  for (std::uint64_t first = 1; first <= 3'001; first += 1'000) {
    const auto writer = resume(disk, path, std::filesystem::file_size(path));
    REQUIRE(writer->write(text_bytes(mbo_records(first, 1'000))).ok());
    REQUIRE(writer->finish().ok());
    CHECK(writer->records() == 1'000);
  }
  CHECK((records_in(path) == mbo_records(1, 4'000)));
}

TEST_CASE("A recording continues after its last commit, whatever was written later") {
  const TemporaryDirectory directory;
  const std::string path = directory.file(GENERATE("out.dbn", "out.dbn.zst"));
  PosixDisk disk;
  std::uint64_t committed = 0;
  {
    const auto writer = create(disk, path);
    REQUIRE(writer->write(text_bytes(mbo_records(1, 700))).ok());
    committed = writer->commit().value();
    CHECK(writer->commit().value() == committed);
    CHECK(std::filesystem::file_size(path) == committed);
    REQUIRE(writer->write(text_bytes(mbo_records(9'000, 9'000))).ok());
  }
  {
    const auto writer = resume(disk, path, committed);
    REQUIRE(writer->write(text_bytes(mbo_records(701, 300))).ok());
    committed = writer->commit().value();
    REQUIRE(writer->finish().ok());
  }
  CHECK(std::filesystem::file_size(path) == committed);
  CHECK((records_in(path) == mbo_records(1, 1'000)));
  const auto cut = RecordWriter::resume(disk, path, committed + 1, kMboBytes);
  CHECK(errc_of(cut.status()) == Errc::kDamaged);
  CHECK(std::filesystem::file_size(path) == committed);
}

TEST_CASE("A writer without a call of finish() finishes by itself") {
  const TemporaryDirectory directory;
  const std::string path = directory.file(GENERATE("out.dbn", "out.dbn.zst"));
  PosixDisk disk;
  {
    const auto writer = create(disk, path);
    REQUIRE(writer->write(text_bytes(mbo_records(1, 10))).ok());
  }
  CHECK((records_in(path) == mbo_records(1, 10)));
}

TEST_CASE("An existing file is not overwritten") {
  const TemporaryDirectory directory;
  PosixDisk disk;
  write_file(directory.file("out.dbn"), "precious");
  const auto writer =
      RecordWriter::create(disk, directory.file("out.dbn"), mbo_metadata(), kMboBytes);
  CHECK(errc_of(writer.status()) == Errc::kInvalidArgument);
  CHECK(read_file(directory.file("out.dbn")) == "precious");
}

TEST_CASE(
    "On a full disk, a raw recording ends with its last complete record and can be continued") {
  const TemporaryDirectory directory;
  const std::string path = directory.file("out.dbn");
  FullDisk disk;
  disk.bytes_max = 1'000'003;
  const auto writer = create(disk, path);
  const std::string records = mbo_records(1, 50'000);
  const absl::Status status = writer->write(text_bytes(records));
  REQUIRE(errc_of(status) == Errc::kNoSpace);
  CHECK(writer->write(text_bytes(records)) == status);
  CHECK(writer->flush() == status);
  CHECK(writer->finish() == status);
  const std::string there = records_in(path);
  CHECK((there == records.substr(0, there.size())));
  CHECK(there.size() / 56 == writer->records_in_file());
  CHECK(there.size() > disk.bytes_max - 2 * kRecordWriteBufferBytes);
  CHECK(std::string(status.message()).find(std::to_string(there.size() / 56)) != std::string::npos);
  PosixDisk roomy;
  REQUIRE(resume(roomy, path, std::filesystem::file_size(path))
              ->write(text_bytes(records.substr(there.size())))
              .ok());
  CHECK((records_in(path) == records));
}

TEST_CASE("On a full disk, a zstd recording keeps flushed records and reports it") {
  const TemporaryDirectory directory;
  const std::string path = directory.file("out.dbn.zst");
  FullDisk disk;
  const auto writer = create(disk, path);
  const std::string records = mbo_records(1, 500);
  REQUIRE(writer->write(text_bytes(records)).ok());
  REQUIRE(writer->flush().ok());
  disk.bytes_max = std::filesystem::file_size(path) + 10;
  REQUIRE(writer->write(text_bytes(mbo_records(501, 500))).ok());
  const absl::Status status = writer->finish();
  REQUIRE(errc_of(status) == Errc::kNoSpace);
  CHECK(writer->records_in_file() == 500);
  absl::Status end;
  CHECK((records_in(path, &end) == records));
  CHECK(errc_of(end) == Errc::kBadInput);
}

TEST_CASE("A recording that cannot even begin leaves no file") {
  const TemporaryDirectory directory;
  FullDisk disk;
  disk.bytes_max = 10;
  const auto path = directory.file(GENERATE("out.dbn", "out.dbn.zst"));
  const auto made = [&disk](const std::string& where) {
    return RecordWriter::create(disk, where, mbo_metadata(), kMboBytes).status();
  };
  CHECK(errc_of(made(path)) == Errc::kNoSpace);
  CHECK_FALSE(std::filesystem::exists(path));
  CHECK(errc_of(made(directory.file("no/where.dbn"))) == Errc::kNotFound);
}

TEST_CASE("Bytes that are not whole records are refused before they reach the file") {
  const TemporaryDirectory directory;
  PosixDisk disk;
  const auto writer = create(disk, directory.file("out.dbn"));
  const std::string records = mbo_records(1, 2);
  CHECK(errc_of(writer->write(text_bytes(records.substr(0, 100)))) == Errc::kInvalidArgument);
  REQUIRE(writer->write(text_bytes(records)).ok());
  REQUIRE(writer->finish().ok());
  CHECK((records_in(directory.file("out.dbn")) == records));
}

TEST_CASE(
    "A file that is named when complete has no name before, and leaves nothing without finish()") {
  const TemporaryDirectory directory;
  const std::string path = directory.file(GENERATE("out.dbn", "out.dbn.zst"));
  PosixDisk disk;
  const std::string records = mbo_records(1, 20'000);
  const auto create_whole = [&](Disk& on) {
    return RecordWriter::create_whole(on, path, mbo_metadata(), kMboBytes);
  };
  const auto names = [&] { return disk.list(directory.path()).value(); };
  {
    const auto writer = create_whole(disk);
    REQUIRE(writer.ok());
    REQUIRE((*writer)->write(text_bytes(records)).ok());
    REQUIRE((*writer)->flush().ok());
    CHECK_FALSE(std::filesystem::exists(path));
    CHECK(std::filesystem::exists(path + ".new"));
    const absl::Status another = create_whole(disk).status();
    CHECK(errc_of(another) == Errc::kInUse);
    CHECK(std::string(another.message()).find("is writing " + path) != std::string::npos);
    CHECK(std::filesystem::exists(path + ".new"));
    // If the writer's file was removed, it does not rename another file.
    std::filesystem::remove(path + ".new");
    write_file(path + ".new", "of another process");
    CHECK(errc_of((*writer)->finish()) == Errc::kInUse);
    CHECK_FALSE(std::filesystem::exists(path));
    CHECK(read_file(path + ".new") == "of another process");
    std::filesystem::remove(path + ".new");
  }
  CHECK(names().empty());
  {
    const auto unfinished = create_whole(disk);
    REQUIRE(unfinished.ok());
    REQUIRE((*unfinished)->write(text_bytes(records)).ok());
  }
  CHECK(names().empty());
  write_file(path + ".new", "of a run that was killed");
  const auto writer = create_whole(disk);
  REQUIRE(writer.ok());
  REQUIRE((*writer)->write(text_bytes(records)).ok());
  REQUIRE((*writer)->finish().ok());
  REQUIRE((*writer)->finish().ok());
  CHECK(names().size() == 1);
  CHECK((records_in(path) == records));
  CHECK(errc_of(create_whole(disk).status()) == Errc::kInvalidArgument);
}

TEST_CASE("A file that is named when complete does not exist after an error") {
  const TemporaryDirectory directory;
  const std::string path = directory.file(GENERATE("out.dbn", "out.dbn.zst"));
  FullDisk disk;
  disk.bytes_max = mbo_metadata().size() + 1'000;
  const auto writer = RecordWriter::create_whole(disk, path, mbo_metadata(), kMboBytes);
  REQUIRE(writer.ok());
  absl::Status status = (*writer)->write(text_bytes(mbo_records(1, 200'000)));
  if (status.ok()) status = (*writer)->finish();
  CHECK(errc_of(status) == Errc::kNoSpace);
  CHECK(std::string(status.message()).find(path + " was not written") != std::string::npos);
  CHECK((*writer)->finish() == status);
  CHECK(disk.list(directory.path()).value().empty());
}

TEST_CASE("A file that appeared meanwhile is not replaced") {
  const TemporaryDirectory directory;
  const std::string path = directory.file("out.dbn");
  PosixDisk disk;
  const auto writer = RecordWriter::create_whole(disk, path, mbo_metadata(), kMboBytes);
  REQUIRE(writer.ok());
  write_file(path, "precious");
  CHECK(errc_of((*writer)->finish()) == Errc::kInvalidArgument);
  CHECK(read_file(path) == "precious");
  CHECK(disk.list(directory.path()).value().size() == 1);
}

}  // namespace lapwing
