// iceoryx (the first version): publish and subscribe between processes with its daemon RouDi.
// Chunks are loaned, written and read in place, with busy polling. By default a full queue drops
// its oldest chunk.
//
// There is only one RouDi per machine, so measurements that need it wait for each other.
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <iceoryx_hoofs/log/logmanager.hpp>
#include <iceoryx_posh/iceoryx_posh_types.hpp>
#include <iceoryx_posh/popo/untyped_publisher.hpp>
#include <iceoryx_posh/popo/untyped_subscriber.hpp>
#include <iceoryx_posh/runtime/posh_runtime.hpp>
#include <optional>
#include <string>

#include "bench/peers/cpp/scenarios.h"

namespace lapwing::peers {
namespace {

// Limits of a queue and of a reader.
constexpr std::uint64_t kQueueRecordsMax = iox::MAX_SUBSCRIBER_QUEUE_CAPACITY;
constexpr std::uint64_t kSendRecordsMax = 32;
constexpr std::uint64_t kChunks = 4096;  // two full queues, plus chunks held by the sides
constexpr std::size_t kChunkStepBytes = 64;
constexpr std::uint32_t kWordAlignment = alignof(std::uint64_t);

// RouDi must be notified when a side ends; otherwise it aborts when it ends.
volatile std::sig_atomic_t told_to_end = 0;

iox::capro::IdString_t id_of(const std::string& text) {
  return iox::capro::IdString_t(iox::cxx::TruncateToCapacity, text);
}

class Iceoryx {
 public:
  explicit Iceoryx(const Options& options)
      : words_(options.words()), read_records_max_(options.both_ways() ? 1 : kQueueRecordsMax) {
    const std::string unique = options.shared.substr(options.shared.rfind('/') + 1);
    const std::string runtime = unique + "_" + options.role_name;
    std::signal(SIGTERM, [](int) { told_to_end = 1; });
    iox::log::LogManager::GetLogManager().SetDefaultLogLevel(iox::log::LogLevel::kError);
    iox::runtime::PoshRuntime::initRuntime(
        iox::RuntimeName_t(iox::cxx::TruncateToCapacity, runtime));
    const auto service = [&](bool first) {
      return iox::capro::ServiceDescription("lapwing-peers", id_of(unique),
                                            first ? "ping" : "pong");
    };
    if (options.sends_first() || options.both_ways()) out_.emplace(service(options.sends_first()));
    if (options.sends_first() && !options.both_ways()) return;
    iox::popo::SubscriberOptions subscriber_options;
    subscriber_options.queueCapacity = std::min(options.capacity, kQueueRecordsMax);
    in_.emplace(service(!options.sends_first()), subscriber_options);
    const std::uint64_t deadline_ns = now_ns() + kStuckNsMax;
    while (in_->getSubscriptionState() != iox::SubscribeState::SUBSCRIBED) {
      if (now_ns() > deadline_ns) fail("no subscription within a minute");
      usleep(1000);
    }
  }

  std::uint64_t send_records_max() const { return kSendRecordsMax; }
  // Its interface reports whether records were lost, but not how many.
  std::int64_t reported_lost() const { return -1; }

  std::uint64_t send(std::uint64_t first, std::uint64_t count) {
    const auto bytes = static_cast<std::uint32_t>(words_ * sizeof(std::uint64_t));
    for (std::uint64_t sent = 0; sent < count; ++sent) {
      auto chunk = out_->loan(bytes, kWordAlignment);
      if (chunk.has_error()) fail("cannot loan a chunk");
      fill(static_cast<std::uint64_t*>(chunk.value()), words_, first + sent);
      out_->publish(chunk.value());
    }
    return count;
  }

  template <typename F>
  std::uint64_t receive(F&& on_record) {
    for (std::uint64_t count = 0; count < read_records_max_; ++count) {
      auto chunk = in_->take();
      if (chunk.has_error()) {
        if (chunk.get_error() != iox::popo::ChunkReceiveResult::NO_CHUNK_AVAILABLE) {
          fail("cannot take a chunk");
        }
        if (told_to_end != 0) std::exit(0);
        return count;
      }
      on_record(static_cast<const std::uint64_t*>(chunk.value()));
      in_->release(chunk.value());
    }
    return read_records_max_;
  }

 private:
  std::size_t words_;
  std::uint64_t read_records_max_;
  std::optional<iox::popo::UntypedPublisher> out_;
  std::optional<iox::popo::UntypedSubscriber> in_;
};

// Killed clients cause RouDi to abort, so another user's RouDi must not be used.
void refuse_another_roudi() {
  const int descriptor = open("/tmp/iox-unique-roudi.lock", O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return;
  if (flock(descriptor, LOCK_EX | LOCK_NB) != 0) fail("another RouDi is running");
  close(descriptor);
}

// Becomes RouDi, with chunks of one size. The lock is on a folder, and RouDi holds it until it
// ends.
[[noreturn]] void drive(const Options& options) {
  const std::string parent = options.shared.substr(0, options.shared.rfind('/'));
  const int lock = open(parent.c_str(), O_RDONLY | O_DIRECTORY);
  if (lock < 0 || flock(lock, LOCK_EX) != 0) fail_with_errno("cannot lock " + parent);
  refuse_another_roudi();
  const std::string path = options.path("roudi.toml");
  std::FILE* const config = std::fopen(path.c_str(), "w");
  if (config == nullptr) fail_with_errno("cannot make " + path);
  const std::size_t chunk_bytes =
      (options.bytes + kChunkStepBytes - 1) / kChunkStepBytes * kChunkStepBytes;
  std::fprintf(config, "[general]\nversion = 1\n[[segment]]\n[[segment.mempool]]\n");
  std::fprintf(config, "size = %zu\ncount = %llu\n", chunk_bytes,
               static_cast<unsigned long long>(kChunks));
  if (std::fclose(config) != 0) fail_with_errno("cannot write " + path);
  // Monitoring would drop a process that was stopped for 1.5 s, which aborts when it continues.
  constexpr const char* kMonitoring = "off";
  // A side that starts before RouDi waits for it.
  announce(options, "driver.ready");
  execlp("iox-roudi", "iox-roudi", "--config-file", path.c_str(), "--monitoring-mode", kMonitoring,
         "--log-level", "error", nullptr);
  fail_with_errno("cannot run iox-roudi");
}

}  // namespace
}  // namespace lapwing::peers

int main(int count, char** arguments) {
  if (count > 2) {
    const lapwing::peers::Options options = lapwing::peers::parse_options(count, arguments);
    if (options.role == lapwing::peers::Role::kDriver) lapwing::peers::drive(options);
  }
  return lapwing::peers::run_peer<lapwing::peers::Iceoryx>(count, arguments);
}
