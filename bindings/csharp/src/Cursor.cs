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

        /// <summary>Where the program's own output ended: a length,</summary>
        public ulong OutputBytes { get; }

        /// <summary>and the number of a file.</summary>
        public ulong OutputFile { get; }
    }

    /// <summary>A position that survives the process: up to where a program has processed a bus.</summary>
    public sealed unsafe class Cursor : LapwingObject
    {
        readonly CursorHandle handle;

        Cursor(CursorHandle handle)
            : base(handle)
        {
            this.handle = handle;
        }

        /// <summary>Takes the lock of the file, for which it waits, and reads it; makes it if it is missing.</summary>
        /// <param name="isDurable">No power cut takes a commit back; costs a sync.</param>
        /// <param name="timeout">null: 1 s.</param>
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

        /// <summary>null: nothing was committed yet.</summary>
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

        /// <summary>Everything up to `position` is processed.</summary>
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
