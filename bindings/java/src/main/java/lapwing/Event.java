package lapwing;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Locale;
import java.util.UUID;

/**
 * An event between two records. docs/reference/events.md lists the events.
 *
 * @param sequence the event's sequence; {@link Kind} describes its meaning
 * @param cause for GAP and LOST, and after a gap for SNAPSHOT_COMPLETE and NO_SNAPSHOT; otherwise
 *     NONE, and first, last, resume and isFillable are 0 or false
 * @param first first sequence of the missing range
 * @param last last sequence of the range, inclusive; first - 1: nothing is missing, and the text
 *     contains the reason
 * @param resume the next sequence that is tried in the ring
 * @param isFillable true if the journal holds the range
 * @param recordBytes of the records that follow
 * @param journalId null: none
 * @param sessionId null: none
 * @param schemaName of the records that follow
 * @param isDescribed true if {@link Subscriber#schema()} returns their fields
 * @param isFirstSession for SESSION: true for the first one of this subscriber
 * @param stateEntries for SNAPSHOT_COMPLETE: the number of entries in the state
 * @param fold of the state that was loaded
 * @param text a message: the cause, the checkpoint, how a session ended
 */
public record Event(Kind kind, long sequence, Cause cause, long first, long last, long resume,
    boolean isFillable, int recordBytes, UUID journalId, UUID sessionId, String schemaName,
    boolean isDescribed, boolean isFirstSession, long stateEntries, String fold, String text)
    implements Item {

  /** The kind of an event. */
  public enum Kind {
    /** The records first to last are missing from the ring; fillable: they follow. */
    GAP(C.EVENT_GAP),
    /** No source has the records first to last. */
    LOST(C.EVENT_LOST),
    /** A session begins at `sequence`: the first one, or the next. */
    SESSION(C.EVENT_SESSION),
    /** Another history begins at `sequence`. */
    RESET(C.EVENT_RESET),
    /** Everything up to the join (`sequence`) has been delivered. */
    CAUGHT_UP(C.EVENT_CAUGHT_UP),
    /** The publisher is alive but silent. */
    STALE(C.EVENT_STALE),
    /** The publisher ended without closing. The subscriber waits for the next one. */
    PUBLISHER_GONE(C.EVENT_PUBLISHER_GONE),
    /** The session was closed after `sequence`. */
    CLOSED(C.EVENT_CLOSED),
    /** The state is complete, as of `sequence`. */
    SNAPSHOT_COMPLETE(C.EVENT_SNAPSHOT_COMPLETE),
    /** No checkpoint can be used; delivery begins at `sequence`. */
    NO_SNAPSHOT(C.EVENT_NO_SNAPSHOT),
    /** The subscriber has fallen behind by more than the options allow. */
    BEHIND(C.EVENT_BEHIND),
    /** Every published record has been taken. */
    LIVE(C.EVENT_LIVE),
    /** A kind of a later release of the library. */
    UNKNOWN(0);

    private final int number;

    Kind(int number) {
      this.number = number;
    }

    private static Kind of(int number) {
      for (Kind kind : values()) {
        if (kind.number == number) {
          return kind;
        }
      }
      return UNKNOWN;
    }

    /** Returns a name such as "caught-up". */
    @Override
    public String toString() {
      return name().toLowerCase(Locale.ROOT).replace('_', '-');
    }
  }

  /** The reason why records are missing. */
  public enum Cause {
    /** Nothing is missing. */
    NONE(0),
    /** The publisher overwrote them before they were read. */
    LAPPED(C.CAUSE_LAPPED),
    /** They are between a dead session and the next one. */
    SESSION(C.CAUSE_SESSION),
    /** They will never exist, as recorded after a power cut. */
    VOID(C.CAUSE_VOID),
    /** Retention removed them. */
    PRUNED(C.CAUSE_PRUNED),
    /** The journal's bytes fail their checksum, or are missing. */
    DAMAGED(C.CAUSE_DAMAGED),
    /** Mirrored bus: they did not arrive from the origin. */
    NOT_RELAYED(C.CAUSE_NOT_RELAYED),
    /** Mirrored bus: the origin lost them. */
    UPSTREAM(C.CAUSE_UPSTREAM);

    private final int number;

    Cause(int number) {
      this.number = number;
    }

    private static Cause of(int number) {
      for (Cause cause : values()) {
        if (cause.number == number) {
          return cause;
        }
      }
      return NONE;
    }

    /** Returns a name such as "lapped". */
    @Override
    public String toString() {
      return name().toLowerCase(Locale.ROOT);
    }
  }

  static Event of(MemorySegment event) {
    return new Event(
        Kind.of(event.get(ValueLayout.JAVA_INT, C.event.kind)),
        event.get(ValueLayout.JAVA_LONG, C.event.sequence),
        Cause.of(event.get(ValueLayout.JAVA_INT, C.event.cause)),
        event.get(ValueLayout.JAVA_LONG, C.event.first),
        event.get(ValueLayout.JAVA_LONG, C.event.last),
        event.get(ValueLayout.JAVA_LONG, C.event.resume),
        event.get(ValueLayout.JAVA_INT, C.event.fillable) != 0,
        event.get(ValueLayout.JAVA_INT, C.event.record_bytes),
        Text.id(event, C.event.journal_id),
        Text.id(event, C.event.session_id),
        event.getString(C.event.schema_name),
        event.get(ValueLayout.JAVA_INT, C.event.is_described) != 0,
        event.get(ValueLayout.JAVA_INT, C.event.is_first_session) != 0,
        event.get(ValueLayout.JAVA_LONG, C.event.state_entries),
        event.getString(C.event.fold),
        event.getString(C.event.text));
  }

  /** Returns a line such as "gap 501..1139 lapped fillable", and the text. */
  @Override
  public String toString() {
    String what = cause == Cause.NONE || (kind != Kind.GAP && kind != Kind.LOST)
        ? kind + " " + sequence
        : kind + " " + first + ".." + last + " " + cause + (isFillable ? " fillable" : "");
    return text.isEmpty() ? what : what + ": " + text;
  }
}
