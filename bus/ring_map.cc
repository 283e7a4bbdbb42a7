#include "bus/ring_map.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lapwing/error.h"
#include "os/mapping.h"
#include "os/system_error.h"

namespace lapwing {
namespace {

// Faults pages in now instead of on the read path. EFAULT: a page no longer exists, because the
// file has shrunk. On kernels before 5.14, which lack this advice, pages fault in later.
absl::Status populate(std::byte* begin, std::uint64_t bytes, const std::string& path) {
  if (madvise(begin, bytes, MADV_POPULATE_READ) == 0 || errno != EFAULT) return absl::OkStatus();
  return make_error(Errc::kDamaged,
                    absl::StrCat("ring file ", path,
                                 ": it shrank while it was being mapped; restart the publisher, "
                                 "which makes a new ring"));
}

// Populates the pages that the publisher has faulted in so far (bus/ring_fill.h). tmpfs reports the
// rest as holes. Populating a hole creates its pages, which takes four times as long.
absl::Status populate_what_is_there(const boost::interprocess::mapped_region& region,
                                    const OpenRing& ring) {
  auto* const begin = static_cast<std::byte*>(region.get_address());
  const auto end = static_cast<off_t>(ring.bytes());
  off_t at = lseek(ring.fd(), 0, SEEK_DATA);
  if (at < 0 && errno != ENXIO) return populate(begin, ring.bytes(), ring.path());
  while (at >= 0 && at < end) {
    const off_t hole = lseek(ring.fd(), at, SEEK_HOLE);
    const off_t until = hole < 0 ? end : std::min(hole, end);
    absl::Status populated =
        populate(begin + at, static_cast<std::uint64_t>(until - at), ring.path());
    if (!populated.ok()) return populated;
    at = lseek(ring.fd(), until, SEEK_DATA);
  }
  return absl::OkStatus();
}

const RingWords& words_in(const boost::interprocess::mapped_region& region) {
  return *reinterpret_cast<const RingWords*>(static_cast<std::byte*>(region.get_address()) +
                                             kPageBytes);
}

}  // namespace

absl::StatusOr<RingMap> RingMap::attach(const std::string& path) {
  const absl::StatusOr<OpenRing> ring = OpenRing::open(path);
  if (!ring.ok()) return ring.status();
  return attach(*ring);
}

absl::StatusOr<RingMap> RingMap::attach(const OpenRing& ring, RingPages pages) {
  auto region = map_file(ring.fd(), MapAccess::kReadOnly, ring.bytes(), ring.path());
  if (!region.ok()) return region.status();
  if (pages == RingPages::kAtOnce) {
    absl::Status populated = populate_what_is_there(*region, ring);
    if (!populated.ok()) return populated;
  }
  return RingMap(ring.path(), ring.header(), *std::move(region));
}

RingMap::RingMap(std::string path, const RingHeader& header,
                 boost::interprocess::mapped_region region)
    : path_(std::move(path)),
      header_(header),
      region_(std::move(region)),
      guard_(region_.get_address(), region_.get_size()) {}

const RingWords& RingMap::words() const {
  return words_in(region_);
}

const std::byte* RingMap::slots() const {
  return static_cast<std::byte*>(region_.get_address()) + kRingHeaderBytes;
}

absl::StatusOr<RingWordsCopy> RingWordsCopy::read(const OpenRing& ring) {
  RingWordsCopy copy;
  if (absl::Status done = copy.refresh(ring); !done.ok()) return done;
  return copy;
}

absl::Status RingWordsCopy::refresh(const OpenRing& ring) {
  auto words = std::make_unique<RingWords>();
  const ssize_t bytes = ::pread(ring.fd(), words.get(), sizeof(RingWords), kPageBytes);
  if (bytes < 0) return make_system_error(errno, absl::StrCat("reading the ring ", ring.path()));
  if (bytes != ssize_t{sizeof(RingWords)}) {
    return make_error(Errc::kDamaged,
                      absl::StrCat("ring file ", ring.path(),
                                   " has been truncated; restart the publisher, which makes a new "
                                   "ring"));
  }
  words_ = std::move(words);
  return absl::OkStatus();
}

}  // namespace lapwing
