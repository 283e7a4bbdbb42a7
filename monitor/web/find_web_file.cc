#include <algorithm>

#include "monitor/web/web_files.h"

namespace lapwing {

const WebFile* find_web_file(absl::string_view path) {
  const std::span<const WebFile> files = web_files();
  const auto found = std::find_if(files.begin(), files.end(),
                                  [&](const WebFile& file) { return file.path == path; });
  return found == files.end() ? nullptr : &*found;
}

}  // namespace lapwing
