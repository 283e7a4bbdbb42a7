// The control socket's frames, byte for byte: AF_UNIX, SOCK_SEQPACKET, one frame per packet.
// No behaviour; docs/reference/file-formats.md describes them.
//
// A receiver checks magic, version and length against the received bytes before it reads anything
// else. A packet of length 0 is a violation. A newer peer may send frames and fields that this
// release does not have, and an older peer may send fewer fields:
//  - a frame of an unknown type is skipped;
//  - a known frame may be longer than its struct: the rest is ignored;
//  - a known frame may be shorter, down to its size in the first version (k...BytesFirst): missing
//    fields are zero, which must mean "not given".
// So a frame only grows at its end, and a field never changes its meaning.
#pragma once

#include <cstddef>
#include <cstdint>

#include "lapwing/detail/enum_names.h"
#include "lapwing/sequence.h"

namespace lapwing {

inline constexpr std::uint32_t kFrameMagic = 0x4657504c;  // "LPWF"
inline constexpr std::uint16_t kFrameVersion = 1;         // of the header and of the rules above

// Protocol versions. A client sends the range that it supports, and the publisher chooses.
//  1  frames have exactly their first sizes; unknown ones are violations
//  2  the rules above; tags in List and Prune; the head that a subscriber saw
//  3  ListEvents; LatencyReport; the fields of a subscriber's Report from `wait`
//  4  missing subscribers and Forget; namespaces in a Welcome; report ages
inline constexpr std::uint32_t kControlVersion = 4;     // the newest
inline constexpr std::uint32_t kEventsVersionMin = 3;   // the oldest whose publisher lists events
inline constexpr std::uint32_t kMissingVersionMin = 4;  // the same for missing subscribers
inline constexpr std::uint32_t kServedVersionMin = 1;   // the oldest that a publisher serves
inline constexpr std::uint32_t kClientVersionMin = 2;   // the oldest that a client accepts

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
  kListEvents = 13,      // ->
  kEventInfo = 14,       // <-
  kEndOfEvents = 15,     // <-
  kLatencyReport = 16,   // ->, and <- after the SubscriberInfo that it belongs to
  kForget = 17,          // ->
  kForgotten = 18,       // <-
  // On a channel's socket, which also uses kRefused (proto/channel_frames.h).
  kChannelHello = 32,    // connecting -> listening side
  kChannelWelcome = 33,  // listening -> connecting side
  kWake = 34,            // either: wakes a sleeping peer
  kTakeOver = 35,        // new listener -> current listener
  kHandedOver = 36,      // <-, with the descriptors
  kTakenOver = 37,       // ->, the descriptors have arrived; the old listener stops
};

struct FrameHeader {
  std::uint32_t magic;
  std::uint16_t version;
  FrameType type;
  std::uint32_t length;  // bytes of the whole frame, including this header
  std::uint32_t reserved;
};
static_assert(sizeof(FrameHeader) == 16);
static_assert(offsetof(FrameHeader, version) == 4);
static_assert(offsetof(FrameHeader, type) == 6);
static_assert(offsetof(FrameHeader, length) == 8);

enum class ClientRole : std::uint32_t {
  kSubscriber = 1,  // counted by --await, listed by `lapwing subscribers`
  kTool = 2,        // sends a request and disconnects
};

enum class ClientState : std::uint32_t {
  kJoining = 1,  // before `caught up`
  kLive = 2,     // reading the ring
  kFilling = 3,  // reading the journal
  kStopped = 4,  // ended at a gap
  kMissing = 5,  // only in SubscriberInfo: attached when the last session ended, not since
};

inline constexpr detail::EnumName<ClientState> kClientStateNames[] = {
    {ClientState::kJoining, "joining"}, {ClientState::kLive, "live"},
    {ClientState::kFilling, "filling"}, {ClientState::kStopped, "stopped"},
    {ClientState::kMissing, "missing"},
};
constexpr const char* name_of(ClientState state) {
  return detail::name_in(kClientStateNames, state);
}

// Why a client was refused or dropped. If descriptors run out, accepting pauses.
enum class DropReason : std::uint32_t {
  kPeerNotAllowed = 1,
  kTooManyClients = 2,
  kHandshakeTimeout = 3,
  kAbiMismatch = 4,
  kOutOfDescriptors = 5,  // up to here: refused; below: dropped
  kBadFrame = 6,
  kTooManyFrames = 7,
  kQueueFull = 8,
};
inline constexpr std::size_t kDropReasons = 8;
constexpr bool is_refusal(DropReason reason) {
  return reason <= DropReason::kOutOfDescriptors;
}

constexpr const char* name_of(DropReason reason) {
  constexpr detail::EnumName<DropReason> kNames[] = {
      {DropReason::kPeerNotAllowed, "peer-not-allowed"},
      {DropReason::kTooManyClients, "too-many-clients"},
      {DropReason::kHandshakeTimeout, "handshake-timeout"},
      {DropReason::kAbiMismatch, "abi-mismatch"},
      {DropReason::kOutOfDescriptors, "out-of-descriptors"},
      {DropReason::kBadFrame, "bad-frame"},
      {DropReason::kTooManyFrames, "too-many-frames"},
      {DropReason::kQueueFull, "queue-full"}};
  return detail::name_in(kNames, reason);
}

enum class BusEventKind : std::uint32_t {
  kAttached = 1,       // a subscriber has sent Hello and has a client slot
  kDetached = 2,       // it disconnected; with its last report
  kGap = 3,            // it reported `gaps` more, without a loss
  kLoss = 4,           // it reported the loss of `lost` more records, in `gaps` more gaps
  kRefused = 5,        // a client was refused for `reason`
  kDropped = 6,        // a client was dropped for `reason`
  kStall = 7,          // `count` publishes waited for the journal for more than 1,024 µs each
  kJournalFailed = 8,  // errno is `sys_errno`
  kJournalShed = 9,    // the publisher stopped journaling: the disk was too slow
  kKilled = 10,        // the last session's publisher (`pid`) ended without closing; see `text`
  kSession = 11,       // this session began; `position` is its first sequence
  kMissing = 12,       // a subscriber of the last session has not returned
  kForgotten = 13,     // a user removed a missing subscriber from the list
};
inline constexpr std::size_t kEventKinds = 13;

constexpr const char* name_of(BusEventKind kind) {
  constexpr detail::EnumName<BusEventKind> kNames[] = {
      {BusEventKind::kAttached, "attached"},
      {BusEventKind::kDetached, "detached"},
      {BusEventKind::kGap, "gap"},
      {BusEventKind::kLoss, "loss"},
      {BusEventKind::kRefused, "refused"},
      {BusEventKind::kDropped, "dropped"},
      {BusEventKind::kStall, "stall"},
      {BusEventKind::kJournalFailed, "journal-failed"},
      {BusEventKind::kJournalShed, "journal-shed"},
      {BusEventKind::kKilled, "killed"},
      {BusEventKind::kSession, "session"},
      {BusEventKind::kMissing, "missing"},
      {BusEventKind::kForgotten, "forgotten"}};
  return detail::name_in(kNames, kind);
}

struct HelloFrame {
  FrameHeader header;
  std::uint32_t abi_version;
  ClientRole role;
  std::uint32_t pid;
  std::uint32_t may_park;  // 1: the publisher must ring the doorbell
  char name[64];
  std::uint32_t version;      // the newest that the client supports; 0 means 1
  std::uint32_t min_version;  // the oldest; 0 means 1
  std::uint32_t observes;     // 1: its gaps and losses do not count as the bus's
  std::uint32_t reserved;
};
inline constexpr std::size_t kHelloBytesFirst = 96;
static_assert(sizeof(HelloFrame) == 112);
static_assert(offsetof(HelloFrame, abi_version) == 16);
static_assert(offsetof(HelloFrame, role) == 20);
static_assert(offsetof(HelloFrame, pid) == 24);
static_assert(offsetof(HelloFrame, may_park) == 28);
static_assert(offsetof(HelloFrame, name) == 32);
static_assert(offsetof(HelloFrame, version) == 96);
static_assert(offsetof(HelloFrame, min_version) == 100);
static_assert(offsetof(HelloFrame, observes) == 104);

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
  std::uint32_t version;  // used from here on; 0 means 1
  char schema[32];
  char bus_name[64];
  char ring_path[512];
  char journal_path[512];
  std::uint64_t schema_hash;     // of the ring's header
  std::uint64_t pid_namespace;   // of the publisher: inode of /proc/self/ns/pid; 0: unknown
  std::uint64_t time_namespace;  // the same for /proc/self/ns/time
};
inline constexpr std::size_t kWelcomeBytesFirst = 1224;
static_assert(sizeof(WelcomeFrame) == 1248);
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
static_assert(offsetof(WelcomeFrame, version) == 100);
static_assert(offsetof(WelcomeFrame, schema) == 104);
static_assert(offsetof(WelcomeFrame, bus_name) == 136);
static_assert(offsetof(WelcomeFrame, ring_path) == 200);
static_assert(offsetof(WelcomeFrame, journal_path) == 712);
static_assert(offsetof(WelcomeFrame, schema_hash) == 1224);
static_assert(offsetof(WelcomeFrame, pid_namespace) == 1232);
static_assert(offsetof(WelcomeFrame, time_namespace) == 1240);

struct RefusedFrame {
  FrameHeader header;
  std::uint32_t error;        // Errc
  std::uint32_t abi_version;  // the publisher's
  char message[256];
};
inline constexpr std::size_t kRefusedBytesFirst = 280;
static_assert(sizeof(RefusedFrame) == 280);
static_assert(offsetof(RefusedFrame, error) == 16);
static_assert(offsetof(RefusedFrame, abi_version) == 20);
static_assert(offsetof(RefusedFrame, message) == 24);

struct FlushFrame {
  FrameHeader header;
  std::uint64_t tag;      // repeated in the answer
  std::uint64_t through;  // highest sequence seen; clamped to head
};
inline constexpr std::size_t kFlushBytesFirst = 32;
static_assert(sizeof(FlushFrame) == 32);
static_assert(offsetof(FlushFrame, tag) == 16);
static_assert(offsetof(FlushFrame, through) == 24);

struct FlushedFrame {
  FrameHeader header;
  std::uint64_t tag;
  std::uint64_t durable;  // at least the requested sequence, clamped to head
};
inline constexpr std::size_t kFlushedBytesFirst = 32;
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
inline constexpr std::size_t kFlushFailedBytesFirst = 40;
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
  std::uint64_t head;         // the newest sequence that the subscriber saw; 0: not given
  std::uint32_t wait;         // WaitStrategy; 0: not given
  std::uint32_t on_gap;       // OnGap; 0: not given
  std::uint64_t gaps_before;  // the part of `gaps` from before this connection
  std::uint64_t lost_before;  // the same for `lost`
};
inline constexpr std::size_t kReportBytesFirst = 64;
static_assert(sizeof(ReportFrame) == 96);
static_assert(offsetof(ReportFrame, position) == 16);
static_assert(offsetof(ReportFrame, records) == 24);
static_assert(offsetof(ReportFrame, gaps) == 32);
static_assert(offsetof(ReportFrame, lost) == 40);
static_assert(offsetof(ReportFrame, filled) == 48);
static_assert(offsetof(ReportFrame, state) == 56);
static_assert(offsetof(ReportFrame, head) == 64);
static_assert(offsetof(ReportFrame, wait) == 72);
static_assert(offsetof(ReportFrame, on_gap) == 76);
static_assert(offsetof(ReportFrame, gaps_before) == 80);
static_assert(offsetof(ReportFrame, lost_before) == 88);

struct ListSubscribersFrame {
  FrameHeader header;
  std::uint64_t tag;  // repeated in each answer
};
inline constexpr std::size_t kListSubscribersBytesFirst = 16;
static_assert(sizeof(ListSubscribersFrame) == 24);
static_assert(offsetof(ListSubscribersFrame, tag) == 16);

struct SubscriberInfoFrame {
  FrameHeader header;
  std::uint32_t pid;
  std::uint32_t uid;
  ClientRole role;
  ClientState state;
  std::uint32_t may_park;
  std::uint32_t reported;  // 1: a Report was received
  std::uint64_t position;
  std::uint64_t records;
  std::uint64_t gaps;
  std::uint64_t lost;
  std::uint64_t filled;
  std::uint64_t connected_wall_ns;
  std::uint64_t reported_wall_ns;
  char name[64];
  std::uint64_t tag;
  std::uint64_t head_seen;  // `head` of its last Report
  std::uint32_t wait;       // this and on_gap: as in its last Report
  std::uint32_t on_gap;
  std::uint32_t observes;  // as in its Hello
  std::uint32_t
      pid_is_claimed;  // 1: `pid` is from its Hello; the kernel reported none to the publisher
  std::uint64_t
      process_start;  // clock ticks since boot, in the publisher's namespaces; 0: not known
  // Time since its last Report, or since it connected, by CLOCK_MONOTONIC; 0: not given.
  std::uint64_t report_age_ns;
  std::uint64_t missing_since_wall_ns;  // 0: it is attached
};
inline constexpr std::size_t kSubscriberInfoBytesFirst = 160;
static_assert(sizeof(SubscriberInfoFrame) == 216);
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
static_assert(offsetof(SubscriberInfoFrame, tag) == 160);
static_assert(offsetof(SubscriberInfoFrame, head_seen) == 168);
static_assert(offsetof(SubscriberInfoFrame, wait) == 176);
static_assert(offsetof(SubscriberInfoFrame, on_gap) == 180);
static_assert(offsetof(SubscriberInfoFrame, observes) == 184);
static_assert(offsetof(SubscriberInfoFrame, pid_is_claimed) == 188);
static_assert(offsetof(SubscriberInfoFrame, process_start) == 192);
static_assert(offsetof(SubscriberInfoFrame, report_age_ns) == 200);
static_assert(offsetof(SubscriberInfoFrame, missing_since_wall_ns) == 208);

struct EndOfListFrame {
  FrameHeader header;
  std::uint64_t count;
  std::uint64_t refused;  // clients refused since the publisher started, for any reason
  std::uint64_t dropped;  // clients dropped since then, for any reason
  std::uint64_t tag;
  std::uint64_t by_reason[kDropReasons];  // index: DropReason - 1
};
inline constexpr std::size_t kEndOfListBytesFirst = 40;
static_assert(sizeof(EndOfListFrame) == 112);
static_assert(offsetof(EndOfListFrame, count) == 16);
static_assert(offsetof(EndOfListFrame, refused) == 24);
static_assert(offsetof(EndOfListFrame, dropped) == 32);
static_assert(offsetof(EndOfListFrame, tag) == 40);
static_assert(offsetof(EndOfListFrame, by_reason) == 48);

// The ages of the records that a subscriber has delivered since it was opened. Sent every second in
// which ages were measured. `counts` are the buckets of AgeHistogram (lapwing/ages.h).
inline constexpr std::size_t kLatencyCounts = 114;
struct LatencyReportFrame {
  FrameHeader header;
  std::uint64_t tag;        // of the list; 0 from a subscriber
  std::uint64_t every;      // one in `every` records is measured
  std::uint64_t sum_ns;     // of all ages
  std::uint64_t max_ns;     // the largest age
  std::uint64_t negative;   // records from the future
  std::uint64_t unstamped;  // records without a time
  std::uint64_t counts[kLatencyCounts];
};
inline constexpr std::size_t kLatencyReportBytesFirst = 976;
static_assert(sizeof(LatencyReportFrame) == 976);
static_assert(offsetof(LatencyReportFrame, tag) == 16);
static_assert(offsetof(LatencyReportFrame, every) == 24);
static_assert(offsetof(LatencyReportFrame, sum_ns) == 32);
static_assert(offsetof(LatencyReportFrame, max_ns) == 40);
static_assert(offsetof(LatencyReportFrame, negative) == 48);
static_assert(offsetof(LatencyReportFrame, unstamped) == 56);
static_assert(offsetof(LatencyReportFrame, counts) == 64);

struct ListEventsFrame {
  FrameHeader header;
  std::uint64_t tag;    // repeated in each answer
  std::uint64_t after;  // only events with a higher number
};
inline constexpr std::size_t kListEventsBytesFirst = 32;
static_assert(sizeof(ListEventsFrame) == 32);
static_assert(offsetof(ListEventsFrame, tag) == 16);
static_assert(offsetof(ListEventsFrame, after) == 24);

// Fields that do not apply to an event are 0.
struct EventInfoFrame {
  FrameHeader header;
  std::uint64_t tag;
  std::uint64_t number;  // 1 is the first of the session
  std::uint64_t wall_ns;
  BusEventKind kind;
  DropReason reason;
  std::int32_t sys_errno;
  std::uint32_t pid;  // this and uid: of the client
  std::uint32_t uid;
  std::uint32_t reserved;
  std::uint64_t position;  // this and the next four: of the subscriber
  std::uint64_t records;
  std::uint64_t gaps;
  std::uint64_t lost;
  std::uint64_t filled;
  std::uint64_t count;
  char name[64];
  char text[128];  // the reason
};
inline constexpr std::size_t kEventInfoBytesFirst = 304;
static_assert(sizeof(EventInfoFrame) == 304);
static_assert(offsetof(EventInfoFrame, tag) == 16);
static_assert(offsetof(EventInfoFrame, number) == 24);
static_assert(offsetof(EventInfoFrame, wall_ns) == 32);
static_assert(offsetof(EventInfoFrame, kind) == 40);
static_assert(offsetof(EventInfoFrame, reason) == 44);
static_assert(offsetof(EventInfoFrame, sys_errno) == 48);
static_assert(offsetof(EventInfoFrame, pid) == 52);
static_assert(offsetof(EventInfoFrame, uid) == 56);
static_assert(offsetof(EventInfoFrame, position) == 64);
static_assert(offsetof(EventInfoFrame, records) == 72);
static_assert(offsetof(EventInfoFrame, gaps) == 80);
static_assert(offsetof(EventInfoFrame, lost) == 88);
static_assert(offsetof(EventInfoFrame, filled) == 96);
static_assert(offsetof(EventInfoFrame, count) == 104);
static_assert(offsetof(EventInfoFrame, name) == 112);
static_assert(offsetof(EventInfoFrame, text) == 176);

struct EndOfEventsFrame {
  FrameHeader header;
  std::uint64_t tag;
  std::uint64_t count;   // events in this answer
  std::uint64_t newest;  // number of the newest event so far
};
inline constexpr std::size_t kEndOfEventsBytesFirst = 40;
static_assert(sizeof(EndOfEventsFrame) == 40);
static_assert(offsetof(EndOfEventsFrame, tag) == 16);
static_assert(offsetof(EndOfEventsFrame, count) == 24);
static_assert(offsetof(EndOfEventsFrame, newest) == 32);

struct PruneFrame {
  FrameHeader header;
  std::uint64_t below;  // whole segments below this sequence may be removed
  std::uint64_t tag;    // repeated in the answer
};
inline constexpr std::size_t kPruneBytesFirst = 24;
static_assert(sizeof(PruneFrame) == 32);
static_assert(offsetof(PruneFrame, below) == 16);
static_assert(offsetof(PruneFrame, tag) == 24);

struct PrunedFrame {
  FrameHeader header;
  std::uint64_t oldest;  // the oldest sequence that is retained now
  std::uint32_t error;   // Errc
  std::uint32_t reserved;
  std::uint64_t tag;
};
inline constexpr std::size_t kPrunedBytesFirst = 32;
static_assert(sizeof(PrunedFrame) == 40);
static_assert(offsetof(PrunedFrame, oldest) == 16);
static_assert(offsetof(PrunedFrame, error) == 24);
static_assert(offsetof(PrunedFrame, tag) == 32);

// Removes missing subscribers from the publisher's list. Only the owner and root may send it.
struct ForgetFrame {
  FrameHeader header;
  std::uint64_t tag;  // repeated in the answer
  std::uint32_t all;  // 1: every missing subscriber, regardless of `name`
  std::uint32_t reserved;
  char name[64];
};
inline constexpr std::size_t kForgetBytesFirst = 96;
static_assert(sizeof(ForgetFrame) == 96);
static_assert(offsetof(ForgetFrame, tag) == 16);
static_assert(offsetof(ForgetFrame, all) == 24);
static_assert(offsetof(ForgetFrame, name) == 32);

struct ForgottenFrame {
  FrameHeader header;
  std::uint64_t tag;
  std::uint64_t count;  // removed subscribers
  std::uint32_t error;  // Errc
  std::uint32_t reserved;
};
inline constexpr std::size_t kForgottenBytesFirst = 40;
static_assert(sizeof(ForgottenFrame) == 40);
static_assert(offsetof(ForgottenFrame, tag) == 16);
static_assert(offsetof(ForgottenFrame, count) == 24);
static_assert(offsetof(ForgottenFrame, error) == 32);

// The longest frame of any type that is received, with room for frames of newer peers.
inline constexpr std::size_t kFrameBytesMax = 2048;
static_assert(sizeof(WelcomeFrame) <= kFrameBytesMax);

// Returns the size of a frame of this type in the first version, or 0 for a type that is unknown or
// is not used on a control socket.
constexpr std::size_t first_frame_bytes(FrameType type) {
  switch (type) {
    case FrameType::kHello:
      return kHelloBytesFirst;
    case FrameType::kWelcome:
      return kWelcomeBytesFirst;
    case FrameType::kRefused:
      return kRefusedBytesFirst;
    case FrameType::kFlush:
      return kFlushBytesFirst;
    case FrameType::kFlushed:
      return kFlushedBytesFirst;
    case FrameType::kFlushFailed:
      return kFlushFailedBytesFirst;
    case FrameType::kReport:
      return kReportBytesFirst;
    case FrameType::kListSubscribers:
      return kListSubscribersBytesFirst;
    case FrameType::kSubscriberInfo:
      return kSubscriberInfoBytesFirst;
    case FrameType::kEndOfList:
      return kEndOfListBytesFirst;
    case FrameType::kPrune:
      return kPruneBytesFirst;
    case FrameType::kPruned:
      return kPrunedBytesFirst;
    case FrameType::kListEvents:
      return kListEventsBytesFirst;
    case FrameType::kEventInfo:
      return kEventInfoBytesFirst;
    case FrameType::kEndOfEvents:
      return kEndOfEventsBytesFirst;
    case FrameType::kLatencyReport:
      return kLatencyReportBytesFirst;
    case FrameType::kForget:
      return kForgetBytesFirst;
    case FrameType::kForgotten:
      return kForgottenBytesFirst;
    default:
      return 0;
  }
}

// The permitted size of a frame in bytes.
struct FrameLength {
  std::size_t min;
  std::size_t max;
};

// Returns the permitted size on a control socket: at least the size in the first version. For an
// unknown type, at least a header.
constexpr FrameLength control_frame_length(FrameType type) {
  const std::size_t first = first_frame_bytes(type);
  return {first != 0 ? first : sizeof(FrameHeader), kFrameBytesMax};
}

// Limits on the publisher's side of the socket.
inline constexpr std::size_t kClientsMax = 1024;
inline constexpr std::size_t kMissingMax = 1024;  // subscribers that have not returned
// Extra connections for requests from the bus's owner and root, who can then list the clients.
inline constexpr std::size_t kQuestionsMax = 16;
inline constexpr std::size_t kFramesQueuedMax = 64;           // for one client, then it is dropped
inline constexpr std::uint32_t kFramesPerSecondMax = 200;     // from one client, then it is dropped
inline constexpr std::uint64_t kHandshakeNs = 2'000'000'000;  // from connect to Hello
inline constexpr std::uint64_t kAcceptPauseNs = 100'000'000;  // after EMFILE

}  // namespace lapwing
