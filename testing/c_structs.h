// C interface structs that contain their size. Options have their defaults.
//
// Thread safety: pure functions.
#pragma once

#include "lapwing.h"

namespace lapwing {

template <typename Struct>
Struct sized() {
  Struct made{};
  made.struct_size = sizeof made;
  return made;
}
template <>
inline lapwing_publisher_options sized() {
  return LAPWING_PUBLISHER_OPTIONS_INIT;
}
template <>
inline lapwing_subscriber_options sized() {
  return LAPWING_SUBSCRIBER_OPTIONS_INIT;
}
template <>
inline lapwing_channel_options sized() {
  return LAPWING_CHANNEL_OPTIONS_INIT;
}

}  // namespace lapwing
