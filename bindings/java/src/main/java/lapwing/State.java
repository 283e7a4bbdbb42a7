package lapwing;

/** State entries. The event {@link Event.Kind#SNAPSHOT_COMPLETE} completes the state. */
public final class State extends Rows {
  State() {}

  @Override
  public State copy() {
    return copyTo(new State());
  }
}
