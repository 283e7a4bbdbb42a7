// How channel ends behave in a forked child, and what their peers observe.
#include <unistd.h>

#include <atomic>
#include <optional>
#include <thread>
#include <vector>

#include "lapwing/duplex.h"
#include "testing/channel_fixture.h"
#include "testing/child_process.h"
#include "testing/process_descriptors.h"
#include "testing/skip.h"

namespace lapwing {
namespace {

constexpr std::uint32_t kMoreThanAClock = 3 * kCallsPerClock;

bool is_forked(const absl::Status& status) {
  return errc_of(status) == Errc::kForked &&
         status.message().find("open another one here") != absl::string_view::npos;
}

template <typename End>
bool is_still(const End& end) {
  return end.fd() == -1 && end.counters().messages_sent == 0 &&
         end.counters().messages_received == 0 && end.connection_id() != Id128{};
}

// Returns the line of the first call that does not return kForked in a child, or 0 if all do.
int try_every_call(ChannelProducer& producer) {
  const Outgoing outgoing[] = {{bytes_of("x"), 1}};
  if (!is_forked(producer.status())) return __LINE__;
  if (producer.try_claim(1).error() != Errc::kForked) return __LINE__;
  if (producer.claim(1).error() != Errc::kForked) return __LINE__;
  if (producer.claim(std::size_t{1} << 40).error() != Errc::kForked) return __LINE__;
  if (producer.commit(1, 1) != Errc::kForked || producer.stage(1, 1) != Errc::kForked) {
    return __LINE__;
  }
  if (producer.commit_staged() != Errc::kForked) return __LINE__;
  if (producer.abort() != Errc::kForked) return __LINE__;
  if (producer.send(bytes_of("x"), 1) != Errc::kForked) return __LINE__;
  if (producer.try_send_batch(outgoing).error() != Errc::kForked) return __LINE__;
  if (producer.send_batch(outgoing).error() != Errc::kForked) return __LINE__;
  if (producer.send_batch({}).error() != Errc::kForked) return __LINE__;
  if (producer.drain() != Errc::kForked) return __LINE__;
  producer.interrupt();
  for (std::uint32_t i = 0; i < kMoreThanAClock; ++i) {
    if (producer.try_send(bytes_of("x"), 1) != Errc::kForked) return __LINE__;
  }
  if (producer.arm(1) || !is_still(producer) || !is_forked(producer.status())) return __LINE__;
  producer.close();
  return producer.try_claim(1).error() == Errc::kForked ? 0 : __LINE__;
}

int try_every_call(ChannelConsumer& consumer) {
  Message messages[2];
  std::byte buffer[8];
  if (!is_forked(consumer.status())) return __LINE__;
  if (consumer.try_peek().error() != Errc::kForked) return __LINE__;
  if (consumer.peek().error() != Errc::kForked) return __LINE__;
  if (consumer.release() != Errc::kForked) return __LINE__;
  if (consumer.try_peek_batch(messages).error() != Errc::kForked) return __LINE__;
  if (consumer.peek_batch(messages).error() != Errc::kForked) return __LINE__;
  if (consumer.peek_batch({}).error() != Errc::kForked) return __LINE__;
  if (consumer.release(messages, 1) != Errc::kForked) return __LINE__;
  if (consumer.receive(buffer).error() != Errc::kForked) return __LINE__;
  consumer.interrupt();
  for (std::uint32_t i = 0; i < kMoreThanAClock; ++i) {
    if (consumer.try_receive(buffer).error() != Errc::kForked) return __LINE__;
  }
  if (consumer.arm() || !is_still(consumer) || !is_forked(consumer.status())) return __LINE__;
  consumer.close();
  return consumer.try_peek().error() == Errc::kForked ? 0 : __LINE__;
}

int try_every_call(Duplex& duplex, CallId call) {
  const auto text = bytes_of("x");
  if (!is_forked(duplex.status())) return __LINE__;
  if (duplex.call(text, 1).error() != Errc::kForked) return __LINE__;
  if (duplex.try_start(text, 1).error() != Errc::kForked) return __LINE__;
  if (duplex.start(text, 1).error() != Errc::kForked) return __LINE__;
  const Result<Reply> reply = duplex.finish(call);
  if (reply.error() != Errc::kForked || reply->delivery != Delivery::kUnknown) return __LINE__;
  if (duplex.try_finish_any().error() != Errc::kForked) return __LINE__;
  if (duplex.finish_any().error() != Errc::kForked) return __LINE__;
  if (duplex.cancel(call) != Errc::kForked) return __LINE__;
  if (duplex.next().error() != Errc::kForked) return __LINE__;
  if (duplex.try_wait_any().error() != Errc::kForked) return __LINE__;
  if (duplex.wait_any().error() != Errc::kForked) return __LINE__;
  if (duplex.duplex_counters().one_ways_sent != 0) return __LINE__;
  if (duplex.reply(call, text, 1) != Errc::kForked) return __LINE__;
  if (duplex.reply_error(call, 1, "x") != Errc::kForked) return __LINE__;
  if (duplex.is_cancelled(call)) return __LINE__;
  if (duplex.try_send(text, 1) != Errc::kForked) return __LINE__;
  if (duplex.send(text, 1) != Errc::kForked) return __LINE__;
  duplex.interrupt();
  for (std::uint32_t i = 0; i < kMoreThanAClock; ++i) {
    if (duplex.try_next().error() != Errc::kForked) return __LINE__;
  }
  if (duplex.arm() || !is_still(duplex) || !is_forked(duplex.status())) return __LINE__;
  duplex.close();
  return duplex.try_next().error() == Errc::kForked ? 0 : __LINE__;
}

TEST_CASE("Every call of a channel's ends returns forked in a child, and their messages continue") {
  ChannelPair pair({});
  REQUIRE(pair.producer().send(bytes_of("first"), 1, soon()) == Errc::kOk);
  REQUIRE(pair.consumer().peek(soon()).error() == Errc::kOk);
  REQUIRE(pair.producer().claim(4, soon()).error() == Errc::kOk);
  ChildProcess child([&] {
    if (const int line = try_every_call(pair.producer()); line != 0) return line;
    return try_every_call(pair.consumer());
  });
  CHECK(child.wait() == 0);
  CHECK(pair.consumer().release() == Errc::kOk);
  CHECK(pair.producer().commit(4, 1) == Errc::kOk);
  for (std::uint32_t i = 0; i < kMoreThanAClock; ++i) {
    REQUIRE(pair.consumer().peek(soon()).error() == Errc::kOk);
    REQUIRE(pair.consumer().release() == Errc::kOk);
    REQUIRE(pair.producer().send(bytes_of("next"), 1, soon()) == Errc::kOk);
  }
  CHECK(pair.producer().status().ok());
}

TEST_CASE("A child can replace its parent's ends with its own") {
  if (kThreadSanitizer) LAPWING_SKIP("a child that starts threads dies where its parent had any");
  ChannelPair pair({});
  ChildProcess child([&] {
    ChannelProducer producer = std::move(pair.producer());
    ChannelConsumer consumer = std::move(pair.consumer());
    ChannelPair own({});
    producer = std::move(own.producer());
    consumer = std::move(own.consumer());
    if (!producer.send(bytes_of("own"), 1, soon()).ok()) return __LINE__;
    return consumer.peek(soon()).error() == Errc::kOk ? 0 : __LINE__;
  });
  CHECK(child.wait() == 0);
  REQUIRE(pair.producer().send(bytes_of("next"), 1, soon()) == Errc::kOk);
  CHECK(pair.consumer().peek(soon()).error() == Errc::kOk);
}

TEST_CASE("Every call of a duplex returns forked in a child, and the parent's calls continue") {
  const TemporaryDirectory directory;
  auto [client, server] = make_ends<Duplex, Duplex>(directory.file("duplex.sock"), {}, {});
  const Result<CallId> asked = client.start(bytes_of("how much?"), 1, soon());
  REQUIRE(asked.ok());
  REQUIRE(server.next(soon())->call == *asked);
  ChildProcess child([&, &its_client = client, &its_server = server] {
    if (const int line = try_every_call(its_client, *asked); line != 0) return line;
    if (const int line = try_every_call(its_server, *asked); line != 0) return line;
    Duplex moved = std::move(its_client);
    moved = std::move(its_server);
    return is_forked(moved.status()) ? 0 : __LINE__;
  });
  CHECK(child.wait() == 0);
  REQUIRE(server.reply(*asked, bytes_of("ten"), 1) == Errc::kOk);
  CHECK(text_of(client.finish(*asked)->payload) == "ten");
}

TEST_CASE("A listener returns forked in a child, and its parent's listener serves its peers") {
  const TemporaryDirectory directory;
  const std::string path = directory.file("channel.sock");
  auto opened = ChannelListener::listen(path);
  REQUIRE(opened.ok());
  std::optional<ChannelListener> listener(*std::move(opened));
  ChildProcess child([&] {
    if (!is_forked(ChannelConsumer::accept(*listener, {}, soon()).status())) return __LINE__;
    if (!is_forked(listener->tend()) || listener->fd() != -1) return __LINE__;
    if (listener->path() != path || listener->refused() != 0) return __LINE__;
    listener->interrupt();
    if (errc_of(ChannelListener::listen(path).status()) != Errc::kInUse) return __LINE__;
    listener.reset();
    return errc_of(ChannelListener::listen(path).status()) == Errc::kInUse ? 0 : __LINE__;
  });
  CHECK(child.wait() == 0);
  ChildProcess peer([&] {
    auto producer = ChannelProducer::connect(path, {}, soon());
    if (!producer.ok()) return 1;
    return producer->send(bytes_of("hello"), 1).ok() ? 0 : 2;
  });
  auto consumer = ChannelConsumer::accept(*listener, {}, soon());
  REQUIRE(consumer.ok());
  CHECK(text_of(consumer->peek(soon())->payload) == "hello");
  CHECK(peer.wait() == 0);
}

TEST_CASE("A listener that ends while a child lives leaves its path to another one") {
  const TemporaryDirectory directory;
  auto opened = ChannelListener::listen(directory.file("channel.sock"));
  REQUIRE(opened.ok());
  std::optional<ChannelListener> listener(*std::move(opened));
  const ChildProcess child([] {
    for (;;) pause();
    return 0;
  });
  listener.reset();
  CHECK(ChannelListener::listen(directory.file("channel.sock")).ok());
  CHECK(kill(child.pid(), 0) == 0);
}

TEST_CASE("A channel ends with the process that opened it, although a child of it lives") {
  const TemporaryDirectory directory;
  const std::string path = directory.file("channel.sock");
  const Shared<std::atomic<pid_t>> worker;
  auto listener = ChannelListener::listen(path);
  REQUIRE(listener.ok());
  ChildProcess killed([&] {
    auto producer = ChannelProducer::connect(path, {}, soon());
    if (!producer.ok()) return 1;
    const pid_t forked = fork();
    if (forked < 0) return 2;
    while (forked == 0) pause();
    worker->store(forked);
    if (!producer->send(bytes_of("last"), 1).ok()) return 3;
    for (;;) pause();
  });
  auto consumer = ChannelConsumer::accept(*listener, {}, soon());
  REQUIRE(consumer.ok());
  REQUIRE(text_of(consumer->peek(soon())->payload) == "last");
  REQUIRE(consumer->release() == Errc::kOk);
  killed.send(SIGKILL);
  CHECK(killed.wait() == -SIGKILL);
  CHECK(consumer->peek(soon()).error() == Errc::kPeerGone);
  CHECK(kill(worker->load(), 0) == 0);
  kill(worker->load(), SIGKILL);
}

TEST_CASE("A child forked while another thread sleeps on an end gets forked from it") {
  if (kThreadSanitizer) LAPWING_SKIP("the misuse is a data race, which a sanitizer reports");
  ChannelPair pair({.wait = WaitStrategy::kPark});
  std::thread sleeping([&] { CHECK(pair.consumer().peek(soon()).error() == Errc::kInterrupted); });
  while (pair.consumer().try_peek().error() != Errc::kMisuse) std::this_thread::yield();
  ChildProcess child([&] { return try_every_call(pair.consumer()); });
  CHECK(child.wait() == 0);
  pair.consumer().interrupt();
  sleeping.join();
}

TEST_CASE("A child that destroys its parent's end of a channel does not unmap it") {
  const TemporaryDirectory directory;
  auto listener = ChannelListener::listen(directory.file("channel.sock"));
  REQUIRE(listener.ok());
  ChildProcess peer([&] {
    const auto end = ChannelConsumer::connect(directory.file("channel.sock"), {}, soon());
    while (end.ok()) pause();
    return 1;
  });
  auto accepted = ChannelProducer::accept(*listener, {}, soon());
  REQUIRE(accepted.ok());
  std::optional<ChannelProducer> producer(*std::move(accepted));
  void* const place = mapping_of(kChannelFileName);
  REQUIRE(place != nullptr);
  ChildProcess child([&] {
    const PageInPlace page(place);
    if (!page.stands()) return 1;
    producer.reset();
    return page.stands() ? 0 : 2;
  });
  CHECK(child.wait() == 0);
}

TEST_CASE("A child has neither the descriptors nor the mappings of channels") {
  const std::string before_program = descriptors_of_program();
  const std::set<int> before = descriptor_numbers();
  ChannelPair pair({});
  const TemporaryDirectory directory;
  const auto listener = ChannelListener::listen(directory.file("other.sock"));
  REQUIRE(listener.ok());
  REQUIRE(descriptor_numbers().size() > before.size() + 6);
  REQUIRE(maps(kChannelFileName));
  ChildProcess child([&] {
    if (!is_subset(descriptor_numbers(), before)) return 1;
    return maps(kChannelFileName) ? 2 : 0;
  });
  CHECK(child.wait() == 0);
  CHECK(descriptors_of_program() == before_program);
}

}  // namespace
}  // namespace lapwing
