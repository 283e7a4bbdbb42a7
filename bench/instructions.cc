// lapwing_instructions OPERATION RECORDS: performs one operation of the hot path for that many
// records inside lapwing_measured(), and everything else outside, so that callgrind counts only the
// operation. bench/instructions.sh runs it. Without arguments, prints the operations. With
// --compiler, prints the compiler of this program, because counts are comparable only for the same
// compiler. With --records-a-call OPERATION, prints the number of records per call.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "bench/c_operations.h"
#include "bench/operations.h"

namespace lapwing::bench {
namespace {

// Calls the operation, which returns its number of records, until all records are done. The loop is
// compiled in the caller, so the compiler can optimize across it. Callgrind finds it by its name.
// The loop is counted as well; the operation `nothing` shows its cost.
template <typename Operation>
[[gnu::noinline, gnu::flatten]] void lapwing_measured(const Operation& operation,
                                                      std::size_t records) {
  for (std::size_t done = 0; done < records;) {
    done += operation();
    asm volatile("" ::: "memory");  // the next call starts from memory
  }
}

void count_nothing(std::size_t records) {
  lapwing_measured([] { return std::size_t{1}; }, records);
}

template <std::size_t kBytes>
void count_store(std::size_t records) {
  SlotBench bench(kBytes);
  lapwing_measured(
      [&] {
        bench.store();
        return std::size_t{1};
      },
      records);
}

template <std::size_t kBytes>
void count_load(std::size_t records) {
  SlotBench bench(kBytes);
  bench.fill();
  lapwing_measured([&] { return std::size_t{bench.load()}; }, records);
}

void count_try_read(std::size_t records) {
  RingBench bench;
  lapwing_measured([&] { return std::size_t{bench.try_read()}; }, records);
}

template <typename Bus, typename Publish>
void count_publishing(std::size_t records, Bus&& bench, Publish&& publish) {
  publish(bench);  // the first publish wakes the service thread
  lapwing_measured(
      [&] {
        publish(bench);
        return std::size_t{1};
      },
      records);
}

template <std::uint32_t kBytes>
void count_publish(std::size_t records) {
  count_publishing(records, BusBench(kBytes), [](BusBench& bench) { bench.publish<kBytes>(); });
}

template <std::uint32_t kBytes>
void count_publish_bytes(std::size_t records) {
  count_publishing(records, BusBench(kBytes), [](BusBench& bench) { bench.publish_bytes(); });
}

template <typename Record>
void count_typed_publish(std::size_t records) {
  using Bus = TypedBusBench<Record>;
  count_publishing(records, Bus(), [](Bus& bench) { bench.publish(); });
}

void count_publish_batch(std::size_t records) {
  BusBench bench;
  bench.publish_bytes();
  lapwing_measured(
      [&] {
        bench.publish_batch();
        return kBatchRecords;
      },
      records);
}

template <typename Bus = BusBench, typename Take>
void count_taking(std::size_t records, Take&& take) {
  Bus bench;
  for (std::size_t done = 0; done < records; done += Bus::kRefillRecords) {
    bench.refill();
    lapwing_measured([&] { return take(bench); }, Bus::kRefillRecords);
  }
}

void count_take(std::size_t records) {
  count_taking(records, [](BusBench& bench) { return std::size_t{bench.take()}; });
}

void count_typed_take(std::size_t records) {
  using Bus = TypedBusBench<WordsRecord>;
  count_taking<Bus>(records, [](Bus& bench) { return std::size_t{bench.take()}; });
}

void count_take_bytes(std::size_t records) {
  count_taking(records, [](BusBench& bench) { return std::size_t{bench.take_bytes()}; });
}

void count_wait(std::size_t records) {
  count_taking(records, [](BusBench& bench) { return std::size_t{bench.wait()}; });
}

void count_read(std::size_t records) {
  count_taking(records, [](BusBench& bench) { return bench.read(); });
}

// `send` sends into an empty half of a channel and returns the number of messages.
template <typename Channel = ChannelBench, typename Send>
void count_sending(std::size_t messages, Send&& send) {
  Channel bench;
  for (std::size_t done = 0; done < messages; done += Channel::kRefillMessages) {
    lapwing_measured([&] { return send(bench); }, Channel::kRefillMessages);
    bench.drain();
  }
}

void count_commit(std::size_t messages) {
  count_sending(messages, [](ChannelBench& bench) {
    bench.commit();
    return std::size_t{1};
  });
}

void count_send(std::size_t messages) {
  count_sending(messages, [](ChannelBench& bench) {
    bench.send();
    return std::size_t{1};
  });
}

void count_commit_batch(std::size_t messages) {
  count_sending(messages, [](ChannelBench& bench) { return bench.commit_batch(); });
}

template <typename Channel = ChannelBench, typename Take>
void count_channel_taking(std::size_t messages, Take&& take) {
  Channel bench;
  for (std::size_t done = 0; done < messages; done += Channel::kRefillMessages) {
    bench.refill();
    lapwing_measured([&] { return take(bench); }, Channel::kRefillMessages);
  }
}

void count_peek(std::size_t messages) {
  count_channel_taking(messages, [](ChannelBench& bench) {
    bench.peek();
    return std::size_t{1};
  });
}

void count_receive(std::size_t messages) {
  count_channel_taking(messages, [](ChannelBench& bench) {
    bench.receive();
    return std::size_t{1};
  });
}

void count_peek_batch(std::size_t messages) {
  count_channel_taking(messages, [](ChannelBench& bench) { return bench.peek_batch(); });
}

void count_c_publish(std::size_t records) {
  count_publishing(records, CBusBench(), [](CBusBench& bench) { bench.publish(); });
}

void count_c_take(std::size_t records) {
  count_taking<CBusBench>(records, [](CBusBench& bench) { return std::size_t{bench.take()}; });
}

void count_c_commit(std::size_t messages) {
  count_sending<CChannelBench>(messages, [](CChannelBench& bench) {
    bench.commit();
    return std::size_t{1};
  });
}

void count_c_peek(std::size_t messages) {
  count_channel_taking<CChannelBench>(messages, [](CChannelBench& bench) {
    bench.peek();
    return std::size_t{1};
  });
}

struct Counted {
  const char* name;
  void (*run)(std::size_t records);
  std::size_t records_a_call = 1;
};

constexpr Counted kCounted[] = {
    {"nothing", count_nothing},
    {"store_slot/word/16", count_store<16>},
    {"store_slot/word/56", count_store<56>},
    {"store_slot/word/80", count_store<80>},
    {"load_slot/word/16", count_load<16>},
    {"load_slot/word/56", count_load<56>},
    {"load_slot/word/80", count_load<80>},
    {"try_read", count_try_read},
    {"publish", count_publish<kRecordBytes>},
    {"publish_16", count_publish<16>},
    {"publish_bytes", count_publish_bytes<kRecordBytes>},
    {"publish_bytes_16", count_publish_bytes<16>},
    {"publish_batch", count_publish_batch, kBatchRecords},
    {"typed_publish", count_typed_publish<WordsRecord>},
    {"typed_publish_stamped", count_typed_publish<StampedWords>},
    {"typed_take", count_typed_take},
    {"poll", count_take},  // take and read keep their old names, which the counts use
    {"poll_bytes", count_take_bytes},
    {"wait", count_wait},
    {"poll_batch", count_read, kBatchRecords},
    {"c_publish", count_c_publish},
    {"c_take", count_c_take},
    {"channel_commit", count_commit},
    {"channel_send", count_send},
    {"channel_commit_batch", count_commit_batch, kBatchRecords},
    {"channel_peek", count_peek},
    {"channel_receive", count_receive},
    {"channel_peek_batch", count_peek_batch, kBatchRecords},
    {"c_channel_commit", count_c_commit},
    {"c_channel_peek", count_c_peek},
};

#if defined(__x86_64__)
constexpr char kProcessor[] = "x86_64";
#elif defined(__aarch64__)
constexpr char kProcessor[] = "aarch64";
#else
constexpr char kProcessor[] = "unknown";
#endif
#if defined(__clang__)
constexpr char kCompiler[] = "clang";
constexpr int kCompilerMajor = __clang_major__;
#else
constexpr char kCompiler[] = "gcc";
constexpr int kCompilerMajor = __GNUC__;
#endif

int run(int argc, char** argv) {
  if (argc == 1) {
    for (const Counted& counted : kCounted) std::printf("%s\n", counted.name);
    return 0;
  }
  if (argc == 2 && std::strcmp(argv[1], "--compiler") == 0) {
    std::printf("%s %s %d\n", kProcessor, kCompiler, kCompilerMajor);
    return 0;
  }
  if (argc == 3) {
    const bool asks = std::strcmp(argv[1], "--records-a-call") == 0;
    for (const Counted& counted : kCounted) {
      if (std::strcmp(argv[asks ? 2 : 1], counted.name) != 0) continue;
      if (asks) {
        std::printf("%zu\n", counted.records_a_call);
      } else {
        counted.run(std::strtoul(argv[2], nullptr, 10));
      }
      return 0;
    }
  }
  std::fprintf(stderr,
               "usage: lapwing_instructions [OPERATION RECORDS | --records-a-call OPERATION | "
               "--compiler]\n");
  return 2;
}

}  // namespace
}  // namespace lapwing::bench

int main(int argc, char** argv) {
  return lapwing::bench::run(argc, argv);
}
