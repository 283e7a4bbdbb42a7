#include "lapwing/listener.h"

#include <type_traits>

#include "bindings/c/call.h"
#include "bindings/c/channel_handle.h"
#include "bindings/c/channel_options.h"
#include "bindings/c/wait_sources.h"

struct lapwing_listener : lapwing::c::Handle<lapwing::ChannelListener> {
  static constexpr char kWhat[] = "listener";
  using Handle::Handle;
};

namespace lapwing::c {

lapwing_result add_to(WaitSet& set, lapwing_listener* listener, std::uint64_t token,
                      std::uint64_t* source, lapwing_error* error) {
  return call(listener, error, [&](ChannelListener& opened) {
    return put_source(set.add(opened, token), source, error);
  });
}

}  // namespace lapwing::c

using namespace lapwing::c;
using lapwing::ChannelListener;
using lapwing::ChannelOptions;

extern "C" {

lapwing_result lapwing_listener_open(const char* path, const lapwing_channel_options* options,
                                     lapwing_listener** listener, lapwing_error* error) {
  return open_into(listener, error, [&]() -> absl::StatusOr<ChannelListener> {
    const absl::StatusOr<ChannelOptions> made = channel_options(options);
    if (!made.ok()) return made.status();
    return ChannelListener::listen(text_of(path), made->expected_peer_uid);
  });
}

lapwing_result lapwing_listener_take_over(const char* path, const lapwing_channel_options* options,
                                          int64_t timeout_ns, lapwing_listener** listener,
                                          lapwing_error* error) {
  return open_into(listener, error, [&]() -> absl::StatusOr<ChannelListener> {
    const absl::StatusOr<ChannelOptions> made = channel_options(options);
    if (!made.ok()) return made.status();
    return ChannelListener::take_over(text_of(path), deadline_in(timeout_ns),
                                      made->expected_peer_uid);
  });
}

lapwing_result lapwing_listener_accept(lapwing_listener* listener, uint32_t role,
                                       const lapwing_channel_options* options, int64_t timeout_ns,
                                       lapwing_channel** channel, lapwing_error* error) {
  return call(listener, error, [&](ChannelListener& opened) {
    return open_into(channel, error, [&]() -> absl::StatusOr<End> {
      const absl::StatusOr<Role> meant = role_of(role);
      if (!meant.ok()) return meant.status();
      const absl::StatusOr<ChannelOptions> made = channel_options(options);
      if (!made.ok()) return made.status();
      return make_end(*meant, [&](auto* type) {
        using Kind = std::remove_pointer_t<decltype(type)>;
        return Kind::accept(opened, *made, deadline_in(timeout_ns));
      });
    });
  });
}

lapwing_result lapwing_listener_tend(lapwing_listener* listener, lapwing_error* error) {
  return call(listener, error, [&](ChannelListener& opened) {
    const absl::Status tended = opened.tend();
    return tended.ok() ? success() : fail(error, tended);
  });
}

lapwing_result lapwing_listener_fd(lapwing_listener* listener, int32_t* fd, lapwing_error* error) {
  return call(listener, error,
              [&](ChannelListener& opened) { return put_fd(opened.fd(), fd, error); });
}

void lapwing_listener_interrupt(lapwing_listener* listener) {
  if (listener != nullptr) listener->object.interrupt();
}

void lapwing_listener_destroy(lapwing_listener** listener) {
  destroy(listener);
}

}  // extern "C"
