// The end of the program while threads wait. Mono ends only once every thread has come back from native code, and a
// wait of the library's does not come back by itself: so all waits are ended first.
using System;
using System.Collections.Generic;
using System.Linq;

namespace Lapwing
{
    static class ProgramEnd
    {
        static readonly HashSet<NativeHandle> open = new HashSet<NativeHandle>(); // guarded by itself

        static ProgramEnd()
        {
            AppDomain.CurrentDomain.ProcessExit += (sender, arguments) => EndWaits();
        }

        /// <summary>Until Remove.</summary>
        internal static void Add(NativeHandle handle)
        {
            lock (open) open.Add(handle);
        }

        internal static void Remove(NativeHandle handle)
        {
            lock (open) open.Remove(handle);
        }

        static void EndWaits()
        {
            NativeHandle[] all;
            lock (open) all = open.ToArray();
            foreach (var handle in all) handle.EndWait();
        }
    }
}
