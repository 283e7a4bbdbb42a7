// What the server counts of itself and of its process, as metrics.
//
// Thread safety: a free function.
#pragma once

#include <string>

#include "monitor/http/counts.h"

namespace lapwing {

// Reads /proc/self, too.
std::string http_metrics_text(const HttpCounts& counts);

}  // namespace lapwing
