// The two threads of a session and their callbacks. The service thread calls ControlledPublisher,
// and the file thread calls its hooks.
//
// Invariants
//  1. The service thread never waits for a file. The file thread watches the lock files and writes
//     roster.json. Without a journal, there is no file thread, and the service thread does both.
//  2. The file thread is destroyed before the queue and `sessions`, because it writes to both.
//
// Thread safety: the owner, one thread at a time; log() by any thread; the functions of
// ControlledPublisher by the service thread.
#pragma once

#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "bus/control/controlled_publisher.h"
#include "publisher/file_thread.h"
#include "publisher/lock_watch.h"
#include "publisher/roster_keeper.h"
#include "publisher/service_thread.h"
#include "publisher/session_start.h"

namespace lapwing {

class PublisherControl final : public ControlledPublisher {
 public:
  // Borrows all arguments, and takes over the session's archiver.
  PublisherControl(StartedSession& session, JournalGate& gate, detail::AttentionWord& attention);

  absl::Status start();
  FileThread* file_thread() const { return file_thread_.get(); }  // null without a journal
  const ServiceThread& service_thread() const { return service_thread_; }

  // The steps of a close, to be called in this order (session_closer.h).
  absl::Status close_journal() { return file_thread_ ? file_thread_->close() : absl::OkStatus(); }
  void close_socket();
  bool end_recorded() const { return !file_thread_ || file_thread_->end_recorded(); }
  void release_journal() { file_thread_.reset(); }

  WelcomeFrame welcome() override;
  void flush_wanted(Sequence through) override {
    if (file_thread_) file_thread_->request_flush(FileThread::Asker::kServiceThread, through);
    session_.options->on_flush_wanted(through);
  }
  void prune_wanted(Sequence below) override {
    if (file_thread_) file_thread_->request_prune(below);
  }
  std::optional<Errc> prune_result() override {
    return file_thread_ ? file_thread_->prune_result() : Errc::kNoJournal;
  }
  void on_heartbeat(std::uint64_t now_ns) override {
    if (!file_thread_) watch_files(now_ns);
  }
  void log(const LogEntry& entry) const override { session_.options->log(entry); }

 private:
  bool fill_ring();
  void watch_files(std::uint64_t now_ns);

  StartedSession& session_;
  const ProcessNamespaces namespaces_ = own_namespaces();
  LockWatch lock_watch_;
  RosterKeeper roster_;
  ServiceThread service_thread_;
  std::unique_ptr<FileThread> file_thread_;  // destroyed first: it signals the service thread
};

}  // namespace lapwing
