// What the library may do with a ConflatedReader, and nobody else.
#pragma once

#include "lapwing/conflation.h"
#include "os/wait_source.h"

namespace lapwing {

struct ConflationAccess {
  // It stays where it is when the reader is moved. Null: it was moved from.
  static WaitSource* wait_source(ConflatedReader& reader);
};

}  // namespace lapwing
