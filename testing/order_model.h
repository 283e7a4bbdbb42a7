// For tests: a second implementation of the rules in docs/explanation/state.md, written for
// readability instead of speed. A book is an object with maps, and a loss is applied to each of
// them immediately. Shares no code with OrderFold.
//
// Thread safety: one thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lapwing/dbn.h"
#include "lapwing/sequence.h"

namespace lapwing {

class OrderModel {
 public:
  // Whether the resting orders match the venue's.
  enum class Trust {
    kGood,
    kRebuilding,     // inside a snapshot since its beginning
    kBad,            // since a loss
    kBadInSnapshot,  // since a loss, and inside a snapshot whose beginning may be lost
  };
  struct Resting {
    char side;
    std::int64_t price;
    std::uint32_t size;
    Sequence place;
  };
  struct Book {
    std::map<std::uint64_t, Resting> orders;
    std::map<char, Resting> tops;
    bool is_of_tops = false;
    Trust trust = Trust::kGood;
    bool has_lost = false;  // records were lost since its last record
    bool is_settled = false;
    Sequence place = 1;
    std::uint32_t misfits = 0;
    Sequence last_misfit = 0;

    bool is_stale() const { return has_lost || trust != Trust::kGood; }
  };

  void lose(Sequence first, Sequence last) {
    for (auto& [id, book] : books_) book.has_lost = true;
    lost_ += last - first + 1;
    lost_through_ = last;
  }

  void apply(Sequence sequence, const dbn::MboMsg& msg) {
    const auto [found, is_new] = books_.try_emplace({msg.hd.publisher_id, msg.hd.instrument_id});
    Book& book = found->second;
    if (is_new) book.has_lost = lost_ > 0;
    const bool is_cut = std::exchange(book.has_lost, false);
    if (is_cut) {
      book.trust = Trust::kBad;
      book.place = sequence;
    }
    follow_snapshot(sequence, msg, book, is_cut);
    if (has(msg, dbn::kFlagMaybeBadBook)) {
      const bool is_inside =
          book.trust == Trust::kRebuilding || book.trust == Trust::kBadInSnapshot;
      book.trust = is_inside ? Trust::kBadInSnapshot : Trust::kBad;
    }
    if (!change(sequence, msg, book) && !book.is_stale()) {
      ++book.misfits;
      book.last_misfit = sequence;
    }
    book.is_settled = has(msg, dbn::kFlagLast);
  }

  const std::map<std::pair<std::uint16_t, std::uint32_t>, Book>& books() const { return books_; }
  std::uint64_t lost() const { return lost_; }  // number of records
  Sequence lost_through() const { return lost_through_; }

 private:
  static bool has(const dbn::MboMsg& msg, std::uint8_t flag) { return (msg.flags & flag) != 0; }

  static void empty(Book& book) {
    book.orders.clear();
    book.tops.clear();
    book.is_of_tops = false;
  }

  static void follow_snapshot(Sequence sequence, const dbn::MboMsg& msg, Book& book, bool is_cut) {
    const bool is_of_snapshot = has(msg, dbn::kFlagSnapshot);
    const bool is_over = !is_of_snapshot || has(msg, dbn::kFlagLast);
    const bool is_add = msg.action == dbn::Action::kAdd;
    if (msg.action == dbn::Action::kClear) {
      empty(book);
      book.place = sequence;
      book.trust = Trust::kRebuilding;
    } else if (is_of_snapshot && is_add && book.trust == Trust::kBad && is_cut) {
      book.trust = Trust::kBadInSnapshot;
    } else if (is_of_snapshot && is_add && book.trust == Trust::kBad) {
      empty(book);
      book.place = sequence;
      book.trust = Trust::kRebuilding;
    }
    if (is_over && book.trust == Trust::kRebuilding) book.trust = Trust::kGood;
    if (is_over && book.trust == Trust::kBadInSnapshot) book.trust = Trust::kBad;
  }

  // Returns false if the record contradicts the resting orders.
  static bool change(Sequence sequence, const dbn::MboMsg& msg, Book& book) {
    const bool is_add = msg.action == dbn::Action::kAdd;
    const bool is_modify = msg.action == dbn::Action::kModify;
    const bool is_cancel = msg.action == dbn::Action::kCancel;
    if (!is_add && !is_modify && !is_cancel) return true;
    const bool has_side = msg.side == dbn::Side::kAsk || msg.side == dbn::Side::kBid;
    const bool is_top = has(msg, dbn::kFlagTop);
    if (!has_side && (is_top || !is_cancel)) return false;
    if (is_top != book.is_of_tops && (is_top || !is_cancel)) {
      empty(book);
      book.is_of_tops = is_top;
    }
    const Resting resting{static_cast<char>(msg.side), msg.price, msg.size, sequence};
    if (is_top) {
      book.tops.erase(resting.side);
      const bool is_there = !is_cancel && msg.price != dbn::kUndefPrice && msg.size > 0;
      if (is_there) book.tops.emplace(resting.side, resting);
      return true;
    }
    const auto old = book.orders.find(msg.order_id);
    const bool rests = old != book.orders.end();
    if (is_cancel) return rests && cancel(msg, book, old->second);
    const bool is_known_by_right = is_modify ? rests : !rests || has(msg, dbn::kFlagSnapshot);
    Resting made = resting;
    if (is_modify && rests && old->second.side == made.side && old->second.price == made.price &&
        old->second.size >= made.size) {
      made.place = old->second.place;
    }
    book.orders.erase(msg.order_id);
    if (made.size > 0) book.orders.emplace(msg.order_id, made);
    return is_known_by_right && made.size > 0;
  }

  static bool cancel(const dbn::MboMsg& msg, Book& book, Resting& order) {
    const bool is_sound = msg.size > 0 && msg.size <= order.size;
    if (msg.size >= order.size) {
      book.orders.erase(msg.order_id);
    } else {
      order.size -= msg.size;
    }
    return is_sound;
  }

  std::map<std::pair<std::uint16_t, std::uint32_t>, Book> books_;
  std::uint64_t lost_ = 0;
  Sequence lost_through_ = kNoSequence;
};

}  // namespace lapwing
