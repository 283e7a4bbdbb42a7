#include "snapshot/archive/segment_preparation.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <initializer_list>

#include "absl/strings/str_cat.h"
#include "lapwing/error.h"
#include "os/synchronous_write_queue.h"
#include "snapshot/journal/segment_file.h"

namespace lapwing {
namespace {

// Returns `status` with `more` appended to its message; the code and errno are unchanged.
absl::Status with_more(const absl::Status& status, const std::string& more) {
  absl::Status longer(status.code(), absl::StrCat(status.message(), more));
  status.ForEachPayload([&longer](absl::string_view type, const absl::Cord& payload) {
    longer.SetPayload(type, payload);
  });
  return longer;
}

// Runs the request as a Disk call. Returns what its completion would return.
std::int64_t run_on(Disk& disk, const std::string& directory, const WriteRequest& request) {
  absl::Status status;
  switch (request.kind) {
    case WriteRequest::Kind::kWrite:
      status = disk.write_at(request.file, request.offset, request.bytes);
      break;
    case WriteRequest::Kind::kSync:
      status = disk.sync(request.file);
      break;
    case WriteRequest::Kind::kSyncDirectory:
      status = disk.sync_directory(directory);
      break;
    case WriteRequest::Kind::kAllocate:
      status = disk.allocate(request.file, request.offset);
      break;
  }
  if (status.ok()) return static_cast<std::int64_t>(request.bytes.size());
  const int sys_errno = errno_of(status);
  return -(sys_errno != 0 ? sys_errno : EIO);
}

}  // namespace

void SegmentPreparation::begin(SegmentFiles& files, const OpenFile& directory, OpenSegment& segment,
                               std::uint64_t number, bool holds_records, std::uint64_t wall_ns) {
  files_ = &files;
  directory_ = &directory;
  segment_ = &segment;
  number_ = number;
  state_ = State::kUnderWay;
  awaits_name_ = false;
  segment.sum_entries.assign(files.journal().geometry.blocks_per_segment(), SumEntry{});
  segment.index_bytes = segment.index_wall_ns = 0;
  segment.time_entry = {};
  segment.data_dirty = segment.index_dirty = false;
  const absl::Status status = start(holds_records, wall_ns);
  if (!status.ok()) fail(status);
}

absl::Status SegmentPreparation::start(bool holds_records, std::uint64_t wall_ns) {
  bool adopted = false;
  const absl::Status looked = adopt(holds_records, adopted);
  if (!looked.ok() || adopted) return looked;
  if (const absl::Status status = files_->create(number_, *segment_); !status.ok()) return status;
  const JournalFiles& journal = files_->journal();
  const SegmentHeader header = make_segment_header(journal.journal_id, journal.geometry, number_,
                                                   files_->options().schema, wall_ns);
  std::memcpy(header_.bytes.data(), &header, sizeof header);
  enter(Stage::kAllocating);
  return absl::OkStatus();
}

// Adopts the existing segment. If it is incomplete and no record has reached it, removes it.
absl::Status SegmentPreparation::adopt(bool holds_records, bool& adopted) {
  const std::string name = files_->path(number_, "jnl");
  const auto there = files_->disk().exists(name);
  if (!there.ok() || !*there) return there.status();
  const absl::Status opened = files_->open_existing(number_, *segment_);
  const Errc code = errc_of(opened);
  const bool is_spoilt = code == Errc::kNotFound || code == Errc::kDamaged ||
                         code == Errc::kNotALapwingFile || code == Errc::kAbiMismatch;
  if (is_spoilt && !holds_records) return files_->disk().remove(name);
  adopted = opened.ok();
  if (adopted) enter(Stage::kReserving);
  return opened;
}

SegmentPreparation::State SegmentPreparation::advance(WriteQueue& queue, std::uint64_t tag_base,
                                                      bool may_name) {
  awaits_name_ = false;
  while (state_ == State::kUnderWay) {
    requests_.submit(queue, tag_base);
    if (requests_.failed()) {
      absl::Status why = requests_.failure(files_->journal().directory);
      if (errno_of(why) == EOPNOTSUPP && is_allocating()) why = allocate_by_disk();
      if (!why.ok()) fail(why);
    } else if (!requests_.done()) {
      break;
    } else if (stage_ == Stage::kNaming || stage_ == Stage::kAdopting) {
      state_ = State::kReady;
    } else if (stage_ == Stage::kNamingCompanions && !may_name) {
      awaits_name_ = true;
      break;
    } else {
      enter(static_cast<Stage>(static_cast<int>(stage_) + 1));
    }
  }
  return state_;
}

void SegmentPreparation::enter(Stage stage) {
  using Kind = WriteRequest::Kind;
  stage_ = stage;
  requests_.clear();
  absl::Status named;
  switch (stage) {
    case Stage::kAllocating:
    case Stage::kReserving:
      add(Kind::kAllocate, segment_->data, {}, "jnl");
      break;
    case Stage::kWriting:
      add(Kind::kWrite, segment_->data, header_.bytes, "jnl");
      // Zeros are written, not just allocated, so that later writes change no metadata and their
      // syncs are cheaper.
      add(Kind::kWrite, segment_->sums, std::as_bytes(std::span(segment_->sum_entries)), "sum");
      break;
    case Stage::kSyncing:
      add(Kind::kSync, segment_->data, {}, "jnl");
      add(Kind::kSync, segment_->sums, {}, "sum");
      break;
    case Stage::kNamingCompanions:
      named = give_name("sum");
      if (named.ok()) named = give_name("idx");
      add(Kind::kSyncDirectory, *directory_, {}, "sum");
      break;
    case Stage::kNaming:
      named = give_name("jnl");
      [[fallthrough]];
    case Stage::kAdopting:  // the name may not be synced
      add(Kind::kSyncDirectory, *directory_, {}, "jnl");
      break;
  }
  if (!named.ok()) fail(named);
}

void SegmentPreparation::add(WriteRequest::Kind kind, const OpenFile& file,
                             std::span<const std::byte> bytes, const char* suffix) {
  const std::uint64_t offset =
      kind == WriteRequest::Kind::kAllocate ? segment_file_bytes(files_->journal().geometry) : 0;
  requests_.add({kind, file.get(), offset, bytes, 0}, {number_, suffix});
}

absl::Status SegmentPreparation::give_name(const char* suffix) {
  return files_->disk().rename(files_->unfinished_path(number_, suffix),
                               files_->path(number_, suffix));
}

// If the file system lacks fallocate(), the disk writes zeros, which blocks the file thread.
absl::Status SegmentPreparation::allocate_by_disk() {
  absl::Status allocated =
      files_->disk().allocate(segment_->data.get(), segment_file_bytes(files_->journal().geometry));
  if (allocated.ok()) enter(stage_ == Stage::kReserving ? Stage::kAdopting : Stage::kWriting);
  return allocated;
}

void SegmentPreparation::fail(const absl::Status& why) {
  state_ = State::kFailed;
  failure_ = why;
  if (errc_of(why) != Errc::kNoSpace) return;
  const auto free = files_->disk().free_bytes(files_->journal().directory);
  failure_ = with_more(
      why,
      absl::StrCat("; a segment needs ", segment_file_bytes(files_->journal().geometry), " bytes, ",
                   free.ok() ? absl::StrCat(*free) : "an unknown number of", " bytes are free"));
}

void SegmentPreparation::undo() {
  segment_->close();
  state_ = State::kIdle;
  // A file that has its .jnl name is kept with its companions, and the next attempt
  // adopts it. Most of the other names do not exist. If one cannot be removed, the next
  // attempt reports that as an error.
  const auto there = files_->disk().exists(files_->path(number_, "jnl"));
  if (!there.ok() || *there) return;
  for (const char* const suffix : {"jnl", "sum", "idx"}) {
    (void)files_->disk().remove(files_->unfinished_path(number_, suffix));
    (void)files_->disk().remove(files_->path(number_, suffix));
  }
}

absl::Status create_segment(const SegmentOptions& options, std::uint64_t number,
                            std::uint64_t wall_ns) {
  const JournalFiles& journal = options.journal;
  const auto opened = open_file(*journal.disk, journal.directory, {.mode = OpenMode::kDirectory});
  if (!opened.ok()) return opened.status();
  SegmentFiles files(options);
  OpenSegment segment;
  SynchronousWriteQueue queue("synchronous", [&](const WriteRequest& request) {
    return run_on(*journal.disk, journal.directory, request);
  });
  SegmentPreparation preparation;
  preparation.begin(files, *opened, segment, number, true, wall_ns);
  while (preparation.advance(queue, 0, true) == SegmentPreparation::State::kUnderWay) {
    WriteCompletion done{};
    if (queue.reap(std::span(&done, 1), 0) == 1) preparation.complete(done.tag, done.result);
  }
  if (preparation.state() == SegmentPreparation::State::kReady) return absl::OkStatus();
  preparation.undo();
  return preparation.failure();
}

}  // namespace lapwing
