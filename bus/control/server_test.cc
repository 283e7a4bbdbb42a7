#include "bus/control/server.h"

#include <sys/stat.h>

#include <chrono>
#include <fstream>
#include <future>
#include <vector>

#include "proto/text_field.h"
#include "testing/control_fixture.h"
#include "testing/process_descriptors.h"

namespace lapwing {
namespace {

constexpr JournalCondition kGoodJournal{JournalState::kGood, 0};

TEST_CASE("A Hello is answered with the Welcome of the moment") {
  TestServer server;
  BareClient client(server.path());
  server.settle();
  CHECK(client.nothing_there());
  CHECK(server.server->subscriber_count() == 0);
  server.welcome.head = 123;
  REQUIRE(client.send(hello_frame()));
  server.settle();
  const auto welcome = client.expect<WelcomeFrame>(FrameType::kWelcome);
  CHECK(welcome.head == 123);
  CHECK(get_text(welcome.bus_name) == "test");
  CHECK(server.server->subscriber_count() == 1);
}

TEST_CASE("Only subscribers are counted, and only those that said so may park") {
  TestServer server;
  BareClient tool = greeted(server, hello_frame("tool", ClientRole::kTool));
  HelloFrame parking = hello_frame("parking");
  parking.may_park = 1;
  BareClient first = greeted(server, parking);
  BareClient second = greeted(server);
  CHECK(server.server->subscriber_count() == 2);
  CHECK(server.server->parking_count() == 1);
  first.close();
  server.settle();
  CHECK(server.server->subscriber_count() == 1);
  CHECK(server.server->parking_count() == 0);
  tool.close();
  second.close();
  server.settle();
  CHECK(server.server->subscriber_count() == 0);
}

TEST_CASE("Another ABI version is refused and both versions are named") {
  TestServer server;
  BareClient client(server.path());
  HelloFrame hello = hello_frame();
  hello.abi_version = kAbiVersion + 41;
  REQUIRE(client.send(hello));
  server.settle();
  const auto refused = client.expect<RefusedFrame>(FrameType::kRefused);
  CHECK(refused.error == static_cast<std::uint32_t>(Errc::kAbiMismatch));
  CHECK(refused.abi_version == kAbiVersion);
  const std::string message = get_text(refused.message);
  CHECK(message.find("ABI version " + std::to_string(kAbiVersion)) != std::string::npos);
  CHECK(message.find("version " + std::to_string(kAbiVersion + 41)) != std::string::npos);
  CHECK(client.closed());
  CHECK(server.dropped(DropReason::kAbiMismatch) == 1);
  CHECK(server.server->subscriber_count() == 0);
}

TEST_CASE("A flush is answered exactly when durable has passed it") {
  TestServer server;
  BareClient client = greeted(server);
  REQUIRE(client.send(flush_frame(7, 90)));
  server.settle();
  CHECK(client.nothing_there());
  CHECK(server.flushes_wanted == std::vector<Sequence>{90});
  CHECK(server.server->flushes_waiting());
  server.server->answer_flushes(89, kGoodJournal);
  CHECK(client.nothing_there());
  server.server->answer_flushes(90, kGoodJournal);
  const auto answer = client.expect<FlushedFrame>(FrameType::kFlushed);
  CHECK(answer.tag == 7);
  CHECK(answer.durable == 90);
  CHECK_FALSE(server.server->flushes_waiting());
  server.server->answer_flushes(100, kGoodJournal);
  CHECK(client.nothing_there());
}

TEST_CASE("A flush of what is durable already is answered at once and asks nobody") {
  TestServer server;
  BareClient client = greeted(server);
  REQUIRE(client.send(flush_frame(1, 40)));
  REQUIRE(client.send(flush_frame(2, 0)));
  server.settle();
  CHECK(client.expect<FlushedFrame>(FrameType::kFlushed).durable == 40);
  CHECK(client.expect<FlushedFrame>(FrameType::kFlushed).tag == 2);
  CHECK(server.flushes_wanted.empty());
}

TEST_CASE("A flush beyond head waits for head") {
  TestServer server;
  BareClient client = greeted(server);
  REQUIRE(client.send(flush_frame(1, UINT64_MAX)));
  server.settle();
  CHECK(server.flushes_wanted == std::vector<Sequence>{100});
  server.server->answer_flushes(100, kGoodJournal);
  CHECK(client.expect<FlushedFrame>(FrameType::kFlushed).durable == 100);
}

TEST_CASE("Flushes of several clients are answered each at its own sequence") {
  TestServer server;
  BareClient first = greeted(server);
  BareClient second = greeted(server);
  REQUIRE(first.send(flush_frame(1, 50)));
  REQUIRE(first.send(flush_frame(2, 70)));
  REQUIRE(second.send(flush_frame(1, 60)));
  server.settle();
  server.server->answer_flushes(60, kGoodJournal);
  CHECK(first.expect<FlushedFrame>(FrameType::kFlushed).tag == 1);
  CHECK(first.nothing_there());
  CHECK(second.expect<FlushedFrame>(FrameType::kFlushed).durable == 60);
  server.server->answer_flushes(99, kGoodJournal);
  CHECK(first.expect<FlushedFrame>(FrameType::kFlushed).tag == 2);
}

TEST_CASE("A failed journal fails the flushes it never reached, and those only") {
  TestServer server;
  BareClient client = greeted(server);
  REQUIRE(client.send(flush_frame(1, 50)));
  REQUIRE(client.send(flush_frame(2, 60)));
  server.settle();
  server.server->answer_flushes(55, {JournalState::kFailed, EIO});
  CHECK(client.expect<FlushedFrame>(FrameType::kFlushed).tag == 1);
  const auto failed = client.expect<FlushFailedFrame>(FrameType::kFlushFailed);
  CHECK(failed.tag == 2);
  CHECK(failed.durable == 55);
  CHECK(failed.journal_state == static_cast<std::uint32_t>(JournalState::kFailed));
  CHECK(failed.sys_errno == EIO);
  CHECK_FALSE(server.server->flushes_waiting());
}

TEST_CASE("A flush of a journal that has failed, or of none, fails at once") {
  TestServer server;
  const JournalState state =
      GENERATE(JournalState::kFailed, JournalState::kShed, JournalState::kNone);
  server.welcome.journal_state = static_cast<std::uint32_t>(state);
  server.welcome.journal_errno = ENOSPC;
  BareClient client = greeted(server);
  REQUIRE(client.send(flush_frame(3, 41)));
  server.settle();
  const auto failed = client.expect<FlushFailedFrame>(FrameType::kFlushFailed);
  CHECK(failed.tag == 3);
  CHECK(failed.durable == 40);
  CHECK(failed.journal_state == static_cast<std::uint32_t>(state));
  CHECK(failed.sys_errno == ENOSPC);
  CHECK(server.flushes_wanted.empty());
  REQUIRE(client.send(flush_frame(4, 40)));
  server.settle();
  CHECK(client.expect<FlushedFrame>(FrameType::kFlushed).tag == 4);
}

TEST_CASE("A flush whose client is gone is forgotten") {
  TestServer server;
  BareClient client = greeted(server);
  REQUIRE(client.send(flush_frame(1, 90)));
  server.settle();
  CHECK(server.server->flushes_waiting());
  client.close();
  server.settle();
  CHECK_FALSE(server.server->flushes_waiting());
  server.server->answer_flushes(90, kGoodJournal);
}

TEST_CASE("A publisher may answer a flush at once") {
  TestServer server;
  server.on_flush_wanted = [&server](Sequence through) {
    server.server->answer_flushes(through, kGoodJournal);
  };
  BareClient client = greeted(server);
  REQUIRE(client.send(flush_frame(1, 90)));
  server.settle();
  CHECK(client.expect<FlushedFrame>(FrameType::kFlushed).durable == 90);
}

TEST_CASE("The list shows what each subscriber said and did not say") {
  TestServer server;
  const std::uint64_t before_ns = wall_ns();
  HelloFrame hello = hello_frame("es \x1b[2J");
  hello.may_park = 1;
  hello.pid = 1;  // ignored: the kernel reports the pid
  BareClient first = greeted(server, hello);
  BareClient second = greeted(server, hello_frame("nq"));
  BareClient tool = greeted(server, hello_frame("tool", ClientRole::kTool));
  REQUIRE(first.send(full_report(55, ClientState::kFilling)));
  server.settle();
  REQUIRE(tool.send(list_frame()));
  server.settle();
  const auto info = tool.expect<SubscriberInfoFrame>(FrameType::kSubscriberInfo);
  CHECK(get_text(info.name) == "es ?[2J");
  CHECK(info.pid == static_cast<std::uint32_t>(getpid()));
  CHECK(info.uid == geteuid());
  CHECK(info.role == ClientRole::kSubscriber);
  CHECK(info.may_park == 1);
  CHECK(info.reported == 1);
  check_full_report(info, 55, ClientState::kFilling);
  CHECK(info.wait == 2);
  CHECK(info.on_gap == 3);
  CHECK(info.connected_wall_ns >= before_ns);
  CHECK(info.reported_wall_ns >= info.connected_wall_ns);
  const auto silent = tool.expect<SubscriberInfoFrame>(FrameType::kSubscriberInfo);
  CHECK(get_text(silent.name) == "nq");
  CHECK(silent.reported == 0);
  CHECK(silent.state == ClientState::kJoining);
  CHECK(silent.reported_wall_ns == 0);
  CHECK(tool.expect<EndOfListFrame>(FrameType::kEndOfList).count == 2);
  CHECK(server.server->subscribers().size() == 2);
}

TEST_CASE("Losses are summed over all subscribers, but for what they had before they came") {
  TestServer server;
  const auto report = [&](BareClient& client, std::uint64_t gaps, std::uint64_t lost,
                          std::uint64_t gaps_before = 0, std::uint64_t lost_before = 0) {
    ReportFrame frame = report_frame(1);
    frame.gaps = gaps;
    frame.lost = lost;
    frame.gaps_before = gaps_before;
    frame.lost_before = lost_before;
    REQUIRE(client.send(frame));
    server.settle();
  };
  BareClient fresh = greeted(server);
  report(fresh, 1, 10);
  report(fresh, 1, 10);
  report(fresh, 3, 15);
  CHECK(server.server->gaps_reported() == 3);
  CHECK(server.server->lost_reported() == 15);
  BareClient returned = greeted(server);
  report(returned, 100, 1'000, 99, 993);
  CHECK(server.server->gaps_reported() == 4);
  CHECK(server.server->lost_reported() == 22);
  fresh.close();
  server.settle();
  report(returned, 100, 1'001, 99, 993);
  report(returned, 2, 2);  // a client that reports less than before
  CHECK(server.server->gaps_reported() == 4);
  CHECK(server.server->lost_reported() == 23);
}

TEST_CASE("The losses of one that only shows records are in its row, not in the sum or an event") {
  TestServer server;
  HelloFrame hello = hello_frame("page");
  hello.observes = 1;
  BareClient page = greeted(server, hello);
  ReportFrame frame = report_frame(1);
  frame.gaps = 3;
  frame.lost = 15;
  REQUIRE(page.send(frame));
  server.settle();
  CHECK(server.server->gaps_reported() == 0);
  CHECK(server.server->lost_reported() == 0);
  CHECK(server.server->events().newest() == 1);  // its kAttached
  REQUIRE(server.server->subscribers().size() == 1);
  CHECK(server.server->subscribers().front().lost == 15);
  CHECK(server.server->subscribers().front().observes == 1);
  page.close();
  server.settle();
  BareClient asker = greeted(server, hello_frame("asker", ClientRole::kTool));
  ListEventsFrame ask = make_frame<ListEventsFrame>(FrameType::kListEvents);
  ask.tag = 1;
  REQUIRE(asker.send(ask));
  server.settle();
  CHECK(asker.expect<EventInfoFrame>(FrameType::kEventInfo).kind == BusEventKind::kAttached);
  const auto detached = asker.expect<EventInfoFrame>(FrameType::kEventInfo);
  CHECK(detached.kind == BusEventKind::kDetached);
  CHECK(detached.gaps == 0);
  CHECK(detached.lost == 0);
}

TEST_CASE("The ages that a subscriber reports stand behind it in the list, and others have none") {
  TestServer server;
  BareClient measures = greeted(server, hello_frame("measures"));
  BareClient other = greeted(server, hello_frame("other"));
  LatencyReportFrame ages = make_frame<LatencyReportFrame>(FrameType::kLatencyReport);
  ages.every = 64;
  ages.sum_ns = 1'000;
  ages.max_ns = 700;
  ages.counts[0] = 3;
  ages.counts[kLatencyCounts - 1] = 5;
  REQUIRE(measures.send(ages));
  server.settle();
  BareClient tool = greeted(server, hello_frame("tool", ClientRole::kTool));
  ListSubscribersFrame list = list_frame();
  list.tag = 77;
  REQUIRE(tool.send(list));
  server.settle();
  CHECK(get_text(tool.expect<SubscriberInfoFrame>(FrameType::kSubscriberInfo).name) == "measures");
  const auto listed = tool.expect<LatencyReportFrame>(FrameType::kLatencyReport);
  CHECK(listed.tag == 77);
  CHECK(listed.every == 64);
  CHECK(listed.sum_ns == 1'000);
  CHECK(listed.max_ns == 700);
  CHECK(listed.counts[0] == 3);
  CHECK(listed.counts[kLatencyCounts - 1] == 5);
  CHECK(get_text(tool.expect<SubscriberInfoFrame>(FrameType::kSubscriberInfo).name) == "other");
  CHECK(tool.expect<EndOfListFrame>(FrameType::kEndOfList).count == 2);
}

TEST_CASE("A list with ages is whole, however slowly it is read") {
  TestServer server;
  constexpr std::size_t kSubscribers = 200;
  std::vector<BareClient> subscribers;
  for (std::size_t i = 0; i < kSubscribers; ++i) {
    subscribers.push_back(greeted(server, hello_frame("reader")));
    LatencyReportFrame ages = make_frame<LatencyReportFrame>(FrameType::kLatencyReport);
    ages.every = i + 1;
    REQUIRE(subscribers.back().send(ages));
    server.settle();
  }
  ControlClient client =
      ControlClient::begin({.path = server.path(), .role = ClientRole::kTool, .name = "tool"})
          .value();
  server.settle();
  REQUIRE(client.welcomed().value());
  auto list =
      std::async(std::launch::async, [&] { return client.list_subscribers(far_deadline()); });
  while (list.wait_for(std::chrono::seconds(0)) != std::future_status::ready) {
    server.server->turn(server.now_ns);
  }
  const auto found = list.get();
  REQUIRE(found.ok());
  REQUIRE(found->subscribers.size() == kSubscribers);
  REQUIRE(found->latencies.size() == kSubscribers);
  for (std::size_t i = 0; i < kSubscribers; ++i) CHECK(found->latencies.at(i).every == i + 1);
}

TEST_CASE("Who comes, is refused, is disconnected or leaves is an event; a question is none") {
  TestServer server;
  BareClient subscriber = greeted(server, hello_frame("reader"));
  BareClient tool = greeted(server, hello_frame("tool", ClientRole::kTool));
  BareClient bad = greeted(server, hello_frame("bad"));
  REQUIRE(bad.send(hello_frame("again")));
  server.settle();
  subscriber.close();
  server.settle();
  ListEventsFrame ask = make_frame<ListEventsFrame>(FrameType::kListEvents);
  ask.tag = 5;
  REQUIRE(tool.send(ask));
  server.settle();
  const auto expect = [&](BusEventKind kind, const char* name) {
    const auto event = tool.expect<EventInfoFrame>(FrameType::kEventInfo);
    CHECK(event.tag == 5);
    CHECK(event.kind == kind);
    CHECK(get_text(event.name) == name);
    return event;
  };
  expect(BusEventKind::kAttached, "reader");
  CHECK(expect(BusEventKind::kAttached, "bad").pid == static_cast<std::uint32_t>(getpid()));
  const EventInfoFrame drop = expect(BusEventKind::kDropped, "bad");
  CHECK(drop.reason == DropReason::kBadFrame);
  CHECK(get_text(drop.text) == "a second Hello");
  expect(BusEventKind::kDetached, "bad");
  CHECK(expect(BusEventKind::kDetached, "reader").number == 5);
  const auto end = tool.expect<EndOfEventsFrame>(FrameType::kEndOfEvents);
  CHECK(end.tag == 5);
  CHECK(end.count == 5);
  CHECK(end.newest == 5);
}

TEST_CASE("The end of the list carries the refusals and drops so far") {
  TestServer server;
  BareClient other_abi(server.path());
  HelloFrame hello = hello_frame();
  hello.abi_version = 0;
  REQUIRE(other_abi.send(hello));
  for (int i = 0; i < 2; ++i) {
    BareClient garbage(server.path());
    REQUIRE(garbage.send_bytes("garbage", 7));
    server.settle();
  }
  BareClient tool = greeted(server, hello_frame("tool", ClientRole::kTool));
  REQUIRE(tool.send(list_frame()));
  server.settle();
  const auto end = tool.expect<EndOfListFrame>(FrameType::kEndOfList);
  CHECK(end.count == 0);
  CHECK(end.refused == 1);
  CHECK(end.dropped == 2);
  for (std::uint32_t i = 1; i <= kDropReasons; ++i) {
    const auto reason = static_cast<DropReason>(i);
    CHECK(end.by_reason[i - 1] == (reason == DropReason::kAbiMismatch ? 1
                                   : reason == DropReason::kBadFrame  ? 2
                                                                      : 0));
  }
}

TEST_CASE("A client that dies leaves the list") {
  TestServer server;
  int welcomed[2];
  REQUIRE(pipe(welcomed) == 0);
  bool seen = false;
  const int result = run_in_child(
      [&server, &welcomed] {
        auto connected = connect_control(server.path(), far_deadline());
        if (!connected.ok()) return 1;
        if (send_frame(connected->get(), hello_frame("mortal")) != SendOutcome::kSent) return 2;
        char byte;
        if (read(welcomed[0], &byte, 1) != 1) return 3;
        raise(SIGKILL);
        return 4;
      },
      [&] {
        server.settle();
        if (seen || server.server->subscriber_count() == 0) return;
        seen = get_text(server.server->subscribers().at(0).name) == "mortal";
        REQUIRE(write(welcomed[1], "x", 1) == 1);
      });
  CHECK(result == -SIGKILL);
  CHECK(seen);
  server.settle();
  CHECK(server.server->subscribers().empty());
  CHECK(server.server->subscriber_count() == 0);
  close(welcomed[0]);
  close(welcomed[1]);
}

TEST_CASE("A connection's end is final although a forked child still holds its descriptors") {
  TestServer server;
  BareClient dropped = greeted(server);
  BareClient closed = greeted(server);
  const std::vector<int> duplicates = duplicates_of("socket:");
  REQUIRE(duplicates.size() >= 4);
  int finish[2];
  REQUIRE(pipe(finish) == 0);
  const int result = run_in_child(
      [&finish] {
        close(finish[1]);
        char byte;
        return read(finish[0], &byte, 1) == 0 ? 0 : 1;
      },
      [&] {
        if (finish[1] < 0) return;
        for (const int duplicate : duplicates) close(duplicate);
        dropped.send_bytes("garbage", 7);
        server.settle();
        dropped.expect<RefusedFrame>(FrameType::kRefused);
        CHECK(dropped.closed());
        server.server->close();
        CHECK(closed.closed());
        close(std::exchange(finish[1], -1));
      });
  CHECK(result == 0);
  close(finish[0]);
}

TEST_CASE("Prunes are announced one by one and each gets its own answer") {
  TestServer server;
  PruneFrame prune = make_frame<PruneFrame>(FrameType::kPrune);
  BareClient first = greeted(server);
  BareClient second = greeted(server);
  prune.below = 30;
  REQUIRE(first.send(prune));
  server.settle();
  prune.below = 20;
  REQUIRE(second.send(prune));
  server.settle();
  CHECK(server.prunes_wanted == std::vector<Sequence>{30});
  CHECK(first.nothing_there());
  server.server->answer_prune(25, Errc::kOk);
  CHECK(first.expect<PrunedFrame>(FrameType::kPruned).oldest == 25);
  CHECK(second.nothing_there());
  CHECK(server.prunes_wanted == std::vector<Sequence>{30, 20});
  server.server->answer_prune(25, Errc::kNoJournal);
  CHECK(second.expect<PrunedFrame>(FrameType::kPruned).error ==
        static_cast<std::uint32_t>(Errc::kNoJournal));
  server.server->answer_prune(25, Errc::kOk);  // no client is waiting
  CHECK(first.nothing_there());
}

TEST_CASE("Every answer to a list repeats the tag of its request") {
  TestServer server;
  BareClient subscriber = greeted(server);
  BareClient tool = greeted(server, hello_frame("tool", ClientRole::kTool));
  for (const std::uint64_t tag : {std::uint64_t{7}, UINT64_MAX}) {
    REQUIRE(tool.send(list_frame(tag)));
    server.settle();
    CHECK(tool.expect<SubscriberInfoFrame>(FrameType::kSubscriberInfo).tag == tag);
    CHECK(tool.expect<EndOfListFrame>(FrameType::kEndOfList).tag == tag);
  }
}

TEST_CASE("The answer to a prune, a refusal too, repeats the tag of its request") {
  TestServer server;
  PruneFrame prune = make_frame<PruneFrame>(FrameType::kPrune);
  BareClient client = greeted(server);
  prune.tag = 5;
  REQUIRE(client.send(prune));
  prune.tag = 6;  // before the first is answered
  REQUIRE(client.send(prune));
  server.settle();
  const auto refused = client.expect<PrunedFrame>(FrameType::kPruned);
  CHECK(refused.tag == 6);
  CHECK(refused.error == static_cast<std::uint32_t>(Errc::kLimit));
  CHECK(server.prunes_wanted.size() == 1);
  server.server->answer_prune(25, Errc::kNoJournal);
  const auto answer = client.expect<PrunedFrame>(FrameType::kPruned);
  CHECK(answer.tag == 5);
  CHECK(answer.error == static_cast<std::uint32_t>(Errc::kNoJournal));
}

TEST_CASE("The answer to a prune whose client is gone goes to nobody else") {
  TestServer server;
  PruneFrame prune = make_frame<PruneFrame>(FrameType::kPrune);
  BareClient first = greeted(server);
  BareClient second = greeted(server);
  BareClient third = greeted(server);
  for (BareClient* client : {&first, &second, &third}) {
    prune.below += 10;
    REQUIRE(client->send(prune));
    server.settle();
  }
  first.close();
  second.close();
  server.settle();
  server.server->answer_prune(10, Errc::kOk);
  CHECK(third.nothing_there());
  CHECK(server.prunes_wanted == std::vector<Sequence>{10, 30});
  server.server->answer_prune(30, Errc::kOk);
  CHECK(third.expect<PrunedFrame>(FrameType::kPruned).oldest == 30);
}

TEST_CASE("Closing removes the name and ends every connection") {
  TestServer server;
  BareClient client = greeted(server);
  REQUIRE(client.send(flush_frame(1, 90)));
  server.settle();
  server.server->close();
  CHECK(client.closed());
  CHECK(access(server.path().c_str(), F_OK) != 0);
  CHECK(server.server->subscriber_count() == 0);
  CHECK_FALSE(server.server->flushes_waiting());
  CHECK(server.server->turn(server.now_ns) == UINT64_MAX);
  server.server->answer_flushes(90, kGoodJournal);
  server.server->close();
}

TEST_CASE("Closing leaves a name that is no longer ours") {
  TestServer server;
  REQUIRE(unlink(server.path().c_str()) == 0);
  std::ofstream(server.path()) << "somebody else's";
  server.server.reset();
  CHECK(std::filesystem::file_size(server.path()) == 15);
}

TEST_CASE("A server in a directory longer than a socket's path works and cleans up") {
  TemporaryDirectory directory;
  const std::string deep = directory.path() + "/" + std::string(150, 'd');
  REQUIRE(mkdir(deep.c_str(), 0700) == 0);
  TestServer server(std::nullopt, deep);
  BareClient client = greeted(server);
  CHECK(server.server->subscriber_count() == 1);
  server.server.reset();
  CHECK(std::filesystem::is_empty(deep));
  CHECK(client.closed());
}

}  // namespace
}  // namespace lapwing
