#include "publisher/feeds/pacer.h"

#include <catch2/catch.hpp>
#include <vector>

#include "lapwing/error.h"

namespace lapwing {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;
constexpr std::uint64_t kStart = 5'000 * kSecond;

// Time passes only during sleeps, and by one microsecond per call of now_ns().
class FakeClock : public PaceClock {
 public:
  std::uint64_t now_ns() override { return now_ += 1'000; }
  void sleep_until_ns(std::uint64_t until_ns) override {
    sleep_max = std::max(sleep_max, until_ns - now_);
    ++sleeps;
    now_ = until_ns;
  }
  std::uint64_t elapsed() const { return now_ - kStart; }
  void pass(std::uint64_t ns) { now_ += ns; }

  std::uint64_t sleep_max = 0;
  int sleeps = 0;

 private:
  std::uint64_t now_ = kStart;
};

Pace pace_of(const std::string& text) {
  const auto pace = parse_pace(text);
  REQUIRE(pace.ok());
  return *pace;
}

// Returns the clock time in ns at which each batch was due. Each batch has one record with one of
// these times.
std::vector<std::uint64_t> due(const std::string& pace,
                               const std::vector<std::uint64_t>& times_ns) {
  FakeClock clock;
  Pacer pacer(pace_of(pace), clock, [] { return false; });
  std::vector<std::uint64_t> out;
  for (const std::uint64_t time_ns : times_ns) {
    REQUIRE(pacer.wait(time_ns, 1));
    out.push_back(clock.elapsed());
  }
  return out;
}

// Checks the times, with a tolerance for the calls of the clock.
void check_due(const std::vector<std::uint64_t>& got, const std::vector<std::uint64_t>& wanted) {
  REQUIRE(got.size() == wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    CAPTURE(i);
    CHECK(got[i] >= wanted[i]);
    CHECK(got[i] <= wanted[i] + 10'000);
  }
}

}  // namespace

TEST_CASE("A recorded pace keeps the records' distances and cuts silences to a second") {
  const std::uint64_t t = 1'700'000'000 * kSecond;
  check_due(due("recorded", {t, t + 250'000'000, t + 250'000'000, t + 90 * kSecond,
                             t + 90 * kSecond + 500'000'000}),
            {0, 250'000'000, 250'000'000, 1'250'000'000, 1'750'000'000});
}

TEST_CASE("A recorded pace times N is N times as fast") {
  const std::uint64_t t = 1'700'000'000 * kSecond;
  check_due(due("recorded*10", {t, t + kSecond, t + 100 * kSecond}), {0, 100'000'000, 200'000'000});
  check_due(due("recorded*0.5", {t, t + kSecond}), {0, 2 * kSecond});
}

TEST_CASE("Records without a time are due with those before") {
  const std::uint64_t t = 1'700'000'000 * kSecond;
  check_due(due("recorded", {0, t, 0, t + 1'000'000}), {0, 0, 0, 1'000'000});
}

TEST_CASE("A record out of order costs no time, and another pass begins where the last ended") {
  const std::uint64_t t = 1'700'000'000 * kSecond;
  const std::uint64_t ms = 1'000'000;
  check_due(due("recorded", {t, t + 10 * ms, t + 5 * ms, t + 11 * ms}),
            {0, 10 * ms, 10 * ms, 11 * ms});
  check_due(due("recorded", {t, t + 2 * kSecond, t, t + 10 * ms}),
            {0, kSecond, kSecond, kSecond + 10 * ms});
}

TEST_CASE("A rate spreads records evenly, whatever their times and batches") {
  FakeClock clock;
  Pacer pacer(pace_of("1000"), clock, [] { return false; });
  REQUIRE(pacer.wait(0, 500));
  CHECK(clock.elapsed() < 10'000);
  REQUIRE(pacer.wait(0, 250));  // after 500 records
  CHECK(clock.elapsed() >= kSecond / 2);
  CHECK(clock.elapsed() < kSecond / 2 + 10'000);
  REQUIRE(pacer.wait(0, 1));
  CHECK(clock.elapsed() >= kSecond * 3 / 4);
}

TEST_CASE("After a stall the schedule is caught up without waiting") {
  FakeClock clock;
  Pacer pacer(pace_of("1000"), clock, [] { return false; });
  REQUIRE(pacer.wait(0, 1));
  clock.pass(kSecond);
  for (int i = 0; i < 900; ++i) REQUIRE(pacer.wait(0, 1));
  CHECK(clock.sleeps == 0);
}

TEST_CASE("The maximum pace never reads the clock") {
  FakeClock clock;
  Pacer pacer(pace_of("max"), clock, [] { return false; });
  for (int i = 0; i < 10; ++i) REQUIRE(pacer.wait(kSecond * 100, 1'200));
  CHECK(clock.elapsed() == 0);
}

TEST_CASE("A stop ends the waiting within a sleep") {
  FakeClock clock;
  bool stop = false;
  int asked = 0;
  Pacer pacer(pace_of("0.001"), clock, [&] { return stop || ++asked > 20; });
  REQUIRE(pacer.wait(0, 1));
  CHECK_FALSE(pacer.wait(0, 1));  // due in 1,000 s
  CHECK(clock.sleep_max <= kPaceSleepNsMax);
  CHECK(clock.elapsed() < 21 * (kPaceSleepNsMax + 10'000));
  stop = true;
  CHECK_FALSE(Pacer(pace_of("max"), clock, [&] { return stop; }).wait(0, 1));
}

TEST_CASE("The system clock sleeps at least until the given time") {
  SystemPaceClock clock;
  const std::uint64_t until = clock.now_ns() + 2'000'000;
  while (clock.now_ns() < until) clock.sleep_until_ns(until);
  CHECK(clock.now_ns() >= until);
  clock.sleep_until_ns(1);  // in the past: returns at once
}

TEST_CASE("An invalid pace is refused with the valid forms") {
  const auto text = GENERATE("", "fast", "0", "-5", "recorded*", "recorded*0", "recorded*-1", "inf",
                             "nan", "recordedx2");
  const auto pace = parse_pace(text);
  REQUIRE_FALSE(pace.ok());
  CHECK(errc_of(pace.status()) == Errc::kInvalidArgument);
  CHECK(std::string(pace.status().message()).find("recorded*N") != std::string::npos);
}

TEST_CASE("All paces except the maximum need batches by burst") {
  CHECK_FALSE(pace_of("max").by_burst());
  CHECK(pace_of("recorded").by_burst());
  CHECK(pace_of("recorded*4").by_burst());
  CHECK(pace_of("1e6").by_burst());
}

}  // namespace lapwing
