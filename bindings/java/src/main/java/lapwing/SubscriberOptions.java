package lapwing;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;

/** How a subscriber reads. Each option has a default; a duration of zero is the default, too. */
public final class SubscriberOptions {
  /** What happens at a gap. */
  public enum OnGap {
    /** The missing records are read from the journal. */
    FILL(C.ON_GAP_FILL),
    /** It is reported, and reading goes on in the ring. */
    SKIP(C.ON_GAP_SKIP),
    /** It is reported, and the subscriber ends with {@link ErrorCode#STOPPED_AT_GAP}. */
    STOP(C.ON_GAP_STOP),
    /** It is reported, and reading goes on with the newest checkpoint's state. */
    SNAPSHOT(C.ON_GAP_SNAPSHOT);

    final int number;

    OnGap(int number) {
      this.number = number;
    }
  }

  private String name;
  private Start start = Start.live();
  private OnGap onGap;
  private WaitMode wait;
  private boolean endAtClose;
  private boolean conflate;
  private Duration conflateInterval = Duration.ZERO;
  private int conflateKeysMax;
  private String fold;
  private String expect;
  private List<String> instruments = List.of();
  private Duration reattach = Duration.ZERO;
  private Duration flushTimeout = Duration.ZERO;
  private Duration staleAfter = Duration.ZERO;
  private int behindRecords;
  private Duration behind = Duration.ZERO;

  /** Shown by {@code lapwing subscribers}. */
  public SubscriberOptions name(String name) {
    this.name = name;
    return this;
  }

  /** Where it begins; live is the default. */
  public SubscriberOptions start(Start start) {
    this.start = start;
    return this;
  }

  /** What happens at a gap; it is filled by default. */
  public SubscriberOptions onGap(OnGap onGap) {
    this.onGap = onGap;
    return this;
  }

  /** How it waits; backoff is the default. */
  public SubscriberOptions waitMode(WaitMode wait) {
    this.wait = wait;
    return this;
  }

  /** A clean close of the bus is the end: {@link ErrorCode#CLOSED}, or the end of an iteration. */
  public SubscriberOptions endAtClose(boolean endAtClose) {
    this.endAtClose = endAtClose;
    return this;
  }

  /** Of each key only the newest record, once an interval; zero: 250 ms. */
  public SubscriberOptions conflate(Duration interval) {
    this.conflate = true;
    this.conflateInterval = Options.span("conflate", interval);
    return this;
  }

  /** More keys than that end an interval early; 0: 65,536. */
  public SubscriberOptions conflateKeysMax(int keys) {
    this.conflateKeysMax = Options.size("conflateKeysMax", keys);
    return this;
  }

  /** Of the state that a start or a gap loads; the schema's by default. */
  public SubscriberOptions fold(String fold) {
    this.fold = fold;
    return this;
  }

  /** What the records have to be: {@link Schema#text()}. Anything by default. */
  public SubscriberOptions expect(String description) {
    this.expect = description;
    return this;
  }

  /** What the records have to be. */
  public SubscriberOptions expect(Schema schema) {
    return expect(schema.text());
  }

  /** Only these: symbols, even of digits ({@code 005930}), or numbers as {@code id:5930}. */
  public SubscriberOptions instruments(String... instruments) {
    this.instruments = List.of(instruments);
    return this;
  }

  /** For how long a bus or a publisher is waited for; zero: 30 s. */
  public SubscriberOptions reattach(Duration reattach) {
    this.reattach = Options.span("reattach", reattach);
    return this;
  }

  /** How long the publisher may take for the join; zero: 10 s. */
  public SubscriberOptions flushTimeout(Duration timeout) {
    this.flushTimeout = Options.span("flushTimeout", timeout);
    return this;
  }

  /** After such a silence comes the event STALE; zero: never. */
  public SubscriberOptions staleAfter(Duration silence) {
    this.staleAfter = Options.span("staleAfter", silence);
    return this;
  }

  /** The events BEHIND and LIVE go by so many records; 0: not by this measure. */
  public SubscriberOptions behindRecords(int records) {
    this.behindRecords = Options.size("behindRecords", records);
    return this;
  }

  /** The events BEHIND and LIVE go by that time; zero: not by this measure. */
  public SubscriberOptions behind(Duration time) {
    this.behind = Options.span("behind", time);
    return this;
  }

  /** Rows do not follow one another: they need their sequences. */
  boolean isSparse() {
    return conflate || !instruments.isEmpty();
  }

  MemorySegment write(Arena arena, Path directory) {
    MemorySegment to = Text.struct(arena, C.subscriber_options.SIZE);
    to.set(ValueLayout.JAVA_INT, C.subscriber_options.flags,
        (endAtClose ? C.SUBSCRIBER_END_AT_CLOSE : 0) | (conflate ? C.SUBSCRIBER_CONFLATE : 0));
    to.set(ValueLayout.ADDRESS, C.subscriber_options.directory, Text.in(arena, directory));
    to.set(ValueLayout.ADDRESS, C.subscriber_options.name, Text.in(arena, name));
    to.set(ValueLayout.JAVA_INT, C.subscriber_options.start, start.kind);
    to.set(ValueLayout.JAVA_INT, C.subscriber_options.on_gap, onGap == null ? 0 : onGap.number);
    to.set(ValueLayout.JAVA_INT, C.subscriber_options.wait, wait == null ? 0 : wait.number);
    to.set(ValueLayout.JAVA_INT, C.subscriber_options.behind_records, behindRecords);
    to.set(ValueLayout.JAVA_LONG, C.subscriber_options.start_value, start.value);
    if (start.position != null) {
      start.position.write(to.asSlice(C.subscriber_options.start_position, C.position.SIZE));
    }
    to.set(ValueLayout.ADDRESS, C.subscriber_options.fold, Text.in(arena, fold));
    to.set(ValueLayout.ADDRESS, C.subscriber_options.expect, Text.in(arena, expect));
    MemorySegment symbols = arena.allocate(ValueLayout.ADDRESS, instruments.size());
    for (int i = 0; i < instruments.size(); i++) {
      symbols.setAtIndex(ValueLayout.ADDRESS, i, Text.in(arena, instruments.get(i)));
    }
    to.set(ValueLayout.ADDRESS, C.subscriber_options.instruments,
        instruments.isEmpty() ? MemorySegment.NULL : symbols);
    to.set(ValueLayout.JAVA_LONG, C.subscriber_options.instrument_count, instruments.size());
    to.set(ValueLayout.JAVA_LONG, C.subscriber_options.reattach_ns, Lapwing.nanos(reattach));
    to.set(ValueLayout.JAVA_LONG, C.subscriber_options.flush_timeout_ns,
        Lapwing.nanos(flushTimeout));
    to.set(ValueLayout.JAVA_LONG, C.subscriber_options.stale_after_ns, Lapwing.nanos(staleAfter));
    to.set(ValueLayout.JAVA_LONG, C.subscriber_options.behind_ns, Lapwing.nanos(behind));
    to.set(ValueLayout.JAVA_LONG, C.subscriber_options.conflate_interval_ns,
        Lapwing.nanos(conflateInterval));
    to.set(ValueLayout.JAVA_INT, C.subscriber_options.conflate_keys_max, conflateKeysMax);
    return to;
  }
}
