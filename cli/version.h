// The version of this build.
//
// Thread safety: pure functions.
#pragma once

#include <string>

namespace lapwing::cli {

// "0.2.0"
std::string release();
// "2026-11-26", the date of the release.
std::string release_date();
// "1e54602a81d3", followed by " dirty" if the source has been changed since. Empty in a build from
// a release tarball, unless the packager set LAPWING_REVISION.
std::string revision();
// "lapwing 0.2.0 (1e54602a81d3 dirty)", or "lapwing 0.2.0" without a revision.
std::string version_line();

}  // namespace lapwing::cli
