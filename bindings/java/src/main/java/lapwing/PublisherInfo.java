package lapwing;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Locale;
import java.util.UUID;

/**
 * The counters of a publisher, and the state of its journal.
 *
 * @param first sequence of this session's first record
 * @param head last sequence that was published
 * @param durable last sequence that survives a power cut
 * @param sourceOffset records of the source that earlier sessions published
 * @param journalErrno errno of the journal's failure; 0: none
 * @param voidFirst first of the sequences that this start recorded as a void, up to voidLast;
 *     0: none
 * @param journalStalls times that publish waited for the journal
 * @param idleWakes wakes of sleeping threads: one for each sleeper and idle period
 * @param doorbells wakes of parked subscribers
 */
public record PublisherInfo(int recordBytes, UUID journalId, UUID sessionId, long first, long head,
    long durable, long sourceOffset, long subscribers, Settled settled, JournalState journalState,
    int journalErrno, long voidFirst, long voidLast, long journalStalls, long journalStallNsMax,
    long journalStallNsTotal, long idleWakes, long doorbells) {

  /** How a start settled the previous session. */
  public enum Settled {
    /** A value from a later release. */
    UNKNOWN(0),
    /** There was no journal yet: a new one was begun. */
    FRESH(C.SETTLED_FRESH),
    /** The last session had ended cleanly. */
    CONTINUED(C.SETTLED_CONTINUED),
    /** The last session was killed; the missing records were in the ring. */
    RECOVERED(C.SETTLED_RECOVERED),
    /** Power cut: the session was cut at durable, and the rest of the reservation is a void. */
    CUT(C.SETTLED_CUT),
    /** The journal had failed: a new one was begun. */
    RESET(C.SETTLED_RESET);

    private final int number;

    Settled(int number) {
      this.number = number;
    }

    private static Settled of(int number) {
      for (Settled settled : values()) {
        if (settled.number == number) {
          return settled;
        }
      }
      return UNKNOWN;
    }

    /** Returns a name such as "recovered". */
    @Override
    public String toString() {
      return name().toLowerCase(Locale.ROOT);
    }
  }

  /** The state of the journal. */
  public enum JournalState {
    /** The bus has no journal. */
    NONE(C.JOURNAL_STATE_NONE),
    GOOD(C.JOURNAL_STATE_GOOD),
    /** `durable` is frozen; live publishing continues. */
    FAILED(C.JOURNAL_STATE_FAILED),
    /** The same, because of {@link PublisherOptions.OnJournalLag#SHED}. */
    SHED(C.JOURNAL_STATE_SHED);

    private final int number;

    JournalState(int number) {
      this.number = number;
    }

    private static JournalState of(int number) {
      for (JournalState state : values()) {
        if (state.number == number) {
          return state;
        }
      }
      return FAILED; // a state of a later release: not good
    }

    /** Returns a name such as "good". */
    @Override
    public String toString() {
      return name().toLowerCase(Locale.ROOT);
    }
  }

  static PublisherInfo of(MemorySegment info) {
    return new PublisherInfo(
        info.get(ValueLayout.JAVA_INT, C.publisher_info.record_bytes),
        Text.id(info, C.publisher_info.journal_id),
        Text.id(info, C.publisher_info.session_id),
        info.get(ValueLayout.JAVA_LONG, C.publisher_info.first),
        info.get(ValueLayout.JAVA_LONG, C.publisher_info.head),
        info.get(ValueLayout.JAVA_LONG, C.publisher_info.durable),
        info.get(ValueLayout.JAVA_LONG, C.publisher_info.source_offset),
        info.get(ValueLayout.JAVA_LONG, C.publisher_info.subscribers),
        Settled.of(info.get(ValueLayout.JAVA_INT, C.publisher_info.settled)),
        JournalState.of(info.get(ValueLayout.JAVA_INT, C.publisher_info.journal_state)),
        info.get(ValueLayout.JAVA_INT, C.publisher_info.journal_errno),
        info.get(ValueLayout.JAVA_LONG, C.publisher_info.void_first),
        info.get(ValueLayout.JAVA_LONG, C.publisher_info.void_last),
        info.get(ValueLayout.JAVA_LONG, C.publisher_info.journal_stalls),
        info.get(ValueLayout.JAVA_LONG, C.publisher_info.journal_stall_ns_max),
        info.get(ValueLayout.JAVA_LONG, C.publisher_info.journal_stall_ns_total),
        info.get(ValueLayout.JAVA_LONG, C.publisher_info.idle_wakes),
        info.get(ValueLayout.JAVA_LONG, C.publisher_info.doorbells));
  }
}
