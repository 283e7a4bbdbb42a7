// The fold `latest`: the last record of each key, for the schemas that Lapwing ships. An entry is
// the record itself.
//
// A record is put without looking at what was there before, so reads() is false, and what was lost
// leaves no trace: the last record that did arrive stays the last. docs/state.md has the keys.
//
// Thread safety: immutable.
#pragma once

#include <memory>
#include <string_view>

#include "lapwing/fold.h"

namespace lapwing {

// nullptr for a schema that Lapwing does not ship.
std::unique_ptr<Fold> make_latest_fold(std::string_view schema);

}  // namespace lapwing
