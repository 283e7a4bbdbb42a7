#include <algorithm>
#include <cerrno>
#include <cstring>

#include "testing/sim_disk.h"

namespace lapwing {
namespace {

// Direct writes overlap in blocks of this size, others in bytes.
constexpr std::uint64_t kBlockBytes = 4096;

bool writes_meet(const WriteRequest& a, const WriteRequest& b, std::uint64_t unit) {
  const auto first = [&](const WriteRequest& request) { return request.offset / unit; };
  const auto last = [&](const WriteRequest& request) {
    return (request.offset + request.bytes.size() - 1) / unit;
  };
  return first(a) <= last(b) && first(b) <= last(a);
}

}  // namespace

SimWriteQueue::SimWriteQueue(SimDisk& disk, const SimBehaviour& behaviour)
    : disk_(disk), behaviour_(behaviour) {
  const std::lock_guard lock(disk_.mutex_);
  disk_.queues_.push_back(this);
}

SimWriteQueue::~SimWriteQueue() {
  const std::lock_guard lock(disk_.mutex_);
  std::erase(disk_.queues_, this);
}

bool SimWriteQueue::submit(const WriteRequest& request) {
  const std::lock_guard lock(disk_.mutex_);
  if (pending_.size() >= behaviour_.depth) return false;
  Pending pending{request, {}, {}, {}};
  if (const SimDisk::Open* const open = disk_.find_open(request.file)) {
    pending.open = *open;
    if (request.kind == WriteRequest::Kind::kWrite) {
      pending.bytes.assign(request.bytes.begin(), request.bytes.end());
      overlapping_writes_ +=
          static_cast<std::uint64_t>(std::ranges::count_if(pending_, [&](const Pending& other) {
            return other.request.kind == WriteRequest::Kind::kWrite &&
                   other.open.inode == pending.open.inode &&
                   writes_meet(other.request, request, open->direct ? kBlockBytes : 1);
          }));
    } else {
      pending.image = disk_.image_of(*open);
    }
  }
  pending_.push_back(std::move(pending));
  most_in_flight_ = std::max(most_in_flight_, pending_.size());
  return true;
}

std::size_t SimWriteQueue::in_flight() const {
  const std::lock_guard lock(disk_.mutex_);
  return pending_.size();
}

bool SimWriteQueue::is_held(const Pending& pending) const {
  const bool write = pending.request.kind == WriteRequest::Kind::kWrite;
  return write ? behaviour_.hold_writes
               : behaviour_.hold_syncs && pending.request.kind != WriteRequest::Kind::kAllocate;
}

std::size_t SimWriteQueue::reap(std::span<WriteCompletion> out, std::uint64_t wait_ns) {
  const std::lock_guard lock(disk_.mutex_);
  std::vector<std::size_t> chosen;
  std::vector<std::size_t> others;
  for (std::size_t i = 0; i < pending_.size(); ++i) {
    if (is_held(pending_[i])) continue;
    const bool now = disk_.random_.chance(behaviour_.complete_percent);
    (now ? chosen : others).push_back(i);
  }
  if (wait_ns > 0 && chosen.empty() && !others.empty()) {
    chosen.push_back(others[disk_.random_.below(others.size())]);
  }
  if (behaviour_.reorder) {
    for (std::size_t i = chosen.size(); i > 1; --i) {
      std::swap(chosen[i - 1], chosen[disk_.random_.below(i)]);
    }
  }
  if (chosen.size() > out.size()) chosen.resize(out.size());
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    Pending& pending = pending_[chosen[i]];
    out[i] = {pending.request.tag, execute(pending)};
  }
  std::ranges::sort(chosen, std::greater<>());
  for (const std::size_t i : chosen) {
    pending_.erase(pending_.begin() + static_cast<std::ptrdiff_t>(i));
  }
  return chosen.size();
}

std::int64_t SimWriteQueue::execute(Pending& pending) {
  if (pending.open.inode == nullptr) return -EBADF;
  if (!disk_.stopped_ && disk_.random_.chance(behaviour_.again_percent)) return -EAGAIN;
  switch (pending.request.kind) {
    case WriteRequest::Kind::kWrite:
      return execute_write(pending);
    case WriteRequest::Kind::kSync:
    case WriteRequest::Kind::kSyncDirectory:
      return execute_sync(pending);
    case WriteRequest::Kind::kAllocate:
      break;
  }
  const int error = disk_.begin_operation(SimOp::kAllocate, pending.open.path);
  return error != 0 ? -error : -disk_.grow(*pending.open.inode, pending.request.offset);
}

std::int64_t SimWriteQueue::execute_write(Pending& pending) {
  if (const int error = disk_.begin_operation(SimOp::kWrite, pending.open.path)) return -error;
  const std::span<const std::byte> bytes = pending.request.bytes;
  if (!std::ranges::equal(pending.bytes, bytes)) ++changed_in_flight_;
  std::size_t count = bytes.size();
  if (count > kSimSectorBytes && disk_.random_.chance(behaviour_.short_percent)) {
    count = kSimSectorBytes * disk_.random_.below(count / kSimSectorBytes);
  }
  const int error = disk_.write_cache(pending.open, pending.request.offset, bytes.first(count));
  return error != 0 ? -error : static_cast<std::int64_t>(count);
}

std::int64_t SimWriteQueue::execute_sync(Pending& pending) {
  if (const int error = disk_.begin_operation(SimOp::kSync, pending.open.path)) {
    if (!disk_.stopped_) disk_.forget(pending.open, pending.image);
    return -error;
  }
  disk_.carry(pending.open, pending.image);
  return 0;
}

}  // namespace lapwing
