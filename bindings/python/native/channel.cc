#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <native/bind.h>
#include <native/channel.h>

#include <algorithm>

namespace lapwing_python {

namespace {

constexpr std::size_t kPeekMessagesMax = 4096;  // the library returns at most this many at once

constexpr const char* kClaimIsViewed =
    "a view of the claimed memory is alive. Release it (memoryview.release, del), then commit or "
    "abort";
constexpr const char* kMessageIsViewed =
    "a view of a message is alive, so the message is not released. Delete the view, or copy the "
    "message with bytes()";

lapwing_message message_of(const Memory& memory, std::uint32_t type) {
  return {.payload = memory.data(), .bytes = memory.bytes(), .type = type, .reserved = 0};
}

nb::bytes copied(const lapwing_message& message) {
  return nb::bytes(static_cast<const char*>(message.payload), message.bytes);
}

// (call, type, payload, is_error, code, is_late); the payload is copied.
nb::tuple copied(const lapwing_reply& reply) {
  return nb::make_tuple(reply.call, reply.message.type, copied(reply.message), reply.is_error != 0,
                        reply.code, reply.is_late != 0);
}

lapwing_reply empty_reply() {
  lapwing_reply reply = {};
  reply.struct_size = sizeof reply;
  return reply;
}

}  // namespace

lapwing_channel_options channel_options(const std::string& name, std::uint64_t capacity,
                                        std::uint32_t message_bytes_max, std::uint32_t call_window,
                                        std::uint32_t wait, std::uint32_t numa_node,
                                        std::uint32_t peer_uid, std::int64_t retry_ns,
                                        std::uint32_t flags) {
  lapwing_channel_options options = default_options(api.channel_options_init);
  options.flags = flags;
  options.name = or_null(name);
  options.capacity = capacity;
  options.message_bytes_max = message_bytes_max;
  options.call_window = call_window;
  options.wait = wait;
  options.numa_node = numa_node;
  options.peer_uid = peer_uid;
  options.retry_ns = retry_ns;
  return options;
}

// ---- borrowed and claimed memory ------------------------------------------------------

void Channel::check_claim() const {
  if (claimed_ != nullptr) check_no_view(*claimed_, kClaimIsViewed);
}

void Channel::end_claim() {
  if (claimed_ != nullptr) claimed_->is_ended = true;
  claimed_.reset();
}

void Channel::check_unused() {
  bool is_viewed = claimed_ != nullptr && claimed_->views > 0;
  for (const auto& message : peeked_) is_viewed = is_viewed || message->views > 0;
  if (!is_viewed) return;
  Failure failure;
  if (api.channel_close(channel_, &failure) == LAPWING_OK) {
    raise(LAPWING_ERROR_MISUSE,
          "the channel is closed, but a view of its memory is alive. Delete the view, then call "
          "destroy() to free the memory");
  }
  raise(LAPWING_ERROR_MISUSE,
        "a view of the channel's memory is alive. Delete the view, then call destroy()");
}

void Channel::free_now() {
  end_claim();
  for (const auto& message : peeked_) message->is_ended = true;
  peeked_.clear();
  lapwing_channel* freed = std::exchange(channel_, nullptr);
  const WithoutGil released;
  api.channel_destroy(&freed);
}

// ---- producer -------------------------------------------------------------------------

Claim Channel::claim(nb::handle self, nb::handle size, std::int64_t timeout_ns) {
  const Use use(*this);
  const std::size_t bytes = whole("bytes", size);
  check_claim();
  end_claim();
  Failure failure;
  void* payload = nullptr;
  check(wait(*this, timeout_ns, Gil::kHeld,
             [&](std::int64_t left) {
               return api.channel_claim(channel_, bytes, left, &payload, &failure);
             }),
        failure);
  claimed_ = std::make_shared<Borrowed>();
  claimed_->data = payload;
  claimed_->bytes = bytes;
  claimed_->is_writable = true;
  return {{claimed_, nb::borrow(self)}};
}

void Channel::commit(nb::handle bytes, nb::handle type) {
  const Use use(*this);
  check_claim();
  Failure failure;
  check(api.channel_commit(channel_, whole("bytes", bytes), whole32("type", type), &failure),
        failure);
  end_claim();
}

void Channel::abort() {
  const Use use(*this);
  check_claim();
  Failure failure;
  check(api.channel_abort(channel_, &failure), failure);
  end_claim();
}

void Channel::send(nb::handle payload, nb::handle type, std::int64_t timeout_ns) {
  const Use use(*this);
  const Memory memory("payload", payload, Memory::Access::kRead);
  const lapwing_message message = message_of(memory, whole32("type", type));
  send_all(&message, 1, timeout_ns);
}

// Sends (payload, type) pairs. Returns the number sent.
std::size_t Channel::send_many(const nb::list& messages, std::int64_t timeout_ns) {
  const Use use(*this);
  std::deque<Memory> memories;
  messages_.clear();
  for (nb::handle each : messages) {
    const auto pair = nb::cast<nb::tuple>(each);
    const nb::object payload = pair[0];
    const Memory& memory = memories.emplace_back("payload", payload, Memory::Access::kRead);
    const nb::object type = pair[1];
    messages_.push_back(message_of(memory, whole32("type", type)));
  }
  return send_all(messages_.data(), messages_.size(), timeout_ns);
}

std::size_t Channel::send_all(const lapwing_message* messages, std::size_t count,
                              std::int64_t timeout_ns) {
  check_claim();
  Failure failure;
  std::size_t done = 0;
  const lapwing_result result = wait(*this, timeout_ns, Gil::kHeld, [&](std::int64_t left) {
    std::size_t sent = 0;
    const lapwing_result code =
        api.channel_send(channel_, messages + done, count - done, left, &sent, &failure);
    done += sent;
    return code;
  });
  check(result, failure, {"sent", done});
  return done;
}

void Channel::drain(std::int64_t timeout_ns) {
  const Use use(*this);
  Failure failure;
  check(wait(*this, timeout_ns, Gil::kReleased,
             [&](std::int64_t left) { return api.channel_drain(channel_, left, &failure); }),
        failure);
}

// ---- consumer -------------------------------------------------------------------------

nb::list Channel::peek(nb::handle self, nb::handle max, std::int64_t timeout_ns) {
  const Use use(*this);
  messages_.resize(std::min<std::size_t>(whole("max", max), kPeekMessagesMax));
  Failure failure;
  std::size_t count = 0;
  check(wait(*this, timeout_ns, Gil::kHeld,
             [&](std::int64_t left) {
               return api.channel_peek(channel_, messages_.data(), messages_.size(), left, &count,
                                       &failure);
             }),
        failure);
  nb::list borrowed;
  for (std::size_t i = 0; i < count; ++i) {
    if (i == peeked_.size()) peeked_.push_back(std::make_shared<Borrowed>());
    Borrowed& message = *peeked_[i];
    message.data = const_cast<void*>(messages_[i].payload);
    message.bytes = messages_[i].bytes;
    message.type = messages_[i].type;
    borrowed.append(nb::cast(Message{{peeked_[i], nb::borrow(self)}}));
  }
  return borrowed;
}

void Channel::release(nb::handle first_messages) {
  const Use use(*this);
  const std::size_t count = whole("count", first_messages);
  for (std::size_t i = 0; i < count && i < peeked_.size(); ++i) {
    check_no_view(*peeked_[i], kMessageIsViewed);
  }
  Failure failure;
  check(api.channel_release(channel_, count, &failure), failure);
  for (std::size_t i = 0; i < count && !peeked_.empty(); ++i) {
    peeked_.front()->is_ended = true;
    peeked_.pop_front();
  }
}

// ---- duplex ---------------------------------------------------------------------------

std::uint64_t Channel::start(nb::handle payload, nb::handle type, std::int64_t timeout_ns) {
  const Use use(*this);
  const Memory memory("payload", payload, Memory::Access::kRead);
  const lapwing_message request = message_of(memory, whole32("type", type));
  Failure failure;
  std::uint64_t call = 0;
  check(call_whole(*this, timeout_ns,
                   [&](std::int64_t left) {
                     return api.channel_start(channel_, &request, left, &call, &failure);
                   }),
        failure);
  return call;
}

// Waits at most for the call's own timeout.
nb::tuple Channel::finish(nb::handle started) {
  const Use use(*this);
  const std::uint64_t call = whole("call", started);
  Failure failure;
  lapwing_reply reply = empty_reply();
  check(call_whole(
            *this, LAPWING_FOREVER,
            [&](std::int64_t) { return api.channel_finish(channel_, call, &reply, &failure); }),
        failure, {"call", reply.call});
  return copied(reply);
}

nb::tuple Channel::finish_any(std::int64_t timeout_ns) {
  const Use use(*this);
  Failure failure;
  lapwing_reply reply = empty_reply();
  check(wait(*this, timeout_ns, Gil::kHeld,
             [&](std::int64_t left) {
               return api.channel_finish_any(channel_, left, &reply, &failure);
             }),
        failure, {"call", reply.call});
  return copied(reply);
}

void Channel::cancel(nb::handle call) {
  const Use use(*this);
  Failure failure;
  check(api.channel_cancel(channel_, whole("call", call), &failure), failure);
}

nb::tuple Channel::next(std::int64_t timeout_ns) {
  const Use use(*this);
  Failure failure;
  lapwing_request request = {};
  request.struct_size = sizeof request;
  check(
      wait(*this, timeout_ns, Gil::kHeld,
           [&](std::int64_t left) { return api.channel_next(channel_, left, &request, &failure); }),
      failure);
  return nb::make_tuple(request.call, request.message.type, copied(request.message));
}

void Channel::reply(std::uint64_t call, nb::handle payload, nb::handle type, bool is_error,
                    nb::handle code, std::int64_t timeout_ns) {
  const Use use(*this);
  const Memory memory("payload", payload, Memory::Access::kRead);
  lapwing_reply reply = empty_reply();
  reply.is_error = is_error ? 1 : 0;
  reply.code = whole32("code", code);
  reply.call = call;
  reply.message = message_of(memory, whole32("type", type));
  Failure failure;
  check(
      wait(*this, timeout_ns, Gil::kHeld,
           [&](std::int64_t left) { return api.channel_reply(channel_, &reply, left, &failure); }),
      failure);
}

// ---- both -----------------------------------------------------------------------------

bool Channel::arm(nb::handle bytes) {
  const Use use(*this);
  check_claim();
  Failure failure;
  std::int32_t armed = 0;
  check(api.channel_arm(channel_, whole("bytes", bytes), &armed, &failure), failure);
  end_claim();
  return armed != 0;
}

std::int32_t Channel::fileno() {
  const Use use(*this);
  Failure failure;
  std::int32_t fd = -1;
  const lapwing_result result = api.channel_fd(channel_, &fd, &failure);
  if (result != LAPWING_ERROR_CLOSED) check(result, failure);
  return fd;
}

lapwing_channel_info Channel::inspect() {
  const Use use(*this);
  Failure failure;
  lapwing_channel_info info = {};
  info.struct_size = sizeof info;
  check(api.channel_inspect(channel_, &info, &failure), failure);
  return info;
}

void Channel::close() {
  const Use use(*this);
  Failure failure;
  lapwing_result result = LAPWING_OK;
  {
    const WithoutGil released;
    result = api.channel_close(channel_, &failure);
  }
  check(result, failure);
}

namespace {

std::unique_ptr<Channel> connect(const std::string& path, std::uint32_t role,
                                 const std::string& name, std::uint64_t capacity,
                                 std::uint32_t message_bytes_max, std::uint32_t call_window,
                                 std::uint32_t wait, std::uint32_t numa_node,
                                 std::uint32_t peer_uid, std::int64_t retry_ns, std::uint32_t flags,
                                 std::int64_t timeout_ns) {
  const lapwing_channel_options options = channel_options(
      name, capacity, message_bytes_max, call_window, wait, numa_node, peer_uid, retry_ns, flags);
  lapwing_channel* channel = nullptr;
  Failure failure;
  lapwing_result result = LAPWING_OK;
  {
    const WithoutGil released;
    result = api.channel_connect(path.c_str(), role, &options, timeout_ns, &channel, &failure);
  }
  check(result, failure);
  return std::make_unique<Channel>(channel);
}

// Exports a message's bytes as DLPack, for any library that reads it.
nb::object dlpack(nb::handle self, const nb::kwargs& options) {
  const nb::object bytes = nb::module_::import_("numpy").attr("frombuffer")(self, "u1");
  return bytes.attr("__dlpack__")(**options);
}

template <typename T>
nb::class_<T> bind_memory(nb::module_& module, const char* name, const char* doc) {
  return nb::class_<T>(module, name, doc, nb::type_slots(kBufferSlots<T>))
      .def("__len__", [](const T& self) { return self.borrowed->bytes; })
      .def_prop_ro("is_open", [](const T& self) { return !self.borrowed->is_ended; })
      .def("__dlpack__", &dlpack, nb::sig("def __dlpack__(self, **options: object) -> object"))
      .def(
          "__dlpack_device__", [](const T&) { return nb::make_tuple(1, 0); },  // the CPU
          nb::sig("def __dlpack_device__(self) -> tuple[int, int]"));
}

}  // namespace

void bind_channel(nb::module_& module) {
  using nb::arg;
  bind_memory<Message>(module, "Message",
                       "A borrowed message: read-only memory of the producer, valid until it is "
                       "released. bytes() copies it; memoryview() and numpy.frombuffer() do not.")
      .def_prop_ro("type", [](const Message& self) { return self.borrowed->type; });
  bind_memory<Claim>(module, "ClaimedMemory", "Claimed memory, writable until commit or abort.");
  nb::class_<Channel, Handle>(module, "Channel")
      .def(
          "claim",
          [](nb::pointer_and_handle<Channel> self, nb::handle bytes, std::int64_t timeout_ns) {
            return self.p->claim(self.h, bytes, timeout_ns);
          },
          arg("bytes").none(), arg("timeout_ns"))
      .def("commit", &Channel::commit, arg("bytes").none(), arg("type").none())
      .def("abort", &Channel::abort)
      .def("send", &Channel::send, arg("payload").none(), arg("type").none(), arg("timeout_ns"))
      .def("send_many", &Channel::send_many, arg("messages"), arg("timeout_ns"),
           nb::sig(
               "def send_many(self, messages: list[tuple[object, int]], timeout_ns: int) -> int"))
      .def("drain", &Channel::drain, arg("timeout_ns"))
      .def(
          "peek",
          [](nb::pointer_and_handle<Channel> self, nb::handle max, std::int64_t timeout_ns) {
            return self.p->peek(self.h, max, timeout_ns);
          },
          arg("max").none(), arg("timeout_ns"),
          nb::sig("def peek(self, max: int, timeout_ns: int) -> list[Message]"))
      .def("release", &Channel::release, arg("count").none())
      .def("start", &Channel::start, arg("payload").none(), arg("type").none(), arg("timeout_ns"))
      .def("finish", &Channel::finish, arg("call").none(),
           nb::sig("def finish(self, call: int) -> tuple[int, int, bytes, bool, int, bool]"))
      .def("finish_any", &Channel::finish_any, arg("timeout_ns"),
           nb::sig("def finish_any(self, timeout_ns: int) -> "
                   "tuple[int, int, bytes, bool, int, bool]"))
      .def("cancel", &Channel::cancel, arg("call").none())
      .def("next", &Channel::next, arg("timeout_ns"),
           nb::sig("def next(self, timeout_ns: int) -> tuple[int, int, bytes]"))
      .def("reply", &Channel::reply, arg("call"), arg("payload").none(), arg("type").none(),
           arg("is_error"), arg("code").none(), arg("timeout_ns"))
      .def("arm", &Channel::arm, arg("bytes").none())
      .def("fileno", &Channel::fileno)
      .def("inspect", &Channel::inspect)
      .def("close", &Channel::close);
  module.def("connect", &connect, nb::kw_only(), arg("path"), arg("role"), arg("name"),
             arg("capacity"), arg("message_bytes_max"), arg("call_window"), arg("wait"),
             arg("numa_node"), arg("peer_uid"), arg("retry_ns"), arg("flags"), arg("timeout_ns"));
}

}  // namespace lapwing_python
