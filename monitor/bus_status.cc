#include "monitor/bus_status.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "bus/control/client.h"
#include "bus/control/missing_subscribers.h"
#include "bus/ring_map.h"
#include "lapwing/error.h"
#include "monitor/publisher_state.h"
#include "os/kernel.h"
#include "os/path.h"
#include "os/posix_io.h"
#include "proto/ring_words.h"
#include "proto/text_field.h"
#include "snapshot/journal/journal_files.h"
#include "snapshot/journal/listed_journals.h"
#include "snapshot/journal/retention_file.h"
#include "snapshot/journal/session_log.h"
#include "subscribers/described_ring.h"
#include "subscribers/reporter.h"

namespace lapwing {

namespace {

std::optional<RingCounts> counts_of(const RingWords& words) {
  if (load_count(words.counters_kept) != 1) return std::nullopt;
  return RingCounts{.idle_wakes = load_count(words.idle_wakes),
                    .doorbells = load_count(words.doorbells),
                    .subscribers = load_count(words.subscribers),
                    .gaps = load_count(words.gaps),
                    .lost = load_count(words.lost),
                    .journal_bytes = load_count(words.journal_bytes),
                    .stalls = load_durations(words.stalls),
                    .syncs = load_durations(words.syncs)};
}

}  // namespace

RingStatus status_of(const OpenRing& ring, const RingWords& words, HeartbeatWatch& heartbeat) {
  const JournalCondition journal = load_journal_condition(words);
  const RingHeader& header = ring.header();
  const absl::StatusOr<bool> is_held = ring.is_held();
  const std::uint64_t now_ns = monotonic_ns();
  std::uint64_t age_ns = heartbeat.age_ns(words, now_ns);
  const bool is_age_known = heartbeat.is_age_known(load_heartbeat(words), now_ns);
  if (!is_age_known && age_ns >= kHeartbeatProofNs) age_ns = std::max(age_ns, kSilentNs);
  return {.path = ring.path(),
          .publisher_pid = header.publisher_pid,
          .process = state_of({.pid = header.publisher_pid,
                               .start_ticks = 0,
                               .namespaces = {.pid = header.publisher_pid_namespace,
                                              .time = header.publisher_time_namespace}}),
          .is_held = is_held.ok() ? std::optional(*is_held) : std::nullopt,
          .state = load_ring_state(words),
          .heartbeat_age_ns = age_ns,
          .is_heartbeat_age_known = is_age_known,
          .session_first = ring.header().session_first_sequence,
          .head = load_head(words),
          .archived = load_archived(words),
          .durable = load_durable(words),
          .oldest = load_oldest(words),
          .journal = journal,
          .counts = counts_of(words)};
}

namespace {

// 0 stands for what a peer did not say.
template <typename Enum>
std::optional<Enum> said(std::uint32_t number) {
  if (number == 0) return std::nullopt;
  return static_cast<Enum>(number);
}

constexpr std::uint64_t kHeartbeatLookNs = 50 * kNsPerMs;

absl::StatusOr<RingStatus> status_of(const OpenRing& ring, RingWordsCopy& copy) {
  HeartbeatWatch heartbeat(ring.header());
  RingStatus status = status_of(ring, copy.words(), heartbeat);
  const std::uint64_t first_ns = load_heartbeat(copy.words());
  const std::uint64_t began_ns = monotonic_ns();
  if (status.state != RingState::kRunning || status.is_held == false ||
      status.is_heartbeat_age_known) {
    return status;
  }
  while (monotonic_ns() < began_ns + kHeartbeatProofNs) {
    wait_readable(-1, kHeartbeatLookNs);
    if (absl::Status read = copy.refresh(ring); !read.ok()) return read;
    if (load_heartbeat(copy.words()) != first_ns) return status_of(ring, copy.words(), heartbeat);
  }
  return status_of(ring, copy.words(), heartbeat);
}

absl::StatusOr<RingStatus> read_ring(const std::string& directory, const BusDescription& bus) {
  const absl::StatusOr<OpenRing> ring = open_described_ring(directory, bus);
  absl::StatusOr<RingWordsCopy> words =
      ring.ok() ? RingWordsCopy::read(*ring) : absl::StatusOr<RingWordsCopy>(ring.status());
  if (words.ok()) return status_of(*ring, *words);
  if (bus.closed) return make_error(Errc::kNotFound, "the session was closed");
  return words.status();
}

// A subscriber that runs reports every kReportNsMin while it takes records.
constexpr std::uint64_t kReportFreshNs = 3 * kReportNsMin;

Latency latency_of(const LatencyReportFrame& report) {
  Latency latency{.every = report.every,
                  .sum_ns = report.sum_ns,
                  .age_ns = {},
                  .negative = report.negative,
                  .unstamped = report.unstamped};
  for (std::size_t i = 0; i < kLatencyCounts; ++i) {
    latency.age_ns.add(std::min(AgeHistogram::last_of(i), report.max_ns), report.counts[i]);
  }
  return latency;
}

SubscriberStatus status_of(const SubscriberInfoFrame& info, Sequence head, std::uint64_t now_ns,
                           const ProcessNamespaces& namespaces) {
  return {.pid = info.pid,
          .uid = info.uid,
          .name = get_text(info.name),
          .state = info.state,
          .may_park = info.may_park != 0,
          .observes = info.observes != 0,
          .wait = said<WaitStrategy>(info.wait),
          .on_gap = said<OnGap>(info.on_gap),
          .position = info.position,
          .lag = lag_of(info, head, now_ns),
          .is_recent = is_recent(info, now_ns),
          .head_seen = info.head_seen,
          .records = info.records,
          .gaps = info.gaps,
          .lost = info.lost,
          .filled = info.filled,
          .connected_wall_ns = info.connected_wall_ns,
          .reported_wall_ns = info.reported_wall_ns,
          .report_age_ns = report_age_of(info, now_ns),
          .missing_since_wall_ns = info.missing_since_wall_ns,
          .process = state_of(process_of(info, namespaces)),
          .latency = std::nullopt};
}

absl::StatusOr<std::vector<SessionRecord>> read_sessions(Disk& disk,
                                                         const std::string& journal_root,
                                                         std::uint64_t bytes_max = UINT64_MAX) {
  if (journal_root.empty()) return std::vector<SessionRecord>{};
  const absl::StatusOr<SessionLog> log = SessionLog::open_read_only(disk, journal_root, bytes_max);
  if (!log.ok()) return log.status();
  return log->sessions();
}

absl::StatusOr<JournalSize> size_of(Disk& disk, const JournalDirectory& journal) {
  JournalSize size;
  for (const std::uint64_t segment : journal.segments) {
    const absl::StatusOr<OpenFile> jnl =
        open_file(disk, numbered_path(journal.path, segment, "jnl"), {});
    if (errc_of(jnl.status()) == Errc::kNotFound) continue;  // retention has just removed it
    if (!jnl.ok()) return jnl.status();
    const absl::StatusOr<std::uint64_t> bytes = disk.allocated_bytes(jnl->get());
    if (!bytes.ok()) return bytes.status();
    ++size.segments;
    size.bytes += *bytes;
  }
  return size;
}

// The journals that `sessions` lists, without their sizes.
absl::StatusOr<std::vector<JournalStatus>> read_listed(Disk& disk, const std::string& journal_root,
                                                       const std::vector<SessionRecord>& sessions) {
  std::vector<JournalStatus> journals;
  for (const ListedJournal& listed : listed_journals(sessions)) {
    const absl::StatusOr<RetainedSegments> retained =
        list_retained(journal_files_of(disk, journal_root, listed.first.begin));
    if (!retained.ok()) return retained.status();
    if (!journals.empty()) journals.back().is_discarded = true;
    JournalStatus& journal = journals.emplace_back();
    journal.id = listed.id();
    journal.sessions = listed.sessions;
    journal.oldest = retained->oldest;
    journal.end = listed.last.end;
    if (journal.end) journal.last = journal.end->last;
  }
  return journals;
}

absl::StatusOr<std::vector<JournalStatus>> read_journals(
    Disk& disk, const std::string& journal_root,
    const absl::StatusOr<std::vector<SessionRecord>>& sessions) {
  if (!sessions.ok()) return sessions.status();
  if (journal_root.empty()) return std::vector<JournalStatus>{};
  absl::StatusOr<std::vector<JournalStatus>> journals = read_listed(disk, journal_root, *sessions);
  if (!journals.ok()) return journals;
  const absl::StatusOr<std::vector<JournalDirectory>> directories =
      list_journals(disk, journal_root);
  if (!directories.ok()) return directories.status();
  for (const JournalDirectory& directory : *directories) {
    const absl::StatusOr<JournalSize> size = size_of(disk, directory);
    if (!size.ok()) return size.status();
    auto journal = std::ranges::find(*journals, directory.journal_id, &JournalStatus::id);
    if (journal == journals->end()) {
      journal = journals->emplace(journals->begin());
      journal->id = directory.journal_id;
    }
    journal->size = *size;
  }
  return journals;
}

}  // namespace

absl::StatusOr<BusStatus> gather_bus_status(const std::string& directory) {
  const absl::StatusOr<BusDescription> bus = read_bus_description(directory);
  if (!bus.ok()) return bus.status();
  absl::StatusOr<RingStatus> ring = read_ring(directory, *bus);
  absl::StatusOr<PublisherStatus> publisher = ask_publisher(directory);
  PosixDisk disk;
  absl::StatusOr<std::vector<SessionRecord>> sessions = read_sessions(disk, bus->journal_root);
  absl::StatusOr<std::vector<JournalStatus>> journals =
      read_journals(disk, bus->journal_root, sessions);
  return BusStatus{.directory = directory,
                   .description = *bus,
                   .records = records_of(*bus),
                   .ring = std::move(ring),
                   .publisher = std::move(publisher),
                   .sessions = std::move(sessions),
                   .journals = std::move(journals)};
}

JournalSize total_size(const std::vector<JournalStatus>& journals) {
  JournalSize total;
  for (const JournalStatus& journal : journals) {
    total.segments += journal.size.segments;
    total.bytes += journal.size.bytes;
  }
  return total;
}

absl::StatusOr<JournalFacts> read_journal_facts(const std::string& journal_root,
                                                std::uint64_t sessions_bytes_max) {
  if (journal_root.empty()) return JournalFacts{};
  PosixDisk disk;
  const absl::StatusOr<std::vector<SessionRecord>> sessions =
      read_sessions(disk, journal_root, sessions_bytes_max);
  const absl::StatusOr<std::vector<JournalStatus>> journals =
      read_journals(disk, journal_root, sessions);
  if (!journals.ok()) return journals.status();
  const absl::StatusOr<std::uint64_t> free = disk.free_bytes(journal_root);
  if (!free.ok()) return free.status();
  JournalFacts facts{.is_kept = true,
                     .sessions = sessions->size(),
                     .void_records = 0,
                     .size_bytes = total_size(*journals).bytes,
                     .free_bytes = *free};
  for (const SessionRecord& session : *sessions) {
    // Another journal's sequences begin at 1 again.
    if (!session.end || session.begin.journal_id != sessions->back().begin.journal_id) continue;
    if (session.end->void_first == 0) continue;
    facts.void_records += session.end->void_last - session.end->void_first + 1;
  }
  return facts;
}

bool SubscriberStatus::is_silent() const {
  return !is_missing() && lag > 0 && report_age_ns && *report_age_ns >= kSilentReportNs;
}

std::optional<std::uint64_t> report_age_of(const SubscriberInfoFrame& info,
                                           std::uint64_t now_wall_ns) {
  if (info.report_age_ns != 0) return info.report_age_ns;
  if (info.reported == 0) return std::nullopt;
  if (now_wall_ns < info.reported_wall_ns) return std::nullopt;
  return now_wall_ns - info.reported_wall_ns;
}

bool is_recent(const SubscriberInfoFrame& info, std::uint64_t now_wall_ns) {
  const std::optional<std::uint64_t> age_ns = report_age_of(info, now_wall_ns);
  return info.head_seen != 0 && age_ns && *age_ns < kReportFreshNs;
}

std::uint64_t lag_of(const SubscriberInfoFrame& info, Sequence head, std::uint64_t now_wall_ns) {
  if (info.missing_since_wall_ns != 0) return 0;
  const Sequence newest = is_recent(info, now_wall_ns) ? info.head_seen : head;
  return newest > info.position ? newest - info.position : 0;
}

absl::StatusOr<RingStatus> read_ring_status(const std::string& directory) {
  const absl::StatusOr<BusDescription> bus = read_bus_description(directory);
  return bus.ok() ? read_ring(directory, *bus) : bus.status();
}

ProcessNamespaces namespaces_of(const ControlClient& client) {
  return {.pid = client.welcome().pid_namespace, .time = client.welcome().time_namespace};
}

PublisherStatus status_of(Sequence head, const ControlClient::SubscriberList& list,
                          const ProcessNamespaces& namespaces) {
  PublisherStatus status{.head = head,
                         .subscribers = {},
                         .clients_refused = list.end.refused,
                         .clients_dropped = list.end.dropped};
  std::ranges::copy(list.end.by_reason, status.clients_by_reason.begin());
  for (const SubscriberInfoFrame& info : list.subscribers) {
    status.subscribers.push_back(status_of(info, head, wall_ns(), namespaces));
  }
  for (const auto& [index, latency] : list.latencies) {
    status.subscribers[index].latency = latency_of(latency);
  }
  return status;
}

namespace {

std::string control_socket(const std::string& directory) {
  return absl::StrCat(directory, "/", kControlSocketName);
}

constexpr char kRestart[] = "Restart the publisher, unless it has just started.";

// Why a publisher that runs could not be asked, as the end of a sentence about it.
std::string unanswered_text(const std::string& directory, const absl::Status& why) {
  const std::string socket = control_socket(directory);
  switch (errc_of(why)) {
    case Errc::kNoBus:
      return absl::StrCat("its control socket ", socket, " is gone. ", kRestart);
    case Errc::kPublisherGone:
      return absl::StrCat("it does not listen on its control socket ", socket, ". ", kRestart);
    case Errc::kTimedOut:
      return absl::StrCat("it did not answer on ", socket, " within ",
                          kPublisherAnswerNs / kNsPerSecond,
                          " s. If this persists, restart the publisher.");
    default:
      return absl::StrCat("it did not answer: ", why.message());
  }
}

}  // namespace

absl::Status why_unanswered(const std::string& directory, const absl::Status& why) {
  const absl::StatusOr<RingStatus> ring = read_ring_status(directory);
  if (!ring.ok() || state_of_publisher(*ring) != PublisherState::kRunning) return why;
  return make_error(errc_of(why), absl::StrCat("the publisher (pid ", ring->publisher_pid,
                                               ") runs, but ", unanswered_text(directory, why)));
}

absl::StatusOr<ControlClient> connect_to_publisher(const std::string& directory,
                                                   const std::string& name,
                                                   std::uint64_t deadline_ns) {
  absl::StatusOr<ControlClient> client = ControlClient::connect(
      {.path = control_socket(directory), .role = ClientRole::kTool, .name = name}, deadline_ns);
  if (!client.ok()) return why_unanswered(directory, client.status());
  return client;
}

absl::StatusOr<PublisherStatus> ask_publisher(const std::string& directory) {
  const std::uint64_t deadline_ns = monotonic_ns() + kPublisherAnswerNs;
  absl::StatusOr<ControlClient> client = connect_to_publisher(directory, "lapwing", deadline_ns);
  if (!client.ok()) return client.status();
  const absl::StatusOr<ControlClient::SubscriberList> list = client->list_subscribers(deadline_ns);
  if (!list.ok()) return why_unanswered(directory, list.status());
  return status_of(client->welcome().head, *list, namespaces_of(*client));
}

const char* name_of(const std::optional<EndOfSession>& end) {
  return end ? name_of(end->how) : "open";
}

}  // namespace lapwing
