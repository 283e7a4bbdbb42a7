// The control socket's frames, byte for byte: AF_UNIX, SOCK_SEQPACKET, one frame a packet.
// No behaviour; the document is docs/formats.md.
//
// A frame has the fixed size of its type. A receiver checks magic, version, type and length against
// the bytes that arrived before it looks at anything else; a packet of length 0 is a violation.
#pragma once

#include <cstddef>
#include <cstdint>

#include "lapwing/sequence.h"

namespace lapwing {

inline constexpr std::uint32_t kFrameMagic = 0x4657504c;  // "LPWF"
inline constexpr std::uint16_t kFrameVersion = 1;

enum class FrameType : std::uint16_t {
  kHello = 1,            // subscriber -> publisher
  kWelcome = 2,          // publisher -> subscriber
  kRefused = 3,          // publisher -> subscriber, then it closes
  kFlush = 4,            // ->
  kFlushed = 5,          // <-
  kFlushFailed = 6,      // <-
  kReport = 7,           // ->
  kListSubscribers = 8,  // ->
  kSubscriberInfo = 9,   // <-
  kEndOfList = 10,       // <-
  kPrune = 11,           // ->
  kPruned = 12,          // <-
  // On the socket of a channel; kRefused is used there, too (proto/channel_frames.h).
  kChannelHello = 32,    // connecting -> listening side
  kChannelWelcome = 33,  // listening -> connecting side
  kWake = 34,            // either: look again, you were going to sleep
  kTakeOver = 35,        // a new listener -> the one that is there
  kHandedOver = 36,      // <-, with the descriptors
  kTakenOver = 37,       // ->, they have arrived; the old one stops
};

struct FrameHeader {
  std::uint32_t magic;
  std::uint16_t version;
  FrameType type;
  std::uint32_t length;  // bytes of the whole frame, this header included
  std::uint32_t reserved;
};
static_assert(sizeof(FrameHeader) == 16);
static_assert(offsetof(FrameHeader, version) == 4);
static_assert(offsetof(FrameHeader, type) == 6);
static_assert(offsetof(FrameHeader, length) == 8);

enum class ClientRole : std::uint32_t {
  kSubscriber = 1,  // counted by --await, listed by `lapwing subscribers`
  kTool = 2,        // asks a question and leaves
};

enum class ClientState : std::uint32_t {
  kJoining = 1,  // before `caught up`
  kLive = 2,     // reading the ring
  kFilling = 3,  // reading the journal
  kStopped = 4,  // ended at a gap
};

struct HelloFrame {
  FrameHeader header;
  std::uint32_t abi_version;
  ClientRole role;
  std::uint32_t pid;
  std::uint32_t may_park;  // 1: ring the doorbell for me
  char name[64];
};
static_assert(sizeof(HelloFrame) == 96);
static_assert(offsetof(HelloFrame, abi_version) == 16);
static_assert(offsetof(HelloFrame, role) == 20);
static_assert(offsetof(HelloFrame, pid) == 24);
static_assert(offsetof(HelloFrame, may_park) == 28);
static_assert(offsetof(HelloFrame, name) == 32);

struct WelcomeFrame {
  FrameHeader header;
  Id128 session_id;
  Id128 journal_id;
  std::uint64_t session_first_sequence;
  std::uint64_t durable;  // read before head
  std::uint64_t head;
  std::uint64_t capacity;
  std::uint32_t slot_bytes;
  std::uint32_t record_bytes;
  std::uint32_t has_journal;
  std::uint32_t journal_state;  // JournalState
  std::int32_t journal_errno;
  std::uint32_t reserved;
  char schema[32];
  char bus_name[64];
  char ring_path[512];
  char journal_path[512];
};
static_assert(sizeof(WelcomeFrame) == 1224);
static_assert(offsetof(WelcomeFrame, session_id) == 16);
static_assert(offsetof(WelcomeFrame, journal_id) == 32);
static_assert(offsetof(WelcomeFrame, session_first_sequence) == 48);
static_assert(offsetof(WelcomeFrame, durable) == 56);
static_assert(offsetof(WelcomeFrame, head) == 64);
static_assert(offsetof(WelcomeFrame, capacity) == 72);
static_assert(offsetof(WelcomeFrame, slot_bytes) == 80);
static_assert(offsetof(WelcomeFrame, record_bytes) == 84);
static_assert(offsetof(WelcomeFrame, has_journal) == 88);
static_assert(offsetof(WelcomeFrame, journal_state) == 92);
static_assert(offsetof(WelcomeFrame, journal_errno) == 96);
static_assert(offsetof(WelcomeFrame, schema) == 104);
static_assert(offsetof(WelcomeFrame, bus_name) == 136);
static_assert(offsetof(WelcomeFrame, ring_path) == 200);
static_assert(offsetof(WelcomeFrame, journal_path) == 712);

struct RefusedFrame {
  FrameHeader header;
  std::uint32_t error;        // Errc
  std::uint32_t abi_version;  // the publisher's
  char message[256];
};
static_assert(sizeof(RefusedFrame) == 280);
static_assert(offsetof(RefusedFrame, error) == 16);
static_assert(offsetof(RefusedFrame, abi_version) == 20);
static_assert(offsetof(RefusedFrame, message) == 24);

struct FlushFrame {
  FrameHeader header;
  std::uint64_t tag;      // comes back in the answer
  std::uint64_t through;  // highest sequence seen; clamped to head
};
static_assert(sizeof(FlushFrame) == 32);
static_assert(offsetof(FlushFrame, tag) == 16);
static_assert(offsetof(FlushFrame, through) == 24);

struct FlushedFrame {
  FrameHeader header;
  std::uint64_t tag;
  std::uint64_t durable;  // not below what was asked for, clamped to head
};
static_assert(sizeof(FlushedFrame) == 32);
static_assert(offsetof(FlushedFrame, tag) == 16);
static_assert(offsetof(FlushedFrame, durable) == 24);

struct FlushFailedFrame {
  FrameHeader header;
  std::uint64_t tag;
  std::uint64_t durable;        // frozen here
  std::uint32_t journal_state;  // JournalState
  std::int32_t sys_errno;
};
static_assert(sizeof(FlushFailedFrame) == 40);
static_assert(offsetof(FlushFailedFrame, tag) == 16);
static_assert(offsetof(FlushFailedFrame, durable) == 24);
static_assert(offsetof(FlushFailedFrame, journal_state) == 32);
static_assert(offsetof(FlushFailedFrame, sys_errno) == 36);

struct ReportFrame {
  FrameHeader header;
  std::uint64_t position;  // last sequence delivered
  std::uint64_t records;
  std::uint64_t gaps;
  std::uint64_t lost;
  std::uint64_t filled;
  ClientState state;
  std::uint32_t reserved;
};
static_assert(sizeof(ReportFrame) == 64);
static_assert(offsetof(ReportFrame, position) == 16);
static_assert(offsetof(ReportFrame, records) == 24);
static_assert(offsetof(ReportFrame, gaps) == 32);
static_assert(offsetof(ReportFrame, lost) == 40);
static_assert(offsetof(ReportFrame, filled) == 48);
static_assert(offsetof(ReportFrame, state) == 56);

struct ListSubscribersFrame {
  FrameHeader header;
};
static_assert(sizeof(ListSubscribersFrame) == 16);

struct SubscriberInfoFrame {
  FrameHeader header;
  std::uint32_t pid;
  std::uint32_t uid;
  ClientRole role;
  ClientState state;
  std::uint32_t may_park;
  std::uint32_t reported;  // 1 once a Report has come
  std::uint64_t position;
  std::uint64_t records;
  std::uint64_t gaps;
  std::uint64_t lost;
  std::uint64_t filled;
  std::uint64_t connected_wall_ns;
  std::uint64_t reported_wall_ns;
  char name[64];
};
static_assert(sizeof(SubscriberInfoFrame) == 160);
static_assert(offsetof(SubscriberInfoFrame, pid) == 16);
static_assert(offsetof(SubscriberInfoFrame, uid) == 20);
static_assert(offsetof(SubscriberInfoFrame, role) == 24);
static_assert(offsetof(SubscriberInfoFrame, state) == 28);
static_assert(offsetof(SubscriberInfoFrame, may_park) == 32);
static_assert(offsetof(SubscriberInfoFrame, reported) == 36);
static_assert(offsetof(SubscriberInfoFrame, position) == 40);
static_assert(offsetof(SubscriberInfoFrame, records) == 48);
static_assert(offsetof(SubscriberInfoFrame, gaps) == 56);
static_assert(offsetof(SubscriberInfoFrame, lost) == 64);
static_assert(offsetof(SubscriberInfoFrame, filled) == 72);
static_assert(offsetof(SubscriberInfoFrame, connected_wall_ns) == 80);
static_assert(offsetof(SubscriberInfoFrame, reported_wall_ns) == 88);
static_assert(offsetof(SubscriberInfoFrame, name) == 96);

struct EndOfListFrame {
  FrameHeader header;
  std::uint64_t count;
  std::uint64_t refused;  // sessions refused since the publisher started, all reasons
  std::uint64_t dropped;  // clients dropped since then, all reasons
};
static_assert(sizeof(EndOfListFrame) == 40);
static_assert(offsetof(EndOfListFrame, count) == 16);
static_assert(offsetof(EndOfListFrame, refused) == 24);
static_assert(offsetof(EndOfListFrame, dropped) == 32);

struct PruneFrame {
  FrameHeader header;
  std::uint64_t below;  // whole segments below this sequence may go
};
static_assert(sizeof(PruneFrame) == 24);
static_assert(offsetof(PruneFrame, below) == 16);

struct PrunedFrame {
  FrameHeader header;
  std::uint64_t oldest;  // the oldest sequence now retained
  std::uint32_t error;   // Errc
  std::uint32_t reserved;
};
static_assert(sizeof(PrunedFrame) == 32);
static_assert(offsetof(PrunedFrame, oldest) == 16);
static_assert(offsetof(PrunedFrame, error) == 24);

inline constexpr std::size_t kFrameBytesMax = sizeof(WelcomeFrame);

// The exact size of a frame of this type; 0 for a type that has no place on a control socket.
constexpr std::size_t frame_bytes(FrameType type) {
  switch (type) {
    case FrameType::kHello:
      return sizeof(HelloFrame);
    case FrameType::kWelcome:
      return sizeof(WelcomeFrame);
    case FrameType::kRefused:
      return sizeof(RefusedFrame);
    case FrameType::kFlush:
      return sizeof(FlushFrame);
    case FrameType::kFlushed:
      return sizeof(FlushedFrame);
    case FrameType::kFlushFailed:
      return sizeof(FlushFailedFrame);
    case FrameType::kReport:
      return sizeof(ReportFrame);
    case FrameType::kListSubscribers:
      return sizeof(ListSubscribersFrame);
    case FrameType::kSubscriberInfo:
      return sizeof(SubscriberInfoFrame);
    case FrameType::kEndOfList:
      return sizeof(EndOfListFrame);
    case FrameType::kPrune:
      return sizeof(PruneFrame);
    case FrameType::kPruned:
      return sizeof(PrunedFrame);
    default:
      return 0;
  }
}

// Limits of the publisher's side of the socket.
inline constexpr std::size_t kClientsMax = 1024;
inline constexpr std::size_t kFramesQueuedMax = 64;           // for one client, then it is dropped
inline constexpr std::uint32_t kFramesPerSecondMax = 200;     // from one client, then it is dropped
inline constexpr std::uint64_t kHandshakeNs = 2'000'000'000;  // from connect to Hello
inline constexpr std::uint64_t kAcceptPauseNs = 100'000'000;  // after EMFILE

}  // namespace lapwing
