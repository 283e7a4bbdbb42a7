package lapwing;

/**
 * The items of a bus, in order: records, entries of a state, events.
 *
 * <pre>{@code
 * switch (item) {
 *   case Records records -> …   // rows of one session, one after another
 *   case State state -> …       // entries of a state: after them comes SNAPSHOT_COMPLETE
 *   case Event event -> …       // a gap, a loss, a new session …
 * }
 * }</pre>
 *
 * {@link Records} and {@link State} lie in the memory of the batch that was read into, and hold until
 * it is read into again; {@link Rows#copy()} holds for longer. An {@link Event} is a value.
 */
public sealed interface Item permits Rows, Event {}
