// Connections that have not sent the token, oldest first. If the server is full, the oldest of them
// is closed, so idle connections cannot lock out clients that have the token.
//
// Thread safety: the server's I/O thread.
#pragma once

#include <list>

namespace lapwing {

class UnprovenConnection;

class UnprovenConnections {
 public:
  // Closes the oldest connection. Returns false if the list is empty.
  bool close_oldest();

 private:
  friend class UnprovenConnection;
  std::list<UnprovenConnection*> connections_;
};

class UnprovenConnection {
 public:
  // Borrows the list.
  explicit UnprovenConnection(UnprovenConnections& list) : list_(&list) {
    place_ = list.connections_.insert(list.connections_.end(), this);
  }
  UnprovenConnection(const UnprovenConnection&) = delete;
  UnprovenConnection& operator=(const UnprovenConnection&) = delete;

  // Call it when the connection has sent the token, or ends.
  void leave() {
    if (list_ == nullptr) return;
    list_->connections_.erase(place_);
    list_ = nullptr;
  }

 protected:
  virtual ~UnprovenConnection() { leave(); }
  // Ends the operations in progress.
  virtual void close_now() = 0;

 private:
  friend class UnprovenConnections;
  UnprovenConnections* list_;
  std::list<UnprovenConnection*>::iterator place_;
};

inline bool UnprovenConnections::close_oldest() {
  if (connections_.empty()) return false;
  UnprovenConnection* const oldest = connections_.front();
  oldest->leave();
  oldest->close_now();
  return true;
}

}  // namespace lapwing
