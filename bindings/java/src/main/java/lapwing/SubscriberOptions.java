package lapwing;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;

/** Options of a subscriber. Immutable and reusable. */
public final class SubscriberOptions {
  /** The action at a gap. */
  public enum OnGap {
    /** The missing records are read from the journal. */
    FILL(C.ON_GAP_FILL),
    /** The gap is reported, and reading continues in the ring. */
    SKIP(C.ON_GAP_SKIP),
    /** The gap is reported, and the subscriber ends with {@link ErrorCode#STOPPED_AT_GAP}. */
    STOP(C.ON_GAP_STOP),
    /** The gap is reported, and reading continues with the newest checkpoint's state. */
    SNAPSHOT(C.ON_GAP_SNAPSHOT);

    final int number;

    OnGap(int number) {
      this.number = number;
    }
  }

  private final String name;
  private final Start start;
  private final OnGap onGap;
  private final WaitMode wait;
  private final boolean endAtClose;
  private final boolean conflate;
  private final boolean observes;
  private final Duration conflateInterval;
  private final Integer conflateKeysMax;
  private final String fold;
  private final String expect;
  private final List<String> instruments;
  private final Duration reattach;
  private final Duration flushTimeout;
  private final Duration staleAfter;
  private final int behindRecords;
  private final Duration behindTime;
  private final int measureEvery;

  private SubscriberOptions(Builder given) {
    name = given.name;
    start = given.start;
    onGap = given.onGap;
    wait = given.wait;
    endAtClose = given.endAtClose;
    conflate = given.conflate;
    observes = given.observes;
    conflateInterval = given.conflateInterval;
    conflateKeysMax = given.conflateKeysMax;
    fold = given.fold;
    expect = given.expect;
    instruments = given.instruments;
    reattach = given.reattach;
    flushTimeout = given.flushTimeout;
    staleAfter = given.staleAfter;
    behindRecords = given.behindRecords;
    behindTime = given.behindTime;
    measureEvery = given.measureEvery;
  }

  /** Returns a builder with the defaults. */
  public static Builder builder() {
    return new Builder();
  }

  /** Sets options. An option that is not set, or is set to null, has its default. */
  public static final class Builder {
    private String name;
    private Start start = Start.live();
    private OnGap onGap;
    private WaitMode wait;
    private boolean endAtClose;
    private boolean conflate;
    private boolean observes;
    private Duration conflateInterval;
    private Integer conflateKeysMax;
    private String fold;
    private String expect;
    private List<String> instruments = List.of();
    private Duration reattach;
    private Duration flushTimeout;
    private Duration staleAfter;
    private int behindRecords;
    private Duration behindTime;
    private int measureEvery;

    private Builder() {}

    /** Name of the subscriber; {@code lapwing subscribers} shows it. */
    public Builder name(String name) {
      this.name = name;
      return this;
    }

    /** The position at which it begins; live by default. */
    public Builder start(Start start) {
      this.start = start == null ? Start.live() : start;
      return this;
    }

    /** The action at a gap; it is filled by default. */
    public Builder onGap(OnGap onGap) {
      this.onGap = onGap;
      return this;
    }

    /** How calls wait; backoff by default. */
    public Builder waitMode(WaitMode wait) {
      this.wait = wait;
      return this;
    }

    /**
     * A clean close of the bus ends the subscriber: {@link ErrorCode#CLOSED}, or the end of an
     * iteration.
     */
    public Builder endAtClose(boolean endAtClose) {
      this.endAtClose = endAtClose;
      return this;
    }

    /** Delivers only the newest record of each key, once every 250 ms. */
    public Builder conflate() {
      return conflate(null);
    }

    /** Delivers only the newest record of each key, once every interval. */
    public Builder conflate(Duration interval) {
      this.conflate = true;
      this.conflateInterval = Options.span("conflate", interval);
      return this;
    }

    /** Maximum number of keys in an interval; more keys end it early. 65,536 by default. */
    public Builder conflateKeysMax(int keys) {
      this.conflateKeysMax = Options.size("conflateKeysMax", keys);
      return this;
    }

    /** Fold of the state that a start or a gap loads; the schema's default fold by default. */
    public Builder fold(String fold) {
      this.fold = fold;
      return this;
    }

    /** The schema that the records must match. Default: any. */
    public Builder expect(Schema schema) {
      return expect(schema == null ? null : schema.text());
    }

    /** The schema that the records must match, as the JSON of {@link Schema#text()}. */
    public Builder expect(String text) {
      this.expect = text;
      return this;
    }

    /**
     * The chosen instruments: symbols, even if they consist of digits ({@code 005930}), or numbers
     * as {@code id:5930}.
     */
    public Builder instruments(String... instruments) {
      this.instruments = List.of(instruments);
      return this;
    }

    /** How long to wait for the bus or a publisher: 30 s by default, or {@link Lapwing#FOREVER}. */
    public Builder reattach(Duration reattach) {
      this.reattach = Options.span("reattach", reattach);
      return this;
    }

    /**
     * How long the publisher may take to answer the join: 10 s by default, or {@link
     * Lapwing#FOREVER}.
     */
    public Builder flushTimeout(Duration timeout) {
      this.flushTimeout = Options.span("flushTimeout", timeout);
      return this;
    }

    /** Silence of the publisher before the event STALE; {@link Lapwing#NEVER} by default. */
    public Builder staleAfter(Duration silence) {
      this.staleAfter = Options.span("staleAfter", silence);
      return this;
    }

    /** Limit in records for the events BEHIND and LIVE; 0, the default: no limit. */
    public Builder behindRecords(int records) {
      this.behindRecords = Options.size("behindRecords", records);
      return this;
    }

    /** Limit in time for the events BEHIND and LIVE; {@link Lapwing#NEVER} by default. */
    public Builder behindTime(Duration time) {
      this.behindTime = Options.span("behindTime", time);
      return this;
    }

    /** Measures the age of every Nth record for {@link Subscriber#ages()}; 0, the default: none. */
    public Builder measureEvery(int records) {
      this.measureEvery = Options.size("measureEvery", records);
      return this;
    }

    /**
     * The subscriber only displays records: the totals of the bus do not include its gaps and
     * losses.
     */
    public Builder observes(boolean observes) {
      this.observes = observes;
      return this;
    }

    /** Returns the options as currently set. */
    public SubscriberOptions build() {
      return new SubscriberOptions(this);
    }
  }

  boolean conflates() {
    return conflate;
  }

  /** Whether the sequences of rows are not consecutive, so that batches need a column for them. */
  boolean isSparse() {
    return conflate || !instruments.isEmpty();
  }

  MemorySegment write(Arena arena, Path directory) {
    MemorySegment to = arena.allocate(C.subscriber_options.SIZE, 8);
    C.subscriber_options_init(to, (int) C.subscriber_options.SIZE);
    to.set(ValueLayout.JAVA_INT, C.subscriber_options.flags,
        (endAtClose ? C.SUBSCRIBER_END_AT_CLOSE : 0) | (conflate ? C.SUBSCRIBER_CONFLATE : 0)
            | (observes ? C.SUBSCRIBER_OBSERVES : 0));
    to.set(ValueLayout.ADDRESS, C.subscriber_options.directory, Text.in(arena, directory));
    to.set(ValueLayout.ADDRESS, C.subscriber_options.name, Text.in(arena, name));
    to.set(ValueLayout.JAVA_INT, C.subscriber_options.start, start.kind);
    Options.put(to, C.subscriber_options.on_gap, onGap == null ? null : onGap.number);
    Options.put(to, C.subscriber_options.wait, wait == null ? null : wait.number);
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
    Options.put(to, C.subscriber_options.reattach_ns, reattach);
    Options.put(to, C.subscriber_options.flush_timeout_ns, flushTimeout);
    Options.put(to, C.subscriber_options.stale_after_ns, staleAfter);
    Options.put(to, C.subscriber_options.behind_time_ns, behindTime);
    Options.put(to, C.subscriber_options.conflate_interval_ns, conflateInterval);
    Options.put(to, C.subscriber_options.conflate_keys_max, conflateKeysMax);
    to.set(ValueLayout.JAVA_INT, C.subscriber_options.measure_every, measureEvery);
    return to;
  }
}
