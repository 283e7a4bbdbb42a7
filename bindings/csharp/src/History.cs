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

        /// <summary>That retention has kept.</summary>
        public ulong Oldest { get; }

        /// <summary>The newest that can be read.</summary>
        public ulong Archived { get; }

        public ulong Durable { get; }
    }

    /// <summary>The journal by sequence, with a publisher or without.</summary>
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

        /// <summary>Rows from `first` on, or one event Lost. would-block: `first` is not archived yet.</summary>
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

        /// <summary>From where to read so that nothing published at or after `utcNs` is missed.</summary>
        public ulong FindTime(ulong utcNs)
        {
            lapwing_error error;
            error.struct_size = (uint)sizeof(lapwing_error);
            ulong sequence;
            LapwingException.Check(Native.lapwing_history_find_time(handle, utcNs, &sequence, &error), &error);
            return sequence;
        }

        /// <summary>
        /// The rows first to last where they are, as far as the finished segment goes that `first` is in: read on
        /// from First + Count. The view outlives the history.
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

    /// <summary>Rows of the journal in mapped memory. They are copied out, but for UnsafeRow.</summary>
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

        /// <summary>The sequence of row 0; row i is First + i.</summary>
        public ulong First => view.first;

        /// <summary>Rows.</summary>
        public long Count => (long)view.count;

        /// <summary>Bytes of a row.</summary>
        public int RowBytes => (int)view.row_bytes;

        /// <summary>Bytes from one row to the next.</summary>
        public long StrideBytes => (long)view.stride_bytes;

        /// <summary>Copies `count` rows from row `begin` on, end to end, to the head of `into`.</summary>
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
            GC.KeepAlive(this); // until the last copy: the finalizer unmaps
        }

        /// <summary>
        /// Where a row is, until Dispose. A write to it ends the process with SIGSEGV, as a read does after Dispose.
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

        /// <summary>Idempotent.</summary>
        public void Dispose()
        {
            Unmap();
            GC.SuppressFinalize(this);
        }
    }
}
