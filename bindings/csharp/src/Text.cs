// Strings, and memory that options point to.
using System;
using System.Collections.Generic;
using System.Runtime.InteropServices;
using System.Text;
using System.Threading;

namespace Lapwing
{
    static unsafe class Text
    {
        /// <summary>UTF-8 with a zero at its end; null stays null.</summary>
        internal static byte[] Zero(string text) => text == null ? null : Encoding.UTF8.GetBytes(text + "\0");

        /// <summary>A fixed field, up to its first zero.</summary>
        internal static string Of(byte* bytes, int bytesMax)
        {
            var length = 0;
            while (length < bytesMax && bytes[length] != 0) ++length;
            return new string((sbyte*)bytes, 0, length, Encoding.UTF8);
        }

        internal static string Of(IntPtr text) => text == IntPtr.Zero ? "" : Of((byte*)text, int.MaxValue);
    }

    static class Time
    {
        // How long opening waits by default for another publisher or cursor to end, as in C++.
        internal static readonly TimeSpan OfPublisher = TimeSpan.FromSeconds(10);
        internal static readonly TimeSpan OfCursor = TimeSpan.FromSeconds(1);

        /// <summary>Nanoseconds of a timeout; null and Timeout.InfiniteTimeSpan: forever.</summary>
        internal static long Ns(TimeSpan? timeout)
        {
            if (timeout == null || timeout == Timeout.InfiniteTimeSpan) return -1;
            if (timeout < TimeSpan.Zero)
            {
                throw new ArgumentOutOfRangeException(nameof(timeout), timeout,
                    "a timeout is zero or more, or Timeout.InfiniteTimeSpan");
            }
            return timeout.Value.Ticks > long.MaxValue / 100 ? long.MaxValue : timeout.Value.Ticks * 100;
        }
    }

    /// <summary>Memory that a call reads while it runs, given back afterwards.</summary>
    sealed class Kept : IDisposable
    {
        readonly List<GCHandle> pins = new List<GCHandle>();

        internal IntPtr Add(string text) => Add(Text.Zero(text));

        internal IntPtr Add(byte[] bytes) => Pin(bytes);

        internal IntPtr Add(IntPtr[] pointers) => Pin(pointers);

        IntPtr Pin(Array array)
        {
            if (array == null || array.Length == 0) return IntPtr.Zero;
            var pin = GCHandle.Alloc(array, GCHandleType.Pinned);
            pins.Add(pin);
            return pin.AddrOfPinnedObject();
        }

        public void Dispose()
        {
            foreach (var pin in pins) pin.Free();
            pins.Clear();
        }
    }
}
