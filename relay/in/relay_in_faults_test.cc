// Whatever the network does, the mirror has the origin's records once the network is well.
#include <catch2/catch.hpp>

#include "testing/relay_in_fixture.h"

namespace lapwing {
namespace {

class Trouble {
 public:
  explicit Trouble(std::uint64_t seed) : world_(seed), random_(seed * 7919 + 1) {
    if (random_.chance(80)) {
      world_.open_stream();
      has_stream_ = true;
    }
    world_.options.path = random_.chance(50) ? RelayPath::kCore : RelayPath::kStream;
    world_.options.held_bytes_max = random_.chance(30) ? 30'000 : kHeldBytesMax;
    if (random_.chance(30)) world_.origin.set_metadata(std::string(2'500, 'm'));
    world_.origin.begin_session();
    if (random_.chance(50)) world_.start();
  }

  void make(int steps) {
    for (int i = 0; i < steps; ++i) {
      act();
      world_.run(random_.below(300) * 1'000'000);
      if (world_.in == nullptr && random_.chance(20)) world_.start();
      INFO(world_.status.ToString());
      REQUIRE(world_.status.ok());
    }
  }
  void heal() {
    world_.network.set_faults({});
    world_.network.hold_stream(false);
    for (const char* host : {"mirror", "origin"}) {
      world_.network.thaw(host);
      world_.network.refuse(host, false);
    }
    world_.mirror.stick(false);
    world_.origin.answers(true);
    world_.origin.send(has_stream_);
    if (world_.in == nullptr) world_.start();
    world_.require_complete();
    world_.check_content();
  }
  RelayInWorld& world() { return world_; }

 private:
  void act() {
    switch (random_.below(16)) {
      case 0: {
        RelayNetworkFaults faults;
        faults.loss_percent = static_cast<unsigned>(random_.below(30));
        faults.duplicate_percent = static_cast<unsigned>(random_.below(30));
        faults.delay_ns_max = random_.below(100'000'000);
        world_.network.set_faults(faults);
        break;
      }
      case 1:
        world_.network.cut("mirror");
        break;
      case 2:
        world_.network.cut("origin");
        break;
      case 3:
        world_.network.freeze("mirror");
        world_.run(random_.below(5'000) * 1'000'000);
        world_.network.thaw("mirror");
        break;
      case 4:
        world_.mirror.stick(true);
        world_.run(random_.below(500) * 1'000'000);
        world_.mirror.stick(false);
        break;
      case 5:
        world_.mirror.put_only(random_.below(20));
        break;
      case 6:
        trouble_stream();
        break;
      case 7:
        lose_records();
        break;
      case 8:
        end_session();
        break;
      case 9:
        if (world_.in != nullptr && random_.chance(50)) {
          world_.in.reset();
          world_.mirror.kill(random_.below(world_.mirror.next() + 1));
        }
        break;
      case 10:
        world_.origin.add_records(random_.below(400));
        world_.origin.skip();
        break;
      default:
        world_.origin.add_records(random_.below(400));
        world_.origin.send(random_.chance(80));
    }
  }
  void trouble_stream() {
    if (!has_stream_) return;
    switch (random_.below(4)) {
      case 0:
        copy_ = world_.network.copy_stream();
        break;
      case 1:
        if (copy_) world_.network.restore_stream(copy_);
        break;
      case 2:
        world_.network.delete_stream();
        if (auto* transport = world_.origin.transport()) {
          (void)transport->open_stream({}, Deadline::now());
        }
        break;
      default:
        world_.network.expire_stream(random_.below(200));
    }
  }
  // Whole blocks, as damage takes.
  void lose_records() {
    const RelaySession& session = world_.origin.session();
    const Sequence blocks = world_.origin.head() / 128;
    if (session.how != SessionEnd::kNone || blocks < lost_blocks_ + 3) return;
    const Sequence first = lost_blocks_ + 1 + random_.below(blocks - lost_blocks_ - 1);
    lost_blocks_ = std::max(first + 1, lost_blocks_);
    world_.origin.lose(session.journal_id,
                       {128 * first + 1, 128 * (first + 1), RelayAbsence::kDamaged, 0});
  }
  void end_session() {
    const Sequence head = world_.origin.head();
    const Sequence first = world_.origin.session().first;
    world_.origin.send(has_stream_);
    switch (random_.below(3)) {
      case 0:
        world_.origin.end_session(SessionEnd::kClosed);
        break;
      case 1:
        // What is cut was durable nowhere, and so it is not lost to damage.
        world_.origin.end_session(
            SessionEnd::kCut,
            std::max(first - 1, std::max(lost_blocks_ * 128, head - std::min(head, Sequence{50}))),
            5'000);
        break;
      default:
        world_.origin.end_session(SessionEnd::kFailed, head);
        world_.run(random_.below(300) * 1'000'000);
        lost_blocks_ = 0;
        world_.origin.begin_session(true);
        return;
    }
    world_.run(random_.below(300) * 1'000'000);
    world_.origin.begin_session();
    lost_blocks_ = std::max(lost_blocks_, world_.origin.head() / 128 + 1);
  }

  RelayInWorld world_;
  SimRandom random_;
  bool has_stream_ = false;
  Sequence lost_blocks_ = 0;
  std::shared_ptr<const RelayNetwork::Copy> copy_;
};

}  // namespace

TEST_CASE("Whatever the network does, the mirror has the origin's records when it is well") {
  RelayNetworkCounts counts;
  std::uint64_t absent = 0;
  for (std::uint64_t seed = 1; seed <= 250; ++seed) {
    CAPTURE(seed);
    Trouble trouble(seed);
    trouble.make(40);
    trouble.heal();
    const RelayNetworkCounts each = trouble.world().network.counts();
    counts.lost += each.lost;
    counts.duplicated += each.duplicated;
    counts.overtaken += each.overtaken;
    counts.cut += each.cut;
    for (const auto& journal : trouble.world().mirror.journals()) absent += journal.absent.size();
  }
  // Otherwise nothing was shown.
  CHECK(counts.lost > 100);
  CHECK(counts.duplicated > 100);
  CHECK(counts.overtaken > 100);
  CHECK(counts.cut > 10);
  CHECK(absent > 10);
}

}  // namespace lapwing
