// Metrics about the server and its process.
//
// Thread safety: a free function.
#pragma once

#include <string>
#include <vector>

#include "monitor/http/counts.h"

namespace lapwing {

// `stream` belongs to /api/v1/stream. A view's `bus` is a label here. Also reads /proc/self.
std::string http_metrics_text(const HttpCounts& counts, const StreamCounts& stream,
                              const std::vector<ViewCounts>& views);

}  // namespace lapwing
