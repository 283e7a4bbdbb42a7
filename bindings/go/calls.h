// Variants of C functions for Go. Go cannot pass a struct that contains Go pointers through cgo, so
// these functions take the members of such structs as arguments. Rows are uint8_t and not void,
// which shows cgo at compile time that they contain no pointers.
#pragma once

#include <lapwing.h>
#include <stdlib.h>
#include <string.h>

// Loads the library at `path`. Returns LAPWING_OK, or an error that *error describes.
lapwing_result lw_load(const char* path, lapwing_error* error);

// The members of a lapwing_batch, without its pointers.
typedef struct lw_batch {
  uint32_t kind;
  uint32_t flags;
  uint64_t count;
  uint64_t first;
  uint32_t row_bytes;
  uint32_t reserved;
  lapwing_event event;
} lw_batch;

// The memory for the rows of a batch; see lapwing_batch.
typedef struct lw_memory {
  uint8_t* rows;
  size_t rows_bytes;
  uint64_t* sequences;
  uint64_t* conflated;
  size_t rows_max;
} lw_memory;

static inline void lw_batch_begin(lapwing_batch* batch, lw_memory memory) {
  memset(batch, 0, offsetof(lapwing_batch, event));
  batch->struct_size = sizeof *batch;
  batch->rows = memory.rows;
  batch->rows_bytes = memory.rows_bytes;
  batch->sequences = memory.sequences;
  batch->conflated = memory.conflated;
  batch->rows_max = memory.rows_max;
}

static inline void lw_batch_end(const lapwing_batch* batch, lw_batch* out) {
  out->kind = batch->kind;
  out->flags = batch->flags;
  out->count = batch->count;
  out->first = batch->first;
  out->row_bytes = batch->row_bytes;
  if (batch->kind == LAPWING_BATCH_EVENT) out->event = batch->event;
}

static inline lapwing_result lw_subscriber_read(lapwing_subscriber* subscriber, uint8_t* rows,
                                                size_t rows_bytes, uint64_t* sequences,
                                                uint64_t* conflated, size_t rows_max, lw_batch* out,
                                                int64_t timeout_ns, lapwing_error* error) {
  lapwing_batch batch;
  lw_batch_begin(&batch, (lw_memory){rows, rows_bytes, sequences, conflated, rows_max});
  const lapwing_result result = lapwing_subscriber_read(subscriber, &batch, timeout_ns, error);
  lw_batch_end(&batch, out);
  return result;
}

static inline lapwing_result lw_history_read(lapwing_history* history, uint64_t first,
                                             uint8_t* rows, size_t rows_bytes, uint64_t* sequences,
                                             size_t rows_max, lw_batch* out, lapwing_error* error) {
  lapwing_batch batch;
  lw_batch_begin(&batch, (lw_memory){rows, rows_bytes, sequences, NULL, rows_max});
  const lapwing_result result = lapwing_history_read(history, first, &batch, error);
  lw_batch_end(&batch, out);
  return result;
}

static inline lapwing_result lw_books_take(lapwing_books* books, const lw_batch* in, uint8_t* rows,
                                           size_t rows_bytes, uint64_t* sequences,
                                           uint64_t* conflated, size_t rows_max,
                                           lapwing_error* error) {
  lapwing_batch batch;
  lw_batch_begin(&batch, (lw_memory){rows, rows_bytes, sequences, conflated, rows_max});
  batch.kind = in->kind;
  batch.flags = in->flags;
  batch.count = in->count;
  batch.first = in->first;
  batch.row_bytes = in->row_bytes;
  if (in->kind == LAPWING_BATCH_EVENT) batch.event = in->event;
  return lapwing_books_take(books, &batch, error);
}

static inline lapwing_result lw_publisher_publish(lapwing_publisher* publisher,
                                                  const uint8_t* records, size_t count,
                                                  size_t record_bytes, int64_t timeout_ns,
                                                  uint64_t* last, lapwing_error* error) {
  return lapwing_publisher_publish(publisher, records, count, record_bytes, timeout_ns, last,
                                   error);
}

static inline lapwing_result lw_subscriber_read_one(lapwing_subscriber* subscriber, uint8_t* record,
                                                    size_t record_bytes, int64_t timeout_ns,
                                                    uint64_t* sequence, lapwing_error* error) {
  return lapwing_subscriber_read_one(subscriber, record, record_bytes, timeout_ns, sequence, error);
}

static inline lapwing_result lw_channel_send(lapwing_channel* channel, const uint8_t* payload,
                                             size_t bytes, uint32_t type, int64_t timeout_ns,
                                             lapwing_error* error) {
  const lapwing_message message = {payload, bytes, type, 0};
  return lapwing_channel_send(channel, &message, 1, timeout_ns, NULL, error);
}

static inline lapwing_result lw_channel_start(lapwing_channel* channel, const uint8_t* payload,
                                              size_t bytes, uint32_t type, int64_t timeout_ns,
                                              uint64_t* call, lapwing_error* error) {
  const lapwing_message request = {payload, bytes, type, 0};
  return lapwing_channel_start(channel, &request, timeout_ns, call, error);
}

static inline lapwing_result lw_channel_reply(lapwing_channel* channel, uint64_t call,
                                              uint32_t is_error, uint32_t code,
                                              const uint8_t* payload, size_t bytes, uint32_t type,
                                              int64_t timeout_ns, lapwing_error* error) {
  lapwing_reply reply;
  memset(&reply, 0, sizeof reply);
  reply.struct_size = sizeof reply;
  reply.is_error = is_error;
  reply.code = code;
  reply.call = call;
  reply.message.payload = payload;
  reply.message.bytes = bytes;
  reply.message.type = type;
  return lapwing_channel_reply(channel, &reply, timeout_ns, error);
}
