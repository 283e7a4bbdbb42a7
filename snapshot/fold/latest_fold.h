// The fold `latest`: the last record of each key, for every schema with a key. An entry is the
// record itself.
//
// A record replaces the entry without reading it, so reads() is false. Lost records leave no trace:
// the entry remains the last record that arrived. docs/explanation/state.md describes the keys.
//
// Thread safety: immutable.
#pragma once

#include <memory>

#include "lapwing/fold.h"
#include "lapwing/schema.h"

namespace lapwing {

// Returns nullptr if the schema has no key, or if its key exceeds the maximum size.
std::unique_ptr<Fold> make_latest_fold(const Schema& schema);

}  // namespace lapwing
