// The status of a bus in each of its states.

#include "monitor/bus_status.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "bus/control/client.h"
#include "lapwing/error.h"
#include "os/kernel.h"
#include "proto/ring_words.h"
#include "subscribers/reporter.h"
#include "testing/asked_bus.h"
#include "testing/control_fixture.h"
#include "testing/other_user.h"
#include "testing/status_text.h"

namespace lapwing {
namespace {

absl::StatusOr<BusStatus> try_gather(TestBus& bus) {
  return beside(bus, [directory = bus.directory()] { return gather(directory); });
}
BusStatus gathered(TestBus& bus) {
  absl::StatusOr<BusStatus> status = try_gather(bus);
  REQUIRE(status.ok());
  return *std::move(status);
}

void overwrite(const std::string& path, const std::string& content) {
  std::ofstream(path, std::ios::binary) << content;
}

TEST_CASE("A bus whose publisher lives has a ring, an answer and an open session") {
  TestBus bus;
  bus.start();
  bus.publish(300);
  bus.archive(200);
  bus.archive_unsynced(250);
  const BusStatus status = gathered(bus);
  CHECK(status.directory == bus.directory());
  CHECK(status.description == bus.description(false));
  REQUIRE(status.ring.ok());
  CHECK(status.ring->path == bus.ring->path());
  CHECK(status.ring->publisher_pid == static_cast<std::uint32_t>(getpid()));
  CHECK(status.ring->state == RingState::kRunning);
  CHECK(status.ring->session_first == 1);
  CHECK(status.ring->head == 300);
  CHECK(status.ring->archived == 250);
  CHECK(status.ring->durable == 200);
  CHECK(status.ring->oldest == 1);
  REQUIRE(status.publisher.ok());
  CHECK(status.publisher->head == 300);
  CHECK(status.publisher->subscribers.empty());
  REQUIRE(status.sessions.ok());
  REQUIRE(status.sessions->size() == 1);
  const SessionRecord& session = status.sessions->front();
  CHECK(session.begin.session_id == status.description.session_id);
  CHECK(session.first() == 1);
  CHECK(session.reserved_through == bus.reserved());
  CHECK_FALSE(session.end.has_value());
}

TEST_CASE("A heartbeat's age is the time since the publisher's last beat") {
  TestBus bus;
  bus.start();
  bus.beating = false;
  bus.kill();
  const std::uint64_t beat = monotonic_ns() - 5'000'000'000;
  store_heartbeat(bus.ring->words(), beat);
  const BusStatus status = gathered(bus);
  REQUIRE(status.ring.ok());
  CHECK(status.ring->heartbeat_age_ns >= 5'000'000'000);
  CHECK(status.ring->heartbeat_age_ns <= monotonic_ns() - beat);
}

TEST_CASE("A heartbeat from the future is one of a publisher that runs only if it changes") {
  TestBus bus;
  bus.start();
  bus.beating = false;
  store_heartbeat(bus.ring->words(), monotonic_ns() + 60'000'000'000);
  CHECK(gathered(bus).ring->heartbeat_age_ns >= kSilentNs);
}

TEST_CASE("Each subscriber's last report is in the publisher's answer") {
  TestBus bus;
  bus.start();
  bus.publish(100);
  const auto es = reporting(bus, "es", true, full_report(95, ClientState::kLive));
  ReportFrame beyond_head = full_report(200, ClientState::kFilling);
  beyond_head.head = 0;  // not reported
  const auto nq = reporting(bus, "nq", false, beyond_head);
  const BusStatus status = gathered(bus);
  REQUIRE(status.publisher.ok());
  REQUIRE(status.publisher->subscribers.size() == 2);
  const SubscriberStatus& first = status.publisher->subscribers[0];
  CHECK(first.pid == static_cast<std::uint32_t>(getpid()));
  CHECK(first.uid == getuid());
  CHECK(first.name == "es");
  CHECK(first.may_park);
  check_full_report(first, 95, ClientState::kLive);
  CHECK(first.observed.lag == 5);  // it saw the newest record as the head
  CHECK(first.connected_wall_ns > 0);
  CHECK(first.reported_wall_ns >= first.connected_wall_ns);
  const SubscriberStatus& second = status.publisher->subscribers[1];
  CHECK(second.name == "nq");
  CHECK(second.state == ClientState::kFilling);
  CHECK_FALSE(second.may_park);
  CHECK(second.observed.lag == 0);  // a report beyond head is not a negative lag
}

Observed observed(const SubscriberInfoFrame& info, Sequence head, std::uint64_t now_wall_ns) {
  return status_of(info, head, now_wall_ns, {}).observed;
}

TEST_CASE("A lag is that of the report while it is fresh, and grows once no more come") {
  constexpr std::uint64_t kReported = 1'700'000'000'000'000'000;
  SubscriberInfoFrame info{};
  info.position = 90;
  info.head_seen = 95;
  info.reported = 1;
  info.reported_wall_ns = kReported;
  CHECK(observed(info, 100, kReported).lag == 5);
  CHECK(observed(info, 100, kReported + 3 * kReportNsMin - 1).lag == 5);
  CHECK(observed(info, 100, kReported + 3 * kReportNsMin).lag == 10);
  CHECK(observed(info, 80, kReported + 3 * kReportNsMin).lag == 0);
  info.head_seen = 0;  // not reported
  CHECK(observed(info, 100, kReported).lag == 10);
}

TEST_CASE("A step of the wall clock makes no old report recent") {
  constexpr std::uint64_t kNow = 1'700'000'000'000'000'000;
  constexpr std::uint64_t kHourNs = 3'600'000'000'000;
  SubscriberInfoFrame info{};
  info.position = 90;
  info.head_seen = 95;
  info.reported = 1;
  info.reported_wall_ns = kNow + kHourNs;  // before the clock was set back
  CHECK(observed(info, 100, kNow).report_age_ns == std::nullopt);
  CHECK_FALSE(observed(info, 100, kNow).is_recent);
  CHECK(observed(info, 100, kNow).lag == 10);
  info.report_age_ns = kSilentReportNs;  // the publisher's measurement is used
  CHECK(observed(info, 100, kNow).report_age_ns == kSilentReportNs);
  CHECK_FALSE(observed(info, 100, kNow).is_recent);
  info.report_age_ns = 1;
  info.reported_wall_ns = kNow - kHourNs;  // the clock was set forward
  CHECK(observed(info, 100, kNow).is_recent);
}

TEST_CASE("Who is behind and does not report is silent, and not who has everything") {
  SubscriberStatus status;
  status.observed.report_age_ns = kSilentReportNs;
  CHECK_FALSE(status.is_silent());
  status.observed.lag = 1;
  CHECK(status.is_silent());
  status.observed.report_age_ns = kSilentReportNs - 1;
  CHECK_FALSE(status.is_silent());
  status.observed.report_age_ns = std::nullopt;
  CHECK_FALSE(status.is_silent());
}

TEST_CASE("What a publisher does is decided by four sources") {
  RingStatus ring;
  ring.is_held = true;
  CHECK(ring.publisher_state() == PublisherState::kRunning);
  ring.process = ProcessState::kStopped;
  CHECK(ring.publisher_state() == PublisherState::kStopped);
  ring.process = ProcessState::kUnknown;
  ring.heartbeat_age_ns = kSilentNs;
  CHECK(ring.publisher_state() == PublisherState::kSilent);
  ring.process = ProcessState::kEnded;
  CHECK(ring.publisher_state() == PublisherState::kGone);
  ring.heartbeat_age_ns = 0;
  ring.is_held = false;  // a heartbeat from the future does not keep it alive
  CHECK(ring.publisher_state() == PublisherState::kGone);
  ring.is_held = std::nullopt;
  CHECK(ring.publisher_state() == PublisherState::kRunning);
  ring.state = RingState::kClosed;
  CHECK(ring.publisher_state() == PublisherState::kClosed);
}

TEST_CASE("Clients that the publisher refused and those that it dropped are counted apart") {
  TestBus bus;
  bus.start();
  HelloFrame of_another_release = hello_frame();
  of_another_release.abi_version = kAbiVersion + 1;
  BareClient refused(socket_in(bus.directory()));
  REQUIRE(refused.send(of_another_release));
  std::vector<ControlClient> dropped;
  for (int i = 0; i < 2; ++i) {
    dropped.push_back(reporting(bus, "es", false, full_report(1, ClientState::kLive)));
    REQUIRE(send(dropped.back().fd(), "no frame", 8, MSG_NOSIGNAL) == 8);
    bus.turn();
  }
  const BusStatus status = gathered(bus);
  REQUIRE(status.publisher.ok());
  CHECK(status.publisher->clients_refused == 1);
  CHECK(status.publisher->clients_dropped == 2);
  CHECK(status.publisher->subscribers.empty());
}

TEST_CASE("A publisher is asked without bus.json, and a tool is no subscriber") {
  TestBus bus;
  bus.start();
  std::filesystem::remove(bus.directory() + "/" + kBusFileName);
  const auto answer =
      beside(bus, [directory = bus.directory()] { return ask_publisher(directory); });
  REQUIRE(answer.ok());
  CHECK(answer->subscribers.empty());
  CHECK(answer->clients_refused == 0);
  CHECK(answer->clients_dropped == 0);
}

TEST_CASE("A closed bus has no ring, nobody who answers, and a session that has ended") {
  TestBus bus;
  bus.start();
  bus.publish(70);
  bus.close();
  const BusStatus status = gathered(bus);
  CHECK(status.description.closed);
  CHECK(errc_of(status.ring.status()) == Errc::kNotFound);
  CHECK(status.ring.status().message() == "the session was closed");
  CHECK_FALSE(status.publisher.ok());
  REQUIRE(status.sessions.ok());
  REQUIRE(status.sessions->size() == 1);
  REQUIRE(status.sessions->front().end.has_value());
  CHECK(status.sessions->front().end->how == SessionEnd::kClosed);
  CHECK(status.sessions->front().end->last == 70);
}

TEST_CASE("The ring that a killed publisher left is read") {
  TestBus bus;
  bus.start();
  bus.publish(70);
  bus.archive(64);
  bus.kill();
  const BusStatus status = gathered(bus);
  CHECK_FALSE(status.publisher.ok());
  REQUIRE(status.ring.ok());
  CHECK(status.ring->state == RingState::kRunning);
  CHECK(status.ring->head == 70);
  CHECK(status.ring->durable == 64);
  REQUIRE(status.sessions.ok());
  CHECK_FALSE(status.sessions->front().end.has_value());

  REQUIRE(bus.ring->unlink().ok());  // the machine was rebooted
  const BusStatus later = gathered(bus);
  CHECK(errc_of(later.ring.status()) == Errc::kNotFound);
  CHECK(later.ring.status().message() != "the session was closed");
  CHECK(later.sessions.ok());
}

TEST_CASE("Every session of the journal is there, with its end and its void") {
  TestBus bus(true, 1024);
  bus.start();
  bus.publish(70);
  bus.kill();
  bus.recover();
  bus.start();
  bus.publish(30);
  bus.kill();
  bus.cut(80);
  bus.start();
  const BusStatus status = gathered(bus);
  REQUIRE(status.sessions.ok());
  REQUIRE(status.sessions->size() == 3);
  const auto& sessions = *status.sessions;
  CHECK(sessions[0].end->how == SessionEnd::kRecovered);
  CHECK(sessions[0].end->void_first == 0);
  CHECK(sessions[1].first() == 71);
  CHECK(sessions[1].end->how == SessionEnd::kCut);
  CHECK(sessions[1].end->last == 80);
  CHECK(sessions[1].end->void_first == 81);
  CHECK(sessions[1].end->void_last == sessions[1].reserved_through);
  CHECK(sessions[2].first() == sessions[1].reserved_through + 1);
  REQUIRE(status.ring.ok());
  CHECK(status.ring->session_first == sessions[2].first());
}

TEST_CASE("A journal that has failed, or gave records up, is the ring's to say, with its errno") {
  TestBus bus;
  bus.start();
  bus.publish(64);
  const JournalState state = GENERATE(JournalState::kFailed, JournalState::kShed);
  bus.fail_journal({state, 28});
  const BusStatus status = gathered(bus);
  REQUIRE(status.ring.ok());
  CHECK(status.ring->journal.state == state);
  CHECK(status.ring->journal.sys_errno == 28);
}

TEST_CASE("A status is gathered without a look at a slot of the ring") {
  TestBus bus;
  bus.start();
  bus.publish(300);
  const auto blocks = [&bus] {
    struct stat file{};
    REQUIRE(stat(bus.ring->path().c_str(), &file) == 0);
    return file.st_blocks;
  };
  // The slots' memory has been freed. A process that maps and reads one of
  // their pages allocates it again.
  const auto before = blocks();
  REQUIRE(madvise(bus.ring->slots(), bus.ring->header().capacity * bus.ring->header().slot_bytes,
                  MADV_REMOVE) == 0);
  const auto without_slots = blocks();
  REQUIRE(without_slots < before);
  REQUIRE(gathered(bus).ring.ok());
  CHECK(blocks() == without_slots);
}

// The size of the current journal's segments.
JournalSize size_on_disk(const JournalFixture& journal) {
  JournalSize size;
  for (const auto& entry : std::filesystem::directory_iterator(journal.journal_directory())) {
    if (entry.path().extension() != ".jnl") continue;
    ++size.segments;
    struct stat file{};
    REQUIRE(stat(entry.path().c_str(), &file) == 0);
    size.bytes += static_cast<std::uint64_t>(file.st_blocks) * 512;
  }
  return size;
}

void check_size(TestBus& bus, std::uint64_t segments) {
  const BusStatus status = gathered(bus);
  REQUIRE(status.journals.ok());
  const JournalSize& size = status.journals->back().size;
  CHECK(size.segments == segments);
  const JournalSize on_disk = size_on_disk(bus.journal);
  CHECK(on_disk.segments == segments);
  CHECK(size.bytes == on_disk.bytes);
}

TEST_CASE("The size of a journal is that of the segments which retention has left") {
  TestBus bus;
  bus.start();
  check_size(bus, 0);
  bus.publish(2100);
  bus.archive(2100);
  check_size(bus, 3);
  bus.prune_below_segment(1);
  check_size(bus, 2);
  bus.fail_journal();
  bus.kill();
  REQUIRE(bus.ring->unlink().ok());
  bus.start();  // with a new journal, next to the failed one
  bus.publish(70);
  bus.archive(70);
  check_size(bus, 1);
}

TEST_CASE("Every journal below the root is counted, discarded and not listed ones included") {
  TestBus bus;
  bus.start();
  bus.publish(2100);
  bus.archive(2100);
  bus.prune_below_segment(1);
  const JournalSize first = size_on_disk(bus.journal);
  bus.fail_journal();
  bus.kill();
  REQUIRE(bus.ring->unlink().ok());
  bus.start();
  bus.publish(70);
  bus.archive(70);
  const JournalSize second = size_on_disk(bus.journal);
  const Id128 used = bus.journal.current_journal_id();
  bus.journal.begin_journal(fixture_id(77));  // copied into place by another program
  bus.journal.write(1, 10);
  const JournalSize third = size_on_disk(bus.journal);

  const BusStatus status = gathered(bus);
  REQUIRE(status.journals.ok());
  REQUIRE(status.journals->size() == 3);
  const JournalStatus& stray = (*status.journals)[0];
  const JournalStatus& discarded = (*status.journals)[1];
  const JournalStatus& in_use = (*status.journals)[2];
  CHECK(stray.id == fixture_id(77));
  CHECK(stray.sessions == 0);
  CHECK(discarded.id == JournalFixture::journal_id());
  CHECK(discarded.is_discarded);
  CHECK(discarded.sessions == 1);
  CHECK(discarded.oldest == 1025);
  CHECK(discarded.last == 2100);
  CHECK(discarded.size.segments == 2);
  CHECK(in_use.id == used);
  CHECK_FALSE(in_use.is_discarded);
  CHECK_FALSE(in_use.last);
  const JournalSize total = total_size(*status.journals);
  CHECK(total.segments == 4);
  CHECK(total.bytes == first.bytes + second.bytes + third.bytes);
  const absl::StatusOr<JournalFacts> facts = read_journal_facts(bus.journal.root());
  REQUIRE(facts.ok());
  CHECK(facts->size_bytes == total.bytes);
}

TEST_CASE("A bus without a journal has no sessions, and that is no error") {
  TestBus bus(false);
  bus.start();
  bus.publish(10);
  const BusStatus status = gathered(bus);
  CHECK(status.description.journal_root.empty());
  REQUIRE(status.sessions.ok());
  CHECK(status.sessions->empty());
  REQUIRE(status.journals.ok());
  CHECK(status.journals->empty());
  REQUIRE(status.ring.ok());
  CHECK(status.ring->journal.state == JournalState::kNone);
  CHECK(status.publisher.ok());
}

TEST_CASE("A damaged session log takes what it says of the journal away, and nothing else") {
  TestBus bus;
  bus.start();
  bus.publish(10);
  for (const char* suffix : {"", kCopySuffix}) {
    const std::string path = absl::StrCat(bus.journal.root(), "/", kSessionsFileName, suffix);
    put_bytes(path, 70, "damage", 6);
  }
  const BusStatus status = gathered(bus);
  CHECK(errc_of(status.sessions.status()) == Errc::kDamaged);
  CHECK(errc_of(status.journals.status()) == Errc::kDamaged);
  CHECK(status.ring.ok());
  CHECK(status.publisher.ok());
}

TEST_CASE("Without a bus.json that can be read there is no status") {
  TestBus bus;
  bus.start();
  const std::string path = bus.directory() + "/" + kBusFileName;
  overwrite(path, "{");
  CHECK(errc_of(try_gather(bus).status()) == Errc::kDamaged);
  std::filesystem::remove(path);
  CHECK(errc_of(try_gather(bus).status()) == Errc::kNoBus);
  CHECK(errc_of(gather(bus.directory() + "/nowhere").status()) == Errc::kNoBus);
}

TEST_CASE("A copy of a bus directory does not pass for the bus that runs") {
  TestBus bus(false);
  bus.start();
  const TestDirectory copy;
  std::filesystem::copy(bus.directory() + "/" + kBusFileName, copy / kBusFileName);
  const auto status = gather(copy.path());
  REQUIRE(status.ok());
  CHECK(errc_of(status->ring.status()) == Errc::kNotFound);
  CHECK(says(status->ring.status(), "is a copy; read that one"));
  CHECK_FALSE(status->publisher.ok());
}

TEST_CASE("A bus.json that names something else as its ring is named, and is not believed") {
  TestBus bus;
  bus.start();
  BusDescription description = bus.description(false);
  description.ring_path = "/etc/passwd";
  bus.describe(description);
  const BusStatus status = gathered(bus);
  CHECK(errc_of(status.ring.status()) == Errc::kNotFound);
  CHECK(says(status.ring.status(), bus.directory() + "/bus.json gives /etc/passwd"));
}

TEST_CASE("A publisher that stands still is waited for until its time is up, and no part is lost") {
  TestBus bus;
  bus.start();
  bus.publish(10);
  const auto status = gather(bus.directory());  // the bus's server is not running
  REQUIRE(status.ok());
  CHECK(errc_of(status->publisher.status()) == Errc::kTimedOut);
  REQUIRE(status->ring.ok());
  CHECK(status->ring->head == 10);
  CHECK(status->sessions.ok());
}

// A bus whose directory and journal are removed while it is queried.
class VanishingBus : public TestBus {
 public:
  int asked = 0;

 private:
  WelcomeFrame welcome() override {
    ++asked;
    std::filesystem::remove_all(journal.root());
    std::filesystem::remove_all(directory());
    return make_frame<WelcomeFrame>(FrameType::kWelcome);
  }
};

TEST_CASE("Of a bus that vanishes while it is looked at, what was read before is there") {
  VanishingBus bus;
  bus.start();
  bus.publish(10);
  const BusStatus status = gathered(bus);
  CHECK(bus.asked == 1);
  CHECK(status.description == bus.description(false));
  REQUIRE(status.ring.ok());
  CHECK(status.ring->head == 10);
  CHECK(status.publisher.ok());
  CHECK(errc_of(status.sessions.status()) == Errc::kNotFound);
  CHECK(says(status.sessions.status(), "put it back"));
}

TEST_CASE("Another user's bus is not permitted, as a whole or in each part, and is not damaged") {
  if (geteuid() != 0) LAPWING_SKIP("needs root, to be another user");
  TestBus bus;
  bus.start();
  bus.publish(10);
  const std::string& directory = bus.directory();
  const auto not_permitted = [](const absl::Status& status) {
    return errc_of(status) == Errc::kNotPermitted;
  };
  CHECK(run_as(kTestUser, kTestGroup, [&] {
          const absl::Status refused = gather(directory).status();
          return not_permitted(refused) && says(refused, "ask its owner") ? 0 : __LINE__;
        }) == 0);

  std::filesystem::permissions(directory, std::filesystem::perms(0755));
  std::filesystem::permissions(directory + "/" + kBusFileName, std::filesystem::perms(0644));
  CHECK(run_as(kTestUser, kTestGroup, [&] {
          const auto status = gather(directory);
          if (!status.ok()) return __LINE__;
          if (status->description != bus.description(false)) return __LINE__;
          if (!not_permitted(status->ring.status())) return __LINE__;
          if (!not_permitted(status->publisher.status())) return __LINE__;
          return not_permitted(status->sessions.status()) ? 0 : __LINE__;
        }) == 0);
}

template <typename State>
std::set<std::string> names_of(std::initializer_list<State> states) {
  std::set<std::string> names;
  for (const State& state : states) names.insert(name_of(state));
  return names;
}

TEST_CASE("Every state has a name of its own, and a number from elsewhere is unknown") {
  CHECK(names_of({JournalState::kNone, JournalState::kGood, JournalState::kFailed,
                  JournalState::kShed, static_cast<JournalState>(77)}) ==
        std::set<std::string>{"none", "good", "failed", "shed", "unknown"});
  CHECK(names_of({ClientState::kJoining, ClientState::kLive, ClientState::kFilling,
                  ClientState::kStopped, static_cast<ClientState>(0)}) ==
        std::set<std::string>{"joining", "live", "filling", "stopped", "unknown"});
  const auto ended = [](SessionEnd how) {
    SessionEntry end{};
    end.how = how;
    return std::optional(end);
  };
  CHECK(names_of<std::optional<EndOfSession>>(
            {std::nullopt, ended(SessionEnd::kNone), ended(SessionEnd::kClosed),
             ended(SessionEnd::kRecovered), ended(SessionEnd::kCut), ended(SessionEnd::kFailed),
             ended(SessionEnd::kUpstream)}) == std::set<std::string>{"open", "unknown", "closed",
                                                                     "recovered", "cut", "failed",
                                                                     "upstream"});
}

}  // namespace
}  // namespace lapwing
