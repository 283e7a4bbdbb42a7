package lapwing;

/** Which book: of an instrument, as a publisher of the feed has it. Both are unsigned. */
public record BookKey(int publisherId, int instrumentId) {
  /** "1:4242". */
  @Override
  public String toString() {
    return publisherId + ":" + Integer.toUnsignedString(instrumentId);
  }
}
