// The fold `latest`: the last record of each key, for every schema that says what its key is. An
// entry is the record itself.
//
// A record is put without looking at what was there before, so reads() is false, and what was lost
// leaves no trace: the last record that did arrive stays the last. docs/explanation/state.md has the keys.
//
// Thread safety: immutable.
#pragma once

#include <memory>

#include "lapwing/fold.h"
#include "lapwing/schema.h"

namespace lapwing {

// nullptr where the schema has no key, or one of more bytes than a key may have.
std::unique_ptr<Fold> make_latest_fold(const Schema& schema);

}  // namespace lapwing
