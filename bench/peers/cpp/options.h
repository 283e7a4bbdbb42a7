// The arguments of a peer's program, the files that synchronize the two sides, and failures. The
// interface is described in bench/peers/README.md.
//
// Thread safety: free functions, any thread.
//
// Errors: a side that cannot continue has no result. fail() prints the reason and ends the process
// with exit code 1.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace lapwing::peers {

enum class Role { kInitiator, kEcho, kPublisher, kSubscriber, kWitness, kDriver };

struct Options {
  std::string scenario;
  Role role = Role::kPublisher;
  std::string role_name;
  int core = 0;
  std::size_t bytes = 56;
  std::uint64_t records = 0;
  std::uint64_t warm_up = 0;
  double seconds = 1;
  double rate = 100'000;
  std::uint64_t capacity = std::uint64_t{1} << 20;  // records in the buffer, a power of two
  std::string shared;                               // the directory

  std::size_t words() const { return bytes / 8; }
  bool sends_first() const { return role == Role::kInitiator || role == Role::kPublisher; }
  bool both_ways() const { return scenario == "round-trip"; }
  bool has_witness() const { return scenario == "stopped-of-two"; }
  // The roles that read the publisher's records.
  std::vector<std::string> readers() const;
  std::string path(const std::string& name) const { return shared + "/" + name; }
};

[[noreturn]] void fail(const std::string& message);
// The same, with the text of errno.
[[noreturn]] void fail_with_errno(const std::string& what);

// Ends the program with exit code 2 if they are not valid.
Options parse_options(int count, char** arguments);

std::uint64_t now_ns();  // CLOCK_MONOTONIC
void pin_to_core(int core);

void announce(const Options& options, const std::string& file);
bool is_announced(const Options& options, const std::string& file);
// Polls a thousand times per second. Fails after a minute.
void await_file(const Options& options, const std::string& file);

}  // namespace lapwing::peers
