// The calls that a session's threads make to the publisher, made without those threads.
#include "publisher/publisher_control.h"

#include <filesystem>

#include "proto/ring_words.h"
#include "proto/text_field.h"
#include "testing/publisher_fixture.h"
#include "testing/started_parts.h"

namespace lapwing {
namespace {

TEST_CASE("The Welcome describes the ring and its progress") {
  const TemporaryDirectory directory;
  StartedParts parts(options_for(directory));
  store_head(parts.words(), 7);
  store_durable(parts.words(), 5);
  const WelcomeFrame welcome = parts.control.welcome();
  const RingHeader& ring = parts.session.ring->header();
  CHECK(welcome.head == 7);
  CHECK(welcome.durable == 5);
  CHECK(welcome.session_id == ring.session_id);
  CHECK(welcome.capacity == kCapacity);
  CHECK(welcome.record_bytes == sizeof(Record));
  CHECK(welcome.has_journal == 1);
  CHECK(welcome.journal_state == static_cast<std::uint32_t>(JournalState::kGood));
  CHECK(get_text(welcome.ring_path) == parts.session.ring->path());
  CHECK(get_text(welcome.journal_path) == parts.session.places.journal_root());
  store_head(parts.words(), 0);
  store_durable(parts.words(), 0);
}

TEST_CASE("Without a journal there is nothing to prune, and the end is recorded at once") {
  const TemporaryDirectory directory;
  PublisherSetUp options = options_for(directory);
  keep_no_journal(options);
  StartedParts parts(std::move(options));
  CHECK(parts.control.file_thread() == nullptr);
  parts.control.flush_wanted(1);
  parts.control.prune_wanted(1);
  CHECK(parts.control.prune_result() == Errc::kNoJournal);
  CHECK(parts.control.close_journal().ok());
  CHECK(parts.control.end_recorded());
}

TEST_CASE("A requested prune has no result before the file thread has done it") {
  const TemporaryDirectory directory;
  StartedParts parts(options_for(directory));
  CHECK(parts.control.prune_result() == Errc::kOk);  // no prune was requested
  parts.control.prune_wanted(1);
  CHECK_FALSE(parts.control.prune_result());
  CHECK(parts.control.close_journal().ok());
  CHECK(parts.control.prune_result() == Errc::kClosed);
}

TEST_CASE("The service thread watches the lock files only without a journal") {
  const TemporaryDirectory directory;
  PublisherSetUp options = options_for(directory);
  const bool journal = GENERATE(true, false);
  if (!journal) keep_no_journal(options);
  StartedParts parts(options);
  const std::string lock = options.directory + "/" + kLockFileName;
  REQUIRE(std::filesystem::remove(lock));
  parts.control.on_heartbeat(monotonic_ns());
  CHECK(std::filesystem::exists(lock) == !journal);
}

TEST_CASE("A journal that is closed records the session's end, and is released after it") {
  const TemporaryDirectory directory;
  StartedParts parts(options_for(directory));
  REQUIRE(parts.control.file_thread() != nullptr);
  CHECK_FALSE(parts.control.end_recorded());
  CHECK(parts.control.close_journal().ok());
  CHECK(parts.control.end_recorded());
  const SessionRecord* const ended = parts.session.sessions->last();
  REQUIRE((ended != nullptr && ended->end));
  CHECK(ended->end->how == SessionEnd::kClosed);
  parts.control.release_journal();
  CHECK(parts.control.file_thread() == nullptr);
}

TEST_CASE("Both threads start, and the socket exists until it is closed") {
  const TemporaryDirectory directory;
  const PublisherSetUp options = options_for(directory);
  StartedParts parts(options);
  REQUIRE(parts.control.start().ok());
  const std::string socket = options.directory + "/" + kControlSocketName;
  CHECK(std::filesystem::exists(socket));
  CHECK(parts.control.close_journal().ok());
  parts.control.close_socket();
  CHECK_FALSE(std::filesystem::exists(socket));
}

}  // namespace
}  // namespace lapwing
