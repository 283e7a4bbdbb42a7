// lapwing state: shows the contents of a checkpoint.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <iostream>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "cli/bus_records.h"
#include "cli/command_help.h"
#include "cli/commands.h"
#include "cli/common_options.h"
#include "cli/exit_codes.h"
#include "cli/option_checks.h"
#include "cli/standard_streams.h"
#include "lapwing/checkpoints.h"
#include "lapwing/kv16.h"
#include "monitor/json_text.h"
#include "monitor/time_text.h"
#include "monitor/view/record_format.h"
#include "os/kernel.h"
#include "snapshot/bus_directory.h"
#include "snapshot/dbn/instrument_name.h"
#include "snapshot/fold/order_fold.h"
#include "snapshot/schema/field_reader.h"
#include "snapshot/schema/key_fields.h"
#include "subscribers/instrument_filter.h"

namespace lapwing::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kStateAbout[] =
    "Show the newest good checkpoint of a bus.\n\n"
    "  lapwing state --bus ./es                             which it is, and how old\n"
    "  lapwing state --bus ./es --fold latest --key ESH4    an instrument's last records\n"
    "  lapwing state --bus ./es --fold orders --key ESH4    the resting orders of its book\n"
    "  lapwing state --bus ./es --key id:17077/6411802      one order of an instrument\n"
    "  lapwing state --bus ./kv --key 42                    the pair of a kv16 bus\n"
    "  lapwing state --bus ./es --entries --limit 10 --json\n"
    "  lapwing state --bus ./es --at 1200000                the checkpoint as of that record\n\n"
    "Needs no publisher and changes nothing. Unusable checkpoints are listed with the reason.\n"
    "The exit code is 1 if there is no checkpoint or no such entry, and 4 if all checkpoints\n"
    "are damaged. JSON is one object a line. An order is shown with its remaining size, after\n"
    "the number of the record that determines its rank in the queue.";

struct StateOptions {
  std::string bus;
  std::string fold;           // empty: the schema's default
  Sequence at = kNoSequence;  // kNoSequence: the newest
  std::string key;
  bool entries = false;
  std::uint64_t limit = std::numeric_limits<std::uint64_t>::max();
  bool json = false;
};

// The entries in [begin, end) for which `matches` returns true.
struct Selection {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::function<bool(std::span<const std::byte> entry)> matches;
};

class StateCommand {
 public:
  explicit StateCommand(const StateOptions& options) : options_(options) {}
  int run();

 private:
  absl::Status open();
  absl::StatusOr<Selection> select() const;
  const Field* number_key() const;
  absl::StatusOr<Selection> select_number(const Field& field, absl::string_view digits) const;
  absl::StatusOr<Selection> select_instrument() const;
  absl::Status print_entries(const Selection& selection) const;
  std::string entry_text(std::span<const std::byte> entry) const;
  std::string entry_json(std::span<const std::byte> entry) const;
  Json describe() const;
  void print_text() const;
  Sequence as_of() const { return checkpoint_->info().as_of; }
  const FoldShape& shape() const { return checkpoint_->fold().shape(); }
  bool shows_records() const { return shape().entry_record_bytes == shape().record_bytes; }
  std::span<const std::byte> shown(std::span<const std::byte> entry) const {
    return shows_records() ? entry.first(shape().record_bytes) : entry;
  }

  const StateOptions& options_;
  RecordFormat format_;
  std::shared_ptr<const Schema> description_;
  std::optional<Checkpoint> checkpoint_;
};

absl::Status StateCommand::open() {
  const absl::StatusOr<BusDescription> bus = read_bus_description(options_.bus);
  if (!bus.ok()) return bus.status();
  const absl::StatusOr<RecordIdentity> records = checked_records(*bus);
  if (!records.ok()) return records.status();
  absl::StatusOr<Checkpoint> opened =
      Checkpoint::open({.directory = options_.bus, .fold = options_.fold, .as_of = options_.at});
  if (!opened.ok()) return opened.status();
  checkpoint_.emplace(*std::move(opened));
  description_ = records->description;
  if (shows_records()) format_ = RecordFormat(description_);
  return absl::OkStatus();
}

// The key's field if it is a single unsigned number, otherwise null.
const Field* StateCommand::number_key() const {
  if (description_ == nullptr || shape().name != kFoldLatest) return nullptr;
  const Field* const key = description_->find(FieldRole::kKey);
  const bool is_number = key != nullptr && is_unsigned(key->type);
  return is_number && key->bytes == shape().key_bytes ? key : nullptr;
}

absl::StatusOr<Selection> StateCommand::select_number(const Field& field,
                                                      absl::string_view digits) const {
  std::uint64_t number = 0;
  const bool fits = absl::SimpleAtoi(digits, &number) &&
                    (field.bytes == sizeof number || number >> (8 * field.bytes) == 0);
  if (!fits) {
    return make_error(
        Errc::kInvalidArgument,
        absl::StrCat("--key ", options_.key, ": the key of these records, ", field.name,
                     ", is a number of ", field.bytes, " bytes; give one"));
  }
  std::vector<std::byte> record(description_->record_bytes);
  std::memcpy(record.data() + field.offset, &number, field.bytes);
  std::vector<std::byte> key(field.bytes);
  KeyFields(*description_).write(record, key.data());
  const std::uint64_t begin = checkpoint_->lower_bound(key);
  const bool is_there = !checkpoint_->find(key).empty();
  return Selection{begin, begin + is_there, [](std::span<const std::byte>) { return true; }};
}

// Parses INSTRUMENT or, for orders, INSTRUMENT/ORDER.
absl::StatusOr<Selection> StateCommand::select_instrument() const {
  const std::size_t slash = options_.key.find('/');
  std::optional<std::uint64_t> order_id;
  if (slash != std::string::npos) {
    std::uint64_t number = 0;
    if (shape().name != kFoldOrders || !absl::SimpleAtoi(options_.key.substr(slash + 1), &number)) {
      return make_error(Errc::kInvalidArgument,
                        absl::StrCat("--key ", options_.key,
                                     " is not valid; give an instrument, or for the fold orders "
                                     "INSTRUMENT/ORDER with the order's number"));
    }
    order_id = number;
  }
  const std::vector<std::string> instrument = {options_.key.substr(0, slash)};
  if (const auto name = parse_instrument(instrument.front()); !name.ok()) {
    return make_error(Errc::kInvalidArgument, absl::StrCat("--key: ", name.status().message()));
  }
  auto filter = std::make_shared<InstrumentFilter>(instrument, "--key");
  if (absl::Status chosen =
          filter->begin(options_.bus, description_.get(), checkpoint_->info().session_id);
      !chosen.ok()) {
    return chosen;
  }
  return Selection{
      0, checkpoint_->size(), [this, filter, order_id](std::span<const std::byte> entry) {
        if (!filter->matches(shown(entry))) return false;
        if (!order_id) return true;
        OrderEntry order;
        std::memcpy(&order, entry.data(), sizeof order);
        return kind_of(order) == OrderEntryKind::kOrder && order.msg.order_id == *order_id;
      }};
}

absl::StatusOr<Selection> StateCommand::select() const {
  if (options_.key.empty()) {
    return Selection{0, options_.entries ? checkpoint_->size() : 0,
                     [](std::span<const std::byte>) { return true; }};
  }
  const Field* const number = number_key();
  if (number == nullptr) return select_instrument();
  absl::string_view key = options_.key;
  const bool is_number = absl::ConsumePrefix(&key, kInstrumentNumberPrefix);
  // A kv16 key is always a number and never an instrument, so it needs no prefix.
  const bool is_kv16 = description_->name == kv16::kSchema;
  return is_number || is_kv16 ? select_number(*number, key) : select_instrument();
}

// Prints one line per entry. Error: kNotFound if --key matches none.
absl::Status StateCommand::print_entries(const Selection& selection) const {
  std::uint64_t count = 0;
  for (std::uint64_t i = selection.begin; i < selection.end && count < options_.limit; ++i) {
    const std::span<const std::byte> entry = checkpoint_->entry(i);
    if (!selection.matches(entry)) continue;
    ++count;
    std::cout << (options_.json ? entry_json(entry) : entry_text(entry)) << '\n';
  }
  if (count > 0 || options_.key.empty()) return absl::OkStatus();
  return make_error(Errc::kNotFound,
                    absl::StrCat("the state as of ", as_of(), " has no entry ", options_.key));
}

// If the fold does not keep the records' sequences, the line contains no number.
std::string StateCommand::entry_text(std::span<const std::byte> entry) const {
  const Sequence place = checkpoint_->fold().place_of(entry);
  return place == kNoSequence ? format_.text(shown(entry)) : format_.text(place, shown(entry));
}

std::string StateCommand::entry_json(std::span<const std::byte> entry) const {
  const Sequence place = checkpoint_->fold().place_of(entry);
  Json line = {{"as_of", as_of()}};
  line.update(format_.json(place, shown(entry)));
  if (place == kNoSequence) line.erase("seq");
  return json_text(line);
}

Json StateCommand::describe() const {
  const CheckpointInfo& info = checkpoint_->info();
  return {{"checkpoint", info.path},
          {"fold", info.fold},
          {"fold_version", info.fold_version},
          {"schema", info.schema_name},
          {"journal", info.journal_id.hex()},
          {"session", info.session_id.hex()},
          {"as_of", info.as_of},
          {"written", time_text(info.written_wall_ns)},
          {"age_ns", static_cast<std::int64_t>(wall_ns() - info.written_wall_ns)},
          {"entries", info.entries},
          {"entry_bytes", info.entry_bytes},
          {"digest", absl::StrFormat("%016x", checkpoint_->digest())},
          {"skipped", checkpoint_->passed_over()}};
}

void StateCommand::print_text() const {
  const Json about = describe();
  const absl::Duration age = absl::Nanoseconds(about["age_ns"].get<std::int64_t>());
  std::cout << "checkpoint  " << printable(checkpoint_->info().path) << "\nfold        "
            << printable(about["fold"].get<std::string>()) << ", version " << about["fold_version"]
            << ", of " << printable(about["schema"].get<std::string>()) << "\nas of       record "
            << about["as_of"] << " of journal " << about["journal"].get<std::string>()
            << "\nwritten     " << about["written"].get<std::string>() << ", "
            << absl::FormatDuration(absl::Trunc(age, absl::Milliseconds(1))) << " ago\nentries     "
            << about["entries"] << " of " << about["entry_bytes"] << " bytes\ndigest      "
            << about["digest"].get<std::string>() << '\n';
  for (const std::string& line : checkpoint_->passed_over()) {
    std::cout << "skipped     " << printable(line) << '\n';
  }
}

int StateCommand::run() {
  const absl::Status opened = open();
  if (!opened.ok()) return fail(opened);
  const absl::StatusOr<Selection> selection = select();
  if (!selection.ok()) return fail(selection.status());
  if (options_.key.empty()) {
    if (options_.json) {
      std::cout << json_text(describe()) << '\n';
    } else {
      print_text();
    }
  }
  absl::Status status = print_entries(*selection);
  if (absl::Status shown = flush_output(); !shown.ok()) status = shown;
  return status.ok() ? static_cast<int>(kExitDone) : fail(status);
}

}  // namespace

void add_state(CLI::App& app, Run& run) {
  const auto [command, options] = add_command<StateOptions>(
      app, run, "state", kStateAbout,
      [](const StateOptions& given) { return StateCommand(given).run(); });
  add_bus_option(command, options.bus);
  command
      .add_option("--fold", options.fold, "orders or latest (default: orders if the bus has them)")
      ->type_name("FOLD");
  command
      .add_option("--at", options.at,
                  "the checkpoint as of this record instead of the newest good one")
      ->check(whole_number(1))
      ->type_name("SEQUENCE");
  CLI::Option* const key = command.add_option("--key", options.key,
                                              "show the entries of a key: an instrument (a symbol, "
                                              "or a number as id:N), INSTRUMENT/ORDER, or the "
                                              "number of a kv16 key");
  key->type_name("KEY");
  CLI::Option* const entries = command.add_flag("--entries", options.entries, "show all entries");
  entries->excludes(key);
  command.add_option("--limit", options.limit, "show at most this many entries")
      ->check(whole_number(1))
      ->type_name("N");
  command.add_flag("--json", options.json, "print JSON");
}

}  // namespace lapwing::cli
