#include "publisher/session_start.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <optional>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "bus/open_ring.h"
#include "lapwing/error.h"
#include "os/deadline.h"
#include "os/file_lock.h"
#include "os/file_space.h"
#include "os/kernel.h"
#include "os/posix_io.h"
#include "os/start_thread.h"
#include "os/system_error.h"
#include "os/uring_write_queue.h"
#include "proto/control_frames.h"
#include "proto/ring_words.h"
#include "proto/schema_label.h"
#include "proto/text_field.h"
#include "publisher/announcement.h"
#include "publisher/bus_places.h"
#include "publisher/left_rings.h"
#include "snapshot/dbn/kept_metadata.h"
#include "snapshot/journal/journal_files.h"
#include "snapshot/journal/journal_reader.h"
#include "snapshot/journal/segment_file.h"
#include "snapshot/recovery/forgotten_sessions.h"
#include "snapshot/roster.h"
#include "snapshot/schema/kept_schemas.h"
#include "snapshot/schema/known_schemas.h"

namespace lapwing {
namespace {

// The part of a ring that is faulted in before the first record. The file thread does the rest and is
// then ahead of what is published.
constexpr std::uint64_t kFilledAtStartBytes = 4 * 1024 * 1024;
constexpr unsigned kDirectoryPermissions = 0700;  // the disk adds the group's

// `text` as far as it fits into `bytes_max` bytes, and no character of UTF-8 cut in two.
std::string clip(const std::string& text, std::size_t bytes_max) {
  std::size_t end = std::min(text.size(), bytes_max);
  while (end > 0 && end < text.size() && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) {
    --end;
  }
  return text.substr(0, end);
}

absl::Status check_length(const std::string& what, const std::string& path, std::size_t bytes_max) {
  if (path.size() <= bytes_max) return absl::OkStatus();
  return make_error(Errc::kPathTooLong,
                    absl::StrCat(what, " ", path, " has ", path.size(), " bytes, more than the ",
                                 bytes_max, " that others can be told: choose a shorter one"));
}

// A start makes these files besides the first segment: its sums and index, `retention`, bus.json and
// metadata.dbn with their temporary names, and the control socket.
constexpr std::uint64_t kSmallFilesBytes = 128 * 1024;
constexpr std::uint64_t kSmallFiles = 10;

absl::Status check_space(const char* what, const std::string& directory, std::uint64_t needed) {
  const std::optional<UsableSpace> free = usable_space(directory);
  if (!free || (needed <= free->bytes && kSmallFiles <= free->files)) return absl::OkStatus();
  const std::string missing =
      needed > free->bytes
          ? absl::StrCat(needed, " bytes and ", free->bytes, " are free. Free some space")
          : absl::StrCat(kSmallFiles, " new files, and the file system has room for ", free->files,
                         ". Remove some files");
  return make_error(Errc::kNoSpace, absl::StrCat(what, directory,
                                                 " cannot be written: No space left on the disk; a "
                                                 "start needs ",
                                                 missing));
}

class Starter {
 public:
  explicit Starter(const PublisherSetUp& options)
      : options_(options), places_(options), description_(options.schema) {}

  absl::StatusOr<StartedSession> run();

 private:
  absl::Status prepare();
  absl::Status make_directory(const std::string& directory, DirectoryUse use) const;
  absl::Status take_locks();
  absl::Status settle_past();
  void note_past();
  absl::Status read_expected();
  absl::Status resume_source();
  absl::StatusOr<std::vector<std::byte>> read_record(const SourceProgress& source);
  absl::Status check_continuation();
  absl::Status continue_description(std::uint64_t hash);
  absl::Status make_ring();
  absl::Status remove_useless_rings() const;
  absl::Status begin_session();
  absl::Status open_journal();
  absl::Status open_journal_here();
  absl::Status open_queue();
  absl::Status check_room() const;
  absl::Status start_archiver();
  absl::Status describe();
  absl::Status announce();
  absl::Status remove_old_rings();
  void abandon();
  bool session_is_open() const;
  void remove_unused_journal() const;

  std::string journal_directory() const {
    return absl::StrCat(places_.journal_root(), "/", journal_id_.hex());
  }

  SchemaLabel label() const {
    return {options_.schema_name, description_ ? description_->hash() : 0};
  }
  void step(const char* name) const {
    if (options_.on_step) options_.on_step(name);
  }
  void log(const LogEntry& entry) const {
    if (options_.log) options_.log(entry);
  }

  const PublisherSetUp& options_;
  const BusPlaces places_;
  std::optional<Schema> description_;
  StartedSession session_;
  Id128 boot_id_;
  Id128 session_id_;
  Id128 journal_id_;
  JournalGeometry geometry_;
  bool is_described_ = false;  // bus.json is this session's
};

absl::StatusOr<StartedSession> Starter::run() {
  struct NamedStep {
    const char* name;
    absl::Status (Starter::*run)();
  };
  static constexpr NamedStep kSteps[] = {
      {"prepare-directory", &Starter::prepare},
      {"take-lock", &Starter::take_locks},
      {"settle", &Starter::settle_past},
      {"make-ring", &Starter::make_ring},
      {"open-journal", &Starter::open_journal},
      {"announce", &Starter::announce},
      {"remove-old-rings", &Starter::remove_old_rings},
  };
  for (const NamedStep& next : kSteps) {
    step(next.name);
    if (absl::Status done = (this->*next.run)(); !done.ok()) {
      abandon();
      return done;
    }
  }
  return std::move(session_);
}

// Removes what a failed start has made. If its session has begun, it ends without records:
// `sessions` keeps room for an end, even on a full disk. If the end cannot be written nevertheless,
// the ring stays, and the next start uses it to settle that session, and then removes it.
void Starter::abandon() {
  if (session_.archiver) {
    session_.archiver->close(session_.first() - 1, wall_ns()).IgnoreError();
  } else if (session_is_open()) {
    session_.sessions->append_end(SessionEnd::kClosed, session_.first() - 1).IgnoreError();
  }
  remove_unused_journal();
  if (!session_.ring || session_is_open()) return;
  if (is_described_) {
    session_.description.closed = true;
    write_bus_description(*session_.bus_disk, options_.directory, session_.description)
        .IgnoreError();
  }
  withdraw_from_machine(session_.announcement).IgnoreError();
  remove_ring(*session_.ring).IgnoreError();
}

// The directory of a new journal whose first session did not begin.
void Starter::remove_unused_journal() const {
  if (!session_.sessions || session_.settled.geometry || journal_id_.is_zero()) return;
  if (session_.sessions->find(session_id_) != nullptr) return;
  std::error_code stays;  // it was not made, or is not empty
  std::filesystem::remove(journal_directory(), stays);
}

// It began and `sessions` does not say how it ended: its ring is what the next start goes by.
bool Starter::session_is_open() const {
  if (!session_.sessions) return false;
  const SessionRecord* const session = session_.sessions->find(session_id_);
  return session != nullptr && !session->end;
}

absl::Status Starter::prepare() {
  geometry_.slot_bytes = slot_bytes_for(options_.record_bytes);
  geometry_.record_bytes = options_.record_bytes;
  geometry_.segment_slots = options_.segment_bytes / geometry_.slot_bytes;
  session_.disk =
      options_.make_disk ? options_.make_disk() : std::make_unique<PosixDisk>(options_.group);
  if (absl::Status ready = register_membarrier_private(); !ready.ok()) return ready;
  if (absl::Status fits = check_length("the journal's directory", places_.journal_root(),
                                       sizeof WelcomeFrame::journal_path - 1);
      !fits.ok()) {
    return fits;
  }
  for (const auto& [directory, use] : places_.directories()) {
    if (absl::Status made = make_directory(directory, use); !made.ok()) return made;
  }
  session_.bus_disk = std::make_unique<PosixDisk>(options_.group);
  session_.bus_disk->anchor(options_.directory);
  if (options_.journal) session_.disk->anchor(places_.journal_root());
  return absl::OkStatus();
}

// Its name is synced, too: what is durable in a directory that a power cut takes away is lost.
absl::Status Starter::make_directory(const std::string& directory, DirectoryUse use) const {
  absl::Status status = prepare_directory(directory, use, options_.group);
  if (!status.ok() || !options_.journal) return status;
  std::error_code error;
  const auto parent = std::filesystem::canonical(directory, error).parent_path();
  if (error) return make_system_error(error.value(), absl::StrCat("resolving ", directory));
  status = session_.disk->sync_directory(parent.string());
  // A parent that we may not read, or whose file system has nothing to sync (a mount point's, say).
  const bool cannot = errc_of(status) == Errc::kNotPermitted || errno_of(status) == EINVAL;
  return cannot ? absl::OkStatus() : status;
}

absl::Status Starter::take_locks() {
  for (const auto& [directory, use] : places_.directories()) {
    absl::StatusOr<ExclusiveLock> lock =
        ExclusiveLock::take(absl::StrCat(directory, "/", kLockFileName), options_.take_over_ns);
    if (!lock.ok()) return lock.status();
    session_.locks.push_back(*std::move(lock));
  }
  // A publisher that was just killed may still be closing its descriptors, one after the other.
  absl::Status free;
  retry_lock(options_.take_over_ns, [&] {
    free = places_.check_nobody_publishes();
    return errc_of(free) == Errc::kInUse ? EWOULDBLOCK : 0;
  });
  return free;
}

absl::Status Starter::settle_past() {
  absl::StatusOr<Id128> boot = boot_id();
  if (!boot.ok()) return boot.status();
  absl::StatusOr<Id128> id = random_id();
  if (!id.ok()) return id.status();
  absl::StatusOr<Id128> fresh_journal = random_id();
  if (!fresh_journal.ok()) return fresh_journal.status();
  boot_id_ = *boot;
  session_id_ = *id;
  journal_id_ = *fresh_journal;
  session_.source_offset = options_.source_offset;
  note_past();
  if (absl::Status read = read_expected(); !read.ok()) return read;
  if (!options_.journal) return absl::OkStatus();

  absl::StatusOr<SessionLog> sessions = SessionLog::open(*session_.disk, places_.journal_root(),
                                                         kSessionsFileName, options_.take_over_ns);
  if (!sessions.ok()) return sessions.status();
  session_.sessions = std::make_unique<SessionLog>(*std::move(sessions));

  absl::StatusOr<LeftRings> rings = places_.left_rings();
  if (!rings.ok()) return rings.status();
  absl::StatusOr<Settled> settled =
      settle(*session_.disk, places_.journal_root(), *session_.sessions, boot_id_, rings->opener());
  if (!settled.ok()) return settled.status();
  for (const LogEntry& entry : settled->log) log(entry);
  session_.settled = *std::move(settled);
  if (const SessionRecord* const last = session_.sessions->last(); last != nullptr && last->end) {
    if (session_.past.end != SessionEnd::kClosed) session_.past.end = last->end->how;
    session_.past.last = last->end->last;
  }
  if (session_.settled.next > kSequenceMax) {
    return make_error(Errc::kLimit,
                      absl::StrCat("the journal ", places_.journal_root(),
                                   " has come to the last sequence that there is, ", kSequenceMax,
                                   ": use another bus directory, or move the journal away"));
  }
  const absl::Status forgot =
      forget_empty_sessions(*session_.disk, places_.journal_root(), *session_.sessions);
  if (!forgot.ok()) return forgot;
  const absl::Status fits = check_continuation();
  return fits.ok() && options_.resume ? resume_source() : fits;
}

// Before anything is settled: the ring of a killed publisher is removed by that.
void Starter::note_past() {
  const absl::StatusOr<BusDescription> bus = read_bus_description(options_.directory);
  if (!bus.ok()) return;
  session_.past.end = bus->closed ? SessionEnd::kClosed : SessionEnd::kNone;
  if (bus->closed || !is_ring_path(bus->ring_path, bus->session_id)) return;
  const absl::StatusOr<OpenRing> ring = OpenRing::open(bus->ring_path);
  const absl::StatusOr<DirectoryIdentity> owner = places_.ring_owner();
  if (ring.ok() && owner.ok() && ring->belongs_to(*owner)) {
    session_.past.publisher_pid = ring->header().publisher_pid;
  }
}

// Marks the list with this session before bus.json names it. So after a kill at any moment, the next
// start finds that the list belongs to the session in bus.json. A list that does not count is
// removed, so it is reported once.
absl::Status Starter::read_expected() {
  const absl::StatusOr<DirectoryIdentity> directory = directory_identity(options_.directory);
  if (!directory.ok()) return directory.status();
  session_.roster = {.sessions = {session_id_},
                     .directory_inode = directory->inode,
                     .boot_id = boot_id_,
                     .namespaces = own_namespaces(),
                     .subscribers = {}};
  absl::StatusOr<Roster> roster = read_roster(*session_.bus_disk, options_.directory);
  if (errc_of(roster.status()) == Errc::kNotFound) return absl::OkStatus();
  const std::string path = absl::StrCat(options_.directory, "/", kRosterFileName);
  const auto give_up = [&](const std::string& why) {
    log(log_entry(
        LogEvent::kJournalTrouble,
        absl::StrCat(path, why, ". Monitors will not list subscribers that do not return."),
        {{"path", path}}));
    return absl::OkStatus();
  };
  const auto drop = [&](const std::string& why) {
    remove_roster(*session_.bus_disk, options_.directory).IgnoreError();  // the message names it
    return give_up(why);
  };
  if (!roster.ok()) return drop(absl::StrCat(" cannot be read: ", roster.status().message()));
  const absl::StatusOr<BusDescription> bus = read_bus_description(options_.directory);
  if (!bus.ok() || !roster->is_of(bus->session_id, directory->inode)) {
    return drop(" is not of the last session of this bus");
  }
  session_.expected = expected_by(*roster, boot_id_, directory->owner);
  roster->sessions = {bus->session_id, session_id_};
  const absl::Status marked = write_roster(*session_.bus_disk, options_.directory, *roster);
  return marked.ok() ? marked : give_up(absl::StrCat(" cannot be written: ", marked.message()));
}

// Called before the session begins, so a source that is refused leaves nothing behind.
absl::Status Starter::resume_source() {
  ResumePoint point;
  point.has_records = std::ranges::any_of(
      session_.sessions->sessions(),
      [](const SessionRecord& session) { return session.end->last >= session.first(); });
  std::vector<std::byte> last_record;
  const auto found =
      find_source(*session_.sessions, options_.source_id, options_.source_fingerprint);
  if (found) {
    point.is_listed = true;
    point.by_content = found->by_content;
    point.offset = found->offset;
    point.records = found->records;
    point.last = found->last;
    if (point.last != kNoSequence) {
      absl::StatusOr<std::vector<std::byte>> record = read_record(*found);
      if (!record.ok()) return record.status();
      last_record = *std::move(record);
      point.last_record = last_record;
    }
  }
  session_.source_offset = point.offset + point.records;
  if (!options_.on_resume) return absl::OkStatus();
  const absl::StatusOr<std::uint64_t> offset = options_.on_resume(point);
  if (!offset.ok()) return offset.status();
  session_.source_offset = *offset;
  return absl::OkStatus();
}

// The newest record of a source; empty if retention removed it.
absl::StatusOr<std::vector<std::byte>> Starter::read_record(const SourceProgress& source) {
  const auto reader =
      JournalReader::open(*session_.disk, places_.journal_root(), source.journal_id);
  if (!reader.ok()) return reader.status();
  const auto bounds = (*reader)->settled_bounds();
  if (!bounds.ok()) return bounds.status();
  std::vector<std::byte> record((*reader)->geometry().record_bytes);
  const auto run = (*reader)->read(source.last, *bounds, record);
  if (!run.ok()) return run.status();
  if (run->count == 0) record.clear();
  return record;
}

// A journal that goes on keeps its records' schema and size, and its segments' size.
absl::Status Starter::check_continuation() {
  const SessionRecord* const last = session_.sessions->last();
  if (!session_.settled.geometry || last == nullptr) return absl::OkStatus();
  const std::string schema = get_text(last->begin.schema);
  if (session_.settled.geometry->record_bytes == options_.record_bytes &&
      schema == options_.schema_name) {
    const std::uint64_t described =
        newest_description(*session_.sessions, session_.settled.journal_id);
    // A shipped schema is what it is, whichever release has given names to more of its values.
    const bool is_shipped = known_schema(options_.schema_name).has_value();
    return described == 0 || is_shipped ? absl::OkStatus() : continue_description(described);
  }
  return make_error(Errc::kRecordSize,
                    absl::StrCat("the journal ", places_.journal_root(), " holds records of ",
                                 session_.settled.geometry->record_bytes, " bytes, schema ", schema,
                                 ", but the feed brings ", options_.record_bytes, " bytes, schema ",
                                 options_.schema_name,
                                 ": use another bus directory for this feed, or move the old "
                                 "journal away"));
}

// By the rules of docs/records.md: readers of what is there have to be right about what comes.
absl::Status Starter::continue_description(std::uint64_t hash) {
  if (description_ && description_->hash() == hash) return absl::OkStatus();
  absl::StatusOr<Schema> kept = read_kept_schema(*session_.disk, places_.journal_root(), hash);
  if (errc_of(kept.status()) == Errc::kUnsupported) return kept.status();
  if (!kept.ok()) {
    return make_error(
        Errc::kDamaged,
        absl::StrCat("the journal ", places_.journal_root(),
                     " does not say any more what its records are: ", kept.status().message(),
                     "; restore that file, or move the journal away"));
  }
  if (!description_) {
    description_ = *std::move(kept);
    return absl::OkStatus();
  }
  const std::string why = mismatch(*kept, *description_);
  if (why.empty()) return absl::OkStatus();
  return make_error(
      Errc::kRecordSize,
      absl::StrCat("the journal ", places_.journal_root(), " holds ", kept->name, " version ",
                   kept->version, ", and the new description does not go on with it: ", why,
                   "; use another bus directory, or move the old journal away"));
}

absl::Status Starter::make_ring() {
  if (session_.settled.geometry) {
    journal_id_ = session_.settled.journal_id;
    geometry_ = *session_.settled.geometry;
  }
  if (absl::Status removed = remove_useless_rings(); !removed.ok()) return removed;
  absl::StatusOr<std::string> home = places_.make_ring_home();
  if (!home.ok()) return home.status();
  const absl::StatusOr<DirectoryIdentity> owner = places_.ring_owner();
  if (!owner.ok()) return owner.status();
  RingSpec spec;
  spec.owner = *owner;
  spec.directory = *std::move(home);
  spec.record_bytes = options_.record_bytes;
  spec.capacity = options_.capacity;
  spec.schema = label();
  spec.bus_name = clip(options_.name.empty() ? last_component(options_.directory) : options_.name,
                       sizeof RingHeader::bus_name - 1);
  spec.journal_id = journal_id_;
  spec.session_id = session_id_;
  spec.boot_id = boot_id_;
  spec.has_journal = options_.journal;
  spec.session_first = session_.settled.next;
  spec.ring_first = session_.settled.next;
  spec.huge_pages = options_.huge_pages;
  spec.group = options_.group;
  absl::StatusOr<RingFile> ring = RingFile::create(spec);
  if (!ring.ok()) return ring.status();
  session_.ring = std::make_unique<RingFile>(*std::move(ring));
  session_.fill.emplace(*session_.ring);
  const std::uint64_t at_once = options_.journal ? kFilledAtStartBytes : session_.fill->left();
  if (absl::Status filled = session_.fill->step(at_once); !filled.ok()) return filled;
  return check_length(
      "the ring file's path", session_.ring->path(),
      (options_.journal ? sizeof SessionEntry::ring_path : sizeof WelcomeFrame::ring_path) - 1);
}

// Makes room for the new ring. With a journal the last session is settled by now: it has an end, so
// no start needs a ring of this directory any more. Subscribers may still read the ring that
// bus.json names. If it can hold records that are in no journal, it stays until the new ring is
// announced.
absl::Status Starter::remove_useless_rings() const {
  const absl::StatusOr<LeftRings> rings = places_.left_rings();
  if (!rings.ok()) return rings.status();
  const absl::StatusOr<BusDescription> bus = read_bus_description(options_.directory);
  const SessionRecord* const described =
      bus.ok() && session_.sessions ? session_.sessions->find(bus->session_id) : nullptr;
  const bool is_in_journal =
      described != nullptr && described->end && described->end->how != SessionEnd::kFailed;
  const std::string kept = bus.ok() && !is_in_journal ? bus->ring_path : "";
  const std::string& settled = session_.settled.ring_path;
  return rings->remove_all_but(kept, settled == kept ? "" : settled, LeftRings::Foreign::kIgnore);
}

// io_uring gives each submitting thread its own workers, which outlive the request. The workers of
// a library thread end with it. So the caller's thread, which may be pinned, never gets any.
absl::Status Starter::open_journal() {
  if (!options_.journal) return describe();
  std::thread thread;
  absl::Status status;
  const absl::Status started =
      start_thread(thread, "lapwing-opening", [&] { status = open_journal_here(); },
                   {.placement = options_.threads});
  if (!started.ok()) return started;
  thread.join();
  return status;
}

// Everything that can be checked in advance is checked before the session begins, because each
// failed start after that takes two entries of `sessions`.
absl::Status Starter::open_journal_here() {
  absl::Status status = open_queue();
  if (status.ok()) status = describe();
  if (status.ok()) status = check_room();
  if (!status.ok()) return status;
  step("begin-session");
  if (status = begin_session(); !status.ok()) return status;
  step("start-archiver");
  return start_archiver();
}

absl::Status Starter::open_queue() {
  // The locks of `sessions` cannot be removed unnoticed.
  std::vector<int> held = session_.sessions->held_files();
  held.push_back(session_.locks.back().fd());
  session_.queue = options_.make_queue ? options_.make_queue() : make_write_queue(held);
  if (absl::Status placed = session_.queue->place_workers(options_.threads.cpus); !placed.ok()) {
    return placed;
  }
  log(log_entry(LogEvent::kJournalWriter,
                absl::StrCat("journal ", places_.journal_root(), " is written by ",
                             session_.queue->description()),
                {{"path", places_.journal_root()}, {"writer", session_.queue->description()}}));
  return absl::OkStatus();
}

// Checks the space for what a start writes after the session has begun: the first segment and small
// files. A quota may still prevent that.
absl::Status Starter::check_room() const {
  const JournalFiles files{session_.disk.get(), journal_directory(), journal_id_, geometry_};
  const std::string path = files.path(geometry_.segment_of(session_.settled.next), "jnl");
  std::uint64_t segment = segment_file_bytes(geometry_);
  if (const auto there = open_file(*session_.disk, path, {}); there.ok()) {
    const auto taken = session_.disk->allocated_bytes(there->get());
    segment -= std::min(segment, taken.value_or(segment));
  }
  const std::uint64_t announced =
      kSmallFilesBytes + 2 * options_.metadata.size() + session_.description.description.size();
  const absl::Status in_journal =
      check_space("the journal ", places_.journal_root(), segment + announced);
  return in_journal.ok() ? check_space("the bus ", options_.directory, announced) : in_journal;
}

absl::Status Starter::begin_session() {
  if (absl::Status made = session_.disk->make_directory(journal_directory(), kDirectoryPermissions);
      !made.ok()) {
    return made;
  }
  if (absl::Status synced = session_.disk->sync_directory(places_.journal_root()); !synced.ok())
    return synced;
  if (description_) {
    absl::Status kept = keep_schema(*session_.disk, places_.journal_root(), *description_);
    if (!kept.ok()) return kept;
  }
  if (!options_.metadata.empty()) {
    absl::Status kept = keep_metadata(*session_.disk, places_.journal_root(), options_.metadata);
    if (!kept.ok()) return kept;
  }
  SessionEntry begin{};
  begin.kind = SessionEntryKind::kBegin;
  begin.journal_id = journal_id_;
  begin.session_id = session_id_;
  begin.boot_id = boot_id_;
  begin.first = session_.settled.next;
  begin.slot_bytes = geometry_.slot_bytes;
  begin.record_bytes = geometry_.record_bytes;
  begin.segment_slots = geometry_.segment_slots;
  begin.source_id = options_.source_id;
  begin.source_fingerprint = options_.source_fingerprint;
  begin.source_offset = session_.source_offset;
  begin.metadata_hash = metadata_hash_of(options_.metadata);
  set_schema(begin, label());
  set_text(begin.ring_path, session_.ring->path());
  return session_.sessions->append(begin);
}

absl::Status Starter::start_archiver() {
  const RingHeader& ring = session_.ring->header();
  ArchiverOptions archive;
  archive.journal =
      journal_files_of(*session_.disk, places_.journal_root(), session_.sessions->last()->begin);
  archive.schema = label();
  archive.first = ring.session_first_sequence;
  archive.oldest = session_.settled.oldest;
  archive.capacity = ring.capacity;
  archive.ring_slots = session_.ring->slots();
  archive.sync_interval_ns = ns_or_zero(options_.sync_interval);
  archive.retention = {options_.retain_bytes, ns_or_zero(options_.retain_age)};
  archive.log = options_.log;
  absl::StatusOr<std::unique_ptr<Archiver>> archiver =
      Archiver::start(*session_.queue, *session_.sessions, archive);
  if (!archiver.ok()) return archiver.status();
  session_.archiver = *std::move(archiver);
  store_oldest(session_.ring->words(), session_.archiver->oldest());
  return absl::OkStatus();
}

// Makes the content of bus.json, and checks that it can be written.
absl::Status Starter::describe() {
  const RingHeader& ring = session_.ring->header();
  BusDescription& bus = session_.description;
  bus.name = get_text(ring.bus_name);
  bus.schema = options_.schema_name;
  bus.restamped = options_.restamped;
  bus.description = description_ ? description_->text() : "";
  bus.ring_path = session_.ring->path();
  bus.journal_root = options_.journal ? places_.journal_root() : "";
  bus.journal_writer = options_.journal ? session_.queue->description() : "";
  bus.journal_id = journal_id_;
  bus.session_id = session_id_;
  bus.record_bytes = ring.record_bytes;
  bus.slot_bytes = ring.slot_bytes;
  bus.capacity = ring.capacity;
  return check_bus_description(options_.directory, bus);
}

absl::Status Starter::announce() {
  const BusDescription& bus = session_.description;
  if (absl::Status kept =
          write_feed_metadata(options_.directory, options_.metadata, options_.group);
      !kept.ok()) {
    return kept;
  }
  if (absl::Status kept = write_bus_description(*session_.bus_disk, options_.directory, bus);
      !kept.ok()) {
    return kept;
  }
  is_described_ = true;
  const absl::StatusOr<std::string> folder = places_.make_private_directory();
  const absl::StatusOr<std::string> announced =
      folder.ok() ? announce_on_machine(options_, bus, *folder) : folder;
  if (announced.ok()) {
    session_.announcement = *announced;
  } else {
    log(log_entry(LogEvent::kNotAnnounced,
                  absl::StrCat("monitors will not find this bus: ", announced.status().message())));
  }
  return absl::OkStatus();
}

// Every other ring file of this bus: of the settled session, wherever an earlier start placed it
// (another --ring-dir), and of starts that were killed before they announced theirs.
absl::Status Starter::remove_old_rings() {
  const absl::StatusOr<LeftRings> rings = places_.left_rings();
  if (!rings.ok()) return rings.status();
  return rings->remove_all_but(session_.ring->path(), session_.settled.ring_path);
}

}  // namespace

absl::Status remove_ring(RingFile& ring) {
  absl::Status removed = ring.unlink();
  std::error_code stays;  // it is the bus's own directory, or another ring is in it
  std::filesystem::remove(std::filesystem::path(ring.path()).parent_path(), stays);
  return removed;
}

absl::StatusOr<StartedSession> start_session(const PublisherSetUp& options) {
  return Starter(options).run();
}

}  // namespace lapwing
