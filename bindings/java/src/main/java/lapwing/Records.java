package lapwing;

/** Records of one session, in order. */
public final class Records extends Rows {
  Records() {}

  @Override
  public Records copy() {
    return copyTo(new Records());
  }
}
