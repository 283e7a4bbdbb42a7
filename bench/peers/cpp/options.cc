#include "bench/peers/cpp/options.h"

#include <fcntl.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string_view>

namespace lapwing::peers {
namespace {

constexpr std::uint64_t kMeetingNsMax = 60'000'000'000;

[[noreturn]] void usage(const std::string& message) {
  std::fprintf(stderr, "peer: %s; see bench/peers/README.md\n", message.c_str());
  std::_Exit(2);
}

template <typename T>
void read(std::string_view name, std::string_view text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    usage(std::string(name) + " is not a number: " + std::string(text));
  }
}

Role role_of(const std::string& name) {
  const std::map<std::string, Role> roles = {
      {"initiator", Role::kInitiator}, {"echo", Role::kEcho},
      {"publisher", Role::kPublisher}, {"subscriber", Role::kSubscriber},
      {"witness", Role::kWitness},     {"driver", Role::kDriver}};
  const auto found = roles.find(name);
  if (found == roles.end()) usage("unknown role " + name);
  return found->second;
}

void set(Options& options, const std::string& name, const std::string& value) {
  if (name == "--role") {
    options.role = role_of(value);
    options.role_name = value;
  } else if (name == "--core") {
    read(name, value, options.core);
  } else if (name == "--bytes") {
    read(name, value, options.bytes);
  } else if (name == "--records") {
    read(name, value, options.records);
  } else if (name == "--warm-up") {
    read(name, value, options.warm_up);
  } else if (name == "--seconds") {
    read(name, value, options.seconds);
  } else if (name == "--rate") {
    read(name, value, options.rate);
  } else if (name == "--capacity") {
    read(name, value, options.capacity);
  } else if (name == "--shared") {
    options.shared = value;
  } else {
    usage("unknown option " + name);
  }
}

}  // namespace

std::vector<std::string> Options::readers() const {
  if (has_witness()) return {"subscriber", "witness"};
  return {"subscriber"};
}

void fail(const std::string& message) {
  std::fprintf(stderr, "peer: %s\n", message.c_str());
  std::fflush(stderr);
  std::_Exit(1);
}

void fail_with_errno(const std::string& what) {
  fail(what + ": " + std::strerror(errno));
}

Options parse_options(int count, char** arguments) {
  if (count < 2) usage("no scenario");
  Options options;
  options.scenario = arguments[1];
  for (int i = 2; i < count; i += 2) {
    if (i + 1 == count) usage(std::string("no value for ") + arguments[i]);
    set(options, arguments[i], arguments[i + 1]);
  }
  if (options.shared.empty()) usage("no --shared");
  if (options.bytes < 16 || options.bytes % 8 != 0) usage("--bytes is not a multiple of 8 from 16");
  if ((options.capacity & (options.capacity - 1)) != 0) usage("--capacity is not a power of two");
  return options;
}

std::uint64_t now_ns() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(now.tv_nsec);
}

void pin_to_core(int core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<unsigned>(core), &set);
  if (sched_setaffinity(0, sizeof set, &set) != 0) {
    fail_with_errno("cannot pin to core " + std::to_string(core));
  }
}

void announce(const Options& options, const std::string& file) {
  const int descriptor = open(options.path(file).c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
  if (descriptor < 0) fail_with_errno("cannot make " + options.path(file));
  close(descriptor);
}

bool is_announced(const Options& options, const std::string& file) {
  return access(options.path(file).c_str(), F_OK) == 0;
}

void await_file(const Options& options, const std::string& file) {
  const std::uint64_t deadline_ns = now_ns() + kMeetingNsMax;
  while (!is_announced(options, file)) {
    if (now_ns() > deadline_ns) fail("the other side did not make " + options.path(file));
    usleep(1000);
  }
}

}  // namespace lapwing::peers
