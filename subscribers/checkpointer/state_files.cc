#include "subscribers/checkpointer/state_files.h"

#include <fcntl.h>
#include <rocksdb/cache.h>
#include <rocksdb/env.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/options.h>
#include <rocksdb/table.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lapwing/error.h"
#include "os/system_error.h"
#include "proto/text_field.h"
#include "subscribers/checkpointer/store_needs.h"

namespace lapwing {
namespace {

using Bytes = std::span<const std::byte>;

constexpr std::uint32_t kStoreVersion = 1;
constexpr int kBloomBitsPerKey = 10;
constexpr std::size_t kBlockBytes = 16 << 10;
constexpr int kBlockCacheShardBits = 2;  // a block larger than a shard would never be cached
constexpr char kRemedy[] =
    ". Remove that directory: the store is then rebuilt from the newest checkpoint and the journal";
constexpr int kBackgroundJobs = 2;
constexpr std::uint64_t kSyncedBytesAtOnce = 1 << 20;  // for files written in the background

// The value of kPositionKey. The format is private to this store; other versions are refused.
struct PositionValue {
  std::uint32_t version;
  std::uint32_t settled;  // 0 or 1
  Id128 journal_id;
  Id128 session_id;
  Sequence sequence;
  std::uint32_t fold_version;
  std::uint32_t record_bytes;
  std::uint32_t entry_bytes;
  std::uint32_t key_bytes;
  char fold[32];
  char schema[32];
};
static_assert(sizeof(PositionValue) == 128);

// Replaces the store's LOG file. On a full disk, RocksDB's own logger ends the process if the
// library was built with assertions, as Debian's is.
class NoLog final : public rocksdb::Logger {
 public:
  using rocksdb::Logger::Logv;
  void Logv(const char*, va_list) override {}
};

rocksdb::Options rocksdb_options() {
  rocksdb::BlockBasedTableOptions table;
  table.block_cache = rocksdb::NewLRUCache(kBlockCacheBytes, kBlockCacheShardBits);
  table.cache_index_and_filter_blocks = true;
  table.index_type = rocksdb::BlockBasedTableOptions::kTwoLevelIndexSearch;
  table.partition_filters = true;
  table.metadata_block_size = kBlockBytes;
  table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(kBloomBitsPerKey));
  table.format_version = 5;
  table.block_size = kBlockBytes;

  rocksdb::Options options;
  options.create_if_missing = true;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  options.write_buffer_size = kWriteBufferBytes;
  options.max_write_buffer_number = kWriteBuffersMax;
  options.compaction_style = rocksdb::kCompactionStyleUniversal;
  options.compression = rocksdb::kLZ4Compression;
  options.max_background_jobs = kBackgroundJobs;
  options.max_open_files = kOpenFilesMax;
  options.max_file_opening_threads = 1;  // kStoreThreads includes only one of these
  options.max_total_wal_size = kWalBytesMax;
  options.allow_fallocate = false;  // a nearly empty log would use the space for a flush
  options.bytes_per_sync = kSyncedBytesAtOnce;
  options.wal_bytes_per_sync = kSyncedBytesAtOnce;
  options.wal_recovery_mode = rocksdb::WALRecoveryMode::kPointInTimeRecovery;
  options.info_log = std::make_shared<NoLog>();
  options.stats_dump_period_sec = 0;
  return options;
}

// The process that holds RocksDB's lock; 0: none, or it cannot be determined.
pid_t holder_of(const std::string& lock_path) {
  const int fd = ::open(lock_path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return 0;
  struct flock lock{};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  const bool known = ::fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
  ::close(fd);
  return known ? lock.l_pid : 0;
}

// The error code and the remedy for a RocksDB error.
struct Failure {
  Errc code = Errc::kSystem;
  const char* remedy = "";
};

// RocksDB reports files that it could not open or read as damaged, and keeps only the text of the
// cause.
int sys_errno_in(const std::string& text) {
  for (const int sys_errno :
       {ENFILE, EMFILE, ENOMEM, ENOSPC, EDQUOT, EFBIG, EROFS, EACCES, EPERM, EIO}) {
    char words[128];
    if (text.find(strerror_r(sys_errno, words, sizeof words)) != std::string::npos) {
      return sys_errno;
    }
  }
  return 0;
}

Failure classify(const rocksdb::Status& status) {
  const int sys_errno = sys_errno_in(status.ToString());
  if (status.IsNoSpace()) return {Errc::kNoSpace, ""};
  if (sys_errno == EACCES) {
    return {Errc::kNotPermitted, "; run the checkpointer as the owner of the bus directory"};
  }
  if (sys_errno != 0) {
    return {errc_of(make_system_error(sys_errno, "")), limit_remedy(sys_errno)};
  }
  // RocksDB returns "invalid argument" for files that are inconsistent with each other.
  const bool is_damaged = status.IsCorruption() || status.IsInvalidArgument();
  return is_damaged ? Failure{Errc::kDamaged, kRemedy} : Failure{};
}

absl::Status cannot_open(const rocksdb::Status& status, const std::string& directory) {
  const std::string text = status.ToString();
  const bool held_here = text.find("lock hold by current process") != std::string::npos;
  // Closing the lock file would release the lock that this process holds.
  const pid_t holder = held_here ? ::getpid() : holder_of(directory + "/LOCK");
  if (holder != 0) {
    return make_error(
        Errc::kInUse,
        absl::StrCat("process ", holder, " is the checkpointer of ", directory,
                     ": a bus has one checkpointer for each fold. Stop that process first"));
  }
  const Failure failure = classify(status);
  return make_error(failure.code, absl::StrCat("cannot open the store in ", directory, ": ", text,
                                               failure.remedy));
}

}  // namespace

absl::StatusOr<std::shared_ptr<StateFiles>> StateFiles::open(const std::string& directory,
                                                             const FoldShape& shape) {
  if (::mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST) {
    return make_system_error(errno, absl::StrCat("cannot make the directory ", directory));
  }
  if (absl::Status needs = check_store_needs(directory); !needs.ok()) return needs;
  if (absl::Status there = check_store_files(directory); !there.ok()) return there;
  std::shared_ptr<StateFiles> files(new StateFiles(directory, shape));
  rocksdb::DB* db = nullptr;
  const rocksdb::Status opened = rocksdb::DB::Open(rocksdb_options(), directory, &db);
  if (!opened.ok()) return cannot_open(opened, directory);
  files->db_.reset(db);
  return files;
}

absl::Status StateFiles::error(const rocksdb::Status& status, const std::string& what) const {
  if (status.ok()) return absl::OkStatus();
  const Failure failure = classify(status);
  return make_error(failure.code, absl::StrCat("cannot ", what, " the store in ", directory_, ": ",
                                               status.ToString(), failure.remedy));
}

absl::Status StateFiles::read(Bytes key, rocksdb::PinnableSlice& entry, bool& is_there) const {
  entry.Reset();
  const rocksdb::Status got =
      db_->Get(rocksdb::ReadOptions(), db_->DefaultColumnFamily(), slice_of(key), &entry);
  is_there = got.ok();
  if (got.IsNotFound()) return absl::OkStatus();
  return got.ok() ? check_size(entry) : error(got, "read");
}

absl::Status StateFiles::check_size(const rocksdb::Slice& entry) const {
  if (entry.size() == shape_.entry_bytes) return absl::OkStatus();
  return make_error(Errc::kDamaged,
                    absl::StrCat("the store in ", directory_, " has an entry of ", entry.size(),
                                 " bytes instead of ", shape_.entry_bytes, kRemedy));
}

absl::StatusOr<bool> StateFiles::has_entries() const {
  const std::unique_ptr<rocksdb::Iterator> entry(db_->NewIterator(rocksdb::ReadOptions()));
  entry->SeekToFirst();
  const bool found = entry->Valid() && entry->key() != rocksdb::Slice(kPositionKey);
  if (!entry->status().ok()) return error(entry->status(), "read");
  return found;
}

absl::StatusOr<std::optional<StorePosition>> StateFiles::read_position() const {
  std::string text;
  const rocksdb::Status got = db_->Get(rocksdb::ReadOptions(), kPositionKey, &text);
  if (got.IsNotFound()) return std::nullopt;
  if (!got.ok()) return error(got, "read");
  PositionValue value;
  if (text.size() != sizeof value) {
    return make_error(Errc::kInvalidArgument,
                      absl::StrCat("the store in ", directory_,
                                   " is of another version of Lapwing. Remove that directory"));
  }
  std::memcpy(&value, text.data(), sizeof value);
  const bool ours = value.version == kStoreVersion && get_text(value.fold) == shape_.name &&
                    get_text(value.schema) == shape_.schema &&
                    value.fold_version == shape_.version &&
                    value.record_bytes == shape_.record_bytes &&
                    value.entry_bytes == shape_.entry_bytes && value.key_bytes == shape_.key_bytes;
  if (!ours) {
    return make_error(
        Errc::kInvalidArgument,
        absl::StrCat("the store in ", directory_, " is of fold ", get_text(value.fold), " version ",
                     value.fold_version, " over ", get_text(value.schema), " (store version ",
                     value.version, "), not of ", shape_.name, " version ", shape_.version,
                     " over ", shape_.schema, " (", kStoreVersion,
                     "). Move that directory away, and the state is rebuilt from the journal"));
  }
  return StorePosition{{value.journal_id, value.session_id, value.sequence}, value.settled != 0};
}

std::string StateFiles::position_value(const StorePosition& position) const {
  PositionValue value{};
  value.version = kStoreVersion;
  value.settled = position.settled ? 1 : 0;
  value.journal_id = position.at.journal_id;
  value.session_id = position.at.session_id;
  value.sequence = position.at.sequence;
  value.fold_version = shape_.version;
  value.record_bytes = shape_.record_bytes;
  value.entry_bytes = shape_.entry_bytes;
  value.key_bytes = shape_.key_bytes;
  set_text(value.fold, shape_.name);
  set_text(value.schema, shape_.schema);
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

}  // namespace lapwing
