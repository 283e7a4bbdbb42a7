#include <map>

#include "absl/strings/str_cat.h"
#include "tests/conformance/bindings/c/driver.h"

namespace lapwing::conformance {
namespace {

Handles<lapwing_wait_set>& sets() {
  static auto* const all = new Handles<lapwing_wait_set>;
  return *all;
}

// What a scenario's names were given by their set.
std::map<std::string, std::uint64_t>& sources() {
  static auto* const all = new std::map<std::string, std::uint64_t>;
  return *all;
}

const char* kind_name(lapwing_source_kind kind) {
  constexpr const char* kNames[] = {"none",     "subscriber", "conflated", "none", "consumer",
                                    "producer", "duplex",     "listener",  "fd",   "timer"};
  return kNames[kind];
}

std::int64_t in_ns(const Step& step) {
  return step.text("in_ms") == "never" ? LAPWING_NEVER : step.ns("in_ms");
}

Lines open(const Step& step) {
  lapwing_wait_set* opened = nullptr;
  const lapwing_wait wait =
      step.choice("wait", {"busy", "backoff", "park"}, LAPWING_WAIT_BUSY, LAPWING_WAIT_BACKOFF);
  const lapwing_result result = lapwing_wait_set_open(wait, &opened, nullptr);
  if (result == LAPWING_OK) sets().put(step.text("as"), opened);
  return line(result);
}

// Adds by add(&source), and keeps the source under its name.
template <typename Add>
Lines keep(const std::string& name, Add&& add) {
  std::uint64_t source = 0;
  const lapwing_result result = add(&source);
  if (result == LAPWING_OK) sources()[name] = source;
  return line(result);
}

Lines add(const Step& step) {
  const std::string& name = step.text("source");
  const std::uint64_t token = step.number("token");
  lapwing_wait_set* const set = sets().of(step);
  return keep(name, [&](std::uint64_t* source) {
    if (lapwing_subscriber* const subscriber = subscribers().at(name); subscriber != nullptr) {
      return lapwing_wait_set_add_subscriber(set, subscriber, token, source, nullptr);
    }
    if (lapwing_listener* const listener = listeners().at(name); listener != nullptr) {
      return lapwing_wait_set_add_listener(set, listener, token, source, nullptr);
    }
    return lapwing_wait_set_add_channel(set, channels().at(name), step.number("bytes"), token,
                                        source, nullptr);
  });
}

Lines add_timer(const Step& step) {
  return keep(step.text("as"), [&](std::uint64_t* source) {
    return lapwing_wait_set_add_timer(sets().of(step), in_ns(step), step.ns("every_ms"),
                                      step.number("token"), source, nullptr);
  });
}

Lines set_timer(const Step& step) {
  return line(lapwing_wait_set_set_timer(sets().of(step), sources()[step.text("timer")],
                                         in_ns(step), step.ns("every_ms"), nullptr));
}

Lines remove(const Step& step) {
  return line(lapwing_wait_set_remove(sets().of(step), sources()[step.text("source")], nullptr));
}

Lines wait(const Step& step) {
  auto ready = sized<lapwing_ready>();
  const lapwing_result result =
      lapwing_wait_set_wait(sets().of(step), &ready, step.timeout_ns(), nullptr);
  return line(result, absl::StrCat("kind=", kind_name(ready.kind), " token=", ready.token));
}

}  // namespace

Operations wait_set_operations() {
  return {{"set.open", open},
          {"set.add", add},
          {"set.add-timer", add_timer},
          {"set.set-timer", set_timer},
          {"set.remove", remove},
          {"set.wait", wait},
          {"set.interrupt",
           [](const Step& step) { return interrupt(sets(), step, lapwing_wait_set_interrupt); }},
          {"set.destroy",
           [](const Step& step) { return destroy(sets(), step, lapwing_wait_set_destroy); }}};
}

}  // namespace lapwing::conformance
