// Metrics of the server and of its process.
//
// Thread safety: a free function.
#pragma once

#include <string>
#include <vector>

#include "monitor/http/counts.h"

namespace lapwing {

// `stream` is that of /api/v1/stream. `bus` of a view is a label here. Also reads /proc/self.
std::string http_metrics_text(const HttpCounts& counts, const StreamCounts& stream,
                              const std::vector<ViewCounts>& views);

}  // namespace lapwing
