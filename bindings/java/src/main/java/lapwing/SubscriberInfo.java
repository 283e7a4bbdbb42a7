package lapwing;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.UUID;

/**
 * The counters of a subscriber, and its position.
 *
 * @param recordBytes record size of the last session delivered; 0: none
 * @param fold set once the first state entry has been delivered
 * @param journalId the id in {@link Subscriber#position()}; null: none
 * @param sessionId the id in {@link Subscriber#position()}; null: none
 * @param head sequence of the newest record; 0 while no bus is attached
 * @param lag number of records behind head
 * @param durable records up to this sequence survive a power cut
 * @param isLive true if it reads the ring and is at most behindRecords behind
 * @param isDescribed true if {@link Subscriber#schema()} returns the fields
 * @param records delivered records; first and last are sequences since the last reset
 * @param inState records that were not delivered after a gap, because a state contains them
 * @param stateEntries entries of all states
 * @param filtered records of other instruments
 * @param conflated records that were replaced by newer ones with the same key
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
