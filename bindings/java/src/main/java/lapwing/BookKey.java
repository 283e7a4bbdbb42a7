package lapwing;

/** Identifies a book: an instrument of one of the feed's publishers. Both numbers are unsigned. */
public record BookKey(int publisherId, int instrumentId) {
  /** Returns a text such as "1:4242". */
  @Override
  public String toString() {
    return publisherId + ":" + Integer.toUnsignedString(instrumentId);
  }
}
