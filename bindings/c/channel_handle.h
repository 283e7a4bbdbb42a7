// The handle of a channel: one of the three kinds of end, and its borrowed messages.
//
// Thread safety: see lapwing.h.
#pragma once

#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "bindings/c/call.h"
#include "bindings/c/channel_options.h"
#include "lapwing/consumer.h"
#include "lapwing/duplex.h"
#include "lapwing/producer.h"

namespace lapwing::c {

struct End {
  std::variant<ChannelProducer, ChannelConsumer, Duplex> end;
  // The unreleased messages that the last peek borrowed: one message, or `borrowed`.
  bool has_one = false;
  std::span<const Message> borrowed = {};
  std::vector<Message> room = {};  // memory for them; it only grows
};

// Makes an end in that role. make(type) makes it; its argument is a null pointer that selects the
// type.
template <typename Make>
absl::StatusOr<End> make_end(Role role, Make&& make) {
  const auto wrapped = [](auto opened) -> absl::StatusOr<End> {
    if (!opened.ok()) return opened.status();
    return End{*std::move(opened)};
  };
  switch (role) {
    case Role::kProducer:
      return wrapped(make(static_cast<ChannelProducer*>(nullptr)));
    case Role::kConsumer:
      return wrapped(make(static_cast<ChannelConsumer*>(nullptr)));
    case Role::kDuplex:
      break;
  }
  return wrapped(make(static_cast<Duplex*>(nullptr)));
}

}  // namespace lapwing::c

struct lapwing_channel : lapwing::c::Handle<lapwing::c::End> {
  static constexpr char kWhat[] = "channel";
  using Handle::Handle;
};
