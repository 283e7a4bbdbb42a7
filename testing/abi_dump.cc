#include "testing/abi_dump.h"

#include <concepts>
#include <cstddef>
#include <initializer_list>
#include <string_view>
#include <type_traits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lapwing/dbn.h"
#include "lapwing/detail/channel_layout.h"
#include "lapwing/detail/channel_words.h"
#include "lapwing/error.h"
#include "lapwing/gap.h"
#include "lapwing/kv16.h"
#include "lapwing/order_entry.h"
#include "lapwing/sequence.h"
#include "proto/channel_frames.h"
#include "proto/checkpoint_format.h"
#include "proto/control_frames.h"
#include "proto/cursor_format.h"
#include "proto/journal_format.h"
#include "proto/record_file_format.h"
#include "proto/relay_frames.h"
#include "proto/ring_layout.h"
#include "proto/slot_stamp.h"

namespace lapwing {
namespace {

struct Field {
  const char* name;
  std::size_t offset;
  std::size_t bytes;
  std::string type;
};

// "u64", "i32", "char[64]", "enum", "struct": detects a change of type that keeps the size.
template <typename T>
std::string type_name() {
  if constexpr (std::is_array_v<T>) {
    return absl::StrCat(type_name<std::remove_extent_t<T>>(), "[", std::extent_v<T>, "]");
  } else if constexpr (std::is_same_v<T, char>) {
    return "char";
  } else if constexpr (std::is_same_v<T, bool>) {
    return "bool";
  } else if constexpr (std::is_integral_v<T>) {
    return absl::StrCat(std::is_signed_v<T> ? "i" : "u", 8 * sizeof(T));
  } else {
    return std::is_enum_v<T> ? "enum" : "struct";
  }
}

template <typename Enum>
struct Enumerator {
  const char* name;
  Enum value;
};

// Collects lines. Integers are written in decimal, texts in quotes.
class Dump {
 public:
  void header(const char* name) {
    absl::StrAppend(&text_, text_.empty() ? "" : "\n", "[", name, "]\n");
  }

  template <std::integral T>
  void constant(const char* name, T value) {
    absl::StrAppend(&text_, "constant ", name, " ", value, "\n");
  }
  void constant(const char* name, const char* value) {
    absl::StrAppend(&text_, "constant ", name, " \"", value, "\"\n");
  }

  template <typename Struct>
  void structure(const char* name, std::initializer_list<Field> fields) {
    absl::StrAppend(&text_, "struct ", name, " size ", sizeof(Struct), " align ", alignof(Struct),
                    "\n");
    for (const Field& field : fields) {
      absl::StrAppend(&text_, "field ", name, ".", field.name, " ", field.offset, " ", field.bytes,
                      " ", field.type, "\n");
    }
  }

  template <typename Enum>
  void enumeration(const char* name, std::initializer_list<Enumerator<Enum>> enumerators) {
    absl::StrAppend(&text_, "enum ", name, " ", sizeof(Enum), "\n");
    for (const Enumerator<Enum>& enumerator : enumerators) {
      absl::StrAppend(&text_, "value ", name, ".", enumerator.name, " ",
                      static_cast<std::int64_t>(enumerator.value), "\n");
    }
  }

  void schema(const dbn::RecordSchema& schema) {
    absl::StrAppend(&text_, "schema ", schema.name, " id ", static_cast<std::uint32_t>(schema.id),
                    " rtype ", static_cast<std::uint32_t>(schema.rtype), "\n");
  }

  void error(Errc code, const char* name) {
    absl::StrAppend(&text_, "error ", static_cast<std::uint32_t>(code), " ", name, "\n");
  }

  template <std::integral T>
  void rule(const char* expression, T value) {
    absl::StrAppend(&text_, "rule ", expression, " ", value, "\n");
  }

  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

// FOR_EACH(f, X, a, b, …) is f(X, a) f(X, b) …, for up to 64 names.
#define PARENS ()
#define EXPAND(...) EXPAND_16(EXPAND_16(EXPAND_16(EXPAND_16(__VA_ARGS__))))
#define EXPAND_16(...) EXPAND_4(EXPAND_4(EXPAND_4(EXPAND_4(__VA_ARGS__))))
#define EXPAND_4(...) EXPAND_1(EXPAND_1(EXPAND_1(EXPAND_1(__VA_ARGS__))))
#define EXPAND_1(...) __VA_ARGS__
#define FOR_EACH(f, type, ...) __VA_OPT__(EXPAND(FOR_EACH_STEP(f, type, __VA_ARGS__)))
#define FOR_EACH_STEP(f, type, name, ...) \
  f(type, name) __VA_OPT__(FOR_EACH_AGAIN PARENS(f, type, __VA_ARGS__))
#define FOR_EACH_AGAIN() FOR_EACH_STEP

#define FIELD(type, name) \
  {#name, offsetof(type, name), sizeof(type::name), type_name<decltype(type::name)>()},
#define ENUMERATOR(type, name) {#name, type::name},

#define CONSTANT(name) dump.constant(#name, name)
#define STRUCT(type, ...) dump.structure<type>(#type, {FOR_EACH(FIELD, type, __VA_ARGS__)})
#define ENUM(type, ...) dump.enumeration<type>(#type, {FOR_EACH(ENUMERATOR, type, __VA_ARGS__)})
#define RULE(expression) dump.rule(#expression, expression)

void dump_sequence(Dump& dump) {
  dump.header("sequence.h");
  CONSTANT(kNoSequence);
  CONSTANT(kSequenceMax);
  STRUCT(Id128, bytes);
}

void dump_memory_layout(Dump& dump) {
  dump.header("memory_layout.h");
  CONSTANT(kAbiVersion);
  CONSTANT(kPageBytes);
  CONSTANT(kWordStride);
  STRUCT(PaddedWord, value, padding);
}

void dump_journal_state(Dump& dump) {
  dump.header("journal_state.h");
  ENUM(JournalState, kNone, kGood, kFailed, kShed);
}

void dump_ring_constants(Dump& dump) {
  dump.header("ring_layout.h");
  CONSTANT(kRecordBytesMin);
  CONSTANT(kRecordBytesMax);
  CONSTANT(kRecordBytesDefault);
  CONSTANT(kSlotBytesMin);
  CONSTANT(kSlotBytesMax);
  CONSTANT(kStampBytes);
  CONSTANT(kCapacityMin);
  CONSTANT(kSlotAreaBytesMin);
  CONSTANT(kCapacityMax);
  CONSTANT(kCapacityDefaultMax);
  CONSTANT(kHeartbeatIntervalNs);
  CONSTANT(kRingMagic);
  CONSTANT(kRingHeaderBytes);
  CONSTANT(kDurationCounts);
  CONSTANT(kDurationFirstNs);
  RULE(slot_bytes_for(8));
  RULE(slot_bytes_for(9));
  RULE(slot_bytes_for(16));
  RULE(slot_bytes_for(56));
  RULE(slot_bytes_for(57));
  RULE(slot_bytes_for(80));
  RULE(slot_bytes_for(4088));
  RULE(slots_per_block(16));
  RULE(slots_per_block(64));
  RULE(slots_per_block(4096));
}

void dump_ring_layout(Dump& dump) {
  STRUCT(RingHeader, magic, abi_version, header_bytes, feature_bits, slot_bytes, record_bytes,
         capacity, journal_id, session_id, boot_id, session_first_sequence, ring_first_sequence,
         created_wall_ns, publisher_pid, has_journal, schema, bus_name, directory_device,
         directory_inode, schema_hash, publisher_pid_namespace, publisher_time_namespace, reserved,
         checksum);
  STRUCT(RingWords, head, doorbell, archived, durable, oldest, journal_state, heartbeat, state,
         counters_kept, idle_wakes, doorbells, subscribers, gaps, lost, journal_bytes, stalls,
         syncs, reserved);
  STRUCT(RingDurations, counts, sum_ns, padding);
  ENUM(RingState, kRunning, kClosed);
}

// The arithmetic of the slot protocol, at points where implementations are likely to differ.
void dump_slot_stamp(Dump& dump) {
  dump.header("slot_stamp.h");
  RULE(writing_stamp(1));
  RULE(ready_stamp(1));
  RULE(writing_stamp(1000));
  RULE(ready_stamp(1000));
  RULE(stamp_sequence(0));
  RULE(stamp_sequence(1999));
  RULE(stamp_sequence(2000));
  RULE(stamp_published(1999));
  RULE(stamp_published(2000));
  RULE(words_for(8));
  RULE(words_for(9));
  RULE(words_for(56));
  RULE(resume_after_lap(1, 130, 65, 64));
  RULE(resume_after_lap(1, 129, 64, 64));
  RULE(resume_after_lap(1, 2000, 900, 64));
  RULE(resume_after_lap(990, 2108, 1000, 64));
  RULE(stamp_is_corrupt(0, 1, 0, 64));
  RULE(stamp_is_corrupt(130, 1, 65, 64));
  RULE(stamp_is_corrupt(132, 1, 66, 64));
  RULE(stamp_is_corrupt(258, 1, 65, 64));
  RULE(stamp_is_corrupt(386, 1, 65, 64));
  RULE(ring_oldest(1, 0, 64));
  RULE(ring_oldest(1, 63, 64));
  RULE(ring_oldest(1, 64, 64));
  RULE(ring_oldest(1, 65, 64));
  RULE(ring_oldest(100, 110, 64));
}

void dump_channel_constants(Dump& dump) {
  dump.header("channel_layout.h");
  CONSTANT(kFrameAlign);
  CONSTANT(kPayloadOffsetPacked);
  CONSTANT(kPayloadOffsetCalls);
  CONSTANT(kPayloadOffsetAligned);
  CONSTANT(kChannelCapacityMin);
  CONSTANT(kChannelCapacityMax);
  CONSTANT(kMessageBytesMax);
  CONSTANT(kCallWindowMax);
  CONSTANT(kPayloadOffsetShort);
  CONSTANT(kCallHeadOffset);
  CONSTANT(kHeadSizeShift);
  CONSTANT(kHeadSizeMask);
  CONSTANT(kHeadKindShift);
  CONSTANT(kHeadKindMask);
  CONSTANT(kHeadLapShift);
  CONSTANT(kChannelMagic);
  CONSTANT(kChannelAbiVersion);
  CONSTANT(kChannelHeaderBytes);
  RULE(FrameHeads(1024).at(0, FrameKind::kShort, 48, 0xffffffff));
  RULE(FrameHeads(1024).at(64, FrameKind::kShortPacked, 56, 1));
  RULE(FrameHeads(1024).at(1024, FrameKind::kLong, 0, 1));
  RULE(FrameHeads(1024).at((std::uint64_t{1} << 32) - 64, FrameKind::kPadding, 0, 0));
  RULE(message_frame_bytes(0, 16));
  RULE(message_frame_bytes(56, 16));
  RULE(message_frame_bytes(57, 16));
  RULE(message_frame_bytes(32, 32));
  RULE(message_frame_bytes(33, 32));
  RULE(message_frame_bytes(0, 64));
  RULE(message_frame_bytes(1, 64));
  RULE(channel_capacity_for(1, 16));
  RULE(channel_capacity_for(496, 16));
  RULE(channel_capacity_for(497, 16));
  RULE(channel_capacity_for(1 << 20, 64));
  RULE(call_number(1, 64, 0));
  RULE(call_number(3, 64, 63));
  RULE(call_place(255, 64));
}

void dump_channel_layout(Dump& dump) {
  STRUCT(CallHead, call, kind, code);
  STRUCT(ChannelHeader, magic, abi_version, header_bytes, feature_bits, capacity, message_bytes_max,
         payload_offset, role, call_window, pid, listens, connection_id, created_wall_ns, name,
         path, reserved);
  STRUCT(ChannelProgress, position, messages, padding);
  STRUCT(ChannelWords, sent, received, ticket, state, taken, full_waits, empty_waits, sleeps, wakes,
         reserved);
  ENUM(FrameKind, kShort, kShortPacked, kLong, kPadding);
  ENUM(CallKind, kOneWay, kCall, kReply, kErrorReply, kCancel);
  ENUM(ChannelRole, kProducer, kConsumer, kDuplex);
  ENUM(ChannelState, kOpen, kClosed, kCorrupt);
}

void dump_channel_frames(Dump& dump) {
  dump.header("channel_frames.h");
  CONSTANT(kPeersWaitingMax);
  STRUCT(ChannelHelloFrame, header, abi_version, role, has_membarrier, pid, connection_id);
  STRUCT(WakeFrame, header);
  STRUCT(TakeOverFrame, header, abi_version, reserved);
  STRUCT(HandedOverFrame, header, waiting, reserved);
  STRUCT(TakenOverFrame, header);
}

void dump_journal_constants(Dump& dump) {
  dump.header("journal_format.h");
  CONSTANT(kJournalVersion);
  CONSTANT(kSessionVersion);
  CONSTANT(kMirrorSessionVersion);
  CONSTANT(kSessionVersionMin);
  CONSTANT(kSegmentHeaderBytes);
  CONSTANT(kSegmentSlotBytesMin);
  CONSTANT(kSegmentSlotBytesDefault);
  CONSTANT(kSegmentMagic);
  CONSTANT(kSessionEntryBytes);
  CONSTANT(kRetentionEntryBytes);
}

void dump_journal_format(Dump& dump) {
  STRUCT(SegmentHeader, magic, version, header_bytes, journal_id, segment, first_sequence,
         slot_count, slot_bytes, record_bytes, created_wall_ns, schema, schema_hash, reserved,
         checksum);
  STRUCT(SumEntry, sum, count, check);
  STRUCT(TimeEntry, sequence, wall_ns, reserved, check);
  STRUCT(RetentionEntry, version, reserved, journal_id, oldest, published, reserved_tail, checksum);
  STRUCT(SessionEntry, version, kind, index, journal_id, session_id, boot_id, first, through, last,
         void_first, void_last, how, slot_bytes, record_bytes, sys_errno, segment_slots, source_id,
         source_offset, wall_ns, schema, ring_path, schema_hash, source_fingerprint, metadata_hash,
         previous_hash, origin_row, origin_hash, reserved, checksum);
  STRUCT(AbsentEntry, first, last, cause, reserved, check);
  ENUM(SessionEntryKind, kBegin, kReserve, kEnd, kShortened);
  ENUM(SessionEnd, kNone, kClosed, kRecovered, kCut, kFailed, kUpstream);
}

void dump_checkpoint_format(Dump& dump) {
  dump.header("checkpoint_format.h");
  CONSTANT(kCheckpointVersion);
  CONSTANT(kCheckpointHeaderBytes);
  CONSTANT(kCheckpointBlockBytes);
  CONSTANT(kCheckpointMagic);
  CONSTANT(kEntryBytesMax);
  CONSTANT(kKeyBytesMax);
  STRUCT(CheckpointHeader, magic, version, header_bytes, journal_id, session_id, sequence,
         created_wall_ns, entry_count, entry_bytes, block_bytes, sums_offset, sums_sum,
         record_bytes, fold_version, schema, fold, reserved, checksum);
}

void dump_cursor_format(Dump& dump) {
  dump.header("cursor_format.h");
  CONSTANT(kCursorVersion);
  CONSTANT(kCursorCopies);
  CONSTANT(kCursorCopyBytes);
  CONSTANT(kCursorFileBytes);
  CONSTANT(kCursorMagic);
  STRUCT(CursorEntry, magic, version, reserved, generation, journal_id, session_id, sequence,
         output_bytes, output_file, written_wall_ns, reserved_tail, checksum);
}

void dump_record_file_format(Dump& dump) {
  dump.header("record_file_format.h");
  CONSTANT(kRecordFileVersion);
  CONSTANT(kRecordFileMagic);
  CONSTANT(kRecordFileAlignment);
  STRUCT(RecordFileHeader, magic, version, header_bytes, record_bytes, description_bytes,
         schema_hash, schema, reserved, checksum);
}

void dump_order_entry(Dump& dump) {
  dump.header("order_entry.h");
  STRUCT(OrderEntry, msg, place);
  STRUCT(OrderKey, publisher_id, instrument_id, kind, order_id);
  ENUM(OrderEntryKind, kLoss, kBook, kOrder, kTop);
  CONSTANT(kOrderBookStaleFlags);
}

void dump_frame_constants(Dump& dump) {
  dump.header("control_frames.h");
  CONSTANT(kFrameMagic);
  CONSTANT(kFrameVersion);
  CONSTANT(kControlVersion);
  CONSTANT(kServedVersionMin);
  CONSTANT(kClientVersionMin);
  CONSTANT(kEventsVersionMin);
  CONSTANT(kMissingVersionMin);
  CONSTANT(kDropReasons);
  CONSTANT(kEventKinds);
  CONSTANT(kLatencyCounts);
  CONSTANT(kFrameBytesMax);
  CONSTANT(kHelloBytesFirst);
  CONSTANT(kWelcomeBytesFirst);
  CONSTANT(kRefusedBytesFirst);
  CONSTANT(kFlushBytesFirst);
  CONSTANT(kFlushedBytesFirst);
  CONSTANT(kFlushFailedBytesFirst);
  CONSTANT(kReportBytesFirst);
  CONSTANT(kListSubscribersBytesFirst);
  CONSTANT(kSubscriberInfoBytesFirst);
  CONSTANT(kEndOfListBytesFirst);
  CONSTANT(kPruneBytesFirst);
  CONSTANT(kPrunedBytesFirst);
  CONSTANT(kLatencyReportBytesFirst);
  CONSTANT(kListEventsBytesFirst);
  CONSTANT(kEventInfoBytesFirst);
  CONSTANT(kEndOfEventsBytesFirst);
  CONSTANT(kForgetBytesFirst);
  CONSTANT(kForgottenBytesFirst);
  CONSTANT(kClientsMax);
  CONSTANT(kMissingMax);
  CONSTANT(kQuestionsMax);
  CONSTANT(kFramesQueuedMax);
  CONSTANT(kFramesPerSecondMax);
  CONSTANT(kHandshakeNs);
  CONSTANT(kAcceptPauseNs);
  ENUM(FrameType, kHello, kWelcome, kRefused, kFlush, kFlushed, kFlushFailed, kReport,
       kListSubscribers, kSubscriberInfo, kEndOfList, kPrune, kPruned, kListEvents, kEventInfo,
       kEndOfEvents, kLatencyReport, kForget, kForgotten, kChannelHello, kChannelWelcome, kWake,
       kTakeOver, kHandedOver, kTakenOver);
  ENUM(ClientRole, kSubscriber, kTool);
  ENUM(ClientState, kJoining, kLive, kFilling, kStopped, kMissing);
  ENUM(DropReason, kPeerNotAllowed, kTooManyClients, kHandshakeTimeout, kAbiMismatch,
       kOutOfDescriptors, kBadFrame, kTooManyFrames, kQueueFull);
  ENUM(BusEventKind, kAttached, kDetached, kGap, kLoss, kRefused, kDropped, kStall, kJournalFailed,
       kJournalShed, kKilled, kSession, kMissing, kForgotten);
}

void dump_handshake_frames(Dump& dump) {
  STRUCT(FrameHeader, magic, version, type, length, reserved);
  STRUCT(HelloFrame, header, abi_version, role, pid, may_park, name, version, min_version, observes,
         reserved);
  STRUCT(WelcomeFrame, header, session_id, journal_id, session_first_sequence, durable, head,
         capacity, slot_bytes, record_bytes, has_journal, journal_state, journal_errno, version,
         schema, bus_name, ring_path, journal_path, schema_hash, pid_namespace, time_namespace);
  STRUCT(RefusedFrame, header, error, abi_version, message);
}

void dump_request_frames(Dump& dump) {
  STRUCT(FlushFrame, header, tag, through);
  STRUCT(FlushedFrame, header, tag, durable);
  STRUCT(FlushFailedFrame, header, tag, durable, journal_state, sys_errno);
  STRUCT(ReportFrame, header, position, records, gaps, lost, filled, state, reserved, head, wait,
         on_gap, gaps_before, lost_before);
  STRUCT(ListSubscribersFrame, header, tag);
  STRUCT(SubscriberInfoFrame, header, pid, uid, role, state, may_park, reported, position, records,
         gaps, lost, filled, connected_wall_ns, reported_wall_ns, name, tag, head_seen, wait,
         on_gap, observes, pid_is_claimed, process_start, report_age_ns, missing_since_wall_ns);
  STRUCT(EndOfListFrame, header, count, refused, dropped, tag, by_reason);
  STRUCT(LatencyReportFrame, header, tag, every, sum_ns, max_ns, negative, unstamped, counts);
  STRUCT(PruneFrame, header, below, tag);
  STRUCT(PrunedFrame, header, oldest, error, reserved, tag);
  STRUCT(ListEventsFrame, header, tag, after);
  STRUCT(EventInfoFrame, header, tag, number, wall_ns, kind, reason, sys_errno, pid, uid, reserved,
         position, records, gaps, lost, filled, count, name, text);
  STRUCT(EndOfEventsFrame, header, tag, count, newest);
  STRUCT(ForgetFrame, header, tag, all, reserved, name);
  STRUCT(ForgottenFrame, header, tag, count, error, reserved);
}

void dump_relay_constants(Dump& dump) {
  dump.header("relay_frames.h");
  CONSTANT(kRelayMagic);
  CONSTANT(kRelayVersion);
  CONSTANT(kRelayVersionMin);
  CONSTANT(kRelayRecordsMax);
  CONSTANT(kRelayBodyBytesMax);
  CONSTANT(kRelayNameBytesMax);
  CONSTANT(kRelayMessageBytesMax);
  CONSTANT(kRelayFlagSkippable);
  CONSTANT(kRelayFlagZstd);
  ENUM(RelayKind, kRecords, kSessions, kBus, kBeat, kAsk, kAnswer, kGone);
  ENUM(RelayPublisherState, kAlive, kSilent, kClosed, kDead);
  ENUM(RelayRequest, kRecords, kSessions, kFile, kFlush, kBus);
  ENUM(RelayAskee, kAll, kMirrors, kOrigin);
  ENUM(RelayFile, kDescription, kMetadata, kCheckpoint);
  ENUM(RelayOutcome, kOk, kPartly, kNotHere, kBusy, kRefused);
  ENUM(RelayAbsence, kPruned, kDamaged, kNeverArchived);
}

void dump_relay_frames(Dump& dump) {
  STRUCT(RelayHeader, magic, version, kind, flags, reserved, journal_id, session_id, first, count,
         record_bytes, schema_hash, head, durable, time_ns, session_row, session_hash, body_bytes,
         raw_bytes, sum);
  STRUCT(RelaySession, journal_id, session_id, first, last, void_first, void_last, how, sys_errno,
         slot_bytes, record_bytes, segment_slots, source_id, source_offset, source_fingerprint,
         schema_hash, metadata_hash, schema, begin_row, begin_hash, end_row, end_hash,
         begin_wall_ns, end_wall_ns);
  STRUCT(RelayBus, name, schema, schema_hash, metadata_hash, record_bytes, slot_bytes,
         segment_slots, capacity, restamped, reserved);
  STRUCT(RelayBeat, sent_session, sent, oldest, journal_state, sys_errno, publisher, flags);
  STRUCT(RelayAsk, request, file, token, first, last, hash, offset, bytes_max, to, reserved);
  STRUCT(RelayAnswer, request, outcome, token, total, offset);
  STRUCT(RelayAbsent, first, last, cause, reserved);
}

void dump_errors(Dump& dump) {
  dump.header("error.h");
  CONSTANT(kErrorPayload);
  CONSTANT(kErrnoPayload);
  for (const ErrorName& error : kErrorNames) {
    dump.error(error.code, error.name);
  }
  ENUM(Errc, kOk, kInvalidArgument, kNoBus, kInUse, kNotPermitted, kNoSpace, kSystem, kDamaged,
       kAbiMismatch, kNotALapwingFile, kJournalFailed, kNoJournal, kPruned, kTimedOut,
       kPublisherGone, kRefused, kProtocol, kBadInput, kRecordSize, kPathTooLong, kClosed, kReset,
       kUnsupported, kLimit, kNotFound, kStoppedAtGap, kPeerGone, kCorrupt, kWouldBlock, kMisuse,
       kInterrupted, kTooSmall, kNoMemory, kForked, kEventDue, kNoAnswer);
}

void dump_gap(Dump& dump) {
  dump.header("gap.h");
  STRUCT(Gap, first, last, resume, cause, fillable);
  ENUM(GapCause, kLapped, kSession, kVoid, kPruned, kDamaged, kNotRelayed, kUpstream);
}

void dump_dbn_constants(Dump& dump) {
  using namespace dbn;
  dump.header("dbn.h");
  CONSTANT(kPriceScale);
  CONSTANT(kUndefPrice);
  CONSTANT(kUndefTimestamp);
  CONSTANT(kLengthUnit);
  CONSTANT(kFlagLast);
  CONSTANT(kFlagTop);
  CONSTANT(kFlagSnapshot);
  CONSTANT(kFlagMbp);
  CONSTANT(kFlagBadTsRecv);
  CONSTANT(kFlagMaybeBadBook);
  ENUM(RType, kTrade, kMbp1, kMbp10, kStatus, kDefinition, kImbalance, kStatistics, kOhlcv1s,
       kOhlcv1m, kOhlcv1h, kOhlcv1d, kOhlcvEod, kMbo, kCmbp1, kCbbo1s, kCbbo1m, kTcbbo, kBbo1s,
       kBbo1m);
  ENUM(Action, kAdd, kModify, kCancel, kClear, kTrade, kFill, kNone);
  ENUM(Side, kAsk, kBid, kNone);
}

void dump_dbn_records(Dump& dump) {
  using namespace dbn;
  CONSTANT(kSchemaMbo);
  CONSTANT(kSchemaTrades);
  CONSTANT(kSchemaMbp1);
  ENUM(SchemaId, kMbo, kMbp1, kMbp10, kTbbo, kTrades, kOhlcv1s, kOhlcv1m, kOhlcv1h, kOhlcv1d,
       kDefinition, kStatistics, kStatus, kImbalance, kOhlcvEod, kCmbp1, kCbbo1s, kCbbo1m, kTcbbo,
       kBbo1s, kBbo1m, kMixed);
  for (const RecordSchema& schema : kRecordSchemas) dump.schema(schema);
  STRUCT(RecordHeader, length, rtype, publisher_id, instrument_id, ts_event);
  STRUCT(MboMsg, hd, order_id, price, size, flags, channel_id, action, side, ts_recv, ts_in_delta,
         sequence);
  STRUCT(TradeMsg, hd, price, size, action, side, flags, depth, ts_recv, ts_in_delta, sequence);
  STRUCT(BidAskPair, bid_px, ask_px, bid_sz, ask_sz, bid_ct, ask_ct);
  STRUCT(Mbp1Msg, hd, price, size, action, side, flags, depth, ts_recv, ts_in_delta, sequence,
         level);
}

void dump_kv16(Dump& dump) {
  using namespace kv16;
  dump.header("kv16.h");
  STRUCT(Record, key, value);
  CONSTANT(kSchema);
}

}  // namespace

std::string abi_dump() {
  Dump dump;
  dump_sequence(dump);
  dump_memory_layout(dump);
  dump_journal_state(dump);
  dump_ring_constants(dump);
  dump_ring_layout(dump);
  dump_slot_stamp(dump);
  dump_channel_constants(dump);
  dump_channel_layout(dump);
  dump_channel_frames(dump);
  dump_journal_constants(dump);
  dump_journal_format(dump);
  dump_checkpoint_format(dump);
  dump_cursor_format(dump);
  dump_record_file_format(dump);
  dump_frame_constants(dump);
  dump_handshake_frames(dump);
  dump_request_frames(dump);
  dump_relay_constants(dump);
  dump_relay_frames(dump);
  dump_errors(dump);
  dump_gap(dump);
  dump_dbn_constants(dump);
  dump_dbn_records(dump);
  dump_kv16(dump);
  dump_order_entry(dump);
  return dump.take();
}

}  // namespace lapwing
