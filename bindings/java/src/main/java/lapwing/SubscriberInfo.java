package lapwing;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.UUID;

/**
 * The counters of a subscriber, and its position.
 *
 * @param recordBytes of the session that was delivered last; 0: none was
 * @param fold from the first entry of a state on
 * @param journalId of {@link Subscriber#position()}; null: none
 * @param sessionId likewise
 * @param head the newest record, as of now; 0 while no bus is attached
 * @param lag records behind it
 * @param durable no power cut takes a record up to here back
 * @param isLive it reads the ring, at most behindRecords behind
 * @param isDescribed {@link Subscriber#schema()} has the fields
 * @param records delivered; first and last are of those since the last reset
 * @param inState after a gap, not delivered since a state has them
 * @param stateEntries of all states
 * @param filtered of other instruments
 * @param conflated replaced by newer ones of their keys
 * @param waiting keys whose newest record waits for the end of the interval
 */
public record SubscriberInfo(int recordBytes, String schemaName, String fold, UUID journalId,
    UUID sessionId, long head, long lag, long durable, boolean isLive, boolean isDescribed,
    long records, long first, long last, long gaps, long lost, long inState, long filled,
    long duplicates, long outOfOrder, long sessions, long reattached, long stateEntries,
    long filtered, long conflated, long waiting) {

  static SubscriberInfo of(MemorySegment info) {
    return new SubscriberInfo(
        info.get(ValueLayout.JAVA_INT, C.subscriber_info.record_bytes),
        info.getString(C.subscriber_info.schema_name),
        info.getString(C.subscriber_info.fold),
        Text.id(info, C.subscriber_info.journal_id),
        Text.id(info, C.subscriber_info.session_id),
        info.get(ValueLayout.JAVA_LONG, C.subscriber_info.head),
        info.get(ValueLayout.JAVA_LONG, C.subscriber_info.lag),
        info.get(ValueLayout.JAVA_LONG, C.subscriber_info.durable),
        info.get(ValueLayout.JAVA_INT, C.subscriber_info.is_live) != 0,
        info.get(ValueLayout.JAVA_INT, C.subscriber_info.is_described) != 0,
        info.get(ValueLayout.JAVA_LONG, C.subscriber_info.records),
        info.get(ValueLayout.JAVA_LONG, C.subscriber_info.first),
        info.get(ValueLayout.JAVA_LONG, C.subscriber_info.last),
        info.get(ValueLayout.JAVA_LONG, C.subscriber_info.gaps),
        info.get(ValueLayout.JAVA_LONG, C.subscriber_info.lost),
        info.get(ValueLayout.JAVA_LONG, C.subscriber_info.in_state),
        info.get(ValueLayout.JAVA_LONG, C.subscriber_info.filled),
        info.get(ValueLayout.JAVA_LONG, C.subscriber_info.duplicates),
        info.get(ValueLayout.JAVA_LONG, C.subscriber_info.out_of_order),
        info.get(ValueLayout.JAVA_LONG, C.subscriber_info.sessions),
        info.get(ValueLayout.JAVA_LONG, C.subscriber_info.reattached),
        info.get(ValueLayout.JAVA_LONG, C.subscriber_info.state_entries),
        info.get(ValueLayout.JAVA_LONG, C.subscriber_info.filtered),
        info.get(ValueLayout.JAVA_LONG, C.subscriber_info.conflated),
        info.get(ValueLayout.JAVA_LONG, C.subscriber_info.waiting));
  }
}
