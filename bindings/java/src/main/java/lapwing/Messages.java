package lapwing;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.AbstractList;

/**
 * Messages that a consumer has borrowed, in the other side's memory, read-only. They are valid
 * until the release, and belong to the thread that peeked. The other side can still write to its
 * memory: copy a message before you validate it.
 */
public final class Messages extends AbstractList<Message> {
  private final Lease lease;
  final MemorySegment array;
  private int count;

  Messages(Lease lease, int max) {
    this.lease = lease;
    this.array = Arena.ofAuto().allocate(max * C.message.SIZE, 8);
  }

  int max() {
    return (int) (array.byteSize() / C.message.SIZE);
  }

  void count(int peeked) {
    count = peeked;
  }

  @Override
  public int size() {
    return count;
  }

  /** Allocates a Message. {@link #type} and {@link #payload} allocate less. */
  @Override
  public Message get(int index) {
    return new Message(type(index), payload(index));
  }

  public int type(int index) {
    return array.get(ValueLayout.JAVA_INT, at(index) + C.message.type);
  }

  public MemorySegment payload(int index) {
    long at = at(index);
    return lease.lend(array.get(ValueLayout.ADDRESS, at + C.message.payload),
        array.get(ValueLayout.JAVA_LONG, at + C.message.bytes)).asReadOnly();
  }

  private long at(int index) {
    return java.util.Objects.checkIndex(index, count) * C.message.SIZE;
  }
}
