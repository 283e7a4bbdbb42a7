#include "bus/control/list_sender.h"

#include <algorithm>
#include <span>

#include "bus/control/server.h"

namespace lapwing {
namespace {

constexpr int kListFramesPerTurn = 64;  // sent to one client

}  // namespace

void ListSender::start(const ListSubscribersFrame& list) {
  list_ = {.end = server_->connections().next_id(), .tag = list.tag};
}

void ListSender::start(const ListEventsFrame& list) {
  const std::uint64_t newest = server_->events().newest();
  events_ = {.next = std::min(list.after, newest) + 1, .end = newest + 1, .tag = list.tag};
}

SendOutcome ListSender::send(ClientSocket& socket) {
  SendOutcome outcome = SendOutcome::kSent;
  for (int i = 0; i < kListFramesPerTurn && list_ && outcome == SendOutcome::kSent; ++i) {
    outcome = send_of_list(socket);
  }
  if (list_) return outcome;
  for (int i = 0; i < kListFramesPerTurn && events_ && outcome == SendOutcome::kSent; ++i) {
    outcome = send_of_events(socket);
  }
  return outcome;
}

SendOutcome ListSender::send_of_list(ClientSocket& socket) {
  const ControlConnection* const next = server_->connections().next_subscriber(list_->next);
  if (next != nullptr && next->id() < list_->end) return send_subscriber(socket, *next);
  const std::span<const SubscriberInfoFrame> missing = server_->missing().list();
  if (socket.version() >= kMissingVersionMin && list_->missing < missing.size()) {
    return send_missing(socket, missing[list_->missing]);
  }
  const SendOutcome outcome = socket.send(end_of_list());
  if (outcome == SendOutcome::kSent) list_.reset();
  return outcome;
}

// Sends its information, and then its latency, if it has one.
SendOutcome ListSender::send_subscriber(ClientSocket& socket, const ControlConnection& subscriber) {
  const ClientProfile& client = subscriber.client();
  const bool sends_latency = socket.version() >= kEventsVersionMin && client.latency().has_value();
  const bool is_rest = list_->is_halfway && list_->next == subscriber.id() && sends_latency;
  const auto with_tag = [&](auto frame) {
    frame.tag = list_->tag;
    return frame;
  };
  const SendOutcome outcome = is_rest ? socket.send(with_tag(*client.latency()))
                                      : socket.send(with_tag(client.info(server_->now_ns())));
  if (outcome != SendOutcome::kSent) return outcome;
  if (!is_rest) ++list_->count;
  list_->is_halfway = !is_rest && sends_latency;
  list_->next = subscriber.id() + (list_->is_halfway ? 0 : 1);
  return outcome;
}

SendOutcome ListSender::send_missing(ClientSocket& socket, const SubscriberInfoFrame& subscriber) {
  SubscriberInfoFrame frame = subscriber;
  frame.header = make_frame<SubscriberInfoFrame>(FrameType::kSubscriberInfo).header;
  frame.tag = list_->tag;
  const SendOutcome outcome = socket.send(frame);
  if (outcome != SendOutcome::kSent) return outcome;
  ++list_->missing;
  ++list_->count;
  return outcome;
}

SendOutcome ListSender::send_of_events(ClientSocket& socket) {
  const EventInfoFrame* const next = server_->events().next(events_->next);
  if (next == nullptr || next->number >= events_->end) {
    const SendOutcome outcome = socket.send(end_of_events());
    if (outcome == SendOutcome::kSent) events_.reset();
    return outcome;
  }
  EventInfoFrame frame = *next;
  frame.tag = events_->tag;
  const SendOutcome outcome = socket.send(frame);
  if (outcome != SendOutcome::kSent) return outcome;
  events_->next = frame.number + 1;
  ++events_->count;
  return outcome;
}

EndOfListFrame ListSender::end_of_list() const {
  EndOfListFrame frame = make_frame<EndOfListFrame>(FrameType::kEndOfList);
  frame.count = list_->count;
  frame.tag = list_->tag;
  frame.refused = server_->drops().refused();
  frame.dropped = server_->drops().dropped();
  std::ranges::copy(server_->drops().counts(), frame.by_reason);
  return frame;
}

EndOfEventsFrame ListSender::end_of_events() const {
  EndOfEventsFrame frame = make_frame<EndOfEventsFrame>(FrameType::kEndOfEvents);
  frame.tag = events_->tag;
  frame.count = events_->count;
  frame.newest = events_->end - 1;
  return frame;
}

}  // namespace lapwing
