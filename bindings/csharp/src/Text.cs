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
        /// <summary>Nanoseconds of a timeout; null and Timeout.InfiniteTimeSpan: forever.</summary>
        internal static long Ns(TimeSpan? timeout)
        {
            if (timeout == null || timeout == Timeout.InfiniteTimeSpan) return -1;
            if (timeout < TimeSpan.Zero) throw new ArgumentOutOfRangeException(nameof(timeout));
            return timeout.Value.Ticks > long.MaxValue / 100 ? long.MaxValue : timeout.Value.Ticks * 100;
        }

        /// <summary>Of an option; null: the library's default.</summary>
        internal static long Option(TimeSpan? time) => time == null ? 0 : Ns(time);
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
