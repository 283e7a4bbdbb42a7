package lapwing;

/** A side of a book. */
public enum Side {
  BID((byte) 'B'),
  ASK((byte) 'A');

  final byte letter;

  Side(byte letter) {
    this.letter = letter;
  }
}
