package lapwing;

/** Entries of a state. It is whole with the event {@link Event.Kind#SNAPSHOT_COMPLETE}. */
public final class State extends Rows {
  State() {}

  @Override
  public State copy() {
    return copyTo(new State());
  }
}
