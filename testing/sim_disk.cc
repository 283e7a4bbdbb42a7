#include "testing/sim_disk.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "lapwing/error.h"
#include "os/system_error.h"

namespace lapwing {
namespace {

std::string directory_of(const std::string& path) {
  return path.substr(0, path.rfind('/'));
}

std::string name_of(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

bool ends_with(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

std::size_t sectors_of(std::size_t bytes) {
  return (bytes + kSimSectorBytes - 1) / kSimSectorBytes;
}

absl::Status status_of(int sys_errno, const char* what, const std::string& path) {
  if (sys_errno == 0) return absl::OkStatus();
  return make_system_error(sys_errno, absl::StrCat("cannot ", what, " ", path, " (simulated)"));
}

}  // namespace

std::uint64_t SimRandom::next() {
  std::uint64_t word = state_ += 0x9e3779b97f4a7c15u;
  word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9u;
  word = (word ^ (word >> 27)) * 0x94d049bb133111ebu;
  return word ^ (word >> 31);
}

SimDisk::SimDisk(const std::string& root, std::uint64_t seed) : random_(seed) {
  names_[root] = medium_names_[root] = std::make_shared<Inode>(Inode{.is_directory = true});
}

SimDisk::~SimDisk() = default;

absl::StatusOr<FileHandle> SimDisk::open(const std::string& path, const OpenOptions& options) {
  const std::lock_guard lock(mutex_);
  const auto found = names_.find(path);
  InodeRef inode = found == names_.end() ? nullptr : found->second;
  if (options.mode == OpenMode::kCreate) {
    if (inode != nullptr) return status_of(EEXIST, "create", path);
    if (!names_.contains(directory_of(path))) return status_of(ENOENT, "create", path);
    if (const int error = begin_operation(SimOp::kName, path)) {
      return status_of(error, "create", path);
    }
    inode = std::make_shared<Inode>();
    names_[path] = inode;
    pending_[directory_of(path)].push_back({"", path, inode});
  }
  if (inode == nullptr) return status_of(ENOENT, "open", path);
  if (stopped_) return status_of(EIO, "open", path);
  if (inode->is_directory != (options.mode == OpenMode::kDirectory)) {
    return make_error(Errc::kNotALapwingFile, absl::StrCat(path, " is of another kind"));
  }
  open_[next_handle_] = {inode, path, options.direct};
  return next_handle_++;
}

void SimDisk::close(FileHandle file) {
  const std::lock_guard lock(mutex_);
  open_.erase(file);  // it may have ended with its process
}

const SimDisk::Open* SimDisk::find_open(FileHandle file) const {
  const auto found = open_.find(file);
  return found == open_.end() ? nullptr : &found->second;
}

absl::StatusOr<std::size_t> SimDisk::read_at(FileHandle file, std::uint64_t offset,
                                             std::span<std::byte> out) {
  const std::lock_guard lock(mutex_);
  const Open* const open = find_open(file);
  if (open == nullptr || stopped_) return status_of(open == nullptr ? EBADF : EIO, "read", "");
  const std::vector<std::byte>& cache = open->inode->cache;
  if (offset >= cache.size()) return std::size_t{0};
  const std::size_t count = std::min<std::size_t>(out.size(), cache.size() - offset);
  std::memcpy(out.data(), cache.data() + offset, count);
  return count;
}

absl::Status SimDisk::write_at(FileHandle file, std::uint64_t offset,
                               std::span<const std::byte> bytes) {
  const std::lock_guard lock(mutex_);
  const Open* const open = find_open(file);
  if (open == nullptr) return status_of(EBADF, "write", "");
  int error = begin_operation(SimOp::kWrite, open->path);
  if (error == 0) error = write_cache(*open, offset, bytes);
  return status_of(error, "write", open->path);
}

absl::Status SimDisk::allocate(FileHandle file, std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  const Open* const open = find_open(file);
  if (open == nullptr) return status_of(EBADF, "allocate", "");
  int error = begin_operation(SimOp::kAllocate, open->path);
  if (error == 0) error = grow(*open->inode, bytes);
  return status_of(error, "allocate", open->path);
}

absl::Status SimDisk::truncate(FileHandle file, std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  const Open* const open = find_open(file);
  if (open == nullptr) return status_of(EBADF, "truncate", "");
  if (const int error = begin_operation(SimOp::kWrite, open->path)) {
    return status_of(error, "truncate", open->path);
  }
  open->inode->cache.resize(bytes);
  open->inode->dirty.resize(sectors_of(bytes));
  return absl::OkStatus();
}

// On the medium a hole is a write of zeros, of which a power cut keeps an arbitrary set of sectors.
// The space is not counted as free.
absl::Status SimDisk::punch_hole(FileHandle file, std::uint64_t offset, std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  const Open* const open = find_open(file);
  if (open == nullptr) return status_of(EBADF, "punch", "");
  if (const int error = begin_operation(SimOp::kPunch, open->path)) {
    return status_of(error, "punch", open->path);
  }
  const std::uint64_t size = open->inode->cache.size();
  if (offset >= size) return absl::OkStatus();
  store(*open->inode, offset, std::vector<std::byte>(std::min(bytes, size - offset)));
  return absl::OkStatus();
}

absl::Status SimDisk::sync(FileHandle file) {
  const std::lock_guard lock(mutex_);
  const Open* const open = find_open(file);
  if (open == nullptr) return status_of(EBADF, "sync", "");
  const SyncImage image = image_of(*open);
  const int error = begin_operation(SimOp::kSync, open->path);
  if (error == 0) {
    carry(*open, image);
  } else if (!stopped_) {
    forget(*open, image);
  }
  return status_of(error, "sync", open->path);
}

absl::StatusOr<std::uint64_t> SimDisk::size(FileHandle file) {
  const std::lock_guard lock(mutex_);
  const Open* const open = find_open(file);
  if (open == nullptr) return status_of(EBADF, "stat", "");
  return open->inode->cache.size();
}

absl::Status SimDisk::rename(const std::string& from, const std::string& to) {
  const std::lock_guard lock(mutex_);
  const auto found = names_.find(from);
  if (found == names_.end()) return status_of(ENOENT, "rename", from);
  if (const int error = begin_operation(SimOp::kName, to)) return status_of(error, "rename", from);
  const InodeRef inode = found->second;
  names_.erase(found);
  names_[to] = inode;
  for (auto& [handle, open] : open_) {
    if (open.inode == inode) open.path = to;
  }
  pending_[directory_of(to)].push_back({from, to, inode});
  return absl::OkStatus();
}

absl::Status SimDisk::remove(const std::string& path) {
  const std::lock_guard lock(mutex_);
  if (!names_.contains(path)) return status_of(ENOENT, "remove", path);
  if (const int error = begin_operation(SimOp::kName, path)) {
    return status_of(error, "remove", path);
  }
  names_.erase(path);
  pending_[directory_of(path)].push_back({path, "", nullptr});
  return absl::OkStatus();
}

absl::Status SimDisk::make_directory(const std::string& path, unsigned) {
  const std::lock_guard lock(mutex_);
  if (const auto found = names_.find(path); found != names_.end()) {
    return status_of(found->second->is_directory ? 0 : ENOTDIR, "make the directory", path);
  }
  if (const int error = begin_operation(SimOp::kName, path)) {
    return status_of(error, "make the directory", path);
  }
  const auto inode = std::make_shared<Inode>(Inode{.is_directory = true});
  names_[path] = inode;
  pending_[directory_of(path)].push_back({"", path, inode});
  return absl::OkStatus();
}

absl::Status SimDisk::sync_directory(const std::string& path) {
  const auto opened = open(path, {.mode = OpenMode::kDirectory});
  if (!opened.ok()) return opened.status();
  const OpenFile directory(*this, *opened);
  return sync(directory.get());
}

absl::StatusOr<std::vector<std::string>> SimDisk::list(const std::string& directory) {
  const std::lock_guard lock(mutex_);
  if (!names_.contains(directory)) return status_of(ENOENT, "list", directory);
  std::vector<std::string> names;
  for (const auto& [path, inode] : names_) {
    if (directory_of(path) == directory) names.push_back(name_of(path));
  }
  return names;
}

absl::StatusOr<bool> SimDisk::exists(const std::string& path) {
  const std::lock_guard lock(mutex_);
  return names_.contains(path);
}

absl::StatusOr<std::uint64_t> SimDisk::free_bytes(const std::string&) {
  const std::lock_guard lock(mutex_);
  std::uint64_t used = 0;
  for (const auto& [path, inode] : names_) used += inode->cache.size();
  return capacity_ - std::min(capacity_, used);
}

absl::StatusOr<bool> SimDisk::names(const std::string& path, FileHandle file) {
  const std::lock_guard lock(mutex_);
  const Open* const open = find_open(file);
  if (open == nullptr) return status_of(EBADF, "stat", path);
  const auto found = names_.find(path);
  return found != names_.end() && found->second == open->inode;
}

int SimDisk::begin_operation(SimOp op, const std::string& path) {
  if (!stopped_ && operations_ == stop_at_) stop_now();
  if (stopped_) return EIO;
  ++operations_;
  for (auto fault = faults_.begin(); fault != faults_.end(); ++fault) {
    if (fault->op != op || !ends_with(path, fault->name_end) || --fault->countdown > 0) continue;
    const int sys_errno = fault->sys_errno;
    faults_.erase(fault);
    return sys_errno;
  }
  return 0;
}

void SimDisk::store(Inode& inode, std::uint64_t offset, std::span<const std::byte> bytes) {
  if (bytes.empty()) return;
  if (offset + bytes.size() > inode.cache.size()) {
    inode.cache.resize(offset + bytes.size());
    inode.dirty.resize(sectors_of(inode.cache.size()));
  }
  std::memcpy(inode.cache.data() + offset, bytes.data(), bytes.size());
  ++writes_;
  const std::size_t last = (offset + bytes.size() - 1) / kSimSectorBytes;
  for (std::size_t i = offset / kSimSectorBytes; i <= last; ++i) inode.dirty[i] = writes_;
}

int SimDisk::write_cache(const Open& open, std::uint64_t offset, std::span<const std::byte> bytes) {
  const bool aligned = offset % kSimSectorBytes == 0 && bytes.size() % kSimSectorBytes == 0 &&
                       reinterpret_cast<std::uintptr_t>(bytes.data()) % kSimSectorBytes == 0;
  if (open.direct && !aligned) return EINVAL;
  if (const int error = grow(*open.inode, offset + bytes.size())) return error;
  store(*open.inode, offset, bytes);
  return 0;
}

int SimDisk::grow(Inode& inode, std::uint64_t bytes) {
  if (bytes <= inode.cache.size()) return 0;
  std::uint64_t used = bytes - inode.cache.size();
  for (const auto& [path, other] : names_) used += other->cache.size();
  if (used > capacity_) return ENOSPC;
  inode.cache.resize(bytes);
  inode.dirty.resize(sectors_of(bytes));
  return 0;
}

SimDisk::SyncImage SimDisk::image_of(const Open& open) const {
  SyncImage image;
  const Inode& inode = *open.inode;
  if (inode.is_directory) {
    const auto found = pending_.find(open.path);
    image.name_changes = found == pending_.end() ? 0 : found->second.size();
    return image;
  }
  image.size = inode.cache.size();
  for (std::size_t i = 0; i < inode.dirty.size(); ++i) {
    if (inode.dirty[i] == 0) continue;
    SyncImage::Sector& sector = image.sectors.emplace_back();
    sector.index = i;
    sector.written = inode.dirty[i];
    const std::size_t offset = i * kSimSectorBytes;
    std::memcpy(sector.bytes.data(), inode.cache.data() + offset,
                std::min(kSimSectorBytes, inode.cache.size() - offset));
  }
  return image;
}

void SimDisk::carry(const Open& open, const SyncImage& image) {
  Inode& inode = *open.inode;
  if (inode.is_directory) {
    std::vector<NameChange>& changes = pending_[open.path];
    const auto end =
        changes.begin() + static_cast<std::ptrdiff_t>(std::min(image.name_changes, changes.size()));
    for (auto change = changes.begin(); change != end; ++change) {
      if (!change->from.empty()) medium_names_.erase(change->from);
      if (!change->to.empty()) medium_names_[change->to] = change->inode;
    }
    changes.erase(changes.begin(), end);
    return;
  }
  inode.medium.resize(image.size);
  for (const SyncImage::Sector& sector : image.sectors) {
    const std::size_t offset = sector.index * kSimSectorBytes;
    if (offset >= inode.medium.size()) continue;
    std::memcpy(inode.medium.data() + offset, sector.bytes.data(),
                std::min(kSimSectorBytes, inode.medium.size() - offset));
    if (sector.index < inode.dirty.size() && inode.dirty[sector.index] == sector.written) {
      inode.dirty[sector.index] = 0;
    }
  }
}

// A failed sync: the kernel treats the pages as clean although the medium never received them.
void SimDisk::forget(const Open& open, const SyncImage& image) {
  Inode& inode = *open.inode;
  for (const SyncImage::Sector& sector : image.sectors) {
    if (sector.index < inode.dirty.size() && inode.dirty[sector.index] == sector.written) {
      inode.dirty[sector.index] = 0;
    }
  }
}

void SimDisk::fail(SimOp op, std::uint64_t nth, int sys_errno, const std::string& name_end) {
  const std::lock_guard lock(mutex_);
  faults_.push_back({op, nth, sys_errno, name_end});
}

void SimDisk::set_capacity(std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  capacity_ = bytes;
}

std::uint64_t SimDisk::operations() const {
  const std::lock_guard lock(mutex_);
  return operations_;
}

void SimDisk::stop_after(std::uint64_t operations) {
  const std::lock_guard lock(mutex_);
  stop_at_ = operations_ + operations;
}

bool SimDisk::stopped() const {
  const std::lock_guard lock(mutex_);
  return stopped_;
}

// Requests in flight keep a copy of their bytes, because their memory may be gone when their fate
// is decided.
void SimDisk::stop_now() {
  stopped_ = true;
  for (SimWriteQueue* const queue : queues_) {
    for (SimWriteQueue::Pending& pending : queue->pending_) {
      if (pending.request.kind != WriteRequest::Kind::kWrite) continue;
      limbo_.push_back({pending.open.inode, pending.request.offset, pending.bytes});
    }
  }
}

void SimDisk::land_limbo(bool by_sector) {
  for (const Limbo& limbo : limbo_) {
    const std::size_t step =
        by_sector ? kSimSectorBytes : std::max<std::size_t>(1, limbo.bytes.size());
    for (std::size_t at = 0; at < limbo.bytes.size(); at += step) {
      if (!random_.chance(50)) continue;
      store(*limbo.inode, limbo.offset + at,
            std::span(limbo.bytes).subspan(at, std::min(step, limbo.bytes.size() - at)));
    }
  }
  limbo_.clear();
}

void SimDisk::kill() {
  const std::lock_guard lock(mutex_);
  if (!stopped_) stop_now();
  land_limbo(false);
  end_everything();
}

void SimDisk::power_cut() {
  const std::lock_guard lock(mutex_);
  if (!stopped_) stop_now();
  land_limbo(true);
  settle_names();
  names_ = medium_names_;
  for (auto& [path, inode] : names_) settle_inode(*inode);
  end_everything();
}

void SimDisk::settle_names() {
  for (auto& [directory, changes] : pending_) {
    for (const NameChange& change : changes) {
      if (!random_.chance(50)) continue;
      if (!change.from.empty()) medium_names_.erase(change.from);
      if (!change.to.empty()) medium_names_[change.to] = change.inode;
    }
  }
  pending_.clear();
  // A directory that does not exist takes its contents with it.
  std::erase_if(medium_names_, [&](const auto& entry) {
    const std::string parent = directory_of(entry.first);
    return parent.size() > 1 && names_.contains(parent) && !medium_names_.contains(parent);
  });
}

void SimDisk::settle_inode(Inode& inode) {
  if (inode.is_directory) return;
  const std::size_t size = random_.chance(50) ? inode.cache.size() : inode.medium.size();
  inode.medium.resize(std::max(inode.cache.size(), inode.medium.size()));
  for (std::size_t i = 0; i < inode.dirty.size(); ++i) {
    const std::size_t offset = i * kSimSectorBytes;
    if (inode.dirty[i] == 0 || !random_.chance(50)) continue;
    std::memcpy(inode.medium.data() + offset, inode.cache.data() + offset,
                std::min(kSimSectorBytes, inode.cache.size() - offset));
  }
  inode.medium.resize(size);
  inode.cache = inode.medium;
  inode.dirty.assign(sectors_of(size), 0);
}

void SimDisk::end_everything() {
  for (SimWriteQueue* const queue : queues_) queue->pending_.clear();
  open_.clear();
  faults_.clear();
  stopped_ = false;
  stop_at_ = std::numeric_limits<std::uint64_t>::max();
}

void SimDisk::flip_bit(const std::string& path, std::uint64_t offset, unsigned bit) {
  const std::lock_guard lock(mutex_);
  Inode& inode = *names_.at(path);
  for (std::vector<std::byte>* const content : {&inode.cache, &inode.medium}) {
    if (offset < content->size()) (*content)[offset] ^= std::byte{1} << bit;
  }
}

}  // namespace lapwing
