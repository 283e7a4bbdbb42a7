// Conversions of strings and times, and memory that options refer to.
using System;
using System.Collections.Generic;
using System.Runtime.InteropServices;
using System.Text;
using System.Threading;

namespace Lapwing
{
    static unsafe class Text
    {
        /// <summary>Converts to zero-terminated UTF-8. null stays null.</summary>
        internal static byte[] Zero(string text) => text == null ? null : Encoding.UTF8.GetBytes(text + "\0");

        /// <summary>Decodes a fixed-size text field, up to its first zero byte.</summary>
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
        // Default time that an open waits for another publisher or cursor to end, as in C++.
        internal static readonly TimeSpan OfPublisher = TimeSpan.FromSeconds(10);
        internal static readonly TimeSpan OfCursor = TimeSpan.FromSeconds(1);

        /// <summary>Converts a timeout to nanoseconds. null and Timeout.InfiniteTimeSpan mean forever.</summary>
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

    /// <summary>Pins memory that a call reads, until Dispose.</summary>
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
