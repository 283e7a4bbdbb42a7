package lapwing.conformance;

import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** What the steps of a scenario have made, by name. Steps that were begun run beside others. */
final class Handles {
  private final Map<String, Object> made = new ConcurrentHashMap<>();

  void put(Step step, Object object) {
    made.put(step.text("as"), object);
  }

  /** The object of that step. None of that name and kind is a misuse. */
  <T> T on(Step step, Class<T> type) {
    return named(step, "on", type);
  }

  <T> T named(Step step, String key, Class<T> type) {
    T object = find(step, key, type);
    if (object == null) {
      throw new Step.Unsuited("misuse");
    }
    return object;
  }

  /** null: none of that name and kind. */
  <T> T find(Step step, String key, Class<T> type) {
    Object object = step.has(key) ? made.get(step.text(key)) : null;
    return type.isInstance(object) ? type.cast(object) : null;
  }

  /** A destroy, of what there is. */
  List<String> close(Step step, Class<? extends AutoCloseable> type) {
    AutoCloseable object = on(step, type);
    made.remove(step.text("on"));
    try {
      object.close();
    } catch (RuntimeException e) {
      throw e;
    } catch (Exception e) {
      throw new IllegalStateException(e);
    }
    return Driver.ok();
  }

  void remove(Step step) {
    made.remove(step.text("on"));
  }
}
