// The files that the server sends to browsers, embedded in the program.
//
// monitor/web/embed.cmake generates the table, and CMakeLists.txt in this folder lists the files.
//
// Thread safety: constants.
#pragma once

#include <span>

#include "absl/strings/string_view.h"

namespace lapwing {

struct WebFile {
  absl::string_view path;  // "/index.html"
  absl::string_view content_type;
  absl::string_view bytes;
  absl::string_view etag;  // quoted; changes with the contents
};

std::span<const WebFile> web_files();
// Null if there is no such file.
const WebFile* find_web_file(absl::string_view path);

}  // namespace lapwing
