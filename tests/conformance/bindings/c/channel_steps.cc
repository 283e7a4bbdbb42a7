#include <cstring>

#include "absl/strings/str_cat.h"
#include "tests/conformance/bindings/c/driver.h"

namespace lapwing::conformance {
namespace {

// The calls of a scenario: a client's by number, a server's by name.
class Calls {
 public:
  std::uint64_t add(std::uint64_t call) {
    const std::lock_guard lock(mutex_);
    started_.push_back(call);
    return started_.size();
  }
  // Returns 0 for an unknown number.
  std::uint64_t started(std::uint64_t number) {
    const std::lock_guard lock(mutex_);
    return number == 0 || number > started_.size() ? 0 : started_[number - 1];
  }
  std::uint64_t number_of(std::uint64_t call) {
    const std::lock_guard lock(mutex_);
    for (std::size_t i = 0; i < started_.size(); ++i) {
      if (started_[i] == call) return i + 1;
    }
    return 0;
  }
  void keep(const std::string& name, std::uint64_t call) {
    const std::lock_guard lock(mutex_);
    served_[name] = call;
  }
  std::uint64_t served(const std::string& name) {
    const std::lock_guard lock(mutex_);
    return served_[name];
  }

 private:
  std::mutex mutex_;
  std::vector<std::uint64_t> started_;
  std::map<std::string, std::uint64_t> served_;
};

Calls& calls() {
  static auto* const all = new Calls;
  return *all;
}

constexpr std::uint64_t kNoSuchCall = ~std::uint64_t{0};

std::uint32_t role_of(const Step& step) {
  return step.choice("role", {"producer", "consumer", "duplex"}, LAPWING_CHANNEL_ROLE_PRODUCER, 0);
}

lapwing_channel_options options_of(const Step& step) {
  auto options = sized<lapwing_channel_options>();
  step.set("capacity", options.capacity);
  step.set("message_bytes_max", options.message_bytes_max);
  step.set("call_window", options.call_window);
  if (step.number("late_replies") != 0) options.flags |= LAPWING_CHANNEL_LATE_REPLIES;
  return options;
}

Lines listen(const Step& step) {
  const lapwing_channel_options options = options_of(step);
  lapwing_listener* opened = nullptr;
  const lapwing_result result =
      lapwing_listener_open(step.text_or_null("path"), &options, &opened, nullptr);
  if (result == LAPWING_OK) listeners().put(step.text("as"), opened);
  return line(result);
}

Lines take_over(const Step& step) {
  const lapwing_channel_options options = options_of(step);
  lapwing_listener* opened = nullptr;
  const lapwing_result result = lapwing_listener_take_over(step.text_or_null("path"), &options,
                                                           step.timeout_ns(), &opened, nullptr);
  if (result == LAPWING_OK) listeners().put(step.text("as"), opened);
  return line(result);
}

Lines accept(const Step& step) {
  const lapwing_channel_options options = options_of(step);
  lapwing_channel* opened = nullptr;
  const lapwing_result result = lapwing_listener_accept(
      listeners().of(step), role_of(step), &options, step.timeout_ns(), &opened, nullptr);
  if (result == LAPWING_OK) channels().put(step.text("as"), opened);
  return line(result);
}

Lines connect(const Step& step) {
  const lapwing_channel_options options = options_of(step);
  lapwing_channel* opened = nullptr;
  const lapwing_result result = lapwing_channel_connect(
      step.text_or_null("path"), role_of(step), &options, step.timeout_ns(), &opened, nullptr);
  if (result == LAPWING_OK) channels().put(step.text("as"), opened);
  return line(result);
}

Lines write(const Step& step) {
  lapwing_channel* const channel = channels().of(step);
  const std::vector<std::byte> message = record_of(step.number("n"), step.number("bytes"));
  void* payload = nullptr;
  const lapwing_result claimed = lapwing_channel_claim(
      channel, step.number("claim", message.size()), step.timeout_ns(), &payload, nullptr);
  if (claimed != LAPWING_OK) return line(claimed);
  if (step.number("claim", message.size()) >= message.size() && !message.empty()) {
    std::memcpy(payload, message.data(), message.size());
  }
  return line(lapwing_channel_commit(channel, message.size(),
                                     static_cast<std::uint32_t>(step.number("type")), nullptr));
}

Lines abort_claim(const Step& step) {
  lapwing_channel* const channel = channels().of(step);
  void* payload = nullptr;
  const lapwing_result claimed =
      lapwing_channel_claim(channel, step.number("bytes"), step.timeout_ns(), &payload, nullptr);
  return line(claimed == LAPWING_OK ? lapwing_channel_abort(channel, nullptr) : claimed);
}

Lines send(const Step& step) {
  const std::size_t bytes = step.number("bytes");
  std::vector<std::vector<std::byte>> payloads;
  for (std::size_t i = 0; i < step.number("count", 1); ++i) {
    payloads.push_back(record_of(step.number("n") + i, bytes));
  }
  std::vector<lapwing_message> messages;
  for (const std::vector<std::byte>& payload : payloads) {
    messages.push_back(
        {payload.data(), payload.size(), static_cast<std::uint32_t>(step.number("type")), 0});
  }
  std::size_t sent = 0;
  const lapwing_result result = lapwing_channel_send(
      channels().of(step), messages.data(), messages.size(), step.timeout_ns(), &sent, nullptr);
  return {absl::StrCat(name_of_result(result), " sent=", sent)};
}

Lines drain(const Step& step) {
  return line(lapwing_channel_drain(channels().of(step), step.timeout_ns(), nullptr));
}

std::string message_text(const lapwing_message& message) {
  return absl::StrCat(message.type, ":", message.bytes, ":",
                      digest_of({static_cast<const std::byte*>(message.payload), message.bytes}));
}

Lines peek(const Step& step) {
  std::vector<lapwing_message> messages(step.number("max"));
  std::size_t count = 0;
  const lapwing_result result = lapwing_channel_peek(
      channels().of(step), messages.data(), messages.size(), step.timeout_ns(), &count, nullptr);
  std::string all;
  for (std::size_t i = 0; i < count; ++i) {
    absl::StrAppend(&all, i == 0 ? "" : ",", message_text(messages[i]));
  }
  return line(result, absl::StrCat("count=", count, " messages=", all));
}

Lines release(const Step& step) {
  return line(lapwing_channel_release(channels().of(step), step.number("count"), nullptr));
}

Lines start(const Step& step) {
  const std::vector<std::byte> payload = record_of(step.number("n"), step.number("bytes"));
  const lapwing_message message{payload.data(), payload.size(),
                                static_cast<std::uint32_t>(step.number("type")), 0};
  std::uint64_t call = 0;
  const lapwing_result result =
      lapwing_channel_start(channels().of(step), &message, step.timeout_ns(), &call, nullptr);
  if (result != LAPWING_OK) return line(result);
  return line(result, absl::StrCat("call=", calls().add(call)));
}

Lines finish(const Step& step) {
  const std::uint64_t number = step.number("call");
  const std::uint64_t call = number == 0 ? 0 : calls().started(number);
  auto reply = sized<lapwing_reply>();
  const lapwing_result result =
      number == 0
          ? lapwing_channel_finish_any(channels().of(step), step.timeout_ns(), &reply, nullptr)
          : lapwing_channel_finish(channels().of(step), call == 0 ? kNoSuchCall : call, &reply,
                                   nullptr);
  if (result != LAPWING_OK) return line(result);
  return line(result,
              absl::StrCat("call=", calls().number_of(reply.call), " error=", reply.is_error,
                           " late=", reply.is_late, " code=", reply.code,
                           " type=", reply.message.type, " bytes=", reply.message.bytes, " digest=",
                           digest_of({static_cast<const std::byte*>(reply.message.payload),
                                      reply.message.bytes})));
}

Lines cancel(const Step& step) {
  return line(
      lapwing_channel_cancel(channels().of(step), calls().started(step.number("call")), nullptr));
}

Lines next(const Step& step) {
  auto request = sized<lapwing_request>();
  const lapwing_result result =
      lapwing_channel_next(channels().of(step), step.timeout_ns(), &request, nullptr);
  if (result != LAPWING_OK) return line(result);
  calls().keep(step.text("as"), request.call);
  return line(result,
              absl::StrCat("call=", request.call == 0 ? 0 : 1, " type=", request.message.type,
                           " bytes=", request.message.bytes, " digest=",
                           digest_of({static_cast<const std::byte*>(request.message.payload),
                                      request.message.bytes})));
}

Lines reply(const Step& step) {
  auto answer = sized<lapwing_reply>();
  const std::vector<std::byte> payload = record_of(step.number("n"), step.number("bytes"));
  const std::string text = step.text("text");
  answer.call = calls().served(step.text("call"));
  answer.is_error = step.has("error") ? 1 : 0;
  answer.code = static_cast<std::uint32_t>(step.number("error"));
  answer.message.payload = step.has("error") ? static_cast<const void*>(text.data())
                                             : static_cast<const void*>(payload.data());
  answer.message.bytes = step.has("error") ? text.size() : payload.size();
  answer.message.type = static_cast<std::uint32_t>(step.number("type"));
  return line(lapwing_channel_reply(channels().of(step), &answer, step.timeout_ns(), nullptr));
}

Lines arm(const Step& step) {
  std::int32_t armed = 0;
  const lapwing_result result =
      lapwing_channel_arm(channels().of(step), step.number("bytes"), &armed, nullptr);
  return line(result, absl::StrCat("armed=", armed));
}

Lines inspect(const Step& step) {
  constexpr const char* kRoles[] = {"none", "producer", "consumer", "duplex"};
  auto info = sized<lapwing_channel_info>();
  const lapwing_result result = lapwing_channel_inspect(channels().of(step), &info, nullptr);
  return line(result, absl::StrCat("role=", kRoles[info.role],
                                   " message_bytes_max=", info.message_bytes_max,
                                   " sent=", info.sent, " received=", info.received,
                                   " released=", info.released, " late=", info.late_replies));
}

}  // namespace

Handles<lapwing_listener>& listeners() {
  static auto* const all = new Handles<lapwing_listener>;
  return *all;
}

Handles<lapwing_channel>& channels() {
  static auto* const all = new Handles<lapwing_channel>;
  return *all;
}

Operations channel_operations() {
  return {
      {"listener.open", listen},
      {"listener.take-over", take_over},
      {"listener.accept", accept},
      {"listener.tend",
       [](const Step& step) { return line(lapwing_listener_tend(listeners().of(step), nullptr)); }},
      {"listener.interrupt",
       [](const Step& step) { return interrupt(listeners(), step, lapwing_listener_interrupt); }},
      {"listener.destroy",
       [](const Step& step) { return destroy(listeners(), step, lapwing_listener_destroy); }},
      {"channel.connect", connect},
      {"channel.write", write},
      {"channel.abort", abort_claim},
      {"channel.send", send},
      {"channel.drain", drain},
      {"channel.peek", peek},
      {"channel.release", release},
      {"channel.start", start},
      {"channel.finish", finish},
      {"channel.cancel", cancel},
      {"channel.next", next},
      {"channel.reply", reply},
      {"channel.arm", arm},
      {"channel.inspect", inspect},
      {"channel.interrupt",
       [](const Step& step) { return interrupt(channels(), step, lapwing_channel_interrupt); }},
      {"channel.close",
       [](const Step& step) { return line(lapwing_channel_close(channels().of(step), nullptr)); }},
      {"channel.destroy",
       [](const Step& step) { return destroy(channels(), step, lapwing_channel_destroy); }},
  };
}

}  // namespace lapwing::conformance
