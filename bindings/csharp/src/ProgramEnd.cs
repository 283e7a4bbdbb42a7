// Ends all waits when the program ends. Mono exits only after every thread has returned from native code, and a wait in
// the library may never return by itself.
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

        /// <summary>Registers a handle until Remove.</summary>
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
