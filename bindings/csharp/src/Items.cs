// What a subscriber delivers, in order: rows of one kind, or one event.
using System;

namespace Lapwing
{
    /// <summary>Rows or an Event: use a switch on the type.</summary>
    public abstract class Item
    {
        internal Item() { }
    }

    /// <summary>Records, or entries of a state, in memory of their own.</summary>
    public sealed class Rows : Item
    {
        internal Rows(Batch batch)
        {
            Kind = batch.Kind;
            Count = batch.Count;
            First = batch.First;
            RowBytes = batch.RowBytes;
            Bytes = new byte[Count * RowBytes];
            Buffer.BlockCopy(batch.Memory, 0, Bytes, 0, Bytes.Length);
            Sequences = Copy(batch.Sequences, batch.IsSparse);
            Conflated = Copy(batch.Conflated, batch.IsSparse);
            IsSparse = batch.IsSparse;
        }

        ulong[] Copy(ulong[] column, bool isNeeded)
        {
            if (column == null || !isNeeded) return null;
            var copy = new ulong[Count];
            Array.Copy(column, copy, Count);
            return copy;
        }

        /// <summary>Records or State.</summary>
        public BatchKind Kind { get; }

        /// <summary>Rows.</summary>
        public int Count { get; }

        /// <summary>The sequence of row 0.</summary>
        public ulong First { get; }

        /// <summary>Bytes of a record, or of an entry of a state.</summary>
        public int RowBytes { get; }

        /// <summary>Count * RowBytes bytes: the rows, end to end.</summary>
        public byte[] Bytes { get; }

        /// <summary>[Count], of rows that do not follow one another; else null.</summary>
        public ulong[] Sequences { get; }

        /// <summary>[Count], how many older records each row stands for; null where there are none.</summary>
        public ulong[] Conflated { get; }

        /// <summary>Whether the rows do not follow one another.</summary>
        public bool IsSparse { get; }

        /// <summary>The sequence of a row of records.</summary>
        public ulong Sequence(int row) => IsSparse ? Sequences[row] : First + (ulong)row;
    }

    /// <summary>What happened between records: docs/events.md.</summary>
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

        /// <summary>For what takes it in again.</summary>
        internal lapwing_event Raw { get; }

        public EventKind Kind { get; }

        /// <summary>Of a gap and of a loss; else 0.</summary>
        public GapCause Cause { get; }

        public ulong Sequence { get; }

        /// <summary>Of the missing range.</summary>
        public ulong First { get; }

        /// <summary>Inclusive.</summary>
        public ulong Last { get; }

        /// <summary>The next sequence that is tried in the ring.</summary>
        public ulong Resume { get; }

        /// <summary>The journal holds the range.</summary>
        public bool IsFillable { get; }

        /// <summary>Of the records that follow.</summary>
        public int RecordBytes { get; }

        public Id JournalId { get; }

        public Id SessionId { get; }

        public ulong StateEntries { get; }

        public bool IsFirstSession { get; }

        /// <summary>Subscriber.Schema has the fields.</summary>
        public bool IsDescribed { get; }

        public string SchemaName { get; }

        /// <summary>Of the state that was loaded.</summary>
        public string Fold { get; }

        /// <summary>In words: why, which checkpoint, how a session ended.</summary>
        public string Words { get; }

        public override string ToString() => $"{Kind} {Sequence}: {Words}";
    }
}
