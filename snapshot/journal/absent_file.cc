#include "snapshot/journal/absent_file.h"

#include <xxhash.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <string>

#include "absl/strings/str_cat.h"
#include "lapwing/error.h"
#include "proto/journal_format.h"
#include "snapshot/journal/session_files.h"

namespace lapwing {
namespace {

constexpr std::size_t kCopies = 2;
constexpr std::uint64_t kEntriesPerRead = 2048;

std::uint64_t check_of(const JournalFiles& files, const AbsentEntry& entry) {
  std::uint64_t seed;
  std::memcpy(&seed, files.journal_id.bytes.data(), sizeof seed);
  return XXH3_64bits_withSeed(&entry, offsetof(AbsentEntry, check), seed);
}

GapCause known_cause(GapCause cause) {
  switch (cause) {
    case GapCause::kPruned:
    case GapCause::kDamaged:
    case GapCause::kUpstream:
      return cause;
    default:
      return GapCause::kNotRelayed;
  }
}

// Returns why the range cannot follow `before`; empty if it can.
std::string order_defect(const std::vector<AbsentRange>& before, const AbsentRange& range) {
  const Sequence next = before.empty() ? 1 : before.back().last + 1;
  if (range.first >= next && range.last >= range.first && range.last <= kSequenceMax) return "";
  return absl::StrCat("a range of ", range.first, " to ", range.last, " cannot be absent where ",
                      next, " is next");
}

// Combines the entries of both files, in order.
class Taker {
 public:
  // `count`: entries of the longer file, including an incomplete one.
  Taker(const JournalFiles& files, std::uint64_t count) : files_(files), count_(count) {}

  void take(const AbsentEntry& in_first, const AbsentEntry& in_copy) {
    const std::uint64_t index = index_++;
    const bool valid[kCopies] = {is_valid(in_first), is_valid(in_copy)};
    if (!valid[0] && !valid[1]) {
      if (index + 1 < count_) note(index, "the entry is valid in neither copy");
      return;
    }
    contents_.entries = index + 1;
    const bool both = valid[0] && valid[1];
    if (both && std::memcmp(&in_first, &in_copy, sizeof in_first) != 0) {
      return note(index, "the two copies contradict each other");
    }
    const AbsentEntry& entry = valid[0] ? in_first : in_copy;
    if (!both) contents_.copy_defects.push_back({valid[0] ? 1u : 0u, index, entry});
    const AbsentRange range{entry.first, entry.last, known_cause(entry.cause)};
    const std::string defect = order_defect(contents_.ranges, range);
    if (!defect.empty()) return note(index, defect);
    contents_.ranges.push_back(range);
  }

  AbsentContents& contents() { return contents_; }

 private:
  bool is_valid(const AbsentEntry& entry) const { return entry.check == check_of(files_, entry); }

  void note(std::uint64_t index, std::string what) {
    if (contents_.damage) return;
    contents_.damage = JournalDamage{absent_path(files_, 0), index * sizeof(AbsentEntry),
                                     kNoSequence, kNoSequence, std::move(what)};
  }

  const JournalFiles& files_;
  const std::uint64_t count_;
  std::uint64_t index_ = 0;
  AbsentContents contents_;
};

// An incomplete entry at the end of a file counts as an invalid one.
absl::StatusOr<std::uint64_t> count_entries(const JournalFiles& files, const OpenFile& file) {
  if (!file.valid()) return std::uint64_t{0};
  const auto bytes = files.disk->size(file.get());
  if (!bytes.ok()) return bytes.status();
  return (*bytes + sizeof(AbsentEntry) - 1) / sizeof(AbsentEntry);
}

// Entries beyond the end are zeros, and so are those of a missing file.
absl::Status read_entries(const JournalFiles& files, const OpenFile& file, std::uint64_t index,
                          std::span<AbsentEntry> entries) {
  std::ranges::fill(entries, AbsentEntry{});
  if (!file.valid()) return absl::OkStatus();
  return files.disk
      ->read_at(file.get(), index * sizeof(AbsentEntry), std::as_writable_bytes(entries))
      .status();
}

absl::StatusOr<AbsentContents> read_contents(const JournalFiles& files,
                                             std::span<const OpenFile, kCopies> copies) {
  std::uint64_t count = 0;
  for (const OpenFile& file : copies) {
    const auto entries = count_entries(files, file);
    if (!entries.ok()) return entries.status();
    count = std::max(count, *entries);
  }
  if (count > kAbsentRowsMax) {
    return make_error(
        Errc::kLimit,
        absl::StrCat(absent_path(files, 0), " or its copy has more than ", kAbsentRowsMax,
                     " entries. Use another bus directory for the mirror."));
  }
  Taker taker(files, count);
  std::vector<AbsentEntry> chunks[kCopies];
  for (auto& chunk : chunks) chunk.resize(std::min(count, kEntriesPerRead));
  for (std::uint64_t index = 0; index < count; index += chunks[0].size()) {
    for (std::size_t copy = 0; copy < kCopies; ++copy) {
      const absl::Status read = read_entries(files, copies[copy], index, chunks[copy]);
      if (!read.ok()) return read;
    }
    for (std::uint64_t i = 0; i < chunks[0].size() && index + i < count; ++i) {
      taker.take(chunks[0][i], chunks[1][i]);
    }
  }
  return std::move(taker.contents());
}

absl::Status status_of(const AbsentContents& contents) {
  if (!contents.damage) return absl::OkStatus();
  return make_error(Errc::kDamaged, contents.damage->text());
}

}  // namespace

std::string absent_path(const JournalFiles& files, std::size_t copy) {
  return absl::StrCat(files.directory, "/", kAbsentFileName, copy == 0 ? "" : kCopySuffix);
}

// A reader can do without a copy that is missing or not a file.
absl::StatusOr<AbsentContents> inspect_absent(const JournalFiles& files) {
  OpenFile copies[kCopies];
  for (std::size_t copy = 0; copy < kCopies; ++copy) {
    auto file = open_file(*files.disk, absent_path(files, copy), {OpenMode::kRead});
    const Errc code = errc_of(file.status());
    if (code == Errc::kNotFound || code == Errc::kNotALapwingFile) continue;
    if (!file.ok()) return file.status();
    copies[copy] = *std::move(file);
  }
  return read_contents(files, copies);
}

absl::StatusOr<std::vector<AbsentRange>> read_absent(const JournalFiles& files) {
  auto contents = inspect_absent(files);
  const absl::Status status = contents.ok() ? status_of(*contents) : contents.status();
  if (!status.ok()) return status;
  return std::move(contents->ranges);
}

absl::StatusOr<AbsentFile> AbsentFile::open(const JournalFiles& files, unsigned permissions) {
  AbsentFile opened(files, permissions);
  absl::Status status = opened.open_copies();
  if (!status.ok()) return status;
  if (!opened.copies_[0].valid() && !opened.copies_[1].valid()) return opened;
  auto contents = read_contents(files, opened.copies_);
  status = contents.ok() ? status_of(*contents) : contents.status();
  if (status.ok()) status = opened.create_missing();
  if (status.ok()) status = opened.heal(*contents);
  if (!status.ok()) return status;
  opened.ranges_ = std::move(contents->ranges);
  return opened;
}

absl::Status AbsentFile::open_copies() {
  for (std::size_t copy = 0; copy < kCopies; ++copy) {
    auto file = open_file(*files_.disk, absent_path(files_, copy), {OpenMode::kReadWrite});
    if (errc_of(file.status()) == Errc::kNotFound) continue;
    if (!file.ok()) return file.status();
    copies_[copy] = *std::move(file);
  }
  return absl::OkStatus();
}

// Syncs the names before there is a range, so that no record is durable behind a lost one.
absl::Status AbsentFile::create_missing() {
  for (std::size_t copy = 0; copy < kCopies; ++copy) {
    if (copies_[copy].valid()) continue;
    auto file = open_file(*files_.disk, absent_path(files_, copy),
                          {.mode = OpenMode::kCreate, .permissions = permissions_});
    if (!file.ok()) return file.status();
    copies_[copy] = *std::move(file);
  }
  failure_ = files_.disk->sync_directory(files_.directory);
  return failure_;
}

// Syncs both files even if they agree, because a killed writer may have left its last range unsynced.
absl::Status AbsentFile::heal(const AbsentContents& contents) {
  for (const AbsentCopyDefect& defect : contents.copy_defects) {
    const absl::Status written =
        files_.disk->write_at(copies_[defect.copy].get(), defect.index * sizeof(AbsentEntry),
                              std::as_bytes(std::span(&defect.entry, 1)));
    if (!written.ok()) return written;
  }
  for (const OpenFile& file : copies_) {
    const absl::Status synced = files_.disk->sync(file.get());
    if (!synced.ok()) return synced;
  }
  return absl::OkStatus();
}

absl::Status AbsentFile::check(const AbsentRange& range, Sequence session_last) const {
  std::string defect = order_defect(ranges_, range);
  const bool is_whole = range.last % files_.geometry.block_slots() == 0;
  if (defect.empty() && (range.last > session_last || (!is_whole && range.last != session_last))) {
    defect = absl::StrCat("a range that ends with ", range.last,
                          " ends neither with a block nor with its session, which ends with ",
                          session_last);
  }
  if (defect.empty() && range.cause != known_cause(range.cause)) {
    defect = absl::StrCat("a range cannot be absent with cause ", name_of(range.cause));
  }
  if (defect.empty()) return absl::OkStatus();
  return make_error(Errc::kInvalidArgument, absl::StrCat(absent_path(files_, 0), ": ", defect));
}

absl::Status AbsentFile::append(const AbsentRange& range, Sequence session_last) {
  if (!failure_.ok()) return failure_;
  absl::Status status = check(range, session_last);
  if (!status.ok()) return status;
  if (ranges_.size() >= kAbsentRowsMax) {
    return make_error(Errc::kLimit, absl::StrCat(absent_path(files_, 0), " has ", kAbsentRowsMax,
                                                 " entries, which is the maximum. Use another bus "
                                                 "directory for the mirror."));
  }
  const bool has_files = copies_[0].valid() && copies_[1].valid();
  if (!has_files) status = create_missing();
  if (status.ok()) status = write(range);
  if (status.ok()) ranges_.push_back(range);
  return status;
}

absl::Status AbsentFile::write(const AbsentRange& range) {
  AbsentEntry entry{range.first, range.last, range.cause, 0, 0};
  entry.check = check_of(files_, entry);
  for (const OpenFile& file : copies_) {
    const absl::Status written = files_.disk->write_at(
        file.get(), ranges_.size() * sizeof(AbsentEntry), std::as_bytes(std::span(&entry, 1)));
    if (errc_of(written) == Errc::kNoSpace) return written;
    failure_ = written.ok() ? files_.disk->sync(file.get()) : written;
    if (!failure_.ok()) return failure_;
  }
  return absl::OkStatus();
}

bool AbsentFile::is_lost() const {
  for (std::size_t copy = 0; copy < kCopies; ++copy) {
    if (!copies_[copy].valid()) continue;
    if (!files_.disk->names(absent_path(files_, copy), copies_[copy].get()).value_or(true)) {
      return true;
    }
  }
  return false;
}

}  // namespace lapwing
