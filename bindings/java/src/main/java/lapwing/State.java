package lapwing;

/** Entries of a state. The event {@link Event.Kind#SNAPSHOT_COMPLETE} completes the state. */
public final class State extends Rows {
  State() {}

  @Override
  public State copy() {
    return copyTo(new State());
  }
}
