#include "relay/out/answers.h"

#include <catch2/catch.hpp>
#include <cstring>

#include "lapwing/error.h"
#include "testing/bus_fixture.h"
#include "testing/relay_out_fixture.h"

namespace lapwing {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;

// Asks about a TestBus, whose segments have 1,024 records.
struct AskedOrigin {
  AskedOrigin() { bus.start(); }

  RelayAsk ask(RelayRequest request) const {
    RelayAsk made{};
    made.request = request;
    made.token = 77;
    return made;
  }
  RelayAsk ask_records(Sequence first, Sequence last) const {
    RelayAsk made = ask(RelayRequest::kRecords);
    made.first = first;
    made.last = last;
    return made;
  }
  // The messages of the answer, without the last one, which is in `answer`.
  RelayedList of(const RelayAsk& asked, std::optional<Id128> journal = std::nullopt) {
    RelayBuffer buffer;
    RelayOrigin origin;
    origin.journal_id = journal.value_or(bus.journal.current_journal_id());
    const MadeMessage message = make_ask_message(origin, asked, buffer);
    REQUIRE(message.ok());
    RelayedList messages;
    const absl::Status sent =
        answers.answer(*message, {now_ns, wall_ns()}, [&](std::span<const std::byte> bytes) {
          messages.push_back(std::make_unique<Relayed>(bytes));
          return absl::OkStatus();
        });
    REQUIRE(sent.ok());
    REQUIRE_FALSE(messages.empty());
    REQUIRE(messages.back()->is(RelayKind::kAnswer));
    answer = messages.back()->parsed.answer();
    CHECK(answer.token == 77);
    CHECK(answer.request == asked.request);
    file_bytes.clear();
    for (const auto& each : messages) {
      if (!each->is(RelayKind::kAnswer)) continue;
      const auto part = each->parsed.file_bytes();
      file_bytes.insert(file_bytes.end(), part.begin(), part.end());
    }
    messages.pop_back();
    return messages;
  }
  std::vector<RelayAbsent> gone(const RelayedList& messages) {
    std::vector<RelayAbsent> rows;
    for (const auto& message : messages) {
      if (!message->is(RelayKind::kGone)) continue;
      for (std::size_t i = 0; i < message->header().count; ++i) {
        rows.push_back(message->parsed.absent(i));
      }
    }
    return rows;
  }
  void require_contents(const RelayedList& messages) {
    for (const auto& message : messages) {
      if (!message->is(RelayKind::kRecords)) continue;
      for (std::size_t i = 0; i < message->header().count; ++i) {
        const auto expected = bus.journal.record(message->header().first + i);
        REQUIRE(std::memcmp(message->parsed.record(i).data(), expected.data(), 56) == 0);
      }
    }
  }

  TestBus bus;
  Answers answers{bus.directory(), "es", 0};
  std::uint64_t now_ns = kSecond;
  RelayAnswer answer{};
  std::vector<std::byte> file_bytes;
};

void require_gone(const std::vector<RelayAbsent>& rows, Sequence first, Sequence last,
                  RelayAbsence cause) {
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].first == first);
  CHECK(rows[0].last == last);
  CHECK(rows[0].cause == cause);
}

}  // namespace

TEST_CASE("An ask for records is answered with exactly these, and what is not there yet is left") {
  AskedOrigin origin;
  origin.bus.publish(3000);
  origin.bus.archive(3000);
  const RelayedList messages = origin.of(origin.ask_records(10, 2900));
  CHECK(runs_of(messages) == Runs{{10, 2900}});
  CHECK(origin.answer.outcome == RelayOutcome::kOk);
  CHECK(origin.answer.total == 2891);
  origin.require_contents(messages);
  CHECK(runs_of(origin.of(origin.ask_records(2990, 3010))) == Runs{{2990, 3000}});
  CHECK(origin.answer.outcome == RelayOutcome::kPartly);
  CHECK(origin.of(origin.ask_records(3001, 3010)).empty());
  CHECK(origin.answer.outcome == RelayOutcome::kBusy);
}

TEST_CASE("An answer stays within the bytes that were asked for, and says that there is more") {
  AskedOrigin origin;
  origin.bus.publish(3000);
  origin.bus.archive(3000);
  RelayAsk ask = origin.ask_records(1, 3000);
  ask.bytes_max = 1500 * 56;
  CHECK(records_in(origin.of(ask)) < 2500);
  CHECK(origin.answer.outcome == RelayOutcome::kPartly);
}

TEST_CASE("Records that retention has removed are gone, with exact bounds") {
  AskedOrigin origin;
  origin.bus.publish(3000);
  origin.bus.archive(3000);
  origin.bus.prune_below_segment(2);
  const RelayedList messages = origin.of(origin.ask_records(1000, 2100));
  require_gone(origin.gone(messages), 1000, 2048, RelayAbsence::kPruned);
  CHECK(runs_of(messages) == Runs{{2049, 2100}});
  CHECK(origin.answer.outcome == RelayOutcome::kOk);
  require_gone(origin.gone(origin.of(origin.ask_records(5, 9))), 5, 9, RelayAbsence::kPruned);
}

TEST_CASE("Damage is gone once it was found twice, two seconds apart") {
  AskedOrigin origin;
  origin.bus.publish(3000);
  origin.bus.archive(3000);
  flip_bit(origin.bus.journal.file(0, "jnl"), 4096 + 100 * 64 + 20, 3);  // the block of 65 … 128
  CHECK(runs_of(origin.of(origin.ask_records(1, 1000))) == Runs{{1, 64}});
  CHECK(origin.answer.outcome == RelayOutcome::kPartly);
  origin.now_ns += Answers::kDamageNs - 1;
  CHECK(origin.gone(origin.of(origin.ask_records(65, 1000))).empty());
  CHECK(origin.answer.outcome == RelayOutcome::kBusy);
  origin.now_ns += 1;
  const RelayedList messages = origin.of(origin.ask_records(65, 1000));
  require_gone(origin.gone(messages), 65, 128, RelayAbsence::kDamaged);
  CHECK(runs_of(messages) == Runs{{129, 1000}});
}

TEST_CASE("What a failed journal has not archived is gone, and a void is not") {
  AskedOrigin origin;
  origin.bus.publish(500);
  origin.bus.archive(500);
  origin.bus.kill();
  origin.bus.cut(500);
  origin.bus.start();
  const Sequence first = origin.bus.next();
  origin.bus.publish(100);
  origin.bus.archive(first + 49);
  const Id128 journal = origin.bus.journal.current_journal_id();
  RelayedList messages = origin.of(origin.ask_records(490, first + 9));
  CHECK(origin.gone(messages).empty());
  CHECK(runs_of(messages) == Runs{{490, 500}, {first, first + 9}});
  CHECK(origin.answer.outcome == RelayOutcome::kOk);
  origin.bus.fail_journal();
  origin.bus.close();
  origin.bus.start();
  messages = origin.of(origin.ask_records(first + 40, first + 99), journal);
  CHECK(runs_of(messages) == Runs{{first + 40, first + 49}});
  require_gone(origin.gone(messages), first + 50, first + 99, RelayAbsence::kNeverArchived);
  CHECK(origin.answer.outcome == RelayOutcome::kOk);
}

TEST_CASE("Records of a journal that the bus does not list are not here") {
  AskedOrigin origin;
  CHECK(origin.of(origin.ask_records(1, 10), fixture_id(250)).empty());
  CHECK(origin.answer.outcome == RelayOutcome::kNotHere);
}

TEST_CASE("Sessions are answered from the one that was asked for, and the bus as it is") {
  AskedOrigin origin;
  for (int i = 0; i < 4; ++i) {
    origin.bus.publish(10);
    origin.bus.close();
    origin.bus.start();
  }
  RelayAsk ask = origin.ask(RelayRequest::kSessions);
  ask.first = 2;
  const RelayedList sessions = origin.of(ask);
  REQUIRE(sessions.size() == 1);
  CHECK(sessions[0]->header().first == 2);
  CHECK(sessions[0]->header().count == 3);
  CHECK(sessions[0]->parsed.session(0).first == 21);
  CHECK(sessions[0]->parsed.session(0).how == SessionEnd::kClosed);
  CHECK(sessions[0]->parsed.session(2).how == SessionEnd::kNone);
  CHECK(origin.answer.total == 3);
  const RelayedList bus = origin.of(origin.ask(RelayRequest::kBus));
  REQUIRE(bus.size() == 1);
  CHECK(bus[0]->parsed.bus().segment_slots == 1024);
  CHECK(std::string(bus[0]->parsed.bus().name) == "es");
}

TEST_CASE("A file is answered in parts from the offset that was asked for") {
  AskedOrigin origin;
  std::string metadata(600'000, 'x');
  for (std::size_t i = 0; i < metadata.size(); ++i) metadata[i] = static_cast<char>(i / 7);
  PosixDisk disk;
  REQUIRE(keep_metadata(disk, origin.bus.journal.root(), metadata).ok());
  RelayAsk ask = origin.ask(RelayRequest::kFile);
  ask.file = RelayFile::kMetadata;
  ask.hash = metadata_hash_of(metadata);
  ask.offset = 1000;
  CHECK(origin.of(ask).size() == 2);
  CHECK(origin.answer.outcome == RelayOutcome::kOk);
  CHECK(origin.answer.total == metadata.size());
  REQUIRE(origin.file_bytes.size() == metadata.size() - 1000);
  CHECK(std::memcmp(origin.file_bytes.data(), metadata.data() + 1000, metadata.size() - 1000) == 0);
  ask.bytes_max = 500;
  origin.of(ask);
  CHECK(origin.answer.outcome == RelayOutcome::kPartly);
  CHECK(origin.file_bytes.size() == 500);
  ask.hash = 1;
  origin.of(ask);
  CHECK(origin.answer.outcome == RelayOutcome::kNotHere);
}

TEST_CASE("A flush is answered at once if it is durable, and refused if it never will be") {
  AskedOrigin origin;
  origin.bus.publish(100);
  origin.bus.archive(100);
  RelayAsk ask = origin.ask(RelayRequest::kFlush);
  ask.last = 100;
  origin.of(ask);
  CHECK(origin.answer.outcome == RelayOutcome::kOk);
  ask.last = 101;
  origin.of(ask);
  CHECK(origin.answer.outcome == RelayOutcome::kRefused);
  origin.bus.publish(10);
  origin.bus.fail_journal();
  ask.last = 105;
  origin.of(ask);
  CHECK(origin.answer.outcome == RelayOutcome::kRefused);
}

}  // namespace lapwing
