#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <native/bind.h>
#include <native/channel.h>

namespace lapwing_python {

namespace {

class Listener : public Handle {
 public:
  explicit Listener(lapwing_listener* listener) : listener_(listener) {}
  ~Listener() override { api.listener_destroy(&listener_); }

  bool is_open() const override { return listener_ != nullptr; }
  void interrupt_now() noexcept override {
    if (listener_ != nullptr) api.listener_interrupt(listener_);
  }
  void free_now() override {
    lapwing_listener* freed = std::exchange(listener_, nullptr);
    const WithoutGil released;
    api.listener_destroy(&freed);
  }

  std::unique_ptr<Channel> accept(std::uint32_t role, const std::string& name,
                                  std::uint64_t capacity, std::uint32_t message_bytes_max,
                                  std::uint32_t call_window, std::uint32_t wait_strategy,
                                  std::uint32_t numa_node, std::uint32_t flags,
                                  std::int64_t timeout_ns) {
    const Use use(*this);
    const lapwing_channel_options options = channel_options(
        name, capacity, message_bytes_max, call_window, wait_strategy, numa_node, 0, 0, flags);
    lapwing_channel* channel = nullptr;
    Failure failure;
    check(wait(*this, timeout_ns, Gil::kReleased,
               [&](std::int64_t left) {
                 return api.listener_accept(listener_, role, &options, left, &channel, &failure);
               }),
          failure);
    return std::make_unique<Channel>(channel);
  }

  lapwing_result add_to(lapwing_wait_set* set, std::size_t, std::uint64_t* source,
                        lapwing_error* failure) override {
    return api.wait_set_add_listener(set, listener_, 0, source, failure);
  }

  void tend() {
    const Use use(*this);
    Failure failure;
    check(api.listener_tend(listener_, &failure), failure);
  }

  std::int32_t fileno() {
    const Use use(*this);
    Failure failure;
    std::int32_t fd = -1;
    const lapwing_result result = api.listener_fd(listener_, &fd, &failure);
    if (result != LAPWING_ERROR_CLOSED) check(result, failure);
    return fd;
  }

 private:
  lapwing_listener* listener_ = nullptr;
};

lapwing_channel_options only_peer(const nb::object& peer_uid) {
  lapwing_channel_options options = default_options(api.channel_options_init);
  if (!peer_uid.is_none()) {
    options.flags = LAPWING_CHANNEL_PEER_UID;
    options.peer_uid = nb::cast<std::uint32_t>(peer_uid);
  }
  return options;
}

std::unique_ptr<Listener> listen(const std::string& path, const nb::object& peer_uid) {
  const lapwing_channel_options options = only_peer(peer_uid);
  lapwing_listener* listener = nullptr;
  Failure failure;
  check(api.listener_open(path.c_str(), &options, &listener, &failure), failure);
  return std::make_unique<Listener>(listener);
}

std::unique_ptr<Listener> take_over(const std::string& path, const nb::object& peer_uid,
                                    std::int64_t timeout_ns) {
  const lapwing_channel_options options = only_peer(peer_uid);
  lapwing_listener* listener = nullptr;
  Failure failure;
  lapwing_result result = LAPWING_OK;
  {
    const WithoutGil released;
    result = api.listener_take_over(path.c_str(), &options, timeout_ns, &listener, &failure);
  }
  check(result, failure);
  return std::make_unique<Listener>(listener);
}

}  // namespace

void bind_listener(nb::module_& module) {
  using nb::arg;
  nb::class_<Listener, Handle>(module, "Listener")
      .def("accept", &Listener::accept, nb::kw_only(), arg("role"), arg("name"), arg("capacity"),
           arg("message_bytes_max"), arg("call_window"), arg("wait"), arg("numa_node"),
           arg("flags"), arg("timeout_ns"))
      .def("tend", &Listener::tend)
      .def("fileno", &Listener::fileno);
  module.def("listen", &listen, arg("path"), arg("peer_uid").none(),
             nb::sig("def listen(path: str, peer_uid: int | None) -> Listener"));
  module.def(
      "take_over", &take_over, arg("path"), arg("peer_uid").none(), arg("timeout_ns"),
      nb::sig("def take_over(path: str, peer_uid: int | None, timeout_ns: int) -> Listener"));
}

}  // namespace lapwing_python
