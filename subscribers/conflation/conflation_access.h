// Access to the internals of a ConflatedReader, for the library only.
#pragma once

#include "lapwing/conflation.h"
#include "os/wait_source.h"

namespace lapwing {

struct ConflationAccess {
  // The source stays valid when the reader is moved. Null if the reader was moved from.
  static WaitSource* wait_source(ConflatedReader& reader);
};

}  // namespace lapwing
