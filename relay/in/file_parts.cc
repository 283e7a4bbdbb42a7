#include "relay/in/file_parts.h"

namespace lapwing {

void FileParts::restart() {
  bytes_.clear();
  has_total_ = false;
}

void FileParts::add(const RelayAnswer& answer, std::span<const std::byte> part) {
  if (answer.outcome != RelayOutcome::kOk && answer.outcome != RelayOutcome::kPartly) return;
  if (answer.total > kFileBytesMax) return;
  if (has_total_ && total_ != answer.total) restart();
  total_ = answer.total;
  has_total_ = true;
  if (answer.offset != bytes_.size()) return;
  bytes_.append(reinterpret_cast<const char*>(part.data()), part.size());
}

}  // namespace lapwing
