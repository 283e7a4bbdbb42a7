package lapwing.conformance;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import lapwing.Channel;
import lapwing.Consumer;
import lapwing.Duplex;
import lapwing.ErrorCode;
import lapwing.Lapwing;
import lapwing.Listener;
import lapwing.Producer;
import lapwing.WaitMode;
import lapwing.WaitSet;

/** Steps of wait sets. Tokens are those of the steps. */
final class WaitSetSteps {
  private final Handles handles;
  private final Map<String, WaitSet.Source<Long>> sources = new ConcurrentHashMap<>(); // by name

  private WaitSetSteps(Handles handles) {
    this.handles = handles;
  }

  static void add(Map<String, Driver.Operation> operations, Handles handles) {
    var steps = new WaitSetSteps(handles);
    operations.put("set.open", steps::open);
    operations.put("set.add", steps::add);
    operations.put("set.add-timer", steps::addTimer);
    operations.put("set.set-timer", steps::setTimer);
    operations.put("set.remove", steps::remove);
    operations.put("set.wait", step -> answer(step, on(handles, step).await(step.timeout())));
    operations.put("set.interrupt", steps::interrupt);
    operations.put("set.destroy", step -> handles.close(step, WaitSet.class));
  }

  @SuppressWarnings("unchecked") // open() makes no others
  static WaitSet<Long> on(Handles handles, Step step) {
    return handles.on(step, WaitSet.class);
  }

  private WaitSet<Long> on(Step step) {
    return on(handles, step);
  }

  static List<String> answer(Step step, WaitSet.Source<Long> ready) {
    return ready == null ? Driver.nothing(step)
        : Driver.ok("kind=%s token=%d", ready.kind(), ready.token());
  }

  private List<String> open(Step step) {
    WaitMode wait = step.choice("wait", WaitMode.class);
    handles.put(step, wait == null ? WaitSet.open() : WaitSet.open(wait));
    return Driver.ok();
  }

  private List<String> add(Step step) {
    long token = step.number("token");
    sources.put(step.text("source"), switch (handles.named(step, "source", Object.class)) {
      case SubscriberSteps.Opened opened -> on(step).add(opened.subscriber(), token);
      case Listener listener -> on(step).add(listener, token);
      case Channel channel -> switch (channel) {
        case Producer producer -> on(step).add(producer, step.number("bytes"), token);
        case Consumer consumer -> on(step).add(consumer, token);
        case Duplex duplex -> on(step).add(duplex, token);
      };
      default -> throw new Step.Unsuited("misuse");
    });
    return Driver.ok();
  }

  private static Duration in(Step step) {
    return "never".equals(step.text("in_ms")) ? Lapwing.NEVER : step.milliseconds("in_ms");
  }

  private static Duration every(Step step) {
    return Duration.ofMillis(step.number("every_ms"));
  }

  private List<String> addTimer(Step step) {
    sources.put(step.text("as"), on(step).addTimer(in(step), every(step), step.number("token")));
    return Driver.ok();
  }

  private List<String> setTimer(Step step) {
    on(step).setTimer(sources.get(step.text("timer")), in(step), every(step));
    return Driver.ok();
  }

  private List<String> remove(Step step) {
    return on(step).remove(sources.get(step.text("source"))) ? Driver.ok()
        : List.of(ErrorCode.NOT_FOUND.toString());
  }

  private List<String> interrupt(Step step) {
    on(step).interrupt();
    return Driver.ok();
  }
}
