package lapwing;

/**
 * An item from a bus: records, state entries, or an event.
 *
 * <pre>{@code
 * switch (item) {
 *   case Records records -> …   // rows of one session, one after another
 *   case State state -> …       // entries of a state: after them comes SNAPSHOT_COMPLETE
 *   case Event event -> …       // a gap, a loss, a new session …
 * }
 * }</pre>
 *
 * {@link Records} and {@link State} are in the memory of the batch, and valid until the next read
 * into it. Use {@link Rows#copy()} to keep them. An {@link Event} is a value.
 */
public sealed interface Item permits Rows, Event {}
