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
 * <p><b>Errors.</b> Every failed call throws a {@link lapwing.LapwingException}. A wait that ends
 * without a result does not fail: it returns null, 0 or false, as its method describes.
 *
 * <p><b>Threads.</b> Any thread may use an object, but only one at a time. A call that overlaps
 * another one on the same object throws {@link lapwing.ErrorCode#MISUSE}. {@code interrupt()} and
 * {@code close()} may be called at any time, and both end the current wait.
 *
 * <p><b>Interrupts.</b> {@link Thread#interrupt()} ends every wait with {@link
 * lapwing.ErrorCode#INTERRUPTED}, and the thread stays interrupted. This includes virtual threads.
 * A wait pins a virtual thread to its carrier for 25 ms at a time.
 *
 * <p><b>Memory.</b> An object that was not closed is closed when it is garbage-collected, with a
 * warning in the log of {@code System.Logger} "lapwing". Segments of Lapwing's memory are read-only
 * unless the caller may write to them. They end with their owner: using them after that throws an
 * {@link IllegalStateException} and does no harm.
 *
 * <p><b>Units.</b> Timeouts are {@link java.time.Duration}s from now: {@link lapwing.Lapwing#NOW},
 * {@link lapwing.Lapwing#FOREVER}, or a duration between them. Times in records are UTC nanoseconds
 * since 1970, as an unsigned long whose largest value means none. Prices are in units of 1e-9 of a
 * currency or point; {@link Long#MAX_VALUE} means none. Sequences begin at 1.
 */
package lapwing;
