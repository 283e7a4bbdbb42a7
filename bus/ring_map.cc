#include "bus/ring_map.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lapwing/error.h"
#include "os/mapping.h"

namespace lapwing {
namespace {

// The file's first `bytes`, every page of them faulted in.
absl::StatusOr<boost::interprocess::mapped_region> map_first(const OpenRing& ring,
                                                             std::uint64_t bytes) {
  auto region = map_file(ring.fd(), MapAccess::kReadOnly, bytes, ring.path());
  if (!region.ok()) return region;
  // Page faults now rather than on the read path. EFAULT: a page is not there any more, for the
  // file has shrunk. A kernel before 5.14 does not know the advice, and faults later.
  if (madvise(region->get_address(), region->get_size(), MADV_POPULATE_READ) != 0 &&
      errno == EFAULT) {
    return make_error(Errc::kDamaged,
                      absl::StrCat("ring file ", ring.path(),
                                   ": it shrank while it was being mapped; restart the publisher, "
                                   "which makes a new ring"));
  }
  return region;
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

absl::StatusOr<RingMap> RingMap::attach(const OpenRing& ring) {
  auto region = map_first(ring, ring.bytes());
  if (!region.ok()) return region.status();
  return RingMap(ring.path(), ring.header(), *std::move(region));
}

RingMap::RingMap(std::string path, const RingHeader& header,
                 boost::interprocess::mapped_region region)
    : path_(std::move(path)), header_(header), region_(std::move(region)) {}

const RingWords& RingMap::words() const {
  return words_in(region_);
}

const std::byte* RingMap::slots() const {
  return static_cast<std::byte*>(region_.get_address()) + kRingHeaderBytes;
}

absl::StatusOr<RingWordsMap> RingWordsMap::attach(const OpenRing& ring) {
  auto region = map_first(ring, kRingHeaderBytes);
  if (!region.ok()) return region.status();
  return RingWordsMap(*std::move(region));
}

RingWordsMap::RingWordsMap(boost::interprocess::mapped_region region)
    : region_(std::move(region)) {}

const RingWords& RingWordsMap::words() const {
  return words_in(region_);
}

}  // namespace lapwing
