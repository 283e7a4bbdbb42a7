// What the server counts of itself and of its process, as metrics.
//
// Thread safety: a free function.
#pragma once

#include <string>
#include <vector>

#include "monitor/http/counts.h"

namespace lapwing {

// `stream`: of /api/v1/stream. `views`: `bus` is the label here. Reads /proc/self, too.
std::string http_metrics_text(const HttpCounts& counts, const StreamCounts& stream,
                              const std::vector<ViewCounts>& views);

}  // namespace lapwing
