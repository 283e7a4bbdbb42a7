#include "publisher/publisher_control.h"

#include <unistd.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/schema_label.h"
#include "proto/text_field.h"

namespace lapwing {
namespace {

constexpr std::uint64_t kFillStepBytes = 256 * 1024;

// How a session ended that was not closed, for monitors.
const char* meaning_of(SessionEnd end) {
  switch (end) {
    case SessionEnd::kRecovered:
      return "its records were recovered from the ring";
    case SessionEnd::kCut:
      return "its ring is gone: records after the last sync may be lost";
    case SessionEnd::kFailed:
      return "its journal had failed";
    default:
      return "";
  }
}

// Events about the previous session and the start of this one, for monitors.
std::vector<EventInfoFrame> events_of_start(const StartedSession& session) {
  std::vector<EventInfoFrame> events;
  const PastSession& past = session.past;
  const bool is_first = !past.end;
  const bool was_closed = past.end == SessionEnd::kClosed || past.end == SessionEnd::kUpstream;
  if (!is_first && !was_closed) {
    EventInfoFrame& killed = events.emplace_back(make_frame<EventInfoFrame>(FrameType::kEventInfo));
    killed.kind = BusEventKind::kKilled;
    killed.pid = past.publisher_pid;
    killed.position = past.last;
    set_text(killed.text, meaning_of(*past.end));
  }
  EventInfoFrame& began = events.emplace_back(make_frame<EventInfoFrame>(FrameType::kEventInfo));
  began.kind = BusEventKind::kSession;
  began.pid = static_cast<std::uint32_t>(getpid());
  began.position = session.begin.first;
  set_text(began.text, is_first     ? "first session"
                       : was_closed ? "the last session was closed"
                                    : "the last session was not closed");
  return events;
}

}  // namespace

PublisherControl::PublisherControl(StartedSession& session, JournalGate& gate,
                                   detail::AttentionWord& attention)
    : session_(session),
      lock_watch_(*session.locks, session.options->log),
      roster_(session.options->directory, session.options->group, session.options->threads,
              session.roster, session.expected, session.options->log),
      service_thread_({.path = absl::StrCat(session.options->directory, "/", kControlSocketName),
                       .group = session.options->group,
                       .expected = session.expected,
                       .events = events_of_start(session)},
                      *session.ring, *this, attention) {
  if (session.archiver == nullptr) return;
  file_thread_ = std::make_unique<FileThread>(
      std::move(session.archiver), session.ring->words(), session.ring->header().capacity,
      session.options->on_journal_failure == OnJournalFailure::kStop, gate, attention,
      FileThread::Hooks{.on_progress = [this] { service_thread_.progress(); },
                        .fill_ring = [this] { return fill_ring(); },
                        .on_turn = [this](std::uint64_t now_ns) { watch_files(now_ns); },
                        .log = session.options->log});
}

absl::Status PublisherControl::start() {
  const ThreadPlacement& placement = session_.options->threads;
  const absl::Status started = service_thread_.start(placement);
  return started.ok() && file_thread_ ? file_thread_->start(placement) : started;
}

void PublisherControl::close_socket() {
  service_thread_.close();
  roster_.close(service_thread_.roster(), load_head(session_.ring->words()));
}

// Registers the memory last, because registration faults in all of it.
bool PublisherControl::fill_ring() {
  const bool failed =
      !session_.fill.step(kFillStepBytes).ok();  // then pages are faulted in on first use
  if (!failed && session_.fill.left() > 0) return true;
  const RingHeader& ring = session_.ring->header();
  session_.queue->register_memory({session_.ring->slots(), ring.capacity * ring.slot_bytes});
  return false;
}

void PublisherControl::watch_files(std::uint64_t now_ns) {
  lock_watch_.look(now_ns);
  if (roster_.is_due(now_ns)) roster_.keep(now_ns, service_thread_.roster());
}

WelcomeFrame PublisherControl::welcome() {
  const RingWords& words = session_.ring->words();
  const RingHeader& ring = session_.ring->header();
  const JournalCondition condition = load_journal_condition(words);
  WelcomeFrame frame = make_frame<WelcomeFrame>(FrameType::kWelcome);
  frame.durable = load_durable(words);  // before head, so a client never sees durable beyond head
  frame.head = load_head(words);
  frame.session_id = ring.session_id;
  frame.journal_id = ring.journal_id;
  frame.session_first_sequence = ring.session_first_sequence;
  frame.capacity = ring.capacity;
  frame.slot_bytes = ring.slot_bytes;
  frame.record_bytes = ring.record_bytes;
  frame.has_journal = ring.has_journal;
  frame.journal_state = static_cast<std::uint32_t>(condition.state);
  frame.journal_errno = condition.sys_errno;
  set_schema(frame, get_schema(ring));
  set_text(frame.bus_name, session_.description.name);
  set_text(frame.ring_path, session_.ring->path());
  set_text(frame.journal_path, session_.description.journal_root);
  frame.pid_namespace = namespaces_.pid;
  frame.time_namespace = namespaces_.time;
  return frame;
}

}  // namespace lapwing
