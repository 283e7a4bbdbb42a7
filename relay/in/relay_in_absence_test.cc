// What becomes absent, and which messages and origins are refused.
#include <catch2/catch.hpp>

#include "testing/relay_in_fixture.h"
#include "testing/relay_messages.h"
#include "testing/status_text.h"

namespace lapwing {

TEST_CASE("A range is absent with the bounds that the origin told, after two seconds") {
  Following world(1, false);
  world.network.refuse("mirror", true);
  world.network.cut("mirror");
  world.run(kSecond);
  world.origin.add_records(3'000);
  world.origin.skip();
  // Whole blocks of 128 slots.
  world.origin.lose(world.origin.session().journal_id, {1'153, 1'536, RelayAbsence::kDamaged, 0});
  world.network.refuse("mirror", false);
  world.run(kSecond);
  CHECK(world.mirror.next() == 1'153);
  world.require_complete();
  REQUIRE(world.journal().absent.size() == 1);
  CHECK(world.journal().absent[0].first == 1'153);
  CHECK(world.journal().absent[0].last == 1'536);
  CHECK(world.journal().absent[0].cause == GapCause::kDamaged);
  world.check_content();
}

TEST_CASE("A silent origin makes nothing absent") {
  Following world(1, false);
  world.origin.add_records(100);
  world.origin.skip();
  world.origin.lose(world.origin.session().journal_id, {1'001, 1'024, RelayAbsence::kDamaged, 0});
  world.origin.answers(false);
  world.run(60 * kSecond);
  CHECK(world.mirror.next() == 1'001);
  CHECK(world.journal().absent.empty());
  world.origin.answers(true);
  world.require_complete();
}

TEST_CASE("With give-up, whole blocks of a silent origin become absent") {
  RelayInWorld world;
  world.options.give_up = std::chrono::seconds(30);
  world.origin.begin_session();
  world.origin.add_records(1'000);
  world.origin.send();
  world.start();
  world.require_complete();
  world.origin.add_records(100);
  world.origin.skip();
  world.origin.answers(false);
  world.run(20 * kSecond);
  CHECK(world.mirror.next() == 1'001);
  world.origin.add_records(300);
  world.origin.send(false);
  world.run(20 * kSecond);
  REQUIRE(world.journal().absent.size() == 1);
  CHECK(world.journal().absent[0].first == 1'001);
  CHECK(world.journal().absent[0].last == 1'152);  // the end of the block
  CHECK(world.journal().absent[0].cause == GapCause::kNotRelayed);
  CHECK(world.mirror.next() == 1'401);
  CHECK(world.mirror.violations().empty());
}

TEST_CASE("A mirror that serves has what the origin lost") {
  RelayInWorld world;
  world.origin.begin_session();
  world.origin.add_records(2'000);
  world.origin.skip();
  world.add_helper();
  world.origin.lose(world.origin.session().journal_id, {1, 1'024, RelayAbsence::kDamaged, 0});
  world.helper->answers(false);
  world.start();
  world.run(kSecond);
  world.helper->answers(true);
  world.require_complete();
  CHECK(world.journal().absent.empty());
  CHECK(world.journal().records.size() == 2'000);
}

TEST_CASE("What retention removed at the origin is pruned at once") {
  RelayInWorld world;
  world.origin.begin_session();
  world.origin.add_records(9'000);
  world.origin.skip();
  world.origin.lose(world.origin.session().journal_id, {1, 4'096, RelayAbsence::kPruned, 0});
  world.start();
  world.require_complete();
  CHECK(world.journal().oldest == 4'097);
  CHECK(world.journal().absent.empty());
  world.check_content();
}

TEST_CASE("A message that differs from the mirror stops it, and names both sources") {
  Following world;
  world.origin.add_records(20);
  world.origin.send(false, 20);
  world.run(4 * RelayInWorld::kTickNs);
  REQUIRE(world.is_complete());
  const RelaySession& session = world.origin.session();
  std::vector<std::byte> records;
  for (Sequence n = 1'001; n <= 1'010; ++n) {
    const auto one = TestOrigin::record(n == 1'007 ? id_of(9) : session.session_id, n);
    records.insert(records.end(), one.begin(), one.end());
  }
  const MadeMessage message =
      make_records_message(world.origin.origin_of(session), 1'001, records, world.origin.buffer());
  REQUIRE(world.origin.transport()->send(RelaySubject::kLog, *message).ok());
  world.run(kSecond);
  CHECK(errc_of(world.status) == Errc::kReset);
  CHECK(says(world.status, "contradiction: record 1007 of session"));
  CHECK(says(world.status, "in a message on log differs"));
  CHECK(says(world.status, "which came from a message on live"));
  CHECK(world.mirror.next() == 1'021);
}

TEST_CASE("Forged messages are refused and change nothing") {
  Following world;
  RelayOrigin origin = world.origin.origin_of(world.origin.session());
  Bytes records(16 * 5);
  const auto inject = [&](Sequence first) {
    const MadeMessage message = make_records_message(origin, first, records, world.origin.buffer());
    REQUIRE(message.ok());
    return Bytes(message->begin(), message->end());
  };
  Bytes message;
  SECTION("of another journal") {
    origin.journal_id = id_of(250), message = inject(1'001);
  }
  SECTION("of another session") {
    origin.session_id = id_of(250), message = inject(1'001);
  }
  SECTION("of another history") {
    origin.session_hash ^= 1, message = inject(1'001);
  }
  SECTION("of another description") {
    origin.schema_hash = 5, message = inject(1'001);
  }
  SECTION("with records of another size") {
    origin.record_bytes = 8;
    message = inject(1'001);
  }
  SECTION("with a wrong sum") {
    message = inject(1'001);
    message.back() ^= std::byte{1};
  }
  SECTION("cut short") {
    message = inject(1'001);
    message.pop_back();
  }
  for (const RelaySubject subject : {RelaySubject::kLog, RelaySubject::kLive}) {
    REQUIRE(world.origin.transport()->send(subject, message).ok());
  }
  world.run(kSecond);
  CHECK(world.mirror.next() == 1'001);
  const RelayInStatus status = world.in_status();
  CHECK(status.counts.refused + status.malformed == 2);
  world.origin.add_records(10);
  world.origin.send();
  world.require_complete();
  world.check_content();
}

TEST_CASE("An origin of another history stops the mirror") {
  Following world;
  world.in.reset();
  // Another bus under the same name.
  TestOrigin other(world.network, 99, "other");
  other.begin_session();
  other.add_records(10);
  other.transport();
  world.beats = false;
  world.origin.answers(false);
  world.start();
  for (int i = 0; i < 200 && world.status.ok(); ++i) {
    other.beat();
    other.serve();
    (void)world.tick();
  }
  CHECK(errc_of(world.status) == Errc::kReset);
  CHECK(says(world.status, "foreign origin"));
  CHECK(world.mirror.next() == 1'001);
}

TEST_CASE("An origin that dropped old sessions still fits") {
  Following world;
  world.origin.end_session(SessionEnd::kClosed);
  world.origin.begin_session();
  world.origin.add_records(10);
  world.origin.send();
  world.require_complete();
  world.origin.drop_first_session();
  world.origin.end_session(SessionEnd::kClosed);
  world.origin.begin_session();
  world.origin.add_records(10);
  world.origin.send();
  world.require_complete();
  CHECK(world.mirror.sessions().size() == 3);
}

}  // namespace lapwing
