using System;
using System.Runtime.InteropServices;
using System.Threading;
using System.Threading.Tasks;

namespace Lapwing
{
    /// <summary>Options of a publisher. Null selects the default; a time of zero does not.</summary>
    public sealed class PublisherOptions
    {
        /// <summary>Directory of the bus. Created if it is missing.</summary>
        public string Directory { get; set; }

        /// <summary>null: the directory's last component.</summary>
        public string Name { get; set; }

        /// <summary>Name of a schema that Lapwing ships, or any other name; null: that of Schema, or "bytes".</summary>
        public string SchemaName { get; set; }

        /// <summary>A Schema or its JSON text; null: the shipped schema SchemaName, or no schema.</summary>
        public string Schema { get; set; }

        /// <summary>8 to 4,088; 0: that of the schema, or 56 without a schema.</summary>
        public int RecordBytes { get; set; }

        /// <summary>Slots, a power of two; 0: as many as fit, up to 1,048,576.</summary>
        public long Capacity { get; set; }

        /// <summary>null: the bus directory if it is on tmpfs, otherwise a directory in /dev/shm.</summary>
        public string RingDirectory { get; set; }

        /// <summary>null: the folder journal in the bus directory.</summary>
        public string JournalDirectory { get; set; }

        /// <summary>Bytes of slots in a segment, a power of two; null: 64 MiB.</summary>
        public long? SegmentBytes { get; set; }

        /// <summary>
        /// Time between syncs of the journal; null: 10 ms; Timeout.InfiniteTimeSpan: only on request.
        /// </summary>
        public TimeSpan? SyncInterval { get; set; }

        /// <summary>Journal size above which the oldest segments are removed; 0: no limit.</summary>
        public ulong RetainBytes { get; set; }

        /// <summary>
        /// A segment is removed once its newest record is older than this; null and Timeout.InfiniteTimeSpan: never.
        /// </summary>
        public TimeSpan? RetainAge { get; set; }

        /// <summary>Behavior if the journal is a whole ring behind; null: wait.</summary>
        public OnJournalLag? OnJournalLag { get; set; }

        /// <summary>Behavior if the journal has failed; null: continue.</summary>
        public OnJournalFailure? OnJournalFailure { get; set; }

        /// <summary>Raw DBN metadata of the feed.</summary>
        public byte[] Metadata { get; set; }

        /// <summary>Id of the records' source, stored in the journal.</summary>
        public ulong SourceId { get; set; }

        /// <summary>Number of records of the source before the first published one.</summary>
        public ulong SourceOffset { get; set; }

        /// <summary>Publish without a journal: readers cannot recover lapped records.</summary>
        public bool NoJournal { get; set; }

        /// <summary>Back the ring with huge pages, or fail.</summary>
        public bool HugePages { get; set; }

        /// <summary>Continue SourceId after its records in the journal.</summary>
        public bool Resume { get; set; }

        /// <summary>
        /// The program sets the field ts_recv of each record to the publish time, from which subscribers measure ages.
        /// </summary>
        public bool Restamped { get; set; }

        /// <summary>Gid of a group whose members may read the bus.</summary>
        public uint? Group { get; set; }

        internal unsafe lapwing_publisher_options Raw(Kept kept)
        {
            lapwing_publisher_options raw;
            Native.lapwing_publisher_options_init(&raw, (uint)sizeof(lapwing_publisher_options));
            raw.flags = (NoJournal ? Native.PublisherNoJournal : 0) | (HugePages ? Native.PublisherHugePages : 0) |
                (Resume ? Native.PublisherResume : 0) | (Group != null ? Native.PublisherGroup : 0) |
                (Restamped ? Native.PublisherRestamped : 0);
            raw.directory = kept.Add(Directory);
            raw.name = kept.Add(Name);
            raw.schema_name = kept.Add(SchemaName);
            raw.schema = kept.Add(Schema);
            raw.record_bytes = Option.Size(nameof(RecordBytes), RecordBytes);
            raw.group = Group ?? 0;
            raw.capacity = Option.Size(nameof(Capacity), Capacity);
            raw.ring_directory = kept.Add(RingDirectory);
            raw.journal_directory = kept.Add(JournalDirectory);
            Option.Size(nameof(SegmentBytes), SegmentBytes, ref raw.segment_bytes);
            Option.SpanOrInfinite(nameof(SyncInterval), SyncInterval, ref raw.sync_interval_ns);
            raw.retain_bytes = RetainBytes;
            Option.SpanOrInfinite(nameof(RetainAge), RetainAge, ref raw.retain_age_ns);
            Option.Choice(nameof(OnJournalLag), OnJournalLag, ref raw.on_journal_lag);
            Option.Choice(nameof(OnJournalFailure), OnJournalFailure, ref raw.on_journal_failure);
            raw.metadata = kept.Add(Metadata);
            raw.metadata_bytes = (UIntPtr)(Metadata?.Length ?? 0);
            raw.source_id = SourceId;
            raw.source_offset = SourceOffset;
            return raw;
        }
    }

    public sealed unsafe class PublisherInfo
    {
        internal PublisherInfo(lapwing_publisher_info* raw)
        {
            RecordBytes = (int)raw->record_bytes;
            JournalId = Id.Of(raw->journal_id);
            SessionId = Id.Of(raw->session_id);
            First = raw->first;
            Head = raw->head;
            Durable = raw->durable;
            SourceOffset = raw->source_offset;
            Subscribers = raw->subscribers;
            Settled = (Settled)raw->settled;
            JournalState = (JournalState)raw->journal_state;
            JournalErrno = raw->journal_errno;
            VoidFirst = raw->void_first;
            VoidLast = raw->void_last;
            JournalStalls = raw->journal_stalls;
            JournalStallNsMax = raw->journal_stall_ns_max;
            JournalStallNsTotal = raw->journal_stall_ns_total;
            IdleWakes = raw->idle_wakes;
            Doorbells = raw->doorbells;
        }

        public int RecordBytes { get; }

        public Id JournalId { get; }

        public Id SessionId { get; }

        /// <summary>Sequence of this session's first record.</summary>
        public ulong First { get; }

        /// <summary>The last published sequence.</summary>
        public ulong Head { get; }

        /// <summary>The last sequence that survives a power cut.</summary>
        public ulong Durable { get; }

        /// <summary>Records of the source that earlier sessions published.</summary>
        public ulong SourceOffset { get; }

        public ulong Subscribers { get; }

        public Settled Settled { get; }

        public JournalState JournalState { get; }

        public int JournalErrno { get; }

        /// <summary>First sequence that this start recorded as a void. 0 if there was no void.</summary>
        public ulong VoidFirst { get; }

        public ulong VoidLast { get; }

        /// <summary>Number of times that Publish waited for the journal.</summary>
        public ulong JournalStalls { get; }

        public ulong JournalStallNsMax { get; }

        public ulong JournalStallNsTotal { get; }

        public ulong IdleWakes { get; }

        /// <summary>Wake-ups of parked subscribers.</summary>
        public ulong Doorbells { get; }
    }

    /// <summary>Publishes records to a bus.</summary>
    public sealed unsafe class Publisher : LapwingObject
    {
        readonly PublisherHandle handle;
        readonly RowTypes types;

        Publisher(PublisherHandle handle, string directory)
            : base(handle)
        {
            this.handle = handle;
            types = RowTypes.OfBus(directory, true);
            RecordBytes = Inspect().RecordBytes;
        }

        /// <summary>
        /// Opens the bus for writing. `timeout` is how long to wait for another publisher to end; null: 10 s.
        /// </summary>
        public static Publisher Open(PublisherOptions options, TimeSpan? timeout = null) =>
            Library.With(() => new Publisher(Opened(options, timeout ?? Time.OfPublisher), options.Directory));

        static PublisherHandle Opened(PublisherOptions options, TimeSpan timeout)
        {
            lapwing_error error;
            error.struct_size = (uint)sizeof(lapwing_error);
            var pointer = IntPtr.Zero;
            using (var kept = new Kept())
            {
                var raw = options.Raw(kept);
                LapwingException.Check(
                    Native.lapwing_publisher_open(&raw, Time.Ns(timeout), ref pointer, &error), &error);
            }
            return new PublisherHandle(pointer);
        }

        /// <summary>Record size in bytes.</summary>
        public int RecordBytes { get; }

        /// <summary>
        /// Publishes contiguous records in order. Returns the sequence of the last one. Waits only if the journal is a
        /// whole ring behind. An exception's LastPublished is the last published sequence.
        /// </summary>
        public ulong Publish(byte[] records, TimeSpan? timeout = null) =>
            Publish(records, 0, records.Length, timeout);

        /// <summary>
        /// The same for a part of an array. `recordBytes` is the record size; 0: the record size of the bus.
        /// </summary>
        public ulong Publish(byte[] records, int begin, int bytes, TimeSpan? timeout = null, int recordBytes = 0)
        {
            if (begin < 0 || bytes < 0 || records.Length - begin < bytes) throw new ArgumentOutOfRangeException(nameof(bytes));
            fixed (byte* at = records)
            {
                return Publish(at + begin, bytes, recordBytes == 0 ? RecordBytes : recordBytes, timeout);
            }
        }

        /// <summary>
        /// The same for structs. If the bus has a schema, each struct type is compared with it once, as in
        /// Schema.Check. If they differ, fails with record-size and names the first field that differs.
        /// </summary>
        public ulong PublishRecords<T>(T[] records, int begin, int count, TimeSpan? timeout = null)
            where T : struct
        {
            if (begin < 0 || count < 0 || records.Length - begin < count) throw new ArgumentOutOfRangeException(nameof(count));
            var recordBytes = RecordType<T>.Bytes;
            types.Check<T>();
            var pin = GCHandle.Alloc(records, GCHandleType.Pinned);
            try
            {
                var at = (byte*)pin.AddrOfPinnedObject() + (long)begin * recordBytes;
                return Publish(at, (long)count * recordBytes, recordBytes, timeout);
            }
            finally
            {
                pin.Free();
            }
        }

        ulong Publish(byte* at, long bytes, int recordBytes, TimeSpan? timeout)
        {
            if (recordBytes < 0) throw new ArgumentOutOfRangeException(nameof(recordBytes), recordBytes, "0 or more");
            if (bytes % recordBytes != 0)
            {
                throw new ArgumentException($"{bytes} bytes are not a whole number of records of {recordBytes} bytes");
            }
            lapwing_error error;
            error.struct_size = (uint)sizeof(lapwing_error);
            ulong last = 0;
            int result;
            do
            {
                result = Native.lapwing_publisher_publish(handle, at, (UIntPtr)(ulong)(bytes / recordBytes),
                    (UIntPtr)recordBytes, BeginWait(timeout), &last, &error);
            }
            while (IsStale(result) && last == 0);
            if (result == 0) return last;
            var failure = LapwingException.Of(result, &error);
            failure.LastPublished = last;
            throw failure;
        }

        public Task<ulong> PublishAsync(byte[] records, CancellationToken token = default(CancellationToken)) =>
            Run(() => Publish(records), token);

        /// <summary>Waits until everything published is durable. Returns the last durable sequence.</summary>
        public ulong Flush(TimeSpan? timeout = null)
        {
            lapwing_error error;
            error.struct_size = (uint)sizeof(lapwing_error);
            ulong durable;
            int result;
            do result = Native.lapwing_publisher_flush(handle, BeginWait(timeout), &durable, &error);
            while (IsStale(result));
            LapwingException.Check(result, &error);
            return durable;
        }

        public Task<ulong> FlushAsync(CancellationToken token = default(CancellationToken)) =>
            Run(() => Flush(), token);

        public PublisherInfo Inspect()
        {
            lapwing_error error;
            error.struct_size = (uint)sizeof(lapwing_error);
            var info = new lapwing_publisher_info { struct_size = (uint)sizeof(lapwing_publisher_info) };
            LapwingException.Check(Native.lapwing_publisher_inspect(handle, &info, &error), &error);
            return new PublisherInfo(&info);
        }

        /// <summary>
        /// Makes everything durable, records the end of the session and notifies subscribers. Idempotent. After
        /// timed-out, the library continues, and a later Close returns the result.
        /// </summary>
        public void Close(TimeSpan? timeout = null)
        {
            lapwing_error error;
            error.struct_size = (uint)sizeof(lapwing_error);
            int result;
            do result = Native.lapwing_publisher_close(handle, BeginWait(timeout), &error);
            while (IsStale(result));
            LapwingException.Check(result, &error);
        }

        public Task CloseAsync(CancellationToken token = default(CancellationToken)) =>
            Run(() =>
            {
                Close();
                return true;
            }, token);
    }
}
