#include "testing/relay_network_state.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "lapwing/error.h"
#include "os/kernel.h"

namespace lapwing {

RelayNetwork::State::Link* RelayNetwork::State::find(std::uint64_t id) {
  const auto found = links.find(id);
  return found == links.end() ? nullptr : found->second.get();
}

std::uint64_t RelayNetwork::State::draw_ns(std::uint64_t max_ns) {
  return max_ns == 0 ? 0 : random.below(max_ns + 1);
}

void RelayNetwork::State::run_until(std::uint64_t until_ns) {
  for (auto next = events.begin(); next != events.end() && next->first.first <= until_ns;) {
    const Link* const link = find(next->second.link);
    if (link != nullptr && frozen.contains(link->host)) {
      ++next;
      continue;
    }
    now_ns = std::max(now_ns, next->first.first);
    const Event event = std::move(next->second);
    events.erase(next);
    event.run();
    next = events.begin();
  }
  now_ns = std::max(now_ns, until_ns);
}

void RelayNetwork::State::add_event(std::uint64_t at_ns, Event event) {
  events.emplace(std::pair(at_ns, ++serial), std::move(event));
}

void RelayNetwork::State::to_server(Link& link, std::function<void()> run) {
  link.to_server_ns = std::max(link.to_server_ns, now_ns + draw_ns(faults.delay_ns_max));
  add_event(link.to_server_ns, {link.id, true, std::move(run)});
  run_until(now_ns);
}

void RelayNetwork::State::from_server(Link& link, const Path& path, std::uint64_t delay_ns,
                                      std::function<void()> run) {
  std::uint64_t& last_ns = link.from_server_ns[path];
  last_ns = std::max(last_ns, now_ns + delay_ns);
  add_event(last_ns, {link.id, false, std::move(run)});
}

void RelayNetwork::State::deliver(Link& link, const Path& path, const Entry& entry) {
  if (random.chance(faults.loss_percent)) {
    ++counts.lost;
    return;
  }
  const bool twice = random.chance(faults.duplicate_percent);
  if (twice) ++counts.duplicated;
  for (int i = 0; i <= int{twice}; ++i) {
    from_server(link, path, draw_ns(faults.delay_ns_max),
                [this, id = link.id, entry] { arrive(id, entry); });
  }
}

void RelayNetwork::State::arrive(std::uint64_t id, const Entry& entry) {
  Link* const link = find(id);
  if (link == nullptr || !link->lost.ok()) return;
  if (entry.size() != 0 && link->inbox_bytes + entry.size() > kRelayInboxBytesMax) {
    ++link->dropped;
    return;
  }
  ++counts.delivered;
  if (entry.order < link->newest_order) ++counts.overtaken;
  link->newest_order = std::max(link->newest_order, entry.order);
  link->inbox_bytes += entry.size();
  link->inbox.push_back(entry);
  link->update_event();
}

void RelayNetwork::State::fan_out(std::uint64_t sender, const Entry& entry) {
  for (const auto& [id, link] : links) {
    if (id == sender || !link->listens.contains(entry.subject)) continue;
    deliver(*link, {Path::Kind::kSubject, static_cast<std::uint64_t>(entry.subject)}, entry);
  }
}

void RelayNetwork::State::publish(Link& link, RelaySubject subject, Bytes bytes,
                                  std::string reply_to) {
  const Entry entry{.kind = RelayArrivalKind::kPublished,
                    .bytes = std::move(bytes),
                    .subject = subject,
                    .reply_to = std::move(reply_to),
                    .order = ++serial};
  to_server(link, [this, id = link.id, entry] { fan_out(id, entry); });
}

void RelayNetwork::State::acknowledge(std::uint64_t id, const NumberedAck& ack) {
  Link* const link = find(id);
  if (link == nullptr) return;
  if (random.chance(faults.ack_loss_percent)) {
    ++counts.acks_lost;
    return;
  }
  const std::uint64_t delay_ns = draw_ns(faults.delay_ns_max) + draw_ns(faults.ack_delay_ns_max);
  from_server(*link, {Path::Kind::kAcks, 0}, delay_ns, [this, id, ack] {
    Link* const receiver = find(id);
    if (receiver == nullptr || !receiver->lost.ok()) return;
    receiver->acks.push_back(ack);
    receiver->update_event();
  });
}

std::optional<RelayAck> RelayNetwork::State::store(const Append& append, const Bytes& bytes,
                                                   bool has_listener) {
  RelayAck ack;
  ack.expected_last = append.expected_last;
  if (failures > 0) {
    --failures;
    ack.result = failure;
    ack.reason = "by the test";
    return failure == RelayAckResult::kTimedOut ? std::nullopt : std::optional(ack);
  }
  if (!stream) {
    ack.result = RelayAckResult::kNoStream;
    ack.reason = "no stream stores the subject";
    return has_listener ? std::nullopt : std::optional(ack);
  }
  if (stream->last != append.expected_last) {
    ack.result = RelayAckResult::kWrongLast;
    ack.reason = absl::StrCat("wrong last sequence: ", stream->last);
    return ack;
  }
  ack.result = RelayAckResult::kStored;
  ack.stream_sequence = ++stream->last;
  stream->messages.push_back({stream->last, bytes});
  stream->bytes += bytes->size();
  while (stream->bytes > stream->options.bytes_max) stream->discard_oldest();
  for (const auto& [id, link] : links) feed(*link);
  return ack;
}

void RelayNetwork::State::append(Link& link, const Append& append, const Bytes& bytes) {
  const Entry entry{.kind = RelayArrivalKind::kPublished,
                    .bytes = bytes,
                    .subject = RelaySubject::kLog,
                    .order = ++serial};
  to_server(link, [this, id = link.id, append, bytes, entry] {
    fan_out(id, entry);
    const auto process = [this, id, append, bytes] {
      const bool has_listener = std::any_of(links.begin(), links.end(), [&](const auto& other) {
        return other.first != id && other.second->listens.contains(RelaySubject::kLog);
      });
      if (auto ack = store(append, bytes, has_listener)) acknowledge(id, {append.number, *ack});
    };
    if (held) {
      held_appends.push_back(process);
    } else {
      process();
    }
  });
}

void RelayNetwork::State::feed(Link& link) {
  if (!link.is_reading || !stream || !link.lost.ok()) return;
  auto next = std::lower_bound(stream->messages.begin(), stream->messages.end(), link.reading_next,
                               [](const relay_network::StoredMessage& stored, std::uint64_t s) {
                                 return stored.sequence < s;
                               });
  for (; next != stream->messages.end() && link.reading_bytes < kReadingBytesMax; ++next) {
    link.reading_next = next->sequence + 1;
    link.reading_bytes += next->bytes->size();
    const Entry entry{.kind = RelayArrivalKind::kStored,
                      .bytes = next->bytes,
                      .reading = link.reading,
                      .stream_sequence = next->sequence,
                      .stream_pending = stream->last - next->sequence,
                      .order = ++serial};
    from_server(link, {Path::Kind::kReading, 0}, draw_ns(faults.delay_ns_max),
                [this, id = link.id, entry] { arrive(id, entry); });
  }
}

void RelayNetwork::State::stop_reading(Link& link) {
  link.is_reading = false;
  link.reading_bytes = 0;
  ++link.reading;
}

void RelayNetwork::State::end_readings(const std::string& why) {
  for (const auto& [id, link] : links) {
    if (!link->is_reading) continue;
    link->is_reading = false;
    const Entry entry{.kind = RelayArrivalKind::kReadEnded,
                      .reading = link->reading,
                      .reason = why,
                      .order = ++serial};
    from_server(*link, {Path::Kind::kReading, 0}, 0, [this, to = id, entry] { arrive(to, entry); });
  }
  run_until(now_ns);
}

void RelayNetwork::State::lose(Link& link, const std::string& why) {
  if (!link.lost.ok()) return;
  std::uint64_t to_server = 0;
  for (const auto& [key, event] : events) to_server += event.link == link.id && event.to_server;
  std::uint64_t arriving = to_server == 0 ? 0 : random.below(to_server + 1);
  for (auto event = events.begin(); event != events.end();) {
    const bool stays = event->second.link != link.id || (event->second.to_server && arriving > 0);
    if (event->second.link == link.id && stays) --arriving;
    if (!stays) ++counts.cut;
    event = stays ? std::next(event) : events.erase(event);
  }
  link.lost = make_error(Errc::kPeerGone, why);
  link.update_event();
}

void RelayNetwork::State::lose_host(const std::string& host, const std::string& why) {
  for (const auto& [id, link] : links) {
    if (link->host == host) lose(*link, why);
  }
}

}  // namespace lapwing
