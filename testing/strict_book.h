// A book per instrument that assumes nothing. Pass it the records of an order flow one by one. It
// returns the error of the first record that no venue could have sent.
//
// Deliberately a different implementation from FlowBook: maps and lists, without shared code.
//
// Thread safety: one thread.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <regex>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "lapwing/dbn.h"

namespace lapwing {

class StrictBook {
 public:
  // Returns an empty string if the record is valid.
  std::string apply(const dbn::MboMsg& record) {
    std::string wrong = check_event(record);
    if (wrong.empty()) wrong = apply_action(record);
    event_ += static_cast<char>(record.action);
    last_ = record;
    if (wrong.empty() && (record.flags & dbn::kFlagLast) != 0) wrong = end_event();
    return wrong;
  }

  bool in_event() const { return !event_.empty(); }
  std::size_t live() const { return orders_.size(); }
  const std::map<char, std::uint64_t>& actions() const { return actions_; }
  std::uint64_t lost_priority() const { return lost_priority_; }
  std::uint64_t rested() const { return rested_; }  // remainders of aggressors that rest

 private:
  struct Order {
    dbn::Side side;
    std::int64_t price;
    std::uint32_t size;
    std::uint32_t filled = 0;  // by F, not yet settled by C or M
  };
  using Queue = std::list<std::uint64_t>;  // order ids, oldest first

  std::string check_event(const dbn::MboMsg& r) {
    ++actions_[static_cast<char>(r.action)];
    if (r.hd.length * dbn::kLengthUnit != sizeof r || r.hd.rtype != dbn::RType::kMbo) {
      return "not an MBO record";
    }
    if (r.hd.ts_event >= r.ts_recv) return "received before it happened";
    if (event_.empty()) {
      if (r.hd.ts_event <= last_.hd.ts_event) return "ts_event does not rise";
      if (r.ts_recv < last_.ts_recv) return "ts_recv falls";
      if (r.sequence < last_.sequence) return "the venue's sequence falls";
      if ((r.ts_recv == last_.ts_recv) != (r.sequence == last_.sequence)) {
        return "packet and arrival disagree";
      }
      return "";
    }
    const bool same = r.hd.ts_event == last_.hd.ts_event && r.ts_recv == last_.ts_recv &&
                      r.sequence == last_.sequence && r.hd.instrument_id == last_.hd.instrument_id;
    return same ? "" : "an event changes its time, packet or instrument";
  }

  std::string apply_action(const dbn::MboMsg& r) {
    if (r.action != dbn::Action::kFill && unmatched_ != 0)
      return "fills do not add up to their trade";
    switch (r.action) {
      case dbn::Action::kClear:
        return clear(r);
      case dbn::Action::kAdd:
        return add(r);
      case dbn::Action::kModify:
        return modify(r);
      case dbn::Action::kCancel:
        return cancel(r);
      case dbn::Action::kTrade:
        return trade(r);
      case dbn::Action::kFill:
        return fill(r);
      case dbn::Action::kNone:
        break;
    }
    return "an unknown action";
  }

  std::string clear(const dbn::MboMsg& r) {
    if (r.side != dbn::Side::kNone || r.price != dbn::kUndefPrice || r.size != 0) {
      return "a clear that says more than that";
    }
    orders_.clear();
    bids_.clear();
    asks_.clear();
    cleared_ = true;
    return "";
  }

  std::string add(const dbn::MboMsg& r) {
    if (!cleared_) return "an addition before the clear";
    if (r.side == dbn::Side::kNone || r.size == 0) return "an order without side or size";
    if (r.price <= 0 || r.price % kTick != 0) return "a price off the grid";
    const bool rest = !event_.empty() && r.order_id == aggressor_id_;
    if (!rest && !ids_.insert(r.order_id).second) return "an order id is used twice";
    if (rest) ++rested_;
    orders_[r.order_id] = {r.side, r.price, r.size};
    half(r.side)[r.price].push_back(r.order_id);
    return "";
  }

  std::string modify(const dbn::MboMsg& r) {
    const auto found = orders_.find(r.order_id);
    if (found == orders_.end()) return "a modification of an order that is not live";
    Order& order = found->second;
    if (r.side != order.side || r.size == 0) return "a modification to another side or to nothing";
    if (r.price % kTick != 0) return "a price off the grid";
    if (order.filled != 0) {
      if (r.price != order.price || r.size != order.size - order.filled) {
        return "a fill is not settled with what is left";
      }
      order.filled = 0;
      order.size = r.size;
      --unsettled_;
      return "";
    }
    if (!event_.empty()) return "a modification within another event";
    if (r.price == order.price && r.size == order.size) return "a modification of nothing";
    if (r.price != order.price || r.size > order.size) {
      remove_from_queue(r.order_id, order);
      half(r.side)[r.price].push_back(r.order_id);
      ++lost_priority_;
    }
    order.price = r.price;
    order.size = r.size;
    return "";
  }

  std::string cancel(const dbn::MboMsg& r) {
    const auto found = orders_.find(r.order_id);
    if (found == orders_.end()) return "a cancel of an order that is not live";
    Order& order = found->second;
    if (r.side != order.side || r.price != order.price) return "a cancel at another price or side";
    if (r.size == 0 || r.size > order.size) return "a cancel of more than there is, or of nothing";
    if (order.filled != 0 && (r.size != order.size || order.filled != order.size)) {
      return "an order that is not wholly filled is settled as if it were";
    }
    if (order.filled == 0 && !event_.empty()) return "a cancel within another event";
    if (order.filled != 0) --unsettled_;
    order.filled = 0;
    order.size -= r.size;
    if (order.size > 0) return "";
    remove_from_queue(r.order_id, order);
    orders_.erase(found);
    return "";
  }

  std::string trade(const dbn::MboMsg& r) {
    if (r.size == 0 || r.side == dbn::Side::kNone) return "a trade of nothing or by nobody";
    if (event_.empty() ? !ids_.insert(r.order_id).second : r.order_id != aggressor_id_) {
      return "an aggressor whose id is not its own";
    }
    aggressor_id_ = r.order_id;
    aggressor_ = r.side;
    const std::uint64_t best = front(opposite(r.side));
    if (best == 0 || orders_[best].price != r.price) return "a trade away from the best price";
    unmatched_ = r.size;
    return "";
  }

  std::string fill(const dbn::MboMsg& r) {
    const std::uint64_t best = front(opposite(aggressor_));
    if (best == 0 || r.order_id != best)
      return "a fill of another than the oldest at the best price";
    Order& order = orders_[best];
    if (r.side != order.side || r.price != order.price) return "a fill at another price or side";
    if (r.size == 0 || r.size > order.size - order.filled || r.size > unmatched_) {
      return "a fill of more than there is";
    }
    if (order.filled == 0) ++unsettled_;
    order.filled += r.size;
    unmatched_ -= r.size;
    return "";
  }

  std::string end_event() {
    static const std::regex kGrammar("R|A|M|C|(TF+)+[CM]+A?");
    const bool well_formed = std::regex_match(event_, kGrammar);
    event_.clear();
    if (!well_formed) return "no event has these records, or LAST is in the wrong place";
    if (unmatched_ != 0) return "fills do not add up to their trade";
    if (unsettled_ != 0) return "a fill that is never settled";
    const std::uint64_t bid = front(dbn::Side::kBid);
    const std::uint64_t ask = front(dbn::Side::kAsk);
    const bool crossed = bid != 0 && ask != 0 && orders_[bid].price >= orders_[ask].price;
    return crossed ? "a crossed book" : "";
  }

  std::map<std::int64_t, Queue>& half(dbn::Side side) {
    return side == dbn::Side::kBid ? bids_ : asks_;
  }
  static dbn::Side opposite(dbn::Side side) {
    return side == dbn::Side::kBid ? dbn::Side::kAsk : dbn::Side::kBid;
  }

  void remove_from_queue(std::uint64_t id, const Order& order) {
    auto& levels = half(order.side);
    const auto level = levels.find(order.price);
    level->second.remove(id);
    if (level->second.empty()) levels.erase(level);
  }

  // The oldest order at the best price with an unfilled part; 0 if there is none.
  std::uint64_t front(dbn::Side side) {
    auto& levels = half(side);
    const auto search = [&](auto first, auto last) -> std::uint64_t {
      for (auto level = first; level != last; ++level) {
        for (const std::uint64_t id : level->second) {
          if (orders_[id].filled < orders_[id].size) return id;
        }
      }
      return 0;
    };
    return side == dbn::Side::kBid ? search(levels.rbegin(), levels.rend())
                                   : search(levels.begin(), levels.end());
  }

  static constexpr std::int64_t kTick = 250'000'000;

  std::unordered_map<std::uint64_t, Order> orders_;
  std::map<std::int64_t, Queue> bids_;
  std::map<std::int64_t, Queue> asks_;
  std::unordered_set<std::uint64_t> ids_;
  std::uint64_t aggressor_id_ = 0;  // of the last trade
  dbn::Side aggressor_ = dbn::Side::kNone;
  std::uint32_t unsettled_ = 0;  // orders with fills that no C or M has settled
  std::uint32_t unmatched_ = 0;  // of the trade, after the fills so far
  std::string event_;            // actions so far
  dbn::MboMsg last_{};
  bool cleared_ = false;
  std::map<char, std::uint64_t> actions_;
  std::uint64_t lost_priority_ = 0;
  std::uint64_t rested_ = 0;
};

}  // namespace lapwing
