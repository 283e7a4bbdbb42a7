using System;

namespace Lapwing
{
    /// <summary>
    /// The lines of the library's log: those of publishers, of the whole process. The library queues 256 of them;
    /// its threads do not call this runtime.
    /// </summary>
    public static unsafe class Log
    {
        const int LineBytesMax = 4096;

        /// <summary>Lines are queued from now on. By default they are dropped.</summary>
        public static void Start() => Library.With(Queue);

        public static void Stop() => Library.With(Drop);

        static bool Queue()
        {
            Native.lapwing_log_queue();
            return true;
        }

        static bool Drop()
        {
            Native.lapwing_log_set(IntPtr.Zero, null);
            return true;
        }

        /// <summary>After Start: the oldest line; null: there is none now. `dropped`: lines lost before it.</summary>
        public static string Read(out ulong dropped)
        {
            byte* line = stackalloc byte[LineBytesMax];
            ulong lost;
            var result = Native.lapwing_log_read(line, (UIntPtr)LineBytesMax, &lost);
            dropped = lost;
            return result == 0 ? Text.Of(line, LineBytesMax) : null;
        }
    }
}
