// An event as the C interface has it: flat, with its words in fixed fields.
//
// Thread safety: pure functions.
#pragma once

#include "lapwing.h"
#include "lapwing/subscriber.h"

namespace lapwing::c {

lapwing_event event_of(const Event& event);

}  // namespace lapwing::c
