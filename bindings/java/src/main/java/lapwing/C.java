package lapwing;

import static java.lang.foreign.MemoryLayout.paddingLayout;
import static java.lang.foreign.MemoryLayout.sequenceLayout;
import static java.lang.foreign.MemoryLayout.structLayout;
import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.invoke.MethodHandle;

/** lapwing.h for Java. layouts.py writes this file: change the script or the header, not this. */
final class C {
  private C() {}

  static final int ABI_MAJOR = 1;
  static final int ABI_MINOR = 0;
  static final long FOREVER = -1;
  static final long NEVER = -1;
  static final long ON_REQUEST = -1;
  static final int OK = 0;
  static final int ERROR_INVALID_ARGUMENT = 1;
  static final int ERROR_NO_BUS = 2;
  static final int ERROR_IN_USE = 3;
  static final int ERROR_NOT_PERMITTED = 4;
  static final int ERROR_NO_SPACE = 5;
  static final int ERROR_SYSTEM = 6;
  static final int ERROR_DAMAGED = 7;
  static final int ERROR_ABI_MISMATCH = 8;
  static final int ERROR_NOT_A_LAPWING_FILE = 9;
  static final int ERROR_JOURNAL_FAILED = 10;
  static final int ERROR_NO_JOURNAL = 11;
  static final int ERROR_PRUNED = 12;
  static final int ERROR_TIMED_OUT = 13;
  static final int ERROR_PUBLISHER_GONE = 14;
  static final int ERROR_REFUSED = 15;
  static final int ERROR_PROTOCOL = 16;
  static final int ERROR_BAD_INPUT = 17;
  static final int ERROR_RECORD_SIZE = 18;
  static final int ERROR_PATH_TOO_LONG = 19;
  static final int ERROR_CLOSED = 20;
  static final int ERROR_RESET = 21;
  static final int ERROR_UNSUPPORTED = 22;
  static final int ERROR_LIMIT = 23;
  static final int ERROR_NOT_FOUND = 24;
  static final int ERROR_STOPPED_AT_GAP = 25;
  static final int ERROR_PEER_GONE = 26;
  static final int ERROR_CORRUPT = 27;
  static final int ERROR_WOULD_BLOCK = 28;
  static final int ERROR_MISUSE = 29;
  static final int ERROR_INTERRUPTED = 30;
  static final int ERROR_TOO_SMALL = 31;
  static final int ERROR_NO_MEMORY = 32;
  static final int ERROR_FORKED = 33;
  static final int ERROR_EVENT_DUE = 34;
  static final int ERROR_NO_ANSWER = 35;
  static final int TYPE_INT8 = 1;
  static final int TYPE_INT16 = 2;
  static final int TYPE_INT32 = 3;
  static final int TYPE_INT64 = 4;
  static final int TYPE_UINT8 = 5;
  static final int TYPE_UINT16 = 6;
  static final int TYPE_UINT32 = 7;
  static final int TYPE_UINT64 = 8;
  static final int TYPE_FLOAT32 = 9;
  static final int TYPE_FLOAT64 = 10;
  static final int TYPE_CHAR = 11;
  static final int TYPE_TEXT = 12;
  static final int TYPE_BYTES = 13;
  static final int UNIT_PLAIN = 0;
  static final int UNIT_PRICE = 1;
  static final int UNIT_UTC_NS = 2;
  static final int UNIT_FLAGS = 3;
  static final int ROLE_DATA = 0;
  static final int ROLE_TIME = 1;
  static final int ROLE_KEY = 2;
  static final int ROLE_PUBLISH_TIME = 3;
  static final int ROLE_SPARE = 4;
  static final int PUBLISHER_NO_JOURNAL = 1;
  static final int PUBLISHER_HUGE_PAGES = 2;
  static final int PUBLISHER_RESUME = 4;
  static final int PUBLISHER_GROUP = 8;
  static final int PUBLISHER_RESTAMPED = 16;
  static final int ON_JOURNAL_LAG_WAIT = 1;
  static final int ON_JOURNAL_LAG_SHED = 2;
  static final int ON_JOURNAL_FAILURE_CONTINUE = 1;
  static final int ON_JOURNAL_FAILURE_STOP = 2;
  static final int SETTLED_FRESH = 1;
  static final int SETTLED_CONTINUED = 2;
  static final int SETTLED_RECOVERED = 3;
  static final int SETTLED_CUT = 4;
  static final int SETTLED_RESET = 5;
  static final int JOURNAL_STATE_NONE = 0;
  static final int JOURNAL_STATE_GOOD = 1;
  static final int JOURNAL_STATE_FAILED = 2;
  static final int JOURNAL_STATE_SHED = 3;
  static final int BATCH_NOTHING = 0;
  static final int BATCH_RECORDS = 1;
  static final int BATCH_STATE = 2;
  static final int BATCH_EVENT = 3;
  static final int EVENT_GAP = 1;
  static final int EVENT_LOST = 2;
  static final int EVENT_SESSION = 3;
  static final int EVENT_RESET = 4;
  static final int EVENT_CAUGHT_UP = 5;
  static final int EVENT_STALE = 6;
  static final int EVENT_PUBLISHER_GONE = 7;
  static final int EVENT_CLOSED = 8;
  static final int EVENT_SNAPSHOT_COMPLETE = 9;
  static final int EVENT_NO_SNAPSHOT = 10;
  static final int EVENT_BEHIND = 11;
  static final int EVENT_LIVE = 12;
  static final int CAUSE_LAPPED = 1;
  static final int CAUSE_SESSION = 2;
  static final int CAUSE_VOID = 3;
  static final int CAUSE_PRUNED = 4;
  static final int CAUSE_DAMAGED = 5;
  static final int CAUSE_NOT_RELAYED = 6;
  static final int CAUSE_UPSTREAM = 7;
  static final int BATCH_SPARSE = 1;
  static final int START_LIVE = 0;
  static final int START_OLDEST = 1;
  static final int START_SEQUENCE = 2;
  static final int START_TIME = 3;
  static final int START_SNAPSHOT = 4;
  static final int START_AFTER = 5;
  static final int ON_GAP_FILL = 1;
  static final int ON_GAP_SKIP = 2;
  static final int ON_GAP_STOP = 3;
  static final int ON_GAP_SNAPSHOT = 4;
  static final int WAIT_BUSY = 1;
  static final int WAIT_BACKOFF = 2;
  static final int WAIT_PARK = 3;
  static final int SUBSCRIBER_END_AT_CLOSE = 1;
  static final int SUBSCRIBER_CONFLATE = 2;
  static final int SUBSCRIBER_OBSERVES = 4;
  static final int CURSOR_DURABLE = 1;
  static final int CHANNEL_ROLE_PRODUCER = 1;
  static final int CHANNEL_ROLE_CONSUMER = 2;
  static final int CHANNEL_ROLE_DUPLEX = 3;
  static final int CHANNEL_ALIGNED = 1;
  static final int CHANNEL_HUGE_PAGES = 2;
  static final int CHANNEL_NUMA = 4;
  static final int CHANNEL_PEER_UID = 8;
  static final int CHANNEL_NO_MEMBARRIER = 16;
  static final int CHANNEL_LATE_REPLIES = 32;
  static final int SOURCE_SUBSCRIBER = 1;
  static final int SOURCE_CONFLATED = 2;
  static final int SOURCE_CONSUMER = 4;
  static final int SOURCE_PRODUCER = 5;
  static final int SOURCE_DUPLEX = 6;
  static final int SOURCE_LISTENER = 7;
  static final int SOURCE_FD = 8;
  static final int SOURCE_TIMER = 9;

  static final class id {
    static final StructLayout LAYOUT = structLayout(
        sequenceLayout(16, JAVA_BYTE).withName("bytes"));
    static final long SIZE = 16;
    static final long bytes = 0;
  }

  static final class error {
    static final StructLayout LAYOUT = structLayout(
        JAVA_INT.withName("struct_size"),
        JAVA_INT.withName("code"),
        JAVA_INT.withName("sys_errno"),
        JAVA_INT.withName("reserved"),
        sequenceLayout(496, JAVA_BYTE).withName("message"));
    static final long SIZE = 512;
    static final long struct_size = 0;
    static final long code = 4;
    static final long sys_errno = 8;
    static final long reserved = 12;
    static final long message = 16;
  }

  static final class position {
    static final StructLayout LAYOUT = structLayout(
        C.id.LAYOUT.withName("journal_id"),
        C.id.LAYOUT.withName("session_id"),
        JAVA_LONG.withName("sequence"));
    static final long SIZE = 40;
    static final long journal_id = 0;
    static final long session_id = 16;
    static final long sequence = 32;
  }

  static final class field {
    static final StructLayout LAYOUT = structLayout(
        sequenceLayout(64, JAVA_BYTE).withName("name"),
        JAVA_INT.withName("offset"),
        JAVA_INT.withName("bytes"),
        JAVA_INT.withName("type"),
        JAVA_INT.withName("unit"),
        JAVA_INT.withName("role"),
        JAVA_INT.withName("reserved"));
    static final long SIZE = 88;
    static final long name = 0;
    static final long offset = 64;
    static final long bytes = 68;
    static final long type = 72;
    static final long unit = 76;
    static final long role = 80;
    static final long reserved = 84;
  }

  static final class schema {
    static final StructLayout LAYOUT = structLayout(
        JAVA_INT.withName("struct_size"),
        JAVA_INT.withName("record_bytes"),
        sequenceLayout(32, JAVA_BYTE).withName("name"),
        JAVA_INT.withName("version"),
        JAVA_INT.withName("reserved"),
        JAVA_LONG.withName("hash"),
        JAVA_LONG.withName("field_count"),
        JAVA_LONG.withName("text_bytes"));
    static final long SIZE = 72;
    static final long struct_size = 0;
    static final long record_bytes = 4;
    static final long name = 8;
    static final long version = 40;
    static final long reserved = 44;
    static final long hash = 48;
    static final long field_count = 56;
    static final long text_bytes = 64;
  }

  static final class publisher_options {
    static final StructLayout LAYOUT = structLayout(
        JAVA_INT.withName("struct_size"),
        JAVA_INT.withName("flags"),
        ADDRESS.withName("directory"),
        ADDRESS.withName("name"),
        ADDRESS.withName("schema_name"),
        ADDRESS.withName("schema"),
        JAVA_INT.withName("record_bytes"),
        JAVA_INT.withName("group"),
        JAVA_LONG.withName("capacity"),
        ADDRESS.withName("ring_directory"),
        ADDRESS.withName("journal_directory"),
        JAVA_LONG.withName("segment_bytes"),
        JAVA_LONG.withName("sync_interval_ns"),
        JAVA_LONG.withName("retain_bytes"),
        JAVA_LONG.withName("retain_age_ns"),
        JAVA_INT.withName("on_journal_lag"),
        JAVA_INT.withName("on_journal_failure"),
        ADDRESS.withName("metadata"),
        JAVA_LONG.withName("metadata_bytes"),
        JAVA_LONG.withName("source_id"),
        JAVA_LONG.withName("source_offset"));
    static final long SIZE = 144;
    static final long struct_size = 0;
    static final long flags = 4;
    static final long directory = 8;
    static final long name = 16;
    static final long schema_name = 24;
    static final long schema = 32;
    static final long record_bytes = 40;
    static final long group = 44;
    static final long capacity = 48;
    static final long ring_directory = 56;
    static final long journal_directory = 64;
    static final long segment_bytes = 72;
    static final long sync_interval_ns = 80;
    static final long retain_bytes = 88;
    static final long retain_age_ns = 96;
    static final long on_journal_lag = 104;
    static final long on_journal_failure = 108;
    static final long metadata = 112;
    static final long metadata_bytes = 120;
    static final long source_id = 128;
    static final long source_offset = 136;
  }

  static final class publisher_info {
    static final StructLayout LAYOUT = structLayout(
        JAVA_INT.withName("struct_size"),
        JAVA_INT.withName("record_bytes"),
        C.id.LAYOUT.withName("journal_id"),
        C.id.LAYOUT.withName("session_id"),
        JAVA_LONG.withName("first"),
        JAVA_LONG.withName("head"),
        JAVA_LONG.withName("durable"),
        JAVA_LONG.withName("source_offset"),
        JAVA_LONG.withName("subscribers"),
        JAVA_INT.withName("settled"),
        JAVA_INT.withName("journal_state"),
        JAVA_INT.withName("journal_errno"),
        JAVA_INT.withName("reserved"),
        JAVA_LONG.withName("void_first"),
        JAVA_LONG.withName("void_last"),
        JAVA_LONG.withName("journal_stalls"),
        JAVA_LONG.withName("journal_stall_ns_max"),
        JAVA_LONG.withName("journal_stall_ns_total"),
        JAVA_LONG.withName("idle_wakes"),
        JAVA_LONG.withName("doorbells"));
    static final long SIZE = 152;
    static final long struct_size = 0;
    static final long record_bytes = 4;
    static final long journal_id = 8;
    static final long session_id = 24;
    static final long first = 40;
    static final long head = 48;
    static final long durable = 56;
    static final long source_offset = 64;
    static final long subscribers = 72;
    static final long settled = 80;
    static final long journal_state = 84;
    static final long journal_errno = 88;
    static final long reserved = 92;
    static final long void_first = 96;
    static final long void_last = 104;
    static final long journal_stalls = 112;
    static final long journal_stall_ns_max = 120;
    static final long journal_stall_ns_total = 128;
    static final long idle_wakes = 136;
    static final long doorbells = 144;
  }

  static final class event {
    static final StructLayout LAYOUT = structLayout(
        JAVA_INT.withName("kind"),
        JAVA_INT.withName("cause"),
        JAVA_LONG.withName("sequence"),
        JAVA_LONG.withName("first"),
        JAVA_LONG.withName("last"),
        JAVA_LONG.withName("resume"),
        JAVA_INT.withName("fillable"),
        JAVA_INT.withName("record_bytes"),
        C.id.LAYOUT.withName("journal_id"),
        C.id.LAYOUT.withName("session_id"),
        JAVA_LONG.withName("state_entries"),
        JAVA_INT.withName("is_first_session"),
        JAVA_INT.withName("is_described"),
        JAVA_INT.withName("is_filtered"),
        JAVA_INT.withName("is_skipped"),
        sequenceLayout(32, JAVA_BYTE).withName("schema_name"),
        sequenceLayout(32, JAVA_BYTE).withName("fold"),
        sequenceLayout(512, JAVA_BYTE).withName("text"));
    static final long SIZE = 680;
    static final long kind = 0;
    static final long cause = 4;
    static final long sequence = 8;
    static final long first = 16;
    static final long last = 24;
    static final long resume = 32;
    static final long fillable = 40;
    static final long record_bytes = 44;
    static final long journal_id = 48;
    static final long session_id = 64;
    static final long state_entries = 80;
    static final long is_first_session = 88;
    static final long is_described = 92;
    static final long is_filtered = 96;
    static final long is_skipped = 100;
    static final long schema_name = 104;
    static final long fold = 136;
    static final long text = 168;
  }

  static final class batch {
    static final StructLayout LAYOUT = structLayout(
        JAVA_INT.withName("struct_size"),
        JAVA_INT.withName("kind"),
        ADDRESS.withName("rows"),
        JAVA_LONG.withName("rows_bytes"),
        ADDRESS.withName("sequences"),
        ADDRESS.withName("conflated"),
        JAVA_LONG.withName("rows_max"),
        JAVA_LONG.withName("count"),
        JAVA_LONG.withName("first"),
        JAVA_INT.withName("row_bytes"),
        JAVA_INT.withName("flags"),
        C.event.LAYOUT.withName("event"));
    static final long SIZE = 752;
    static final long struct_size = 0;
    static final long kind = 4;
    static final long rows = 8;
    static final long rows_bytes = 16;
    static final long sequences = 24;
    static final long conflated = 32;
    static final long rows_max = 40;
    static final long count = 48;
    static final long first = 56;
    static final long row_bytes = 64;
    static final long flags = 68;
    static final long event = 72;
  }

  static final class subscriber_options {
    static final StructLayout LAYOUT = structLayout(
        JAVA_INT.withName("struct_size"),
        JAVA_INT.withName("flags"),
        ADDRESS.withName("directory"),
        ADDRESS.withName("name"),
        JAVA_INT.withName("start"),
        JAVA_INT.withName("on_gap"),
        JAVA_INT.withName("wait"),
        JAVA_INT.withName("behind_records"),
        JAVA_LONG.withName("start_value"),
        C.position.LAYOUT.withName("start_position"),
        ADDRESS.withName("fold"),
        ADDRESS.withName("expect"),
        ADDRESS.withName("instruments"),
        JAVA_LONG.withName("instrument_count"),
        JAVA_LONG.withName("reattach_ns"),
        JAVA_LONG.withName("flush_timeout_ns"),
        JAVA_LONG.withName("stale_after_ns"),
        JAVA_LONG.withName("behind_time_ns"),
        JAVA_LONG.withName("conflate_interval_ns"),
        JAVA_INT.withName("conflate_keys_max"),
        JAVA_INT.withName("measure_every"));
    static final long SIZE = 168;
    static final long struct_size = 0;
    static final long flags = 4;
    static final long directory = 8;
    static final long name = 16;
    static final long start = 24;
    static final long on_gap = 28;
    static final long wait = 32;
    static final long behind_records = 36;
    static final long start_value = 40;
    static final long start_position = 48;
    static final long fold = 88;
    static final long expect = 96;
    static final long instruments = 104;
    static final long instrument_count = 112;
    static final long reattach_ns = 120;
    static final long flush_timeout_ns = 128;
    static final long stale_after_ns = 136;
    static final long behind_time_ns = 144;
    static final long conflate_interval_ns = 152;
    static final long conflate_keys_max = 160;
    static final long measure_every = 164;
  }

  static final class ages {
    static final StructLayout LAYOUT = structLayout(
        JAVA_INT.withName("struct_size"),
        JAVA_INT.withName("reserved"),
        JAVA_LONG.withName("count"),
        JAVA_LONG.withName("negative"),
        JAVA_LONG.withName("unstamped"),
        JAVA_LONG.withName("p50_ns"),
        JAVA_LONG.withName("p90_ns"),
        JAVA_LONG.withName("p99_ns"),
        JAVA_LONG.withName("p999_ns"),
        JAVA_LONG.withName("max_ns"));
    static final long SIZE = 72;
    static final long struct_size = 0;
    static final long reserved = 4;
    static final long count = 8;
    static final long negative = 16;
    static final long unstamped = 24;
    static final long p50_ns = 32;
    static final long p90_ns = 40;
    static final long p99_ns = 48;
    static final long p999_ns = 56;
    static final long max_ns = 64;
  }

  static final class subscriber_info {
    static final StructLayout LAYOUT = structLayout(
        JAVA_INT.withName("struct_size"),
        JAVA_INT.withName("record_bytes"),
        sequenceLayout(32, JAVA_BYTE).withName("schema_name"),
        sequenceLayout(32, JAVA_BYTE).withName("fold"),
        C.id.LAYOUT.withName("journal_id"),
        C.id.LAYOUT.withName("session_id"),
        JAVA_LONG.withName("head"),
        JAVA_LONG.withName("lag"),
        JAVA_LONG.withName("durable"),
        JAVA_INT.withName("is_live"),
        JAVA_INT.withName("is_described"),
        JAVA_LONG.withName("records"),
        JAVA_LONG.withName("first"),
        JAVA_LONG.withName("last"),
        JAVA_LONG.withName("gaps"),
        JAVA_LONG.withName("lost"),
        JAVA_LONG.withName("in_state"),
        JAVA_LONG.withName("filled"),
        JAVA_LONG.withName("duplicates"),
        JAVA_LONG.withName("out_of_order"),
        JAVA_LONG.withName("sessions"),
        JAVA_LONG.withName("reattached"),
        JAVA_LONG.withName("state_entries"),
        JAVA_LONG.withName("filtered"),
        JAVA_LONG.withName("conflated"),
        JAVA_LONG.withName("waiting"));
    static final long SIZE = 256;
    static final long struct_size = 0;
    static final long record_bytes = 4;
    static final long schema_name = 8;
    static final long fold = 40;
    static final long journal_id = 72;
    static final long session_id = 88;
    static final long head = 104;
    static final long lag = 112;
    static final long durable = 120;
    static final long is_live = 128;
    static final long is_described = 132;
    static final long records = 136;
    static final long first = 144;
    static final long last = 152;
    static final long gaps = 160;
    static final long lost = 168;
    static final long in_state = 176;
    static final long filled = 184;
    static final long duplicates = 192;
    static final long out_of_order = 200;
    static final long sessions = 208;
    static final long reattached = 216;
    static final long state_entries = 224;
    static final long filtered = 232;
    static final long conflated = 240;
    static final long waiting = 248;
  }

  static final class history_info {
    static final StructLayout LAYOUT = structLayout(
        JAVA_INT.withName("struct_size"),
        JAVA_INT.withName("record_bytes"),
        sequenceLayout(32, JAVA_BYTE).withName("schema_name"),
        C.id.LAYOUT.withName("journal_id"),
        JAVA_LONG.withName("oldest"),
        JAVA_LONG.withName("archived"),
        JAVA_LONG.withName("durable"));
    static final long SIZE = 80;
    static final long struct_size = 0;
    static final long record_bytes = 4;
    static final long schema_name = 8;
    static final long journal_id = 40;
    static final long oldest = 56;
    static final long archived = 64;
    static final long durable = 72;
  }

  static final class view {
    static final StructLayout LAYOUT = structLayout(
        JAVA_INT.withName("struct_size"),
        JAVA_INT.withName("row_bytes"),
        ADDRESS.withName("rows"),
        JAVA_LONG.withName("stride_bytes"),
        JAVA_LONG.withName("first"),
        JAVA_LONG.withName("count"),
        ADDRESS.withName("token"));
    static final long SIZE = 48;
    static final long struct_size = 0;
    static final long row_bytes = 4;
    static final long rows = 8;
    static final long stride_bytes = 16;
    static final long first = 24;
    static final long count = 32;
    static final long token = 40;
  }

  static final class books_info {
    static final StructLayout LAYOUT = structLayout(
        JAVA_INT.withName("struct_size"),
        JAVA_INT.withName("is_settled"),
        JAVA_INT.withName("is_loading"),
        JAVA_INT.withName("reserved"),
        JAVA_LONG.withName("sequence"),
        JAVA_LONG.withName("books"),
        JAVA_LONG.withName("orders"),
        JAVA_LONG.withName("digest"));
    static final long SIZE = 48;
    static final long struct_size = 0;
    static final long is_settled = 4;
    static final long is_loading = 8;
    static final long reserved = 12;
    static final long sequence = 16;
    static final long books = 24;
    static final long orders = 32;
    static final long digest = 40;
  }

  static final class book_key {
    static final StructLayout LAYOUT = structLayout(
        JAVA_INT.withName("instrument_id"),
        JAVA_SHORT.withName("publisher_id"),
        JAVA_SHORT.withName("reserved"));
    static final long SIZE = 8;
    static final long instrument_id = 0;
    static final long publisher_id = 4;
    static final long reserved = 6;
  }

  static final class level {
    static final StructLayout LAYOUT = structLayout(
        JAVA_LONG.withName("price"),
        JAVA_LONG.withName("size"),
        JAVA_INT.withName("orders"),
        JAVA_INT.withName("reserved"));
    static final long SIZE = 24;
    static final long price = 0;
    static final long size = 8;
    static final long orders = 16;
    static final long reserved = 20;
  }

  static final class book {
    static final StructLayout LAYOUT = structLayout(
        JAVA_INT.withName("struct_size"),
        JAVA_INT.withName("is_settled"),
        JAVA_INT.withName("is_stale"),
        JAVA_INT.withName("has_tops"),
        C.level.LAYOUT.withName("bid"),
        C.level.LAYOUT.withName("ask"),
        JAVA_LONG.withName("bid_levels"),
        JAVA_LONG.withName("ask_levels"),
        JAVA_LONG.withName("orders"),
        JAVA_LONG.withName("sequence"),
        JAVA_LONG.withName("ts_event"),
        JAVA_LONG.withName("ts_recv"),
        JAVA_LONG.withName("lost_through"));
    static final long SIZE = 120;
    static final long struct_size = 0;
    static final long is_settled = 4;
    static final long is_stale = 8;
    static final long has_tops = 12;
    static final long bid = 16;
    static final long ask = 40;
    static final long bid_levels = 64;
    static final long ask_levels = 72;
    static final long orders = 80;
    static final long sequence = 88;
    static final long ts_event = 96;
    static final long ts_recv = 104;
    static final long lost_through = 112;
  }

  static final class order {
    static final StructLayout LAYOUT = structLayout(
        JAVA_LONG.withName("order_id"),
        JAVA_LONG.withName("price"),
        JAVA_LONG.withName("place"),
        JAVA_LONG.withName("ts_recv"),
        JAVA_INT.withName("size"),
        JAVA_INT.withName("flags"));
    static final long SIZE = 40;
    static final long order_id = 0;
    static final long price = 8;
    static final long place = 16;
    static final long ts_recv = 24;
    static final long size = 32;
    static final long flags = 36;
  }

  static final class channel_options {
    static final StructLayout LAYOUT = structLayout(
        JAVA_INT.withName("struct_size"),
        JAVA_INT.withName("flags"),
        ADDRESS.withName("name"),
        JAVA_LONG.withName("capacity"),
        JAVA_INT.withName("message_bytes_max"),
        JAVA_INT.withName("call_window"),
        JAVA_INT.withName("wait"),
        JAVA_INT.withName("numa_node"),
        JAVA_INT.withName("peer_uid"),
        JAVA_INT.withName("reserved"),
        JAVA_LONG.withName("retry_ns"));
    static final long SIZE = 56;
    static final long struct_size = 0;
    static final long flags = 4;
    static final long name = 8;
    static final long capacity = 16;
    static final long message_bytes_max = 24;
    static final long call_window = 28;
    static final long wait = 32;
    static final long numa_node = 36;
    static final long peer_uid = 40;
    static final long reserved = 44;
    static final long retry_ns = 48;
  }

  static final class message {
    static final StructLayout LAYOUT = structLayout(
        ADDRESS.withName("payload"),
        JAVA_LONG.withName("bytes"),
        JAVA_INT.withName("type"),
        JAVA_INT.withName("reserved"));
    static final long SIZE = 24;
    static final long payload = 0;
    static final long bytes = 8;
    static final long type = 16;
    static final long reserved = 20;
  }

  static final class reply {
    static final StructLayout LAYOUT = structLayout(
        JAVA_INT.withName("struct_size"),
        JAVA_INT.withName("is_error"),
        JAVA_INT.withName("is_late"),
        JAVA_INT.withName("code"),
        JAVA_LONG.withName("call"),
        C.message.LAYOUT.withName("message"));
    static final long SIZE = 48;
    static final long struct_size = 0;
    static final long is_error = 4;
    static final long is_late = 8;
    static final long code = 12;
    static final long call = 16;
    static final long message = 24;
  }

  static final class request {
    static final StructLayout LAYOUT = structLayout(
        JAVA_INT.withName("struct_size"),
        JAVA_INT.withName("reserved"),
        JAVA_LONG.withName("call"),
        C.message.LAYOUT.withName("message"));
    static final long SIZE = 40;
    static final long struct_size = 0;
    static final long reserved = 4;
    static final long call = 8;
    static final long message = 16;
  }

  static final class channel_info {
    static final StructLayout LAYOUT = structLayout(
        JAVA_INT.withName("struct_size"),
        JAVA_INT.withName("role"),
        C.id.LAYOUT.withName("connection_id"),
        JAVA_LONG.withName("message_bytes_max"),
        JAVA_LONG.withName("sent"),
        JAVA_LONG.withName("received"),
        JAVA_LONG.withName("released"),
        JAVA_LONG.withName("full_waits"),
        JAVA_LONG.withName("empty_waits"),
        JAVA_LONG.withName("sleeps"),
        JAVA_LONG.withName("wakes"),
        JAVA_LONG.withName("late_replies"));
    static final long SIZE = 96;
    static final long struct_size = 0;
    static final long role = 4;
    static final long connection_id = 8;
    static final long message_bytes_max = 24;
    static final long sent = 32;
    static final long received = 40;
    static final long released = 48;
    static final long full_waits = 56;
    static final long empty_waits = 64;
    static final long sleeps = 72;
    static final long wakes = 80;
    static final long late_replies = 88;
  }

  static final class symbol_mapping {
    static final StructLayout LAYOUT = structLayout(
        sequenceLayout(80, JAVA_BYTE).withName("symbol"),
        JAVA_INT.withName("instrument_id"),
        JAVA_INT.withName("start_date"),
        JAVA_INT.withName("end_date"),
        JAVA_INT.withName("reserved"));
    static final long SIZE = 96;
    static final long symbol = 0;
    static final long instrument_id = 80;
    static final long start_date = 84;
    static final long end_date = 88;
    static final long reserved = 92;
  }

  static final class ready {
    static final StructLayout LAYOUT = structLayout(
        JAVA_INT.withName("struct_size"),
        JAVA_INT.withName("kind"),
        JAVA_LONG.withName("token"),
        JAVA_LONG.withName("source"),
        JAVA_LONG.withName("expirations"),
        JAVA_INT.withName("events"),
        JAVA_INT.withName("reserved"));
    static final long SIZE = 40;
    static final long struct_size = 0;
    static final long kind = 4;
    static final long token = 8;
    static final long source = 16;
    static final long expirations = 24;
    static final long events = 32;
    static final long reserved = 36;
  }

  private static final class Call_version {
    static final MethodHandle HANDLE = Library.critical("lapwing_version",
        FunctionDescriptor.of(ADDRESS, ADDRESS));
  }

  static MemorySegment version(MemorySegment abi) {
    try {
      return (MemorySegment) Call_version.HANDLE.invokeExact(abi);
    } catch (Throwable e) {
      throw Library.unexpected(e);
    }
  }

  private static final class Call_error_name {
    static final MethodHandle HANDLE = Library.critical("lapwing_error_name",
        FunctionDescriptor.of(ADDRESS, JAVA_INT));
  }

  static MemorySegment error_name(int code) {
    try {
      return (MemorySegment) Call_error_name.HANDLE.invokeExact(code);
    } catch (Throwable e) {
      throw Library.unexpected(e);
    }
  }

  private static final class Call_schema_fields {
    static final MethodHandle HANDLE = Library.call("lapwing_schema_fields",
        FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS, ADDRESS, ADDRESS, JAVA_LONG, ADDRESS,
      JAVA_LONG, ADDRESS));
  }

  static int schema_fields(MemorySegment directory, MemorySegment name, MemorySegment schema,
      MemorySegment fields, long fields_max, MemorySegment text, long text_bytes_max,
      MemorySegment error) {
    try {
      return (int) Call_schema_fields.HANDLE.invokeExact(directory, name, schema, fields,
      fields_max, text, text_bytes_max, error);
    } catch (Throwable e) {
      throw Library.unexpected(e);
    }
  }

  private static final class Call_log_set {
    static final MethodHandle HANDLE = Library.call("lapwing_log_set",
        FunctionDescriptor.ofVoid(ADDRESS, ADDRESS));
  }

  static void log_set(MemorySegment log, MemorySegment user) {
    try {
      Call_log_set.HANDLE.invokeExact(log, user);
    } catch (Throwable e) {
      throw Library.unexpected(e);
    }
  }

  private static final class Call_log_queue {
    static final MethodHandle HANDLE = Library.call("lapwing_log_queue",
        FunctionDescriptor.ofVoid());
  }

  static void log_queue() {
    try {
      Call_log_queue.HANDLE.invokeExact();
    } catch (Throwable e) {
      throw Library.unexpected(e);
    }
  }

  private static final class Call_log_read {
    static final MethodHandle HANDLE = Library.call("lapwing_log_read",
        FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_LONG, ADDRESS));
  }

  static int log_read(MemorySegment line, long bytes, MemorySegment dropped) {
    try {
      return (int) Call_log_read.HANDLE.invokeExact(line, bytes, dropped);
    } catch (Throwable e) {
      throw Library.unexpected(e);
    }
  }

  private static final class Call_publisher_options_init {
    static final MethodHandle HANDLE = Library.call("lapwing_publisher_options_init",
        FunctionDescriptor.ofVoid(ADDRESS, JAVA_INT));
  }

  static void publisher_options_init(MemorySegment options, int struct_size) {
    try {
      Call_publisher_options_init.HANDLE.invokeExact(options, struct_size);
    } catch (Throwable e) {
      throw Library.unexpected(e);
    }
  }

  private static final class Call_publisher_open {
    static final MethodHandle HANDLE = Library.call("lapwing_publisher_open",
        FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_LONG, ADDRESS, ADDRESS));
  }

  static int publisher_open(MemorySegment options, long timeout_ns, MemorySegment publisher,
      MemorySegment error) {
    try {
      return (int) Call_publisher_open.HANDLE.invokeExact(options, timeout_ns, publisher, error);
    } catch (Throwable e) {
      throw Library.unexpected(e);
    }
  }

  private static final class Call_publisher_publish {
    static final MethodHandle HANDLE = Library.call("lapwing_publisher_publish",
        FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS, JAVA_LONG, JAVA_LONG, JAVA_LONG, ADDRESS,
      ADDRESS));
  }

  static int publisher_publish(MemorySegment publisher, MemorySegment records, long count,
      long record_bytes, long timeout_ns, MemorySegment last, MemorySegment error) {
    try {
      return (int) Call_publisher_publish.HANDLE.invokeExact(publisher, records, count,
      record_bytes, timeout_ns, last, error);
    } catch (Throwable e) {
      throw Library.unexpected(e);
    }
  }

  private static final class Call_publisher_publish_now {
    static final MethodHandle HANDLE = Library.critical("lapwing_publisher_publish",
        FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS, JAVA_LONG, JAVA_LONG, JAVA_LONG, ADDRESS,
      ADDRESS));
  }

  static int publisher_publish_now(MemorySegment publisher, MemorySegment records, long count,
      long record_bytes, long timeout_ns, MemorySegment last, MemorySegment error) {
    try {
      return (int) Call_publisher_publish_now.HANDLE.invokeExact(publisher, records, count,
      record_bytes, timeout_ns, last, error);
    } catch (Throwable e) {
      throw Library.unexpected(e);
    }
  }

  private static final class Call_publisher_flush {
    static final MethodHandle HANDLE = Library.call("lapwing_publisher_flush",
        FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_LONG, ADDRESS, ADDRESS));
  }

  static int publisher_flush(MemorySegment publisher, long timeout_ns, MemorySegment durable,
      MemorySegment error) {
    try {
      return (int) Call_publisher_flush.HANDLE.invokeExact(publisher, timeout_ns, durable, error);
    } catch (Throwable e) {
      throw Library.unexpected(e);
    }
  }

  private static final class Call_publisher_inspect {
    static final MethodHandle HANDLE = Library.call("lapwing_publisher_inspect",
        FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS, ADDRESS));
  }

  static int publisher_inspect(MemorySegment publisher, MemorySegment info, MemorySegment error) {
    try {
      return (int) Call_publisher_inspect.HANDLE.invokeExact(publisher, info, error);
    } catch (Throwable e) {
      throw Library.unexpected(e);
    }
  }

  private static final class Call_publisher_close {
    static final MethodHandle HANDLE = Library.call("lapwing_publisher_close",
        FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_LONG, ADDRESS));
  }

  static int publisher_close(MemorySegment publisher, long timeout_ns, MemorySegment error) {
    try {
      return (int) Call_publisher_close.HANDLE.invokeExact(publisher, timeout_ns, error);
    } catch (Throwable e) {
      throw Library.unexpected(e);
    }
  }

  private static final class Call_publisher_interrupt {
    static final MethodHandle HANDLE = Library.critical("lapwing_publisher_interrupt",
        FunctionDescriptor.ofVoid(ADDRESS));
  }

  static void publisher_interrupt(MemorySegment publisher) {
    try {
      Call_publisher_interrupt.HANDLE.invokeExact(publisher);
    } catch (Throwable e) {
      throw Library.unexpected(e);
    }
  }

  private static final class Call_publisher_destroy {
    static final MethodHandle HANDLE = Library.call("lapwing_publisher_destroy",
        FunctionDescriptor.ofVoid(ADDRESS));
  }

  static void publisher_destroy(MemorySegment publisher) {
    try {
      Call_publisher_destroy.HANDLE.invokeExact(publisher);
    } catch (Throwable e) {
      throw Library.unexpected(e);
    }
  }

  private static final class Call_subscriber_options_init {
    static final MethodHandle HANDLE = Library.call("lapwing_subscriber_options_init",
        FunctionDescriptor.ofVoid(ADDRESS, JAVA_INT));
  }

  static void subscriber_options_init(MemorySegment options, int struct_size) {
    try {
      Call_subscriber_options_init.HANDLE.invokeExact(options, struct_size);
    } catch (Throwable e) {
      throw Library.unexpected(e);
    }
  }

  private static final class Call_subscriber_open {
    static final MethodHandle HANDLE = Library.call("lapwing_subscriber_open",
        FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS, ADDRESS));
  }

  static int subscriber_open(MemorySegment options, MemorySegment subscriber, MemorySegment error) {
    try {
      return (int) Call_subscriber_open.HANDLE.invokeExact(options, subscriber, error);
    } catch (Throwable e) {
      throw Library.unexpected(e);
    }
  }

  private static final class Call_subscriber_read {
    static final MethodHandle HANDLE = Library.call("lapwing_subscriber_read",
        FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS, JAVA_LONG, ADDRESS));
  }

  static int subscriber_read(MemorySegment subscriber, MemorySegment batch, long timeout_ns,
      MemorySegment error) {
    try {
      return (int) Call_subscriber_read.HANDLE.invokeExact(subscriber, batch, timeout_ns, error);
    } catch (Throwable e) {
      throw Library.unexpected(e);
    }
  }

  private static final class Call_subscriber_read_one {
    static final MethodHandle HANDLE = Library.call("lapwing_subscriber_read_one",
        FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS, JAVA_LONG, JAVA_LONG, ADDRESS, ADDRESS));
  }

  static int subscriber_read_one(MemorySegment subscriber, MemorySegment record, long record_bytes,
      long timeout_ns, MemorySegment sequence, MemorySegment error) {
    try {
      return (int) Call_subscriber_read_one.HANDLE.invokeExact(subscriber, record, record_bytes,
      timeout_ns, sequence, error);
    } catch (Throwable e) {
      throw Library.unexpected(e);
    }
  }

  private static final class Call_subscriber_read_one_now {
    static final MethodHandle HANDLE = Library.critical("lapwing_subscriber_read_one",
        FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS, JAVA_LONG, JAVA_LONG, ADDRESS, ADDRESS));
  }

  static int subscriber_read_one_now(MemorySegment subscriber, MemorySegment record,
      long record_bytes, long timeout_ns, MemorySegment sequence, MemorySegment error) {
    try {
      return (int) Call_subscriber_read_one_now.HANDLE.invokeExact(subscriber, record,
      record_bytes, timeout_ns, sequence, error);
    } catch (Throwable e) {
      throw Library.unexpected(e);
    }
  }

  private static final class Call_subscriber_schema {
    static final MethodHandle HANDLE = Library.call("lapwing_subscriber_schema",
        FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS, ADDRESS, JAVA_LONG, ADDRESS, JAVA_LONG,
      ADDRESS));
  }

  static int subscriber_schema(MemorySegment subscriber, MemorySegment schema,
      MemorySegment fields, long fields_max, MemorySegment text, long text_bytes_max,
      MemorySegment error) {
    try {
      return (int) Call_subscriber_schema.HANDLE.invokeExact(subscriber, schema, fields,
      fields_max, text, text_bytes_max, error);
    } catch (Throwable e) {
      throw Library.unexpected(e);
    }
  }

  private static final class Call_subscriber_ages {
    static final MethodHandle HANDLE = Library.call("lapwing_subscriber_ages",
        FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS, ADDRESS));
  }

  static int subscriber_ages(MemorySegment subscriber, MemorySegment ages, MemorySegment error) {
    try {
      return (int) Call_subscriber_ages.HANDLE.invokeExact(subscriber, ages, error);
    } catch (Throwable e) {
      throw Library.unexpected(e);
    }
  }

  private static final class Call_subscriber_inspect {
    static final MethodHandle HANDLE = Library.call("lapwing_subscriber_inspect",
        FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS, ADDRESS));
  }

  static int subscriber_inspect(MemorySegment subscriber, MemorySegment info, MemorySegment error) {
    try {
      return (int) Call_subscriber_inspect.HANDLE.invokeExact(subscriber, info, error);
    } catch (Throwable e) {
      throw Library.unexpected(e);
    }
  }

  private static final class Call_subscriber_position {
    static final MethodHandle HANDLE = Library.critical("lapwing_subscriber_position",
        FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_LONG, ADDRESS, ADDRESS));
  }

  static int subscriber_position(MemorySegment subscriber, long sequence, MemorySegment position,
      MemorySegment error) {
    try {
      return (int) Call_subscriber_position.HANDLE.invokeExact(subscriber, sequence, position,
      error);
    } catch (Throwable e) {
      throw Library.unexpected(e);
    }
  }

  private static final class Call_subscriber_fd {
    static final MethodHandle HANDLE = Library.call("lapwing_subscriber_fd",
        FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS, ADDRESS));
  }

  static int subscriber_fd(MemorySegment subscriber, MemorySegment fd, MemorySegment error) {
    try {
      return (int) Call_subscriber_fd.HANDLE.invokeExact(subscriber, fd, error);
    } catch (Throwable e) {
      throw Library.unexpected(e);
    }
  }

  private static final class Call_subscriber_interrupt {
    static final MethodHandle HANDLE = Library.critical("lapwing_subscriber_interrupt",
        FunctionDescriptor.ofVoid(ADDRESS));
  }

  static void subscriber_interrupt(MemorySegment subscriber) {
    try {
      Call_subscriber_interrupt.HANDLE.invokeExact(subscriber);
    } catch (Throwable e) {
      throw Library.unexpected(e);
    }
  }

  private static final class Call_subscriber_destroy {
    static final MethodHandle HANDLE = Library.call("lapwing_subscriber_destroy",
        FunctionDescriptor.ofVoid(ADDRESS));
  }

  static void subscriber_destroy(MemorySegment subscriber) {
    try {
      Call_subscriber_destroy.HANDLE.invokeExact(subscriber);
    } catch (Throwable e) {
      throw Library.unexpected(e);
    }
  }

  private static final class Call_cursor_open {
    static final MethodHandle HANDLE = Library.call("lapwing_cursor_open",
        FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_INT, JAVA_LONG, ADDRESS, ADDRESS));
  }

  static int cursor_open(MemorySegment path, int flags, long timeout_ns, MemorySegment cursor,
      MemorySegment error) {
    try {
      return (int) Call_cursor_open.HANDLE.invokeExact(path, flags, timeout_ns, cursor, error);
    } catch (Throwable e) {
      throw Library.unexpected(e);
    }
  }

  private static final class Call_cursor_position {
    static final MethodHandle HANDLE = Library.critical("lapwing_cursor_position",
        FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS, ADDRESS, ADDRESS, ADDRESS));
  }

  static int cursor_position(MemorySegment cursor, MemorySegment position,
      MemorySegment output_bytes, MemorySegment output_file, MemorySegment error) {
    try {
      return (int) Call_cursor_position.HANDLE.invokeExact(cursor, position, output_bytes,
      output_file, error);
    } catch (Throwable e) {
      throw Library.unexpected(e);
    }
  }

  private static final class Call_cursor_commit {
    static final MethodHandle HANDLE = Library.call("lapwing_cursor_commit",
        FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS, JAVA_LONG, JAVA_LONG, ADDRESS));
  }

  static int cursor_commit(MemorySegment cursor, MemorySegment position, long output_bytes,
      long output_file, MemorySegment error) {
    try {
      return (int) Call_cursor_commit.HANDLE.invokeExact(cursor, position, output_bytes,
      output_file, error);
    } catch (Throwable e) {
      throw Library.unexpected(e);
    }
  }

  private static final class Call_cursor_destroy {
    static final MethodHandle HANDLE = Library.call("lapwing_cursor_destroy",
        FunctionDescriptor.ofVoid(ADDRESS));
  }

  static void cursor_destroy(MemorySegment cursor) {
    try {
      Call_cursor_destroy.HANDLE.invokeExact(cursor);
    } catch (Throwable e) {
      throw Library.unexpected(e);
    }
  }

  private static final class Call_history_open {
    static final MethodHandle HANDLE = Library.call("lapwing_history_open",
        FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS, ADDRESS));
  }

  static int history_open(MemorySegment directory, MemorySegment history, MemorySegment error) {
    try {
      return (int) Call_history_open.HANDLE.invokeExact(directory, history, error);
    } catch (Throwable e) {
      throw Library.unexpected(e);
    }
  }

  private static final class Call_history_inspect {
    static final MethodHandle HANDLE = Library.call("lapwing_history_inspect",
        FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS, ADDRESS));
  }

  static int history_inspect(MemorySegment history, MemorySegment info, MemorySegment error) {
    try {
      return (int) Call_history_inspect.HANDLE.invokeExact(history, info, error);
    } catch (Throwable e) {
      throw Library.unexpected(e);
    }
  }

  private static final class Call_history_read {
    static final MethodHandle HANDLE = Library.call("lapwing_history_read",
        FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_LONG, ADDRESS, ADDRESS));
  }

  static int history_read(MemorySegment history, long first, MemorySegment batch,
      MemorySegment error) {
    try {
      return (int) Call_history_read.HANDLE.invokeExact(history, first, batch, error);
    } catch (Throwable e) {
      throw Library.unexpected(e);
    }
  }

  private static final class Call_history_find_time {
    static final MethodHandle HANDLE = Library.call("lapwing_history_find_time",
        FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_LONG, ADDRESS, ADDRESS));
  }

  static int history_find_time(MemorySegment history, long utc_ns, MemorySegment sequence,
      MemorySegment error) {
    try {
      return (int) Call_history_find_time.HANDLE.invokeExact(history, utc_ns, sequence, error);
    } catch (Throwable e) {
      throw Library.unexpected(e);
    }
  }

  private static final class Call_history_map {
    static final MethodHandle HANDLE = Library.call("lapwing_history_map",
        FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_LONG, JAVA_LONG, ADDRESS, ADDRESS));
  }

  static int history_map(MemorySegment history, long first, long last, MemorySegment view,
      MemorySegment error) {
    try {
      return (int) Call_history_map.HANDLE.invokeExact(history, first, last, view, error);
    } catch (Throwable e) {
      throw Library.unexpected(e);
    }
  }

  private static final class Call_history_unmap {
    static final MethodHandle HANDLE = Library.call("lapwing_history_unmap",
        FunctionDescriptor.ofVoid(ADDRESS));
  }

  static void history_unmap(MemorySegment view) {
    try {
      Call_history_unmap.HANDLE.invokeExact(view);
    } catch (Throwable e) {
      throw Library.unexpected(e);
    }
  }

  private static final class Call_history_destroy {
    static final MethodHandle HANDLE = Library.call("lapwing_history_destroy",
        FunctionDescriptor.ofVoid(ADDRESS));
  }

  static void history_destroy(MemorySegment history) {
    try {
      Call_history_destroy.HANDLE.invokeExact(history);
    } catch (Throwable e) {
      throw Library.unexpected(e);
    }
  }

  private static final class Call_books_create {
    static final MethodHandle HANDLE = Library.call("lapwing_books_create",
        FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS));
  }

  static int books_create(MemorySegment books, MemorySegment error) {
    try {
      return (int) Call_books_create.HANDLE.invokeExact(books, error);
    } catch (Throwable e) {
      throw Library.unexpected(e);
    }
  }

  private static final class Call_books_take {
    static final MethodHandle HANDLE = Library.call("lapwing_books_take",
        FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS, ADDRESS));
  }

  static int books_take(MemorySegment books, MemorySegment batch, MemorySegment error) {
    try {
      return (int) Call_books_take.HANDLE.invokeExact(books, batch, error);
    } catch (Throwable e) {
      throw Library.unexpected(e);
    }
  }

  private static final class Call_books_inspect {
    static final MethodHandle HANDLE = Library.call("lapwing_books_inspect",
        FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS, ADDRESS));
  }

  static int books_inspect(MemorySegment books, MemorySegment info, MemorySegment error) {
    try {
      return (int) Call_books_inspect.HANDLE.invokeExact(books, info, error);
    } catch (Throwable e) {
      throw Library.unexpected(e);
    }
  }

  private static final class Call_books_list {
    static final MethodHandle HANDLE = Library.call("lapwing_books_list",
        FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS, JAVA_LONG, ADDRESS, ADDRESS));
  }

  static int books_list(MemorySegment books, MemorySegment keys, long max, MemorySegment count,
      MemorySegment error) {
    try {
      return (int) Call_books_list.HANDLE.invokeExact(books, keys, max, count, error);
    } catch (Throwable e) {
      throw Library.unexpected(e);
    }
  }

  private static final class Call_books_find {
    static final MethodHandle HANDLE = Library.critical("lapwing_books_find",
        FunctionDescriptor.of(JAVA_INT, ADDRESS, C.book_key.LAYOUT, ADDRESS, ADDRESS));
  }

  static int books_find(MemorySegment books, MemorySegment key, MemorySegment book,
      MemorySegment error) {
    try {
      return (int) Call_books_find.HANDLE.invokeExact(books, key, book, error);
    } catch (Throwable e) {
      throw Library.unexpected(e);
    }
  }

  private static final class Call_books_levels {
    static final MethodHandle HANDLE = Library.critical("lapwing_books_levels",
        FunctionDescriptor.of(JAVA_INT, ADDRESS, C.book_key.LAYOUT, JAVA_BYTE, JAVA_LONG, ADDRESS,
      JAVA_LONG, ADDRESS, ADDRESS));
  }

  static int books_levels(MemorySegment books, MemorySegment key, byte side, long from,
      MemorySegment levels, long max, MemorySegment count, MemorySegment error) {
    try {
      return (int) Call_books_levels.HANDLE.invokeExact(books, key, side, from, levels, max, count,
      error);
    } catch (Throwable e) {
      throw Library.unexpected(e);
    }
  }

  private static final class Call_books_orders {
    static final MethodHandle HANDLE = Library.call("lapwing_books_orders",
        FunctionDescriptor.of(JAVA_INT, ADDRESS, C.book_key.LAYOUT, JAVA_BYTE, JAVA_LONG, ADDRESS,
      JAVA_LONG, ADDRESS, ADDRESS));
  }

  static int books_orders(MemorySegment books, MemorySegment key, byte side, long level,
      MemorySegment orders, long max, MemorySegment count, MemorySegment error) {
    try {
      return (int) Call_books_orders.HANDLE.invokeExact(books, key, side, level, orders, max,
      count, error);
    } catch (Throwable e) {
      throw Library.unexpected(e);
    }
  }

  private static final class Call_books_destroy {
    static final MethodHandle HANDLE = Library.call("lapwing_books_destroy",
        FunctionDescriptor.ofVoid(ADDRESS));
  }

  static void books_destroy(MemorySegment books) {
    try {
      Call_books_destroy.HANDLE.invokeExact(books);
    } catch (Throwable e) {
      throw Library.unexpected(e);
    }
  }

  private static final class Call_channel_options_init {
    static final MethodHandle HANDLE = Library.call("lapwing_channel_options_init",
        FunctionDescriptor.ofVoid(ADDRESS, JAVA_INT));
  }

  static void channel_options_init(MemorySegment options, int struct_size) {
    try {
      Call_channel_options_init.HANDLE.invokeExact(options, struct_size);
    } catch (Throwable e) {
      throw Library.unexpected(e);
    }
  }

  private static final class Call_listener_open {
    static final MethodHandle HANDLE = Library.call("lapwing_listener_open",
        FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS, ADDRESS, ADDRESS));
  }

  static int listener_open(MemorySegment path, MemorySegment options, MemorySegment listener,
      MemorySegment error) {
    try {
      return (int) Call_listener_open.HANDLE.invokeExact(path, options, listener, error);
    } catch (Throwable e) {
      throw Library.unexpected(e);
    }
  }

  private static final class Call_listener_take_over {
    static final MethodHandle HANDLE = Library.call("lapwing_listener_take_over",
        FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS, JAVA_LONG, ADDRESS, ADDRESS));
  }

  static int listener_take_over(MemorySegment path, MemorySegment options, long timeout_ns,
      MemorySegment listener, MemorySegment error) {
    try {
      return (int) Call_listener_take_over.HANDLE.invokeExact(path, options, timeout_ns, listener,
      error);
    } catch (Throwable e) {
      throw Library.unexpected(e);
    }
  }

  private static final class Call_listener_accept {
    static final MethodHandle HANDLE = Library.call("lapwing_listener_accept",
        FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_INT, ADDRESS, JAVA_LONG, ADDRESS, ADDRESS));
  }

  static int listener_accept(MemorySegment listener, int role, MemorySegment options,
      long timeout_ns, MemorySegment channel, MemorySegment error) {
    try {
      return (int) Call_listener_accept.HANDLE.invokeExact(listener, role, options, timeout_ns,
      channel, error);
    } catch (Throwable e) {
      throw Library.unexpected(e);
    }
  }

  private static final class Call_listener_tend {
    static final MethodHandle HANDLE = Library.call("lapwing_listener_tend",
        FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS));
  }

  static int listener_tend(MemorySegment listener, MemorySegment error) {
    try {
      return (int) Call_listener_tend.HANDLE.invokeExact(listener, error);
    } catch (Throwable e) {
      throw Library.unexpected(e);
    }
  }

  private static final class Call_listener_fd {
    static final MethodHandle HANDLE = Library.critical("lapwing_listener_fd",
        FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS, ADDRESS));
  }

  static int listener_fd(MemorySegment listener, MemorySegment fd, MemorySegment error) {
    try {
      return (int) Call_listener_fd.HANDLE.invokeExact(listener, fd, error);
    } catch (Throwable e) {
      throw Library.unexpected(e);
    }
  }

  private static final class Call_listener_interrupt {
    static final MethodHandle HANDLE = Library.critical("lapwing_listener_interrupt",
        FunctionDescriptor.ofVoid(ADDRESS));
  }

  static void listener_interrupt(MemorySegment listener) {
    try {
      Call_listener_interrupt.HANDLE.invokeExact(listener);
    } catch (Throwable e) {
      throw Library.unexpected(e);
    }
  }

  private static final class Call_listener_destroy {
    static final MethodHandle HANDLE = Library.call("lapwing_listener_destroy",
        FunctionDescriptor.ofVoid(ADDRESS));
  }

  static void listener_destroy(MemorySegment listener) {
    try {
      Call_listener_destroy.HANDLE.invokeExact(listener);
    } catch (Throwable e) {
      throw Library.unexpected(e);
    }
  }

  private static final class Call_channel_connect {
    static final MethodHandle HANDLE = Library.call("lapwing_channel_connect",
        FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_INT, ADDRESS, JAVA_LONG, ADDRESS, ADDRESS));
  }

  static int channel_connect(MemorySegment path, int role, MemorySegment options, long timeout_ns,
      MemorySegment channel, MemorySegment error) {
    try {
      return (int) Call_channel_connect.HANDLE.invokeExact(path, role, options, timeout_ns,
      channel, error);
    } catch (Throwable e) {
      throw Library.unexpected(e);
    }
  }

  private static final class Call_channel_claim {
    static final MethodHandle HANDLE = Library.call("lapwing_channel_claim",
        FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_LONG, JAVA_LONG, ADDRESS, ADDRESS));
  }

  static int channel_claim(MemorySegment channel, long bytes, long timeout_ns,
      MemorySegment payload, MemorySegment error) {
    try {
      return (int) Call_channel_claim.HANDLE.invokeExact(channel, bytes, timeout_ns, payload,
      error);
    } catch (Throwable e) {
      throw Library.unexpected(e);
    }
  }

  private static final class Call_channel_claim_now {
    static final MethodHandle HANDLE = Library.critical("lapwing_channel_claim",
        FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_LONG, JAVA_LONG, ADDRESS, ADDRESS));
  }

  static int channel_claim_now(MemorySegment channel, long bytes, long timeout_ns,
      MemorySegment payload, MemorySegment error) {
    try {
      return (int) Call_channel_claim_now.HANDLE.invokeExact(channel, bytes, timeout_ns, payload,
      error);
    } catch (Throwable e) {
      throw Library.unexpected(e);
    }
  }

  private static final class Call_channel_commit {
    static final MethodHandle HANDLE = Library.critical("lapwing_channel_commit",
        FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_LONG, JAVA_INT, ADDRESS));
  }

  static int channel_commit(MemorySegment channel, long bytes, int type, MemorySegment error) {
    try {
      return (int) Call_channel_commit.HANDLE.invokeExact(channel, bytes, type, error);
    } catch (Throwable e) {
      throw Library.unexpected(e);
    }
  }

  private static final class Call_channel_abort {
    static final MethodHandle HANDLE = Library.critical("lapwing_channel_abort",
        FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS));
  }

  static int channel_abort(MemorySegment channel, MemorySegment error) {
    try {
      return (int) Call_channel_abort.HANDLE.invokeExact(channel, error);
    } catch (Throwable e) {
      throw Library.unexpected(e);
    }
  }

  private static final class Call_channel_send {
    static final MethodHandle HANDLE = Library.call("lapwing_channel_send",
        FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS, JAVA_LONG, JAVA_LONG, ADDRESS, ADDRESS));
  }

  static int channel_send(MemorySegment channel, MemorySegment messages, long count,
      long timeout_ns, MemorySegment sent, MemorySegment error) {
    try {
      return (int) Call_channel_send.HANDLE.invokeExact(channel, messages, count, timeout_ns, sent,
      error);
    } catch (Throwable e) {
      throw Library.unexpected(e);
    }
  }

  private static final class Call_channel_drain {
    static final MethodHandle HANDLE = Library.call("lapwing_channel_drain",
        FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_LONG, ADDRESS));
  }

  static int channel_drain(MemorySegment channel, long timeout_ns, MemorySegment error) {
    try {
      return (int) Call_channel_drain.HANDLE.invokeExact(channel, timeout_ns, error);
    } catch (Throwable e) {
      throw Library.unexpected(e);
    }
  }

  private static final class Call_channel_peek {
    static final MethodHandle HANDLE = Library.call("lapwing_channel_peek",
        FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS, JAVA_LONG, JAVA_LONG, ADDRESS, ADDRESS));
  }

  static int channel_peek(MemorySegment channel, MemorySegment messages, long max, long timeout_ns,
      MemorySegment count, MemorySegment error) {
    try {
      return (int) Call_channel_peek.HANDLE.invokeExact(channel, messages, max, timeout_ns, count,
      error);
    } catch (Throwable e) {
      throw Library.unexpected(e);
    }
  }

  private static final class Call_channel_peek_now {
    static final MethodHandle HANDLE = Library.critical("lapwing_channel_peek",
        FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS, JAVA_LONG, JAVA_LONG, ADDRESS, ADDRESS));
  }

  static int channel_peek_now(MemorySegment channel, MemorySegment messages, long max,
      long timeout_ns, MemorySegment count, MemorySegment error) {
    try {
      return (int) Call_channel_peek_now.HANDLE.invokeExact(channel, messages, max, timeout_ns,
      count, error);
    } catch (Throwable e) {
      throw Library.unexpected(e);
    }
  }

  private static final class Call_channel_release {
    static final MethodHandle HANDLE = Library.critical("lapwing_channel_release",
        FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_LONG, ADDRESS));
  }

  static int channel_release(MemorySegment channel, long count, MemorySegment error) {
    try {
      return (int) Call_channel_release.HANDLE.invokeExact(channel, count, error);
    } catch (Throwable e) {
      throw Library.unexpected(e);
    }
  }

  private static final class Call_channel_start {
    static final MethodHandle HANDLE = Library.call("lapwing_channel_start",
        FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS, JAVA_LONG, ADDRESS, ADDRESS));
  }

  static int channel_start(MemorySegment channel, MemorySegment request, long timeout_ns,
      MemorySegment call, MemorySegment error) {
    try {
      return (int) Call_channel_start.HANDLE.invokeExact(channel, request, timeout_ns, call, error);
    } catch (Throwable e) {
      throw Library.unexpected(e);
    }
  }

  private static final class Call_channel_finish {
    static final MethodHandle HANDLE = Library.call("lapwing_channel_finish",
        FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_LONG, ADDRESS, ADDRESS));
  }

  static int channel_finish(MemorySegment channel, long call, MemorySegment reply,
      MemorySegment error) {
    try {
      return (int) Call_channel_finish.HANDLE.invokeExact(channel, call, reply, error);
    } catch (Throwable e) {
      throw Library.unexpected(e);
    }
  }

  private static final class Call_channel_finish_any {
    static final MethodHandle HANDLE = Library.call("lapwing_channel_finish_any",
        FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_LONG, ADDRESS, ADDRESS));
  }

  static int channel_finish_any(MemorySegment channel, long timeout_ns, MemorySegment reply,
      MemorySegment error) {
    try {
      return (int) Call_channel_finish_any.HANDLE.invokeExact(channel, timeout_ns, reply, error);
    } catch (Throwable e) {
      throw Library.unexpected(e);
    }
  }

  private static final class Call_channel_cancel {
    static final MethodHandle HANDLE = Library.call("lapwing_channel_cancel",
        FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_LONG, ADDRESS));
  }

  static int channel_cancel(MemorySegment channel, long call, MemorySegment error) {
    try {
      return (int) Call_channel_cancel.HANDLE.invokeExact(channel, call, error);
    } catch (Throwable e) {
      throw Library.unexpected(e);
    }
  }

  private static final class Call_channel_next {
    static final MethodHandle HANDLE = Library.call("lapwing_channel_next",
        FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_LONG, ADDRESS, ADDRESS));
  }

  static int channel_next(MemorySegment channel, long timeout_ns, MemorySegment request,
      MemorySegment error) {
    try {
      return (int) Call_channel_next.HANDLE.invokeExact(channel, timeout_ns, request, error);
    } catch (Throwable e) {
      throw Library.unexpected(e);
    }
  }

  private static final class Call_channel_reply {
    static final MethodHandle HANDLE = Library.call("lapwing_channel_reply",
        FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS, JAVA_LONG, ADDRESS));
  }

  static int channel_reply(MemorySegment channel, MemorySegment reply, long timeout_ns,
      MemorySegment error) {
    try {
      return (int) Call_channel_reply.HANDLE.invokeExact(channel, reply, timeout_ns, error);
    } catch (Throwable e) {
      throw Library.unexpected(e);
    }
  }

  private static final class Call_channel_arm {
    static final MethodHandle HANDLE = Library.call("lapwing_channel_arm",
        FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_LONG, ADDRESS, ADDRESS));
  }

  static int channel_arm(MemorySegment channel, long bytes, MemorySegment armed,
      MemorySegment error) {
    try {
      return (int) Call_channel_arm.HANDLE.invokeExact(channel, bytes, armed, error);
    } catch (Throwable e) {
      throw Library.unexpected(e);
    }
  }

  private static final class Call_channel_fd {
    static final MethodHandle HANDLE = Library.critical("lapwing_channel_fd",
        FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS, ADDRESS));
  }

  static int channel_fd(MemorySegment channel, MemorySegment fd, MemorySegment error) {
    try {
      return (int) Call_channel_fd.HANDLE.invokeExact(channel, fd, error);
    } catch (Throwable e) {
      throw Library.unexpected(e);
    }
  }

  private static final class Call_channel_inspect {
    static final MethodHandle HANDLE = Library.call("lapwing_channel_inspect",
        FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS, ADDRESS));
  }

  static int channel_inspect(MemorySegment channel, MemorySegment info, MemorySegment error) {
    try {
      return (int) Call_channel_inspect.HANDLE.invokeExact(channel, info, error);
    } catch (Throwable e) {
      throw Library.unexpected(e);
    }
  }

  private static final class Call_channel_interrupt {
    static final MethodHandle HANDLE = Library.critical("lapwing_channel_interrupt",
        FunctionDescriptor.ofVoid(ADDRESS));
  }

  static void channel_interrupt(MemorySegment channel) {
    try {
      Call_channel_interrupt.HANDLE.invokeExact(channel);
    } catch (Throwable e) {
      throw Library.unexpected(e);
    }
  }

  private static final class Call_channel_close {
    static final MethodHandle HANDLE = Library.call("lapwing_channel_close",
        FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS));
  }

  static int channel_close(MemorySegment channel, MemorySegment error) {
    try {
      return (int) Call_channel_close.HANDLE.invokeExact(channel, error);
    } catch (Throwable e) {
      throw Library.unexpected(e);
    }
  }

  private static final class Call_channel_destroy {
    static final MethodHandle HANDLE = Library.call("lapwing_channel_destroy",
        FunctionDescriptor.ofVoid(ADDRESS));
  }

  static void channel_destroy(MemorySegment channel) {
    try {
      Call_channel_destroy.HANDLE.invokeExact(channel);
    } catch (Throwable e) {
      throw Library.unexpected(e);
    }
  }

  private static final class Call_symbols_open {
    static final MethodHandle HANDLE = Library.call("lapwing_symbols_open",
        FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS, ADDRESS));
  }

  static int symbols_open(MemorySegment directory, MemorySegment symbols, MemorySegment error) {
    try {
      return (int) Call_symbols_open.HANDLE.invokeExact(directory, symbols, error);
    } catch (Throwable e) {
      throw Library.unexpected(e);
    }
  }

  private static final class Call_symbols_find {
    static final MethodHandle HANDLE = Library.call("lapwing_symbols_find",
        FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS, JAVA_LONG, ADDRESS, ADDRESS));
  }

  static int symbols_find(MemorySegment symbols, MemorySegment symbol, long utc_ns,
      MemorySegment instrument_id, MemorySegment error) {
    try {
      return (int) Call_symbols_find.HANDLE.invokeExact(symbols, symbol, utc_ns, instrument_id,
      error);
    } catch (Throwable e) {
      throw Library.unexpected(e);
    }
  }

  private static final class Call_symbols_name {
    static final MethodHandle HANDLE = Library.call("lapwing_symbols_name",
        FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_INT, JAVA_LONG, ADDRESS, ADDRESS));
  }

  static int symbols_name(MemorySegment symbols, int instrument_id, long utc_ns,
      MemorySegment mapping, MemorySegment error) {
    try {
      return (int) Call_symbols_name.HANDLE.invokeExact(symbols, instrument_id, utc_ns, mapping,
      error);
    } catch (Throwable e) {
      throw Library.unexpected(e);
    }
  }

  private static final class Call_symbols_list {
    static final MethodHandle HANDLE = Library.call("lapwing_symbols_list",
        FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS, JAVA_LONG, ADDRESS, ADDRESS));
  }

  static int symbols_list(MemorySegment symbols, MemorySegment mappings, long max,
      MemorySegment count, MemorySegment error) {
    try {
      return (int) Call_symbols_list.HANDLE.invokeExact(symbols, mappings, max, count, error);
    } catch (Throwable e) {
      throw Library.unexpected(e);
    }
  }

  private static final class Call_symbols_destroy {
    static final MethodHandle HANDLE = Library.call("lapwing_symbols_destroy",
        FunctionDescriptor.ofVoid(ADDRESS));
  }

  static void symbols_destroy(MemorySegment symbols) {
    try {
      Call_symbols_destroy.HANDLE.invokeExact(symbols);
    } catch (Throwable e) {
      throw Library.unexpected(e);
    }
  }

  private static final class Call_wait_set_open {
    static final MethodHandle HANDLE = Library.call("lapwing_wait_set_open",
        FunctionDescriptor.of(JAVA_INT, JAVA_INT, ADDRESS, ADDRESS));
  }

  static int wait_set_open(int wait, MemorySegment set, MemorySegment error) {
    try {
      return (int) Call_wait_set_open.HANDLE.invokeExact(wait, set, error);
    } catch (Throwable e) {
      throw Library.unexpected(e);
    }
  }

  private static final class Call_wait_set_add_subscriber {
    static final MethodHandle HANDLE = Library.call("lapwing_wait_set_add_subscriber",
        FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS, JAVA_LONG, ADDRESS, ADDRESS));
  }

  static int wait_set_add_subscriber(MemorySegment set, MemorySegment subscriber, long token,
      MemorySegment source, MemorySegment error) {
    try {
      return (int) Call_wait_set_add_subscriber.HANDLE.invokeExact(set, subscriber, token, source,
      error);
    } catch (Throwable e) {
      throw Library.unexpected(e);
    }
  }

  private static final class Call_wait_set_add_channel {
    static final MethodHandle HANDLE = Library.call("lapwing_wait_set_add_channel",
        FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS, JAVA_LONG, JAVA_LONG, ADDRESS, ADDRESS));
  }

  static int wait_set_add_channel(MemorySegment set, MemorySegment channel, long bytes, long token,
      MemorySegment source, MemorySegment error) {
    try {
      return (int) Call_wait_set_add_channel.HANDLE.invokeExact(set, channel, bytes, token, source,
      error);
    } catch (Throwable e) {
      throw Library.unexpected(e);
    }
  }

  private static final class Call_wait_set_add_listener {
    static final MethodHandle HANDLE = Library.call("lapwing_wait_set_add_listener",
        FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS, JAVA_LONG, ADDRESS, ADDRESS));
  }

  static int wait_set_add_listener(MemorySegment set, MemorySegment listener, long token,
      MemorySegment source, MemorySegment error) {
    try {
      return (int) Call_wait_set_add_listener.HANDLE.invokeExact(set, listener, token, source,
      error);
    } catch (Throwable e) {
      throw Library.unexpected(e);
    }
  }

  private static final class Call_wait_set_add_fd {
    static final MethodHandle HANDLE = Library.call("lapwing_wait_set_add_fd",
        FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_INT, JAVA_INT, JAVA_LONG, ADDRESS, ADDRESS));
  }

  static int wait_set_add_fd(MemorySegment set, int fd, int events, long token,
      MemorySegment source, MemorySegment error) {
    try {
      return (int) Call_wait_set_add_fd.HANDLE.invokeExact(set, fd, events, token, source, error);
    } catch (Throwable e) {
      throw Library.unexpected(e);
    }
  }

  private static final class Call_wait_set_add_timer {
    static final MethodHandle HANDLE = Library.call("lapwing_wait_set_add_timer",
        FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_LONG, JAVA_LONG, JAVA_LONG, ADDRESS,
      ADDRESS));
  }

  static int wait_set_add_timer(MemorySegment set, long in_ns, long every_ns, long token,
      MemorySegment source, MemorySegment error) {
    try {
      return (int) Call_wait_set_add_timer.HANDLE.invokeExact(set, in_ns, every_ns, token, source,
      error);
    } catch (Throwable e) {
      throw Library.unexpected(e);
    }
  }

  private static final class Call_wait_set_set_timer {
    static final MethodHandle HANDLE = Library.call("lapwing_wait_set_set_timer",
        FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_LONG, JAVA_LONG, JAVA_LONG, ADDRESS));
  }

  static int wait_set_set_timer(MemorySegment set, long source, long in_ns, long every_ns,
      MemorySegment error) {
    try {
      return (int) Call_wait_set_set_timer.HANDLE.invokeExact(set, source, in_ns, every_ns, error);
    } catch (Throwable e) {
      throw Library.unexpected(e);
    }
  }

  private static final class Call_wait_set_remove {
    static final MethodHandle HANDLE = Library.call("lapwing_wait_set_remove",
        FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_LONG, ADDRESS));
  }

  static int wait_set_remove(MemorySegment set, long source, MemorySegment error) {
    try {
      return (int) Call_wait_set_remove.HANDLE.invokeExact(set, source, error);
    } catch (Throwable e) {
      throw Library.unexpected(e);
    }
  }

  private static final class Call_wait_set_wait {
    static final MethodHandle HANDLE = Library.call("lapwing_wait_set_wait",
        FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS, JAVA_LONG, ADDRESS));
  }

  static int wait_set_wait(MemorySegment set, MemorySegment ready, long timeout_ns,
      MemorySegment error) {
    try {
      return (int) Call_wait_set_wait.HANDLE.invokeExact(set, ready, timeout_ns, error);
    } catch (Throwable e) {
      throw Library.unexpected(e);
    }
  }

  private static final class Call_wait_set_interrupt {
    static final MethodHandle HANDLE = Library.critical("lapwing_wait_set_interrupt",
        FunctionDescriptor.ofVoid(ADDRESS));
  }

  static void wait_set_interrupt(MemorySegment set) {
    try {
      Call_wait_set_interrupt.HANDLE.invokeExact(set);
    } catch (Throwable e) {
      throw Library.unexpected(e);
    }
  }

  private static final class Call_wait_set_destroy {
    static final MethodHandle HANDLE = Library.call("lapwing_wait_set_destroy",
        FunctionDescriptor.ofVoid(ADDRESS));
  }

  static void wait_set_destroy(MemorySegment set) {
    try {
      Call_wait_set_destroy.HANDLE.invokeExact(set);
    } catch (Throwable e) {
      throw Library.unexpected(e);
    }
  }
}
