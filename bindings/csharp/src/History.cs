using System;

namespace Lapwing
{
    public sealed unsafe class HistoryInfo
    {
        internal HistoryInfo(lapwing_history_info* raw)
        {
            RecordBytes = (int)raw->record_bytes;
            SchemaName = Text.Of(raw->schema_name, 32);
            JournalId = Id.Of(raw->journal_id);
            Oldest = raw->oldest;
            Archived = raw->archived;
            Durable = raw->durable;
        }

        public int RecordBytes { get; }

        public string SchemaName { get; }

        public Id JournalId { get; }

        /// <summary>The oldest retained sequence.</summary>
        public ulong Oldest { get; }

        /// <summary>The newest sequence that can be read.</summary>
        public ulong Archived { get; }

        public ulong Durable { get; }
    }

    /// <summary>Reads the journal by sequence. A publisher may be running, but need not be.</summary>
    public sealed unsafe class History : LapwingObject
    {
        readonly HistoryHandle handle;
        readonly RowTypes types;

        History(HistoryHandle handle, string directory)
            : base(handle)
        {
            this.handle = handle;
            types = RowTypes.OfBus(directory, false);
        }

        public static History Open(string directory) => Library.With(() => new History(Opened(directory), directory));

        static HistoryHandle Opened(string directory)
        {
            lapwing_error error;
            error.struct_size = (uint)sizeof(lapwing_error);
            var pointer = IntPtr.Zero;
            LapwingException.Check(Native.lapwing_history_open(Text.Zero(directory), ref pointer, &error), &error);
            return new HistoryHandle(pointer);
        }

        public HistoryInfo Inspect()
        {
            lapwing_error error;
            error.struct_size = (uint)sizeof(lapwing_error);
            var info = new lapwing_history_info { struct_size = (uint)sizeof(lapwing_history_info) };
            LapwingException.Check(Native.lapwing_history_inspect(handle, &info, &error), &error);
            return new HistoryInfo(&info);
        }

        /// <summary>
        /// Reads rows starting at `first`, or one event Lost. Fails with would-block if `first` is not archived yet.
        /// </summary>
        public void Read(ulong first, Batch batch)
        {
            lapwing_error error;
            error.struct_size = (uint)sizeof(lapwing_error);
            var raw = batch.BeginUse();
            try
            {
                var result = Native.lapwing_history_read(handle, first, raw, &error);
                if (result != 0) throw LapwingException.OfRead(result, raw, &error);
                batch.Types = types;
            }
            finally
            {
                batch.EndUse();
            }
        }

        /// <summary>Returns the sequence from which to read to get every record published at or after
        /// `utcNs`.</summary>
        public ulong FindTime(ulong utcNs)
        {
            lapwing_error error;
            error.struct_size = (uint)sizeof(lapwing_error);
            ulong sequence;
            LapwingException.Check(Native.lapwing_history_find_time(handle, utcNs, &sequence, &error), &error);
            return sequence;
        }

        /// <summary>
        /// Maps the rows `first` to `last` without copying, up to the end of `first`'s segment, which must be finished.
        /// Continue at First + Count. The view may outlive the history.
        /// </summary>
        public HistoryView Map(ulong first, ulong last)
        {
            lapwing_error error;
            error.struct_size = (uint)sizeof(lapwing_error);
            var view = new lapwing_view { struct_size = (uint)sizeof(lapwing_view) };
            LapwingException.Check(Native.lapwing_history_map(handle, first, last, &view, &error), &error);
            return new HistoryView(view);
        }
    }

    /// <summary>Rows of the journal in mapped memory. All members except UnsafeRow return copies.</summary>
    public sealed unsafe class HistoryView : IDisposable
    {
        lapwing_view view;
        bool isMapped = true;

        internal HistoryView(lapwing_view view)
        {
            this.view = view;
        }

        ~HistoryView()
        {
            LapwingObject.Warn(nameof(HistoryView));
            Unmap();
        }

        /// <summary>The sequence of row 0. Row i has the sequence First + i.</summary>
        public ulong First => view.first;

        /// <summary>Number of rows.</summary>
        public long Count => (long)view.count;

        /// <summary>Row size in bytes.</summary>
        public int RowBytes => (int)view.row_bytes;

        /// <summary>Distance between rows in bytes.</summary>
        public long StrideBytes => (long)view.stride_bytes;

        /// <summary>
        /// Copies `count` rows, starting at row `begin`, to contiguous memory at the start of `into`.
        /// </summary>
        public void CopyRows(long begin, int count, byte[] into)
        {
            if (!isMapped) throw new ObjectDisposedException(nameof(HistoryView));
            if (count < 0 || begin < 0 || begin > Count - count) throw new ArgumentOutOfRangeException(nameof(count));
            if (into.Length < (long)count * RowBytes) throw new ArgumentException($"{count} rows do not fit");
            fixed (byte* to = into)
            {
                for (var row = 0; row < count; ++row)
                {
                    Buffer.MemoryCopy(UnsafeRow(begin + row), to + (long)row * RowBytes, RowBytes, RowBytes);
                }
            }
            GC.KeepAlive(this); // the finalizer must not unmap before the last copy
        }

        /// <summary>
        /// The address of a row, valid until Dispose. A write to it, or a read after Dispose, ends the process with
        /// SIGSEGV.
        /// </summary>
        public byte* UnsafeRow(long row)
        {
            if (!isMapped) throw new ObjectDisposedException(nameof(HistoryView));
            if (row < 0 || row >= Count) throw new ArgumentOutOfRangeException(nameof(row));
            return (byte*)view.rows + row * StrideBytes;
        }

        void Unmap()
        {
            if (!isMapped) return;
            isMapped = false;
            fixed (lapwing_view* at = &view) Native.lapwing_history_unmap(at);
        }

        /// <summary>Unmaps the rows. Idempotent.</summary>
        public void Dispose()
        {
            Unmap();
            GC.SuppressFinalize(this);
        }
    }
}
