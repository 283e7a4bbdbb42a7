/* lapwing.h: the C interface of Lapwing. C11, and C++11 or newer. docs/reference/c.md explains it.
 *
 *   lapwing_subscriber_options options = LAPWING_SUBSCRIBER_OPTIONS_INIT;
 *   options.directory = "./es";
 *   lapwing_subscriber *subscriber = NULL;
 *   lapwing_error error = {.struct_size = sizeof error};
 *   if (lapwing_subscriber_open(&options, &subscriber, &error) != LAPWING_OK) die(error.message);
 *
 * 1  Results are numbers: LAPWING_OK, or one of the errors below. If a call fails and `error` is
 *    not NULL, *error, which the caller owns, receives the details. The library keeps no error per
 *    thread, because goroutines, virtual threads and worker pools change threads between two calls.
 * 2  Every struct that a call takes begins with struct_size. Set it to sizeof. Initialise options
 *    with their LAPWING_…_OPTIONS_INIT, which sets the size and the defaults. A field that is 0
 *    means 0, not the default. A struct longer than the library's is accepted if its tail is zero;
 *    otherwise the call returns invalid-argument. The missing tail of a shorter struct gets the
 *    defaults. Output structs are filled up to struct_size. Structs that are only parts of other
 *    structs or arrays (ids, positions, keys, levels, orders, fields, messages) have no struct_size
 *    and never change.
 * 3  Timeouts are nanoseconds from now. 0: the call does not wait, and returns would-block.
 *    LAPWING_FOREVER, or any negative number: no limit. Any other: timed-out after that time.
 *    Options that are durations accept LAPWING_FOREVER, LAPWING_NEVER or LAPWING_ON_REQUEST if
 *    their comment lists it. Any other negative number is invalid. 0 is valid only if a duration of
 *    zero is meaningful.
 * 4  Any thread may use a handle, but only one at a time. The caller orders one thread's use before
 *    the next one's. A call that is made while another one waits returns misuse. *_interrupt may be
 *    called at any time, including in a signal handler. The current wait, or else the next one,
 *    then returns interrupted, once.
 * 5  *_destroy(&handle) frees everything and sets the handle to NULL. No other call may be under
 *    way. Every call returns misuse for a NULL handle. destroy never waits for a disk: a library
 *    thread completes the closing of a publisher.
 * 6  In a forked child every call returns forked, and destroy only frees memory. The parent is not
 *    affected.
 * 7  Input strings are UTF-8, end with a zero and are copied; NULL is the same as "". Output
 *    strings are in fixed fields, end with a zero, and are truncated if they do not fit.
 * 8  No C++ exception leaves the library. The log function is the only callback.
 */
#ifndef LAPWING_H
#define LAPWING_H

#include <stddef.h>
#include <stdint.h>

#define LAPWING_ABI_MAJOR 1 /* the library is liblapwing.so.1 */
#define LAPWING_ABI_MINOR 0 /* incremented by every addition, which gets its own version node */
#define LAPWING_FOREVER INT64_C(-1)
#define LAPWING_NEVER INT64_C(-1)
#define LAPWING_ON_REQUEST INT64_C(-1)

#if defined(__GNUC__)
#define LAPWING_API __attribute__((visibility("default"), warn_unused_result))
#define LAPWING_API_V __attribute__((visibility("default")))
#else
#define LAPWING_API
#define LAPWING_API_V
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef int32_t lapwing_result;
enum {
  LAPWING_OK = 0,
  LAPWING_ERROR_INVALID_ARGUMENT = 1,   /* arguments contradict each other or violate a limit */
  LAPWING_ERROR_NO_BUS = 2,             /* no bus at this directory, no such channel */
  LAPWING_ERROR_IN_USE = 3,             /* another process uses this bus, journal, path or cursor */
  LAPWING_ERROR_NOT_PERMITTED = 4,      /* refused by the kernel or by an ownership check */
  LAPWING_ERROR_NO_SPACE = 5,           /* the disk or the tmpfs is full */
  LAPWING_ERROR_SYSTEM = 6,             /* any other failed system call: sys_errno */
  LAPWING_ERROR_DAMAGED = 7,            /* durable bytes differ from those that were written */
  LAPWING_ERROR_ABI_MISMATCH = 8,       /* the other side has another ABI version */
  LAPWING_ERROR_NOT_A_LAPWING_FILE = 9, /* the path is a file or directory of another kind */
  LAPWING_ERROR_JOURNAL_FAILED = 10,    /* a write or sync of the journal failed */
  LAPWING_ERROR_NO_JOURNAL = 11,        /* this bus keeps no journal */
  LAPWING_ERROR_PRUNED = 12,            /* the journal no longer keeps that sequence */
  LAPWING_ERROR_TIMED_OUT = 13,         /* the timeout passed while the call waited */
  LAPWING_ERROR_PUBLISHER_GONE = 14,    /* the publisher ended without closing */
  LAPWING_ERROR_REFUSED = 15,           /* the other side refused the connection */
  LAPWING_ERROR_PROTOCOL = 16,          /* the other side violates the protocol */
  LAPWING_ERROR_BAD_INPUT = 17,         /* bytes violate their format */
  LAPWING_ERROR_RECORD_SIZE = 18,       /* records of this size or type do not fit this bus */
  LAPWING_ERROR_PATH_TOO_LONG = 19,     /* the path is too long for a socket or a frame */
  LAPWING_ERROR_CLOSED = 20,            /* closed cleanly */
  LAPWING_ERROR_RESET = 21,             /* the history of a stored position no longer exists */
  LAPWING_ERROR_UNSUPPORTED = 22,       /* not supported by this kernel, container or file system */
  LAPWING_ERROR_LIMIT = 23,             /* a named limit is exhausted */
  LAPWING_ERROR_NOT_FOUND = 24,         /* a file, schema or sequence does not exist */
  LAPWING_ERROR_STOPPED_AT_GAP = 25,    /* there was a gap, and the policy is to stop at one */
  LAPWING_ERROR_PEER_GONE = 26,         /* a channel's other side has ended */
  LAPWING_ERROR_CORRUPT = 27,           /* a channel's other side wrote data that is not allowed */
  LAPWING_ERROR_WOULD_BLOCK = 28,       /* nothing is available, and the call does not wait */
  LAPWING_ERROR_MISUSE = 29,            /* invalid use of a call, which had no effect */
  LAPWING_ERROR_INTERRUPTED = 30,       /* *_interrupt ended the wait */
  LAPWING_ERROR_TOO_SMALL = 31,         /* the memory is too small for a row or message, so none was
                                           taken */
  LAPWING_ERROR_NO_MEMORY = 32,
  LAPWING_ERROR_FORKED = 33,            /* this is a forked child; its parent owns the handle */
  LAPWING_ERROR_EVENT_DUE = 34,         /* an event comes before the next record: read it */
  LAPWING_ERROR_NO_ANSWER = 35          /* the publisher did not answer a join; final */
};

typedef struct lapwing_publisher lapwing_publisher;
typedef struct lapwing_subscriber lapwing_subscriber;
typedef struct lapwing_cursor lapwing_cursor;
typedef struct lapwing_history lapwing_history;
typedef struct lapwing_books lapwing_books;
typedef struct lapwing_listener lapwing_listener;
typedef struct lapwing_channel lapwing_channel; /* a producer, a consumer or a duplex */
typedef struct lapwing_symbols lapwing_symbols;
typedef struct lapwing_wait_set lapwing_wait_set;

typedef struct lapwing_id { /* random; all zero: none */
  uint8_t bytes[16];
} lapwing_id;

typedef struct lapwing_error {
  uint32_t struct_size;
  lapwing_result code;
  int32_t sys_errno; /* errno of the failed system call; 0: none failed */
  uint32_t reserved;
  char message[496]; /* what happened, where, and what to do next */
} lapwing_error;

/* A position that a program can store, and resume from. */
typedef struct lapwing_position {
  lapwing_id journal_id;
  lapwing_id session_id;
  uint64_t sequence; /* the last record taken; 0: there is no position to resume from */
} lapwing_position;

/* ---- library --------------------------------------------------------------------------------- */

/* Returns the release, "0.2.0". *abi, if it is not NULL, receives major << 16 | minor. Refuse
 * another major version, and a minor version below the one that the program was compiled with. */
LAPWING_API_V const char *lapwing_version(uint32_t *abi);
/* Returns the name of an error, such as "timed-out", or "unknown". The string is static. */
LAPWING_API_V const char *lapwing_error_name(lapwing_result code);

/* Types, units and roles of fields: docs/reference/records.md. */
typedef uint32_t lapwing_type;
enum {
  LAPWING_TYPE_INT8 = 1, LAPWING_TYPE_INT16 = 2, LAPWING_TYPE_INT32 = 3, LAPWING_TYPE_INT64 = 4,
  LAPWING_TYPE_UINT8 = 5, LAPWING_TYPE_UINT16 = 6, LAPWING_TYPE_UINT32 = 7, LAPWING_TYPE_UINT64 = 8,
  LAPWING_TYPE_FLOAT32 = 9, LAPWING_TYPE_FLOAT64 = 10,
  LAPWING_TYPE_CHAR = 11, /* one character */
  LAPWING_TYPE_TEXT = 12, /* characters, up to the first zero or the end */
  LAPWING_TYPE_BYTES = 13
};
typedef uint32_t lapwing_unit;
enum {
  LAPWING_UNIT_PLAIN = 0,
  LAPWING_UNIT_PRICE = 1,  /* int64, 1e-9 of a currency or point; the maximum means none */
  LAPWING_UNIT_UTC_NS = 2, /* uint64, ns since 1970; the maximum means none */
  LAPWING_UNIT_FLAGS = 3   /* unsigned, a sum of named bits */
};
typedef uint32_t lapwing_role;
enum {
  LAPWING_ROLE_DATA = 0,
  LAPWING_ROLE_TIME = 1, /* of the record, UTC ns */
  LAPWING_ROLE_KEY = 2,  /* the subject of the record; there may be several */
  LAPWING_ROLE_PUBLISH_TIME = 3, /* UTC ns */
  LAPWING_ROLE_SPARE = 4 /* unused bytes */
};

typedef struct lapwing_field { /* a field of a record; little-endian */
  char name[64];
  uint32_t offset;
  uint32_t bytes;
  lapwing_type type;
  lapwing_unit unit;
  lapwing_role role;
  uint32_t reserved;
} lapwing_field;

typedef struct lapwing_schema {
  uint32_t struct_size;
  uint32_t record_bytes;
  char name[32];
  uint32_t version;
  uint32_t reserved;
  uint64_t hash;
  size_t field_count;
  size_t text_bytes; /* size of the text, including its zero */
} lapwing_schema;

/* Returns the fields of the records of the bus in `directory`, or if that is NULL, of the schema
 * `name`. `name` is a schema that Lapwing ships ("dbn.mbo", "kv16" …, the newest version), or
 * "orders" for the entries of that fold. It is ignored if a directory is given. *schema is filled
 * in, even with too-small. `fields` receives schema->field_count fields, in the order of their
 * offsets. `text` receives the whole description in JSON, including the names of values. The
 * options `schema` and `expect` below take this text. `fields` and `text` may be NULL, with a size
 * of 0.
 * Errors: not-found (no such schema; the bus's records are not described), no-bus, too-small,
 * invalid-argument, damaged, system. */
LAPWING_API lapwing_result lapwing_schema_fields(const char *directory, const char *name,
    lapwing_schema *schema, lapwing_field *fields, size_t fields_max, char *text,
    size_t text_bytes_max, lapwing_error *error);

/* Sets the function that receives the log lines of all publishers of the process. By default, lines
 * are dropped. `log` is called on library threads, one line at a time, while no lock of the library
 * is held. It may fork and call Lapwing. Calls that would wait for the thread that runs it return
 * misuse: publish, flush and close of the publisher that logs. Lines that arrive while it runs are
 * delivered after it returns, at most 256 of them. Once lapwing_log_set returns, the previous
 * function is no longer called. If that function itself calls lapwing_log_set, the call returns at
 * once. NULL: lines are dropped again. */
typedef void (*lapwing_log_fn)(void *user, const char *line);
LAPWING_API_V void lapwing_log_set(lapwing_log_fn log, void *user);
/* Puts lines into a queue of 256, instead of passing them to a function. If the queue is full, the
 * oldest line is dropped and counted. lapwing_log_set ends the queue. */
LAPWING_API_V void lapwing_log_queue(void);
/* Reads the oldest line of the queue, truncated at `bytes`. *dropped, if it is not NULL, receives
 * the number of lines dropped since the last call. would-block: the queue is empty. too-small:
 * `bytes` is 0. */
LAPWING_API lapwing_result lapwing_log_read(char *line, size_t bytes, uint64_t *dropped);

/* ---- publisher ------------------------------------------------------------------------------- */

enum {
  LAPWING_PUBLISHER_NO_JOURNAL = 1, /* lapped records are lost to readers */
  LAPWING_PUBLISHER_HUGE_PAGES = 2, /* the ring is backed by huge pages, or open fails */
  LAPWING_PUBLISHER_RESUME = 4,     /* continues source_id after its records in the journal */
  LAPWING_PUBLISHER_GROUP = 8,      /* members of `group` may read */
  LAPWING_PUBLISHER_RESTAMPED = 16  /* publish times are this publisher's, not the feed's */
};
typedef uint32_t lapwing_on_journal_lag;
enum {
  LAPWING_ON_JOURNAL_LAG_WAIT = 1, /* if the journal is one full ring behind, publish waits */
  LAPWING_ON_JOURNAL_LAG_SHED = 2  /* publish stops journaling for the rest of the session */
};
typedef uint32_t lapwing_on_journal_failure;
enum {
  LAPWING_ON_JOURNAL_FAILURE_CONTINUE = 1, /* after a failure, publishing continues live */
  LAPWING_ON_JOURNAL_FAILURE_STOP = 2      /* publishing ends */
};

typedef struct lapwing_publisher_options {
  uint32_t struct_size;
  uint32_t flags;
  const char *directory;   /* of the bus; created if missing */
  const char *name;        /* NULL: the directory's last component */
  const char *schema_name; /* shipped, or your own; NULL: that of `schema`, else "bytes" */
  const char *schema;      /* JSON (lapwing_schema_fields); NULL: none, or the shipped one */
  uint32_t record_bytes;   /* 8 to 4,088; 0: that of `schema`, else 56 */
  uint32_t group;          /* gid, with LAPWING_PUBLISHER_GROUP */
  uint64_t capacity;       /* slots, a power of two; 0: as many as fit, up to 1,048,576 */
  const char *ring_directory;    /* NULL: the bus directory on tmpfs, else one in /dev/shm */
  const char *journal_directory; /* NULL: <directory>/journal */
  uint64_t segment_bytes;        /* of slots, a power of two */
  int64_t sync_interval_ns;      /* or LAPWING_ON_REQUEST */
  uint64_t retain_bytes;         /* 0: no limit; otherwise the oldest segments are removed */
  int64_t retain_age_ns;         /* the same, by a segment's newest record; or LAPWING_NEVER */
  lapwing_on_journal_lag on_journal_lag;
  lapwing_on_journal_failure on_journal_failure;
  const void *metadata;          /* raw DBN metadata of the feed */
  size_t metadata_bytes;
  uint64_t source_id;     /* of the source of the records; the journal keeps it */
  uint64_t source_offset; /* number of its records before the first published one */
} lapwing_publisher_options;
#define LAPWING_PUBLISHER_OPTIONS_INIT \
  {sizeof(lapwing_publisher_options), 0, NULL, NULL, NULL, NULL, 0, 0, 0, NULL, NULL, \
   UINT64_C(67108864), INT64_C(10000000), 0, LAPWING_NEVER, LAPWING_ON_JOURNAL_LAG_WAIT, \
   LAPWING_ON_JOURNAL_FAILURE_CONTINUE, NULL, 0, 0, 0}
/* The same, for languages without C macros. */
LAPWING_API_V void lapwing_publisher_options_init(lapwing_publisher_options *options,
    uint32_t struct_size);

/* How opening the publisher settled the previous session. */
typedef uint32_t lapwing_settled;
enum {
  LAPWING_SETTLED_FRESH = 1,     /* there was no journal: a new one */
  LAPWING_SETTLED_CONTINUED = 2, /* the last session had ended cleanly */
  LAPWING_SETTLED_RECOVERED = 3, /* it was killed; the missing records were in the ring */
  LAPWING_SETTLED_CUT = 4,       /* power cut: cut at durable, the rest reserved is a void */
  LAPWING_SETTLED_RESET = 5      /* the journal had failed: a new one */
};
typedef uint32_t lapwing_journal_state;
enum {
  LAPWING_JOURNAL_STATE_NONE = 0,
  LAPWING_JOURNAL_STATE_GOOD = 1,
  LAPWING_JOURNAL_STATE_FAILED = 2, /* durable is frozen; live records continue */
  LAPWING_JOURNAL_STATE_SHED = 3    /* the same, by LAPWING_ON_JOURNAL_LAG_SHED */
};

typedef struct lapwing_publisher_info {
  uint32_t struct_size;
  uint32_t record_bytes;
  lapwing_id journal_id;
  lapwing_id session_id;
  uint64_t first;         /* sequence of this session's first record */
  uint64_t head;          /* last published */
  uint64_t durable;       /* last that survives a power cut */
  uint64_t source_offset; /* records of the source that earlier sessions published */
  uint64_t subscribers;
  lapwing_settled settled;
  lapwing_journal_state journal_state;
  int32_t journal_errno;
  uint32_t reserved;
  uint64_t void_first; /* sequences that this start recorded as a void; 0, 0: none */
  uint64_t void_last;
  uint64_t journal_stalls; /* times publish waited for the journal */
  uint64_t journal_stall_ns_max;
  uint64_t journal_stall_ns_total;
  uint64_t idle_wakes; /* one for each sleeper and idle period */
  uint64_t doorbells;  /* wake-ups of parked subscribers */
} lapwing_publisher_info;

/* Takes the bus, settles the last session and begins a new one. Waits at most timeout_ns for
 * another publisher to end. Errors: in-use, damaged, no-space, not-permitted, invalid-argument,
 * record-size, path-too-long, not-a-lapwing-file, not-found, limit, unsupported, system. */
LAPWING_API lapwing_result lapwing_publisher_open(const lapwing_publisher_options *options,
    int64_t timeout_ns, lapwing_publisher **publisher, lapwing_error *error);
/* Publishes `count` records of record_bytes each, stored end to end, in order. *last, if it is not
 * NULL, receives the sequence of the last published one, even on failure; 0: none was published.
 * Waits only for the journal. Errors: record-size (record_bytes is not the bus's), timed-out,
 * would-block, interrupted. Final errors: journal-failed, closed. */
LAPWING_API lapwing_result lapwing_publisher_publish(lapwing_publisher *publisher,
    const void *records, size_t count, size_t record_bytes, int64_t timeout_ns, uint64_t *last,
    lapwing_error *error);
/* Waits until everything published is durable. *durable, if it is not NULL, receives the newest
 * durable sequence. */
LAPWING_API lapwing_result lapwing_publisher_flush(lapwing_publisher *publisher,
    int64_t timeout_ns, uint64_t *durable, lapwing_error *error);
LAPWING_API lapwing_result lapwing_publisher_inspect(lapwing_publisher *publisher,
    lapwing_publisher_info *info, lapwing_error *error);
/* Ends the session: makes everything durable, records the end and notifies subscribers. Idempotent.
 * timed-out, would-block: a library thread continues; a later close returns the result. */
LAPWING_API lapwing_result lapwing_publisher_close(lapwing_publisher *publisher,
    int64_t timeout_ns, lapwing_error *error);
LAPWING_API_V void lapwing_publisher_interrupt(lapwing_publisher *publisher);
/* Closes the session if it is still open, without waiting. At exit, the program waits at most 10 s
 * for such closes. */
LAPWING_API_V void lapwing_publisher_destroy(lapwing_publisher **publisher);

/* ---- subscriber ------------------------------------------------------------------------------ */

typedef uint32_t lapwing_batch_kind;
enum {
  LAPWING_BATCH_NOTHING = 0,
  LAPWING_BATCH_RECORDS = 1,
  LAPWING_BATCH_STATE = 2, /* rows are entries of a state */
  LAPWING_BATCH_EVENT = 3
};

/* Kinds of events: docs/reference/events.md. `sequence` is the field of lapwing_event. */
typedef uint32_t lapwing_event_kind;
enum {
  LAPWING_EVENT_GAP = 1,      /* first to last are missing from the ring; fillable: they follow */
  LAPWING_EVENT_LOST = 2,     /* no source has first to last */
  LAPWING_EVENT_SESSION = 3,  /* a session begins at `sequence`: the first one, or the next */
  LAPWING_EVENT_RESET = 4,    /* another history begins at `sequence` */
  LAPWING_EVENT_CAUGHT_UP = 5,      /* everything up to the join, `sequence`, was delivered */
  LAPWING_EVENT_STALE = 6,          /* the publisher is alive but silent */
  LAPWING_EVENT_PUBLISHER_GONE = 7, /* it ended without closing; waiting for the next one */
  LAPWING_EVENT_CLOSED = 8,         /* the session was closed after `sequence` */
  LAPWING_EVENT_SNAPSHOT_COMPLETE = 9, /* the state is complete, as of `sequence` */
  LAPWING_EVENT_NO_SNAPSHOT = 10, /* no checkpoint can be used; `sequence` comes first */
  LAPWING_EVENT_BEHIND = 11,      /* fallen behind behind_records or behind_time_ns */
  LAPWING_EVENT_LIVE = 12         /* everything published was taken */
};
typedef uint32_t lapwing_cause;
enum {
  LAPWING_CAUSE_LAPPED = 1,  /* the publisher overwrote them before they were read */
  LAPWING_CAUSE_SESSION = 2, /* between a dead session and the next one */
  LAPWING_CAUSE_VOID = 3,    /* will never exist; recorded after a power cut */
  LAPWING_CAUSE_PRUNED = 4,  /* retention removed them */
  LAPWING_CAUSE_DAMAGED = 5, /* bytes of the journal fail their checksum or are missing */
  LAPWING_CAUSE_NOT_RELAYED = 6, /* mirrored bus: they did not arrive from the origin */
  LAPWING_CAUSE_UPSTREAM = 7     /* mirrored bus: the origin lost them */
};

/* An event. The struct is flat, without a union, for foreign-function libraries. */
typedef struct lapwing_event {
  lapwing_event_kind kind;
  lapwing_cause cause; /* for gap and lost, and after a gap for snapshot-complete and no-snapshot;
                          otherwise 0, like first, last, resume and fillable */
  uint64_t sequence;
  uint64_t first;   /* of the missing range */
  uint64_t last;    /* inclusive; first - 1: nothing is missing, see `text` for the reason */
  uint64_t resume;  /* the next sequence to try in the ring */
  uint32_t fillable; /* 1: the journal contains the range */
  uint32_t record_bytes; /* of the records that follow */
  lapwing_id journal_id;
  lapwing_id session_id;
  uint64_t state_entries; /* snapshot-complete: of the state */
  uint32_t is_first_session; /* session: 1 for the first */
  uint32_t is_described;     /* 1: lapwing_subscriber_schema returns the fields */
  uint32_t is_filtered; /* 1: records of other instruments are left out, so a jump in the sequences
                           is not a loss */
  uint32_t is_skipped;  /* gap: 1: no record of the range follows */
  char schema_name[32];
  char fold[32]; /* of the state that was loaded */
  char text[512]; /* a message: the cause, the checkpoint, how a session ended */
} lapwing_event;

enum {
  LAPWING_BATCH_SPARSE = 1 /* rows are not consecutive: see `sequences` */
};

typedef struct lapwing_batch {
  uint32_t struct_size;
  lapwing_batch_kind kind; /* out */
  /* In: the caller's memory. */
  void *rows;         /* rows, end to end */
  size_t rows_bytes;  /* size of `rows` */
  uint64_t *sequences; /* a column of rows_max, or NULL; receives the sequence of each record */
  uint64_t *conflated; /* the same; receives the number of older records that each row replaces */
  size_t rows_max;     /* 0: as many as fit into `rows`; required with a column */
  /* Out. */
  size_t count;       /* rows */
  uint64_t first;     /* sequence of row 0. Row i is first + i, except with LAPWING_BATCH_SPARSE */
  uint32_t row_bytes; /* size of a record, or of an entry of the state */
  uint32_t flags;
  lapwing_event event; /* with LAPWING_BATCH_EVENT */
} lapwing_batch;

typedef uint32_t lapwing_start;
enum {
  LAPWING_START_LIVE = 0,     /* the next record that is published */
  LAPWING_START_OLDEST = 1,   /* the oldest record that is kept */
  LAPWING_START_SEQUENCE = 2, /* start_value */
  LAPWING_START_TIME = 3,     /* start_value, UTC ns: at or a little before */
  LAPWING_START_SNAPSHOT = 4, /* the state of the newest checkpoint, then the records after it */
  LAPWING_START_AFTER = 5     /* start_position */
};
typedef uint32_t lapwing_on_gap;
enum {
  LAPWING_ON_GAP_FILL = 1,    /* read it from the journal */
  LAPWING_ON_GAP_SKIP = 2,    /* report it, and continue in the ring */
  LAPWING_ON_GAP_STOP = 3,    /* report it, and end with stopped-at-gap */
  LAPWING_ON_GAP_SNAPSHOT = 4 /* report it, and continue with the newest checkpoint's state */
};
typedef uint32_t lapwing_wait;
enum {
  LAPWING_WAIT_BUSY = 1,    /* spins; needs a core of its own */
  LAPWING_WAIT_BACKOFF = 2, /* spins for a while, then yields, then sleeps */
  LAPWING_WAIT_PARK = 3     /* sleeps at once */
};
enum {
  LAPWING_SUBSCRIBER_END_AT_CLOSE = 1, /* a clean close ends reading, with closed */
  LAPWING_SUBSCRIBER_CONFLATE = 2,     /* the newest record of each key, once per interval */
  LAPWING_SUBSCRIBER_OBSERVES = 4      /* only displays records: see docs/how-to/monitor.md */
};

typedef struct lapwing_subscriber_options {
  uint32_t struct_size;
  uint32_t flags;
  const char *directory; /* of the bus */
  const char *name;      /* shown by `lapwing subscribers` */
  lapwing_start start;
  lapwing_on_gap on_gap;
  lapwing_wait wait;
  uint32_t behind_records;     /* limit of the events behind and live; 0: none */
  uint64_t start_value;
  lapwing_position start_position;
  const char *fold;   /* fold of the state; NULL: the schema's default */
  const char *expect; /* the required description of the records in JSON; NULL: any */
  const char *const *instruments; /* symbols, even if all digits, or "id:5930"; NULL: all */
  size_t instrument_count;
  int64_t reattach_ns;      /* how long to wait for a bus or publisher; or LAPWING_FOREVER */
  int64_t flush_timeout_ns; /* how long the publisher may take for the join; or LAPWING_FOREVER */
  int64_t stale_after_ns;   /* or LAPWING_NEVER */
  int64_t behind_time_ns;   /* or LAPWING_NEVER */
  int64_t conflate_interval_ns; /* with LAPWING_SUBSCRIBER_CONFLATE */
  uint32_t conflate_keys_max;   /* the same; more keys end the interval early */
  uint32_t measure_every; /* measures every Nth record's age (lapwing_subscriber_ages); 0: none */
} lapwing_subscriber_options;
#define LAPWING_SUBSCRIBER_OPTIONS_INIT \
  {sizeof(lapwing_subscriber_options), 0, NULL, NULL, LAPWING_START_LIVE, LAPWING_ON_GAP_FILL, \
   LAPWING_WAIT_BACKOFF, 0, 0, {{{0}}, {{0}}, 0}, NULL, NULL, NULL, 0, INT64_C(30000000000), \
   INT64_C(10000000000), LAPWING_NEVER, LAPWING_NEVER, INT64_C(250000000), 65536, 0}
LAPWING_API_V void lapwing_subscriber_options_init(lapwing_subscriber_options *options,
    uint32_t struct_size);

typedef struct lapwing_ages { /* times from publishing a record to its delivery */
  uint32_t struct_size;
  uint32_t reserved;
  uint64_t count;
  uint64_t negative;  /* without an age: the publish time is in the future */
  uint64_t unstamped; /* without an age: there is no publish time */
  uint64_t p50_ns;    /* at most 25 % too high, like all percentiles here */
  uint64_t p90_ns;
  uint64_t p99_ns;
  uint64_t p999_ns;
  uint64_t max_ns;
} lapwing_ages;

typedef struct lapwing_subscriber_info {
  uint32_t struct_size;
  uint32_t record_bytes; /* of the last delivered session; 0: none was delivered */
  char schema_name[32];
  char fold[32]; /* empty before the first state */
  lapwing_id journal_id; /* both ids are those of lapwing_subscriber_position */
  lapwing_id session_id;
  uint64_t head;    /* the newest record, as of now; 0 while no bus is attached */
  uint64_t lag;     /* records behind it */
  uint64_t durable; /* records up to here survive a power cut */
  uint32_t is_live; /* 1: it reads the ring, at most behind_records behind */
  uint32_t is_described;
  uint64_t records; /* delivered */
  uint64_t first;   /* since the last reset */
  uint64_t last;
  uint64_t gaps;
  uint64_t lost;
  uint64_t in_state; /* after a gap, not delivered because a state contains them */
  uint64_t filled;
  uint64_t duplicates;
  uint64_t out_of_order;
  uint64_t sessions;
  uint64_t reattached;
  uint64_t state_entries; /* of all states */
  uint64_t filtered;      /* of other instruments */
  uint64_t conflated;     /* replaced by newer records of their keys */
  uint64_t waiting;       /* keys whose newest record waits for the end of the interval */
} lapwing_subscriber_info;

/* Checks the options. Never waits: the calls that read find the bus. */
LAPWING_API lapwing_result lapwing_subscriber_open(const lapwing_subscriber_options *options,
    lapwing_subscriber **subscriber, lapwing_error *error);
/* Reads rows, or one event. would-block, timed-out, interrupted: nothing was read. too-small:
 * row_bytes is the size of a row; nothing was consumed. All other errors are final: closed (with
 * LAPWING_SUBSCRIBER_END_AT_CLOSE), publisher-gone, no-bus, stopped-at-gap, record-size ….
 * All rows of a batch have the same session, size and kind. */
LAPWING_API lapwing_result lapwing_subscriber_read(lapwing_subscriber *subscriber,
    lapwing_batch *batch, int64_t timeout_ns, lapwing_error *error);
/* Reads only the next record: the fast path. `record` receives it, and *sequence its sequence.
 * event-due: call lapwing_subscriber_read first. record-size: records have another size.
 * Other errors: those of lapwing_subscriber_read. */
LAPWING_API lapwing_result lapwing_subscriber_read_one(lapwing_subscriber *subscriber, void *record,
    size_t record_bytes, int64_t timeout_ns, uint64_t *sequence, lapwing_error *error);
/* Returns the description of the records, as of the last delivered session or reset event.
 * The outputs are those of lapwing_schema_fields. not-found: the records are not described. misuse:
 * no session was delivered yet. */
LAPWING_API lapwing_result lapwing_subscriber_schema(lapwing_subscriber *subscriber,
    lapwing_schema *schema, lapwing_field *fields, size_t fields_max, char *text,
    size_t text_bytes_max, lapwing_error *error);
/* Returns the ages of the records that measure_every chose, as of their delivery. not-found: none
 * was chosen. */
LAPWING_API lapwing_result lapwing_subscriber_ages(lapwing_subscriber *subscriber,
    lapwing_ages *ages, lapwing_error *error);
LAPWING_API lapwing_result lapwing_subscriber_inspect(lapwing_subscriber *subscriber,
    lapwing_subscriber_info *info, lapwing_error *error);
/* Returns the position to store: after everything delivered if `sequence` is 0, otherwise after
 * that row of the last batch. invalid-argument: the batch has no such row. */
LAPWING_API lapwing_result lapwing_subscriber_position(lapwing_subscriber *subscriber,
    uint64_t sequence, lapwing_position *position, lapwing_error *error);
/* For an event loop. *fd belongs to the subscriber: do not close it. It is readable when a call
 * that returned would-block, timed-out or interrupted may have a result. Starts a helper
 * thread. With LAPWING_SUBSCRIBER_CONFLATE, also read at the end of each interval.
 * invalid-argument: with LAPWING_WAIT_BUSY. */
LAPWING_API lapwing_result lapwing_subscriber_fd(lapwing_subscriber *subscriber, int32_t *fd,
    lapwing_error *error);
LAPWING_API_V void lapwing_subscriber_interrupt(lapwing_subscriber *subscriber);
LAPWING_API_V void lapwing_subscriber_destroy(lapwing_subscriber **subscriber);

/* ---- cursor: a position that survives the process -------------------------------------------- */

enum { LAPWING_CURSOR_DURABLE = 1 }; /* commits survive a power cut; each costs a sync */

/* Waits for the lock of the file, takes it and reads the file. Creates the file if it is missing.
 * Errors: in-use, damaged, abi-mismatch, not-a-lapwing-file, invalid-argument, not-found,
 * not-permitted, no-space, system. */
LAPWING_API lapwing_result lapwing_cursor_open(const char *path, uint32_t flags,
    int64_t timeout_ns, lapwing_cursor **cursor, lapwing_error *error);
/* Returns the last commit, and the two numbers that were stored with it. Each output may be NULL.
 * not-found: nothing was committed yet. */
LAPWING_API lapwing_result lapwing_cursor_position(lapwing_cursor *cursor,
    lapwing_position *position, uint64_t *output_bytes, uint64_t *output_file,
    lapwing_error *error);
/* Records that everything up to `position` was processed. The two numbers are the end of the
 * program's own output at that position: the length and the number of a file, or 0. A position with
 * sequence 0 changes nothing. */
LAPWING_API lapwing_result lapwing_cursor_commit(lapwing_cursor *cursor,
    const lapwing_position *position, uint64_t output_bytes, uint64_t output_file,
    lapwing_error *error);
LAPWING_API_V void lapwing_cursor_destroy(lapwing_cursor **cursor);

/* ---- history: the journal by sequence, with a publisher or without --------------------------- */

typedef struct lapwing_history_info { /* as of the call */
  uint32_t struct_size;
  uint32_t record_bytes;
  char schema_name[32];
  lapwing_id journal_id;
  uint64_t oldest;   /* the oldest that is kept */
  uint64_t archived; /* the newest that can be read */
  uint64_t durable;
} lapwing_history_info;

typedef struct lapwing_view { /* row i is at rows + i * stride_bytes; read-only */
  uint32_t struct_size;
  uint32_t row_bytes;
  const void *rows;
  size_t stride_bytes;
  uint64_t first; /* sequence of row 0; row i is first + i */
  uint64_t count;
  void *token; /* for the library */
} lapwing_view;

/* Errors: no-bus, no-journal, damaged, not-permitted, not-a-lapwing-file, abi-mismatch, system. */
LAPWING_API lapwing_result lapwing_history_open(const char *directory, lapwing_history **history,
    lapwing_error *error);
LAPWING_API lapwing_result lapwing_history_inspect(lapwing_history *history,
    lapwing_history_info *info, lapwing_error *error);
/* Reads rows from `first` on, or one event lost. would-block: `first` is beyond `archived`.
 * invalid-argument: it is not a sequence. */
LAPWING_API lapwing_result lapwing_history_read(lapwing_history *history, uint64_t first,
    lapwing_batch *batch, lapwing_error *error);
/* Returns the sequence at which to begin reading so that no record published at or after utc_ns is
 * missed. */
LAPWING_API lapwing_result lapwing_history_find_time(lapwing_history *history, uint64_t utc_ns,
    uint64_t *sequence, lapwing_error *error);
/* Maps rows `first` to `last` in place, at most to the end of the finished segment that contains
 * `first`. Continue at view->first + view->count. The view outlives the history;
 * lapwing_history_unmap ends it. In a forked child the memory is not mapped.
 * Errors: would-block (the segment still grows), not-permitted (others may write to the file),
 * pruned, not-found (a void), damaged, invalid-argument, system. In the first two cases, use
 * lapwing_history_read. */
LAPWING_API lapwing_result lapwing_history_map(lapwing_history *history, uint64_t first,
    uint64_t last, lapwing_view *view, lapwing_error *error);
LAPWING_API_V void lapwing_history_unmap(lapwing_view *view);
LAPWING_API_V void lapwing_history_destroy(lapwing_history **history);

/* ---- order books of a bus of dbn.mbo --------------------------------------------------------- */

typedef struct lapwing_books_info {
  uint32_t struct_size;
  uint32_t is_settled; /* no book is inside an event of the venue, and no state is being loaded */
  uint32_t is_loading; /* a state is being loaded: the books contain a part of it */
  uint32_t reserved;
  uint64_t sequence; /* of the newest record in the books */
  uint64_t books;
  uint64_t orders;
  uint64_t digest; /* equal for equal books. Costs a sort of all orders */
} lapwing_books_info;

typedef struct lapwing_book_key {
  uint32_t instrument_id;
  uint16_t publisher_id;
  uint16_t reserved;
} lapwing_book_key;

typedef struct lapwing_level {
  int64_t price; /* 1e-9; INT64_MAX: none */
  uint64_t size; /* of all its orders */
  uint32_t orders; /* 0: a top, whose number of orders is unknown */
  uint32_t reserved;
} lapwing_level;

typedef struct lapwing_book {
  uint32_t struct_size;
  uint32_t is_settled; /* 0: inside an event of the venue */
  uint32_t is_stale;   /* 1: its orders may differ from the venue's */
  uint32_t has_tops;   /* 1: the feed contains the best price of each side, but no orders */
  lapwing_level bid; /* the best */
  lapwing_level ask;
  uint64_t bid_levels;
  uint64_t ask_levels;
  uint64_t orders;
  uint64_t sequence; /* of its last record; 0: none since a state was loaded */
  uint64_t ts_event; /* of the same record; UINT64_MAX: none */
  uint64_t ts_recv;
  uint64_t lost_through; /* the last sequence of the bus that was lost; 0: none */
} lapwing_book;

typedef struct lapwing_order {
  uint64_t order_id;
  int64_t price; /* 1e-9 */
  uint64_t place; /* queue rank; among equal prices the lower one is first */
  uint64_t ts_recv;
  uint32_t size; /* the remaining size */
  uint32_t flags;
} lapwing_order;

LAPWING_API lapwing_result lapwing_books_create(lapwing_books **books, lapwing_error *error);
/* Takes the batches of one subscriber in their order, including all its events. If it fails,
 * the books do not change. misuse: the batch does not follow the last one. record-size: its rows
 * are not of dbn.mbo or of the fold `orders`. invalid-argument: rows that replace others
 * (LAPWING_SUBSCRIBER_CONFLATE), or more rows than fit into the batch's memory. */
LAPWING_API lapwing_result lapwing_books_take(lapwing_books *books, const lapwing_batch *batch,
    lapwing_error *error);
LAPWING_API lapwing_result lapwing_books_inspect(lapwing_books *books, lapwing_books_info *info,
    lapwing_error *error);
/* Returns the keys of all books, by publisher, then by instrument. *count receives their number.
 * too-small: there are more than max, and the first max are written. */
LAPWING_API lapwing_result lapwing_books_list(lapwing_books *books, lapwing_book_key *keys,
    size_t max, size_t *count, lapwing_error *error);
/* not-found: there is no such book. */
LAPWING_API lapwing_result lapwing_books_find(lapwing_books *books, lapwing_book_key key,
    lapwing_book *book, lapwing_error *error);
/* Returns at most `max` levels of a side, 'B' or 'A', beginning at index `from`. Index 0 is the
 * best level. *count receives the number of levels written. */
LAPWING_API lapwing_result lapwing_books_levels(lapwing_books *books, lapwing_book_key key,
    char side, size_t from, lapwing_level *levels, size_t max, size_t *count,
    lapwing_error *error);
/* Returns the orders of a level in queue order. *count receives their number. too-small: there are
 * more than max, and the first max are written. not-found: there is no such level. */
LAPWING_API lapwing_result lapwing_books_orders(lapwing_books *books, lapwing_book_key key,
    char side, size_t level, lapwing_order *orders, size_t max, size_t *count,
    lapwing_error *error);
LAPWING_API_V void lapwing_books_destroy(lapwing_books **books);

/* ---- channels -------------------------------------------------------------------------------- */

typedef uint32_t lapwing_channel_role;
enum {
  LAPWING_CHANNEL_ROLE_PRODUCER = 1,
  LAPWING_CHANNEL_ROLE_CONSUMER = 2,
  LAPWING_CHANNEL_ROLE_DUPLEX = 3 /* calls and one-way messages, in both directions */
};
enum {
  LAPWING_CHANNEL_ALIGNED = 1, /* payloads are aligned to 64 bytes; without it, to 16, and those of
                                  49 to 56 bytes to 8 */
  LAPWING_CHANNEL_HUGE_PAGES = 2,    /* or fail */
  LAPWING_CHANNEL_NUMA = 4,          /* this side's memory is on numa_node, or fail */
  LAPWING_CHANNEL_PEER_UID = 8,      /* only that user is served, or connected to */
  LAPWING_CHANNEL_NO_MEMBARRIER = 16, /* a fence for each message instead of a system call */
  LAPWING_CHANNEL_LATE_REPLIES = 32  /* replies after a call's end are delivered, marked late */
};

typedef struct lapwing_channel_options { /* for sending; a consumer ignores sizes */
  uint32_t struct_size;
  uint32_t flags;
  const char *name;           /* shown by `lapwing info` */
  uint64_t capacity;          /* bytes, a power of two */
  uint32_t message_bytes_max;
  uint32_t call_window;       /* accepted unanswered calls, and untaken one-way messages */
  lapwing_wait wait;
  uint32_t numa_node;
  uint32_t peer_uid;
  uint32_t reserved;
  int64_t retry_ns; /* connect: how long to retry while no process listens */
} lapwing_channel_options;
#define LAPWING_CHANNEL_OPTIONS_INIT \
  {sizeof(lapwing_channel_options), 0, NULL, UINT64_C(1048576), 65536, 64, LAPWING_WAIT_BACKOFF, \
   0, 0, 0, 0}
LAPWING_API_V void lapwing_channel_options_init(lapwing_channel_options *options,
    uint32_t struct_size);

typedef struct lapwing_message {
  const void *payload;
  size_t bytes;
  uint32_t type; /* chosen by the sender */
  uint32_t reserved;
} lapwing_message;

typedef struct lapwing_reply {
  uint32_t struct_size;
  uint32_t is_error; /* the payload is an error's text, `code` its number */
  uint32_t is_late;  /* the call had ended already */
  uint32_t code;     /* of an error, chosen by the server */
  uint64_t call;
  lapwing_message message;
} lapwing_reply;

typedef struct lapwing_request {
  uint32_t struct_size;
  uint32_t reserved;
  uint64_t call; /* answer it with a reply; 0: one-way, no reply is expected */
  lapwing_message message;
} lapwing_request;

typedef struct lapwing_channel_info {
  uint32_t struct_size;
  lapwing_channel_role role;
  lapwing_id connection_id; /* the same on both sides */
  uint64_t message_bytes_max; /* for a consumer, of messages that arrive; else, that are sent */
  uint64_t sent;
  uint64_t received; /* and released */
  uint64_t released; /* sent messages that the other side reports as released */
  uint64_t full_waits;
  uint64_t empty_waits;
  uint64_t sleeps;
  uint64_t wakes; /* wake-ups of the other side; each is a system call */
  uint64_t late_replies;
} lapwing_channel_info;

/* Listens on a path. Uses only the option LAPWING_CHANNEL_PEER_UID; NULL: this user and root.
 * Errors: in-use (a process listens there), not-a-lapwing-file, not-permitted, not-found,
 * path-too-long, system. */
LAPWING_API lapwing_result lapwing_listener_open(const char *path,
    const lapwing_channel_options *options, lapwing_listener **listener, lapwing_error *error);
/* Replaces the process that listens there now, as soon as that process calls accept or tend.
 * Errors: no-bus, peer-gone, timed-out, refused, not-permitted, protocol. */
LAPWING_API lapwing_result lapwing_listener_take_over(const char *path,
    const lapwing_channel_options *options, int64_t timeout_ns, lapwing_listener **listener,
    lapwing_error *error);
/* Waits for the next peer. `role` is the role of this side. Errors: timed-out, would-block,
 * interrupted, closed (handed over), invalid-argument, limit, no-space, system. */
LAPWING_API lapwing_result lapwing_listener_accept(lapwing_listener *listener,
    lapwing_channel_role role, const lapwing_channel_options *options, int64_t timeout_ns,
    lapwing_channel **channel, lapwing_error *error);
/* Drops clients that stay silent, and lets a successor take over. Call it while a peer is served.
 * Never waits. closed: handed over. */
LAPWING_API lapwing_result lapwing_listener_tend(lapwing_listener *listener, lapwing_error *error);
/* *fd belongs to the listener. It is readable when the last call, accept or tend, would have
 * work to do if it were repeated. closed: handed over. */
LAPWING_API lapwing_result lapwing_listener_fd(lapwing_listener *listener, int32_t *fd,
    lapwing_error *error);
LAPWING_API_V void lapwing_listener_interrupt(lapwing_listener *listener);
LAPWING_API_V void lapwing_listener_destroy(lapwing_listener **listener);

/* Errors: no-bus (nothing is at the path), peer-gone (no process listens), timed-out, refused,
 * not-permitted, invalid-argument, abi-mismatch, protocol, no-space, limit, unsupported, system. */
LAPWING_API lapwing_result lapwing_channel_connect(const char *path, lapwing_channel_role role,
    const lapwing_channel_options *options, int64_t timeout_ns, lapwing_channel **channel,
    lapwing_error *error);
/* Returns room for a message of up to `bytes` in the channel's memory, valid until commit, abort or
 * the next claim. misuse: `bytes` is above the maximum, or the channel is not a producer. */
LAPWING_API lapwing_result lapwing_channel_claim(lapwing_channel *channel, size_t bytes,
    int64_t timeout_ns, void **payload, lapwing_error *error);
/* Sends the first `bytes` bytes of the claim. misuse: there is no claim, or it is smaller. */
LAPWING_API lapwing_result lapwing_channel_commit(lapwing_channel *channel, size_t bytes,
    uint32_t type, lapwing_error *error);
LAPWING_API lapwing_result lapwing_channel_abort(lapwing_channel *channel, lapwing_error *error);
/* Copies messages into the channel of a producer, or sends them as one-way messages of a duplex.
 * *sent, if it is not NULL, receives the number of sent messages, even on failure. */
LAPWING_API lapwing_result lapwing_channel_send(lapwing_channel *channel,
    const lapwing_message *messages, size_t count, int64_t timeout_ns, size_t *sent,
    lapwing_error *error);
/* For a producer: waits until the consumer has released everything. */
LAPWING_API lapwing_result lapwing_channel_drain(lapwing_channel *channel, int64_t timeout_ns,
    lapwing_error *error);
/* For a consumer: borrows up to `max` messages, beginning with the first one that is not released.
 * They are in the producer's memory, read-only, until they are released. Copy a message before you
 * validate it. */
LAPWING_API lapwing_result lapwing_channel_peek(lapwing_channel *channel,
    lapwing_message *messages, size_t max, int64_t timeout_ns, size_t *count,
    lapwing_error *error);
/* Releases the first `count` messages of the last peek. misuse: there were fewer. */
LAPWING_API lapwing_result lapwing_channel_release(lapwing_channel *channel, size_t count,
    lapwing_error *error);
/* For a duplex: sends a request. The reply must arrive within the timeout. *call identifies it. */
LAPWING_API lapwing_result lapwing_channel_start(lapwing_channel *channel,
    const lapwing_message *request, int64_t timeout_ns, uint64_t *call, lapwing_error *error);
/* Waits until that call ends, at most until its timeout. ok: the other side answered, with a reply
 * or with an error of its own. The payload stays valid until the next start or finish.
 * misuse: there is no such call. */
LAPWING_API lapwing_result lapwing_channel_finish(lapwing_channel *channel, uint64_t call,
    lapwing_reply *reply, lapwing_error *error);
/* Returns the next call that ends, or a late reply, as finish does. reply->call is 0 if none has
 * ended by the timeout. misuse: no call is under way. */
LAPWING_API lapwing_result lapwing_channel_finish_any(lapwing_channel *channel, int64_t timeout_ns,
    lapwing_reply *reply, lapwing_error *error);
/* Ends a call without a reply. */
LAPWING_API lapwing_result lapwing_channel_cancel(lapwing_channel *channel, uint64_t call,
    lapwing_error *error);
/* Returns the next call or one-way message of the other side. The payload stays valid until
 * lapwing_channel_next is called again. */
LAPWING_API lapwing_result lapwing_channel_next(lapwing_channel *channel, int64_t timeout_ns,
    lapwing_request *request, lapwing_error *error);
/* Answers reply->call, a call that lapwing_channel_next returned, in any order. misuse: it is not
 * such a call, or it was already answered. */
LAPWING_API lapwing_result lapwing_channel_reply(lapwing_channel *channel,
    const lapwing_reply *reply, int64_t timeout_ns, lapwing_error *error);
/* For an event loop. *armed 1: nothing has arrived, or for a producer, there is no room for
 * `bytes`. The descriptor becomes readable when that may have changed. 0: try at once. The result
 * is valid until the next call with this handle. Abandons an open claim. */
LAPWING_API lapwing_result lapwing_channel_arm(lapwing_channel *channel, size_t bytes,
    int32_t *armed, lapwing_error *error);
/* *fd belongs to the channel. closed: the channel was closed. */
LAPWING_API lapwing_result lapwing_channel_fd(lapwing_channel *channel, int32_t *fd,
    lapwing_error *error);
LAPWING_API lapwing_result lapwing_channel_inspect(lapwing_channel *channel,
    lapwing_channel_info *info, lapwing_error *error);
LAPWING_API_V void lapwing_channel_interrupt(lapwing_channel *channel);
/* Ends the channel and notifies the other side at once. Borrowed and claimed memory stays valid
 * until destroy, which also closes the channel. Idempotent. */
LAPWING_API lapwing_result lapwing_channel_close(lapwing_channel *channel, lapwing_error *error);
LAPWING_API_V void lapwing_channel_destroy(lapwing_channel **channel);

/* ---- symbols: the instruments of symbols, by date -------------------------------------------- */

typedef struct lapwing_symbol_mapping {
  char symbol[80];
  uint32_t instrument_id;
  uint32_t start_date; /* UTC, YYYYMMDD */
  uint32_t end_date;   /* exclusive */
  uint32_t reserved;
} lapwing_symbol_mapping;

/* Reads the mappings of the feed's DBN metadata, which the last publisher of the bus wrote. There
 * are none if the feed has no metadata. Errors: no-bus, bad-input, damaged, not-permitted,
 * system. */
LAPWING_API lapwing_result lapwing_symbols_open(const char *directory, lapwing_symbols **symbols,
    lapwing_error *error);
/* Returns the instrument of a symbol at that time, UTC ns. Outside all dates of the symbol, the
 * mapping that began last applies. not-found: the symbol is unknown. */
LAPWING_API lapwing_result lapwing_symbols_find(lapwing_symbols *symbols, const char *symbol,
    uint64_t utc_ns, uint32_t *instrument_id, lapwing_error *error);
/* Returns the mapping of an instrument in the same way. not-found: the instrument is unknown. */
LAPWING_API lapwing_result lapwing_symbols_name(lapwing_symbols *symbols, uint32_t instrument_id,
    uint64_t utc_ns, lapwing_symbol_mapping *mapping, lapwing_error *error);
/* Returns all mappings, by symbol, then by date. *count receives their number. too-small: there are
 * more than max, and the first max are written. */
LAPWING_API lapwing_result lapwing_symbols_list(lapwing_symbols *symbols,
    lapwing_symbol_mapping *mappings, size_t max, size_t *count, lapwing_error *error);
LAPWING_API_V void lapwing_symbols_destroy(lapwing_symbols **symbols);

/* ---- wait set: several sources in one thread ------------------------------------------------- */

typedef uint32_t lapwing_source_kind;
enum {
  LAPWING_SOURCE_SUBSCRIBER = 1,
  LAPWING_SOURCE_CONFLATED = 2, /* a subscriber with LAPWING_SUBSCRIBER_CONFLATE */
  LAPWING_SOURCE_CONSUMER = 4,
  LAPWING_SOURCE_PRODUCER = 5,
  LAPWING_SOURCE_DUPLEX = 6,
  LAPWING_SOURCE_LISTENER = 7,
  LAPWING_SOURCE_FD = 8,
  LAPWING_SOURCE_TIMER = 9
};

typedef struct lapwing_ready {
  uint32_t struct_size;
  lapwing_source_kind kind;
  uint64_t token;       /* as passed to add */
  uint64_t source;      /* as returned by add */
  uint64_t expirations; /* of a timer, since it was last ready */
  uint32_t events;      /* of a descriptor: those of poll(2) */
  uint32_t reserved;
} lapwing_ready;

/* Opens a set. `wait` is as for a subscriber: LAPWING_WAIT_BUSY, BACKOFF or PARK. Errors: limit,
 * system. */
LAPWING_API lapwing_result lapwing_wait_set_open(lapwing_wait wait, lapwing_wait_set **set,
    lapwing_error *error);
/* Adds a source, which the set does not own. It may be destroyed at any time except during a wait,
 * and then leaves the set. Choose any `token`. *source is the id in the set; `source` may be NULL.
 * Errors of every add: limit (127 sources), misuse (another call waits; it is already in a set). */
LAPWING_API lapwing_result lapwing_wait_set_add_subscriber(lapwing_wait_set *set,
    lapwing_subscriber *subscriber, uint64_t token, uint64_t *source, lapwing_error *error);
/* A producer is ready if there is room for a message of `bytes`. 0 for other channels. */
LAPWING_API lapwing_result lapwing_wait_set_add_channel(lapwing_wait_set *set,
    lapwing_channel *channel, size_t bytes, uint64_t token, uint64_t *source,
    lapwing_error *error);
LAPWING_API lapwing_result lapwing_wait_set_add_listener(lapwing_wait_set *set,
    lapwing_listener *listener, uint64_t token, uint64_t *source, lapwing_error *error);
/* `events`: POLLIN, POLLOUT, POLLPRI, POLLRDHUP of poll(2). Remove it before you close it. */
LAPWING_API lapwing_result lapwing_wait_set_add_fd(lapwing_wait_set *set, int32_t fd,
    uint32_t events, uint64_t token, uint64_t *source, lapwing_error *error);
/* Adds a timer that is ready in_ns from now, and then every every_ns (0: once). If in_ns is
 * LAPWING_NEVER, it is not ready until lapwing_wait_set_set_timer starts it. */
LAPWING_API lapwing_result lapwing_wait_set_add_timer(lapwing_wait_set *set, int64_t in_ns,
    int64_t every_ns, uint64_t token, uint64_t *source, lapwing_error *error);
LAPWING_API lapwing_result lapwing_wait_set_set_timer(lapwing_wait_set *set, uint64_t source,
    int64_t in_ns, int64_t every_ns, lapwing_error *error);
/* not-found: it is not in the set. */
LAPWING_API lapwing_result lapwing_wait_set_remove(lapwing_wait_set *set, uint64_t source,
    lapwing_error *error);
/* Returns the next source that is ready, and takes nothing from it. Then call the source with a
 * timeout of 0. It is ready again until everything is taken. A source that has ended is ready until
 * it is removed. Sources take turns. Errors: would-block, timed-out, interrupted. */
LAPWING_API lapwing_result lapwing_wait_set_wait(lapwing_wait_set *set, lapwing_ready *ready,
    int64_t timeout_ns, lapwing_error *error);
LAPWING_API_V void lapwing_wait_set_interrupt(lapwing_wait_set *set);
LAPWING_API_V void lapwing_wait_set_destroy(lapwing_wait_set **set);

#ifdef __cplusplus
}
#endif
#endif
