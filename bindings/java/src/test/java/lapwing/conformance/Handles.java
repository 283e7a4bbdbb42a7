package lapwing.conformance;

import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** The objects that the steps of a scenario have created, by name. Steps can run in parallel. */
final class Handles {
  private final Map<String, Object> made = new ConcurrentHashMap<>();

  void put(Step step, Object object) {
    made.put(step.text("as"), object);
  }

  /** Returns the object that the step names. misuse: there is none with that name and type. */
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

  /** Returns the object that the step names; null: there is none with that name and type. */
  <T> T find(Step step, String key, Class<T> type) {
    Object object = step.has(key) ? made.get(step.text(key)) : null;
    return type.isInstance(object) ? type.cast(object) : null;
  }

  /** Closes and removes the object that the step names. */
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
