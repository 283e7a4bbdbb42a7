#include "relay/in/relay_in.h"

#include <catch2/catch.hpp>

#include "proto/checkpoint_format.h"
#include "proto/text_field.h"
#include "snapshot/wide_xxh3.h"
#include "testing/relay_in_fixture.h"
#include "testing/relay_messages.h"
#include "testing/status_text.h"

namespace lapwing {
namespace {

std::string checkpoint_at(const RelaySession& session, Sequence sequence, std::size_t bytes) {
  CheckpointHeader header{};
  header.magic = kCheckpointMagic;
  header.session_id = session.session_id;
  header.sequence = sequence;
  set_text(header.fold, "book");
  header.checksum = XXH3_64bits(&header, offsetof(CheckpointHeader, checksum));
  std::string file(reinterpret_cast<const char*>(&header), sizeof header);
  for (std::size_t i = 0; i < bytes; ++i) file.push_back(static_cast<char>('a' + sequence % 26));
  return file;
}

}  // namespace

TEST_CASE("Live records reach the mirror at once, without an ask for records") {
  Following world;
  const std::uint64_t asks = world.in_status().asks;
  for (int i = 0; i < 20; ++i) {
    world.origin.add_records(7);
    world.origin.send(i % 2 == 0);
    world.run(2 * RelayInWorld::kTickNs);
    CHECK(world.is_complete());
  }
  CHECK(world.in_status().asks == asks);
  world.check_content();
}

TEST_CASE("A mirror that starts late reads the stream") {
  RelayInWorld world;
  world.open_stream();
  world.origin.begin_session();
  world.origin.add_records(5'000);
  world.origin.send();
  world.start();
  world.require_complete();
  world.check_content();
  CHECK(world.origin.asks().count(static_cast<std::uint64_t>(RelayRequest::kRecords)) == 0);
}

TEST_CASE("Without a stream a mirror asks the origin") {
  Following world(1, false);
  world.check_content();
  CHECK(world.origin.asks().count(static_cast<std::uint64_t>(RelayRequest::kRecords)) == 1);
}

TEST_CASE("A hole that the stream lacks is asked for") {
  Following world;
  world.origin.add_records(100);
  world.origin.skip();
  world.origin.add_records(100);
  world.origin.send();
  world.require_complete();
  world.check_content();
}

TEST_CASE("A mirror that serves is asked before the origin") {
  RelayInWorld world;
  world.origin.begin_session();
  world.origin.add_records(3'000);
  world.origin.skip();
  world.add_helper();
  world.start();
  world.require_complete();
  CHECK(world.origin.asks().count(static_cast<std::uint64_t>(RelayRequest::kRecords)) == 0);
}

TEST_CASE("On the stream path live records come from the stream") {
  RelayInWorld world;
  world.options.path = RelayPath::kStream;
  world.open_stream();
  world.origin.begin_session();
  world.origin.add_records(1'000);
  world.origin.send();
  world.start();
  world.require_complete();
  for (int i = 0; i < 50; ++i) {
    world.origin.add_records(10);
    world.origin.send();
    world.run(4 * RelayInWorld::kTickNs);
    CHECK(world.is_complete());
  }
  SECTION("and what it does not store is asked for") {
    world.origin.add_records(10);
    world.origin.send(false);
    world.require_complete();
  }
  SECTION("and a reading that ends is begun again") {
    world.network.end_readings();
    world.origin.add_records(10);
    world.origin.send();
    world.require_complete();
  }
  world.check_content();
}

TEST_CASE("Three cuts within a minute lead to the stream path") {
  Following world;
  for (int i = 0; i < 3; ++i) {
    CHECK(world.in_status().path == RelayPath::kCore);
    world.network.cut("mirror");
    REQUIRE(world.run_until([&] { return !world.in_status().is_connected; }));
    REQUIRE(world.run_until([&] { return world.in_status().is_connected; }));
  }
  CHECK(world.in_status().path == RelayPath::kStream);
  world.origin.add_records(100);
  world.origin.send();
  world.require_complete();
  world.check_content();
}

TEST_CASE("A silent origin makes the mirror stale within a second, and nothing else") {
  Following world;
  world.run(kSecond);
  CHECK(world.in_status().stale.empty());
  world.beats = false;
  world.run(800'000'000 + kBeatIntervalNs);
  CHECK(world.in_status().stale.find("no beat of the origin for") == 0);
  CHECK(world.status.ok());
  world.beats = true;
  world.run(kSecond);
  CHECK(world.in_status().stale.empty());
  world.publisher = RelayPublisherState::kDead;
  world.run(kSecond);
  CHECK(world.in_status().stale == "the origin's publisher has ended without closing");
  CHECK(world.mirror.origin().publisher == RelayPublisherState::kDead);
  CHECK(world.lines.size() >= 3);
}

TEST_CASE("A lost connection is the reason of a stale mirror") {
  Following world;
  world.network.refuse("mirror", true);
  world.network.cut("mirror");
  world.run(kSecond + kBeatIntervalNs);
  CHECK(world.in_status().stale == "mirror cannot connect");
  world.network.refuse("mirror", false);
  world.origin.add_records(100);
  world.origin.send();
  world.require_complete();
}

TEST_CASE("The origin's durable reaches the mirror") {
  Following world;
  world.origin.set_durable(900);
  world.run(kSecond);
  CHECK(world.mirror.origin().durable == 900);
  CHECK(world.mirror.durable() == 900);
  world.in->want_flush(950);
  world.run(kSecond);
  CHECK(world.mirror.durable() == 950);
}

TEST_CASE("A stuck disk delays records and loses none, and beats are still taken") {
  Following world;
  world.mirror.stick(true);
  for (int i = 0; i < 40; ++i) {
    world.origin.add_records(50);
    world.origin.send();
    world.run(kSecond / 10);
    CHECK(world.in_status().stale.empty());
  }
  CHECK(world.mirror.next() == 1'001);
  world.mirror.stick(false);
  world.require_complete();
  world.check_content();
  CHECK(world.in_status().counts.stalls > 10);
}

TEST_CASE("A message that the disk took in part is continued") {
  Following world;
  world.mirror.put_only(13);
  world.origin.add_records(40);
  world.origin.send(true, 40);
  world.require_complete();
  world.check_content();
}

TEST_CASE("What does not fit into memory is dropped, counted and fetched again") {
  RelayInWorld world;
  world.options.held_bytes_max = 20'000;
  world.open_stream();
  world.origin.begin_session();
  world.origin.add_records(100);
  world.origin.send();
  world.start();
  world.require_complete();
  world.mirror.stick(true);
  for (int i = 0; i < 40; ++i) {
    world.origin.add_records(100);
    world.origin.send();
    world.run(kSecond / 100);
  }
  CHECK(world.in_status().dropped > 0);
  world.mirror.stick(false);
  world.require_complete();
  world.check_content();
}

TEST_CASE("Sessions of each end are continued") {
  Following world;
  const SessionEnd how = GENERATE(SessionEnd::kClosed, SessionEnd::kRecovered, SessionEnd::kCut);
  world.origin.end_session(how, {}, how == SessionEnd::kCut ? 500 : 0);
  world.require_complete();
  CHECK(world.mirror.sessions().back().how == how);
  world.origin.begin_session();
  world.origin.add_records(100);
  world.origin.send();
  world.require_complete();
  CHECK(world.mirror.sessions().size() == 2);
  world.check_content();
}

TEST_CASE("The first records of a session are not lost while its row is fetched") {
  Following world;
  world.origin.end_session(SessionEnd::kClosed);
  world.origin.begin_session();
  world.origin.add_records(20);
  world.origin.send(false);
  const auto records = static_cast<std::uint64_t>(RelayRequest::kRecords);
  const std::uint64_t asks = world.origin.asks().count(records);
  world.require_complete();
  CHECK(world.origin.asks().count(records) == asks);
}

TEST_CASE("What a power cut took from the origin is taken from the mirror") {
  Following world;
  world.origin.end_session(SessionEnd::kCut, 900, 3'000);
  world.require_complete();
  CHECK(world.journal().records.size() == 900);
  CHECK(world.journal().cut.size() == 100);
  world.origin.begin_session();
  world.origin.add_records(100);
  world.origin.send();
  world.require_complete();
  CHECK(world.journal().records.rbegin()->first == 4'000);
  world.check_content();
}

TEST_CASE("Records of a failed journal continue in the ring") {
  Following world;
  world.origin.end_session(SessionEnd::kFailed, 950);
  world.origin.add_records(30);
  world.origin.send();
  world.require_complete();
  CHECK(world.journal().records.size() == 950);
  REQUIRE(world.run_until([&] { return world.journal().unarchived.size() == 80; }));
  world.origin.begin_session(true);
  world.origin.add_records(10);
  world.origin.send();
  world.require_complete();
  CHECK(world.mirror.journals().size() == 2);
  CHECK(world.journal().records.size() == 10);
  world.check_content();
}

TEST_CASE("A failed end that comes late is adopted at its last record") {
  Following world;
  world.network.refuse("mirror", true);
  world.network.cut("mirror");
  world.run(kSecond);
  world.origin.add_records(100);
  world.origin.send();
  world.origin.end_session(SessionEnd::kFailed, 1'050);
  world.network.refuse("mirror", false);
  world.require_complete();
  CHECK(world.journal().records.size() == 1'050);
  CHECK(world.journal().unarchived.size() == 50);
  world.check_content();
}

TEST_CASE("Metadata is fetched in parts before its session begins") {
  RelayInWorld world;
  std::string metadata(52'500, 'm');
  for (std::size_t i = 0; i < metadata.size(); i += 7)
    metadata[i] = static_cast<char>('a' + i % 26);
  world.origin.set_metadata(metadata);
  world.network.set_faults(
      {.loss_percent = 20, .duplicate_percent = 20, .delay_ns_max = 3'000'000});
  world.origin.begin_session();
  world.origin.add_records(100);
  world.origin.send();
  world.start();
  world.require_complete();
  CHECK(world.mirror.files().begin()->second == metadata);
}

TEST_CASE("Several sessions and journals are fetched in their order") {
  RelayInWorld world;
  for (int i = 0; i < 7; ++i) {
    const bool new_journal = i == 3 || i == 5;
    world.origin.begin_session(new_journal);
    world.origin.add_records(static_cast<std::uint64_t>(i % 3) * 400);
    if (i == 6) break;
    const bool fails = i == 2 || i == 4;
    world.origin.end_session(fails ? SessionEnd::kFailed : SessionEnd::kClosed);
  }
  world.origin.add_records(11);
  world.origin.skip();
  world.start();
  world.require_complete();
  CHECK(world.mirror.sessions().size() == 7);
  CHECK(world.mirror.journals().size() == 3);
  world.check_content();
}

TEST_CASE("A live start has the segment of the newest record") {
  RelayInWorld world;
  world.options.start = RelayStart::kLive;
  world.origin.begin_session();
  world.origin.add_records(5'000);
  world.origin.skip();
  world.start();
  world.require_complete();
  CHECK(world.journal().oldest == 4'097);
  CHECK(world.journal().records.begin()->first == 4'097);
  world.check_content();
}

TEST_CASE("A start from a checkpoint has its segment, and hands the file on") {
  RelayInWorld world;
  world.options.start = RelayStart::kCheckpoint;
  std::string file;
  world.options.on_checkpoint = [&](std::string_view bytes) { file = bytes; };
  world.origin.begin_session();
  world.origin.add_records(9'000);
  world.origin.skip();
  Sequence oldest = 1;
  std::string expected;
  SECTION("if there is one") {
    expected = checkpoint_at(world.origin.session(), 7'000, 20'000);
    oldest = 6'145;
  }
  SECTION("or begins with the oldest record") {}
  world.origin.set_checkpoint(expected);
  world.start();
  world.require_complete();
  CHECK(world.journal().oldest == oldest);
  CHECK((file == expected));
  world.check_content();
}

TEST_CASE("A checkpoint that is replaced while it is fetched is not mixed with the newer one") {
  RelayInWorld world;
  world.options.start = RelayStart::kCheckpoint;
  std::string file;
  world.options.on_checkpoint = [&](std::string_view bytes) { file = bytes; };
  world.origin.begin_session();
  world.origin.add_records(9'000);
  world.origin.skip();
  world.origin.set_checkpoint(checkpoint_at(world.origin.session(), 3'000, 20'000));
  world.start();
  const auto files = static_cast<std::uint64_t>(RelayRequest::kFile);
  REQUIRE(world.run_until([&] { return world.origin.asks().contains(files); }));
  const std::string newer = checkpoint_at(world.origin.session(), 7'000, 20'000);
  world.origin.set_checkpoint(newer);
  world.require_complete();
  CHECK((file == newer));
  CHECK(world.journal().oldest == 6'145);
}

TEST_CASE("Rows and bus that come with the records begin a session without an ask") {
  Following world;
  const bool stored = GENERATE(true, false);
  world.origin.answers(false);
  world.origin.end_session(SessionEnd::kClosed);
  world.origin.begin_session();
  world.origin.add_records(100);
  world.origin.send_notices(stored);
  world.origin.send(stored);
  world.run(4 * RelayInWorld::kTickNs);
  CHECK(world.is_complete());
  CHECK(world.in_status().counts.records == 1'100);
  world.check_content();
}

TEST_CASE("A sender that does not know what was sent does not hide what is missing") {
  Following world;
  world.network.refuse("mirror", true);
  world.network.cut("mirror");
  world.run(kSecond);
  world.origin.add_records(100);
  world.origin.send();
  world.origin.forget_sent();
  world.network.refuse("mirror", false);
  SECTION("from a mirror that is behind") {
    world.require_complete();
    world.check_content();
  }
  SECTION("or from one that starts with what is live") {
    RelayInWorld other;
    other.options.start = RelayStart::kLive;
    other.origin.begin_session();
    other.origin.add_records(5'000);
    other.origin.skip();
    other.origin.forget_sent();
    other.start();
    other.require_complete();
    CHECK(other.journal().oldest == 4'097);
  }
}

TEST_CASE("A message that reaches behind a cut is used up to what the origin kept") {
  RelayInWorld world;
  world.open_stream();
  world.origin.begin_session();
  world.origin.add_records(1'000);
  world.origin.send(true, 1);
  const MadeMessage across = world.origin.records_message(world.origin.session(), 1'001, 40);
  world.origin.add_records(40);
  world.origin.skip();
  REQUIRE(world.origin.transport()->append(*across, 1'000).ok());
  world.origin.end_session(SessionEnd::kCut, 1'020, 5'000);
  world.start();
  world.require_complete();
  CHECK(world.journal().records.size() == 1'020);
  CHECK(world.origin.asks().count(static_cast<std::uint64_t>(RelayRequest::kRecords)) == 0);
  world.check_content();
}

TEST_CASE("A disk that is stuck for longer than give-up makes nothing absent") {
  RelayInWorld world;
  world.options.give_up = std::chrono::seconds(5);
  world.options.held_bytes_max = 20'000;
  world.open_stream();
  world.origin.begin_session();
  world.origin.add_records(100);
  world.origin.send();
  world.start();
  world.require_complete();
  world.mirror.stick(true);
  world.origin.add_records(4'000);
  world.origin.send();
  world.run(20 * kSecond);
  world.mirror.stick(false);
  world.require_complete();
  CHECK(world.journal().absent.empty());
  world.check_content();
}

TEST_CASE("A mirror continues after a kill where its sums end") {
  Following world;
  world.in.reset();
  world.mirror.kill(600);
  world.origin.add_records(300);
  world.origin.send();
  world.start();
  world.require_complete();
  CHECK(world.mirror.begins() == 2);
  world.check_content();
}

}  // namespace lapwing
