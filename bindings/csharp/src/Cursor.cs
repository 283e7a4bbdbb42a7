using System;

namespace Lapwing
{
    /// <summary>A commit of a cursor.</summary>
    public sealed class Commit
    {
        internal Commit(Position position, ulong outputBytes, ulong outputFile)
        {
            Position = position;
            OutputBytes = outputBytes;
            OutputFile = outputFile;
        }

        public Position Position { get; }

        /// <summary>Length of the program's output file at the commit.</summary>
        public ulong OutputBytes { get; }

        /// <summary>Number of the program's output file.</summary>
        public ulong OutputFile { get; }
    }

    /// <summary>A position on disk: how far a program has processed a bus.</summary>
    public sealed unsafe class Cursor : LapwingObject
    {
        readonly CursorHandle handle;

        Cursor(CursorHandle handle)
            : base(handle)
        {
            this.handle = handle;
        }

        /// <summary>Locks and reads the file, and creates it if it is missing.</summary>
        /// <param name="isDurable">Commits survive a power cut. Each commit costs a sync.</param>
        /// <param name="timeout">How long to wait for the lock; null: 1 s.</param>
        public static Cursor Open(string path, bool isDurable = false, TimeSpan? timeout = null) =>
            Library.With(() => new Cursor(Opened(path, isDurable, timeout ?? Time.OfCursor)));

        static CursorHandle Opened(string path, bool isDurable, TimeSpan timeout)
        {
            lapwing_error error;
            error.struct_size = (uint)sizeof(lapwing_error);
            var pointer = IntPtr.Zero;
            LapwingException.Check(
                Native.lapwing_cursor_open(Text.Zero(path), isDurable ? Native.CursorDurable : 0,
                    Time.Ns(timeout), ref pointer, &error),
                &error);
            return new CursorHandle(pointer);
        }

        /// <summary>Returns the last commit, or null if there is none.</summary>
        public Commit Last()
        {
            lapwing_error error;
            error.struct_size = (uint)sizeof(lapwing_error);
            lapwing_position position;
            ulong bytes, file;
            var result = Native.lapwing_cursor_position(handle, &position, &bytes, &file, &error);
            if (result == (int)ErrorCode.NotFound) return null;
            LapwingException.Check(result, &error);
            return new Commit(new Position(position), bytes, file);
        }

        /// <summary>Records that everything up to `position` has been processed.</summary>
        public void Commit(Position position, ulong outputBytes = 0, ulong outputFile = 0)
        {
            if (position == null) throw new ArgumentNullException(nameof(position));
            lapwing_error error;
            error.struct_size = (uint)sizeof(lapwing_error);
            var raw = position.Raw;
            LapwingException.Check(Native.lapwing_cursor_commit(handle, &raw, outputBytes, outputFile, &error), &error);
        }
    }
}
