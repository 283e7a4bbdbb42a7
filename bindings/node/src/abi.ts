// Written by generate.mjs from lapwing.h. Do not edit.

export interface LayoutField {
  readonly name: string; // in JavaScript
  readonly offset: number;
  readonly kind: string; // u32, text, pointer …, or the name of a struct
  readonly count?: number; // of letters
  readonly names?: Readonly<Record<number, string>>;
  readonly isTruth?: true;
}
export interface Layout {
  readonly bytes: number;
  readonly fields: Readonly<Record<string, LayoutField>>;
}

export const constants = {
  OK: 0,
  ERROR_INVALID_ARGUMENT: 1,
  ERROR_NO_BUS: 2,
  ERROR_IN_USE: 3,
  ERROR_NOT_PERMITTED: 4,
  ERROR_NO_SPACE: 5,
  ERROR_SYSTEM: 6,
  ERROR_DAMAGED: 7,
  ERROR_ABI_MISMATCH: 8,
  ERROR_NOT_A_LAPWING_FILE: 9,
  ERROR_JOURNAL_FAILED: 10,
  ERROR_NO_JOURNAL: 11,
  ERROR_PRUNED: 12,
  ERROR_TIMED_OUT: 13,
  ERROR_PUBLISHER_GONE: 14,
  ERROR_REFUSED: 15,
  ERROR_PROTOCOL: 16,
  ERROR_BAD_INPUT: 17,
  ERROR_RECORD_SIZE: 18,
  ERROR_PATH_TOO_LONG: 19,
  ERROR_CLOSED: 20,
  ERROR_RESET: 21,
  ERROR_UNSUPPORTED: 22,
  ERROR_LIMIT: 23,
  ERROR_NOT_FOUND: 24,
  ERROR_STOPPED_AT_GAP: 25,
  ERROR_PEER_GONE: 26,
  ERROR_CORRUPT: 27,
  ERROR_WOULD_BLOCK: 28,
  ERROR_MISUSE: 29,
  ERROR_INTERRUPTED: 30,
  ERROR_TOO_SMALL: 31,
  ERROR_NO_MEMORY: 32,
  ERROR_FORKED: 33,
  ERROR_EVENT_DUE: 34,
  ERROR_NO_ANSWER: 35,
  TYPE_INT8: 1,
  TYPE_INT16: 2,
  TYPE_INT32: 3,
  TYPE_INT64: 4,
  TYPE_UINT8: 5,
  TYPE_UINT16: 6,
  TYPE_UINT32: 7,
  TYPE_UINT64: 8,
  TYPE_FLOAT32: 9,
  TYPE_FLOAT64: 10,
  TYPE_CHAR: 11,
  TYPE_TEXT: 12,
  TYPE_BYTES: 13,
  UNIT_PLAIN: 0,
  UNIT_PRICE: 1,
  UNIT_UTC_NS: 2,
  UNIT_FLAGS: 3,
  ROLE_DATA: 0,
  ROLE_TIME: 1,
  ROLE_KEY: 2,
  ROLE_PUBLISH_TIME: 3,
  ROLE_SPARE: 4,
  PUBLISHER_NO_JOURNAL: 1,
  PUBLISHER_HUGE_PAGES: 2,
  PUBLISHER_RESUME: 4,
  PUBLISHER_GROUP: 8,
  PUBLISHER_RESTAMPED: 16,
  ON_JOURNAL_LAG_WAIT: 1,
  ON_JOURNAL_LAG_SHED: 2,
  ON_JOURNAL_FAILURE_CONTINUE: 1,
  ON_JOURNAL_FAILURE_STOP: 2,
  SETTLED_FRESH: 1,
  SETTLED_CONTINUED: 2,
  SETTLED_RECOVERED: 3,
  SETTLED_CUT: 4,
  SETTLED_RESET: 5,
  JOURNAL_STATE_NONE: 0,
  JOURNAL_STATE_GOOD: 1,
  JOURNAL_STATE_FAILED: 2,
  JOURNAL_STATE_SHED: 3,
  BATCH_NOTHING: 0,
  BATCH_RECORDS: 1,
  BATCH_STATE: 2,
  BATCH_EVENT: 3,
  EVENT_GAP: 1,
  EVENT_LOST: 2,
  EVENT_SESSION: 3,
  EVENT_RESET: 4,
  EVENT_CAUGHT_UP: 5,
  EVENT_STALE: 6,
  EVENT_PUBLISHER_GONE: 7,
  EVENT_CLOSED: 8,
  EVENT_SNAPSHOT_COMPLETE: 9,
  EVENT_NO_SNAPSHOT: 10,
  EVENT_BEHIND: 11,
  EVENT_LIVE: 12,
  CAUSE_LAPPED: 1,
  CAUSE_SESSION: 2,
  CAUSE_VOID: 3,
  CAUSE_PRUNED: 4,
  CAUSE_DAMAGED: 5,
  CAUSE_NOT_RELAYED: 6,
  CAUSE_UPSTREAM: 7,
  BATCH_SPARSE: 1,
  START_LIVE: 0,
  START_OLDEST: 1,
  START_SEQUENCE: 2,
  START_TIME: 3,
  START_SNAPSHOT: 4,
  START_AFTER: 5,
  ON_GAP_FILL: 1,
  ON_GAP_SKIP: 2,
  ON_GAP_STOP: 3,
  ON_GAP_SNAPSHOT: 4,
  WAIT_BUSY: 1,
  WAIT_BACKOFF: 2,
  WAIT_PARK: 3,
  SUBSCRIBER_END_AT_CLOSE: 1,
  SUBSCRIBER_CONFLATE: 2,
  SUBSCRIBER_OBSERVES: 4,
  CURSOR_DURABLE: 1,
  CHANNEL_ROLE_PRODUCER: 1,
  CHANNEL_ROLE_CONSUMER: 2,
  CHANNEL_ROLE_DUPLEX: 3,
  CHANNEL_ALIGNED: 1,
  CHANNEL_HUGE_PAGES: 2,
  CHANNEL_NUMA: 4,
  CHANNEL_PEER_UID: 8,
  CHANNEL_NO_MEMBARRIER: 16,
  CHANNEL_LATE_REPLIES: 32,
  SOURCE_SUBSCRIBER: 1,
  SOURCE_CONFLATED: 2,
  SOURCE_CONSUMER: 4,
  SOURCE_PRODUCER: 5,
  SOURCE_DUPLEX: 6,
  SOURCE_LISTENER: 7,
  SOURCE_FD: 8,
  SOURCE_TIMER: 9,
  ABI_MAJOR: 1,
  ABI_MINOR: 0,
} as const;

export const layouts = {
  lapwing_id: {
    bytes: 16,
    fields: {
      bytes: { name: 'bytes', offset: 0, kind: 'u8' },
    },
  },
  lapwing_error: {
    bytes: 512,
    fields: {
      struct_size: { name: 'structSize', offset: 0, kind: 'u32' },
      code: { name: 'code', offset: 4, kind: 'i32' },
      sys_errno: { name: 'sysErrno', offset: 8, kind: 'i32' },
      reserved: { name: 'reserved', offset: 12, kind: 'u32' },
      message: { name: 'message', offset: 16, kind: 'text', count: 496 },
    },
  },
  lapwing_position: {
    bytes: 40,
    fields: {
      journal_id: { name: 'journalId', offset: 0, kind: 'lapwing_id' },
      session_id: { name: 'sessionId', offset: 16, kind: 'lapwing_id' },
      sequence: { name: 'sequence', offset: 32, kind: 'u64' },
    },
  },
  lapwing_field: {
    bytes: 88,
    fields: {
      name: { name: 'name', offset: 0, kind: 'text', count: 64 },
      offset: { name: 'offset', offset: 64, kind: 'u32' },
      bytes: { name: 'bytes', offset: 68, kind: 'u32' },
      type: { name: 'type', offset: 72, kind: 'u32' },
      unit: { name: 'unit', offset: 76, kind: 'u32' },
      role: { name: 'role', offset: 80, kind: 'u32' },
      reserved: { name: 'reserved', offset: 84, kind: 'u32' },
    },
  },
  lapwing_schema: {
    bytes: 72,
    fields: {
      struct_size: { name: 'structSize', offset: 0, kind: 'u32' },
      record_bytes: { name: 'recordBytes', offset: 4, kind: 'u32' },
      name: { name: 'name', offset: 8, kind: 'text', count: 32 },
      version: { name: 'version', offset: 40, kind: 'u32' },
      reserved: { name: 'reserved', offset: 44, kind: 'u32' },
      hash: { name: 'hash', offset: 48, kind: 'u64' },
      field_count: { name: 'fieldCount', offset: 56, kind: 'size' },
      text_bytes: { name: 'textBytes', offset: 64, kind: 'size' },
    },
  },
  lapwing_publisher_options: {
    bytes: 144,
    fields: {
      struct_size: { name: 'structSize', offset: 0, kind: 'u32' },
      flags: { name: 'flags', offset: 4, kind: 'u32' },
      directory: { name: 'directory', offset: 8, kind: 'pointer' },
      name: { name: 'name', offset: 16, kind: 'pointer' },
      schema_name: { name: 'schemaName', offset: 24, kind: 'pointer' },
      schema: { name: 'schema', offset: 32, kind: 'pointer' },
      record_bytes: { name: 'recordBytes', offset: 40, kind: 'u32' },
      group: { name: 'group', offset: 44, kind: 'u32' },
      capacity: { name: 'capacity', offset: 48, kind: 'u64' },
      ring_directory: { name: 'ringDirectory', offset: 56, kind: 'pointer' },
      journal_directory: { name: 'journalDirectory', offset: 64, kind: 'pointer' },
      segment_bytes: { name: 'segmentBytes', offset: 72, kind: 'u64' },
      sync_interval_ns: { name: 'syncIntervalNs', offset: 80, kind: 'i64' },
      retain_bytes: { name: 'retainBytes', offset: 88, kind: 'u64' },
      retain_age_ns: { name: 'retainAgeNs', offset: 96, kind: 'i64' },
      on_journal_lag: { name: 'onJournalLag', offset: 104, kind: 'u32' },
      on_journal_failure: { name: 'onJournalFailure', offset: 108, kind: 'u32' },
      metadata: { name: 'metadata', offset: 112, kind: 'pointer' },
      metadata_bytes: { name: 'metadataBytes', offset: 120, kind: 'size' },
      source_id: { name: 'sourceId', offset: 128, kind: 'u64' },
      source_offset: { name: 'sourceOffset', offset: 136, kind: 'u64' },
    },
  },
  lapwing_publisher_info: {
    bytes: 152,
    fields: {
      struct_size: { name: 'structSize', offset: 0, kind: 'u32' },
      record_bytes: { name: 'recordBytes', offset: 4, kind: 'u32' },
      journal_id: { name: 'journalId', offset: 8, kind: 'lapwing_id' },
      session_id: { name: 'sessionId', offset: 24, kind: 'lapwing_id' },
      first: { name: 'first', offset: 40, kind: 'u64' },
      head: { name: 'head', offset: 48, kind: 'u64' },
      durable: { name: 'durable', offset: 56, kind: 'u64' },
      source_offset: { name: 'sourceOffset', offset: 64, kind: 'u64' },
      subscribers: { name: 'subscribers', offset: 72, kind: 'u64' },
      settled: { name: 'settled', offset: 80, kind: 'u32', names: { 1: 'fresh', 2: 'continued', 3: 'recovered', 4: 'cut', 5: 'reset' } },
      journal_state: { name: 'journalState', offset: 84, kind: 'u32', names: { 0: 'none', 1: 'good', 2: 'failed', 3: 'shed' } },
      journal_errno: { name: 'journalErrno', offset: 88, kind: 'i32' },
      reserved: { name: 'reserved', offset: 92, kind: 'u32' },
      void_first: { name: 'voidFirst', offset: 96, kind: 'u64' },
      void_last: { name: 'voidLast', offset: 104, kind: 'u64' },
      journal_stalls: { name: 'journalStalls', offset: 112, kind: 'u64' },
      journal_stall_ns_max: { name: 'journalStallNsMax', offset: 120, kind: 'u64' },
      journal_stall_ns_total: { name: 'journalStallNsTotal', offset: 128, kind: 'u64' },
      idle_wakes: { name: 'idleWakes', offset: 136, kind: 'u64' },
      doorbells: { name: 'doorbells', offset: 144, kind: 'u64' },
    },
  },
  lapwing_event: {
    bytes: 680,
    fields: {
      kind: { name: 'type', offset: 0, kind: 'u32', names: { 1: 'gap', 2: 'lost', 3: 'session', 4: 'reset', 5: 'caught-up', 6: 'stale', 7: 'publisher-gone', 8: 'closed', 9: 'snapshot-complete', 10: 'no-snapshot', 11: 'behind', 12: 'live' } },
      cause: { name: 'cause', offset: 4, kind: 'u32', names: { 1: 'lapped', 2: 'session', 3: 'void', 4: 'pruned', 5: 'damaged', 6: 'not-relayed', 7: 'upstream' } },
      sequence: { name: 'sequence', offset: 8, kind: 'u64' },
      first: { name: 'first', offset: 16, kind: 'u64' },
      last: { name: 'last', offset: 24, kind: 'u64' },
      resume: { name: 'resume', offset: 32, kind: 'u64' },
      fillable: { name: 'fillable', offset: 40, kind: 'u32', isTruth: true },
      record_bytes: { name: 'recordBytes', offset: 44, kind: 'u32' },
      journal_id: { name: 'journalId', offset: 48, kind: 'lapwing_id' },
      session_id: { name: 'sessionId', offset: 64, kind: 'lapwing_id' },
      state_entries: { name: 'stateEntries', offset: 80, kind: 'u64' },
      is_first_session: { name: 'isFirstSession', offset: 88, kind: 'u32', isTruth: true },
      is_described: { name: 'isDescribed', offset: 92, kind: 'u32', isTruth: true },
      is_filtered: { name: 'isFiltered', offset: 96, kind: 'u32', isTruth: true },
      is_skipped: { name: 'isSkipped', offset: 100, kind: 'u32', isTruth: true },
      schema_name: { name: 'schemaName', offset: 104, kind: 'text', count: 32 },
      fold: { name: 'fold', offset: 136, kind: 'text', count: 32 },
      text: { name: 'text', offset: 168, kind: 'text', count: 512 },
    },
  },
  lapwing_batch: {
    bytes: 752,
    fields: {
      struct_size: { name: 'structSize', offset: 0, kind: 'u32' },
      kind: { name: 'kind', offset: 4, kind: 'u32' },
      rows: { name: 'rows', offset: 8, kind: 'pointer' },
      rows_bytes: { name: 'rowsBytes', offset: 16, kind: 'size' },
      sequences: { name: 'sequences', offset: 24, kind: 'pointer' },
      conflated: { name: 'conflated', offset: 32, kind: 'pointer' },
      rows_max: { name: 'rowsMax', offset: 40, kind: 'size' },
      count: { name: 'count', offset: 48, kind: 'size' },
      first: { name: 'first', offset: 56, kind: 'u64' },
      row_bytes: { name: 'rowBytes', offset: 64, kind: 'u32' },
      flags: { name: 'flags', offset: 68, kind: 'u32' },
      event: { name: 'event', offset: 72, kind: 'lapwing_event' },
    },
  },
  lapwing_subscriber_options: {
    bytes: 168,
    fields: {
      struct_size: { name: 'structSize', offset: 0, kind: 'u32' },
      flags: { name: 'flags', offset: 4, kind: 'u32' },
      directory: { name: 'directory', offset: 8, kind: 'pointer' },
      name: { name: 'name', offset: 16, kind: 'pointer' },
      start: { name: 'start', offset: 24, kind: 'u32' },
      on_gap: { name: 'onGap', offset: 28, kind: 'u32' },
      wait: { name: 'wait', offset: 32, kind: 'u32' },
      behind_records: { name: 'behindRecords', offset: 36, kind: 'u32' },
      start_value: { name: 'startValue', offset: 40, kind: 'u64' },
      start_position: { name: 'startPosition', offset: 48, kind: 'lapwing_position' },
      fold: { name: 'fold', offset: 88, kind: 'pointer' },
      expect: { name: 'expect', offset: 96, kind: 'pointer' },
      instruments: { name: 'instruments', offset: 104, kind: 'pointer' },
      instrument_count: { name: 'instrumentCount', offset: 112, kind: 'size' },
      reattach_ns: { name: 'reattachNs', offset: 120, kind: 'i64' },
      flush_timeout_ns: { name: 'flushTimeoutNs', offset: 128, kind: 'i64' },
      stale_after_ns: { name: 'staleAfterNs', offset: 136, kind: 'i64' },
      behind_time_ns: { name: 'behindTimeNs', offset: 144, kind: 'i64' },
      conflate_interval_ns: { name: 'conflateIntervalNs', offset: 152, kind: 'i64' },
      conflate_keys_max: { name: 'conflateKeysMax', offset: 160, kind: 'u32' },
      measure_every: { name: 'measureEvery', offset: 164, kind: 'u32' },
    },
  },
  lapwing_ages: {
    bytes: 72,
    fields: {
      struct_size: { name: 'structSize', offset: 0, kind: 'u32' },
      reserved: { name: 'reserved', offset: 4, kind: 'u32' },
      count: { name: 'count', offset: 8, kind: 'u64' },
      negative: { name: 'negative', offset: 16, kind: 'u64' },
      unstamped: { name: 'unstamped', offset: 24, kind: 'u64' },
      p50_ns: { name: 'p50Ns', offset: 32, kind: 'u64' },
      p90_ns: { name: 'p90Ns', offset: 40, kind: 'u64' },
      p99_ns: { name: 'p99Ns', offset: 48, kind: 'u64' },
      p999_ns: { name: 'p999Ns', offset: 56, kind: 'u64' },
      max_ns: { name: 'maxNs', offset: 64, kind: 'u64' },
    },
  },
  lapwing_subscriber_info: {
    bytes: 256,
    fields: {
      struct_size: { name: 'structSize', offset: 0, kind: 'u32' },
      record_bytes: { name: 'recordBytes', offset: 4, kind: 'u32' },
      schema_name: { name: 'schemaName', offset: 8, kind: 'text', count: 32 },
      fold: { name: 'fold', offset: 40, kind: 'text', count: 32 },
      journal_id: { name: 'journalId', offset: 72, kind: 'lapwing_id' },
      session_id: { name: 'sessionId', offset: 88, kind: 'lapwing_id' },
      head: { name: 'head', offset: 104, kind: 'u64' },
      lag: { name: 'lag', offset: 112, kind: 'u64' },
      durable: { name: 'durable', offset: 120, kind: 'u64' },
      is_live: { name: 'isLive', offset: 128, kind: 'u32', isTruth: true },
      is_described: { name: 'isDescribed', offset: 132, kind: 'u32', isTruth: true },
      records: { name: 'records', offset: 136, kind: 'u64' },
      first: { name: 'first', offset: 144, kind: 'u64' },
      last: { name: 'last', offset: 152, kind: 'u64' },
      gaps: { name: 'gaps', offset: 160, kind: 'u64' },
      lost: { name: 'lost', offset: 168, kind: 'u64' },
      in_state: { name: 'inState', offset: 176, kind: 'u64' },
      filled: { name: 'filled', offset: 184, kind: 'u64' },
      duplicates: { name: 'duplicates', offset: 192, kind: 'u64' },
      out_of_order: { name: 'outOfOrder', offset: 200, kind: 'u64' },
      sessions: { name: 'sessions', offset: 208, kind: 'u64' },
      reattached: { name: 'reattached', offset: 216, kind: 'u64' },
      state_entries: { name: 'stateEntries', offset: 224, kind: 'u64' },
      filtered: { name: 'filtered', offset: 232, kind: 'u64' },
      conflated: { name: 'conflated', offset: 240, kind: 'u64' },
      waiting: { name: 'waiting', offset: 248, kind: 'u64' },
    },
  },
  lapwing_history_info: {
    bytes: 80,
    fields: {
      struct_size: { name: 'structSize', offset: 0, kind: 'u32' },
      record_bytes: { name: 'recordBytes', offset: 4, kind: 'u32' },
      schema_name: { name: 'schemaName', offset: 8, kind: 'text', count: 32 },
      journal_id: { name: 'journalId', offset: 40, kind: 'lapwing_id' },
      oldest: { name: 'oldest', offset: 56, kind: 'u64' },
      archived: { name: 'archived', offset: 64, kind: 'u64' },
      durable: { name: 'durable', offset: 72, kind: 'u64' },
    },
  },
  lapwing_view: {
    bytes: 48,
    fields: {
      struct_size: { name: 'structSize', offset: 0, kind: 'u32' },
      row_bytes: { name: 'rowBytes', offset: 4, kind: 'u32' },
      rows: { name: 'rows', offset: 8, kind: 'pointer' },
      stride_bytes: { name: 'strideBytes', offset: 16, kind: 'size' },
      first: { name: 'first', offset: 24, kind: 'u64' },
      count: { name: 'count', offset: 32, kind: 'u64' },
      token: { name: 'token', offset: 40, kind: 'pointer' },
    },
  },
  lapwing_books_info: {
    bytes: 48,
    fields: {
      struct_size: { name: 'structSize', offset: 0, kind: 'u32' },
      is_settled: { name: 'isSettled', offset: 4, kind: 'u32', isTruth: true },
      is_loading: { name: 'isLoading', offset: 8, kind: 'u32', isTruth: true },
      reserved: { name: 'reserved', offset: 12, kind: 'u32' },
      sequence: { name: 'sequence', offset: 16, kind: 'u64' },
      books: { name: 'books', offset: 24, kind: 'u64' },
      orders: { name: 'orders', offset: 32, kind: 'u64' },
      digest: { name: 'digest', offset: 40, kind: 'u64' },
    },
  },
  lapwing_book_key: {
    bytes: 8,
    fields: {
      instrument_id: { name: 'instrumentId', offset: 0, kind: 'u32' },
      publisher_id: { name: 'publisherId', offset: 4, kind: 'u16' },
      reserved: { name: 'reserved', offset: 6, kind: 'u16' },
    },
  },
  lapwing_level: {
    bytes: 24,
    fields: {
      price: { name: 'price', offset: 0, kind: 'i64' },
      size: { name: 'size', offset: 8, kind: 'u64' },
      orders: { name: 'orders', offset: 16, kind: 'u32' },
      reserved: { name: 'reserved', offset: 20, kind: 'u32' },
    },
  },
  lapwing_book: {
    bytes: 120,
    fields: {
      struct_size: { name: 'structSize', offset: 0, kind: 'u32' },
      is_settled: { name: 'isSettled', offset: 4, kind: 'u32', isTruth: true },
      is_stale: { name: 'isStale', offset: 8, kind: 'u32', isTruth: true },
      has_tops: { name: 'hasTops', offset: 12, kind: 'u32', isTruth: true },
      bid: { name: 'bid', offset: 16, kind: 'lapwing_level' },
      ask: { name: 'ask', offset: 40, kind: 'lapwing_level' },
      bid_levels: { name: 'bidLevels', offset: 64, kind: 'u64' },
      ask_levels: { name: 'askLevels', offset: 72, kind: 'u64' },
      orders: { name: 'orders', offset: 80, kind: 'u64' },
      sequence: { name: 'sequence', offset: 88, kind: 'u64' },
      ts_event: { name: 'tsEvent', offset: 96, kind: 'u64' },
      ts_recv: { name: 'tsRecv', offset: 104, kind: 'u64' },
      lost_through: { name: 'lostThrough', offset: 112, kind: 'u64' },
    },
  },
  lapwing_order: {
    bytes: 40,
    fields: {
      order_id: { name: 'orderId', offset: 0, kind: 'u64' },
      price: { name: 'price', offset: 8, kind: 'i64' },
      place: { name: 'place', offset: 16, kind: 'u64' },
      ts_recv: { name: 'tsRecv', offset: 24, kind: 'u64' },
      size: { name: 'size', offset: 32, kind: 'u32' },
      flags: { name: 'flags', offset: 36, kind: 'u32' },
    },
  },
  lapwing_channel_options: {
    bytes: 56,
    fields: {
      struct_size: { name: 'structSize', offset: 0, kind: 'u32' },
      flags: { name: 'flags', offset: 4, kind: 'u32' },
      name: { name: 'name', offset: 8, kind: 'pointer' },
      capacity: { name: 'capacity', offset: 16, kind: 'u64' },
      message_bytes_max: { name: 'messageBytesMax', offset: 24, kind: 'u32' },
      call_window: { name: 'callWindow', offset: 28, kind: 'u32' },
      wait: { name: 'wait', offset: 32, kind: 'u32' },
      numa_node: { name: 'numaNode', offset: 36, kind: 'u32' },
      peer_uid: { name: 'peerUid', offset: 40, kind: 'u32' },
      reserved: { name: 'reserved', offset: 44, kind: 'u32' },
      retry_ns: { name: 'retryNs', offset: 48, kind: 'i64' },
    },
  },
  lapwing_message: {
    bytes: 24,
    fields: {
      payload: { name: 'payload', offset: 0, kind: 'pointer' },
      bytes: { name: 'bytes', offset: 8, kind: 'size' },
      type: { name: 'type', offset: 16, kind: 'u32' },
      reserved: { name: 'reserved', offset: 20, kind: 'u32' },
    },
  },
  lapwing_reply: {
    bytes: 48,
    fields: {
      struct_size: { name: 'structSize', offset: 0, kind: 'u32' },
      is_error: { name: 'isError', offset: 4, kind: 'u32', isTruth: true },
      is_late: { name: 'isLate', offset: 8, kind: 'u32', isTruth: true },
      code: { name: 'code', offset: 12, kind: 'u32' },
      call: { name: 'call', offset: 16, kind: 'u64' },
      message: { name: 'message', offset: 24, kind: 'lapwing_message' },
    },
  },
  lapwing_request: {
    bytes: 40,
    fields: {
      struct_size: { name: 'structSize', offset: 0, kind: 'u32' },
      reserved: { name: 'reserved', offset: 4, kind: 'u32' },
      call: { name: 'call', offset: 8, kind: 'u64' },
      message: { name: 'message', offset: 16, kind: 'lapwing_message' },
    },
  },
  lapwing_channel_info: {
    bytes: 96,
    fields: {
      struct_size: { name: 'structSize', offset: 0, kind: 'u32' },
      role: { name: 'role', offset: 4, kind: 'u32' },
      connection_id: { name: 'connectionId', offset: 8, kind: 'lapwing_id' },
      message_bytes_max: { name: 'messageBytesMax', offset: 24, kind: 'u64' },
      sent: { name: 'sent', offset: 32, kind: 'u64' },
      received: { name: 'received', offset: 40, kind: 'u64' },
      released: { name: 'released', offset: 48, kind: 'u64' },
      full_waits: { name: 'fullWaits', offset: 56, kind: 'u64' },
      empty_waits: { name: 'emptyWaits', offset: 64, kind: 'u64' },
      sleeps: { name: 'sleeps', offset: 72, kind: 'u64' },
      wakes: { name: 'wakes', offset: 80, kind: 'u64' },
      late_replies: { name: 'lateReplies', offset: 88, kind: 'u64' },
    },
  },
  lapwing_symbol_mapping: {
    bytes: 96,
    fields: {
      symbol: { name: 'symbol', offset: 0, kind: 'text', count: 80 },
      instrument_id: { name: 'instrumentId', offset: 80, kind: 'u32' },
      start_date: { name: 'startDate', offset: 84, kind: 'u32' },
      end_date: { name: 'endDate', offset: 88, kind: 'u32' },
      reserved: { name: 'reserved', offset: 92, kind: 'u32' },
    },
  },
  lapwing_ready: {
    bytes: 40,
    fields: {
      struct_size: { name: 'structSize', offset: 0, kind: 'u32' },
      kind: { name: 'kind', offset: 4, kind: 'u32' },
      token: { name: 'token', offset: 8, kind: 'u64' },
      source: { name: 'source', offset: 16, kind: 'u64' },
      expirations: { name: 'expirations', offset: 24, kind: 'u64' },
      events: { name: 'events', offset: 32, kind: 'u32' },
      reserved: { name: 'reserved', offset: 36, kind: 'u32' },
    },
  },
} as const satisfies Record<string, Layout>;

export interface Position {
  readonly journalId: string;
  readonly sessionId: string;
  readonly sequence: bigint;
}

export interface PublisherInfo {
  readonly recordBytes: number;
  readonly journalId: string;
  readonly sessionId: string;
  readonly first: bigint;
  readonly head: bigint;
  readonly durable: bigint;
  readonly sourceOffset: bigint;
  readonly subscribers: bigint;
  readonly settled: 'fresh' | 'continued' | 'recovered' | 'cut' | 'reset' | '';
  readonly journalState: 'none' | 'good' | 'failed' | 'shed' | '';
  readonly journalErrno: number;
  readonly voidFirst: bigint;
  readonly voidLast: bigint;
  readonly journalStalls: bigint;
  readonly journalStallNsMax: bigint;
  readonly journalStallNsTotal: bigint;
  readonly idleWakes: bigint;
  readonly doorbells: bigint;
}

export interface Ages {
  readonly count: bigint;
  readonly negative: bigint;
  readonly unstamped: bigint;
  readonly p50Ns: bigint;
  readonly p90Ns: bigint;
  readonly p99Ns: bigint;
  readonly p999Ns: bigint;
  readonly maxNs: bigint;
}

export interface SubscriberInfo {
  readonly recordBytes: number;
  readonly schemaName: string;
  readonly fold: string;
  readonly journalId: string;
  readonly sessionId: string;
  readonly head: bigint;
  readonly lag: bigint;
  readonly durable: bigint;
  readonly isLive: boolean;
  readonly isDescribed: boolean;
  readonly records: bigint;
  readonly first: bigint;
  readonly last: bigint;
  readonly gaps: bigint;
  readonly lost: bigint;
  readonly inState: bigint;
  readonly filled: bigint;
  readonly duplicates: bigint;
  readonly outOfOrder: bigint;
  readonly sessions: bigint;
  readonly reattached: bigint;
  readonly stateEntries: bigint;
  readonly filtered: bigint;
  readonly conflated: bigint;
  readonly waiting: bigint;
}

export interface HistoryInfo {
  readonly recordBytes: number;
  readonly schemaName: string;
  readonly journalId: string;
  readonly oldest: bigint;
  readonly archived: bigint;
  readonly durable: bigint;
}

export interface BooksInfo {
  readonly isSettled: boolean;
  readonly isLoading: boolean;
  readonly sequence: bigint;
  readonly books: bigint;
  readonly orders: bigint;
  readonly digest: bigint;
}

export interface BookKey {
  readonly instrumentId: number;
  readonly publisherId: number;
}

export interface Level {
  readonly price: bigint;
  readonly size: bigint;
  readonly orders: number;
}

export interface Book {
  readonly isSettled: boolean;
  readonly isStale: boolean;
  readonly hasTops: boolean;
  readonly bid: Level;
  readonly ask: Level;
  readonly bidLevels: bigint;
  readonly askLevels: bigint;
  readonly orders: bigint;
  readonly sequence: bigint;
  readonly tsEvent: bigint;
  readonly tsRecv: bigint;
  readonly lostThrough: bigint;
}

export interface Order {
  readonly orderId: bigint;
  readonly price: bigint;
  readonly place: bigint;
  readonly tsRecv: bigint;
  readonly size: number;
  readonly flags: number;
}

export interface ChannelInfo {
  readonly role: number;
  readonly connectionId: string;
  readonly messageBytesMax: bigint;
  readonly sent: bigint;
  readonly received: bigint;
  readonly released: bigint;
  readonly fullWaits: bigint;
  readonly emptyWaits: bigint;
  readonly sleeps: bigint;
  readonly wakes: bigint;
  readonly lateReplies: bigint;
}

export interface SymbolMapping {
  readonly symbol: string;
  readonly instrumentId: number;
  readonly startDate: number;
  readonly endDate: number;
}

// The result, then the parameters, as koffi names them.
export const functions = {
  lapwing_version: ['str', ['void *']],
  lapwing_error_name: ['str', ['int32_t']],
  lapwing_schema_fields: ['int32_t', ['str', 'str', 'void *', 'void *', 'size_t', 'void *', 'size_t', 'void *']],
  lapwing_log_set: ['void', ['void *', 'void *']],
  lapwing_log_queue: ['void', []],
  lapwing_log_read: ['int32_t', ['void *', 'size_t', 'void *']],
  lapwing_publisher_options_init: ['void', ['void *', 'uint32_t']],
  lapwing_publisher_open: ['int32_t', ['void *', 'int64_t', 'void *', 'void *']],
  lapwing_publisher_publish: ['int32_t', ['void *', 'void *', 'size_t', 'size_t', 'int64_t', 'void *', 'void *']],
  lapwing_publisher_flush: ['int32_t', ['void *', 'int64_t', 'void *', 'void *']],
  lapwing_publisher_inspect: ['int32_t', ['void *', 'void *', 'void *']],
  lapwing_publisher_close: ['int32_t', ['void *', 'int64_t', 'void *']],
  lapwing_publisher_interrupt: ['void', ['void *']],
  lapwing_publisher_destroy: ['void', ['void *']],
  lapwing_subscriber_options_init: ['void', ['void *', 'uint32_t']],
  lapwing_subscriber_open: ['int32_t', ['void *', 'void *', 'void *']],
  lapwing_subscriber_read: ['int32_t', ['void *', 'void *', 'int64_t', 'void *']],
  lapwing_subscriber_read_one: ['int32_t', ['void *', 'void *', 'size_t', 'int64_t', 'void *', 'void *']],
  lapwing_subscriber_schema: ['int32_t', ['void *', 'void *', 'void *', 'size_t', 'void *', 'size_t', 'void *']],
  lapwing_subscriber_ages: ['int32_t', ['void *', 'void *', 'void *']],
  lapwing_subscriber_inspect: ['int32_t', ['void *', 'void *', 'void *']],
  lapwing_subscriber_position: ['int32_t', ['void *', 'uint64_t', 'void *', 'void *']],
  lapwing_subscriber_fd: ['int32_t', ['void *', 'void *', 'void *']],
  lapwing_subscriber_interrupt: ['void', ['void *']],
  lapwing_subscriber_destroy: ['void', ['void *']],
  lapwing_cursor_open: ['int32_t', ['str', 'uint32_t', 'int64_t', 'void *', 'void *']],
  lapwing_cursor_position: ['int32_t', ['void *', 'void *', 'void *', 'void *', 'void *']],
  lapwing_cursor_commit: ['int32_t', ['void *', 'void *', 'uint64_t', 'uint64_t', 'void *']],
  lapwing_cursor_destroy: ['void', ['void *']],
  lapwing_history_open: ['int32_t', ['str', 'void *', 'void *']],
  lapwing_history_inspect: ['int32_t', ['void *', 'void *', 'void *']],
  lapwing_history_read: ['int32_t', ['void *', 'uint64_t', 'void *', 'void *']],
  lapwing_history_find_time: ['int32_t', ['void *', 'uint64_t', 'void *', 'void *']],
  lapwing_history_map: ['int32_t', ['void *', 'uint64_t', 'uint64_t', 'void *', 'void *']],
  lapwing_history_unmap: ['void', ['void *']],
  lapwing_history_destroy: ['void', ['void *']],
  lapwing_books_create: ['int32_t', ['void *', 'void *']],
  lapwing_books_take: ['int32_t', ['void *', 'void *', 'void *']],
  lapwing_books_inspect: ['int32_t', ['void *', 'void *', 'void *']],
  lapwing_books_list: ['int32_t', ['void *', 'void *', 'size_t', 'void *', 'void *']],
  lapwing_books_find: ['int32_t', ['void *', 'lapwing_book_key', 'void *', 'void *']],
  lapwing_books_levels: ['int32_t', ['void *', 'lapwing_book_key', 'char', 'size_t', 'void *', 'size_t', 'void *', 'void *']],
  lapwing_books_orders: ['int32_t', ['void *', 'lapwing_book_key', 'char', 'size_t', 'void *', 'size_t', 'void *', 'void *']],
  lapwing_books_destroy: ['void', ['void *']],
  lapwing_channel_options_init: ['void', ['void *', 'uint32_t']],
  lapwing_listener_open: ['int32_t', ['str', 'void *', 'void *', 'void *']],
  lapwing_listener_take_over: ['int32_t', ['str', 'void *', 'int64_t', 'void *', 'void *']],
  lapwing_listener_accept: ['int32_t', ['void *', 'uint32_t', 'void *', 'int64_t', 'void *', 'void *']],
  lapwing_listener_tend: ['int32_t', ['void *', 'void *']],
  lapwing_listener_fd: ['int32_t', ['void *', 'void *', 'void *']],
  lapwing_listener_interrupt: ['void', ['void *']],
  lapwing_listener_destroy: ['void', ['void *']],
  lapwing_channel_connect: ['int32_t', ['str', 'uint32_t', 'void *', 'int64_t', 'void *', 'void *']],
  lapwing_channel_claim: ['int32_t', ['void *', 'size_t', 'int64_t', 'void *', 'void *']],
  lapwing_channel_commit: ['int32_t', ['void *', 'size_t', 'uint32_t', 'void *']],
  lapwing_channel_abort: ['int32_t', ['void *', 'void *']],
  lapwing_channel_send: ['int32_t', ['void *', 'void *', 'size_t', 'int64_t', 'void *', 'void *']],
  lapwing_channel_drain: ['int32_t', ['void *', 'int64_t', 'void *']],
  lapwing_channel_peek: ['int32_t', ['void *', 'void *', 'size_t', 'int64_t', 'void *', 'void *']],
  lapwing_channel_release: ['int32_t', ['void *', 'size_t', 'void *']],
  lapwing_channel_start: ['int32_t', ['void *', 'void *', 'int64_t', 'void *', 'void *']],
  lapwing_channel_finish: ['int32_t', ['void *', 'uint64_t', 'void *', 'void *']],
  lapwing_channel_finish_any: ['int32_t', ['void *', 'int64_t', 'void *', 'void *']],
  lapwing_channel_cancel: ['int32_t', ['void *', 'uint64_t', 'void *']],
  lapwing_channel_next: ['int32_t', ['void *', 'int64_t', 'void *', 'void *']],
  lapwing_channel_reply: ['int32_t', ['void *', 'void *', 'int64_t', 'void *']],
  lapwing_channel_arm: ['int32_t', ['void *', 'size_t', 'void *', 'void *']],
  lapwing_channel_fd: ['int32_t', ['void *', 'void *', 'void *']],
  lapwing_channel_inspect: ['int32_t', ['void *', 'void *', 'void *']],
  lapwing_channel_interrupt: ['void', ['void *']],
  lapwing_channel_close: ['int32_t', ['void *', 'void *']],
  lapwing_channel_destroy: ['void', ['void *']],
  lapwing_symbols_open: ['int32_t', ['str', 'void *', 'void *']],
  lapwing_symbols_find: ['int32_t', ['void *', 'str', 'uint64_t', 'void *', 'void *']],
  lapwing_symbols_name: ['int32_t', ['void *', 'uint32_t', 'uint64_t', 'void *', 'void *']],
  lapwing_symbols_list: ['int32_t', ['void *', 'void *', 'size_t', 'void *', 'void *']],
  lapwing_symbols_destroy: ['void', ['void *']],
  lapwing_wait_set_open: ['int32_t', ['uint32_t', 'void *', 'void *']],
  lapwing_wait_set_add_subscriber: ['int32_t', ['void *', 'void *', 'uint64_t', 'void *', 'void *']],
  lapwing_wait_set_add_channel: ['int32_t', ['void *', 'void *', 'size_t', 'uint64_t', 'void *', 'void *']],
  lapwing_wait_set_add_listener: ['int32_t', ['void *', 'void *', 'uint64_t', 'void *', 'void *']],
  lapwing_wait_set_add_fd: ['int32_t', ['void *', 'int32_t', 'uint32_t', 'uint64_t', 'void *', 'void *']],
  lapwing_wait_set_add_timer: ['int32_t', ['void *', 'int64_t', 'int64_t', 'uint64_t', 'void *', 'void *']],
  lapwing_wait_set_set_timer: ['int32_t', ['void *', 'uint64_t', 'int64_t', 'int64_t', 'void *']],
  lapwing_wait_set_remove: ['int32_t', ['void *', 'uint64_t', 'void *']],
  lapwing_wait_set_wait: ['int32_t', ['void *', 'void *', 'int64_t', 'void *']],
  lapwing_wait_set_interrupt: ['void', ['void *']],
  lapwing_wait_set_destroy: ['void', ['void *']],
} as const;
export type FunctionName = keyof typeof functions;
