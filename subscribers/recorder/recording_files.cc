#include "subscribers/recorder/recording_files.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lapwing/dbn.h"
#include "lapwing/error.h"
#include "os/path.h"

namespace lapwing {

absl::StatusOr<std::unique_ptr<RecordingFiles>> RecordingFiles::prepare(
    Disk& disk, RecordingFilesOptions options) {
  absl::StatusOr<Periods> periods = Periods::of(options.rotation);
  if (!periods.ok()) return periods.status();
  std::unique_ptr<RecordingFiles> recording(
      new RecordingFiles(disk, std::move(options), *std::move(periods)));
  const std::string& path = recording->options_.path;
  absl::StatusOr<RecordingPosition> position = read_position(disk, path);
  if (errc_of(position.status()) == Errc::kNotFound) {
    if (absl::Status free = recording->check_beginning(); !free.ok()) return free;
    return recording;
  }
  if (!position.ok()) return position.status();
  const auto exists = disk.exists(file_path(path, *position));
  if (!exists.ok()) return exists.status();
  const bool is_believed = position->bytes > 0;
  if (position->part == 0 && !*exists && !is_believed) return recording;
  // Finished files in a series may be moved away.
  const bool may_be_gone = !is_believed || (position->part != 0 && position->ended);
  if (!*exists && !may_be_gone) return file_is_gone(path, *position);
  if (*exists && is_believed) {
    if (absl::Status same = check_content(disk, path, *position); !same.ok()) return same;
  }
  recording->at_ = *std::move(position);
  recording->file_gone_ = !*exists;
  if (!recording->at_.began()) return recording;
  if (absl::Status fits = recording->check_continuation(); !fits.ok()) return fits;
  recording->continues_ = true;
  recording->records_ = recording->at_.records;
  return recording;
}

absl::Status RecordingFiles::check_continuation() const {
  if (options_.rotation.on() == (at_.part != 0)) return absl::OkStatus();
  return make_error(
      Errc::kInvalidArgument,
      at_.part == 0
          ? absl::StrCat(options_.path,
                         " is one file, recorded without rotation. Continue without rotation, or "
                         "choose another name")
          : absl::StrCat(options_.path, " is a series of files (", position_path(options_.path),
                         "). Continue with a rotation, by size or time, or choose another name"));
}

absl::Status RecordingFiles::check_beginning() const {
  const std::string directory = directory_of(options_.path);
  const auto names = disk_.list(directory);
  if (!names.ok()) return names.status();
  const std::string own_name = name_in_directory(options_.path);
  for (const std::string& name : *names) {
    const bool taken =
        options_.rotation.on() ? is_part_name(options_.path, name) : name == own_name;
    if (!taken) continue;
    return make_error(
        Errc::kInvalidArgument,
        absl::StrCat(directory, "/", name,
                     " exists already, and is not a recording that can be continued (there is no ",
                     position_path(options_.path), "). Choose another name"));
  }
  return absl::OkStatus();
}

std::optional<StoredPosition> RecordingFiles::position() const {
  if (!at_.began()) return std::nullopt;
  return at_.position;
}

absl::Status RecordingFiles::append(const RecordBatch& batch) {
  if (!failure_.ok()) return failure_;
  return keep(record(batch));
}

absl::Status RecordingFiles::record(const RecordBatch& batch) {
  if (batch.records.empty()) return absl::OkStatus();
  if (absl::Status chosen = choose_format(batch); !chosen.ok()) return chosen;
  if (absl::Status fits = format_->check(batch); !fits.ok()) return fits;
  if (writer_ == nullptr) {
    session_ = session_of(batch);
    absl::Status opened = open(began_with(format_->clock().time_ns(batch.records)));
    if (!opened.ok()) return opened;
  }
  if (absl::Status followed = follow_feed(batch); !followed.ok()) return followed;
  if (options_.rotation.on()) return record_in_parts(batch);
  uncommitted_ = true;
  records_ += batch.records.size() / format_->record_bytes();
  return writer_->write(batch.records);
}

// Chooses the format from the first records. They must match the kind of a continued recording.
absl::Status RecordingFiles::choose_format(const RecordBatch& batch) {
  if (format_) return absl::OkStatus();
  if (continues_ && batch.schema_name != at_.kind.schema.name) {
    return check_same_kind(options_.path, at_.kind, {SchemaLabel(batch.schema_name), 0});
  }
  absl::StatusOr<RecordingFormat> format =
      RecordingFormat::choose(batch, options_.path, options_.feed_metadata);
  if (!format.ok()) return format.status();
  if (periods_.on() && !format->clock().has_time()) {
    return make_error(Errc::kInvalidArgument,
                      absl::StrCat("records of schema ", batch.schema_name,
                                   " have no time by which a file could end: rotate by size, or "
                                   "describe the records' time (docs/reference/records.md)"));
  }
  if (continues_) {
    absl::Status same = check_same_kind(options_.path, at_.kind, format->kind());
    if (!same.ok()) return same;
  }
  format_ = *std::move(format);
  return absl::OkStatus();
}

absl::Status RecordingFiles::append_state(const RecordBatch& batch) {
  if (!failure_.ok()) return failure_;
  return keep(record_state(batch));
}

absl::Status RecordingFiles::record_state(const RecordBatch& batch) {
  if (batch.records.empty()) return absl::OkStatus();
  if (absl::Status chosen = choose_format(batch); !chosen.ok()) return chosen;
  if (absl::Status fits = format_->check(batch); !fits.ok()) return fits;
  const std::size_t record_bytes = format_->record_bytes();
  std::uint64_t newest_ns = 0;
  for (std::size_t at = 0; at < batch.records.size(); at += record_bytes) {
    const std::uint64_t time_ns = format_->clock().time_ns(batch.records.subspan(at));
    if (time_ns != dbn::kUndefTimestamp) newest_ns = std::max(newest_ns, time_ns);
  }
  if (newest_ns == 0) newest_ns = dbn::kUndefTimestamp;
  session_ = session_of(batch);
  if (absl::Status opened = open(newest_ns); !opened.ok()) return opened;
  records_ += batch.records.size() / record_bytes;
  uncommitted_ = has_records_ = true;
  return writer_->write(batch.records);
}

absl::Status RecordingFiles::record_in_parts(const RecordBatch& batch) {
  const std::size_t record_bytes = format_->record_bytes();
  StoredPosition before = batch.last;  // of the record before the current one
  before.sequence -= batch.records.size() / record_bytes;
  for (std::size_t at = 0; at < batch.records.size(); at += record_bytes, ++before.sequence) {
    const auto record = batch.records.subspan(at, record_bytes);
    const std::uint64_t time_ns = format_->clock().time_ns(record);
    const bool is_over = has_records_ && period_is_over(time_ns);
    if (rotation_due(is_over)) {
      const std::uint64_t began_ns = is_over ? time_ns : began_with(time_ns);
      if (absl::Status rotated = rotate(before, began_ns); !rotated.ok()) return rotated;
    }
    if (absl::Status written = writer_->write(record); !written.ok()) return written;
    ++records_;
    uncommitted_ = has_records_ = true;
    event_records_ = format_->ends_event()(record) ? 0 : event_records_ + 1;
  }
  return absl::OkStatus();
}

bool RecordingFiles::rotation_due(bool period_is_over) const {
  if (!has_records_) return false;
  if (event_records_ > 0 && event_records_ < kEventRecordsMax) return false;
  const Rotation& rotation = options_.rotation;
  if (rotation.bytes != 0 && writer_->bytes() >= rotation.bytes) return true;
  return period_is_over;
}

// True if a record with this time begins a new file. Call it once for each record, because it
// counts far times.
bool RecordingFiles::period_is_over(std::uint64_t time_ns) {
  if (!periods_.on()) return false;
  switch (periods_.judge(at_.began_ns, time_ns)) {
    case RecordTime::kNone:
      return false;
    case RecordTime::kOfThisFile:
      stray_records_ = 0;
      return false;
    case RecordTime::kOfLaterFile:
      stray_records_ = 0;
      return true;
    case RecordTime::kFar:
      break;
  }
  return ++stray_records_ >= kStrayRecordsMax;
}

// The time of a file that begins at a record with `time_ns`, because of the file size or after a
// crash. If the record is not in a later period, this is the time of the previous file.
std::uint64_t RecordingFiles::began_with(std::uint64_t time_ns) const {
  if (!periods_.on() || !is_time(at_.began_ns)) return time_ns;
  switch (periods_.judge(at_.began_ns, time_ns)) {
    case RecordTime::kNone:
    case RecordTime::kFar:
      return at_.began_ns;
    case RecordTime::kOfThisFile:
      return std::max(time_ns, at_.began_ns);
    case RecordTime::kOfLaterFile:
      break;
  }
  return time_ns;
}

// Begins a new file in a series at the first record from another feed.
absl::Status RecordingFiles::follow_feed(const RecordBatch& batch) {
  session_ = session_of(batch);
  if (std::exchange(judged_session_, session_) == session_) return absl::OkStatus();
  const absl::StatusOr<bool> is_same = format_->is_same_feed(file_session_, session_);
  if (!is_same.ok()) return is_same.status();
  if (*is_same) return absl::OkStatus();
  if (!options_.rotation.on()) {
    ++foreign_sessions_;
    return absl::OkStatus();
  }
  StoredPosition position = batch.last;  // of the record before the batch
  position.sequence -= batch.records.size() / format_->record_bytes();
  return rotate(position, began_with(format_->clock().time_ns(batch.records)));
}

absl::Status RecordingFiles::rotate(const StoredPosition& position, std::uint64_t time_ns) {
  if (absl::Status ended = writer_->finish(); !ended.ok()) return ended;
  RecordingPosition ended_file = at_;
  ended_file.position = position;
  ended_file.bytes = writer_->bytes();
  return begin_file(std::move(ended_file), time_ns);
}

absl::Status RecordingFiles::open(std::uint64_t time_ns) {
  if (at_.bytes == 0) {
    if (absl::Status removed = remove_leftover(); !removed.ok()) return removed;
  }
  if (at_.bytes == 0 || file_gone_) return begin_file(at_, time_ns);
  if (at_.ended) {  // from now on, bytes may follow
    RecordingPosition growing = at_;
    growing.ended = false;
    if (absl::Status moved = move_position(growing); !moved.ok()) return moved;
  }
  auto writer = RecordWriter::resume(disk_, file_path(options_.path, at_), at_.bytes,
                                     format_->record_bytes());
  if (!writer.ok()) return writer.status();
  writer_ = *std::move(writer);
  has_records_ = true;
  event_records_ = at_.event_records;
  stray_records_ = at_.stray_records;
  file_session_ = at_.feed_session.is_zero() ? at_.position.session_id : at_.feed_session;
  ++files_;
  return absl::OkStatus();
}

// Removes a file that a killed run created but that FILE.position does not confirm. The removal is
// synced before FILE.position names another file.
absl::Status RecordingFiles::remove_leftover() const {
  const std::string path = file_path(options_.path, at_);
  const auto exists = disk_.exists(path);
  if (!exists.ok() || !*exists) return exists.status();
  if (absl::Status removed = disk_.remove(path); !removed.ok()) return removed;
  return disk_.sync_directory(directory_of(path));
}

// Steps 2 and 3. FILE.position is written first, because we own only files that it names.
absl::Status RecordingFiles::begin_file(RecordingPosition next, std::uint64_t time_ns) {
  const absl::StatusOr<std::string> head =
      format_->head(options_.rotation.on() ? time_ns : dbn::kUndefTimestamp, session_);
  if (!head.ok()) return head.status();
  // The number of a file without confirmed bytes is reused.
  if (next.bytes > 0 || next.part == 0) ++next.part;
  if (!options_.rotation.on()) next.part = 0;
  next.records = records_;
  next.kind = format_->kind();
  next.bytes = 0;
  next.began_ns = time_ns;
  next.event_records = 0;
  next.stray_records = 0;
  next.checksum = 0;
  next.ended = false;
  next.feed_session = session_;
  const std::string path = file_path(options_.path, next);
  const auto exists = disk_.exists(path);
  if (!exists.ok()) return exists.status();
  if (*exists) {
    return make_error(Errc::kInvalidArgument,
                      absl::StrCat(path, " exists already; remove it or record to another name"));
  }
  if (absl::Status moved = move_position(next); !moved.ok()) return moved;
  auto writer = RecordWriter::create(disk_, path, *head, format_->record_bytes());
  if (!writer.ok()) return writer.status();
  writer_ = *std::move(writer);
  file_session_ = session_;
  has_records_ = false;
  event_records_ = 0;
  stray_records_ = 0;
  uncommitted_ = true;
  ++files_;
  return absl::OkStatus();
}

absl::Status RecordingFiles::commit(const StoredPosition& position) {
  if (!failure_.ok()) return failure_;
  if (writer_ == nullptr || !uncommitted_) return absl::OkStatus();
  const absl::StatusOr<std::uint64_t> bytes = writer_->commit();
  if (!bytes.ok()) return keep(bytes.status());
  uncommitted_ = false;
  RecordingPosition next = at_;
  next.position = position;
  next.records = records_;
  next.kind = format_->kind();  // releases before 0.2.0 did not write it
  next.bytes = *bytes;
  next.event_records = event_records_;
  next.stray_records = stray_records_;
  const auto checksum = content_checksum(disk_, file_path(options_.path, at_), *bytes);
  if (!checksum.ok()) return keep(checksum.status());
  next.checksum = *checksum;
  return keep(move_position(next));
}

absl::Status RecordingFiles::move_position(const RecordingPosition& position) {
  absl::Status written = write_position(disk_, options_.path, position);
  if (written.ok()) at_ = position;
  return written;
}

absl::Status RecordingFiles::finish(const RecordBatch& joined) {
  if (!failure_.ok()) return failure_;
  const bool empty = writer_ == nullptr && !continues_;
  const bool is_joined = !joined.schema_name.empty() && !joined.last.session_id.is_zero();
  if (empty && is_joined && !options_.rotation.on()) {
    absl::Status opened = choose_format(joined);
    session_ = session_of(joined);
    if (opened.ok()) opened = open(dbn::kUndefTimestamp);
    if (absl::Status kept = keep(std::move(opened)); !kept.ok()) return kept;
  }
  if (absl::Status committed = commit(joined.last); !committed.ok()) return committed;
  if (writer_ == nullptr) return absl::OkStatus();
  if (absl::Status done = writer_->finish(); !done.ok()) return keep(done);
  if (at_.ended) return absl::OkStatus();
  RecordingPosition ended = at_;
  ended.ended = true;
  return keep(move_position(ended));
}

// Keeps the first error, and appends the last record up to which the recording is complete.
absl::Status RecordingFiles::keep(absl::Status status) {
  if (status.ok()) return status;
  const bool is_the_files = writer_ != nullptr && !writer_->cause().ok();
  failure_ = is_the_files ? writer_->cause() : std::move(status);
  const bool other_records = errc_of(failure_) == Errc::kRecordSize;
  if (!other_records && at_.began()) {
    failure_ = make_error(
        errc_of(failure_),
        absl::StrCat(
            std::string(failure_.message()), "; the recording is kept up to record ",
            at_.position.sequence,
            ". Fix this and record to the same name again: the recording continues there"));
  }
  return failure_;
}

}  // namespace lapwing
