using System;

namespace Lapwing
{
    /// <summary>
    /// The log lines of all publishers in this process. The library queues up to 256 lines, because its threads must
    /// not call this runtime.
    /// </summary>
    public static unsafe class Log
    {
        const int LineBytesMax = 4096;

        /// <summary>Starts to queue lines. By default they are dropped.</summary>
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

        /// <summary>
        /// Returns the oldest queued line, or null if the queue is empty. `dropped` is the number of lines lost before
        /// that line.
        /// </summary>
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
