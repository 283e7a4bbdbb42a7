// An event in the C interface: a flat struct, with text in fixed fields.
//
// Thread safety: pure functions.
#pragma once

#include "lapwing.h"
#include "lapwing/subscriber.h"

namespace lapwing::c {

lapwing_event event_of(const Event& event);

}  // namespace lapwing::c
