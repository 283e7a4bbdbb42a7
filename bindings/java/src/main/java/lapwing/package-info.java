/**
 * Lapwing in Java: a broadcast bus for market data in shared memory, on one Linux machine.
 *
 * <pre>{@code
 * try (var subscriber = Subscriber.open(Path.of("./es"),
 *     SubscriberOptions.builder().start(Start.oldest()).endAtClose(true).build())) {
 *   for (Item item : subscriber.items(new Batch(4096))) {
 *     switch (item) {
 *       case Records records -> records.forEach(row -> add(row.getLong(PRICE)));
 *       case State state -> state.forEach(row -> load(row));
 *       case Event event -> System.out.println(event);
 *     }
 *   }
 * }
 * }</pre>
 *
 * <p><b>Errors.</b> Every failed call throws a {@link lapwing.LapwingException}. A wait that ends with
 * nothing does not fail: it returns null, 0 or false, as its method describes.
 *
 * <p><b>Threads.</b> One thread at a time uses an object; any thread may. A call that overlaps another
 * one on the same object throws {@link lapwing.ErrorCode#MISUSE}. {@code interrupt()} and
 * {@code close()} may be called at any time: both end the wait under way.
 *
 * <p><b>Interrupts.</b> {@link Thread#interrupt()} ends every wait with {@link
 * lapwing.ErrorCode#INTERRUPTED}, and the thread stays interrupted. Also of a virtual thread, which a
 * wait pins to its carrier for 25 ms at a time.
 *
 * <p><b>Memory.</b> An object that is not closed is closed when it is collected, with a warning in the
 * log of {@code System.Logger} "lapwing". Segments of Lapwing's memory are read-only unless
 * the caller may write to them. They end with their owner: a use after that throws an
 * {@link IllegalStateException}, and does no harm.
 *
 * <p><b>Units.</b> Timeouts are {@link java.time.Duration}s from now: {@link lapwing.Lapwing#NOW},
 * {@link lapwing.Lapwing#FOREVER}, or between. Times in records are UTC nanoseconds since 1970, as an
 * unsigned long of which the largest value means none. Prices are 1e-9 of a currency or point;
 * {@link Long#MAX_VALUE} means none. Sequences begin at 1.
 */
package lapwing;
