// The sending end of a relay for tests of relay in: sessions with made-up records, which it publishes,
// beats, and answers asks.
//
// Thread safety: one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "relay/message.h"
#include "testing/relay_network.h"
#include "testing/sim_disk.h"

namespace lapwing {

class TestOrigin {
 public:
  static constexpr std::uint32_t kOriginRecordBytes = 16;
  static constexpr std::uint32_t kOriginSlotBytes = 32;  // 128 in a block
  static constexpr std::uint64_t kOriginSegmentSlots = 2048;

  enum class Role { kOrigin, kServingMirror };

  TestOrigin(RelayNetwork& network, std::uint64_t seed, const std::string& host = "origin")
      : network_(network), host_(host), random_(seed) {}

  // The same bus on another host.
  TestOrigin(const TestOrigin& other, const std::string& host);

  // Begins a session of the newest journal, or of a new one.
  void begin_session(bool new_journal = false);
  // Ends it. Records behind `last` are lost to it; with kCut the void is that long.
  void end_session(SessionEnd how, std::optional<Sequence> last = {}, std::uint64_t void_size = 0);
  void add_records(std::uint64_t count);
  // The journal does not have these records any more, or never had them.
  void lose(const Id128& journal_id, const RelayAbsent& absent);
  void drop_first_session() { sessions_.erase(sessions_.begin()); }

  // Sends what was added and not sent, in messages of up to `records_max`. `stored`: on log; else
  // on live.
  void send(bool stored = true, std::uint64_t records_max = 50);
  // What was added is counted as sent, and is not sent.
  void skip() { sent_ = head(); }
  // The rows of the newest session and the one before, and the bus, on log or live.
  void send_notices(bool stored = true);
  // As after a restart of the sender: beats do not say what was sent.
  void forget_sent() { knows_sent_ = false; }
  void beat(RelayPublisherState publisher = RelayPublisherState::kAlive);
  // Takes what has arrived and answers asks. Connects again if it has to.
  void serve();
  void answers(bool answers) { answers_ = answers; }
  void set_role(Role role) { role_ = role; }
  void set_durable(Sequence durable) { durable_ = durable; }
  void set_metadata(std::string metadata) { metadata_ = std::move(metadata); }
  void set_checkpoint(std::string file) { checkpoint_ = std::move(file); }

  const std::vector<RelaySession>& sessions() const { return sessions_; }
  const RelaySession& session() const { return sessions_.back(); }
  Sequence head() const { return next_ - 1; }
  // A record of a session as this origin has it.
  static std::vector<std::byte> record(const Id128& session_id, Sequence n);
  std::optional<std::size_t> session_of(const Id128& journal_id, Sequence n) const;
  bool is_gone(const Id128& journal_id, Sequence n) const;
  const std::map<std::uint64_t, std::uint64_t>& asks() const { return asks_; }  // by request

  // The header fields of a message about a session; for forged messages.
  RelayOrigin origin_of(const RelaySession& session) const;
  MadeMessage records_message(const RelaySession& session, Sequence first, std::uint64_t count);
  RelayTransport* transport();
  RelayBuffer& buffer() { return buffer_; }

 private:
  void answer(const std::string& reply_to, const RelayMessage& message);
  std::uint64_t answer_records(const std::string& reply_to, const Id128& journal_id,
                               const RelayAsk& ask);
  void answer_file(const std::string& reply_to, const RelayAsk& ask);
  void reply(const std::string& reply_to, const MadeMessage& message);
  void append(const MadeMessage& message);
  void publish(const MadeMessage& message, bool stored);
  MadeMessage bus_message();

  RelayNetwork& network_;
  const std::string host_;
  SimRandom random_;
  std::unique_ptr<RelayTransport> transport_;
  std::uint64_t stream_last_ = 0;
  std::vector<RelaySession> sessions_;
  std::uint64_t rows_ = 0;
  Sequence next_ = 1;
  Sequence sent_ = 0;  // of the newest session
  std::optional<Sequence> durable_;
  std::map<Id128, std::vector<RelayAbsent>> gone_;
  std::uint64_t time_ns_ = 1'700'000'000'000'000'000;
  Role role_ = Role::kOrigin;
  bool answers_ = true;
  bool knows_sent_ = true;
  std::string metadata_;
  std::string checkpoint_;
  std::size_t part_bytes_ = 5'000;  // of a file
  std::map<std::uint64_t, std::uint64_t> asks_;
  RelayBuffer buffer_;
};

}  // namespace lapwing
