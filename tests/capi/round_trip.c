/* A typical user program: publishes ten records and reads them. Compiled as C11 and as C++, with
 * pkg-config and with CMake, and with the headers of other versions. Prints `ok`. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <lapwing.h>

enum { kRecords = 10 };

static int fail(const char *what, lapwing_result result, const lapwing_error *error) {
  fprintf(stderr, "%s: %s: %s\n", what, lapwing_error_name(result), error->message);
  return 1;
}

int main(int argc, char **argv) {
  lapwing_error error;
  memset(&error, 0, sizeof error);
  error.struct_size = sizeof error;
  uint32_t abi = 0;
  (void)lapwing_version(&abi);
  if (argc != 2 || abi < (LAPWING_ABI_MAJOR << 16 | LAPWING_ABI_MINOR)) return 2;

  lapwing_publisher_options publish = LAPWING_PUBLISHER_OPTIONS_INIT;
  publish.directory = argv[1];
  publish.record_bytes = sizeof(uint64_t);
  publish.capacity = 4096;
  lapwing_publisher *publisher = NULL;
  lapwing_result result = lapwing_publisher_open(&publish, 0, &publisher, &error);
  if (result != LAPWING_OK) return fail("open", result, &error);
  for (uint64_t n = 1; n <= kRecords; ++n) {
    result = lapwing_publisher_publish(publisher, &n, 1, sizeof n, LAPWING_FOREVER, NULL, &error);
    if (result != LAPWING_OK) return fail("publish", result, &error);
  }

  lapwing_subscriber_options options = LAPWING_SUBSCRIBER_OPTIONS_INIT;
  options.directory = argv[1];
  options.start = LAPWING_START_OLDEST;
  options.flags = LAPWING_SUBSCRIBER_END_AT_CLOSE;
  lapwing_subscriber *subscriber = NULL;
  result = lapwing_subscriber_open(&options, &subscriber, &error);
  if (result != LAPWING_OK) return fail("subscribe", result, &error);
  result = lapwing_publisher_close(publisher, LAPWING_FOREVER, &error);
  if (result != LAPWING_OK) return fail("close", result, &error);

  uint64_t rows[4];
  uint64_t sum = 0;
  for (;;) {
    lapwing_batch batch;
    memset(&batch, 0, sizeof batch);
    batch.struct_size = sizeof batch;
    batch.rows = rows;
    batch.rows_bytes = sizeof rows;
    result = lapwing_subscriber_read(subscriber, &batch, INT64_C(10000000000), &error);
    if (result == LAPWING_ERROR_CLOSED) break;
    if (result != LAPWING_OK) return fail("read", result, &error);
    for (size_t i = 0; batch.kind == LAPWING_BATCH_RECORDS && i < batch.count; ++i) sum += rows[i];
  }
  lapwing_subscriber_info info;
  memset(&info, 0, sizeof info);
  info.struct_size = sizeof info;
  result = lapwing_subscriber_inspect(subscriber, &info, &error);
  if (result != LAPWING_OK) return fail("inspect", result, &error);
  lapwing_subscriber_destroy(&subscriber);
  lapwing_publisher_destroy(&publisher);
  if (sum != kRecords * (kRecords + 1) / 2 || info.records != kRecords) {
    fprintf(stderr, "%" PRIu64 " records with the sum %" PRIu64 "\n", info.records, sum);
    return 1;
  }
  puts("ok");
  return 0;
}
