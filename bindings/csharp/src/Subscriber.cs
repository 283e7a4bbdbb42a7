using System;
using System.Collections;
using System.Collections.Generic;
using System.Threading;
using System.Threading.Tasks;

namespace Lapwing
{
    public sealed unsafe class SubscriberInfo
    {
        internal SubscriberInfo(lapwing_subscriber_info* raw)
        {
            RecordBytes = (int)raw->record_bytes;
            SchemaName = Text.Of(raw->schema_name, 32);
            Fold = Text.Of(raw->fold, 32);
            JournalId = Id.Of(raw->journal_id);
            SessionId = Id.Of(raw->session_id);
            Head = raw->head;
            Lag = raw->lag;
            Durable = raw->durable;
            IsLive = raw->is_live != 0;
            IsDescribed = raw->is_described != 0;
            Records = raw->records;
            First = raw->first;
            Last = raw->last;
            Gaps = raw->gaps;
            Lost = raw->lost;
            InState = raw->in_state;
            Filled = raw->filled;
            Duplicates = raw->duplicates;
            OutOfOrder = raw->out_of_order;
            Sessions = raw->sessions;
            Reattached = raw->reattached;
            StateEntries = raw->state_entries;
            Filtered = raw->filtered;
            Conflated = raw->conflated;
            Waiting = raw->waiting;
        }

        /// <summary>Record size of the last delivered session, or 0 if none was delivered.</summary>
        public int RecordBytes { get; }

        public string SchemaName { get; }

        public string Fold { get; }

        public Id JournalId { get; }

        public Id SessionId { get; }

        /// <summary>The newest record now, or 0 while no bus is attached.</summary>
        public ulong Head { get; }

        /// <summary>Number of records that the subscriber is behind Head.</summary>
        public ulong Lag { get; }

        /// <summary>The last sequence that survives a power cut.</summary>
        public ulong Durable { get; }

        public bool IsLive { get; }

        public bool IsDescribed { get; }

        /// <summary>Delivered records.</summary>
        public ulong Records { get; }

        /// <summary>First delivered sequence since the last reset.</summary>
        public ulong First { get; }

        public ulong Last { get; }

        public ulong Gaps { get; }

        public ulong Lost { get; }

        /// <summary>Records of a gap that were not delivered because a state contains them.</summary>
        public ulong InState { get; }

        public ulong Filled { get; }

        public ulong Duplicates { get; }

        public ulong OutOfOrder { get; }

        public ulong Sessions { get; }

        public ulong Reattached { get; }

        /// <summary>Delivered entries of all states.</summary>
        public ulong StateEntries { get; }

        /// <summary>Records of other instruments, which were not delivered.</summary>
        public ulong Filtered { get; }

        /// <summary>Records that were replaced by newer ones with the same key.</summary>
        public ulong Conflated { get; }

        /// <summary>Keys whose newest record waits for the end of the interval.</summary>
        public ulong Waiting { get; }
    }

    /// <summary>
    /// How old the records selected by SubscriberOptions.MeasureEvery were when they were delivered, in ns since they
    /// were published. Percentiles are at most a quarter too high.
    /// </summary>
    public sealed unsafe class Ages
    {
        internal Ages(lapwing_ages* raw)
        {
            Count = raw->count;
            Negative = raw->negative;
            Unstamped = raw->unstamped;
            P50Ns = raw->p50_ns;
            P90Ns = raw->p90_ns;
            P99Ns = raw->p99_ns;
            P999Ns = raw->p999_ns;
            MaxNs = raw->max_ns;
        }

        /// <summary>Records with an age.</summary>
        public ulong Count { get; }

        /// <summary>Records without an age because their publish time is in the future.</summary>
        public ulong Negative { get; }

        /// <summary>Records without an age because they have no publish time.</summary>
        public ulong Unstamped { get; }

        public ulong P50Ns { get; }

        public ulong P90Ns { get; }

        public ulong P99Ns { get; }

        public ulong P999Ns { get; }

        public ulong MaxNs { get; }
    }

    /// <summary>Reads a bus at its own pace: records, states and events, in order.</summary>
    public sealed unsafe class Subscriber : LapwingObject, IEnumerable<Item>
    {
        const int ItemRows = 4096;
        const int RowBytesDefault = 56;

        readonly SubscriberHandle handle;
        readonly bool isSparse;
        readonly string fold;

        // Checks for the current session. null before the first one, and if its records are not described.
        RowTypes records;
        RowTypes state;

        ItemReader items; // used by TryRead

        Subscriber(SubscriberHandle handle, SubscriberOptions options)
            : base(handle)
        {
            this.handle = handle;
            isSparse = options.IsSparse;
            fold = options.Fold;
        }

        internal SubscriberHandle Handle => handle;

        /// <summary>Checks the options. The bus need not exist: reads wait for it.</summary>
        public static Subscriber Open(SubscriberOptions options) =>
            Library.With(() => new Subscriber(Opened(options), options));

        static SubscriberHandle Opened(SubscriberOptions options)
        {
            lapwing_error error;
            error.struct_size = (uint)sizeof(lapwing_error);
            var pointer = IntPtr.Zero;
            using (var kept = new Kept())
            {
                var raw = options.Raw(kept);
                LapwingException.Check(Native.lapwing_subscriber_open(&raw, ref pointer, &error), &error);
            }
            return new SubscriberHandle(pointer);
        }

        /// <summary>
        /// Reads rows of one kind, or one event. Fails at the end of the bus, for example with closed.
        /// </summary>
        public void Read(Batch batch, TimeSpan? timeout = null)
        {
            lapwing_error error;
            error.struct_size = (uint)sizeof(lapwing_error);
            LapwingException.Check(ReadInto(batch, Time.Ns(timeout), &error), &error);
        }

        /// <summary>The same, but returns false if nothing arrives within the timeout, which is 0 by default.</summary>
        public bool TryRead(Batch batch, TimeSpan timeout = default(TimeSpan))
        {
            lapwing_error error;
            error.struct_size = (uint)sizeof(lapwing_error);
            return ReadInto(batch, Time.Ns(timeout), &error) == 0;
        }

        /// <summary>
        /// Reads the next item, which owns its memory. Returns false if nothing arrives within the timeout, which is 0
        /// by default.
        /// </summary>
        public bool TryRead(out Item item, TimeSpan timeout = default(TimeSpan))
        {
            if (items == null) items = new ItemReader(this, ItemRows);
            item = items.Read(timeout);
            return item != null;
        }

        /// <summary>Returns 0, would-block or timed-out. Throws any other error.</summary>
        int ReadInto(Batch batch, long timeoutNs, lapwing_error* error)
        {
            var raw = batch.BeginUse();
            try
            {
                int result;
                do result = Native.lapwing_subscriber_read(handle, raw, BeginWait(timeoutNs), error);
                while (IsStale(result));
                if (result == 0) Note(batch, raw);
                else if (!LapwingException.IsNothing(result)) throw LapwingException.OfRead(result, raw, error);
                return result;
            }
            finally
            {
                batch.EndUse();
            }
        }

        /// <summary>Stores in the batch the checks for its rows. Each session has its own.</summary>
        void Note(Batch batch, lapwing_batch* raw)
        {
            var rows = (BatchKind)raw->kind;
            if (rows != BatchKind.Event)
            {
                batch.Types = rows == BatchKind.State ? state : records;
                return;
            }
            var kind = (EventKind)raw->@event.kind;
            if (kind != EventKind.Session && kind != EventKind.Reset) return;
            var begun = new Event(&raw->@event);
            records = begun.IsDescribed ? RowTypes.Of(Schema()) : null;
            var hasOrders = fold == "orders" || (string.IsNullOrEmpty(fold) && begun.SchemaName == "dbn.mbo");
            state = hasOrders ? RowTypes.OfFold("orders") : null;
        }

        /// <summary>Reads on a pool thread. A cancellation ends the wait.</summary>
        public Task<Batch> ReadAsync(Batch batch, CancellationToken token = default(CancellationToken)) =>
            Run(() =>
            {
                Read(batch);
                return batch;
            }, token);

        /// <summary>
        /// Reads one record and returns its sequence. Fails with event-due if an event precedes the next record.
        /// </summary>
        public ulong ReadOne(byte[] record, TimeSpan? timeout = null)
        {
            lapwing_error error;
            error.struct_size = (uint)sizeof(lapwing_error);
            ulong sequence;
            int result;
            fixed (byte* at = record)
            {
                do
                {
                    result = Native.lapwing_subscriber_read_one(
                        handle, at, (UIntPtr)record.Length, BeginWait(timeout), &sequence, &error);
                }
                while (IsStale(result));
            }
            LapwingException.Check(result, &error);
            return sequence;
        }

        public Task<ulong> ReadOneAsync(byte[] record, CancellationToken token = default(CancellationToken)) =>
            Run(() => ReadOne(record), token);

        /// <summary>
        /// Returns the schema of the records, as of the last Session or Reset event that was read. The next session
        /// may have other fields in records of the same size. Fails with not-found if the bus has no schema, and with
        /// misuse if no session has been read yet.
        /// </summary>
        public Schema Schema() => Lapwing.Schema.Delivered(handle);

        /// <summary>Returns how old records were when they were delivered, or null if no age was measured.</summary>
        public Ages Ages()
        {
            lapwing_error error;
            error.struct_size = (uint)sizeof(lapwing_error);
            var ages = new lapwing_ages { struct_size = (uint)sizeof(lapwing_ages) };
            var result = Native.lapwing_subscriber_ages(handle, &ages, &error);
            if (result == (int)ErrorCode.NotFound) return null;
            LapwingException.Check(result, &error);
            return new Ages(&ages);
        }

        /// <summary>
        /// Iterates over records, states and events in order. Each item owns its memory. Ends at closed.
        /// </summary>
        public IEnumerator<Item> GetEnumerator() => Items().GetEnumerator();

        IEnumerator IEnumerable.GetEnumerator() => GetEnumerator();

        /// <summary>The same with at most `rows` rows per item. A cancellation ends the wait.</summary>
        public IEnumerable<Item> Items(int rows = ItemRows, CancellationToken token = default(CancellationToken))
        {
            using (var reader = new ItemReader(this, rows))
            {
                for (var item = NextUntilClosed(reader, token); item != null; item = NextUntilClosed(reader, token))
                {
                    yield return item;
                }
            }
        }

        /// <summary>Returns the next item, or null at closed.</summary>
        Item NextUntilClosed(ItemReader reader, CancellationToken token)
        {
            try
            {
                if (!token.CanBeCanceled) return reader.Read(Timeout.InfiniteTimeSpan);
                return WithToken(() => reader.Read(Timeout.InfiniteTimeSpan), token);
            }
            catch (LapwingException error) when (error.Code == ErrorCode.Closed)
            {
                return null;
            }
        }

        /// <summary>Reads items through a batch, which grows to fit the rows.</summary>
        sealed class ItemReader : IDisposable
        {
            readonly Subscriber subscriber;
            readonly int rows;
            Batch batch;

            internal ItemReader(Subscriber subscriber, int rows)
            {
                this.subscriber = subscriber;
                this.rows = rows;
                batch = new Batch(rows, RowBytesDefault, subscriber.isSparse);
            }

            /// <summary>Returns the next item, or null if nothing arrives within the timeout.</summary>
            internal Item Read(TimeSpan timeout)
            {
                for (;;)
                {
                    try
                    {
                        if (!subscriber.TryRead(batch, timeout)) return null;
                    }
                    catch (LapwingException error) when (error.Code == ErrorCode.TooSmall && error.RowBytes > 0)
                    {
                        batch.Dispose();
                        batch = new Batch(rows, error.RowBytes, subscriber.isSparse);
                        continue;
                    }
                    if (batch.Kind == BatchKind.Event) return batch.Event;
                    return batch.Kind == BatchKind.State ? (Item)new State(batch) : new Records(batch);
                }
            }

            public void Dispose() => batch.Dispose();
        }

        public SubscriberInfo Inspect()
        {
            lapwing_error error;
            error.struct_size = (uint)sizeof(lapwing_error);
            var info = new lapwing_subscriber_info { struct_size = (uint)sizeof(lapwing_subscriber_info) };
            LapwingException.Check(Native.lapwing_subscriber_inspect(handle, &info, &error), &error);
            return new SubscriberInfo(&info);
        }

        /// <summary>
        /// Returns a position to store: after everything delivered, or after row `sequence` of the last batch.
        /// </summary>
        public Position Position(ulong sequence = 0)
        {
            lapwing_error error;
            error.struct_size = (uint)sizeof(lapwing_error);
            lapwing_position position;
            LapwingException.Check(Native.lapwing_subscriber_position(handle, sequence, &position, &error), &error);
            return new Position(position);
        }

        /// <summary>
        /// Returns a descriptor for an event loop. It becomes readable when a read that found nothing may succeed. It
        /// belongs to the subscriber: do not close it. It costs a library thread. Not available with
        /// WaitStrategy.Busy.
        /// </summary>
        public int Descriptor()
        {
            lapwing_error error;
            error.struct_size = (uint)sizeof(lapwing_error);
            int fd;
            LapwingException.Check(Native.lapwing_subscriber_fd(handle, &fd, &error), &error);
            return fd;
        }
    }
}
