#include "publisher/dead_ring.h"

#include <utility>

#include "proto/error.h"

namespace lapwing {

absl::StatusOr<std::optional<RingImage>> DeadRing::open(const std::string& path) {
  absl::StatusOr<RingMap> map = RingMap::attach(path);
  if (errc_of(map.status()) == Errc::kNotFound) return std::nullopt;
  if (!map.ok()) return map.status();
  map_ = std::make_unique<RingMap>(*std::move(map));
  return RingImage{map_->header(), &map_->words(), map_->slots()};
}

}  // namespace lapwing
