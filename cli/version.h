// Which build of the program this is.
//
// Thread safety: pure functions.
#pragma once

#include <string>

namespace lapwing::cli {

// "0.2.0"
std::string release();
// "2026-11-26", the day of the release.
std::string release_date();
// "1e54602a81d3", followed by " dirty" where the source was changed since. Empty for a release's
// tarball, unless its packager gave a text (LAPWING_REVISION).
std::string revision();
// "lapwing 0.2.0 (1e54602a81d3 dirty)", or without a revision "lapwing 0.2.0".
std::string version_line();

}  // namespace lapwing::cli
