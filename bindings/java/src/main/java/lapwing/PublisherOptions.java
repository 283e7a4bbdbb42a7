package lapwing;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.time.Duration;

/** Options of a publisher. Immutable and reusable. */
public final class PublisherOptions {
  /** The action when the journal is a whole ring behind. */
  public enum OnJournalLag {
    /** Publishing waits for the disk. */
    WAIT(C.ON_JOURNAL_LAG_WAIT),
    /** Journaling stops for the rest of the session. */
    SHED(C.ON_JOURNAL_LAG_SHED);

    final int number;

    OnJournalLag(int number) {
      this.number = number;
    }
  }

  /** The action when the journal has failed. */
  public enum OnJournalFailure {
    /** Publishing continues live. */
    CONTINUE(C.ON_JOURNAL_FAILURE_CONTINUE),
    /** Publishing ends. */
    STOP(C.ON_JOURNAL_FAILURE_STOP);

    final int number;

    OnJournalFailure(int number) {
      this.number = number;
    }
  }

  private final int flags;
  private final String name;
  private final String schemaName;
  private final String schema;
  private final int recordBytes;
  private final int group;
  private final long capacity;
  private final Path ringDirectory;
  private final Path journalDirectory;
  private final Long segmentBytes;
  private final Duration syncInterval;
  private final long retainBytes;
  private final Duration retainAge;
  private final OnJournalLag onJournalLag;
  private final OnJournalFailure onJournalFailure;
  private final byte[] metadata;
  private final long sourceId;
  private final long sourceOffset;

  private PublisherOptions(Builder given) {
    flags = given.flags;
    name = given.name;
    schemaName = given.schemaName;
    schema = given.schema;
    recordBytes = given.recordBytes;
    group = given.group;
    capacity = given.capacity;
    ringDirectory = given.ringDirectory;
    journalDirectory = given.journalDirectory;
    segmentBytes = given.segmentBytes;
    syncInterval = given.syncInterval;
    retainBytes = given.retainBytes;
    retainAge = given.retainAge;
    onJournalLag = given.onJournalLag;
    onJournalFailure = given.onJournalFailure;
    metadata = given.metadata;
    sourceId = given.sourceId;
    sourceOffset = given.sourceOffset;
  }

  /** Returns a builder with the defaults. */
  public static Builder builder() {
    return new Builder();
  }

  /** Sets options. An option that is not set, or is set to null, has its default. */
  public static final class Builder {
    private int flags;
    private String name;
    private String schemaName;
    private String schema;
    private int recordBytes;
    private int group;
    private long capacity;
    private Path ringDirectory;
    private Path journalDirectory;
    private Long segmentBytes;
    private Duration syncInterval;
    private long retainBytes;
    private Duration retainAge;
    private OnJournalLag onJournalLag;
    private OnJournalFailure onJournalFailure;
    private byte[] metadata;
    private long sourceId;
    private long sourceOffset;

    private Builder() {}

    /** Name of the bus; the directory's last component by default. */
    public Builder name(String name) {
      this.name = name;
      return this;
    }

    /**
     * The name of a schema that Lapwing ships, or your own. Default: the name in {@link #schema},
     * or else "bytes".
     */
    public Builder schemaName(String name) {
      this.schemaName = name;
      return this;
    }

    /**
     * The fields of a record. Default: those of the shipped schema {@link #schemaName}, or none.
     */
    public Builder schema(Schema schema) {
      return schema(schema == null ? null : schema.text());
    }

    /** The fields of a record, as the JSON of {@link Schema#text()}. */
    public Builder schema(String text) {
      this.schema = text;
      return this;
    }

    /** Record size in bytes, 8 to 4,088. Default: that of {@link #schema}, or else 56. */
    public Builder recordBytes(int bytes) {
      this.recordBytes = Options.size("recordBytes", bytes);
      return this;
    }

    /** Number of slots in the ring, a power of two. Default: as many as fit, up to 1,048,576. */
    public Builder capacity(long slots) {
      this.capacity = Options.size("capacity", slots);
      return this;
    }

    /** Keeps no journal: readers lose lapped records. */
    public Builder noJournal(boolean noJournal) {
      return flag(C.PUBLISHER_NO_JOURNAL, noJournal);
    }

    /** Backs the ring with huge pages; open fails if there are none. */
    public Builder hugePages(boolean hugePages) {
      return flag(C.PUBLISHER_HUGE_PAGES, hugePages);
    }

    /**
     * States that the program sets the field ts_recv of each record to its publish time.
     * Subscribers then measure ages from it ({@link SubscriberOptions#measureEvery}).
     */
    public Builder restamped(boolean restamped) {
      return flag(C.PUBLISHER_RESTAMPED, restamped);
    }

    /** Continues the {@link #source} after its records in the journal. */
    public Builder resume(boolean resume) {
      return flag(C.PUBLISHER_RESUME, resume);
    }

    /** Allows members of that group to read the bus. */
    public Builder group(int gid) {
      this.group = gid;
      return flag(C.PUBLISHER_GROUP, true);
    }

    /** Directory of the ring. Default: the bus directory if on tmpfs, or else one in /dev/shm. */
    public Builder ringDirectory(Path directory) {
      this.ringDirectory = directory;
      return this;
    }

    /** Directory of the journal; {@code journal} in the bus directory by default. */
    public Builder journalDirectory(Path directory) {
      this.journalDirectory = directory;
      return this;
    }

    /** Bytes of slots in a segment, a power of two; 64 MiB by default. */
    public Builder segmentBytes(long bytes) {
      this.segmentBytes = Options.size("segmentBytes", bytes);
      return this;
    }

    /** Time between syncs: 10 ms by default, or {@link Lapwing#ON_REQUEST}. */
    public Builder syncInterval(Duration interval) {
      this.syncInterval = Options.span("syncInterval", interval);
      return this;
    }

    /** Maximum journal size. When exceeded, the oldest segments are removed. 0: no limit. */
    public Builder retainBytes(long bytes) {
      this.retainBytes = Options.size("retainBytes", bytes);
      return this;
    }

    /** A segment is removed once its newest record is older than this; never by default. */
    public Builder retainAge(Duration age) {
      this.retainAge = Options.span("retainAge", age);
      return this;
    }

    /** The action when the journal is a whole ring behind; wait by default. */
    public Builder onJournalLag(OnJournalLag onJournalLag) {
      this.onJournalLag = onJournalLag;
      return this;
    }

    /** The action when the journal has failed; continue by default. */
    public Builder onJournalFailure(OnJournalFailure onJournalFailure) {
      this.onJournalFailure = onJournalFailure;
      return this;
    }

    /** Raw DBN metadata of the feed. */
    public Builder metadata(byte[] metadata) {
      this.metadata = metadata == null ? null : metadata.clone();
      return this;
    }

    /**
     * The source's id, which the journal stores, and the number of its records before the first one
     * that is published.
     */
    public Builder source(long id, long offset) {
      this.sourceId = id;
      this.sourceOffset = offset;
      return this;
    }

    private Builder flag(int flag, boolean isSet) {
      flags = isSet ? flags | flag : flags & ~flag;
      return this;
    }

    /** Returns the options as currently set. */
    public PublisherOptions build() {
      return new PublisherOptions(this);
    }
  }

  MemorySegment write(Arena arena, Path directory) {
    MemorySegment to = arena.allocate(C.publisher_options.SIZE, 8);
    C.publisher_options_init(to, (int) C.publisher_options.SIZE);
    to.set(ValueLayout.JAVA_INT, C.publisher_options.flags, flags);
    to.set(ValueLayout.ADDRESS, C.publisher_options.directory, Text.in(arena, directory));
    to.set(ValueLayout.ADDRESS, C.publisher_options.name, Text.in(arena, name));
    to.set(ValueLayout.ADDRESS, C.publisher_options.schema_name, Text.in(arena, schemaName));
    to.set(ValueLayout.ADDRESS, C.publisher_options.schema, Text.in(arena, schema));
    to.set(ValueLayout.JAVA_INT, C.publisher_options.record_bytes, recordBytes);
    to.set(ValueLayout.JAVA_INT, C.publisher_options.group, group);
    to.set(ValueLayout.JAVA_LONG, C.publisher_options.capacity, capacity);
    to.set(ValueLayout.ADDRESS, C.publisher_options.ring_directory, Text.in(arena, ringDirectory));
    to.set(ValueLayout.ADDRESS, C.publisher_options.journal_directory,
        Text.in(arena, journalDirectory));
    Options.put(to, C.publisher_options.segment_bytes, segmentBytes);
    Options.put(to, C.publisher_options.sync_interval_ns, syncInterval);
    to.set(ValueLayout.JAVA_LONG, C.publisher_options.retain_bytes, retainBytes);
    Options.put(to, C.publisher_options.retain_age_ns, retainAge);
    Options.put(to, C.publisher_options.on_journal_lag,
        onJournalLag == null ? null : onJournalLag.number);
    Options.put(to, C.publisher_options.on_journal_failure,
        onJournalFailure == null ? null : onJournalFailure.number);
    if (metadata != null && metadata.length > 0) {
      to.set(ValueLayout.ADDRESS, C.publisher_options.metadata,
          arena.allocateFrom(ValueLayout.JAVA_BYTE, metadata));
      to.set(ValueLayout.JAVA_LONG, C.publisher_options.metadata_bytes, metadata.length);
    }
    to.set(ValueLayout.JAVA_LONG, C.publisher_options.source_id, sourceId);
    to.set(ValueLayout.JAVA_LONG, C.publisher_options.source_offset, sourceOffset);
    return to;
  }
}
