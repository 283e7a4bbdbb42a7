// The items of a subscriber, in order: records, state entries, or one event.
using System;

namespace Lapwing
{
    /// <summary>Records, a State or an Event: test for the type, `if (item is Records records) …`.</summary>
    public abstract class Item
    {
        internal Item() { }
    }

    /// <summary>Rows that own their memory.</summary>
    public abstract unsafe class Rows : Item
    {
        readonly RowTypes types;

        internal Rows(Batch batch)
        {
            Count = batch.Count;
            RowBytes = batch.RowBytes;
            Bytes = new byte[Count * RowBytes];
            Buffer.BlockCopy(batch.Memory, 0, Bytes, 0, Bytes.Length);
            types = batch.Types;
        }

        /// <summary>Number of rows.</summary>
        public int Count { get; }

        /// <summary>Row size in bytes.</summary>
        public int RowBytes { get; }

        /// <summary>The rows, Count * RowBytes contiguous bytes.</summary>
        public byte[] Bytes { get; }

        /// <summary>
        /// Copies all rows into structs. If the bus has a schema, each struct type is compared with it once. If they
        /// differ, fails with record-size and names the first field that differs.
        /// </summary>
        public T[] ToArray<T>()
            where T : struct
        {
            var rows = new T[Count];
            fixed (byte* from = Bytes) RecordType<T>.Copy(from, RowBytes, Count, types, rows, 0);
            return rows;
        }
    }

    /// <summary>Records of one session.</summary>
    public sealed class Records : Rows
    {
        internal Records(Batch batch)
            : base(batch)
        {
            First = batch.First;
            IsSparse = batch.IsSparse;
            Sequences = Copy(batch.Sequences);
            Conflated = Copy(batch.Conflated);
        }

        ulong[] Copy(ulong[] column)
        {
            if (column == null || !IsSparse) return null;
            var copy = new ulong[Count];
            Array.Copy(column, copy, Count);
            return copy;
        }

        /// <summary>The sequence of row 0.</summary>
        public ulong First { get; }

        /// <summary>The sequence of each row if IsSparse, and null otherwise.</summary>
        public ulong[] Sequences { get; }

        /// <summary>The number of older records each row replaces if IsSparse, and null otherwise.</summary>
        public ulong[] Conflated { get; }

        /// <summary>True if the rows' sequences are not consecutive.</summary>
        public bool IsSparse { get; }

        /// <summary>The sequence of a row.</summary>
        public ulong Sequence(int row) => IsSparse ? Sequences[row] : First + (ulong)row;
    }

    /// <summary>State entries from a checkpoint, delivered after a start from a snapshot.</summary>
    public sealed class State : Rows
    {
        internal State(Batch batch) : base(batch) { }
    }

    /// <summary>An event between records. See docs/reference/events.md.</summary>
    public sealed unsafe class Event : Item
    {
        internal Event(lapwing_event* raw)
        {
            Raw = *raw;
            Kind = (EventKind)raw->kind;
            Cause = (GapCause)raw->cause;
            Sequence = raw->sequence;
            First = raw->first;
            Last = raw->last;
            Resume = raw->resume;
            IsFillable = raw->fillable != 0;
            RecordBytes = (int)raw->record_bytes;
            JournalId = Id.Of(raw->journal_id);
            SessionId = Id.Of(raw->session_id);
            StateEntries = raw->state_entries;
            IsFirstSession = raw->is_first_session != 0;
            IsDescribed = raw->is_described != 0;
            SchemaName = Text.Of(raw->schema_name, 32);
            Fold = Text.Of(raw->fold, 32);
            Words = Text.Of(raw->text, 512);
        }

        /// <summary>The C event, to pass it to a call.</summary>
        internal lapwing_event Raw { get; }

        public EventKind Kind { get; }

        /// <summary>Cause of a gap or loss, otherwise 0.</summary>
        public GapCause Cause { get; }

        public ulong Sequence { get; }

        /// <summary>First sequence of the missing range.</summary>
        public ulong First { get; }

        /// <summary>Last sequence of the missing range.</summary>
        public ulong Last { get; }

        /// <summary>The next sequence that is tried in the ring.</summary>
        public ulong Resume { get; }

        /// <summary>The journal contains the range.</summary>
        public bool IsFillable { get; }

        /// <summary>Size in bytes of the records that follow.</summary>
        public int RecordBytes { get; }

        public Id JournalId { get; }

        public Id SessionId { get; }

        public ulong StateEntries { get; }

        public bool IsFirstSession { get; }

        /// <summary>Subscriber.Schema describes the records.</summary>
        public bool IsDescribed { get; }

        public string SchemaName { get; }

        /// <summary>Fold of the state that was loaded.</summary>
        public string Fold { get; }

        /// <summary>More details: the reason, the checkpoint, how a session ended. May be empty.</summary>
        public string Words { get; }

        /// <summary>
        /// Returns for example "Gap 501..1139 Lapped, fillable" or "CaughtUp 1139", followed by Words.
        /// </summary>
        public override string ToString()
        {
            var isRange = Kind == EventKind.Gap || Kind == EventKind.Lost;
            var what = isRange ? $"{Kind} {First}..{Last} {Cause}{(IsFillable ? ", fillable" : "")}" : $"{Kind} {Sequence}";
            return Words.Length == 0 ? what : $"{what}: {Words}";
        }
    }
}
