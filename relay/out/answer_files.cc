// Answers about files and durability.
#include <algorithm>
#include <span>

#include "absl/strings/str_cat.h"
#include "bus/control/socket.h"
#include "lapwing/error.h"
#include "os/kernel.h"
#include "proto/checkpoint_format.h"
#include "relay/out/answers.h"
#include "snapshot/checkpoint/checkpoint_directory.h"
#include "snapshot/dbn/kept_metadata.h"
#include "snapshot/schema/kept_schemas.h"

namespace lapwing {
namespace {

constexpr std::size_t kPartBytes = kRelayBodyBytesMax - sizeof(RelayAnswer);

}  // namespace

// Empty: there is no such file.
std::string Answers::path_of(const RelayAsk& ask) {
  const std::string& root = messages_->bus().journal_root;
  switch (ask.file) {
    case RelayFile::kDescription:
      return kKeptSchemas.path(root, ask.hash);
    case RelayFile::kMetadata:
      return kKeptMetadata.path(root, ask.hash);
    case RelayFile::kCheckpoint:
      return checkpoint_of(ask.hash);
  }
  return "";
}

std::string Answers::checkpoint_of(std::uint64_t checksum) {
  const std::string all = absl::StrCat(directory_, "/", kCheckpointDirectoryName);
  const absl::StatusOr<std::vector<std::string>> folds = disk_.list(all);
  if (!folds.ok()) return "";
  for (const std::string& fold : *folds) {
    const auto files = list_checkpoints(disk_, absl::StrCat(all, "/", fold));
    if (!files.ok()) continue;
    for (const CheckpointFile& file : *files) {
      const auto opened = open_file(disk_, file.path, {OpenMode::kRead});
      CheckpointHeader header{};
      if (!opened.ok()) continue;
      const auto read =
          disk_.read_at(opened->get(), 0, std::as_writable_bytes(std::span(&header, 1)));
      if (read.ok() && *read == sizeof header && header.checksum == checksum) return file.path;
    }
  }
  return "";
}

Answers::Replied Answers::file(const RelayAsk& ask, const Send& send) {
  const std::string path = path_of(ask);
  const auto opened = path.empty() ? make_error(Errc::kNotFound, "no such file")
                                   : open_file(disk_, path, {OpenMode::kRead});
  if (!opened.ok()) return Reply{RelayOutcome::kNotHere, 0};
  const absl::StatusOr<std::uint64_t> size = disk_.size(opened->get());
  if (!size.ok() || ask.offset > *size) return Reply{RelayOutcome::kNotHere, 0};
  const std::uint64_t wanted = ask.bytes_max == 0 ? *size : ask.bytes_max;
  const std::uint64_t end = ask.offset + std::min(wanted, *size - ask.offset);
  std::vector<std::byte> part(kPartBytes);
  std::uint64_t offset = ask.offset;
  do {
    const std::size_t bytes = std::min<std::uint64_t>(kPartBytes, end - offset);
    const auto read = disk_.read_at(opened->get(), offset, std::span(part).first(bytes));
    if (!read.ok() || *read != bytes) return Reply{RelayOutcome::kBusy, 0};
    RelayAnswer answer{};
    answer.request = ask.request;
    answer.token = ask.token;
    answer.total = *size;
    answer.offset = offset;
    offset += bytes;
    answer.outcome = offset < *size ? RelayOutcome::kPartly : RelayOutcome::kOk;
    const MadeMessage message = make_answer_message(messages_->origin(clock_.wall_ns), answer,
                                                    std::span(part).first(bytes), buffer_);
    if (!message.ok()) return message.status();
    if (absl::Status sent = send(*message); !sent.ok()) return sent;
  } while (offset < end);
  return Reply{RelayOutcome::kOk, 0};
}

Answers::Replied Answers::flush(const Id128& journal_id, const RelayAsk& ask) {
  const OriginReading& state = messages_->update();
  // An older journal has ended: what it has is durable.
  if (journal_id != state.journal_id) {
    const std::span<const SessionRecord> sessions = messages_->rows().log().sessions_of(journal_id);
    if (sessions.empty() || !sessions.back().end) return Reply{RelayOutcome::kNotHere, 0};
    return Reply{ask.last <= sessions.back().end->last ? RelayOutcome::kOk : RelayOutcome::kRefused,
                 0};
  }
  if (state.durable >= ask.last) return Reply{};
  if (state.journal.state != JournalState::kGood || state.head < ask.last) {
    return Reply{RelayOutcome::kRefused, 0};
  }
  if (state.publisher != RelayPublisherState::kAlive) return Reply{RelayOutcome::kNotHere, 0};
  if (!flush_origin(ask.last)) return Reply{RelayOutcome::kBusy, 0};
  return Reply{messages_->update().durable >= ask.last ? RelayOutcome::kOk : RelayOutcome::kRefused,
               0};
}

// False: the publisher did not answer in time.
bool Answers::flush_origin(Sequence through) {
  const std::uint64_t until_ns = monotonic_ns() + kFlushNsMax;
  if (!control_ || control_->publisher_gone()) {
    control_.reset();
    ClientOptions options;
    options.path = absl::StrCat(directory_, "/", kControlSocketName);
    options.role = ClientRole::kTool;
    options.name = "relay";
    absl::StatusOr<ControlClient> connected = ControlClient::connect(options, until_ns);
    if (!connected.ok()) return false;
    control_.emplace(*std::move(connected));
  }
  const bool is_answered = control_->flush(through, until_ns).ok();
  if (!is_answered) control_.reset();
  return is_answered;
}

}  // namespace lapwing
