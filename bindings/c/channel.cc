#include "lapwing/channel.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "bindings/c/call.h"
#include "bindings/c/channel_handle.h"
#include "bindings/c/structs.h"

namespace lapwing::c {
namespace {

constexpr std::size_t kPeekMessagesMax = 4096;

template <typename Kind>
constexpr const char* kRoleName = "";
template <>
constexpr const char* kRoleName<ChannelProducer> = "producer";
template <>
constexpr const char* kRoleName<ChannelConsumer> = "consumer";
template <>
constexpr const char* kRoleName<Duplex> = "duplex";

// Besides the channel's own work, a message costs only its function calls. So rare cases are in
// separate functions; otherwise every call would save the registers that they use.
[[gnu::cold, gnu::noinline]] lapwing_result fail_role(lapwing_error* error,
                                                      const char* role) noexcept {
  return fail(error, Errc::kMisuse,
              absl::StrCat("this channel is not a ", role, ", which this call needs"));
}
[[gnu::cold, gnu::noinline]] lapwing_result fail_null(lapwing_error* error, const char* message) {
  return fail(error, Errc::kInvalidArgument, message);
}

// Calls use(end) if the handle's end is of that kind; otherwise returns misuse.
template <typename Kind, typename Use>
[[gnu::always_inline]] inline lapwing_result use_as(End& opened, lapwing_error* error, Use&& use) {
  Kind* const end = std::get_if<Kind>(&opened.end);
  if (end == nullptr) [[unlikely]]
    return fail_role(error, kRoleName<Kind>);
  return use(*end);
}
template <typename Kind, typename Use>
lapwing_result as(lapwing_channel* channel, lapwing_error* error, Use&& use) {
  return call(channel, error, [&](End& opened) { return use_as<Kind>(opened, error, use); });
}
template <typename Kind, typename Use>
[[gnu::always_inline]] inline lapwing_result quick_as(lapwing_channel* channel,
                                                      lapwing_error* error, Use&& use) {
  return quick_call(channel, error, [&](End& opened) { return use_as<Kind>(opened, error, use); });
}

std::span<const std::byte> payload_of(const lapwing_message& message) {
  return {static_cast<const std::byte*>(message.payload), message.bytes};
}

bool is_whole(const lapwing_message& message) {
  return message.payload != nullptr || message.bytes == 0;
}

absl::Status check_messages(const lapwing_message* messages, std::size_t count) {
  const bool good =
      count == 0 || (messages != nullptr && std::all_of(messages, messages + count, is_whole));
  if (good) return absl::OkStatus();
  return make_error(Errc::kInvalidArgument,
                    "a message is NULL, or its payload is while its bytes are not 0");
}

// These send the messages, and return the number sent.
Result<std::size_t> send_each(ChannelProducer& producer, std::span<const lapwing_message> messages,
                              Deadline deadline) {
  const bool waits = deadline != Deadline::now();
  std::size_t sent = 0;
  Errc result = Errc::kOk;
  for (const lapwing_message& message : messages) {
    const auto claim =
        waits ? producer.claim(message.bytes, deadline) : producer.try_claim(message.bytes);
    result = claim.error();
    if (result != Errc::kOk) break;
    if (message.bytes != 0) std::memcpy(claim->data(), message.payload, message.bytes);
    result = producer.stage(message.bytes, message.type).error();
    if (result != Errc::kOk) break;
    ++sent;
  }
  const Errc shown = producer.commit_staged().error();
  return {result == Errc::kOk ? shown : result, sent};
}

Result<std::size_t> send_each(Duplex& duplex, std::span<const lapwing_message> messages,
                              Deadline deadline) {
  const bool waits = deadline != Deadline::now();
  std::size_t sent = 0;
  for (const lapwing_message& message : messages) {
    const Result<> each = waits ? duplex.send(payload_of(message), message.type, deadline)
                                : duplex.try_send(payload_of(message), message.type);
    if (!each.ok()) return {each.error(), sent};
    ++sent;
  }
  return sent;
}

template <typename Kind>
lapwing_result send_all(Kind& end, std::span<const lapwing_message> messages, Deadline deadline,
                        std::size_t* sent, lapwing_error* error) {
  const Result<std::size_t> done = send_each(end, messages, deadline);
  if (sent != nullptr) *sent = *done;
  return answer(error, done.error(), end);
}

lapwing_message message_of(std::span<const std::byte> payload, std::uint32_t type) {
  return {payload.data(), payload.size(), type, 0};
}

[[gnu::noinline]] lapwing_result claim_waiting(lapwing_channel* channel, std::size_t bytes,
                                               std::int64_t timeout_ns, void** payload,
                                               lapwing_error* error) noexcept {
  return as<ChannelProducer>(channel, error, [&](ChannelProducer& producer) {
    const auto claim = producer.claim(bytes, deadline_in(timeout_ns));
    *payload = claim->data();
    return answer(error, claim.error(), producer);
  });
}

[[gnu::always_inline]] inline lapwing_result hand_over(const Result<Message>& peek,
                                                       ChannelConsumer& consumer, End& opened,
                                                       lapwing_message* message, std::size_t* count,
                                                       lapwing_error* error) {
  opened.has_one = peek.ok();
  *count = opened.has_one ? 1 : 0;
  if (!opened.has_one) [[unlikely]]
    return answer(error, peek.error(), consumer);
  *message = message_of(peek->payload, peek->type);
  return success();
}

[[gnu::noinline]] lapwing_result peek_waiting(lapwing_channel* channel, lapwing_message* message,
                                              std::int64_t timeout_ns, std::size_t* count,
                                              lapwing_error* error) noexcept {
  spin_pause();  // as between any two polls
  return as<ChannelConsumer>(channel, error, [&](ChannelConsumer& consumer) {
    const Result<Message> peek = consumer.peek(deadline_in(timeout_ns));
    return hand_over(peek, consumer, channel->object, message, count, error);
  });
}

lapwing_result peek_into(ChannelConsumer& consumer, End& opened,
                         std::span<lapwing_message> messages, std::int64_t timeout_ns,
                         std::size_t* count, lapwing_error* error) {
  *count = 0;
  opened.has_one = false;
  opened.borrowed = {};
  const std::size_t wanted = std::min(messages.size(), kPeekMessagesMax);
  if (opened.room.size() < wanted) opened.room.resize(wanted);
  const std::span<Message> room = std::span(opened.room).first(wanted);
  const Result<std::size_t> batch = timeout_ns == 0
                                        ? consumer.try_peek_batch(room)
                                        : consumer.peek_batch(room, deadline_in(timeout_ns));
  if (!batch.ok()) return answer(error, batch.error(), consumer);
  opened.borrowed = room.first(*batch);
  for (std::size_t i = 0; i < *batch; ++i) {
    messages[i] = message_of(room[i].payload, room[i].type);
  }
  *count = *batch;
  return success();
}

[[gnu::noinline]] lapwing_result peek_several(lapwing_channel* channel, lapwing_message* messages,
                                              std::size_t max, std::int64_t timeout_ns,
                                              std::size_t* count, lapwing_error* error) noexcept {
  return as<ChannelConsumer>(channel, error, [&](ChannelConsumer& consumer) {
    if (count == nullptr || messages == nullptr || max == 0) {
      return fail_null(error, "messages or count is NULL, or max is 0");
    }
    return peek_into(consumer, channel->object, {messages, max}, timeout_ns, count, error);
  });
}

[[gnu::noinline]] lapwing_result release_several(lapwing_channel* channel, std::size_t count,
                                                 lapwing_error* error) noexcept {
  return as<ChannelConsumer>(channel, error, [&](ChannelConsumer& consumer) -> lapwing_result {
    End& opened = channel->object;
    const std::size_t held = opened.has_one ? 1 : opened.borrowed.size();
    if (count > held) {
      return fail(error, Errc::kMisuse,
                  absl::StrCat(count, " messages cannot be released; the last peek has ", held,
                               " that are not"));
    }
    if (count == 0) return success();
    const Result<> released =
        count == held ? consumer.release() : consumer.release(opened.borrowed, count);
    if (released.ok()) opened.borrowed = opened.borrowed.subspan(count);
    return answer(error, released.error(), consumer);
  });
}

lapwing_reply reply_of(const Reply& reply) {
  lapwing_reply out{};
  out.is_error = reply.is_error ? 1 : 0;
  out.is_late = reply.is_late ? 1 : 0;
  out.code = reply.code;
  out.call = reply.call;
  out.message = message_of(reply.payload, reply.type);
  return out;
}

// finish() waits for the end of a call, and returns it.
template <typename Finish>
lapwing_result finish_call(Duplex& duplex, lapwing_reply* out, lapwing_error* error,
                           Finish&& finish) {
  if (absl::Status fits = check_struct(out, out == nullptr ? 0 : out->struct_size, "reply");
      !fits.ok()) {
    return fail(error, fits);
  }
  const Result<Reply> reply = finish();
  copy_out(reply_of(*reply), out);
  return answer(error, reply.error(), duplex);
}

lapwing_result take_next(Duplex& duplex, std::int64_t timeout_ns, lapwing_request* out,
                         lapwing_error* error) {
  if (absl::Status fits = check_struct(out, out == nullptr ? 0 : out->struct_size, "request");
      !fits.ok()) {
    return fail(error, fits);
  }
  const Result<Incoming> incoming =
      timeout_ns == 0 ? duplex.try_next() : duplex.next(deadline_in(timeout_ns));
  lapwing_request made{};
  made.call = incoming->call;
  made.message = message_of(incoming->payload, incoming->type);
  copy_out(made, out);
  return answer(error, incoming.error(), duplex);
}

lapwing_result send_reply(Duplex& duplex, const lapwing_reply* given, std::int64_t timeout_ns,
                          lapwing_error* error) {
  lapwing_reply reply{};
  if (given == nullptr)
    return fail(error, Errc::kInvalidArgument, "reply is NULL; give its address");
  if (absl::Status read = copy_in(given, "reply", reply); !read.ok()) return fail(error, read);
  if (absl::Status good = check_messages(&reply.message, 1); !good.ok()) return fail(error, good);
  const Deadline deadline = deadline_in(timeout_ns);
  const std::span<const std::byte> payload = payload_of(reply.message);
  const Result<> sent =
      reply.is_error != 0
          ? duplex.reply_error(reply.call, reply.code,
                               {reinterpret_cast<const char*>(payload.data()), payload.size()},
                               deadline)
          : duplex.reply(reply.call, payload, reply.message.type, deadline);
  return answer(error, sent.error(), duplex);
}

bool arm_end(ChannelProducer& producer, std::size_t bytes) {
  return producer.arm(bytes);
}
bool arm_end(ChannelConsumer& consumer, std::size_t) {
  return consumer.arm();
}
bool arm_end(Duplex& duplex, std::size_t) {
  return duplex.arm();
}

constexpr std::uint32_t role_number(const ChannelProducer&) {
  return LAPWING_CHANNEL_ROLE_PRODUCER;
}
constexpr std::uint32_t role_number(const ChannelConsumer&) {
  return LAPWING_CHANNEL_ROLE_CONSUMER;
}
constexpr std::uint32_t role_number(const Duplex&) {
  return LAPWING_CHANNEL_ROLE_DUPLEX;
}

template <typename Kind>
lapwing_channel_info channel_info(const Kind& end) {
  const ChannelCounters counters = end.counters();
  lapwing_channel_info info{};
  info.role = role_number(end);
  info.connection_id = id_of(end.connection_id());
  info.message_bytes_max = end.message_bytes_max();
  info.sent = counters.messages_sent;
  info.received = counters.messages_received;
  info.released = counters.messages_released;
  info.full_waits = counters.full_waits;
  info.empty_waits = counters.empty_waits;
  info.sleeps = counters.sleeps;
  info.wakes = counters.wakes;
  if constexpr (std::is_same_v<Kind, Duplex>) {
    info.late_replies = end.duplex_counters().late_replies;
  }
  return info;
}

}  // namespace
}  // namespace lapwing::c

using namespace lapwing::c;
using lapwing::ChannelConsumer;
using lapwing::ChannelOptions;
using lapwing::ChannelProducer;
using lapwing::Duplex;
using lapwing::Errc;
using lapwing::Message;
using lapwing::Result;

extern "C" {

void lapwing_channel_options_init(lapwing_channel_options* options, uint32_t struct_size) {
  set_defaults(lapwing_channel_options LAPWING_CHANNEL_OPTIONS_INIT, options, struct_size);
}

lapwing_result lapwing_channel_connect(const char* path, uint32_t role,
                                       const lapwing_channel_options* options, int64_t timeout_ns,
                                       lapwing_channel** channel, lapwing_error* error) {
  return open_into(channel, error, [&]() -> absl::StatusOr<End> {
    const absl::StatusOr<Role> meant = role_of(role);
    if (!meant.ok()) return meant.status();
    const absl::StatusOr<ChannelOptions> made = channel_options(options);
    if (!made.ok()) return made.status();
    return make_end(*meant, [&](auto* type) {
      using Kind = std::remove_pointer_t<decltype(type)>;
      return Kind::connect(text_of(path), *made, deadline_in(timeout_ns));
    });
  });
}

lapwing_result lapwing_channel_claim(lapwing_channel* channel, size_t bytes, int64_t timeout_ns,
                                     void** payload, lapwing_error* error) {
  return quick_as<ChannelProducer>(channel, error, [&](ChannelProducer& producer) {
    if (payload == nullptr) [[unlikely]]
      return fail_null(error, "payload is NULL; give its address");
    const auto claim = producer.try_claim(bytes);
    *payload = claim->data();
    if (claim.error() == Errc::kWouldBlock && timeout_ns != 0) {
      return claim_waiting(channel, bytes, timeout_ns, payload, error);
    }
    return answer(error, claim.error(), producer);
  });
}

lapwing_result lapwing_channel_commit(lapwing_channel* channel, size_t bytes, uint32_t type,
                                      lapwing_error* error) {
  return quick_as<ChannelProducer>(channel, error, [&](ChannelProducer& producer) {
    return answer(error, producer.commit(bytes, type).error(), producer);
  });
}

lapwing_result lapwing_channel_abort(lapwing_channel* channel, lapwing_error* error) {
  return as<ChannelProducer>(channel, error, [&](ChannelProducer& producer) {
    return answer(error, producer.abort().error(), producer);
  });
}

lapwing_result lapwing_channel_send(lapwing_channel* channel, const lapwing_message* messages,
                                    size_t count, int64_t timeout_ns, size_t* sent,
                                    lapwing_error* error) {
  if (sent != nullptr) *sent = 0;
  return call(channel, error, [&](End& opened) -> lapwing_result {
    if (absl::Status good = check_messages(messages, count); !good.ok()) return fail(error, good);
    const std::span all(messages, count);
    if (auto* producer = std::get_if<ChannelProducer>(&opened.end)) {
      return send_all(*producer, all, deadline_in(timeout_ns), sent, error);
    }
    if (auto* duplex = std::get_if<Duplex>(&opened.end)) {
      return send_all(*duplex, all, deadline_in(timeout_ns), sent, error);
    }
    return fail(error, Errc::kMisuse, "this channel is a consumer, which sends nothing");
  });
}

lapwing_result lapwing_channel_drain(lapwing_channel* channel, int64_t timeout_ns,
                                     lapwing_error* error) {
  return as<ChannelProducer>(channel, error, [&](ChannelProducer& producer) {
    return answer(error, producer.drain(deadline_in(timeout_ns)).error(), producer);
  });
}

lapwing_result lapwing_channel_peek(lapwing_channel* channel, lapwing_message* messages, size_t max,
                                    int64_t timeout_ns, size_t* count, lapwing_error* error) {
  if (max != 1) [[unlikely]]
    return peek_several(channel, messages, max, timeout_ns, count, error);
  return quick_as<ChannelConsumer>(channel, error, [&](ChannelConsumer& consumer) {
    if (count == nullptr || messages == nullptr) [[unlikely]]
      return fail_null(error, "messages or count is NULL");
    channel->object.borrowed = {};
    const Result<Message> peek = consumer.try_peek();
    if (peek.error() == Errc::kWouldBlock && timeout_ns != 0) {
      return peek_waiting(channel, messages, timeout_ns, count, error);
    }
    return hand_over(peek, consumer, channel->object, messages, count, error);
  });
}

lapwing_result lapwing_channel_release(lapwing_channel* channel, size_t count,
                                       lapwing_error* error) {
  if (count != 1 || channel == nullptr || !channel->object.has_one) [[unlikely]]
    return release_several(channel, count, error);
  return quick_as<ChannelConsumer>(channel, error, [&](ChannelConsumer& consumer) {
    const Result<> released = consumer.release();
    channel->object.has_one = !released.ok();
    return answer(error, released.error(), consumer);
  });
}

lapwing_result lapwing_channel_start(lapwing_channel* channel, const lapwing_message* request,
                                     int64_t timeout_ns, uint64_t* call, lapwing_error* error) {
  return as<Duplex>(channel, error, [&](Duplex& duplex) -> lapwing_result {
    if (absl::Status good = check_messages(request, 1); !good.ok()) return fail(error, good);
    if (call == nullptr) {
      return fail(error, Errc::kInvalidArgument, "call is NULL; give its address");
    }
    const lapwing::Result<lapwing::CallId> started =
        duplex.start(payload_of(*request), request->type, deadline_in(timeout_ns));
    *call = *started;
    return answer(error, started.error(), duplex);
  });
}

lapwing_result lapwing_channel_finish(lapwing_channel* channel, uint64_t call, lapwing_reply* reply,
                                      lapwing_error* error) {
  return as<Duplex>(channel, error, [&](Duplex& duplex) {
    return finish_call(duplex, reply, error, [&] { return duplex.finish(call); });
  });
}

lapwing_result lapwing_channel_finish_any(lapwing_channel* channel, int64_t timeout_ns,
                                          lapwing_reply* reply, lapwing_error* error) {
  return as<Duplex>(channel, error, [&](Duplex& duplex) {
    return finish_call(duplex, reply, error, [&] {
      return timeout_ns == 0 ? duplex.try_finish_any() : duplex.finish_any(deadline_in(timeout_ns));
    });
  });
}

lapwing_result lapwing_channel_cancel(lapwing_channel* channel, uint64_t call,
                                      lapwing_error* error) {
  return as<Duplex>(channel, error, [&](Duplex& duplex) {
    return answer(error, duplex.cancel(call).error(), duplex);
  });
}

lapwing_result lapwing_channel_next(lapwing_channel* channel, int64_t timeout_ns,
                                    lapwing_request* request, lapwing_error* error) {
  return as<Duplex>(channel, error,
                    [&](Duplex& duplex) { return take_next(duplex, timeout_ns, request, error); });
}

lapwing_result lapwing_channel_reply(lapwing_channel* channel, const lapwing_reply* reply,
                                     int64_t timeout_ns, lapwing_error* error) {
  return as<Duplex>(channel, error,
                    [&](Duplex& duplex) { return send_reply(duplex, reply, timeout_ns, error); });
}

lapwing_result lapwing_channel_arm(lapwing_channel* channel, size_t bytes, int32_t* armed,
                                   lapwing_error* error) {
  return call(channel, error, [&](End& opened) {
    if (armed == nullptr) {
      return fail(error, Errc::kInvalidArgument, "armed is NULL; give its address");
    }
    *armed = std::visit([&](auto& end) { return arm_end(end, bytes); }, opened.end) ? 1 : 0;
    return success();
  });
}

lapwing_result lapwing_channel_fd(lapwing_channel* channel, int32_t* fd, lapwing_error* error) {
  return call(channel, error, [&](End& opened) {
    return put_fd(std::visit([](const auto& end) { return end.fd(); }, opened.end), fd, error);
  });
}

lapwing_result lapwing_channel_inspect(lapwing_channel* channel, lapwing_channel_info* info,
                                       lapwing_error* error) {
  return call(channel, error, [&](End& opened) {
    return fill(info, "info", error, [&] {
      return std::visit([](const auto& end) { return channel_info(end); }, opened.end);
    });
  });
}

void lapwing_channel_interrupt(lapwing_channel* channel) {
  if (channel == nullptr) return;
  std::visit([](auto& end) { end.interrupt(); }, channel->object.end);
}

lapwing_result lapwing_channel_close(lapwing_channel* channel, lapwing_error* error) {
  return call(channel, error, [&](End& opened) {
    std::visit([](auto& end) { end.close(); }, opened.end);
    return success();
  });
}

void lapwing_channel_destroy(lapwing_channel** channel) {
  destroy(channel);
}

}  // extern "C"
