#include <nanobind/stl/string.h>
#include <native/call.h>
#include <native/values.h>

#include <cstring>
#include <span>
#include <string>
#include <string_view>

namespace lapwing_python {

nb::str text_of(const char* text) {
  PyObject* const decoded =
      PyUnicode_DecodeUTF8(text, static_cast<Py_ssize_t>(std::strlen(text)), "replace");
  if (decoded == nullptr) raise_python();
  return nb::steal<nb::str>(decoded);
}

namespace {

// The names used in docs/reference/events.md and by the tools, indexed by number.
constexpr const char* kEventKinds[] = {nullptr,       "gap",
                                       "lost",        "session",
                                       "reset",       "caught-up",
                                       "stale",       "publisher-gone",
                                       "closed",      "snapshot-complete",
                                       "no-snapshot", "behind",
                                       "live"};
constexpr const char* kCauses[] = {nullptr,  "lapped",  "session",     "void",
                                   "pruned", "damaged", "not-relayed", "upstream"};
constexpr const char* kSettled[] = {nullptr, "fresh", "continued", "recovered", "cut", "reset"};
constexpr const char* kJournalStates[] = {"none", "good", "failed", "shed"};
constexpr const char* kRoles[] = {nullptr, "producer", "consumer", "duplex"};

// Finds the members of an enum of lapwing.words by number.
class Enum {
 public:
  Enum(const char* name, std::span<const char* const> words) : name_(name), words_(words) {}

  // Returns None if no member has this number.
  nb::object of(std::uint32_t number) {
    if (number >= words_.size() || words_[number] == nullptr) return nb::none();
    PyObject*& member = members_[number];
    if (member == nullptr) {
      member = nb::module_::import_("lapwing.words").attr(name_)(words_[number]).release().ptr();
    }
    return nb::borrow(member);
  }

 private:
  const char* name_;
  std::span<const char* const> words_;
  PyObject* members_[16] = {};
};

Enum event_kinds("EventKind", kEventKinds);
Enum causes("Cause", kCauses);
Enum settled("Settled", kSettled);
Enum journal_states("JournalState", kJournalStates);
Enum roles("ChannelRole", kRoles);

nb::bytes id_of(const lapwing_id& id) {
  return nb::bytes(reinterpret_cast<const char*>(id.bytes), sizeof id.bytes);
}

nb::object level_or_none(const lapwing_level& level) {
  if (level.price == INT64_MAX) return nb::none();
  return nb::cast(level);
}

nb::str fields_repr(nb::handle self) {
  std::string text = nb::cast<std::string>(self.type().attr("__name__")) + "(";
  std::string_view separator;
  for (nb::handle name : self.attr("_fields")) {
    text += separator;
    text += nb::cast<std::string>(name) + "=";
    text += nb::cast<std::string>(nb::repr(self.attr(nb::borrow<nb::str>(name))));
    separator = ", ";
  }
  return nb::str((text + ")").c_str());
}

template <typename T>
nb::bytes stored(const T& values) {
  return nb::bytes(reinterpret_cast<const char*>(&values), sizeof values);
}

template <typename T>
void read_stored(T& values, nb::handle from, const char* why) {
  if (!PyBytes_Check(from.ptr())) raise_type("stored", from, "bytes");
  const auto bytes = nb::cast<nb::bytes>(from);
  if (bytes.size() != sizeof values) raise(LAPWING_ERROR_INVALID_ARGUMENT, why);
  std::memcpy(&values, bytes.c_str(), sizeof values);
}

// Describes an event in one line, for example "gap 501, 501 to 1139 lapped: …".
nb::str event_line(const lapwing_event& event) {
  const auto text_of_word = [](Enum& words, std::uint32_t number) {
    return nb::cast<std::string>(nb::str(words.of(number)));
  };
  std::string line = text_of_word(event_kinds, event.kind) + " " + std::to_string(event.sequence);
  if (event.kind == LAPWING_EVENT_GAP || event.kind == LAPWING_EVENT_LOST) {
    line += ", " + std::to_string(event.first) + " to " + std::to_string(event.last) + " " +
            text_of_word(causes, event.cause);
  }
  if (event.text[0] != '\0') line += std::string(": ") + event.text;
  return text_of(line.c_str());
}

// A Python class with read-only attributes and a repr that shows them all. It can be pickled.
template <typename T>
class Fields {
 public:
  Fields(nb::module_& module, const char* name, const char* doc) : class_(module, name, doc) {}

  template <typename Member>
  Fields& number(const char* name, Member T::* member, const char* doc = "") {
    class_.def_ro(name, member, doc);
    return named(name);
  }
  Fields& flag(const char* name, std::uint32_t T::* member, const char* doc = "") {
    class_.def_prop_ro(name, [member](const T& self) { return self.*member != 0; }, doc);
    return named(name);
  }
  template <std::size_t N>
  Fields& text(const char* name, char (T::*member)[N], const char* doc = "") {
    class_.def_prop_ro(name, [member](const T& self) { return text_of(self.*member); }, doc);
    return named(name);
  }
  Fields& id(const char* name, lapwing_id T::* member) {
    class_.def_prop_ro(
        name, [member](const T& self) { return id_of(self.*member); }, "16 bytes; all zero: none");
    return named(name);
  }
  // `type` is the Python type that get() returns.
  template <typename Get>
  Fields& property(const char* name, const char* type, Get get, const char* doc = "") {
    const std::string signature = "def " + std::string(name) + "(self) -> " + type;
    class_.def_prop_ro(name, get, nb::sig(signature.c_str()), doc);
    return named(name);
  }
  nb::class_<T>& done() {
    class_.attr("_fields") = nb::tuple(names_);
    class_.def("__repr__", [](nb::handle self) { return fields_repr(self); });
    class_.def("__getstate__", [](const T& self) { return stored(self); });
    class_.def(
        "__setstate__",
        [](T& self, nb::handle state) {
          T values = {};
          read_stored(values, state, "the bytes were stored by another release of Lapwing");
          new (&self) T(values);
        },
        nb::arg("state").none());
    return class_;
  }

 private:
  Fields& named(const char* name) {
    names_.append(nb::str(name));
    return *this;
  }

  nb::class_<T> class_;
  nb::list names_;
};

void bind_position(nb::module_& module) {
  Fields<lapwing_position>(module, "Position",
                           "The position of a subscriber. Store `bytes(position)`; "
                           "`Position(stored)` reads it.")
      .id("journal_id", &lapwing_position::journal_id)
      .id("session_id", &lapwing_position::session_id)
      .number("sequence", &lapwing_position::sequence,
              "the last record that was delivered; 0: there is nothing to continue from")
      .done()
      .def(
          "__init__",
          [](lapwing_position* self, nb::handle from) {
            read_stored(*self, from, "stored is not a position, which has 40 bytes");
          },
          nb::arg("stored").none(), nb::sig("def __init__(self, stored: bytes) -> None"))
      .def("__bytes__", &stored<lapwing_position>)
      .def(
          "__eq__",
          [](const lapwing_position& self, nb::handle other) {
            lapwing_position position;
            return nb::try_cast(other, position, false) &&
                   std::memcmp(&self, &position, sizeof position) == 0;
          },
          nb::arg("other").none(), nb::sig("def __eq__(self, other: object, /) -> bool"))
      .def("__hash__", [](const lapwing_position& self) { return nb::hash(stored(self)); });
}

void bind_event(nb::module_& module) {
  Fields<lapwing_event>(module, "Event",
                        "An event between two records: see docs/reference/events.md.")
      .property("kind", "EventKind",
                [](const lapwing_event& self) { return event_kinds.of(self.kind); })
      .number("sequence", &lapwing_event::sequence)
      .number("first", &lapwing_event::first, "first sequence of the missing range")
      .number("last", &lapwing_event::last,
              "last sequence of the missing range; first - 1: nothing is missing")
      .property(
          "cause", "Cause | None", [](const lapwing_event& self) { return causes.of(self.cause); },
          "why records are missing; None: no records are missing")
      .flag("fillable", &lapwing_event::fillable, "the journal contains the range")
      .number("resume", &lapwing_event::resume, "the next sequence to be read from the ring")
      .number("record_bytes", &lapwing_event::record_bytes, "size of the following records")
      .text("schema_name", &lapwing_event::schema_name)
      .flag("is_described", &lapwing_event::is_described)
      .flag("is_first_session", &lapwing_event::is_first_session)
      .number("state_entries", &lapwing_event::state_entries)
      .text("fold", &lapwing_event::fold)
      .id("journal_id", &lapwing_event::journal_id)
      .id("session_id", &lapwing_event::session_id)
      .text("text", &lapwing_event::text,
            "description: the reason, the checkpoint, or how a session ended")
      .done()
      .def("__str__", &event_line);
}

void bind_publisher_info(nb::module_& module) {
  using Info = lapwing_publisher_info;
  Fields<Info>(module, "PublisherInfo",
               "The state of a publisher and its session at the time of the call.")
      .number("record_bytes", &Info::record_bytes)
      .number("first", &Info::first, "sequence of the session's first record")
      .number("head", &Info::head, "the last published sequence")
      .number("durable", &Info::durable, "the last sequence that survives a power cut")
      .number("source_offset", &Info::source_offset)
      .number("subscribers", &Info::subscribers)
      .property("settled", "Settled", [](const Info& self) { return settled.of(self.settled); })
      .property("journal", "JournalState",
                [](const Info& self) { return journal_states.of(self.journal_state); })
      .number("journal_errno", &Info::journal_errno)
      .number("void_first", &Info::void_first, "0 and 0: this start did not record a void")
      .number("void_last", &Info::void_last)
      .number("journal_stalls", &Info::journal_stalls,
              "number of times that publish waited for the journal")
      .number("journal_stall_ns_max", &Info::journal_stall_ns_max)
      .number("journal_stall_ns_total", &Info::journal_stall_ns_total)
      .number("idle_wakes", &Info::idle_wakes)
      .number("doorbells", &Info::doorbells, "wakes of parked subscribers")
      .id("journal_id", &Info::journal_id)
      .id("session_id", &Info::session_id)
      .done();
}

void bind_subscriber_info(nb::module_& module) {
  using Info = lapwing_subscriber_info;
  Fields<Info>(module, "SubscriberInfo", "The state and the counters of a subscriber.")
      .number("record_bytes", &Info::record_bytes, "0: no session has been delivered yet")
      .text("schema_name", &Info::schema_name)
      .text("fold", &Info::fold)
      .number("head", &Info::head, "the newest record; 0 if no bus is attached")
      .number("lag", &Info::lag, "records behind head")
      .number("durable", &Info::durable)
      .flag("is_live", &Info::is_live)
      .flag("is_described", &Info::is_described)
      .number("records", &Info::records, "delivered records")
      .number("first", &Info::first, "first sequence since the last reset")
      .number("last", &Info::last)
      .number("gaps", &Info::gaps)
      .number("lost", &Info::lost)
      .number("in_state", &Info::in_state)
      .number("filled", &Info::filled)
      .number("duplicates", &Info::duplicates)
      .number("out_of_order", &Info::out_of_order)
      .number("sessions", &Info::sessions)
      .number("reattached", &Info::reattached)
      .number("state_entries", &Info::state_entries)
      .number("filtered", &Info::filtered, "skipped records of other instruments")
      .number("conflated", &Info::conflated, "records that a newer one of the same key replaced")
      .number("waiting", &Info::waiting, "keys whose record waits for the end of the interval")
      .id("journal_id", &Info::journal_id)
      .id("session_id", &Info::session_id)
      .done();
}

void bind_ages(nb::module_& module) {
  using Ages = lapwing_ages;
  Fields<Ages>(module, "Ages", "The age of records when they were delivered.")
      .number("count", &Ages::count, "measured records")
      .number("negative", &Ages::negative,
              "records without an age, because they were published in the future")
      .number("unstamped", &Ages::unstamped,
              "records without an age, because they have no time of publishing")
      .number("p50_ns", &Ages::p50_ns, "at most a quarter too high, like all percentiles")
      .number("p90_ns", &Ages::p90_ns)
      .number("p99_ns", &Ages::p99_ns)
      .number("p999_ns", &Ages::p999_ns)
      .number("max_ns", &Ages::max_ns)
      .done();
}

void bind_history_info(nb::module_& module) {
  using Info = lapwing_history_info;
  Fields<Info>(module, "HistoryInfo", "The state of a journal at the time of the call.")
      .number("record_bytes", &Info::record_bytes)
      .text("schema_name", &Info::schema_name)
      .number("oldest", &Info::oldest, "the oldest sequence that retention has kept")
      .number("archived", &Info::archived, "the newest sequence that can be read")
      .number("durable", &Info::durable)
      .id("journal_id", &Info::journal_id)
      .done();
}

void bind_book_values(nb::module_& module) {
  using Info = lapwing_books_info;
  Fields<Info>(module, "BooksInfo", "The state of all books together.")
      .number("sequence", &Info::sequence, "sequence of the last applied record")
      .number("books", &Info::books)
      .number("orders", &Info::orders)
      .flag("is_settled", &Info::is_settled)
      .flag("is_loading", &Info::is_loading,
            "a state is being loaded, and the books are incomplete")
      .number("digest", &Info::digest, "equal for equal books")
      .done();
  Fields<lapwing_level>(module, "Level", "A price level.")
      .number("price", &lapwing_level::price, "in units of 1e-9")
      .number("size", &lapwing_level::size, "total size of its orders")
      .number("orders", &lapwing_level::orders, "0: a top, whose orders are unknown")
      .done();
  using Book = lapwing_book;
  Fields<Book>(module, "Book", "The book of one instrument.")
      .property(
          "bid", "Level | None", [](const Book& self) { return level_or_none(self.bid); },
          "the best Level, or None")
      .property(
          "ask", "Level | None", [](const Book& self) { return level_or_none(self.ask); },
          "the best Level, or None")
      .number("bid_levels", &Book::bid_levels)
      .number("ask_levels", &Book::ask_levels)
      .number("orders", &Book::orders)
      .flag("is_settled", &Book::is_settled, "False during an event of the venue")
      .flag("is_stale", &Book::is_stale, "its orders may differ from the venue's")
      .flag("has_tops", &Book::has_tops)
      .number("sequence", &Book::sequence,
              "sequence of its last record; 0: no record since a state was loaded")
      .number("ts_event", &Book::ts_event, "UTC ns; 2^64 - 1: none")
      .number("ts_recv", &Book::ts_recv, "UTC ns; 2^64 - 1: none")
      .number("lost_through", &Book::lost_through, "0: nothing was lost")
      .done();
}

void bind_channel_info(nb::module_& module) {
  using Info = lapwing_channel_info;
  Fields<Info>(module, "ChannelInfo", "One side of a channel.")
      .property("role", "ChannelRole", [](const Info& self) { return roles.of(self.role); })
      .number("message_bytes_max", &Info::message_bytes_max)
      .number("sent", &Info::sent)
      .number("received", &Info::received, "messages received and released")
      .number("released", &Info::released, "sent messages that the other side has released")
      .number("full_waits", &Info::full_waits)
      .number("empty_waits", &Info::empty_waits)
      .number("sleeps", &Info::sleeps)
      .number("wakes", &Info::wakes, "wakes of the other side; each is a system call")
      .number("late_replies", &Info::late_replies)
      .id("connection_id", &Info::connection_id)
      .done();
}

}  // namespace

void bind_values(nb::module_& module) {
  bind_position(module);
  bind_event(module);
  bind_publisher_info(module);
  bind_subscriber_info(module);
  bind_ages(module);
  bind_history_info(module);
  bind_book_values(module);
  bind_channel_info(module);
}

}  // namespace lapwing_python
