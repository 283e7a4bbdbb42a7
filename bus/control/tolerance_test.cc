// Peers from other releases: unknown frames and fields, and fields that the peer does not send.

#include "bus/control/client.h"
#include "bus/control/server.h"
#include "os/kernel.h"
#include "testing/control_fixture.h"

namespace lapwing {
namespace {

// The Hello of a version 1 client.
std::vector<std::byte> first_hello(ClientRole role = ClientRole::kSubscriber) {
  return resized(hello_frame("old", role), kHelloBytesFirst);
}

BareClient greeted_of_version_1(TestServer& server, ClientRole role = ClientRole::kSubscriber) {
  BareClient client(server.path());
  REQUIRE(client.send_packet(first_hello(role)));
  server.settle();
  CHECK(client.expect<WelcomeFrame>(FrameType::kWelcome).version == 1);
  return client;
}

TEST_CASE("A publisher skips frames of types that it does not know") {
  TestServer server;
  BareClient client = greeted(server);
  for (const std::size_t size : {sizeof(FrameHeader), std::size_t{77}, kFrameBytesMax}) {
    REQUIRE(client.send_packet(unknown_frame(size)));
  }
  REQUIRE(client.send(flush_frame(1, 40)));
  server.settle();
  CHECK(client.expect<FlushedFrame>(FrameType::kFlushed).tag == 1);
  CHECK(server.dropped(DropReason::kBadFrame) == 0);
}

TEST_CASE("Frames of unknown types count to the limit of frames") {
  TestServer server;
  BareClient client = greeted(server);
  for (std::uint32_t i = 0; i < kFramesPerSecondMax; ++i) {
    REQUIRE(client.send_packet(unknown_frame()));
    server.settle();
  }
  CHECK(client.expect<RefusedFrame>(FrameType::kRefused).error ==
        static_cast<std::uint32_t>(Errc::kLimit));
  CHECK(server.dropped(DropReason::kTooManyFrames) == 1);
}

TEST_CASE("A frame of an unknown type that is longer than any frame is a violation") {
  TestServer server;
  BareClient client = greeted(server);
  REQUIRE(client.send_packet(unknown_frame(kFrameBytesMax + 1)));
  server.settle();
  CHECK(server.dropped(DropReason::kBadFrame) == 1);
}

TEST_CASE("A publisher takes frames that are longer than it knows, and ignores the rest") {
  TestServer server;
  BareClient client(server.path());
  REQUIRE(client.send_packet(resized(hello_frame("new"), kFrameBytesMax)));
  server.settle();
  client.expect<WelcomeFrame>(FrameType::kWelcome);
  REQUIRE(client.send_packet(resized(report_frame(33), sizeof(ReportFrame) + 8)));
  REQUIRE(client.send_packet(resized(flush_frame(4, 40), sizeof(FlushFrame) + 1)));
  server.settle();
  CHECK(client.expect<FlushedFrame>(FrameType::kFlushed).tag == 4);
  REQUIRE(server.server->subscribers().size() == 1);
  CHECK(get_text(server.server->subscribers()[0].name) == "new");
  CHECK(server.server->subscribers()[0].position == 33);
}

TEST_CASE("A publisher refuses frames that are shorter than their first version") {
  TestServer server;
  BareClient client = greeted(server);
  SECTION("a Report") {
    REQUIRE(client.send_packet(resized(report_frame(1), kReportBytesFirst - 1)));
  }
  SECTION("a Prune") {
    REQUIRE(client.send_packet(
        resized(make_frame<PruneFrame>(FrameType::kPrune), kPruneBytesFirst - 1)));
  }
  SECTION("a Flush") {
    REQUIRE(client.send_packet(resized(flush_frame(1, 1), kFlushBytesFirst - 1)));
  }
  server.settle();
  CHECK(server.dropped(DropReason::kBadFrame) == 1);
}

TEST_CASE("What an older client's frame lacks is not what the frame before it said") {
  TestServer server;
  BareClient client = greeted(server);
  ReportFrame report = report_frame(50);
  report.head = 70;
  REQUIRE(client.send(report));
  server.settle();
  CHECK(server.server->subscribers().at(0).head_seen == 70);
  REQUIRE(client.send(report));
  REQUIRE(client.send_packet(resized(report_frame(60), kReportBytesFirst)));  // in the same turn
  server.settle();
  CHECK(server.server->subscribers().at(0).position == 60);
  CHECK(server.server->subscribers().at(0).head_seen == 0);
}

TEST_CASE("The publisher chooses the newest version that both speak") {
  TestServer server;
  HelloFrame hello = hello_frame();
  hello.version = GENERATE(2U, kControlVersion, kControlVersion + 1, 4'000'000'000U);
  hello.min_version = GENERATE(1U, 2U);
  BareClient client(server.path());
  REQUIRE(client.send(hello));
  server.settle();
  CHECK(client.expect<WelcomeFrame>(FrameType::kWelcome).version ==
        std::min(hello.version, kControlVersion));
}

TEST_CASE("Where the versions have none in common, the refusal names both ranges") {
  TestServer server;
  HelloFrame hello = hello_frame();
  hello.version = 9;
  hello.min_version = kControlVersion + 1;
  BareClient client(server.path());
  REQUIRE(client.send(hello));
  server.settle();
  const auto refused = client.expect<RefusedFrame>(FrameType::kRefused);
  CHECK(refused.error == static_cast<std::uint32_t>(Errc::kAbiMismatch));
  CHECK(
      get_text(refused.message) ==
      "the publisher supports versions 1 to 4 of the control protocol, the client 5 to 9; install "
      "the same release of Lapwing on both sides");
  CHECK(client.closed());
  CHECK(server.dropped(DropReason::kAbiMismatch) == 1);
}

TEST_CASE("Another ABI version is refused whatever the versions of the protocol") {
  TestServer server;
  HelloFrame hello = hello_frame();
  hello.version = 9;
  hello.abi_version = kAbiVersion + 1;
  BareClient client(server.path());
  REQUIRE(client.send(hello));
  server.settle();
  CHECK(get_text(client.expect<RefusedFrame>(FrameType::kRefused).message).find("ABI version") !=
        std::string::npos);
}

TEST_CASE("A client of version 1 is served, and gets frames of exactly the sizes it knows") {
  TestServer server;
  BareClient subscriber = greeted_of_version_1(server);
  BareClient tool = greeted_of_version_1(server, ClientRole::kTool);
  REQUIRE(tool.send_packet(resized(list_frame(), kListSubscribersBytesFirst)));
  REQUIRE(tool.send_packet(resized(make_frame<PruneFrame>(FrameType::kPrune), kPruneBytesFirst)));
  server.settle();
  server.server->answer_prune(25, Errc::kOk);
  std::vector<std::size_t> sizes;
  Packet packet;
  while (tool.receive(packet) == ReceiveOutcome::kFrame) sizes.push_back(packet.size);
  std::sort(sizes.begin(), sizes.end());
  CHECK(sizes == std::vector<std::size_t>{kPrunedBytesFirst, kEndOfListBytesFirst,
                                          kSubscriberInfoBytesFirst});
}

TEST_CASE("A client skips frames of types that it does not know, wherever it waits") {
  ScriptedPublisher publisher;
  ControlClient client = publisher.connect();
  EndOfListFrame end = make_frame<EndOfListFrame>(FrameType::kEndOfList);
  end.tag = 1;
  publisher.send(unknown_frame());
  publisher.send(bytes_of(end));
  CHECK(client.list_subscribers(far_deadline()).ok());
  PrunedFrame pruned = make_frame<PrunedFrame>(FrameType::kPruned);
  pruned.tag = 2;
  publisher.send(unknown_frame(kFrameBytesMax));
  publisher.send(bytes_of(pruned));
  CHECK(client.prune(1, far_deadline()).ok());
  publisher.send(unknown_frame(99));
  CHECK_FALSE(client.publisher_gone());
}

TEST_CASE("Frames of unknown types do not keep a client that does not wait") {
  ScriptedPublisher publisher;
  ControlClient client = publisher.connect();
  REQUIRE(client.begin_flush(1).ok());
  constexpr int kUnknown = 100;
  for (int i = 0; i < kUnknown; ++i) REQUIRE(publisher.send(unknown_frame()));
  FlushedFrame flushed = make_frame<FlushedFrame>(FrameType::kFlushed);
  flushed.tag = 1;
  REQUIRE(publisher.send(bytes_of(flushed)));
  CHECK_FALSE(client.flush_answer().value().has_value());  // it stopped at the skip limit
  CHECK(client.flush_answer().value().has_value());
}

TEST_CASE("A client takes frames that are longer than it knows") {
  ScriptedPublisher publisher;
  WelcomeFrame welcome = welcome_frame();
  welcome.head = 5;
  const std::vector<std::byte> longer = resized(welcome, kFrameBytesMax);
  auto client = publisher.connect_answering(longer);
  REQUIRE(client.ok());
  CHECK(client->welcome().head == 5);
  FlushedFrame flushed = make_frame<FlushedFrame>(FrameType::kFlushed);
  flushed.tag = 1;
  flushed.durable = 7;
  publisher.send(resized(flushed, sizeof flushed + 100));
  CHECK(client->flush(1, far_deadline()).value().durable == 7);
}

TEST_CASE("A client refuses frames that are shorter than their first version") {
  ScriptedPublisher publisher;
  const std::vector<std::byte> shorter = resized(welcome_frame(), kWelcomeBytesFirst - 8);
  CHECK(errc_of(publisher.connect_answering(shorter).status()) == Errc::kProtocol);
}

TEST_CASE("A client refuses a version of the protocol that it does not speak") {
  ScriptedPublisher publisher;
  WelcomeFrame welcome = welcome_frame();
  welcome.version = GENERATE(0U, 1U, kControlVersion + 1);
  const absl::Status status = publisher.connect_answering(bytes_of(welcome)).status();
  CHECK(errc_of(status) == Errc::kAbiMismatch);
  CHECK(status.message().find("of the control protocol") != absl::string_view::npos);
}

TEST_CASE("A client tells which versions a publisher speaks that has none in common with it") {
  ScriptedPublisher publisher;
  RefusedFrame refused = make_frame<RefusedFrame>(FrameType::kRefused);
  refused.error = static_cast<std::uint32_t>(Errc::kAbiMismatch);
  refused.abi_version = kAbiVersion;
  set_text(refused.message, "the publisher speaks versions 7 to 9 of the control protocol");
  const absl::Status status = publisher.connect_answering(bytes_of(refused)).status();
  CHECK(errc_of(status) == Errc::kAbiMismatch);
  CHECK(status.message().find("versions 7 to 9") != absl::string_view::npos);
}

}  // namespace
}  // namespace lapwing
