// For tests: random records from a space so small that they interact, and the comparison of a
// folded state with the model.
//
// Thread safety: one thread.
#pragma once

#include <cstring>
#include <string>

#include "lapwing/memory_state.h"
#include "snapshot/fold/order_fold.h"
#include "testing/order_model.h"

namespace lapwing {

// `draw(n)` is a number below n. All fields that the fold uses are random and may be invalid.
template <typename Draw>
dbn::MboMsg draw_record(Draw& draw) {
  static constexpr char kActions[] = "AAAAMMMCCCRTFN?";
  static constexpr char kSides[] = "AABBABN?";
  dbn::MboMsg msg{};
  msg.hd = {sizeof msg / dbn::kLengthUnit, dbn::RType::kMbo,
            static_cast<std::uint16_t>(1 + draw(2)), 1 + draw(2), 0};
  msg.action = static_cast<dbn::Action>(kActions[draw(sizeof kActions - 1)]);
  msg.side = static_cast<dbn::Side>(kSides[draw(sizeof kSides - 1)]);
  msg.order_id = draw(6);
  msg.price = draw(8) == 0 ? dbn::kUndefPrice : 100 + draw(3);
  msg.size = draw(5);
  if (draw(2) == 0) msg.flags |= dbn::kFlagLast;
  if (draw(3) == 0) msg.flags |= dbn::kFlagSnapshot;
  if (draw(16) == 0) msg.flags |= dbn::kFlagTop;
  if (draw(32) == 0) msg.flags |= dbn::kFlagMaybeBadBook;
  return msg;
}

// Compares the state with the model. Returns the first difference; empty if there is none.
class OrderModelCheck {
 public:
  static std::string compare(const OrderModel& model, MemoryState& state) {
    OrderModelCheck check(model, state);
    std::string wrong = check.loss();
    for (const auto& [id, book] : model.books()) {
      if (wrong.empty()) wrong = check.book(id.first, id.second, book);
    }
    if (wrong.empty() && state.size() != check.seen_) wrong = "an entry that the model has not";
    return wrong;
  }

 private:
  OrderModelCheck(const OrderModel& model, MemoryState& state) : model_(model), state_(state) {}

  bool load(const OrderKey& key, OrderEntry& entry) {
    const std::byte* found = state_.find(bytes_of(key));
    if (found == nullptr) return false;
    std::memcpy(&entry, found, sizeof entry);
    ++seen_;
    return true;
  }

  std::string loss() {
    OrderEntry entry;
    if (!load(loss_key(), entry)) return model_.lost() == 0 ? "" : "no entry of the loss";
    const bool is_right = entry.place == model_.lost_through() &&
                          entry.msg.order_id == model_.lost() && model_.lost() > 0;
    return is_right ? "" : "the loss is another";
  }

  std::string book(std::uint16_t publisher, std::uint32_t instrument,
                   const OrderModel::Book& expected) {
    OrderEntry entry;
    const std::string name = absl::StrCat("book ", instrument, " of ", publisher, ": ");
    if (!load(book_key(publisher, instrument), entry)) return name + "no entry";
    if (is_stale(entry, model_.lost_through()) != expected.is_stale()) return name + "staleness";
    if (entry.place != expected.place) return name + "place";
    if (((entry.msg.flags & dbn::kFlagLast) != 0) != expected.is_settled) return name + "LAST";
    if (((entry.msg.flags & dbn::kFlagTop) != 0) != expected.is_of_tops) return name + "TOP";
    if (entry.msg.size != expected.misfits) return name + "misfits";
    if (entry.msg.order_id != expected.last_misfit) return name + "last misfit";
    for (const auto& [id, resting] : expected.orders) {
      if (!rests(order_key(publisher, instrument, id), resting)) {
        return absl::StrCat(name, "order ", id);
      }
    }
    for (const auto& [side, resting] : expected.tops) {
      if (!rests(top_key(publisher, instrument, static_cast<dbn::Side>(side)), resting)) {
        return absl::StrCat(name, "top of ", std::string(1, side));
      }
    }
    return "";
  }

  bool rests(const OrderKey& key, const OrderModel::Resting& expected) {
    OrderEntry entry;
    return load(key, entry) && kind_of(entry) == key.kind &&
           static_cast<char>(entry.msg.side) == expected.side &&
           entry.msg.price == expected.price && entry.msg.size == expected.size &&
           entry.place == expected.place;
  }

  const OrderModel& model_;
  MemoryState& state_;
  std::uint64_t seen_ = 0;  // entries
};

}  // namespace lapwing
