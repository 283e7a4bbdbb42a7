#include "publisher/session_start.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <thread>

#include "absl/strings/str_cat.h"
#include "bus/control/socket.h"
#include "lapwing/error.h"
#include "os/deadline.h"
#include "os/file_lock.h"
#include "os/file_space.h"
#include "os/kernel.h"
#include "os/path.h"
#include "os/posix_io.h"
#include "os/start_thread.h"
#include "os/system_error.h"
#include "os/uring_write_queue.h"
#include "proto/ring_words.h"
#include "proto/schema_label.h"
#include "proto/text_field.h"
#include "publisher/announcement.h"
#include "snapshot/dbn/kept_metadata.h"
#include "snapshot/journal/journal_files.h"
#include "snapshot/journal/segment_file.h"
#include "snapshot/schema/kept_schemas.h"

namespace lapwing {
namespace {

// The part of a ring that is faulted in before the first record. The file thread faults in the
// rest, and stays ahead of the publisher.
constexpr std::uint64_t kFilledAtStartBytes = 4 * 1024 * 1024;
constexpr unsigned kDirectoryPermissions = 0700;  // the disk adds group permissions

// A start creates these files in addition to the first segment: its sums and index, `retention`,
// bus.json and metadata.dbn with their temporary names, and the control socket.
constexpr std::uint64_t kSmallFilesBytes = 128 * 1024;
constexpr std::uint64_t kSmallFiles = 10;

// Truncates `text` to at most `bytes_max` bytes, without splitting a UTF-8 character.
std::string clip(const std::string& text, std::size_t bytes_max) {
  std::size_t end = std::min(text.size(), bytes_max);
  while (end > 0 && end < text.size() && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) {
    --end;
  }
  return text.substr(0, end);
}

JournalFiles files_of(const SettledBus& bus) {
  return journal_files_of(*bus.disk, bus.places.journal_root(), bus.begin);
}

absl::Status check_length(const std::string& what, const std::string& path, std::size_t bytes_max) {
  if (path.size() <= bytes_max) return absl::OkStatus();
  return make_error(
      Errc::kPathTooLong,
      absl::StrCat(what, " ", path, " has ", path.size(), " bytes, more than the ", bytes_max,
                   " that messages to other processes can hold. Choose a shorter one"));
}

// Creates a directory and syncs its name. Otherwise a power cut could remove the name, and with it
// the durable files in the directory.
absl::Status make_directory(const Prepared& bus, const std::string& directory, DirectoryUse use) {
  absl::Status status = prepare_directory(directory, use, bus.options->group);
  if (!status.ok() || !bus.options->journal) return status;
  std::error_code error;
  const auto parent = std::filesystem::canonical(directory, error).parent_path();
  if (error) return make_system_error(error.value(), absl::StrCat("resolving ", directory));
  status = bus.disk->sync_directory(parent.string());
  // The parent may be unreadable, or on a file system without sync (as for some mount points).
  const bool cannot = errc_of(status) == Errc::kNotPermitted || errno_of(status) == EINVAL;
  return cannot ? absl::OkStatus() : status;
}

absl::StatusOr<Prepared> prepare_bus(PublisherSetUp given) {
  Prepared bus(std::move(given));
  const PublisherSetUp& options = *bus.options;
  options.on_step("prepare-directory");
  const std::string journal_root = bus.places.journal_root();
  bus.bus_disk = std::make_unique<PosixDisk>(options.group);
  bus.disk = options.make_disk ? options.make_disk() : std::make_unique<PosixDisk>(options.group);
  absl::Status status = register_membarrier_private();
  if (status.ok()) {
    status = check_length("the journal's directory", journal_root,
                          sizeof WelcomeFrame::journal_path - 1);
  }
  for (const auto& [directory, use] : bus.places.directories()) {
    if (status.ok()) status = make_directory(bus, directory, use);
  }
  if (!status.ok()) return status;
  bus.bus_disk->anchor(options.directory);
  if (options.journal) bus.disk->anchor(journal_root);
  return bus;
}

// A lock file can be removed while its holder runs. So before anything is written, the socket and
// the rings are also checked, and then `sessions`, which its writer locks.
absl::Status check_nobody_publishes(Locked& bus) {
  const std::string& directory = bus.options->directory;
  absl::Status free = check_no_control(absl::StrCat(directory, "/", kControlSocketName));
  if (!free.ok()) return free;
  bus.last_described = read_bus_description(directory);
  return bus.left_rings.check_none_held(bus.last_described.ok() ? bus.last_described->ring_path
                                                                : "");
}

absl::StatusOr<Locked> lock_bus(Prepared prepared) {
  prepared.options->on_step("take-lock");
  const std::uint64_t retry_ns = prepared.options->take_over_ns;
  auto locks = std::make_shared<Locked::Locks>();
  for (const auto& [directory, use] : prepared.places.directories()) {
    absl::StatusOr<ExclusiveLock> lock =
        ExclusiveLock::take(absl::StrCat(directory, "/", kLockFileName), retry_ns);
    if (!lock.ok()) return lock.status();
    locks->push_back(*std::move(lock));
  }
  absl::StatusOr<LeftRings> rings = prepared.places.left_rings();
  if (!rings.ok()) return rings.status();
  Locked bus(std::move(prepared), std::move(locks), *std::move(rings));
  // A publisher that was just killed may still be closing its descriptors one by one.
  absl::Status free;
  retry_lock(retry_ns, [&] {
    free = check_nobody_publishes(bus);
    return errc_of(free) == Errc::kInUse ? EWOULDBLOCK : 0;
  });
  if (!free.ok()) return free;
  return bus;
}

// Makes room for the new ring. With a journal, the last session is settled by now and has an end,
// so starts no longer need any of this directory's old rings. Subscribers may still read the ring
// that bus.json names. If it can hold records that are not in a journal, it is kept until the new
// ring is announced.
absl::Status remove_useless_rings(const SettledBus& settled) {
  const absl::StatusOr<BusDescription>& bus = settled.last_described;
  const SessionRecord* const described =
      bus.ok() && settled.sessions ? settled.sessions->find(bus->session_id) : nullptr;
  const bool is_in_journal =
      described != nullptr && described->end && described->end->how != SessionEnd::kFailed;
  const std::string kept = bus.ok() && !is_in_journal ? bus->ring_path : "";
  const std::string& last = settled.settled.ring_path;
  return settled.left_rings.remove_all_but(kept, last == kept ? "" : last,
                                           LeftRings::Foreign::kIgnore);
}

absl::StatusOr<RingFile> create_ring(const SettledBus& settled) {
  const PublisherSetUp& options = *settled.options;
  absl::StatusOr<std::string> home = settled.places.make_ring_home();
  if (!home.ok()) return home.status();
  RingSpec spec;
  spec.owner = settled.left_rings.owner();
  spec.directory = *std::move(home);
  spec.record_bytes = options.record_bytes;
  spec.capacity = options.capacity;
  spec.schema = {options.schema_name, settled.begin.schema_hash};
  spec.bus_name = clip(options.name.empty() ? name_in_directory(options.directory) : options.name,
                       sizeof RingHeader::bus_name - 1);
  spec.journal_id = settled.begin.journal_id;
  spec.session_id = settled.begin.session_id;
  spec.boot_id = settled.begin.boot_id;
  spec.has_journal = options.journal;
  spec.session_first = spec.ring_first = settled.begin.first;
  spec.huge_pages = options.huge_pages;
  spec.group = options.group;
  return RingFile::create(spec);
}

absl::StatusOr<WithRing> make_ring(SettledBus settled) {
  settled.options->on_step("make-ring");
  if (absl::Status removed = remove_useless_rings(settled); !removed.ok()) return removed;
  absl::StatusOr<RingFile> ring = create_ring(settled);
  if (!ring.ok()) return ring.status();
  WithRing made(std::move(settled), *std::move(ring));
  const bool journal = made.options->journal;
  absl::Status status = made.fill.step(journal ? kFilledAtStartBytes : made.fill.left());
  if (status.ok()) {
    status = check_length(
        "the ring file's path", made.ring->path(),
        (journal ? sizeof SessionEntry::ring_path : sizeof WelcomeFrame::ring_path) - 1);
  }
  if (status.ok()) return made;
  remove_ring(*made.ring).IgnoreError();
  return status;
}

// Removes everything that a failed start has created. If the session has begun, it is ended
// without records. `sessions` reserves space for the end, even on a full disk. If the end still
// cannot be written, the ring is kept. The next start uses it to settle that session, and then
// removes it.
void abandon(StartedSession failed, bool is_described) {
  const auto session = [&] {
    return failed.sessions ? failed.sessions->find(failed.begin.session_id) : nullptr;
  };
  const auto is_open = [&] { return session() != nullptr && !session()->end; };
  if (failed.archiver) {
    failed.archiver->close(failed.begin.first - 1, wall_ns()).IgnoreError();
  } else if (is_open() && failed.origin == nullptr) {
    failed.sessions->append_end(SessionEnd::kClosed, failed.begin.first - 1).IgnoreError();
  }
  if (is_open() && failed.origin == nullptr) return;
  if (failed.sessions && !failed.settled.geometry && session() == nullptr) {
    std::error_code stays;  // the new journal's directory is missing or not empty
    std::filesystem::remove(files_of(failed).directory, stays);
  }
  if (is_described && failed.origin == nullptr) {
    failed.description.closed = true;
    write_bus_description(*failed.bus_disk, failed.options->directory, failed.description)
        .IgnoreError();
  }
  withdraw_from_machine(failed.announcement).IgnoreError();
  remove_ring(*failed.ring).IgnoreError();
}

absl::StatusOr<std::unique_ptr<WriteQueue>> open_queue(const WithRing& made) {
  const PublisherSetUp& options = *made.options;
  // Unlike lock files, the locks on `sessions` cannot be removed unnoticed.
  std::vector<int> held = made.sessions->held_files();
  held.push_back(made.locks->back().fd());
  auto queue = options.make_queue ? options.make_queue() : make_write_queue(held);
  const absl::Status placed = queue->place_workers(options.threads.cpus);
  if (!placed.ok()) return placed;
  const std::string root = made.places.journal_root();
  options.log(log_entry(LogEvent::kJournalWriter,
                        absl::StrCat("journal ", root, " is written by ", queue->description()),
                        {{"path", root}, {"writer", queue->description()}}));
  return queue;
}

// Returns the contents of bus.json. The queue is null without a journal.
BusDescription description_of(const WithRing& made, const WriteQueue* queue) {
  const RingHeader& ring = made.ring->header();
  BusDescription bus;
  bus.name = get_text(ring.bus_name);
  bus.schema = made.options->schema_name;
  bus.restamped = made.options->restamped;
  bus.description = made.schema ? made.schema->text() : "";
  bus.ring_path = made.ring->path();
  bus.journal_root = queue != nullptr ? made.places.journal_root() : "";
  bus.journal_writer = queue != nullptr ? queue->description() : "";
  bus.journal_id = ring.journal_id;
  bus.session_id = ring.session_id;
  bus.record_bytes = ring.record_bytes;
  bus.slot_bytes = ring.slot_bytes;
  bus.capacity = ring.capacity;
  return bus;
}

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

// Checks that there is space for the files that a start writes after the session has begun: the
// first segment and small files. A quota may still prevent the writes.
absl::Status check_room(const Begun& begun) {
  const JournalFiles files = files_of(begun);
  const std::string path = files.path(files.geometry.segment_of(begun.begin.first), "jnl");
  std::uint64_t segment = segment_file_bytes(files.geometry);
  if (const auto there = open_file(*begun.disk, path, {}); there.ok()) {
    const auto taken = begun.disk->allocated_bytes(there->get());
    segment -= std::min(segment, taken.value_or(segment));
  }
  const std::uint64_t announced =
      kSmallFilesBytes + 2 * begun.options->metadata.size() + begun.description.description.size();
  const absl::Status in_journal =
      check_space("the journal ", begun.places.journal_root(), segment + announced);
  if (!in_journal.ok()) return in_journal;
  return check_space("the bus ", begun.options->directory, announced);
}

absl::Status list_session(WithRing& made) {
  if (made.origin != nullptr) return absl::OkStatus();
  const std::string root = made.places.journal_root();
  const std::string& metadata = made.options->metadata;
  absl::Status status = made.disk->make_directory(files_of(made).directory, kDirectoryPermissions);
  if (status.ok()) status = made.disk->sync_directory(root);
  if (status.ok() && made.schema) status = keep_schema(*made.disk, root, *made.schema);
  if (status.ok() && !metadata.empty()) status = keep_metadata(*made.disk, root, metadata);
  if (!status.ok()) return status;
  set_text(made.begin.ring_path, made.ring->path());
  return made.sessions->append(made.begin);
}

absl::StatusOr<std::unique_ptr<Archiver>> start_archiver(const Begun& begun) {
  const PublisherSetUp& options = *begun.options;
  ArchiverOptions archive;
  archive.journal = files_of(begun);
  archive.schema = get_schema(begun.begin);
  archive.first = begun.begin.first;
  archive.oldest = begun.settled.oldest;
  archive.capacity = begun.ring->header().capacity;
  archive.ring_slots = begun.ring->slots();
  archive.sync_interval_ns = ns_or_zero(options.sync_interval);
  archive.retention = {options.retain_bytes, ns_or_zero(options.retain_age)};
  archive.origin = begun.origin;
  archive.log = options.log;
  return Archiver::start(*begun.queue, *begun.sessions, archive);
}

// Check as much as possible before the session begins, because each later failure uses up two
// entries in `sessions`.
absl::Status open_journal(Begun& begun) {
  absl::StatusOr<std::unique_ptr<WriteQueue>> queue = open_queue(begun);
  if (!queue.ok()) return queue.status();
  begun.queue = *std::move(queue);
  begun.description = description_of(begun, begun.queue.get());
  absl::Status status = check_bus_description(begun.options->directory, begun.description);
  if (status.ok()) status = check_room(begun);
  if (!status.ok()) return status;
  begun.options->on_step("begin-session");
  if (status = list_session(begun); !status.ok()) return status;
  begun.options->on_step("start-archiver");
  absl::StatusOr<std::unique_ptr<Archiver>> archiver = start_archiver(begun);
  if (!archiver.ok()) return archiver.status();
  begun.archiver = *std::move(archiver);
  store_oldest(begun.ring->words(), begun.archiver->oldest());
  return absl::OkStatus();
}

// Opens the journal on a library thread. io_uring gives each submitting thread its own workers,
// which outlive the request and end with the thread. So the caller's thread, which may be pinned,
// never gets any.
absl::StatusOr<Begun> begin_session(WithRing made) {
  Begun begun(std::move(made));
  begun.options->on_step("open-journal");
  absl::Status status;
  if (begun.options->journal) {
    std::thread thread;
    absl::Status opened;
    status = start_thread(thread, "lapwing-opening", [&] { opened = open_journal(begun); },
                          {.placement = begun.options->threads});
    if (status.ok()) thread.join();
    status.Update(opened);
  } else {
    begun.description = description_of(begun, nullptr);
    status = check_bus_description(begun.options->directory, begun.description);
  }
  if (status.ok()) return begun;
  abandon(StartedSession(std::move(begun)), false);
  return status;
}

void tell_monitors(StartedSession& session) {
  const absl::StatusOr<std::string> folder = session.places.make_private_directory();
  const absl::StatusOr<std::string> announced =
      folder.ok() ? announce_on_machine(*session.options, session.description, *folder) : folder;
  if (announced.ok()) {
    session.announcement = *announced;
    return;
  }
  session.options->log(
      log_entry(LogEvent::kNotAnnounced,
                absl::StrCat("monitors will not find this bus: ", announced.status().message())));
}

absl::StatusOr<StartedSession> announce_bus(Begun begun) {
  StartedSession session(std::move(begun));
  const PublisherSetUp& options = *session.options;
  options.on_step("announce");
  absl::Status status = write_feed_metadata(options.directory, options.metadata, options.group);
  if (status.ok()) {
    status = write_bus_description(*session.bus_disk, options.directory, session.description);
  }
  const bool is_described = status.ok();
  if (is_described) {
    tell_monitors(session);
    options.on_step("remove-old-rings");
    // Remove all other ring files of this bus. The settled session may have used another
    // --ring-dir. Starts that were killed before they announced their ring may have left it behind.
    status = session.left_rings.remove_all_but(session.ring->path(), session.settled.ring_path);
  }
  if (status.ok()) return session;
  abandon(std::move(session), is_described);
  return status;
}

// Takes the next step unless the previous one failed.
template <typename Made, typename Next>
absl::StatusOr<Next> operator|(absl::StatusOr<Made> made, absl::StatusOr<Next> (*step)(Made)) {
  if (!made.ok()) return made.status();
  return step(*std::move(made));
}

}  // namespace

Locked::Locked(const Locked& bus, PublisherSetUp given)
    : Prepared(std::move(given)),
      locks(bus.locks),
      left_rings(bus.left_rings),
      last_described(read_bus_description(options->directory)) {
  bus_disk = bus.bus_disk;
  disk = bus.disk;
}

absl::StatusOr<Locked> lock_directories(PublisherSetUp options) {
  return prepare_bus(std::move(options)) | lock_bus;
}

absl::StatusOr<StartedSession> start_settled(SettledBus bus) {
  return make_ring(std::move(bus)) | begin_session | announce_bus;
}

absl::StatusOr<StartedSession> start_session(PublisherSetUp options) {
  return lock_directories(std::move(options)) | settle_bus | start_settled;
}

absl::Status remove_ring(RingFile& ring) {
  absl::Status removed = ring.unlink();
  std::error_code stays;  // it is the bus directory, or contains another ring
  std::filesystem::remove(std::filesystem::path(ring.path()).parent_path(), stays);
  return removed;
}

}  // namespace lapwing
