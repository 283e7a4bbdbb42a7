#include "absl/strings/str_cat.h"
#include "lapwing/dbn.h"
#include "lapwing/error.h"
#include "lapwing/fold.h"
#include "snapshot/fold/latest_fold.h"
#include "snapshot/fold/order_fold.h"

namespace lapwing {

absl::StatusOr<std::unique_ptr<Fold>> make_fold(const std::string& name,
                                                const std::string& schema) {
  std::unique_ptr<Fold> latest = make_latest_fold(schema);
  if (latest == nullptr) {
    return make_error(Errc::kInvalidArgument,
                      absl::StrCat("no fold `", name, "` for a bus of schema `", schema,
                                   "`: Lapwing has folds for dbn.mbo, dbn.trades, dbn.mbp-1 and "
                                   "kv16; a program can bring its own (docs/state.md)"));
  }
  if (name == kFoldLatest) return latest;
  const bool has_orders = schema == dbn::kSchemaMbo;
  if (has_orders && name == kFoldOrders) return std::make_unique<OrderFold>();
  return make_error(
      Errc::kInvalidArgument,
      absl::StrCat("no fold `", name, "` for a bus of schema `", schema, "`: it has ", kFoldLatest,
                   has_orders ? absl::StrCat(" and ", kFoldOrders) : ""));
}

std::string default_fold(const std::string& schema) {
  return schema == dbn::kSchemaMbo ? kFoldOrders : kFoldLatest;
}

}  // namespace lapwing
