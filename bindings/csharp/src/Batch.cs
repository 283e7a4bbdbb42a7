// Reusable memory for reads. Neither records nor reads allocate memory.
using System;
using System.Runtime.InteropServices;
using System.Threading;

namespace Lapwing
{
    /// <summary>
    /// Memory for rows of one kind or one event. Only one call at a time may use it. Dispose may be called at any time.
    /// </summary>
    public sealed unsafe class Batch : IDisposable
    {
        // Values of `state`.
        const int Idle = 0;
        const int InUse = 1; // used by a call
        const int Disposed = 2; // if a call still uses it, that call frees it

        readonly lapwing_batch* raw;
        GCHandle memoryPin;
        GCHandle sequencesPin;
        GCHandle conflatedPin;
        int state;

        /// <summary>Allocates memory for `rows` rows of `rowBytes` bytes.</summary>
        /// <param name="columns">Adds Sequences and Conflated. Needed with instruments and conflation.</param>
        public Batch(int rows, int rowBytes, bool columns = false)
            : this(new byte[checked(rows * rowBytes)], rows, columns) { }

        /// <summary>Uses the caller's memory, for at most `rows` rows; 0: as many as fit.</summary>
        public Batch(byte[] memory, int rows = 0, bool columns = false)
        {
            if (columns && rows == 0) throw new ArgumentException("a batch with columns needs its number of rows");
            Memory = memory ?? throw new ArgumentNullException(nameof(memory));
            memoryPin = GCHandle.Alloc(Memory, GCHandleType.Pinned);
            raw = (lapwing_batch*)Marshal.AllocHGlobal(sizeof(lapwing_batch));
            *raw = new lapwing_batch
            {
                struct_size = (uint)sizeof(lapwing_batch),
                rows = Memory.Length == 0 ? IntPtr.Zero : memoryPin.AddrOfPinnedObject(),
                rows_bytes = (UIntPtr)Memory.Length,
                rows_max = (UIntPtr)rows,
            };
            if (!columns) return;
            Sequences = new ulong[rows];
            Conflated = new ulong[rows];
            sequencesPin = GCHandle.Alloc(Sequences, GCHandleType.Pinned);
            conflatedPin = GCHandle.Alloc(Conflated, GCHandleType.Pinned);
            raw->sequences = sequencesPin.AddrOfPinnedObject();
            raw->conflated = conflatedPin.AddrOfPinnedObject();
        }

        /// <summary>Creates a batch from an item, to pass it to a call.</summary>
        internal static Batch Of(Item item)
        {
            if (item is Records records) return new Batch(records);
            if (item is State state) return new Batch(state);
            return new Batch((Event)item);
        }

        Batch(Rows rows, BatchKind kind, int rowsMax)
            : this(rows.Bytes, rowsMax)
        {
            raw->kind = (uint)kind;
            raw->count = (UIntPtr)rows.Count;
            raw->row_bytes = (uint)rows.RowBytes;
        }

        Batch(Records records)
            : this(records, BatchKind.Records, records.IsSparse ? records.Count : 0)
        {
            raw->first = records.First;
            if (!records.IsSparse) return;
            raw->flags = Native.BatchSparse;
            if (records.Sequences == null) return;
            sequencesPin = GCHandle.Alloc(records.Sequences, GCHandleType.Pinned);
            raw->sequences = sequencesPin.AddrOfPinnedObject();
        }

        Batch(State state)
            : this(state, BatchKind.State, 0) { }

        Batch(Event happened)
            : this(new byte[0])
        {
            raw->kind = (uint)BatchKind.Event;
            raw->@event = happened.Raw;
        }

        ~Batch()
        {
            Dispose();
        }

        internal lapwing_batch* Raw
        {
            get
            {
                if (Volatile.Read(ref state) == Disposed) throw new ObjectDisposedException(nameof(Batch));
                return raw;
            }
        }

        /// <summary>Marks the batch as in use by a call. The memory stays valid until EndUse, even after
        /// Dispose.</summary>
        internal lapwing_batch* BeginUse()
        {
            switch (Interlocked.CompareExchange(ref state, InUse, Idle))
            {
                case Idle: return raw;
                case InUse: throw new LapwingException(
                    ErrorCode.Misuse, "another call uses this batch; make one for each call that is under way");
                default: throw new ObjectDisposedException(nameof(Batch));
            }
        }

        internal void EndUse()
        {
            if (Interlocked.CompareExchange(ref state, Idle, InUse) == Disposed) Free();
        }

        /// <summary>The memory. Its first Count * RowBytes bytes are the contiguous rows of the last read.</summary>
        public byte[] Memory { get; }

        /// <summary>A column: the sequence of each row of records, or null without columns.</summary>
        public ulong[] Sequences { get; }

        /// <summary>A column: the number of older records each row replaces, or null without columns.</summary>
        public ulong[] Conflated { get; }

        public BatchKind Kind => (BatchKind)Raw->kind;

        /// <summary>Number of rows.</summary>
        public int Count => (int)Raw->count;

        /// <summary>The sequence of row 0. Row i is First + i, unless IsSparse.</summary>
        public ulong First => Raw->first;

        /// <summary>Size in bytes of a record or a state entry.</summary>
        public int RowBytes => (int)Raw->row_bytes;

        /// <summary>True if the rows' sequences are not consecutive: see Sequences.</summary>
        public bool IsSparse => (Raw->flags & Native.BatchSparse) != 0;

        /// <summary>The event if Kind is Event, and null otherwise.</summary>
        public Event Event => Kind == BatchKind.Event ? new Event(&Raw->@event) : null;

        /// <summary>The sequence of a row of records.</summary>
        public ulong Sequence(int row)
        {
            CheckRow(row);
            if (!IsSparse) return First + (ulong)row;
            if (Sequences != null) return Sequences[row];
            throw new InvalidOperationException("the rows do not follow one another: make the batch with columns");
        }

        /// <summary>The address of a row. Valid until Dispose; the next read overwrites the row.</summary>
        public byte* Row(int row)
        {
            CheckRow(row);
            return (byte*)Raw->rows + (long)row * RowBytes;
        }

        /// <summary>Checks struct types against the rows' schema. If null, only the size is checked.</summary>
        internal RowTypes Types { get; set; }

        /// <summary>
        /// Copies all rows into structs and returns their number. If the bus has a schema, each struct type is compared
        /// with it once. If they differ, fails with record-size and names the first field that differs.
        /// </summary>
        public int CopyTo<T>(T[] rows, int begin = 0)
            where T : struct
        {
            RecordType<T>.Copy((byte*)Raw->rows, RowBytes, Count, Types, rows, begin);
            return Count;
        }

        void CheckRow(int row)
        {
            if (row < 0 || row >= Count) throw new ArgumentOutOfRangeException(nameof(row), $"there is no row {row} of {Count}");
        }

        void Free()
        {
            Marshal.FreeHGlobal((IntPtr)raw);
            if (memoryPin.IsAllocated) memoryPin.Free();
            if (sequencesPin.IsAllocated) sequencesPin.Free();
            if (conflatedPin.IsAllocated) conflatedPin.Free();
        }

        /// <summary>Frees the memory. Idempotent. If a call is using it, it is freed when that call returns.</summary>
        public void Dispose()
        {
            int before;
            do before = Interlocked.CompareExchange(ref state, Disposed, Idle);
            while (before == InUse && Interlocked.CompareExchange(ref state, Disposed, InUse) != InUse);
            if (before == Idle) Free();
            GC.SuppressFinalize(this);
        }
    }
}
