package lapwing;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Locale;
import java.util.UUID;

/**
 * An event between two records. docs/reference/events.md lists the events.
 *
 * @param sequence the event's, as its kind says
 * @param cause of a gap or a loss; after a gap also of SNAPSHOT_COMPLETE and NO_SNAPSHOT; else NONE
 * @param first of the missing range; this one and the three that follow are 0 without a cause
 * @param last of it, inclusive; first - 1: nothing is missing, and the text says what is wrong
 * @param resume the next sequence that is tried in the ring
 * @param isFillable the journal holds the range
 * @param recordBytes of the records that follow
 * @param journalId null: none
 * @param sessionId null: none
 * @param schemaName of the records that follow
 * @param isDescribed {@link Subscriber#schema()} has their fields
 * @param isFirstSession of SESSION: the first one of this subscriber
 * @param stateEntries of SNAPSHOT_COMPLETE: of the state
 * @param fold of the state that was loaded
 * @param text in words: why, which checkpoint, how a session ended
 */
public record Event(Kind kind, long sequence, Cause cause, long first, long last, long resume,
    boolean isFillable, int recordBytes, UUID journalId, UUID sessionId, String schemaName,
    boolean isDescribed, boolean isFirstSession, long stateEntries, String fold, String text)
    implements Item {

  /** The kind of an event. */
  public enum Kind {
    /** first to last did not come from the ring; fillable: they follow. */
    GAP(C.EVENT_GAP),
    /** Nothing can give first to last. */
    LOST(C.EVENT_LOST),
    /** A session begins at `sequence`: the first one, or the next. */
    SESSION(C.EVENT_SESSION),
    /** Another history begins at `sequence`. */
    RESET(C.EVENT_RESET),
    /** Everything up to the join, `sequence`, was delivered. */
    CAUGHT_UP(C.EVENT_CAUGHT_UP),
    /** The publisher lives and is silent. */
    STALE(C.EVENT_STALE),
    /** It ended without closing; the next one is waited for. */
    PUBLISHER_GONE(C.EVENT_PUBLISHER_GONE),
    /** The session was closed after `sequence`. */
    CLOSED(C.EVENT_CLOSED),
    /** The state is complete, as of `sequence`. */
    SNAPSHOT_COMPLETE(C.EVENT_SNAPSHOT_COMPLETE),
    /** No checkpoint can be used; `sequence` comes first. */
    NO_SNAPSHOT(C.EVENT_NO_SNAPSHOT),
    /** Fallen behind by what the options say. */
    BEHIND(C.EVENT_BEHIND),
    /** Everything that was published is taken. */
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

    /** "caught-up". */
    @Override
    public String toString() {
      return name().toLowerCase(Locale.ROOT).replace('_', '-');
    }
  }

  /** Why records are missing. */
  public enum Cause {
    /** Nothing is missing. */
    NONE(0),
    /** The publisher overwrote them before they were read. */
    LAPPED(C.CAUSE_LAPPED),
    /** They are between a dead session and the next one. */
    SESSION(C.CAUSE_SESSION),
    /** They will never exist: recorded after a power cut. */
    VOID(C.CAUSE_VOID),
    /** Retention removed them. */
    PRUNED(C.CAUSE_PRUNED),
    /** The journal's bytes fail their sum, or are gone. */
    DAMAGED(C.CAUSE_DAMAGED),
    /** A mirrored bus: they did not arrive from the origin. */
    NOT_RELAYED(C.CAUSE_NOT_RELAYED),
    /** A mirrored bus: the origin lost them. */
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

    /** "lapped". */
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

  /** "gap 501..1139 lapped fillable", and the text. */
  @Override
  public String toString() {
    String what = cause == Cause.NONE || (kind != Kind.GAP && kind != Kind.LOST)
        ? kind + " " + sequence
        : kind + " " + first + ".." + last + " " + cause + (isFillable ? " fillable" : "");
    return text.isEmpty() ? what : what + ": " + text;
  }
}
